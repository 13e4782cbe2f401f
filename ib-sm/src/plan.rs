//! The manager's decisions for the subnet: LIDs, routes, multicast trees, ports of alias GUIDs.
//!
//! The routes in force stay until others are verified. So while new routes are computed, the administrator
//! answers from those in force, and ports keep their configuration.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};

use ib_routing::{
    Fabric, LidMap, PortRef, Routes, SwitchIdx, VerifyReport,
    cluster::ClusterView,
    mcast::PortSet,
    repair,
    verify::{LostPaths, PathCounts},
};
use ib_subnet::{FabricIndex, NodeId, PortId};
use ib_wire::{Guid, Lid, PortNum};

use crate::{
    event::FabricCounts,
    policy::{multicast::block_of, settled::Settled},
};

/// The ports of one multicast group's tree, by switch.
pub(crate) type TreePorts = BTreeMap<Guid, PortSet>;

/// Entries of forwarding tables by switch and block: each entry's index in its block, and its output port.
pub(crate) type Detours = BTreeMap<(NodeId, u16), Vec<(u8, PortNum)>>;

/// The fabric that routes are computed for, with its LIDs.
///
/// In a logical cluster it has a virtual router at each boundary port, with the LIDs of other clusters that are
/// reached there. The cluster's nodes and switches have the same numbers with and without these routers.
#[derive(Debug, Default)]
pub(crate) struct Topology {
    index: FabricIndex,
    lids: Arc<LidMap>,
    /// Version of the subnet that it was made from.
    version: u64,
    cluster: Option<ClusterTopology>,
}

/// The additional parts of a logical cluster's topology.
#[derive(Debug)]
struct ClusterTopology {
    view: ClusterView,
    /// The LIDs of the cluster's own ports.
    own: LidMap,
}

impl Topology {
    /// The topology of a subnet of this version.
    pub(crate) const fn new(index: FabricIndex, lids: Arc<LidMap>, version: u64) -> Self {
        Self {
            index,
            lids,
            version,
            cluster: None,
        }
    }

    /// The topology of a cluster: `own` holds the LIDs of its own ports, `lids` all LIDs that its tables forward.
    pub(crate) fn of_cluster(
        index: FabricIndex,
        own: LidMap,
        lids: LidMap,
        view: ClusterView,
        version: u64,
    ) -> Self {
        Self {
            index,
            lids: Arc::new(lids),
            version,
            cluster: Some(ClusterTopology { view, own }),
        }
    }

    pub(crate) const fn index(&self) -> &FabricIndex {
        &self.index
    }

    pub(crate) const fn fabric(&self) -> &Fabric {
        match &self.cluster {
            Some(cluster) => cluster.view.with_remote(),
            None => self.index.fabric(),
        }
    }

    /// The logical cluster of the fabric, if the manager is confined to one.
    pub(crate) fn cluster(&self) -> Option<&ClusterView> {
        self.cluster.as_ref().map(|cluster| &cluster.view)
    }

    /// The routers at the boundary ports that join multicast trees to those of other clusters.
    pub(crate) fn joints(&self) -> impl Iterator<Item = PortRef> + '_ {
        self.cluster().into_iter().flat_map(|view| {
            let joints = view.config().multicast.iter();
            joints.filter_map(|place| view.remote_end(place))
        })
    }

    /// The LIDs of the ports that the manager configures.
    pub(crate) fn own_lids(&self) -> &LidMap {
        match &self.cluster {
            Some(cluster) => &cluster.own,
            None => &self.lids,
        }
    }

    /// Numbers of nodes, links and LIDs that the manager configures.
    pub(crate) fn counts(&self) -> FabricCounts {
        FabricCounts::new(self.index.fabric(), self.own_lids())
    }

    pub(crate) fn lids(&self) -> &LidMap {
        &self.lids
    }

    /// The same LIDs in the fabric of a later version of the subnet, which has the same nodes and end ports.
    pub(crate) fn with_index(&self, index: FabricIndex, version: u64) -> Self {
        Self::new(index, Arc::clone(&self.lids), version)
    }

    /// Version of the subnet that it was made from.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }
}

/// Routes in force, together with the fabric and the LIDs that they were computed for.
///
/// A clone shares them, so a host may draw or write them on a thread of its own while the manager goes on.
#[derive(Clone, Debug)]
pub struct InstalledRoutes {
    topology: Arc<Topology>,
    routes: Arc<Routes>,
    report: VerifyReport,
    /// The counts by which repaired routes are verified without following all paths; `None` until they are made.
    counts: Option<Arc<PathCounts>>,
    loss: Option<Loss>,
    version: u64,
}

/// The loss of cables after which routes were repaired.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    /// The routes before the repair. Every path arrived before the loss.
    pub(crate) before: Arc<Routes>,
    /// The paths that the loss took.
    pub(crate) paths: Arc<LostPaths>,
}

impl InstalledRoutes {
    pub(crate) const fn new(
        topology: Arc<Topology>,
        routes: Arc<Routes>,
        report: VerifyReport,
        counts: Option<Arc<PathCounts>>,
    ) -> Self {
        Self {
            topology,
            routes,
            report,
            counts,
            loss: None,
            version: 0,
        }
    }

    /// The same routes, as a repair after a loss.
    pub(crate) fn after(self, loss: Option<Loss>) -> Self {
        Self { loss, ..self }
    }

    /// The loss of cables after which the routes were repaired; `None` if anything else has changed as well.
    pub(crate) const fn loss(&self) -> Option<&Loss> {
        self.loss.as_ref()
    }

    /// Number of LIDs whose paths were followed to verify the routes: those that a repair touched, if the routes in
    /// force before had been counted by a host that takes [`Work`](crate::Work), and otherwise all.
    #[must_use]
    pub fn examined(&self) -> usize {
        let all = self.lids().num_lids();
        self.counts.as_ref().map_or(all, |counts| counts.examined())
    }

    /// The path counts of the routes, if they are made.
    pub(crate) const fn counts(&self) -> Option<&Arc<PathCounts>> {
        self.counts.as_ref()
    }

    /// Makes the path counts of the routes; `None` if there are none for such routes.
    pub(crate) fn count(&self) -> Option<PathCounts> {
        PathCounts::new(self.fabric(), self.lids(), &self.routes, &self.report)
    }

    /// The routes with what they were made for, as the input of a repair.
    pub(crate) fn as_input(&self) -> repair::RoutesInUse<'_> {
        repair::RoutesInUse {
            fabric: self.fabric(),
            lids: self.lids(),
            routes: &self.routes,
        }
    }

    pub(crate) const fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// The fabric.
    #[must_use]
    pub fn fabric(&self) -> &Fabric {
        self.topology.fabric()
    }

    /// The LIDs that the routes reach.
    #[must_use]
    pub fn lids(&self) -> &LidMap {
        self.topology.lids()
    }

    /// The routes.
    #[must_use]
    pub const fn routes(&self) -> &Arc<Routes> {
        &self.routes
    }

    /// Number of times that routes have been installed, these included. A host that draws them draws again when it
    /// grows.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The verifier's report on them.
    #[must_use]
    pub const fn report(&self) -> &VerifyReport {
        &self.report
    }
}

/// The parts of multicast tables that a change of trees concerns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regroup {
    /// The switches that the old or the new trees touch, with the blocks of their tables.
    switches: BTreeMap<Guid, BTreeSet<u16>>,
    /// The blocks that no tree had since the last sweep. An earlier manager may have left entries in them, in any switch.
    new_blocks: BTreeSet<u16>,
    /// True if the last block in use has another number than before the change.
    moves_top: bool,
}

impl Regroup {
    /// The switches that the old or the new trees touch, with the blocks of their tables.
    pub(crate) const fn switches(&self) -> &BTreeMap<Guid, BTreeSet<u16>> {
        &self.switches
    }

    /// Number of switches whose tables are examined; `None` if those of all switches are.
    pub(crate) fn num_switches(&self) -> Option<usize> {
        self.new_blocks.is_empty().then_some(self.switches.len())
    }

    /// The blocks that are examined in all switches.
    pub(crate) const fn new_blocks(&self) -> &BTreeSet<u16> {
        &self.new_blocks
    }

    /// Returns true if the last block in use has another number than before the change.
    pub(crate) const fn moves_top(&self) -> bool {
        self.moves_top
    }
}

/// The manager's decisions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    topology: Arc<Topology>,
    /// Version of the subnet at which `topology` was last found to be that of the subnet.
    topology_version: u64,
    installed: Option<InstalledRoutes>,
    /// The number of installations of routes so far.
    installs: u64,
    /// Base LIDs by port GUID, including ports that are gone: a port that comes back gets its own again.
    remembered: BTreeMap<Guid, Lid>,
    /// By alias GUID, the GUID of the port that holds it and the block of GUIDInfo that contains it.
    aliases: BTreeMap<Guid, (Guid, u8)>,
    trees: BTreeMap<Lid, TreePorts>,
    /// The blocks of multicast tables that trees have had since the last sweep.
    tree_blocks: BTreeSet<u16>,
    /// The parts of multicast tables that the last change of groups concerns.
    regroup: Regroup,
    /// The switches of the topology that cannot forward multicast; `None` until they are looked for.
    without_multicast: Option<BTreeSet<SwitchIdx>>,
    /// Entries that lead round a failure until there are new routes, by switch and block.
    detours: Detours,
    /// `None` if the next sweep has to examine all ports.
    settled: Option<Settled>,
}

impl Plan {
    /// The topology of the last sweep, whether or not it could be routed.
    pub(crate) const fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    pub(crate) fn set_topology(&mut self, topology: Arc<Topology>) {
        self.topology_version = topology.version();
        self.topology = topology;
        self.without_multicast = None;
    }

    /// The version of the subnet from which on changes may make another topology.
    pub(crate) const fn topology_version(&self) -> u64 {
        self.topology_version
    }

    /// Records that a later version of the subnet has the same topology.
    pub(crate) fn confirm_topology(&mut self, version: u64) {
        self.topology_version = version;
    }

    /// The routes in force.
    pub(crate) const fn installed(&self) -> Option<&InstalledRoutes> {
        self.installed.as_ref()
    }

    pub(crate) fn install(&mut self, installed: InstalledRoutes) {
        self.installs = self.installs.wrapping_add(1);
        self.installed = Some(InstalledRoutes {
            version: self.installs,
            ..installed
        });
    }

    /// Adds the path counts of the routes of a version, unless others are in force.
    pub(crate) fn set_counts(&mut self, version: u64, counts: Arc<PathCounts>) {
        let installed = self.installed.as_mut();
        if let Some(installed) = installed.filter(|installed| installed.version == version) {
            installed.counts = Some(counts);
        }
    }

    /// The routes in force.
    pub(crate) fn routes(&self) -> Option<&Routes> {
        self.installed.as_ref().map(|installed| &*installed.routes)
    }

    /// The LIDs that the routes in force reach; before the first routes, the LIDs that were assigned.
    pub(crate) fn lids(&self) -> &LidMap {
        self.reached().lids()
    }

    /// The GUID of the port that owns a LID, and the place that the port had when the LIDs were assigned: it is there
    /// unless the subnet has changed since.
    pub(crate) fn owner_of(&self, lid: Lid) -> Option<(Guid, Option<PortId>)> {
        let topology = self.reached();
        let owner = topology.lids().owner(lid)?;
        Some((owner.guid, topology.index.port_id(owner.end)))
    }

    /// The topology of the routes in force; before the first routes, the latest.
    fn reached(&self) -> &Topology {
        match &self.installed {
            Some(installed) => &installed.topology,
            None => &self.topology,
        }
    }

    /// The part of [`lids`](Self::lids) that belongs to ports that this manager configures.
    pub(crate) fn own_lids(&self) -> &LidMap {
        self.reached().own_lids()
    }

    /// The fabric of the routes in force; before the first routes, the discovered fabric.
    pub(crate) fn fabric(&self) -> &Fabric {
        self.reached().fabric()
    }

    /// A switch by its number in the routes in force.
    pub(crate) fn switch(&self, node: NodeId) -> Option<SwitchIdx> {
        self.installed.as_ref()?.topology.index.switch(node)
    }

    /// The port at the other end of a cable for which the routes in force were computed.
    pub(crate) fn peer(&self, here: PortId) -> Option<PortId> {
        self.installed.as_ref()?.topology.index.peer(here)
    }

    /// Virtual lanes that the routes in force use.
    pub(crate) fn lanes(&self) -> u8 {
        self.routes().map_or(1, Routes::vls)
    }

    pub(crate) const fn remembered(&self) -> &BTreeMap<Guid, Lid> {
        &self.remembered
    }

    pub(crate) fn remember(&mut self, port_guid: Guid, lid: Lid) {
        self.remembered.insert(port_guid, lid);
    }

    pub(crate) fn set_remembered(&mut self, remembered: BTreeMap<Guid, Lid>) {
        self.remembered = remembered;
    }

    /// The port that holds an alias GUID.
    pub(crate) fn owner_of_alias(&self, alias: Guid) -> Option<Guid> {
        self.aliases.get(&alias).map(|&(owner, _)| owner)
    }

    /// Records the alias GUIDs that a block of a port's GUIDInfo holds.
    pub(crate) fn set_aliases(
        &mut self,
        owner: Guid,
        block: u8,
        aliases: impl Iterator<Item = Guid>,
    ) {
        self.aliases.retain(|_, of| *of != (owner, block));
        self.aliases
            .extend(aliases.map(|alias| (alias, (owner, block))));
    }

    pub(crate) fn clear_aliases(&mut self) {
        self.aliases.clear();
    }

    pub(crate) const fn trees(&self) -> &BTreeMap<Lid, TreePorts> {
        &self.trees
    }

    /// The entries of a block that lead round a failure.
    pub(crate) fn detours(&self, node: NodeId, block: u16) -> &[(u8, PortNum)] {
        let detours = self.detours.get(&(node, block));
        detours.map_or(&[], Vec::as_slice)
    }

    pub(crate) fn has_detours(&self) -> bool {
        !self.detours.is_empty()
    }

    pub(crate) fn set_detours(&mut self, detours: Detours) {
        self.detours = detours;
    }

    /// The inputs of the configuration of all ports, if it is settled but for nodes that have changed since.
    pub(crate) const fn settled(&self) -> Option<&Settled> {
        self.settled.as_ref()
    }

    pub(crate) fn set_settled(&mut self, settled: Option<Settled>) {
        self.settled = settled;
    }

    /// The blocks of multicast tables that trees have had since the last sweep.
    pub(crate) fn tree_blocks(&self) -> impl Iterator<Item = u16> + '_ {
        self.tree_blocks.iter().copied()
    }

    /// The parts of multicast tables that the last change of groups concerns.
    pub(crate) const fn regroup(&self) -> &Regroup {
        &self.regroup
    }

    /// The switches of the topology that cannot forward multicast; `None` until they are looked for.
    pub(crate) const fn without_multicast(&self) -> Option<&BTreeSet<SwitchIdx>> {
        self.without_multicast.as_ref()
    }

    pub(crate) fn set_without_multicast(&mut self, without: BTreeSet<SwitchIdx>) {
        self.without_multicast = Some(without);
    }

    /// Stores the trees that changed, after a sweep has read the fabric. All multicast tables are compared next.
    pub(crate) fn set_trees(&mut self, changes: BTreeMap<Lid, Option<TreePorts>>) {
        self.change_trees(changes);
        self.regroup = Regroup::default();
        let blocks = self.trees.keys().filter_map(|&mlid| block_of(mlid));
        self.tree_blocks = blocks.collect();
    }

    /// Stores the trees that changed because groups changed, and records the tables that have to be compared.
    pub(crate) fn change_trees(&mut self, changes: BTreeMap<Lid, Option<TreePorts>>) {
        let mut regroup = Regroup::default();
        let last = self.trees.keys().next_back().copied().and_then(block_of);
        for (mlid, tree) in changes {
            let Some(block) = block_of(mlid) else {
                continue;
            };
            let old = match tree.clone() {
                Some(tree) => self.trees.insert(mlid, tree),
                None => self.trees.remove(&mlid),
            };
            if old == tree {
                continue;
            }
            let (old, new) = (old.unwrap_or_default(), tree.unwrap_or_default());
            let touched = old.iter().chain(&new);
            let changed = touched.filter(|&(guid, _)| old.get(guid) != new.get(guid));
            for (&guid, _) in changed {
                regroup.switches.entry(guid).or_default().insert(block);
            }
            if self.tree_blocks.insert(block) {
                regroup.new_blocks.insert(block);
            }
        }
        let now = self.trees.keys().next_back().copied().and_then(block_of);
        regroup.moves_top = now != last;
        self.regroup = regroup;
    }
}
