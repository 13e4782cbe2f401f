//! Simulates the steps from old routes to new ones, without the code that planned them.
//!
//! Each block is written in its turn, and after each one every packet is followed: none may pass a switch
//! twice. In each stage every CA's packets take every path that the old and new entries of the switches
//! being written allow; what they hold and wait for must have no cycle. Drained LIDs get no packets until
//! the end. The work grows with the square of the CAs and the steps: for small fabrics. [`holds`] checks
//! the proof that any order is safe, for fabrics of any size.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use ib_wire::{Lid, PortNum, Sl, Vl};
use thiserror::Error;

use super::{
    BlockRef,
    transition::{Safety, Transition},
};
use crate::{
    algo::dependency::Vertex,
    fabric::Fabric,
    index::{ChannelIdx, SwitchIdx},
    lid::{Destination, LidMap},
    routes::Routes,
};

/// An accident that can happen while tables are written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Accident {
    /// A packet passes a switch twice.
    #[error("after step {step}, packets to LID {lid} pass switch {switch:?} twice")]
    Loop {
        /// Number of steps that are done.
        step: usize,
        /// Destination LID of the packet.
        lid: Lid,
        /// Switch that a packet passes twice.
        switch: SwitchIdx,
    },
    /// Packets can wait for each other in a cycle.
    #[error("in stage {stage}, channel {channel:?} on lane {lane} can wait for itself")]
    Deadlock {
        /// The stage, counted from 0; the number of stages means the change of service levels after the last one.
        stage: usize,
        /// A channel of the cycle.
        channel: ChannelIdx,
        /// Virtual lane of the channel.
        lane: Vl,
    },
    /// A table at the end differs from the new routes.
    #[error("switch {switch:?} keeps its old entry for LID {lid}")]
    Unfinished {
        /// Switch whose entry differs from the new routes at the end.
        switch: SwitchIdx,
        /// LID of the entry.
        lid: Lid,
    },
}

/// A channel on a lane.
type VirtualChannel = (ChannelIdx, Vl);

/// The places that follow each place.
type Waits = BTreeMap<VirtualChannel, BTreeSet<VirtualChannel>>;

/// Follows all packets through all stages. Deadlock is looked for only where it is ruled out.
///
/// # Errors
/// The first [`Accident`] that happens.
pub fn simulate(
    fabric: &Fabric,
    lids: &LidMap,
    old: &Routes,
    new: &Routes,
    plan: &Transition,
) -> Result<(), Accident> {
    let promised = matches!(plan.safety, Safety::AnyOrder(_) | Safety::Stages);
    let mut now = old.clone();
    let mut steps = 0;
    for (stage, writes) in plan.stages.iter().enumerate() {
        let before = now.clone();
        for step in writes {
            write(&mut now, new, step);
            steps += 1;
            no_loop(fabric, lids, &now, plan, steps, step.block)?;
        }
        if promised {
            let waits = waits(fabric, lids, [&before, &now], [old, old], plan);
            no_circle(&waits, stage)?;
        }
    }
    for switch in fabric.switches().indices() {
        for end in lids.destinations().iter() {
            for lid in end.range.iter() {
                if now.port(switch, lid) != new.port(switch, lid) {
                    return Err(Accident::Unfinished { switch, lid });
                }
            }
        }
    }
    if promised {
        let waits = waits(fabric, lids, [new, new], [old, new], plan);
        no_circle(&waits, plan.stages.len())?;
    }
    Ok(())
}

/// Returns true if `order` proves that no mixture of both route sets can deadlock: no packet to a LID that is not
/// drained goes backwards in it, for either entry of each switch and either service level of the packet.
#[must_use]
pub fn holds(
    fabric: &Fabric,
    lids: &LidMap,
    old: &Routes,
    new: &Routes,
    plan: &Transition,
    order: &[Vertex],
) -> bool {
    let places = order.iter().enumerate().map(|(at, vertex)| {
        let lane = Vl::try_new(vertex.lane).unwrap_or_default();
        ((vertex.channel, lane), at)
    });
    let places: BTreeMap<VirtualChannel, usize> = places.collect();
    let waits = waits(fabric, lids, [old, new], [old, new], plan);
    let forward =
        |from: &VirtualChannel, to: &VirtualChannel| match (places.get(from), places.get(to)) {
            (Some(from), Some(to)) => from < to,
            _ => false,
        };
    places.len() == order.len()
        && waits
            .iter()
            .all(|(from, after)| after.iter().all(|to| forward(from, to)))
}

fn write(now: &mut Routes, new: &Routes, step: &BlockRef) {
    for lid in step.block * 64..=step.block * 64 + 63 {
        now.set_port(step.switch, Lid(lid), new.port(step.switch, Lid(lid)));
    }
}

/// Follows all packets to the LIDs of the block that was written last.
fn no_loop(
    fabric: &Fabric,
    lids: &LidMap,
    now: &Routes,
    plan: &Transition,
    step: usize,
    block: u16,
) -> Result<(), Accident> {
    let written = (block * 64..=block * 64 + 63).map(Lid);
    let owned = |lid: &Lid| lids.owner(*lid).is_some() && !plan.drain.contains_key(lid);
    for lid in written.filter(owned) {
        for start in fabric.switches().indices() {
            let mut seen = BTreeSet::new();
            for (switch, _) in now.path(fabric, start, lid) {
                if !seen.insert(switch) {
                    return Err(Accident::Loop { step, lid, switch });
                }
            }
        }
    }
    Ok(())
}

/// Places that packets can wait for, if each switch has the entries of both `tables` and each packet the
/// level and lanes of either of `levels`.
fn waits(
    fabric: &Fabric,
    lids: &LidMap,
    tables: [&Routes; 2],
    levels: [&Routes; 2],
    plan: &Transition,
) -> Waits {
    let mut waits = Waits::new();
    let is_ca = |end: &&Destination| !end.is_switch();
    for target in lids.destinations().iter().filter(is_ca) {
        for to in target
            .range
            .iter()
            .filter(|to| !plan.drain.contains_key(to))
        {
            // Every combination in which a packet to this LID can be at a switch. Each is examined once.
            let mut seen: BTreeSet<(SwitchIdx, PortNum, Sl, Option<VirtualChannel>)> =
                BTreeSet::new();
            let mut open = Vec::new();
            for source in lids.destinations().iter().filter(is_ca) {
                let Some(switch) = source.switch else {
                    continue;
                };
                for from in source.range.iter() {
                    for level in levels {
                        open.push((switch, source.exit, level.sl(from, to), None));
                    }
                }
            }
            while let Some((switch, input, sl, held)) = open.pop() {
                if !seen.insert((switch, input, sl, held)) {
                    continue;
                }
                for table in tables {
                    let port = table.port(switch, to);
                    let Some(channel) = fabric.channel_at(switch, port) else {
                        continue;
                    };
                    for level in levels {
                        let place = (channel, level.vl_map().vl(switch, input, port, sl));
                        if let Some(held) = held {
                            waits.entry(held).or_default().insert(place);
                        }
                        let ends = fabric.channel(channel);
                        open.push((ends.to, ends.to_port, sl, Some(place)));
                    }
                }
            }
        }
    }
    waits
}

/// Repeatedly removes the places that wait for nothing; fails if a cycle is left.
fn no_circle(waits: &Waits, stage: usize) -> Result<(), Accident> {
    let mut left = waits.clone();
    loop {
        let stuck: BTreeSet<VirtualChannel> = left.keys().copied().collect();
        let before = left.len();
        left.retain(|_, after| {
            after.retain(|place| stuck.contains(place));
            !after.is_empty()
        });
        match left.first_key_value() {
            None => return Ok(()),
            Some((&(channel, lane), _)) if left.len() == before => {
                return Err(Accident::Deadlock {
                    stage,
                    channel,
                    lane,
                });
            }
            Some(_) => {}
        }
    }
}
