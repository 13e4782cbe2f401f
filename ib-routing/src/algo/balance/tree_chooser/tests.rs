use alloc::vec::Vec;

use ib_wire::PortNum;

use super::*;
use crate::{
    algo::{
        choices::Choices,
        demands::Demands,
        shortest_path_dag::{ShortestPathDag, senders},
        up_down,
    },
    fabric::{Channel, PortRef},
    generate::{FabricSpec, remove_links},
    lid::{LidMap, LidOptions},
    options::RouteOptions,
};

/// A reference: loads and weights of plain numbers, and a search through all next hops for each tree.
struct Reference {
    load: IdxVec<ChannelIdx, u64>,
    senders: IdxVec<SwitchIdx, u64>,
}

impl Reference {
    /// Chooses the trees of a group; returns the channel of each switch in each tree.
    fn choose(&mut self, group: Group, towards: DagTo<'_>) -> Vec<(SwitchIdx, Vec<ChannelIdx>)> {
        let mut weight: IdxVec<SwitchIdx, u64> = IdxVec::filled(self.senders.len(), 0);
        for switch in towards.switches() {
            let of = |hop: &NextHop| weight[hop.to()] + self.load[hop.channel];
            weight[switch] = towards.next_hops(switch).iter().map(of).min().unwrap();
        }
        let start = self
            .senders
            .iter()
            .map(|&senders| vec![senders * group.weight; group.count]);
        let mut flow: IdxVec<SwitchIdx, Vec<u64>> = start.collect();
        let mut chosen = Vec::new();
        for switch in towards.switches().rev() {
            let mut channels = Vec::new();
            let is_unused = flow[switch].iter().all(|&routes| routes == 0);
            for tree in 0..group.count {
                let key = |hop: &&NextHop| weight[hop.to()] + self.load[hop.channel];
                let mut hops = towards.next_hops(switch).iter();
                let lightest = || hops.clone().min_by_key(key);
                let hop = if is_unused { hops.next() } else { lightest() }.unwrap();
                let routes = flow[switch][tree];
                self.load[hop.channel] += routes;
                flow[hop.to()][tree] += routes;
                channels.push(hop.channel);
            }
            chosen.push((switch, channels));
        }
        chosen
    }
}

/// A fabric whose cables are at other ports: up and down alternate at many switches.
pub(in crate::algo::balance) fn mixed(spec: &str) -> Fabric {
    let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
    let mut builder = fabric.to_builder();
    let moved = |end: PortRef| {
        let ports = u32::from(fabric.node(end.node).num_ports());
        let step = (ports / 2 + 1..ports)
            .find(|step| (2..=*step).all(|by| step % by > 0 || ports % by > 0));
        let port = u32::from(end.port.0 - 1) * step.unwrap_or(1) % ports + 1;
        PortRef {
            port: PortNum(port as u8),
            ..end
        }
    };
    for (one, _) in fabric.links() {
        builder.remove_link(one);
    }
    for (one, other) in fabric.links() {
        builder.add_link(moved(one), moved(other)).unwrap();
    }
    builder.build()
}

/// A fabric where every second switch lacks its last cable to another: its next hops are the first ones of its neighbour.
pub(in crate::algo::balance) fn trimmed(spec: &str) -> Fabric {
    let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
    let switches = fabric.switches().iter_enumerated().step_by(2);
    let last = switches.filter_map(|(switch, &node)| {
        let (_, channel) = fabric.channels_from(switch).last()?;
        Some(PortRef {
            node,
            port: channel.port,
        })
    });
    fabric.without_cables(&last.collect::<Vec<_>>())
}

/// A fabric that lacks a tenth of its cables, and another with cables between the switches without CAs that lost one: some
/// of these are equally far from CAs.
pub(in crate::algo::balance) fn damaged_and_crossed(whole: &Fabric) -> [Fabric; 2] {
    let damaged = remove_links(whole, 10.0, 1);
    let lids = LidMap::assign(whole, &LidOptions::default()).unwrap();
    let senders = senders(whole, &lids);
    let free = whole.channels().iter().filter_map(|channel| {
        let end = PortRef {
            node: whole.switches()[channel.from],
            port: channel.port,
        };
        let is_free = damaged.channel_at(channel.from, channel.port).is_none();
        (senders[channel.from] == 0 && is_free).then_some(end)
    });
    let free: Vec<PortRef> = free.collect();
    let mut crossed = damaged.to_builder();
    let (ones, others) = free.split_at(free.len() / 2);
    for (&one, &other) in ones.iter().zip(others) {
        crossed.add_link(one, other).unwrap();
    }
    [damaged, crossed.build()]
}

/// Some channels are longer than others.
fn lengths(fabric: &Fabric) -> RouteOptions {
    let channels = fabric.channels().iter().zip(0..).step_by(5);
    let length = |(channel, number): (&Channel, u32)| {
        let end = (fabric.switch_guid(channel.from), channel.port);
        (end, 2 + number % 2)
    };
    RouteOptions {
        hop_weights: channels.map(length).collect(),
        ..RouteOptions::default()
    }
}

#[test]
fn trees_of_fat_trees_are_those_of_plain_searches() {
    for spec in [
        "fat-tree:radix=8,levels=3",
        "fat-tree:radix=18,levels=3,pods=5",
        "fat-tree:radix=16,levels=3,oversub=3,parallel=2",
        "fat-tree:radix=20,levels=2",
    ] {
        let whole = spec.parse::<FabricSpec>().unwrap().build().unwrap();
        let [damaged, crossed] = damaged_and_crossed(&whole);
        for fabric in [whole, mixed(spec), trimmed(spec), damaged, crossed] {
            let shortest = |options| ShortestPathDag::new(&fabric, options);
            for dag in [
                shortest(&RouteOptions::default()),
                shortest(&lengths(&fabric)),
                up_and_down(&fabric, 1),
                up_and_down(&fabric, 7919),
            ] {
                for side_by_side in [SIDE_BY_SIDE, 1] {
                    check_plain_searches(&fabric, &dag, side_by_side, spec);
                }
            }
        }
    }
}

/// Paths up*/down*, where up is towards a higher place: with a `step` of 1 the index of a switch, which is higher for roots,
/// and otherwise any place, so that not all neighbours nearer to a target are next hops.
fn up_and_down(fabric: &Fabric, step: u32) -> ShortestPathDag {
    let switches = fabric.num_switches() as u32;
    let places = fabric.switches().indices();
    let places = places.map(|switch| switch.0 * step % switches).collect();
    let classes = up_down::directions(fabric, &places);
    let search = |targets: &[SwitchIdx]| Ok(up_down::search(1, fabric, targets, &classes));
    ShortestPathDag::of_search(1, fabric, &classes, search).unwrap()
}

/// Fans that look up the weights of their ends for themselves, of all that there are.
fn limited_fans(fabric: &Fabric, dag: &ShortestPathDag) -> (usize, usize) {
    let fans = dag.fans(1, fabric);
    let switches = || fabric.switches().indices();
    let all = switches().flat_map(|target| {
        let (towards, fans) = (dag.towards(target), fans.towards(target));
        switches().filter_map(move |switch| match towards.few_or_many(switch, fans) {
            NextHops::Many(fan) => Some(fan.is_limited),
            NextHops::Few(_) => None,
        })
    });
    let all: Vec<bool> = all.collect();
    (all.iter().filter(|limited| **limited).count(), all.len())
}

#[test]
fn switches_of_a_fat_tree_share_the_weights_behind_paths_up_and_down() {
    let whole = "fat-tree:radix=18,levels=3,pods=5".parse::<FabricSpec>();
    let whole = whole.unwrap().build().unwrap();
    for fabric in [remove_links(&whole, 5.0, 1), whole] {
        let (limited, all) = limited_fans(&fabric, &up_and_down(&fabric, 1));
        assert!(limited == 0 && all > 1000, "{limited} of {all}");
        let (limited, all) = limited_fans(&fabric, &up_and_down(&fabric, 7919));
        assert!(limited > 0, "{limited} of {all}");
        let shortest = ShortestPathDag::new(&fabric, &RouteOptions::default());
        assert_eq!(limited_fans(&fabric, &shortest).0, 0);
        let with_lengths = ShortestPathDag::new(&fabric, &lengths(&fabric));
        let (limited, all) = limited_fans(&fabric, &with_lengths);
        assert_eq!(limited, all);
    }
}

fn check_plain_searches(fabric: &Fabric, dag: &ShortestPathDag, side_by_side: usize, spec: &str) {
    let lids = LidMap::assign(fabric, &LidOptions::default()).unwrap();
    let demands = Demands::new(fabric, &lids, false);
    assert!(!demands.is_direct(fabric), "{spec}");
    let fans = dag.fans(1, fabric);
    let mut chooser = TreeChooser::new(fabric, &demands.senders, false);
    let mut choices = Choices::new(fabric, &demands.trees);
    let mut reference = Reference {
        load: chooser.load(),
        senders: demands.senders.clone(),
    };
    let groups = grouped(fabric, &demands.trees, side_by_side);
    let visit = |group: Group, choices: &mut Choices, visit: &mut dyn FnMut(Visit<'_>)| {
        visit(Visit {
            group,
            towards: dag.towards(group.target),
            fans: fans.towards(group.target),
            choices: choices.shared().block(group.first, group.count),
        });
    };
    for &group in &groups {
        visit(group, &mut choices, &mut |visit| chooser.choose(visit));
        for (switch, channels) in reference.choose(group, dag.towards(group.target)) {
            for (tree, channel) in (group.first..).zip(channels) {
                assert_eq!(choices.channel(tree, switch), Some(channel), "{spec}");
            }
        }
    }
    assert_eq!(chooser.load(), reference.load, "{spec}");
    for &group in &groups {
        visit(group, &mut choices, &mut |visit| chooser.take_back(visit));
    }
    assert!(chooser.load().iter().all(|&load| load == 0), "{spec}");
}
