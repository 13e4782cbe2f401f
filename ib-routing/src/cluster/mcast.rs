//! Joins the multicast trees of clusters through the ports that their configurations name.
//!
//! Each cluster makes its own tree of a group, with the joints to its neighbours as additional members
//! ([`ClusterView::tree`]). The joints form a tree of the clusters, so the whole is one tree.

use alloc::{collections::BTreeMap, vec::Vec};

use ib_wire::PortNum;

use super::{validate::Clusters, view::ClusterView};
use crate::{
    fabric::{Fabric, PortRef},
    index::{NodeIdx, SwitchIdx},
    mcast::{MulticastTree, MulticastTrees, PortSet},
};

impl ClusterView {
    /// No trees of this cluster's groups yet. `without` are switches that cannot forward multicast.
    #[must_use]
    pub fn trees(&self, without: impl IntoIterator<Item = SwitchIdx>) -> MulticastTrees<'_> {
        MulticastTrees::new(self.with_remote(), without.into_iter().collect())
    }

    /// The tree that joins `members`, which are ports of the cluster's own nodes, with the joints to its neighbours.
    /// The joints are always included, because this cluster cannot tell whether there are members beyond them.
    pub fn tree(&self, trees: &mut MulticastTrees<'_>, members: &[PortRef]) -> MulticastTree {
        let joints = self.config().multicast.iter();
        let joints = joints.filter_map(|place| self.remote_end(place));
        let all: Vec<PortRef> = members.iter().copied().chain(joints).collect();
        trees.tree(&all)
    }
}

/// One tree of the whole fabric from the clusters' trees of a group, in the order of the clusters.
///
/// The tree starts at the root of the first cluster that has one. Members that no joint connects to it are left out, as
/// are those that their own cluster leaves out. [`MulticastTree::depth`] is the depth of the whole, which may exceed
/// [`MAX_DEPTH`](crate::mcast::MAX_DEPTH), because no cluster has that information.
#[must_use]
pub fn join_trees(fabric: &Fabric, clusters: &Clusters, trees: &[MulticastTree]) -> MulticastTree {
    let mut whole = MulticastTree::default();
    for (view, tree) in clusters.views().iter().zip(trees) {
        let own = view.with_remote();
        let node = |node: NodeIdx| fabric.node_by_guid(own.node(node).guid);
        let switch = |switch: SwitchIdx| fabric.switch_by_guid(own.switch_guid(switch));
        for (&at, &ports) in &tree.ports {
            if let Some(at) = switch(at) {
                whole.ports.insert(at, ports);
            }
        }
        let left_out = tree.left_out.iter().filter_map(|&end| {
            let node = node(end.node)?;
            Some(PortRef { node, ..end })
        });
        whole.left_out.extend(left_out);
        whole.root = whole.root.or_else(|| tree.root.and_then(switch));
    }
    let hops = hops(fabric, &whole);
    whole.depth = hops.values().copied().max().unwrap_or(0);
    let all = core::mem::take(&mut whole.ports).into_iter();
    let (joined, apart) = all.partition(|(switch, _)| hops.contains_key(switch));
    whole.ports = joined;
    whole.left_out.extend(members(fabric, &apart));
    whole
}

/// Hops from the root to every switch that the tree leads to.
fn hops(fabric: &Fabric, tree: &MulticastTree) -> BTreeMap<SwitchIdx, u16> {
    let mut hops: BTreeMap<SwitchIdx, u16> = tree.root.map(|root| (root, 0)).into_iter().collect();
    let mut open: Vec<SwitchIdx> = tree.root.into_iter().collect();
    while let Some(switch) = open.pop() {
        let next = hops.get(&switch).map_or(0, |hops| hops.saturating_add(1));
        let ports = tree.ports.get(&switch).into_iter().flat_map(PortSet::iter);
        for channel in ports.filter_map(|port| fabric.channel_at(switch, port)) {
            let to = fabric.channel(channel).to;
            if tree.ports.contains_key(&to) && !hops.contains_key(&to) {
                hops.insert(to, next);
                open.push(to);
            }
        }
    }
    hops
}

/// The end ports that the switches of a tree deliver to.
fn members(fabric: &Fabric, ports: &BTreeMap<SwitchIdx, PortSet>) -> Vec<PortRef> {
    let mut members = Vec::new();
    for (&switch, ports) in ports {
        let node = fabric.switches()[switch];
        for port in ports.iter() {
            let peer = fabric.node(node).port(port).and_then(|port| port.peer);
            match peer {
                _ if port == PortNum::MANAGEMENT => members.push(PortRef { node, port }),
                Some(peer) if fabric.switch_of(peer.node).is_none() => members.push(peer),
                _ => {}
            }
        }
    }
    members
}
