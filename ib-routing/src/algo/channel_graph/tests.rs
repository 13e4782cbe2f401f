use super::*;
use crate::generate::FabricSpec;

/// The channels round a ring of four switches.
fn ring() -> (Fabric, Vec<ChannelIdx>) {
    let spec: FabricSpec = "ring:switches=4,hosts=1".parse().unwrap();
    let fabric = spec.build().unwrap();
    let mut round = Vec::from([ChannelIdx(0)]);
    while round.len() < 4 {
        let last = *fabric.channel(*round.last().unwrap());
        let mut next = fabric.channels_from(last.to);
        let next = next.find(|(index, _)| *index != last.reverse).unwrap();
        round.push(next.0);
    }
    (fabric, round)
}

/// The dependencies from each channel of a ring to the next, without the one that closes the ring.
fn open_ring() -> (ChannelGraph, Vec<ChannelIdx>) {
    let (fabric, round) = ring();
    let layout = Arc::new(DependencyLayout::new(&fabric));
    let order: Vec<ChannelIdx> = fabric.channels().indices().collect();
    let mut graph = ChannelGraph::new(&layout, &order);
    for pair in round.windows(2) {
        assert!(graph.admit(pair[0], pair[1]));
    }
    (graph, round)
}

#[test]
fn a_dependency_taken_back_makes_room_for_another() {
    let (mut graph, round) = open_ring();
    assert!(!graph.admit(round[3], round[0]));
    graph.remove(round[1], round[2]);
    assert!(!graph.contains(round[1], round[2]));
    graph.reconsider(round[3], round[0]);
    assert!(graph.admit(round[3], round[0]));
    assert!(!graph.admit(round[1], round[2]));
}

#[test]
fn a_detached_channel_has_no_dependency() {
    let (mut graph, round) = open_ring();
    let mut removed = Vec::new();
    graph.detach(round[1], &mut removed);
    removed.sort_unstable();
    let mut expected = [(round[0], round[1]), (round[1], round[2])];
    expected.sort_unstable();
    assert_eq!(removed, expected);
    assert!(graph.contains(round[2], round[3]) && !graph.contains(round[0], round[1]));
}

/// Returns true if dependencies of the list lead from one channel to another.
fn leads(admitted: &[(ChannelIdx, ChannelIdx)], start: ChannelIdx, end: ChannelIdx) -> bool {
    let mut reached = Vec::from([start]);
    let mut at = 0;
    while let Some(&channel) = reached.get(at) {
        at += 1;
        for &(from, to) in admitted {
            if from == channel && !reached.contains(&to) {
                reached.push(to);
            }
        }
    }
    reached.contains(&end)
}

#[test]
fn a_dependency_is_refused_exactly_if_it_closes_a_cycle() {
    for search_order in [SearchOrder::DepthFirst, SearchOrder::BreadthFirst] {
        refuses_exactly_what_closes_a_cycle(search_order);
    }
}

fn refuses_exactly_what_closes_a_cycle(search_order: SearchOrder) {
    let spec: FabricSpec = "torus:4x4,hosts=1".parse().unwrap();
    let fabric = spec.build().unwrap();
    let layout = Arc::new(DependencyLayout::new(&fabric));
    let order: Vec<ChannelIdx> = fabric.channels().indices().collect();
    let graph = ChannelGraph::new(&layout, &order);
    let mut graph = graph.with_search_order(search_order);
    let pairs = order.iter().flat_map(|&from| {
        let next = fabric.channels_from(fabric.channel(from).to);
        next.map(move |(to, _)| (from, to))
    });
    let mut pairs: Vec<_> = pairs.collect();
    // An order that has little to do with that of the channels.
    pairs.sort_by_key(|&(from, to)| (from.0 * 31 + to.0 * 17) % 101);
    let (mut admitted, mut refused) = (Vec::new(), 0);
    for (from, to) in pairs {
        let closes = leads(&admitted, to, from);
        assert_eq!(graph.admit(from, to), !closes, "{from:?} {to:?}");
        if closes {
            refused += 1;
        } else {
            admitted.push((from, to));
        }
        let forward = |&(from, to): &(ChannelIdx, ChannelIdx)| graph.place(from) < graph.place(to);
        assert!(admitted.iter().all(forward));
    }
    assert!(refused > 20 && admitted.len() > 100);
}

/// Channels that move to the same place again and again halve the room there each time.
#[test]
fn labels_agree_with_the_order_wherever_channels_move() {
    let spec: FabricSpec = "torus:4x4,hosts=1".parse().unwrap();
    let fabric = spec.build().unwrap();
    let layout = Arc::new(DependencyLayout::new(&fabric));
    let mut order: Vec<ChannelIdx> = fabric.channels().indices().collect();
    let len = order.len();
    // The place to which channels move, and how many move at once.
    for (to, count) in [
        (0, 1),
        (1, 1),
        (len / 2, 1),
        (len / 3, 5),
        (len, 1),
        (len, 7),
    ] {
        let mut graph = ChannelGraph::new(&layout, &order);
        for round in 0..500 {
            let from = round * 13 % (len - count);
            let moved: Vec<ChannelIdx> = order.drain(from..from + count).collect();
            moved.iter().for_each(|&channel| graph.unlink(channel));
            let to = to.min(order.len());
            let at = |place: usize| order.get(place).copied().unwrap_or(NONE);
            graph.link(at(to.wrapping_sub(1)), &moved, at(to));
            order.splice(to..to, moved);
            let places = order.iter().map(|&channel| graph.place(channel));
            assert!(places.is_sorted_by(|one, next| one < next), "{to}, {count}");
            let entries = order.iter().map(|&channel| graph.order[channel]);
            let before = [NONE].into_iter().chain(order.iter().copied());
            let after = order.iter().skip(1).copied().chain([NONE]);
            assert!(
                entries
                    .map(|entry| (entry.previous, entry.next))
                    .eq(before.zip(after))
            );
        }
    }
}

#[test]
fn a_set_lists_what_any_of_its_parts_has() {
    let (fabric, round) = ring();
    let layout = Arc::new(DependencyLayout::new(&fabric));
    let mut sets = [DependencySet::new(&layout), DependencySet::new(&layout)];
    let mut all: Vec<_> = (0..4).map(|at| (round[at], round[(at + 1) % 4])).collect();
    for (number, &(from, to)) in all.iter().enumerate() {
        sets[number % 2].insert(from, to);
        sets[1].insert(from, to);
    }
    let [mut set, other] = sets;
    assert_eq!(set.iter().count(), 2);
    set.extend(&other);
    all.sort();
    assert_eq!(set.iter().collect::<Vec<_>>(), all);
}
