//! Facts of nodes and ports (IBA vol. 1, NodeInfo and PortInfo).

use alloc::{string::String, vec::Vec};

use ib_wire::{Guid, Lid, LinkSpeed, LinkWidth, Lmc, NodeType, PortNum};

use crate::index::{NodeIdx, SwitchIdx};

/// A port of a node: one end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRef {
    /// Index of the node in its fabric.
    pub node: NodeIdx,
    /// Number of the port at the node: 0 is a switch's management port.
    pub port: PortNum,
}

/// Facts of one port. Port 0 of a switch is its management port and has no cable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// Port GUID; ports of a switch share the node's.
    pub guid: Guid,
    /// Base LID, or [`Lid::NONE`].
    pub lid: Lid,
    /// LID mask control.
    pub lmc: Lmc,
    /// The other end of the cable.
    pub peer: Option<PortRef>,
    /// Active width, if known.
    pub width: Option<LinkWidth>,
    /// Active speed, if known.
    pub speed: Option<LinkSpeed>,
    /// True if the link must not carry routes: a cable can be known and its link not be up.
    pub disabled: bool,
    /// `s=`, `w=`, `v=`, `e=` of `ibnetdiscover -f`: enabled speed, width, VLs and extended speed.
    pub enabled: Enabled,
}

/// The masks that `ibnetdiscover -f` prints after a link; `None` where it printed none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enabled {
    /// `s=`: LinkSpeedEnabled.
    pub speed: Option<u8>,
    /// `w=`: LinkWidthEnabled.
    pub width: Option<u8>,
    /// `v=`: operational VLs.
    pub vls: Option<u8>,
    /// `e=`: LinkSpeedExtEnabled.
    pub ext_speed: Option<u8>,
}

/// Facts of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Kind of node.
    pub type_: NodeType,
    /// Node GUID.
    pub guid: Guid,
    /// GUID of the chassis or card; zero where unknown.
    pub system_image_guid: Guid,
    /// Vendor's identifier (OUI).
    pub vendor_id: u32,
    /// Device identifier.
    pub device_id: u16,
    /// NodeDescription.
    pub description: String,
    /// The name in topology files, as `S-0002c90300a1b2c3`.
    pub name: String,
    /// True if port 0 of the switch is enhanced.
    pub enhanced_port_0: bool,
    /// Its switch index; `None` if it is no switch.
    pub(super) switch: Option<SwitchIdx>,
    pub(super) ports: Vec<Port>,
}

impl Node {
    /// Number of ports, port 0 not counted.
    #[must_use]
    pub fn num_ports(&self) -> u8 {
        u8::try_from(self.ports.len().saturating_sub(1)).unwrap_or(u8::MAX)
    }

    /// The port, if the node has it.
    #[inline]
    #[must_use]
    pub fn port(&self, port: PortNum) -> Option<&Port> {
        self.ports.get(usize::from(port.0))
    }

    /// All ports with their numbers: from port 0, which only a switch really has.
    pub fn ports(&self) -> impl DoubleEndedIterator<Item = (PortNum, &Port)> {
        (0..=u8::MAX)
            .zip(&self.ports)
            .map(|(num, port)| (PortNum(num), port))
            .rev()
            .rev()
    }

    /// Ports with LIDs of their own: port 0 of a switch, all others of a CA or router.
    pub fn end_ports(&self) -> impl Iterator<Item = (PortNum, &Port)> {
        let switch = self.type_.is_switch();
        self.ports().filter(move |(num, _)| switch == (num.0 == 0))
    }
}
