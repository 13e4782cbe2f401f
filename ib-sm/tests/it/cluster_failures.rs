//! Logical clusters: whatever fails inside one of them, the managers of the others send nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ib_routing::{
    Fabric, PortRef, SwitchIdx,
    cluster::{self, ClusterConfig, Clusters},
    generate::FabricSpec,
    index::IdxVec,
    verify,
    verify::Permission,
};
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

/// Whether the switches of a cluster are connected inside it, without these cables.
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
        let cables = inner_cables(&confined.fabric, &cluster_of, failing);
        let mut pulled = BTreeSet::new();
        for (cable, pause) in script {
            let cable = *cable.get(&cables);
            confined.sim.with(|sim| match pulled.remove(&cable) {
                true => assert!(sim.relink(cable).unwrap()),
                false => {
                    sim.unlink(cable).unwrap();
                    pulled.insert(cable);
                }
            });
            confined.run_for(Duration::from_millis(pause));
            confined.assert_confined();
        }
        confined.run_for(Duration::from_secs(30));
        confined.assert_confined();
        let manager_port = confined.managers[failing].1.at;
        let is_cut_off = pulled.iter().any(|&cable| {
            let peer = confined.fabric.port(cable).and_then(|port| port.peer);
            cable == manager_port || peer == Some(manager_port)
        });
        if !is_cut_off && is_connected(&confined.fabric, &cluster_of, failing, &pulled) {
            assert_whole(&confined, &pulled);
        }
        confined.sim.with(|sim| {
            for &cable in &pulled {
                assert!(sim.relink(cable).unwrap());
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
