//! The fabric graph: nodes, ports, cables (IBA vol. 1, 3.2), and the switches' channels for engines.
//!
//! A [`Fabric`] is built once, by a [`FabricBuilder`], from a file, a generator or a discovery, and is
//! then read only. Nodes keep the order in which they were added; switches are numbered by GUID, so
//! that an engine that goes through them in order gives the same routes for any order of the input.
//! A cable between two switches is two [`Channel`]s, one per direction; parallel cables are channels
//! of their own, and a cable from a switch to itself is none, as no packet needs it.

mod builder;
pub(crate) mod lost;
mod node;

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

use ib_wire::{Guid, Lid, Lmc, PortNum};

pub use ib_wire::{LinkSpeed, LinkWidth, NodeType};

use self::lost::LostChannels;
pub use self::{
    builder::{FabricBuilder, NewNode},
    node::{Enabled, Node, Port, PortRef},
};
use crate::{
    algo::parallel,
    index::{ChannelIdx, Idx, IdxVec, NodeIdx, SwitchIdx},
};

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
/// let switch = NewNode { type_: NodeType::SWITCH, guid: Guid(0x20), num_ports: 8, ..NewNode::default() };
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
    /// Clones share the nodes.
    nodes: IdxVec<NodeIdx, Arc<Node>>,
    by_guid: Arc<BTreeMap<Guid, NodeIdx>>,
    switches: IdxVec<SwitchIdx, NodeIdx>,
    channels: IdxVec<ChannelIdx, Channel>,
    /// The position of each switch's first channel; one entry more than switches.
    first_channel: IdxVec<SwitchIdx, ChannelIdx>,
    /// The position of each switch's first port in `port_channel`; one entry more than switches.
    first_port: IdxVec<SwitchIdx, u32>,
    /// The channel that leaves by a port, or [`NO_CHANNEL`].
    port_channel: Vec<ChannelIdx>,
    /// Identifies the switches and channels: only clones, which have the same ones, share it.
    mark: Arc<()>,
    /// The mark of the fabric that this one became when it lost channels, and these channels.
    before: Option<(Arc<()>, LostChannels)>,
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
        // A collected vector would keep the memory of the nodes that it is made of.
        let mut shared = IdxVec::with_capacity(nodes.len());
        for node in nodes {
            shared.push(Arc::new(node));
        }
        let mut fabric = Self {
            nodes: shared,
            by_guid: Arc::new(by_guid),
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
        channels.shrink_to_fit();
        port_channel.shrink_to_fit();
        (self.channels, self.port_channel) = (channels, port_channel);
        (self.first_channel, self.first_port) = (first_channel, first_port);
        for channel in self.channels.indices() {
            let Channel { to, to_port, .. } = self.channels[channel];
            self.channels[channel].reverse = self.channel_at(to, to_port).unwrap_or(channel);
        }
    }

    /// All nodes, in the order in which they were added.
    #[must_use]
    pub const fn nodes(&self) -> &IdxVec<NodeIdx, Arc<Node>> {
        &self.nodes
    }

    /// The first port of a CA that has a cable, in the order of the nodes: where a subnet manager may run.
    /// `None` if no CA has one.
    #[must_use]
    pub fn first_host(&self) -> Option<PortRef> {
        let hosts = self.nodes.iter_enumerated();
        let mut hosts = hosts.filter(|(_, node)| !node.type_.is_switch());
        hosts.find_map(|(node, entry)| {
            let (port, _) = entry.end_ports().find(|(_, port)| port.peer.is_some())?;
            Some(PortRef { node, port })
        })
    }

    /// One node.
    #[inline]
    #[must_use]
    pub fn node(&self, node: NodeIdx) -> &Node {
        &self.nodes[node]
    }

    /// The node with this node GUID.
    #[must_use]
    pub fn node_by_guid(&self, guid: Guid) -> Option<NodeIdx> {
        self.by_guid.get(&guid).copied()
    }

    /// All nodes by GUID.
    pub fn nodes_by_guid(&self) -> impl DoubleEndedIterator<Item = NodeIdx> {
        self.by_guid.values().copied()
    }

    /// The port with this port GUID; the first by node GUID where a file names it twice.
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

    /// The switch index of a node; `None` if the node is no switch.
    #[inline]
    #[must_use]
    pub fn switch_of(&self, node: NodeIdx) -> Option<SwitchIdx> {
        self.nodes[node].switch
    }

    /// The switch with this node GUID.
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

    /// A copy to change, for instance to remove a link or to add nodes that a later discovery found.
    #[must_use]
    pub fn to_builder(&self) -> FabricBuilder {
        let nodes = self.nodes.iter().map(|node| Node {
            switch: None,
            ..Node::clone(node)
        });
        FabricBuilder {
            nodes: nodes.collect(),
            by_guid: BTreeMap::clone(&self.by_guid),
        }
    }

    /// The fabric without the cables between switches that end at these ports, equal to one that is built anew without them.
    /// It shares all other nodes with this fabric. Ports without such a cable stay as they are.
    ///
    /// Time O(nodes + channels), with small factors.
    #[must_use]
    pub fn without_cables(&self, ends: &[PortRef]) -> Self {
        let mut fabric = self.clone();
        let mut lost = Vec::new();
        for &end in ends {
            let peer = self.port(end).and_then(|port| port.peer);
            for here in peer.into_iter().chain([end]) {
                let Some(switch) = self.switch_of(here.node) else {
                    continue;
                };
                lost.extend(self.channel_at(switch, here.port));
            }
        }
        let lost = LostChannels::new(lost);
        for end in lost.iter().map(|lost| self.channel(lost)) {
            let node = self.switches[end.from];
            let here = PortRef {
                node,
                port: end.port,
            };
            if let Some(port) = fabric.port_mut(here) {
                port.peer = None;
            }
        }
        fabric.forget_channels(&lost);
        (fabric.mark, fabric.before) = (Arc::default(), Some((Arc::clone(&self.mark), lost)));
        fabric
    }

    /// The channels that the fabric has lost since it was `before`, if it is known without a comparison.
    fn lost_since(&self, before: &Self) -> Option<LostChannels> {
        if Arc::ptr_eq(&self.mark, &before.mark) {
            return Some(LostChannels::default());
        }
        let (mark, lost) = self.before.as_ref()?;
        Arc::ptr_eq(mark, &before.mark).then(|| lost.clone())
    }

    /// Sets what is known of the link of a port, which a port without a link reports differently.
    pub fn set_link(&mut self, end: PortRef, width: Option<LinkWidth>, speed: Option<LinkSpeed>) {
        if let Some(port) = self.port_mut(end) {
            (port.width, port.speed) = (width, speed);
        }
    }

    /// Sets the base LID and the LMC of a port, as after an assignment.
    pub fn set_lid(&mut self, end: PortRef, lid: Lid, lmc: Lmc) {
        if let Some(port) = self.port_mut(end) {
            (port.lid, port.lmc) = (lid, lmc);
        }
    }

    fn port_mut(&mut self, end: PortRef) -> Option<&mut Port> {
        let node = Arc::make_mut(self.nodes.find_mut(end.node)?);
        node.ports.get_mut(usize::from(end.port.0))
    }

    /// Takes channels out. The others keep their order.
    fn forget_channels(&mut self, lost: &LostChannels) {
        self.channels = lost.left(&self.channels);
        for channel in self.channels.iter_mut() {
            channel.reverse = lost.now(channel.reverse).unwrap_or(NO_CHANNEL);
        }
        for first in self.first_channel.iter_mut() {
            first.0 -= lost.count_below(*first);
        }
        for channel in &mut self.port_channel {
            if *channel != NO_CHANNEL {
                *channel = lost.now(*channel).unwrap_or(NO_CHANNEL);
            }
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

    /// Every cable between two switches once, as [`links`](Self::links) gives it.
    pub fn switch_links(&self) -> impl Iterator<Item = (PortRef, PortRef)> {
        let is_switch = |end: PortRef| self.switch_of(end.node).is_some();
        let links = self.links();
        links.filter(move |&(one, other)| is_switch(one) && is_switch(other))
    }

    /// The part of the fabric that each switch is in, numbered from 0 by their first switches.
    #[must_use]
    pub fn parts(&self) -> IdxVec<SwitchIdx, u32> {
        parallel::count(self.channels().len());
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
