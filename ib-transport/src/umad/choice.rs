//! Which port to open, and what to say where there is none.

use ib_wire::Guid;

use super::device::{Device, DevicePort, LinkLayer, umad_is_loaded};
use crate::TransportError;

/// The port that the user names: by device, number, GUID, all or none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Device name, as `mlx5_0`.
    pub device: Option<String>,
    /// Number of the port on its device.
    pub port: Option<u8>,
    /// GUID of the port.
    pub guid: Option<Guid>,
}

impl Wanted {
    /// The best port that is wanted: Active before LinkUp before others, Disabled last; the first of
    /// equal ones.
    ///
    /// A port without subnet management is chosen only if the device or the GUID names it.
    #[must_use]
    pub fn choose<'a>(&self, devices: &'a [Device]) -> Option<(&'a Device, &'a DevicePort)> {
        let is_named = self.device.is_some() || self.guid.is_some();
        let candidates = ports(devices).filter(|(device, port)| {
            let device_fits = self.device.as_ref().is_none_or(|name| device.name == *name);
            let port_fits = self.port.is_none_or(|number| port.number == number);
            let guid_fits = self.guid.is_none() || port.guid() == self.guid;
            device_fits && port_fits && guid_fits && (is_named || port.has_smi())
        });
        // The first of the best: `max_by_key` alone would take the last.
        candidates
            .rev()
            .max_by_key(|(_, port)| (port.preference(), port.has_smi()))
    }
}

/// A port as its two queue pairs have it.
///
/// Adapters with several planes show a port as two devices with one port GUID: one carries subnet
/// management, the other, whose CapabilityMask says IsSMDisabled, all the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Halves<'a> {
    /// Carries QP0.
    pub(super) smi: Option<(&'a Device, &'a DevicePort)>,
    /// Carries QP1.
    pub(super) gsi: (&'a Device, &'a DevicePort),
}

impl<'a> Halves<'a> {
    /// The halves of a port; most ports are both themselves.
    pub(super) fn of(devices: &'a [Device], chosen: (&'a Device, &'a DevicePort)) -> Self {
        let (_, port) = chosen;
        let twin = |has_smi: bool| {
            let guid = port.guid().filter(|guid| guid.0 != 0)?;
            ports(devices).find(|(_, twin)| {
                twin.guid() == Some(guid)
                    && twin.link_layer == LinkLayer::InfiniBand
                    && twin.umad.is_some()
                    && twin.has_smi() == has_smi
            })
        };
        if port.has_smi() {
            Self {
                smi: Some(chosen),
                gsi: twin(false).unwrap_or(chosen),
            }
        } else {
            Self {
                smi: twin(true),
                gsi: chosen,
            }
        }
    }

    /// Whether they are two.
    pub(super) fn are_split(&self) -> bool {
        self.smi.is_some_and(|(_, smi)| smi.umad != self.gsi.1.umad)
    }
}

fn ports(devices: &[Device]) -> impl DoubleEndedIterator<Item = (&Device, &DevicePort)> {
    let of = |device| move |port| (device, port);
    devices
        .iter()
        .flat_map(move |device: &Device| device.ports.iter().map(of(device)))
}

/// Why no subnet management passes through this port.
pub(super) fn no_smi(device: &Device, port: &DevicePort, devices: &[Device]) -> TransportError {
    let name = format!("{}/{}", device.name, port.number);
    let reason = if port.link_layer != LinkLayer::InfiniBand {
        let others: Vec<String> = ports(devices)
            .filter(|(_, port)| port.has_smi())
            .map(|(device, port)| format!("{}/{}", device.name, port.number))
            .collect();
        let others = if others.is_empty() {
            "none".to_owned()
        } else {
            others.join(", ")
        };
        format!(
            "{name} has link layer {}: no subnet management there; InfiniBand ports are: {others}",
            port.link_layer
        )
    } else {
        format!("{name} has its subnet management interface disabled")
    };
    TransportError::NoPort { reason }
}

/// Why none of the ports is the one that is wanted.
pub(super) fn no_port(devices: &[Device], wanted: &Wanted) -> TransportError {
    let reason = if devices.is_empty() && !umad_is_loaded() {
        "the module ib_umad is not loaded (`modprobe ib_umad`), and there is no RDMA device"
            .to_owned()
    } else if !umad_is_loaded() {
        "the module ib_umad is not loaded: `modprobe ib_umad`".to_owned()
    } else {
        let known: Vec<String> = ports(devices)
            .map(|(device, port)| format!("{}/{} ({})", device.name, port.number, port.link_layer))
            .collect();
        let wanted = match (wanted.guid, &wanted.device, wanted.port) {
            (Some(guid), ..) => format!("no port with GUID {guid}"),
            (None, Some(device), Some(port)) => format!("no port {device}/{port}"),
            (None, Some(device), None) => format!("no device {device} with a port"),
            (None, None, _) => "no usable InfiniBand port".to_owned(),
        };
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        format!("{wanted}; ports here: {known}")
    };
    TransportError::NoPort { reason }
}

#[cfg(test)]
mod tests {
    use ib_wire::Gid;

    use super::*;

    fn port(number: u8, link_layer: LinkLayer, state: u8, phys_state: u8) -> DevicePort {
        DevicePort {
            number,
            umad: Some(0),
            link_layer,
            state: Some(state),
            phys_state: Some(phys_state),
            lid: None,
            sm_lid: None,
            gid: Some(Gid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number])),
            cap_mask: Some(0),
            rate: None,
        }
    }

    fn device(name: &str, ports: Vec<DevicePort>) -> Device {
        Device {
            name: name.to_owned(),
            node_type: 1,
            node_guid: None,
            hca_type: None,
            ports,
        }
    }

    #[test]
    fn without_a_name_the_first_active_infiniband_port_is_chosen() {
        let devices = [
            device("a", vec![port(1, LinkLayer::Ethernet, 4, 5)]),
            device(
                "b",
                vec![
                    port(1, LinkLayer::InfiniBand, 2, 5),
                    port(2, LinkLayer::InfiniBand, 4, 5),
                ],
            ),
            device("c", vec![port(1, LinkLayer::InfiniBand, 4, 5)]),
        ];
        let chosen = |device: Option<&str>, port, guid| {
            let wanted = Wanted {
                device: device.map(str::to_owned),
                port,
                guid,
            };
            wanted
                .choose(&devices)
                .map(|(device, port)| (device.name.as_str(), port.number))
        };
        assert_eq!(chosen(None, None, None), Some(("b", 2)));
        assert_eq!(chosen(None, Some(1), None), Some(("c", 1)));
        assert_eq!(chosen(Some("b"), Some(1), None), Some(("b", 1)));
        // A port that the user names is returned even if it is Ethernet, for an error that says so.
        assert_eq!(chosen(Some("a"), None, None), Some(("a", 1)));
        assert_eq!(chosen(Some("d"), None, None), None);
        assert_eq!(chosen(None, None, Some(Guid(2))), Some(("b", 2)));
        assert_eq!(chosen(Some("c"), None, Some(Guid(2))), None);
    }

    #[test]
    fn a_port_that_is_split_over_two_devices_is_found_by_its_guid() {
        let mut general = port(1, LinkLayer::InfiniBand, 4, 5);
        general.cap_mask = Some(1 << 10);
        let mut foreign = port(2, LinkLayer::InfiniBand, 4, 5);
        foreign.cap_mask = Some(0);
        let devices = [
            device("mlx5_0", vec![general]),
            device("smi_0", vec![port(1, LinkLayer::InfiniBand, 4, 5)]),
            device("mlx5_1", vec![foreign]),
        ];
        let names = |from: usize| {
            let port = &devices[from].ports[0];
            let halves = Halves::of(&devices, (&devices[from], port));
            let name = |(device, _): (&Device, _)| device.name.clone();
            (halves.smi.map(name), name(halves.gsi))
        };
        let split = (Some("smi_0".to_owned()), "mlx5_0".to_owned());
        assert_eq!(names(0), split);
        assert_eq!(names(1), split);
        assert_eq!(names(2), (Some("mlx5_1".to_owned()), "mlx5_1".to_owned()));
    }
}
