//! The lanes of routes that are there already.

use alloc::{sync::Arc, vec::Vec};
use core::slice;

use ib_wire::{Lid, Sl};

use super::{LaneOrders, Lanes};
use crate::{
    algo::{
        channel_graph::DependencyLayout,
        shortest_path_dag::{Tree, senders},
        tree_lanes::TreeLanes,
    },
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::{Routes, SlTable},
    vl::VlMap,
};

/// Gives service levels to routes that are there already, so that no lane can deadlock.
///
/// CA traffic comes first and must fit; routes from and to switches share what is left, and lane 0
/// where nothing is.
///
/// # Errors
/// [`RouteError::TooFewVls`] if `options.vls()` lanes do not suffice for the paths between CAs.
pub fn layer_routes(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    routes: &mut Routes,
) -> Result<(), RouteError> {
    let senders = senders(fabric, lids);
    let (layout, orders) = (
        Arc::new(DependencyLayout::new(fabric)),
        LaneOrders::new(fabric, &senders),
    );
    let mut lanes = Lanes::new(fabric, &layout, &orders, options.vls());
    // Each LID has a tree of its own.
    let lids_of_trees: Vec<Lid> = (0..=lids.max_lid().0).map(Lid).collect();
    let mut lanes_of_trees = TreeLanes::new(lids_of_trees.len());
    let mut trees = InstalledTree::new(fabric);
    let mut senders_of_tree = Vec::new();
    for between_cas in [true, false] {
        for (target, end) in lids
            .destinations()
            .iter()
            .filter_map(|end| Some((end.switch?, end)))
        {
            if between_cas && end.is_switch() {
                continue;
            }
            for lid in end.range.iter() {
                trees.read(fabric, routes, target, lid);
                let order = trees.tree.order().iter().copied();
                let sends = |switch| end.is_switch() || (senders[switch] > 0) == between_cas;
                senders_of_tree.clear();
                senders_of_tree.extend(order.filter(|&switch| sends(switch)));
                let fits = lanes.layer(&trees.tree, &senders_of_tree);
                if between_cas && fits.is_err() {
                    let (available, needed) = (options.vls(), u16::from(options.vls()) + 1);
                    let engine = routes.engine().name();
                    return Err(RouteError::TooFewVls {
                        engine,
                        available,
                        needed,
                    });
                }
                lanes_of_trees.note(usize::from(lid.0), lanes.of_tree());
            }
        }
    }
    let vls = lanes.used();
    if vls > 1 {
        let sls = lanes_of_trees.service_levels(
            options.threads,
            Sl::ZERO,
            fabric.num_switches(),
            routes.row_len(),
            lids_of_trees.iter().map(slice::from_ref),
        );
        routes.set_lanes(SlTable::BySwitch(sls), VlMap::default(), vls);
    }
    Ok(())
}

/// The tree that tables have for one LID.
#[derive(Debug, Default)]
struct InstalledTree {
    tree: Tree,
    /// The switches that send to a switch, as a linked list: the first of them, and the next.
    first_child: IdxVec<SwitchIdx, Option<SwitchIdx>>,
    sibling: IdxVec<SwitchIdx, Option<SwitchIdx>>,
    next_hop: IdxVec<SwitchIdx, ChannelIdx>,
}

impl InstalledTree {
    fn new(fabric: &Fabric) -> Self {
        let switches = fabric.num_switches();
        Self {
            tree: Tree::default(),
            first_child: IdxVec::filled(switches, None),
            sibling: IdxVec::filled(switches, None),
            next_hop: IdxVec::filled(switches, ChannelIdx(0)),
        }
    }

    fn read(&mut self, fabric: &Fabric, routes: &Routes, target: SwitchIdx, lid: Lid) {
        self.first_child.fill(None);
        for switch in fabric
            .switches()
            .indices()
            .filter(|&switch| switch != target)
        {
            if let Some(channel) = fabric.channel_at(switch, routes.port(switch, lid)) {
                let to = fabric.channel(channel).to;
                self.next_hop[switch] = channel;
                self.sibling[switch] = self.first_child[to];
                self.first_child[to] = Some(switch);
            }
        }
        self.tree.reset(fabric, target);
        let mut here = Some(target);
        let mut at = 0;
        while let Some(switch) = here {
            let mut child = self.first_child[switch];
            while let Some(switch) = child {
                self.tree.take(switch, self.next_hop[switch]);
                child = self.sibling[switch];
            }
            here = self.tree.order().get(at).copied();
            at += 1;
        }
    }
}
