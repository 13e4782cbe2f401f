//! InfiniBand devices and their ports as sysfs shows them.
//!
//! Each fact is a small file. One that is missing, unreadable or nonsense costs that fact alone: software
//! devices lack some, ibsim's library lacks others, and a device that is being removed lacks all.
//!
//! Source: Linux `drivers/infiniband/core/sysfs.c` and `user_mad.c`, rdma-core's libibumad.

use std::{fmt, io, path::Path};

use ib_wire::{Gid, Guid, Lid, Lmc, PKey, Sl, addr::number};

use super::sys::{list, read_text};

/// The folder in which the kernel shows its classes of devices.
const CLASSES: &str = "/sys/class";
const DEVICES: &str = "infiniband";
const MAD_DEVICES: &str = "infiniband_mad";

/// Version of the user MAD interface that this backend speaks.
pub(super) const ABI_VERSION: u32 = 5;

/// A host adapter, a switch's own port, a router: whatever the kernel lists as an RDMA device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// The kernel's name, such as `mlx5_0`.
    pub name: String,
    /// 1 CA, 2 switch, 3 router; others are no InfiniBand nodes.
    pub node_type: u8,
    /// Node GUID.
    pub node_guid: Option<Guid>,
    /// GUID of the system that the node is a part of.
    pub sys_image_guid: Option<Guid>,
    /// Kind of hardware (`MT4123`); `simulator` under ibsim.
    pub hca_type: Option<String>,
    /// Version of the firmware.
    pub fw_ver: Option<String>,
    /// Revision of the hardware.
    pub hw_rev: Option<String>,
    /// The vendor's number of the board.
    pub board_id: Option<String>,
    /// NodeDescription.
    pub node_desc: Option<String>,
    /// The ports, by number.
    pub ports: Vec<DevicePort>,
}

/// One port of a device. A value that sysfs lacks, or that cannot be read, is `None`; the others are still
/// there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicePort {
    /// Number on the device, from 1; 0 is a switch's management port.
    pub number: u8,
    /// N of `/dev/infiniband/umadN`, if the port has management datagrams.
    pub umad: Option<u32>,
    /// Link layer of the port.
    pub link_layer: LinkLayer,
    /// Logical state: 1 Down, 2 Initialize, 3 Armed, 4 Active.
    pub state: Option<u8>,
    /// Physical state: 2 Polling, 3 Disabled, 5 LinkUp ...
    pub phys_state: Option<u8>,
    /// Base LID; 0 before a subnet manager gave one. Stale under ibsim: ask PortInfo.
    pub lid: Option<Lid>,
    /// The number of low bits of a destination LID that the port ignores.
    pub lmc: Option<Lmc>,
    /// LID of the master subnet manager.
    pub sm_lid: Option<Lid>,
    /// Service level to the master subnet manager.
    pub sm_sl: Option<Sl>,
    /// GID 0: prefix and port GUID.
    pub gid: Option<Gid>,
    /// CapabilityMask of PortInfo.
    pub cap_mask: Option<u32>,
    /// Speed and width in the kernel's words.
    pub rate: Option<String>,
    /// The P_Key table by index; a free entry is 0.
    pub p_keys: Vec<PKey>,
}

/// Link layer of a port.
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
    const DOWN: u8 = 1;
    const INITIALIZE: u8 = 2;
    const ARMED: u8 = 3;
    const ACTIVE: u8 = 4;
    const POLLING: u8 = 2;
    const DISABLED: u8 = 3;
    const LINK_UP: u8 = 5;
    const IS_SM_DISABLED: u32 = 1 << 10;

    /// GUID of the port: the low half of GID 0.
    #[must_use]
    pub fn guid(&self) -> Option<Guid> {
        self.gid.map(Gid::guid)
    }

    /// Returns true if subnet management packets can pass: InfiniBand, with a umad node, QP0 not disabled.
    #[must_use]
    pub fn has_smi(&self) -> bool {
        self.link_layer == LinkLayer::InfiniBand
            && self.umad.is_some()
            && self.cap_mask.unwrap_or(0) & Self::IS_SM_DISABLED == 0
    }

    /// The index that a [`MadAddress`](ib_mad::MadAddress) names to send in partition `p_key`: the entry itself,
    /// else one of the same partition with another membership.
    #[must_use]
    pub fn p_key_index(&self, p_key: PKey) -> Option<u16> {
        let position = |fits: &dyn Fn(PKey) -> bool| {
            let index = self.p_keys.iter().position(|&entry| fits(entry))?;
            u16::try_from(index).ok()
        };
        position(&|entry| entry == p_key)
            .or_else(|| position(&|entry| entry.base() != 0 && entry.base() == p_key.base()))
    }

    /// Why an InfiniBand port carries nothing but subnet management, or nothing at all, and what helps.
    ///
    /// `None` if it is Active, or sysfs does not say.
    #[must_use]
    pub fn trouble(&self) -> Option<&'static str> {
        match (self.state?, self.phys_state) {
            (Self::DOWN, Some(Self::DISABLED)) => {
                Some("Down, the port is disabled: enable it, as with `ibportstate`")
            }
            (Self::DOWN, Some(Self::POLLING)) => {
                Some("Down, no link: check the cable and the port at its other end")
            }
            (Self::DOWN, _) => Some("Down"),
            (Self::INITIALIZE, _) => Some(
                "Initialize, no subnet manager has configured it: start one; until then only directed \
                 routes work",
            ),
            (Self::ARMED, _) => Some("Armed, the subnet manager has not finished with it"),
            _ => None,
        }
    }

    /// Rank of the port when the user names none, the best first: Active, then LinkUp, then not Disabled.
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
    devices_in(Path::new(CLASSES))
}

/// Returns true if the module that makes `/dev/infiniband/umadN` is loaded.
#[must_use]
pub fn umad_is_loaded() -> bool {
    abi_version().is_some()
}

/// Version of the kernel's user MAD interface; `None` without the module.
pub(super) fn abi_version() -> Option<u32> {
    abi_version_in(Path::new(CLASSES))
}

fn abi_version_in(classes: &Path) -> Option<u32> {
    let text = read_text(&classes.join(MAD_DEVICES).join("abi_version")).ok()?;
    u32::try_from(number(&text, u32::MAX.into())?).ok()
}

fn devices_in(classes: &Path) -> io::Result<Vec<Device>> {
    let umads = umad_nodes(&classes.join(MAD_DEVICES));
    let directory = classes.join(DEVICES);
    Ok(list(&directory)?
        .into_iter()
        .map(|name| device(&directory.join(&name), name, &umads))
        .collect())
}

/// (device, port, N) of every `umadN`.
fn umad_nodes(directory: &Path) -> Vec<(String, u8, u32)> {
    let node = |name: String| {
        let umad = decimal(name.strip_prefix("umad")?)?;
        let device = read_text(&directory.join(&name).join("ibdev")).ok()?;
        let port = read_text(&directory.join(&name).join("port")).ok()?;
        Some((device, decimal(&port)?, umad))
    };
    let names = list(directory).unwrap_or_default();
    names.into_iter().filter_map(node).collect()
}

fn device(directory: &Path, name: String, umads: &[(String, u8, u32)]) -> Device {
    let text = |file: &str| read_text(&directory.join(file)).ok();
    let guid = |file: &str| text(file).and_then(|text| text.parse().ok());
    let ports_directory = directory.join("ports");
    let mut ports: Vec<DevicePort> = list(&ports_directory)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|name| Some((decimal(&name)?, ports_directory.join(name))))
        .map(|(number, directory)| port(&directory, number, &name, umads))
        .collect();
    ports.sort_by_key(|port| port.number);
    Device {
        node_type: text("node_type")
            .and_then(|text| leading_number(&text))
            .unwrap_or(0),
        node_guid: guid("node_guid"),
        sys_image_guid: guid("sys_image_guid"),
        hca_type: text("hca_type"),
        fw_ver: text("fw_ver"),
        hw_rev: text("hw_rev"),
        board_id: text("board_id"),
        node_desc: text("node_desc"),
        ports,
        name,
    }
}

fn port(directory: &Path, number: u8, name: &str, umads: &[(String, u8, u32)]) -> DevicePort {
    let text = |file: &str| read_text(&directory.join(file)).ok();
    let small = |file: &str| text(file).and_then(|text| leading_number(&text));
    let lid = |file: &str| -> Option<Lid> { text(file)?.parse().ok() };
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
        state: small("state"),
        phys_state: small("phys_state"),
        lid: lid("lid"),
        lmc: small("lid_mask_count").and_then(|lmc| Lmc::try_new(lmc).ok()),
        sm_lid: lid("sm_lid"),
        sm_sl: small("sm_sl").and_then(|sl| Sl::try_new(sl).ok()),
        gid: text("gids/0").and_then(|text| text.parse().ok()),
        cap_mask: text("cap_mask").and_then(|text| hex(&text)),
        rate: text("rate"),
        p_keys: p_keys(&directory.join("pkeys")),
    }
}

/// The P_Key table: one file an index. One that cannot be read is a free entry.
fn p_keys(directory: &Path) -> Vec<PKey> {
    let names = list(directory).unwrap_or_default();
    let length = names
        .iter()
        .filter_map(|name| decimal::<usize>(name))
        .max()
        .map_or(0, |last| last.saturating_add(1).min(1 << 16));
    let entry = |index: usize| {
        read_text(&directory.join(index.to_string()))
            .ok()?
            .parse()
            .ok()
    };
    (0..length)
        .map(|index| entry(index).unwrap_or(PKey(0)))
        .collect()
}

/// A number of decimal digits alone.
fn decimal<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    number(text, u64::MAX)
        .filter(|_| digits)
        .and_then(|value| T::try_from(value).ok())
}

/// 32 bits in hexadecimal digits, `0x` or not.
fn hex(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| are_digits)
}

/// `4` of `4: ACTIVE`.
fn leading_number(text: &str) -> Option<u8> {
    decimal(text.split(':').next()?.trim())
}

#[cfg(test)]
mod tests;
