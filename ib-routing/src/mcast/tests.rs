use super::*;
use ib_wire::random::SplitMix64;

use crate::generate::FabricSpec;

fn fabric(spec: &str) -> Fabric {
    spec.parse::<FabricSpec>()
        .and_then(|spec| spec.build())
        .expect("a fabric")
}

fn hosts(fabric: &Fabric) -> Vec<PortRef> {
    let nodes = fabric
        .nodes()
        .iter_enumerated()
        .filter(|(_, node)| !node.type_.is_switch());
    nodes
        .map(|(node, _)| PortRef {
            node,
            port: PortNum(1),
        })
        .collect()
}

#[test]
fn every_member_gets_every_packet_once() {
    for spec in [
        "thesis",
        "torus:4x4,hosts=2",
        "fat-tree:radix=8,levels=3",
        "dragonfly:a=4,p=2,h=2",
    ] {
        let fabric = fabric(spec);
        let mut trees = MulticastTrees::new(&fabric, BTreeSet::new());
        let members: Vec<PortRef> = hosts(&fabric).into_iter().step_by(3).collect();
        let tree = trees.tree(&members);
        assert_eq!(tree.left_out, []);
        for &from in &members {
            let others: Vec<PortRef> = members
                .iter()
                .copied()
                .filter(|&member| member != from)
                .collect();
            assert_eq!(flood(&fabric, &tree, from), others, "{spec}");
        }
    }
}

#[test]
fn groups_of_the_same_members_take_different_links() {
    let fabric = fabric("fat-tree:radix=8,levels=2");
    let members = hosts(&fabric);
    let ends = [members[0], members[31]];
    let mut trees = MulticastTrees::new(&fabric, BTreeSet::new());
    let spines: BTreeSet<SwitchIdx> = (0..4)
        .flat_map(|_| trees.tree(&ends).ports.into_keys())
        .filter(|&switch| fabric.switch(switch).description.starts_with("L2"))
        .collect();
    assert_eq!(spines.len(), 4);
}

/// A random fabric of some switches, and some of its hosts; in some, switches are without multicast.
fn random_case(seed: u64) -> (Fabric, Vec<PortRef>, BTreeSet<SwitchIdx>) {
    let mut random = SplitMix64::new(seed);
    let switches = 2 + random.below(12);
    let links = switches + random.below(2 * switches);
    let spec = alloc::format!("random:switches={switches},links={links},hosts=2,seed={seed}");
    let fabric = fabric(&spec);
    let mut members = hosts(&fabric);
    random.shuffle(&mut members);
    members.truncate(1 + random.below(members.len()));
    members.sort();
    let without = fabric
        .switches()
        .indices()
        .filter(|_| seed.is_multiple_of(3) && random.below(4) == 0);
    let without = without.collect();
    (fabric, members, without)
}

/// Hops between switches with multicast, by trying every switch between (Floyd and Warshall).
fn all_hops(
    fabric: &Fabric,
    without: &BTreeSet<SwitchIdx>,
) -> BTreeMap<(SwitchIdx, SwitchIdx), u64> {
    let switches = || {
        let all = fabric.switches().indices();
        all.filter(|switch| !without.contains(switch))
    };
    let mut hops: BTreeMap<_, _> = switches().map(|at| ((at, at), 0)).collect();
    for channel in fabric.channels().iter() {
        if !without.contains(&channel.from) && !without.contains(&channel.to) {
            hops.insert((channel.from, channel.to), 1);
        }
    }
    for via in switches() {
        for from in switches() {
            for to in switches() {
                let way = hops.get(&(from, via)).zip(hops.get(&(via, to)));
                if let Some(sum) = way.map(|(one, two)| one + two) {
                    let best = hops.entry((from, to)).or_insert(sum);
                    *best = sum.min(*best);
                }
            }
        }
    }
    hops
}

#[test]
fn the_root_has_the_least_mean_hops_of_all_switches() {
    for seed in 0..1000 {
        let (fabric, members, without) = random_case(seed);
        let hops = all_hops(&fabric, &without);
        let switches: Vec<SwitchIdx> = members
            .iter()
            .filter_map(|&member| Some(fabric.attachment(member)?.0))
            .filter(|switch| !without.contains(switch))
            .collect();
        let judge = |root: &SwitchIdx| {
            let near = switches
                .iter()
                .filter_map(|&switch| hops.get(&(*root, switch)));
            let far = switches.len() - near.clone().count();
            (far, near.sum::<u64>())
        };
        let roots = fabric
            .switches()
            .indices()
            .filter(|root| !without.contains(root));
        let best = roots.min_by_key(judge).filter(|_| !switches.is_empty());
        let tree = MulticastTrees::new(&fabric, without).tree(&members);
        assert_eq!(tree.root, best, "seed {seed}");
    }
}

#[test]
fn random_trees_deliver_every_packet_once_to_all_who_are_not_left_out() {
    for seed in 0..1000 {
        let (fabric, members, without) = random_case(seed);
        let tree = MulticastTrees::new(&fabric, without).tree(&members);
        let joined = members
            .iter()
            .copied()
            .filter(|member| !tree.left_out.contains(member));
        let joined: Vec<PortRef> = joined.collect();
        for &from in &joined {
            let others = joined.iter().copied().filter(|&member| member != from);
            assert_eq!(
                flood(&fabric, &tree, from),
                others.collect::<Vec<_>>(),
                "seed {seed}"
            );
        }
    }
}

#[test]
fn a_tree_is_at_most_64_hops_deep() {
    // A line of switches: from its middle, one end of 130 is 65 hops away.
    let short = fabric("mesh:129,hosts=1");
    let ends = |fabric: &Fabric| {
        let hosts = hosts(fabric);
        [hosts[0], hosts[hosts.len() - 1]]
    };
    let tree = MulticastTrees::new(&short, BTreeSet::new()).tree(&ends(&short));
    assert_eq!((tree.depth, tree.left_out.len()), (64, 0));
    let long = fabric("mesh:130,hosts=1");
    let tree = MulticastTrees::new(&long, BTreeSet::new()).tree(&ends(&long));
    assert_eq!((tree.depth, tree.left_out.len()), (0, 1));
}

#[test]
fn links_are_shared_evenly_by_groups() {
    let fabric = fabric("fat-tree:radix=8,levels=2");
    let members = hosts(&fabric);
    let mut trees = MulticastTrees::new(&fabric, BTreeSet::new());
    let mut used: BTreeMap<SwitchIdx, usize> = BTreeMap::new();
    for _ in 0..40 {
        let tree = trees.tree(&members);
        let spines = tree
            .ports
            .keys()
            .filter(|&&at| fabric.switch(at).description.starts_with("L2"));
        spines.for_each(|&spine| *used.entry(spine).or_default() += 1);
    }
    assert_eq!(used.into_values().collect::<Vec<_>>(), [10; 4]);
}

#[test]
fn members_behind_switches_without_multicast_are_left_out() {
    let fabric = fabric("ring:switches=4,hosts=1");
    let members = hosts(&fabric);
    let mut trees = MulticastTrees::new(&fabric, BTreeSet::from([SwitchIdx(1), SwitchIdx(3)]));
    let tree = trees.tree(&[members[0], members[1], members[2]]);
    assert_eq!(tree.left_out, [members[1], members[2]]);
}

#[test]
fn multicast_lids_run_out_with_an_error() {
    let mut mlids = Mlids::new(2);
    assert!(mlids.take(Lid(0xc000)));
    assert_eq!(mlids.allocate(), Ok(Lid(0xc001)));
    assert_eq!(mlids.allocate(), Err(MlidsExhausted(2)));
    mlids.release(Lid(0xc000));
    assert_eq!(mlids.allocate(), Ok(Lid(0xc000)));
}
