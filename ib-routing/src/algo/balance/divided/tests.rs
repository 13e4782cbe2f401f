use super::*;
use crate::{
    algo::{
        balance::tree_chooser::{
            SIDE_BY_SIDE, grouped,
            tests::{damaged_and_crossed, mixed, trimmed},
        },
        choices::Choices,
        demands::Demands,
        shortest_path_dag::{Fans, ShortestPathDag},
    },
    fabric::{Channel, PortRef},
    generate::FabricSpec,
    lid::{LidMap, LidOptions},
    options::RouteOptions,
};

/// A fabric, and what it takes to choose its trees.
struct Chosen {
    fabric: Fabric,
    demands: Demands,
    dag: ShortestPathDag,
    fans: Fans,
}

impl Chosen {
    fn new(fabric: Fabric, options: &RouteOptions) -> Self {
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let demands = Demands::new(&fabric, &lids, false);
        assert!(!demands.is_direct(&fabric));
        let dag = ShortestPathDag::new(&fabric, options);
        Self {
            fans: dag.fans(1, &fabric),
            fabric,
            demands,
            dag,
        }
    }

    /// Lets `choose` make the visits of all groups.
    fn visit(&self, choices: &mut Choices, choose: impl FnOnce(&[Visit<'_>])) {
        let choices = choices.shared();
        let visits = grouped(&self.fabric, &self.demands.trees, SIDE_BY_SIDE)
            .into_iter()
            .map(|group| Visit {
                group,
                towards: self.dag.towards(group.target),
                fans: self.fans.towards(group.target),
                choices: choices.block(group.first, group.count),
            });
        choose(&visits.collect::<Vec<_>>());
    }

    /// The reference: one chooser for all switches.
    fn choose_whole(&self, pass: Pass, chooser: &mut TreeChooser, choices: &mut Choices) {
        self.visit(choices, |visits| {
            for &visit in visits {
                chooser.visit(pass, visit);
            }
        });
    }

    fn check(&self, parts: usize, name: &str) {
        let senders = &self.demands.senders;
        for passes in [
            &[Pass::First, Pass::Again][..],
            &[Pass::ByLoad, Pass::Again],
        ] {
            let mut whole = TreeChooser::new(&self.fabric, senders, false);
            let of_switches = Parts::new(&self.fabric, senders, parts);
            let mut divided = Divided::new(parts, &self.fabric, &self.dag, senders, of_switches);
            let mut choices = Choices::new(&self.fabric, &self.demands.trees);
            let mut of_divided = choices.clone();
            for &pass in passes {
                self.choose_whole(pass, &mut whole, &mut choices);
                self.visit(&mut of_divided, |visits| divided.pass(pass, visits));
                assert_eq!(
                    whole.load(),
                    divided.load(&self.fabric),
                    "{name}, {parts} parts, {pass:?}"
                );
                for tree in 0..self.demands.trees.len() {
                    for switch in self.fabric.switches().indices() {
                        assert_eq!(
                            choices.channel(tree, switch),
                            of_divided.channel(tree, switch),
                            "{name}, {parts} parts, {pass:?}: tree {tree} at {switch:?}"
                        );
                    }
                }
                // Each part gets the load of its channels again.
                divided.set_load(&whole.load());
                assert_eq!(
                    whole.load(),
                    divided.load(&self.fabric),
                    "{name}, {parts} parts"
                );
            }
        }
    }
}

#[test]
fn parts_choose_the_trees_of_one_chooser() {
    for spec in [
        "fat-tree:radix=8,levels=3",
        "fat-tree:radix=6,levels=4",
        "fat-tree:radix=12,levels=3,pods=5",
        "fat-tree:radix=12,levels=3,oversub=2,parallel=2",
        "fat-tree:radix=16,levels=2",
    ] {
        let whole = spec.parse::<FabricSpec>().unwrap().build().unwrap();
        let [damaged, crossed] = damaged_and_crossed(&whole);
        for fabric in [whole, mixed(spec), trimmed(spec), damaged, crossed] {
            let chosen = Chosen::new(fabric, &RouteOptions::default());
            for parts in [1, 2, 3, 7] {
                chosen.check(parts, spec);
            }
        }
    }
}

/// Paths lead from one distance past the next where channels have lengths.
#[test]
fn parts_choose_the_same_trees_where_channels_have_lengths() {
    let spec = "fat-tree:radix=8,levels=3";
    let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
    let mut options = RouteOptions::default();
    let channels = fabric.channels().iter().zip(0..);
    for (channel, number) in channels.filter(|(_, number)| number % 5 == 0) {
        let port = (fabric.switch_guid(channel.from), channel.port);
        options.hop_weights.insert(port, 2 + number % 3);
    }
    let chosen = Chosen::new(fabric, &options);
    for parts in [2, 3] {
        chosen.check(parts, spec);
    }
}

#[test]
fn parts_that_no_cable_joins_need_nothing_of_each_other() {
    let spec = "fat-tree:radix=8,levels=3";
    let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
    let pods = Parts::new(&fabric, &senders(&fabric), 2).part_of;
    let cut = fabric.channels().iter();
    let cut = cut.filter(|channel| pods[channel.from] != pods[channel.to]);
    let cut = cut.map(|channel| PortRef {
        node: fabric.switches()[channel.from],
        port: channel.port,
    });
    let fabric = fabric.without_cables(&cut.collect::<Vec<_>>());
    let pods = Parts::new(&fabric, &senders(&fabric), 2).part_of;
    let is_cut = |channel: &Channel| pods[channel.from] != pods[channel.to];
    assert!(!fabric.channels().iter().any(is_cut));
    Chosen::new(fabric, &RouteOptions::default()).check(2, spec);
}

fn senders(fabric: &Fabric) -> IdxVec<SwitchIdx, u64> {
    let lids = LidMap::assign(fabric, &LidOptions::default()).unwrap();
    Demands::new(fabric, &lids, false).senders
}

/// Each pod of a fat tree is in one part, and each part has as many switches of each kind.
#[test]
fn pods_are_not_divided_where_parts_have_as_many_each() {
    let spec = "fat-tree:radix=12,levels=3";
    let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
    let senders = senders(&fabric);
    for parts in [2, 3, 4, 6, 12] {
        let Parts { part_of, count } = Parts::new(&fabric, &senders, parts);
        assert_eq!(count, parts);
        for channel in fabric.channels().iter() {
            let is_leaf = senders[channel.from] > 0;
            assert!(!is_leaf || part_of[channel.from] == part_of[channel.to]);
        }
        for part in 0..parts {
            let own = part_of.iter_enumerated().filter(|&(_, &of)| of == part);
            let own: Vec<SwitchIdx> = own.map(|(switch, _)| switch).collect();
            let leaves = own.iter().filter(|&&switch| senders[switch] > 0);
            // 72 leaves, 72 switches above them and 36 roots.
            assert_eq!((leaves.count(), own.len()), (72 / parts, 180 / parts));
        }
    }
}
