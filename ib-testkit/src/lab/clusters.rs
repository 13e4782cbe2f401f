//! Several managers on one simulated fabric, each confined to its logical cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    time::Duration,
};

use ib_mad::{Mad, MgmtClass};
use ib_routing::{
    Fabric, LidMap, NodeIdx, PortRef, Routes, SwitchIdx, VerifyReport,
    cluster::{ClusterConfig, Clusters},
    verify,
};
use ib_sim::{SharedSim, Sim, SimOptions, drive_all};
use ib_sm::{ClusterRole, Event, SmConfig, SubnetManager};
use ib_smp::SmpDirected;
use ib_transport::Clock as _;
use ib_wire::{Guid, Lid, PortNum};

use super::Recorder;

/// A fabric divided into clusters, each with a manager.
pub struct Confined {
    /// The simulated fabric.
    pub fabric: Fabric,
    /// The configurations of the clusters.
    pub configs: Vec<ClusterConfig>,
    /// The simulator.
    pub sim: SharedSim,
    /// The managers with their transports: one for each configuration, then those that were [added](Self::add).
    pub managers: Vec<(SubnetManager, Recorder)>,
    /// Events by manager.
    pub events: Vec<Vec<Event>>,
}

/// The port for the manager of a cluster: that of the first CA with a cable, otherwise a switch's.
#[must_use]
pub fn manager_port(fabric: &Fabric, clusters: &Clusters, index: usize) -> PortRef {
    let own = clusters.views()[index].own();
    let host = own.first_host().map(|at| (own.node(at.node).guid, at.port));
    let (guid, port) = host.unwrap_or_else(|| (own.switch_guid(SwitchIdx(0)), PortNum(0)));
    PortRef {
        node: fabric.node_by_guid(guid).unwrap(),
        port,
    }
}

impl Confined {
    /// Managers that have done nothing yet, one for each configuration. `change` adapts the options of each.
    pub fn start(
        fabric: Fabric,
        configs: Vec<ClusterConfig>,
        database: BTreeMap<Guid, Lid>,
        change: impl Fn(usize, &mut SmConfig),
    ) -> Self {
        let clusters = Clusters::validate(&fabric, &configs).expect("sound configurations");
        let sim = Sim::new(&fabric, SimOptions::default()).share();
        sim.with(Sim::watch_smps);
        let managers = (0..configs.len()).map(|index| {
            let mut others = configs.clone();
            let own = others.remove(index);
            let role = ClusterRole::new(own, others).with_predefined_lids(database.clone());
            let mut config = SmConfig {
                cluster: Some(role),
                sweep_interval: None,
                ..SmConfig::default()
            };
            change(index, &mut config);
            let at = manager_port(&fabric, &clusters, index);
            sim.with(|sim| sim.set_is_sm(at, true).unwrap());
            let transport = Recorder::new(&sim, at);
            (SubnetManager::new(config, sim.now()), transport)
        });
        let managers: Vec<_> = managers.collect();
        Self {
            events: managers.iter().map(|_| Vec::new()).collect(),
            managers,
            fabric,
            configs,
            sim,
        }
    }

    /// Brings all clusters up.
    pub fn up(fabric: Fabric, configs: Vec<ClusterConfig>) -> Self {
        let mut confined = Self::start(fabric, configs, BTreeMap::new(), |_, _| {});
        confined.settle();
        confined
    }

    /// Runs the managers until there is nothing more to do, and checks that all clusters are up.
    pub fn settle(&mut self) {
        self.run_for(Duration::from_secs(60));
        for ((sm, _), (config, events)) in self
            .managers
            .iter()
            .zip(self.configs.iter().zip(&self.events))
        {
            let last: Vec<_> = events.iter().rev().take(8).map(Event::to_string).collect();
            assert!(sm.is_up(), "cluster {}: {last:#?}", config.name);
        }
        self.assert_confined();
    }

    /// Adds another manager of the cluster at `index` of the list, at a port of its own.
    pub fn add(&mut self, at: PortRef, index: usize, change: impl FnOnce(&mut SmConfig)) {
        let mut config = self.managers[index].0.config().clone();
        change(&mut config);
        self.sim.with(|sim| sim.set_is_sm(at, true).unwrap());
        let manager = SubnetManager::new(config, self.sim.now());
        let transport = Recorder::new(&self.sim, at);
        self.managers.push((manager, transport));
        self.events.push(Vec::new());
    }

    /// Runs the managers for this long.
    pub fn run_for(&mut self, time: Duration) {
        let end = self.sim.now() + time;
        let events = &mut self.events;
        let ended: Option<()> = drive_all(
            &self.sim,
            &mut self.managers,
            Some(end),
            |place, _, event| {
                events[place].push(event);
                ControlFlow::Continue(())
            },
        )
        .unwrap();
        assert_eq!(ended, None);
    }

    /// Discards the recorded datagrams and events.
    pub fn forget(&mut self) {
        for (_, transport) in &mut self.managers {
            transport.sent.clear();
        }
        for events in &mut self.events {
            events.clear();
        }
        self.sim.with(Sim::watch_smps);
    }

    /// Checks that no subnet management packet has crossed a boundary: by the simulator's counters, and by the
    /// route of each packet that a manager sent.
    #[track_caller]
    pub fn assert_confined(&self) {
        for ((_, transport), config) in self.managers.iter().zip(&self.configs) {
            let boundary: BTreeSet<PortRef> = config
                .boundary
                .iter()
                .map(|place| PortRef {
                    node: self.fabric.node_by_guid(place.switch).unwrap(),
                    port: place.port,
                })
                .collect();
            for &port in &boundary {
                let crossed = self.sim.with(|sim| sim.smps_through(port));
                assert_eq!(crossed, 0, "cluster {} at {port:?}", config.name);
            }
            for mad in &transport.sent {
                assert!(!self.leads_out(transport.at, &boundary, mad), "{mad:?}");
                let lid = mad.address.lid;
                let is_own = (config.first..=config.last).contains(&lid);
                assert!(is_own || lid.is_permissive(), "{mad:?}");
            }
        }
    }

    /// Returns true if the directed route of a request passes a boundary port.
    fn leads_out(&self, from: PortRef, boundary: &BTreeSet<PortRef>, mad: &Mad) -> bool {
        let header = mad.header();
        if header.mgmt_class() != MgmtClass::SUBN_DIRECTED || header.method().is_response() {
            return false;
        }
        let (smp, _) = SmpDirected::parse(&mad.bytes, 0).unwrap();
        let mut node = from.node;
        smp.initial_path()[1..=usize::from(smp.hop_count())]
            .iter()
            .any(|&port| {
                let port = PortRef {
                    node,
                    port: PortNum(port),
                };
                // The cable may be unplugged now; in the original fabric the port leads there.
                if let Some(peer) = self.fabric.port(port).and_then(|port| port.peer) {
                    node = peer.node;
                }
                boundary.contains(&port)
            })
    }

    /// The tables in the switches, and the LIDs at the ports.
    #[must_use]
    pub fn installed(&self) -> (LidMap, Routes) {
        self.sim.with(|sim| sim.installed(&self.fabric))
    }

    /// The verifier's report on the tables in the switches.
    #[must_use]
    pub fn judge(&self) -> VerifyReport {
        let (lids, routes) = self.installed();
        verify(&self.fabric, &lids, &routes)
    }

    /// The cluster of a node, as an index in the list.
    #[must_use]
    pub fn cluster_of(&self, node: NodeIdx) -> Option<usize> {
        let guid = self.fabric.node(node).guid;
        self.managers
            .iter()
            .position(|(sm, _)| sm.subnet().find(guid).is_some())
    }
}

/// Divides the switches by their numbers, which follow the columns of a mesh and the groups of a dragonfly, and gives
/// each cluster `lids` LIDs.
#[must_use]
pub fn divided(fabric: &Fabric, parts: usize, lids: u16) -> Vec<ClusterConfig> {
    let count = fabric.num_switches();
    let cluster_of = (0..count).map(|at| at * parts / count).collect();
    let mut configs = ib_routing::cluster::plan(fabric, &cluster_of);
    for (config, at) in configs.iter_mut().zip(0..) {
        (config.first, config.last) = (Lid(lids * at + 1), Lid(lids * (at + 1)));
    }
    configs
}
