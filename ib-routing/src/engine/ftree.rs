//! Fat-tree routing (`ftree`): up to a common ancestor, then down, without contention for shifts.
//!
//! Needs a tree of levels: cables join neighbouring levels only. CAs sit on leaves (level 0); trees may
//! be oversubscribed, pruned or degraded. Each destination gets a chain of ancestors from its leaf to
//! one root, the least used link at every level, and everybody sends up towards that root: on a whole
//! tree every link down serves as many destinations as any other, and a shift of the CAs in the order
//! of their LIDs loads no link twice. CA traffic turns from up to down only, so one virtual lane does;
//! switches that no such path joins (roots, mostly) talk through one leaf. CAs above the leaves (name
//! the compute nodes, or the roots) may need routes that turn from down to up, against the stream: they
//! get lanes of their own, and [`RouteOptions::max_reverse_hops`] limits them to I/O nodes and so many
//! hops. Time O(LIDs * switches).
//! Source: Zahavi, Johnson, Kerbyson and Lang, "Optimized InfiniBand fat-tree routing for shift
//! all-to-all communication patterns", 2010; Bogdanski et al., "sFtree", 2012, for switch traffic.

mod chains;
mod lft_row;
mod tree;
mod view;

use alloc::{format, vec::Vec};

use self::{
    chains::{Chains, UpPorts},
    lft_row::LftRow,
    tree::Tree,
    view::{Hubs, View},
};
use crate::{
    algo::{lanes, parallel},
    engine::{self, Guarantees, PathRule, RoutingEngine},
    error::RouteError,
    fabric::Fabric,
    index::SwitchIdx,
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// The name that errors bear too.
const NAME: &str = "ftree";

/// Groups of targets whose views are kept, and whose pages of tables are open, at the same time.
const BATCH: usize = 8;

/// The engine `ftree`.
#[derive(Clone, Copy, Debug, Default)]
pub struct FatTree;

impl RoutingEngine for FatTree {
    fn name(&self) -> &'static str {
        NAME
    }

    fn guarantees(&self, options: &RouteOptions) -> Guarantees {
        Guarantees {
            deadlock_free: true,
            paths: PathRule::FromLeaves,
            // Only routes that turn back up need lanes of their own.
            lanes: options.max_reverse_hops > 0,
            ..Guarantees::NONE
        }
    }

    /// Routes a fat tree.
    ///
    /// # Errors
    /// [`RouteError::Topology`] names the first switch with a cable that does not join neighbouring
    /// levels, or one whose CAs need more reverse hops than `options` allow, and [`RouteError::NoRoot`] says
    /// that `options.roots` names no switch.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        let tree = Tree::find(fabric, lids, options)?;
        let groups = tree.siblings(lids);
        let hubs = Hubs::find(&tree, &groups);
        let up_ports = UpPorts::find(&tree);
        let mut routes = Routes::new_shared(&engine::FTREE, fabric, lids);
        let batches = groups.chunks(BATCH);
        let ranges = |groups: &[Vec<SwitchIdx>]| {
            let targets = groups.concat().into_iter();
            let ports = targets.flat_map(|target| lids.at_switch(target));
            ports.map(|port| port.range.base()..=port.range.last())
        };
        let mut writer = routes.writer(options.threads, batches.clone().map(ranges));
        let chains = Chains::choose_all(&tree, &up_ports, lids, options, &groups, writer.layout());
        let mut rows = LftRow::for_all(&tree);
        let mut turned_back = false;
        for (number, (groups, chains)) in batches.zip(chains.chunks(BATCH)).enumerate() {
            let view = |at: usize| {
                groups
                    .get(at)
                    .map(|targets| View::from(&tree, targets, &hubs, options.max_reverse_hops > 0))
            };
            let views: Vec<View> = parallel::map(options.threads, groups.len(), view)
                .into_iter()
                .flatten()
                .collect();
            turned_back |= views.iter().any(|view| view.turns_back);
            for (targets, view) in groups.iter().zip(&views) {
                check_reverse_hops(&tree, targets, view, lids, options)?;
            }
            writer.begin(number);
            let (tables, row_len) = writer.rows_mut();
            parallel::rows(options.threads, &mut rows, tables, row_len, |row, lft| {
                for (view, chains) in views.iter().zip(chains) {
                    row.fill(&tree, &up_ports, view, chains, lft);
                }
            });
            for chains in chains {
                chains.set_down(&tree, tables, row_len);
            }
            writer.end(number);
        }
        writer.finish();
        routes.set_exits(lids);
        if turned_back {
            lanes::layer_routes(fabric, lids, options, &mut routes)?;
        }
        Ok(routes)
    }
}

/// Only I/O nodes may be reached by routes that go up after they went down, and by so many hops up.
fn check_reverse_hops(
    tree: &Tree<'_>,
    targets: &[SwitchIdx],
    view: &View,
    lids: &LidMap,
    options: &RouteOptions,
) -> Result<(), RouteError> {
    let Some((hops, from)) = view.most_reverse_hops else {
        return Ok(());
    };
    let ends = targets.iter().flat_map(|&target| lids.at_switch(target));
    for end in ends.filter(|end| !end.is_switch()) {
        let allowed = match options.io_nodes.contains(&end.guid) {
            true => options.max_reverse_hops,
            false => 0,
        };
        if hops > u16::from(allowed) {
            return Err(RouteError::Topology {
                engine: NAME,
                switch: tree.fabric.switch_guid(from),
                what: format!(
                    "its CAs reach {} (LID {}) by {hops} reverse hops, max_reverse_hops and \
                     io_guid_file allow {allowed}",
                    end.guid,
                    end.range.base(),
                ),
            });
        }
    }
    Ok(())
}
