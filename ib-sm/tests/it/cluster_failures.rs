//! Logical clusters: whatever fails inside one of them, the managers of the others send nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ib_routing::{
    Fabric, NodeIdx, PortRef, SwitchIdx,
    cluster::{self, ClusterConfig, Clusters},
    generate::FabricSpec,
    index::IdxVec,
    verify,
    verify::Permission,
};
use ib_sim::Sim;
use ib_testkit::lab::clusters::Confined;
use ib_wire::Lid;
use proptest::{collection::vec, prelude::*, sample::Index};

/// LIDs of each cluster.
const LIDS: u16 = 64;

/// The fabrics that are cut into clusters: switches, links between them beyond a tree, and the seed.
fn any_fabric() -> impl Strategy<Value = Fabric> {
    (4..9u32, 1..8u32, any::<u32>()).prop_map(|(switches, more, seed)| {
        let links = switches - 1 + more;
        let spec = format!("random:switches={switches},links={links},hosts=1,seed={seed}");
        spec.parse::<FabricSpec>().unwrap().build().unwrap()
    })
}

/// Cuts a fabric into clusters that are connected inside: each begins at a switch, and grows by a switch that `choices`
/// selects. The cluster of each switch.
fn cut(fabric: &Fabric, starts: &[Index], choices: &[Index]) -> IdxVec<SwitchIdx, usize> {
    let count = fabric.num_switches();
    let mut cluster_of: IdxVec<SwitchIdx, Option<usize>> = IdxVec::filled(count, None);
    let starts: BTreeSet<usize> = starts.iter().map(|start| start.index(count)).collect();
    for (cluster, start) in starts.into_iter().enumerate() {
        cluster_of[SwitchIdx(start as u32)] = Some(cluster);
    }
    let mut choices = choices.iter().cycle();
    loop {
        let channels = fabric.channels().iter();
        let open = channels.filter_map(|channel| {
            let cluster = cluster_of[channel.from]?;
            let is_free = cluster_of[channel.to].is_none();
            is_free.then_some((channel.to, cluster))
        });
        let open: Vec<(SwitchIdx, usize)> = open.collect();
        if open.is_empty() {
            return cluster_of.iter().map(|cluster| cluster.unwrap()).collect();
        }
        let (switch, cluster) = *choices.next().unwrap().get(&open);
        cluster_of[switch] = Some(cluster);
    }
}

fn configs(fabric: &Fabric, cluster_of: &IdxVec<SwitchIdx, usize>) -> Vec<ClusterConfig> {
    let mut configs = cluster::plan(fabric, cluster_of);
    for (config, at) in configs.iter_mut().zip(0..) {
        (config.first, config.last) = (Lid(LIDS * at + 1), Lid(LIDS * (at + 1)));
    }
    configs
}

/// The cables with both ends in a cluster, one end each: between its switches, and to its hosts.
fn inner_cables(
    fabric: &Fabric,
    cluster_of: &IdxVec<SwitchIdx, usize>,
    cluster: usize,
) -> Vec<PortRef> {
    let cluster_at = |at: PortRef| fabric.switch_of(at.node).map(|switch| cluster_of[switch]);
    let is_inside = |&(one, other): &(PortRef, PortRef)| {
        let ends = [one, other].map(cluster_at);
        ends.iter().flatten().all(|&end| end == cluster) && ends != [None, None]
    };
    let cables = fabric.links().filter(is_inside);
    cables.map(|(one, _)| one).collect()
}

/// A failure inside a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Failure {
    /// The cable at this port is pulled.
    Cable(PortRef),
    /// The node loses its power.
    Node(NodeIdx),
}

/// The cables of a cluster, and its nodes all of whose cables are inside: a node at the boundary takes links of the
/// neighbours down with it. The manager's own host stays on.
fn failures(
    fabric: &Fabric,
    cluster_of: &IdxVec<SwitchIdx, usize>,
    cluster: usize,
    manager: NodeIdx,
) -> Vec<Failure> {
    let inner = inner_cables(fabric, cluster_of, cluster);
    let is_inner =
        |&(end, other): &(PortRef, PortRef)| inner.contains(&end) || inner.contains(&other);
    let nodes = inner.iter().flat_map(|&cable| {
        let peer = fabric.port(cable).and_then(|port| port.peer);
        [Some(cable.node), peer.map(|peer| peer.node)]
    });
    let nodes: BTreeSet<NodeIdx> = nodes.flatten().filter(|&node| node != manager).collect();
    let nodes = nodes
        .into_iter()
        .filter(|&node| cables_of(fabric, node).all(|cable| is_inner(&cable)));
    let cables = inner.iter().copied().map(Failure::Cable);
    cables.chain(nodes.map(Failure::Node)).collect()
}

/// The cables of a node: its own end, then the other.
fn cables_of(fabric: &Fabric, node: NodeIdx) -> impl Iterator<Item = (PortRef, PortRef)> {
    fabric.links().filter_map(move |(one, other)| match node {
        _ if one.node == node => Some((one, other)),
        _ if other.node == node => Some((other, one)),
        _ => None,
    })
}

/// The cables that carry nothing after these failures, by one end.
fn dead_cables(fabric: &Fabric, failed: &BTreeSet<Failure>) -> BTreeSet<PortRef> {
    let cables = failed.iter().flat_map(|failure| match *failure {
        Failure::Cable(cable) => vec![cable],
        Failure::Node(node) => cables_of(fabric, node).map(|(own, _)| own).collect(),
    });
    cables.collect()
}

/// Lets a failure happen, or ends it.
fn apply(sim: &mut Sim, failure: Failure, is_over: bool) {
    match (failure, is_over) {
        (Failure::Cable(cable), false) => sim.unlink(cable).unwrap(),
        (Failure::Cable(cable), true) => assert!(sim.relink(cable).unwrap()),
        (Failure::Node(node), false) => sim.power_off(node),
        (Failure::Node(node), true) => sim.power_on(node),
    }
}

/// Returns true if the switches of a cluster are connected inside it, without these cables.
fn is_connected(
    fabric: &Fabric,
    cluster_of: &IdxVec<SwitchIdx, usize>,
    cluster: usize,
    without: &BTreeSet<PortRef>,
) -> bool {
    let members = cluster_of.iter_enumerated();
    let members = members.filter(|&(_, &other)| other == cluster);
    let members: Vec<SwitchIdx> = members.map(|(switch, _)| switch).collect();
    let mut reached = BTreeSet::from([members[0]]);
    let mut open = vec![members[0]];
    while let Some(switch) = open.pop() {
        for (_, channel) in fabric.channels_from(switch) {
            let ends = [(channel.from, channel.port), (channel.to, channel.to_port)];
            let is_pulled = ends.iter().any(|&(switch, port)| {
                let node = fabric.switches()[switch];
                without.contains(&PortRef { node, port })
            });
            if !is_pulled && cluster_of[channel.to] == cluster && reached.insert(channel.to) {
                open.push(channel.to);
            }
        }
    }
    reached.len() == members.len()
}

/// Checks the tables in the switches, all clusters together, on the fabric without these cables.
#[track_caller]
fn assert_whole(confined: &Confined, without: &BTreeSet<PortRef>) {
    let mut left = confined.fabric.to_builder();
    for &cable in without {
        left.remove_link(cable);
    }
    let left = left.build();
    let (lids, routes) = confined.sim.with(|sim| sim.installed(&left));
    let report = verify::verify(&left, &lids, &routes);
    // No manager knows the dependencies of all clusters.
    let verdict = report.verdict(Permission {
        deadlock: true,
        ..Permission::default()
    });
    assert!(verdict.may_install(), "{verdict:?}, {:?}", report.failures);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_fails_in_one_cluster_sends_no_smp_in_another(
        fabric in any_fabric(),
        starts in vec(any::<Index>(), 2..4),
        choices in vec(any::<Index>(), 8),
        failing in any::<Index>(),
        script in vec((any::<Index>(), 0..400u64), 1..8),
    ) {
        let cluster_of = cut(&fabric, &starts, &choices);
        let configs = configs(&fabric, &cluster_of);
        prop_assert!(Clusters::validate(&fabric, &configs).is_ok());
        let failing = failing.index(configs.len());
        // A manager whose own cable was pulled looks for it by its timer.
        let mut confined = Confined::start(fabric, configs, BTreeMap::new(), |index, config| {
            config.sweep_interval = (index == failing).then_some(Duration::from_secs(5));
        });
        confined.settle();
        assert_whole(&confined, &BTreeSet::new());
        confined.forget();
        let manager_port = confined.managers[failing].1.at;
        let failures = failures(&confined.fabric, &cluster_of, failing, manager_port.node);
        let mut failed = BTreeSet::new();
        for (failure, pause) in script {
            let failure = *failure.get(&failures);
            let is_over = failed.remove(&failure);
            if !is_over {
                failed.insert(failure);
            }
            confined.sim.with(|sim| apply(sim, failure, is_over));
            confined.run_for(Duration::from_millis(pause));
            confined.assert_confined();
        }
        let pulled = dead_cables(&confined.fabric, &failed);
        confined.run_for(Duration::from_secs(30));
        confined.assert_confined();
        let is_cut_off = pulled.iter().any(|&cable| {
            let peer = confined.fabric.port(cable).and_then(|port| port.peer);
            cable == manager_port || peer == Some(manager_port)
        });
        if !is_cut_off && is_connected(&confined.fabric, &cluster_of, failing, &pulled) {
            assert_whole(&confined, &pulled);
        }
        confined.sim.with(|sim| {
            for &failure in &failed {
                apply(sim, failure, true);
            }
        });
        confined.settle();
        assert_whole(&confined, &BTreeSet::new());
        for (index, (_, transport)) in confined.managers.iter().enumerate() {
            let has_sent = transport.num_requests() > 0;
            prop_assert_eq!(has_sent, index == failing, "cluster {}, {} fails", index, failing);
        }
    }
}
