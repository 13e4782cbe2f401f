//! Up*/down* search: channels have a direction, and no route goes up after it went down.
//!
//! A switch that can reach a destination by going down does so, by the shortest path down; all others go
//! up, by the shortest path. So a packet that goes up to such a switch goes down from there on, and a table
//! by destination alone never turns upward again.

use alloc::{vec, vec::Vec};

use crate::{
    algo::{
        balance::{self, is_regular},
        demands::is_direct,
        frontiers::{Frontier, Frontiers, Sets, add, start, step},
        parallel,
        port_balancing::{self, chooses_by_port},
        shortest_path_dag::{ShortestPathDag, senders},
    },
    engine::SharedEngine,
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, IdxVec, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::Routes,
};

/// Class of a channel that goes up.
pub const UP: u8 = 0;
/// Class of a channel that goes down.
pub const DOWN: u8 = 1;

/// The direction of every channel: up towards the higher place.
#[must_use]
pub fn directions<K: Ord>(fabric: &Fabric, place: &IdxVec<SwitchIdx, K>) -> IdxVec<ChannelIdx, u8> {
    let up = fabric.channels().iter().map(|channel| {
        if place[channel.to] > place[channel.from] {
            UP
        } else {
            DOWN
        }
    });
    up.collect()
}

/// The waves of an up*/down* search.
#[must_use]
pub fn search(
    threads: usize,
    fabric: &Fabric,
    targets: &[SwitchIdx],
    classes: &IdxVec<ChannelIdx, u8>,
) -> Frontiers {
    let size = fabric.num_switches();
    let none: Sets = IdxVec::filled(size, 0);
    let first = start(fabric, targets);
    // Switches that go down, by distance.
    let mut down = Vec::from([first.clone()]);
    let mut reached = first;
    while let Some(last) = down.last() {
        let next = step(threads, fabric, last, &reached, |channel| {
            classes[channel] == DOWN
        });
        if !add(&mut reached, &next) {
            break;
        }
        down.push(next);
    }
    let mut levels = Frontiers::new();
    let mut up = none.clone();
    let mut at = 0;
    loop {
        let here = down.get(at).unwrap_or(&none);
        let mut frontier = up;
        add(&mut frontier, here);
        let below = down.get(at + 1);
        if let Some(below) = below {
            levels.push(Frontier::new(below.clone(), vec![(DOWN, here.clone())]));
        }
        let next = step(threads, fabric, &frontier, &reached, |channel| {
            classes[channel] == UP
        });
        if add(&mut reached, &next) {
            levels.push(Frontier::new(next.clone(), vec![(UP, frontier)]));
        } else if below.is_none() {
            return levels;
        }
        up = next;
        at += 1;
    }
}

/// Routes every destination up*/down*. Where a fat tree lacks cables, whole trees of such paths are balanced against each
/// other; elsewhere each switch balances its channels.
///
/// Roots have no legal path to each other. Traffic between switches may go down and up there: no CA's route
/// passes such an entry. CAs at both ends get such a route only with [`RouteOptions::connect_roots`].
///
/// # Errors
/// [`RouteError::NoPath`] if two CAs that cables join have no legal route.
pub fn route(
    fabric: &Fabric,
    lids: &LidMap,
    options: &RouteOptions,
    engine: &SharedEngine,
    classes: &IdxVec<ChannelIdx, u8>,
) -> Result<Routes, RouteError> {
    let senders = senders(fabric, lids);
    let has_ca = |switch: SwitchIdx| senders[switch] > 0;
    let threads = options.threads;
    let search = |targets: &[SwitchIdx]| {
        let mut levels = search(threads, fabric, targets, classes);
        let mut reached = start(fabric, targets);
        for wave in &levels {
            add(&mut reached, &wave.reached);
        }
        let mut with_ca = 0u64;
        for (bit, &target) in targets.iter().enumerate() {
            with_ca |= u64::from(has_ca(target)) << bit;
        }
        loop {
            let next = step(threads, fabric, &reached, &reached, |_| true);
            for (switch, &bits) in next.iter_enumerated() {
                let cut_off = bits & with_ca;
                if cut_off != 0 && has_ca(switch) && !options.connect_roots {
                    let target = targets.get(cut_off.trailing_zeros() as usize);
                    let to = target
                        .and_then(|&target| lids.at_switch(target).find(|port| !port.is_switch()));
                    return Err(RouteError::NoPath {
                        engine: engine.name(),
                        from: fabric.switch_guid(switch),
                        to: to.map_or(ib_wire::Lid::NONE, |to| to.range.base()),
                    });
                }
            }
            let via = vec![(UP, reached.clone()), (DOWN, reached.clone())];
            if !add(&mut reached, &next) {
                return Ok(levels);
            }
            levels.push(Frontier::new(next, via));
        }
    };
    let by_trees = !is_direct(fabric, &senders) && !is_regular(fabric, &senders);
    if by_trees && !chooses_by_port(lids, options) {
        return parallel::install(threads, fabric, || {
            let dag = ShortestPathDag::of_search(threads, fabric, classes, search)?;
            Ok(balance::route(threads, engine, fabric, lids, &dag))
        });
    }
    let mut routes = Routes::new_shared(engine, fabric, lids);
    port_balancing::route(fabric, lids, options, Some(classes), &mut routes, search)?;
    Ok(routes)
}
