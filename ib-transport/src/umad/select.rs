//! Selection of the port to open, and the error if there is none.

use ib_wire::{Guid, Qpn};

use super::{
    AgentClass,
    device::{ABI_VERSION, Device, DevicePort, LinkLayer},
};
use crate::TransportError;

/// The port that the user names: by device, number, GUID, all or none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSelector {
    /// Device name, as `mlx5_0`.
    pub device: Option<String>,
    /// Number of the port on its device.
    pub port: Option<u8>,
    /// GUID of the port.
    pub guid: Option<Guid>,
}

impl PortSelector {
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
pub(super) struct SplitPort<'a> {
    /// Carries QP0.
    pub(super) smi: Option<(&'a Device, &'a DevicePort)>,
    /// Carries QP1.
    pub(super) gsi: (&'a Device, &'a DevicePort),
}

impl<'a> SplitPort<'a> {
    /// The halves of a port; most ports are both themselves.
    pub(super) fn of(devices: &'a [Device], chosen: (&'a Device, &'a DevicePort)) -> Self {
        let (_, port) = chosen;
        let twin = |has_smi: bool| {
            let guid = port.guid().filter(|guid| guid.0 != 0)?;
            if port.link_layer != LinkLayer::InfiniBand {
                return None;
            }
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

    /// Returns true if they are two.
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

/// Why a port cannot carry `classes`, if it cannot.
///
/// # Errors
/// [`NoPort`](TransportError::NoPort): subnet management where there is no QP0, or nothing but other classes
/// on an InfiniBand port that is not Active. Subnet management passes in every state: it is what brings a
/// port up. A simulator's states are those of the moment at which we attached, and say nothing.
pub(super) fn check(
    devices: &[Device],
    (device, port): (&Device, &DevicePort),
    has_smi: bool,
    classes: &[AgentClass],
) -> Result<(), TransportError> {
    let wants_smi = classes.iter().any(|class| class.qpn() == Qpn::SMI);
    if wants_smi && !has_smi {
        return Err(no_smi(device, port, devices));
    }
    let is_simulator = device.hca_type.as_deref() == Some("simulator");
    match port.trouble() {
        Some(trouble)
            if !wants_smi && !is_simulator && port.link_layer == LinkLayer::InfiniBand =>
        {
            let reason = format!("{} is {trouble}", name(device, port));
            Err(TransportError::NoPort { reason })
        }
        _ => Ok(()),
    }
}

/// Why no subnet management passes through this port.
fn no_smi(device: &Device, port: &DevicePort, devices: &[Device]) -> TransportError {
    let name_ = name(device, port);
    let reason = if port.link_layer != LinkLayer::InfiniBand {
        let others = ports(devices)
            .filter(|(_, port)| port.has_smi())
            .map(|(device, port)| name(device, port));
        format!(
            "{name_} has link layer {}: no subnet management there; InfiniBand ports are: {}",
            port.link_layer,
            listed(others)
        )
    } else {
        format!(
            "{name_} has its subnet management interface disabled (IsSMDisabled), and no other device here \
             has it for this port"
        )
    };
    TransportError::NoPort { reason }
}

/// Why none of the ports is the one that is wanted; `abi_version` is the module's.
pub(super) fn no_port(
    devices: &[Device],
    wanted: &PortSelector,
    abi_version: Option<u32>,
) -> TransportError {
    let reason = match abi_version {
        None if devices.is_empty() => {
            "the module ib_umad is not loaded (`modprobe ib_umad`), and there is no RDMA device"
                .to_owned()
        }
        None => "the module ib_umad is not loaded: `modprobe ib_umad`".to_owned(),
        Some(version) if version < ABI_VERSION => format!(
            "the kernel's ib_umad has interface version {version}, this program speaks \
             {ABI_VERSION}"
        ),
        Some(_) => {
            let wanted = match (wanted.guid, &wanted.device, wanted.port) {
                (Some(guid), ..) => format!("no port with GUID {guid}"),
                (None, Some(device), Some(port)) => format!("no port {device}/{port}"),
                (None, Some(device), None) => format!("no device {device} with a port"),
                (None, None, Some(port)) => format!("no device with an InfiniBand port {port}"),
                (None, None, None) => "no usable InfiniBand port".to_owned(),
            };
            let known = ports(devices)
                .map(|(device, port)| format!("{} ({})", name(device, port), port.link_layer));
            format!("{wanted}; ports here: {}", listed(known))
        }
    };
    TransportError::NoPort { reason }
}

fn name(device: &Device, port: &DevicePort) -> String {
    format!("{}/{}", device.name, port.number)
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

#[cfg(test)]
mod tests;
