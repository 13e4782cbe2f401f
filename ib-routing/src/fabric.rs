//! The fabric graph: nodes, ports, cables (IBA vol. 1, 3.2), and the switches' channels for engines.
//!
//! A [`Fabric`] is built once, by a [`FabricBuilder`], from a file, a generator or a discovery, and is
//! then read only. Nodes keep the order in which they were added; switches are numbered by GUID, so
//! that an engine that goes through them in order gives the same routes for any order of the input.
//! A cable between two switches is two [`Channel`]s, one per direction; parallel cables are channels
//! of their own, and a cable from a switch to itself is none, as no packet needs it.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{fmt, str::FromStr};

use ib_wire::{Guid, Lid, Lmc, PortNum};

use crate::{
    error::{TopologyError, TopologyErrorKind},
    index::{ChannelIdx, Idx, IdxVec, NodeIdx, SwitchIdx},
};

/// Kind of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeType {
    /// Channel adapter: an end node.
    #[default]
    Ca,
    /// Switch.
    Switch,
    /// Router: ends links like a channel adapter.
    Router,
}

impl NodeType {
    /// Whether packets are forwarded by LID here.
    #[must_use]
    pub const fn is_switch(self) -> bool {
        matches!(self, Self::Switch)
    }
}

/// Lanes of a link: 1, 2, 4, 8 or 12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkWidth(u8);

impl LinkWidth {
    /// One lane.
    pub const X1: Self = Self(1);
    /// Two lanes.
    pub const X2: Self = Self(2);
    /// Four lanes, the usual cable.
    pub const X4: Self = Self(4);
    /// Eight lanes.
    pub const X8: Self = Self(8);
    /// Twelve lanes.
    pub const X12: Self = Self(12);

    /// The width of so many lanes, if links have it.
    #[must_use]
    pub const fn from_lanes(lanes: u8) -> Option<Self> {
        match lanes {
            1 | 2 | 4 | 8 | 12 => Some(Self(lanes)),
            _ => None,
        }
    }

    /// Number of lanes.
    #[must_use]
    pub const fn lanes(self) -> u8 {
        self.0
    }
}

impl fmt::Display for LinkWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x", self.0)
    }
}

/// Signalling rate of a lane, by the name that tools print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LinkSpeed {
    /// 2.5 Gbit/s.
    Sdr,
    /// 5 Gbit/s.
    Ddr,
    /// 10 Gbit/s.
    Qdr,
    /// 10.3125 Gbit/s, a vendor's speed with the coding of FDR.
    Fdr10,
    /// 14.0625 Gbit/s.
    Fdr,
    /// 25.78125 Gbit/s.
    Edr,
    /// 53.125 Gbit/s.
    Hdr,
    /// 106.25 Gbit/s.
    Ndr,
    /// 212.5 Gbit/s.
    Xdr,
}

impl LinkSpeed {
    /// All speeds with their names, the slowest first.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Sdr, "SDR"),
        (Self::Ddr, "DDR"),
        (Self::Qdr, "QDR"),
        (Self::Fdr10, "FDR10"),
        (Self::Fdr, "FDR"),
        (Self::Edr, "EDR"),
        (Self::Hdr, "HDR"),
        (Self::Ndr, "NDR"),
        (Self::Xdr, "XDR"),
    ];

    /// Signalling rate of one lane in Mbit/s, rounded down.
    #[must_use]
    pub const fn lane_mbps(self) -> u32 {
        match self {
            Self::Sdr => 2_500,
            Self::Ddr => 5_000,
            Self::Qdr => 10_000,
            Self::Fdr10 => 10_312,
            Self::Fdr => 14_062,
            Self::Edr => 25_781,
            Self::Hdr => 53_125,
            Self::Ndr => 106_250,
            Self::Xdr => 212_500,
        }
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL
            .iter()
            .find(|(speed, _)| speed == self)
            .map_or("?", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for LinkSpeed {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(speed, _)| *speed)
            .ok_or(())
    }
}

/// A port of a node: one end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRef {
    /// The node.
    pub node: NodeIdx,
    /// Its port.
    pub port: PortNum,
}

/// What is known of one port. Port 0 of a switch is its management port and has no cable.
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
    /// Whether the link may carry routes. A cable can be known and its link not be up.
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

/// What is known of one node.
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
    /// Whether port 0 of the switch is enhanced.
    pub enhanced_port_0: bool,
    /// Which switch it is.
    switch: Option<SwitchIdx>,
    ports: Vec<Port>,
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

/// What a [`FabricBuilder`] needs to add a node; the rest has defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewNode {
    /// Kind of node.
    pub type_: NodeType,
    /// Node GUID; every node has its own.
    pub guid: Guid,
    /// Number of ports, port 0 not counted.
    pub num_ports: u8,
    /// GUID of the chassis or card.
    pub system_image_guid: Guid,
    /// Vendor's identifier.
    pub vendor_id: u32,
    /// Device identifier.
    pub device_id: u16,
    /// NodeDescription.
    pub description: String,
    /// Name in topology files; empty means `S-`, `H-` or `R-` and the GUID.
    pub name: String,
    /// Whether port 0 of the switch is enhanced.
    pub enhanced_port_0: bool,
}

/// Grows a fabric node by node and cable by cable.
#[derive(Clone, Debug, Default)]
pub struct FabricBuilder {
    nodes: IdxVec<NodeIdx, Node>,
    by_guid: BTreeMap<Guid, NodeIdx>,
}

impl FabricBuilder {
    /// A fabric without nodes.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            nodes: IdxVec::new(),
            by_guid: BTreeMap::new(),
        }
    }

    /// Adds a node. The ports of a switch get the node's GUID; those of a CA get none yet.
    ///
    /// # Errors
    /// [`TopologyErrorKind::GuidTwice`] if a node has this GUID already.
    pub fn add_node(&mut self, new: NewNode) -> Result<NodeIdx, TopologyError> {
        if self.by_guid.contains_key(&new.guid) {
            return Err(TopologyErrorKind::GuidTwice { guid: new.guid }.into());
        }
        let guid = if new.type_.is_switch() {
            new.guid
        } else {
            Guid::NONE
        };
        let name = if new.name.is_empty() {
            default_name(new.type_, new.guid)
        } else {
            new.name
        };
        let port = Port {
            guid,
            ..Port::default()
        };
        let index = self.nodes.push(Node {
            type_: new.type_,
            guid: new.guid,
            system_image_guid: new.system_image_guid,
            vendor_id: new.vendor_id,
            device_id: new.device_id,
            description: new.description,
            name,
            enhanced_port_0: new.enhanced_port_0,
            switch: None,
            ports: alloc::vec![port; usize::from(new.num_ports).saturating_add(1)],
        });
        self.by_guid.insert(new.guid, index);
        Ok(index)
    }

    /// Joins two ports by a cable. A cable that is there already is left as it is.
    ///
    /// # Errors
    /// [`TopologyErrorKind::PortOutOfRange`] for a port that the node lacks or for port 0, and
    /// [`TopologyErrorKind::ContradictoryLink`] if one of the ports has a cable to somebody else.
    pub fn add_link(&mut self, a: PortRef, b: PortRef) -> Result<(), TopologyError> {
        for (end, other) in [(a, b), (b, a)] {
            let found = self.link_port(end)?.peer;
            if let Some(found) = found.filter(|&found| found != other) {
                return Err(TopologyErrorKind::ContradictoryLink {
                    node: self.name(other),
                    port: other.port,
                    peer: self.name(end),
                    peer_port: end.port,
                    found: self.name(found),
                    found_port: found.port,
                }
                .into());
            }
        }
        self.link_port(a)?.peer = Some(b);
        self.link_port(b)?.peer = Some(a);
        Ok(())
    }

    /// Takes a port's cable out, at both ends.
    pub fn remove_link(&mut self, end: PortRef) {
        let peer = self.port_mut(end).and_then(|port| port.peer.take());
        if let Some(port) = peer.and_then(|peer| self.port_mut(peer)) {
            port.peer = None;
        }
    }

    /// The port, to set what is known of it.
    #[must_use]
    pub fn port_mut(&mut self, end: PortRef) -> Option<&mut Port> {
        self.nodes
            .find_mut(end.node)?
            .ports
            .get_mut(usize::from(end.port.0))
    }

    /// The node as it stands.
    #[must_use]
    pub fn node(&self, node: NodeIdx) -> Option<&Node> {
        self.nodes.find(node)
    }

    /// The node, to set what is known of it.
    #[must_use]
    pub fn node_mut(&mut self, node: NodeIdx) -> Option<&mut Node> {
        self.nodes.find_mut(node)
    }

    /// Which node has this GUID.
    #[must_use]
    pub fn node_by_guid(&self, guid: Guid) -> Option<NodeIdx> {
        self.by_guid.get(&guid).copied()
    }

    /// The finished fabric.
    #[must_use]
    pub fn build(self) -> Fabric {
        Fabric::new(self.nodes, self.by_guid)
    }

    fn link_port(&mut self, end: PortRef) -> Result<&mut Port, TopologyError> {
        let (node, num_ports) = self
            .nodes
            .find(end.node)
            .map_or((String::new(), 0), |node| {
                (node.name.clone(), node.num_ports())
            });
        let port = u32::from(end.port.0);
        self.port_mut(end).filter(|_| port != 0).ok_or_else(|| {
            TopologyErrorKind::PortOutOfRange {
                node,
                port,
                num_ports,
            }
            .into()
        })
    }

    fn name(&self, end: PortRef) -> String {
        self.nodes
            .find(end.node)
            .map_or_else(String::new, |node| node.name.to_string())
    }
}

/// The name that ibnetdiscover gives a node.
fn default_name(type_: NodeType, guid: Guid) -> String {
    let letter = match type_ {
        NodeType::Ca => 'H',
        NodeType::Switch => 'S',
        NodeType::Router => 'R',
    };
    format!("{letter}-{:016x}", guid.0)
}

/// One direction of a cable between two switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The switch that sends.
    pub from: SwitchIdx,
    /// The port it sends from.
    pub port: PortNum,
    /// The switch that receives.
    pub to: SwitchIdx,
    /// The port it receives on.
    pub to_port: PortNum,
    /// The other direction of the same cable.
    pub reverse: ChannelIdx,
}

/// An InfiniBand subnet: its nodes, their ports and cables.
///
/// ```
/// use ib_routing::{FabricBuilder, NewNode, NodeType, PortRef};
/// use ib_wire::{Guid, PortNum};
///
/// let mut builder = FabricBuilder::new();
/// let switch = NewNode { type_: NodeType::Switch, guid: Guid(0x20), num_ports: 8, ..NewNode::default() };
/// let switch = builder.add_node(switch)?;
/// let host = builder.add_node(NewNode { guid: Guid(0x10), num_ports: 1, ..NewNode::default() })?;
/// builder.add_link(
///     PortRef { node: switch, port: PortNum(3) },
///     PortRef { node: host, port: PortNum(1) },
/// )?;
/// let fabric = builder.build();
/// assert_eq!(fabric.num_switches(), 1);
/// # Ok::<(), ib_routing::TopologyError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fabric {
    nodes: IdxVec<NodeIdx, Node>,
    by_guid: BTreeMap<Guid, NodeIdx>,
    switches: IdxVec<SwitchIdx, NodeIdx>,
    channels: IdxVec<ChannelIdx, Channel>,
    /// Where each switch's channels begin; one entry more than switches.
    first_channel: IdxVec<SwitchIdx, ChannelIdx>,
    /// Where each switch's ports begin in `port_channel`; one entry more than switches.
    first_port: IdxVec<SwitchIdx, u32>,
    /// The channel that leaves by a port, or [`NO_CHANNEL`].
    port_channel: Vec<ChannelIdx>,
}

const NO_CHANNEL: ChannelIdx = ChannelIdx(u32::MAX);

impl Fabric {
    fn new(mut nodes: IdxVec<NodeIdx, Node>, by_guid: BTreeMap<Guid, NodeIdx>) -> Self {
        // `by_guid` is sorted, so switches come out in the order of their GUIDs.
        let is_switch = |node: &&NodeIdx| nodes[**node].type_.is_switch();
        let switches: IdxVec<SwitchIdx, NodeIdx> =
            by_guid.values().filter(is_switch).copied().collect();
        for (switch, &node) in switches.iter_enumerated() {
            nodes[node].switch = Some(switch);
        }
        let mut fabric = Self {
            nodes,
            by_guid,
            switches,
            ..Self::default()
        };
        fabric.number_channels();
        fabric
    }

    fn number_channels(&mut self) {
        let (mut channels, mut port_channel) = (IdxVec::new(), Vec::new());
        let (mut first_channel, mut first_port) = (IdxVec::new(), IdxVec::new());
        for (from, &node) in self.switches.iter_enumerated() {
            first_channel.push(ChannelIdx::new(channels.len()));
            first_port.push(port_channel.len() as u32);
            for (port, end) in self.nodes[node].ports() {
                let to = end.peer.filter(|_| !end.disabled).and_then(|peer| {
                    let to = self.nodes[peer.node].switch?;
                    let up = self.nodes[peer.node]
                        .port(peer.port)
                        .is_some_and(|port| !port.disabled);
                    (up && to != from).then_some((to, peer.port))
                });
                port_channel.push(to.map_or(NO_CHANNEL, |(to, to_port)| {
                    channels.push(Channel {
                        from,
                        port,
                        to,
                        to_port,
                        reverse: NO_CHANNEL,
                    })
                }));
            }
        }
        first_channel.push(ChannelIdx::new(channels.len()));
        first_port.push(port_channel.len() as u32);
        (self.channels, self.port_channel) = (channels, port_channel);
        (self.first_channel, self.first_port) = (first_channel, first_port);
        for channel in self.channels.indices() {
            let Channel { to, to_port, .. } = self.channels[channel];
            self.channels[channel].reverse = self.channel_at(to, to_port).unwrap_or(channel);
        }
    }

    /// All nodes, in the order in which they were added.
    #[must_use]
    pub fn nodes(&self) -> &IdxVec<NodeIdx, Node> {
        &self.nodes
    }

    /// One node.
    #[inline]
    #[must_use]
    pub fn node(&self, node: NodeIdx) -> &Node {
        &self.nodes[node]
    }

    /// Which node has this node GUID.
    #[must_use]
    pub fn node_by_guid(&self, guid: Guid) -> Option<NodeIdx> {
        self.by_guid.get(&guid).copied()
    }

    /// All nodes by GUID.
    pub fn nodes_by_guid(&self) -> impl DoubleEndedIterator<Item = NodeIdx> {
        self.by_guid.values().copied()
    }

    /// Which port has this port GUID; the first by node GUID where a file names it twice.
    #[must_use]
    pub fn port_by_guid(&self, guid: Guid) -> Option<PortRef> {
        self.nodes_by_guid().find_map(|node| {
            let (port, _) = self.nodes[node]
                .end_ports()
                .find(|(_, port)| port.guid == guid)?;
            Some(PortRef { node, port })
        })
    }

    /// The port, if there is such.
    #[must_use]
    pub fn port(&self, end: PortRef) -> Option<&Port> {
        self.nodes.find(end.node)?.port(end.port)
    }

    /// Number of switches.
    #[inline]
    #[must_use]
    pub fn num_switches(&self) -> usize {
        self.switches.len()
    }

    /// All switches by GUID, with their nodes.
    #[must_use]
    pub fn switches(&self) -> &IdxVec<SwitchIdx, NodeIdx> {
        &self.switches
    }

    /// The node that a switch is.
    #[inline]
    #[must_use]
    pub fn switch(&self, switch: SwitchIdx) -> &Node {
        &self.nodes[self.switches[switch]]
    }

    /// Node GUID of a switch.
    #[must_use]
    pub fn switch_guid(&self, switch: SwitchIdx) -> Guid {
        self.switch(switch).guid
    }

    /// Which switch a node is.
    #[inline]
    #[must_use]
    pub fn switch_of(&self, node: NodeIdx) -> Option<SwitchIdx> {
        self.nodes[node].switch
    }

    /// Which switch has this node GUID.
    #[must_use]
    pub fn switch_by_guid(&self, guid: Guid) -> Option<SwitchIdx> {
        self.switch_of(self.node_by_guid(guid)?)
    }

    /// The switch that a CA's or router's port is cabled to, and the port there.
    #[must_use]
    pub fn attachment(&self, end: PortRef) -> Option<(SwitchIdx, PortNum)> {
        let port = self.port(end).filter(|port| !port.disabled)?;
        let peer = port.peer?;
        let up = self.port(peer).is_some_and(|port| !port.disabled);
        self.switch_of(peer.node)
            .filter(|_| up)
            .map(|switch| (switch, peer.port))
    }

    /// All channels, ordered by switch and port.
    #[must_use]
    pub fn channels(&self) -> &IdxVec<ChannelIdx, Channel> {
        &self.channels
    }

    /// One channel.
    #[inline]
    #[must_use]
    pub fn channel(&self, channel: ChannelIdx) -> &Channel {
        &self.channels[channel]
    }

    /// The channels that leave a switch, by port.
    #[inline]
    pub fn channels_from(
        &self,
        switch: SwitchIdx,
    ) -> impl DoubleEndedIterator<Item = (ChannelIdx, &Channel)> + ExactSizeIterator {
        let (start, end) = self.channel_range(switch);
        let slice = self.channels.range(start, end);
        slice
            .iter()
            .enumerate()
            .map(move |(at, channel)| (ChannelIdx(start.0 + at as u32), channel))
    }

    /// Indices of the channels that leave a switch: from the first up to but not including the second.
    #[inline]
    #[must_use]
    pub fn channel_range(&self, switch: SwitchIdx) -> (ChannelIdx, ChannelIdx) {
        (
            self.first_channel[switch],
            self.first_channel[SwitchIdx(switch.0 + 1)],
        )
    }

    /// The channel that leaves `switch` by `port`, if a switch is at the other end.
    #[inline]
    #[must_use]
    pub fn channel_at(&self, switch: SwitchIdx, port: PortNum) -> Option<ChannelIdx> {
        let (first, end) = (
            self.first_port[switch],
            self.first_port[SwitchIdx(switch.0 + 1)],
        );
        let at = first + u32::from(port.0);
        let channel = *self.port_channel.get(at as usize)?;
        (at < end && channel != NO_CHANNEL).then_some(channel)
    }

    /// A copy to change: the way to break a link or to add what a discovery found later.
    #[must_use]
    pub fn to_builder(&self) -> FabricBuilder {
        let mut nodes = self.nodes.clone();
        for node in nodes.iter_mut() {
            node.switch = None;
        }
        FabricBuilder {
            nodes,
            by_guid: self.by_guid.clone(),
        }
    }

    /// Number of cables, each counted once.
    #[must_use]
    pub fn num_links(&self) -> usize {
        self.links().count()
    }

    /// Every cable once: the end that was added first, then the other.
    pub fn links(&self) -> impl Iterator<Item = (PortRef, PortRef)> {
        self.nodes.iter_enumerated().flat_map(|(node, entry)| {
            entry.ports().filter_map(move |(port, end)| {
                let here = PortRef { node, port };
                end.peer
                    .filter(|&peer| here < peer)
                    .map(|peer| (here, peer))
            })
        })
    }

    /// The part of the fabric that each switch is in, numbered from 0 by their first switches.
    #[must_use]
    pub fn parts(&self) -> IdxVec<SwitchIdx, u32> {
        let mut parts = IdxVec::filled(self.num_switches(), u32::MAX);
        let mut count = 0;
        for first in self.switches.indices() {
            if parts[first] != u32::MAX {
                continue;
            }
            parts[first] = count;
            let mut open = Vec::from([first]);
            while let Some(switch) = open.pop() {
                for (_, channel) in self.channels_from(switch) {
                    if parts[channel.to] == u32::MAX {
                        parts[channel.to] = count;
                        open.push(channel.to);
                    }
                }
            }
            count += 1;
        }
        parts
    }

    /// Number of nodes of a kind.
    #[must_use]
    pub fn count(&self, type_: NodeType) -> usize {
        self.nodes.iter().filter(|node| node.type_ == type_).count()
    }
}
