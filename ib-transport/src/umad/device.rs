//! InfiniBand devices and their ports as sysfs shows them.

use std::{fmt, io, path::Path};

use ib_wire::{Gid, Guid, Lid};

use super::sys::{list, read_text};

const DEVICES: &str = "/sys/class/infiniband";
const MAD_DEVICES: &str = "/sys/class/infiniband_mad";

/// A host adapter, a switch's own port, a router: whatever the kernel lists as an RDMA device.
#[derive(Clone, Debug)]
pub struct Device {
    /// The kernel's name, such as `mlx5_0`.
    pub name: String,
    /// 1 CA, 2 switch, 3 router; others are no InfiniBand nodes.
    pub node_type: u8,
    /// Node GUID.
    pub node_guid: Option<Guid>,
    /// Kind of hardware (`MT4123`); `simulator` under ibsim.
    pub hca_type: Option<String>,
    /// The ports, by number.
    pub ports: Vec<DevicePort>,
}

/// One port of a device. What sysfs does not say, or says wrong, is `None`: it hides nothing else.
#[derive(Clone, Debug)]
pub struct DevicePort {
    /// Number on the device, from 1; 0 is a switch's management port.
    pub number: u8,
    /// N of `/dev/infiniband/umadN`, if the port has management datagrams.
    pub umad: Option<u32>,
    /// What the port runs on.
    pub link_layer: LinkLayer,
    /// Logical state: 1 Down, 2 Initialize, 3 Armed, 4 Active.
    pub state: Option<u8>,
    /// Physical state: 2 Polling, 3 Disabled, 5 LinkUp ...
    pub phys_state: Option<u8>,
    /// Base LID; 0 before a subnet manager gave one. Stale under ibsim: ask PortInfo.
    pub lid: Option<Lid>,
    /// LID of the master subnet manager.
    pub sm_lid: Option<Lid>,
    /// GID 0: prefix and port GUID.
    pub gid: Option<Gid>,
    /// CapabilityMask of PortInfo.
    pub cap_mask: Option<u32>,
    /// Speed and width in the kernel's words.
    pub rate: Option<String>,
}

/// What a port runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkLayer {
    /// InfiniBand: subnet management works.
    InfiniBand,
    /// Ethernet: RoCE; there is no QP0.
    Ethernet,
    /// Something else, in the kernel's word.
    Other(String),
}

impl fmt::Display for LinkLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InfiniBand => "InfiniBand",
            Self::Ethernet => "Ethernet",
            Self::Other(name) => name,
        })
    }
}

impl DevicePort {
    const ACTIVE: u8 = 4;
    const LINK_UP: u8 = 5;
    const DISABLED: u8 = 3;
    const IS_SM_DISABLED: u32 = 1 << 10;

    /// GUID of the port: the low half of GID 0.
    #[must_use]
    pub fn guid(&self) -> Option<Guid> {
        self.gid.map(Gid::guid)
    }

    /// Whether subnet management packets can pass: InfiniBand, with a umad node, QP0 not disabled.
    #[must_use]
    pub fn has_smi(&self) -> bool {
        self.link_layer == LinkLayer::InfiniBand
            && self.umad.is_some()
            && self.cap_mask.unwrap_or(0) & Self::IS_SM_DISABLED == 0
    }

    /// How good a choice the port is when the user names none: Active, then LinkUp, then not Disabled.
    pub(super) fn preference(&self) -> u8 {
        match (self.state, self.phys_state) {
            (Some(Self::ACTIVE), _) => 3,
            (_, Some(Self::LINK_UP)) => 2,
            (_, Some(Self::DISABLED)) => 0,
            _ => 1,
        }
    }
}

/// All devices, by name. A device or a file that cannot be read hides no other.
///
/// # Errors
/// If the list itself cannot be read: without `/sys/class/infiniband` there is no RDMA in this kernel.
pub fn devices() -> io::Result<Vec<Device>> {
    let umads = umad_nodes();
    Ok(list(Path::new(DEVICES))?
        .into_iter()
        .map(|name| device(name, &umads))
        .collect())
}

/// Whether the module that makes `/dev/infiniband/umadN` is loaded.
#[must_use]
pub fn umad_is_loaded() -> bool {
    read_text(&Path::new(MAD_DEVICES).join("abi_version")).is_ok()
}

/// (device, port, N) of every `umadN`.
fn umad_nodes() -> Vec<(String, u8, u32)> {
    let directory = Path::new(MAD_DEVICES);
    let names = list(directory).unwrap_or_default();
    let node = |name: String| {
        let number = name.strip_prefix("umad")?.parse().ok()?;
        let device = read_text(&directory.join(&name).join("ibdev")).ok()?;
        let port = read_text(&directory.join(&name).join("port")).ok()?;
        Some((device, port.parse().ok()?, number))
    };
    names.into_iter().filter_map(node).collect()
}

fn device(name: String, umads: &[(String, u8, u32)]) -> Device {
    let directory = Path::new(DEVICES).join(&name);
    let text = |file: &str| read_text(&directory.join(file)).ok();
    let mut ports: Vec<DevicePort> = list(&directory.join("ports"))
        .unwrap_or_default()
        .into_iter()
        .filter_map(|number| number.parse().ok())
        .map(|number| port(&directory, number, &name, umads))
        .collect();
    ports.sort_by_key(|port| port.number);
    Device {
        node_type: text("node_type")
            .and_then(|text| leading_number(&text))
            .unwrap_or(0),
        node_guid: text("node_guid").and_then(|text| text.parse().ok()),
        hca_type: text("hca_type"),
        ports,
        name,
    }
}

fn port(device: &Path, number: u8, name: &str, umads: &[(String, u8, u32)]) -> DevicePort {
    let directory = device.join("ports").join(number.to_string());
    let text = |file: &str| read_text(&directory.join(file)).ok();
    let hex = |file: &str| {
        let text = text(file)?;
        u32::from_str_radix(text.strip_prefix("0x").unwrap_or(&text), 16).ok()
    };
    let lid = |file: &str| hex(file).and_then(|lid| u16::try_from(lid).ok()).map(Lid);
    let umad = umads
        .iter()
        .find(|(device, port, _)| device == name && *port == number)
        .map(|&(_, _, umad)| umad);
    DevicePort {
        number,
        umad,
        // Kernels before RoCE, and ibsim, do not have the file.
        link_layer: match text("link_layer").as_deref() {
            None | Some("InfiniBand" | "") => LinkLayer::InfiniBand,
            Some("Ethernet") => LinkLayer::Ethernet,
            Some(other) => LinkLayer::Other(other.to_owned()),
        },
        state: text("state").and_then(|text| leading_number(&text)),
        phys_state: text("phys_state").and_then(|text| leading_number(&text)),
        lid: lid("lid"),
        sm_lid: lid("sm_lid"),
        gid: text("gids/0").and_then(|text| text.parse().ok()),
        cap_mask: hex("cap_mask"),
        rate: text("rate"),
    }
}

/// `4` of `4: ACTIVE`.
fn leading_number(text: &str) -> Option<u8> {
    text.split(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_read_by_their_leading_number() {
        assert_eq!(leading_number("4: ACTIVE"), Some(4));
        assert_eq!(leading_number("2: SWITCH"), Some(2));
        assert_eq!(leading_number("unknown"), None);
    }
}
