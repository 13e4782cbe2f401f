//! The nodes and ports that a discovery has found, in the order for lists.

use alloc::{
    collections::{BTreeSet, VecDeque},
    vec::Vec,
};

use ib_mad::WindowCounters;
use ib_routing::{Fabric, NodeIdx, NodeType, PortRef};
use ib_smp::DrPath;
use ib_wire::Guid;

use crate::Subnet;

/// A device that did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentPort {
    /// The directed route of the unanswered request.
    pub path: DrPath,
    /// GUID of the node; `None` if it never answered.
    pub node_guid: Option<Guid>,
}

/// The result of a [`Discovery`](crate::Discovery).
#[derive(Clone, Debug)]
pub struct Discovered {
    /// The observed state.
    pub subnet: Subnet,
    /// The observed state as a fabric, for routing and for the file formats.
    pub fabric: Fabric,
    /// The own port; `None` if not even the own node answered.
    pub from: Option<PortRef>,
    /// Devices that did not answer.
    pub silent: Vec<SilentPort>,
    /// GUIDs that more than one node has.
    pub duplicate_guids: Vec<Guid>,
    /// Numbers of datagrams of the discovery.
    pub counters: WindowCounters,
}

impl Discovered {
    /// The nodes breadth-first from the own node, the ports of each in order. This order depends on the cables
    /// alone, not on the order of the answers.
    #[must_use]
    pub fn breadth_first(&self) -> Vec<NodeIdx> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::new();
        let mut queue: VecDeque<NodeIdx> = self.from.map(|from| from.node).into_iter().collect();
        seen.extend(&queue);
        while let Some(index) = queue.pop_front() {
            order.push(index);
            let node = self.fabric.node(index);
            for (number, port) in node.ports() {
                let here = PortRef {
                    node: index,
                    port: number,
                };
                // Adapters do not forward: only the cable of the own adapter was followed.
                if let Some(peer) = port.peer
                    && (node.type_.is_switch() || self.from == Some(here))
                    && seen.insert(peer.node)
                {
                    queue.push_back(peer.node);
                }
            }
        }
        order
    }

    /// The nodes in the order of `ibnetdiscover`: switches, CAs, routers. Within each type the order is the
    /// reverse of [`breadth_first`](Self::breadth_first).
    #[must_use]
    pub fn listed(&self) -> Vec<NodeIdx> {
        let order = self.breadth_first();
        let of = |type_| {
            let nodes = order.iter().rev().copied();
            nodes.filter(move |&node| self.fabric.node(node).type_ == type_)
        };
        [NodeType::SWITCH, NodeType::CA, NodeType::ROUTER]
            .into_iter()
            .flat_map(of)
            .collect()
    }
}
