//! Checks the proof that routes cannot deadlock, independently of the code that made it.
//!
//! The proof is an order of the channels and their lanes. Every packet between CAs is followed hop by hop:
//! as long as each channel comes later in the order than the one before it, no packets can wait for each
//! other in a cycle. Nothing here is shared with the code that searches for the order.

use alloc::{collections::BTreeSet, vec, vec::Vec};

use ib_wire::{Lid, PortNum, Vl};
use thiserror::Error;

use super::Group;
use crate::{
    algo::dependency::Vertex,
    fabric::Fabric,
    index::{ChannelIdx, Idx, SwitchIdx},
    lid::{Destination, LidMap},
    routes::Routes,
};

/// The defect of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProofError {
    /// A channel that a packet uses is not in the order.
    #[error(
        "channel {channel:?} on lane {lane} is used from LID {from} to LID {to}, and not in the order"
    )]
    Missing {
        /// Channel that a packet uses and the order lacks.
        channel: ChannelIdx,
        /// Virtual lane of the packet there.
        lane: Vl,
        /// The packet's source.
        from: Lid,
        /// The packet's destination.
        to: Lid,
    },
    /// A packet goes backwards in the order.
    #[error(
        "from LID {from} to LID {to}: channel {channel:?} on lane {lane} comes before the channel that the packet comes from"
    )]
    Backward {
        /// The later channel of the packet.
        channel: ChannelIdx,
        /// Virtual lane of the packet there.
        lane: Vl,
        /// The packet's source.
        from: Lid,
        /// The packet's destination.
        to: Lid,
    },
    /// A multicast packet goes backwards in the order, or uses a channel that is not in it.
    #[error(
        "to group {mlid}: channel {channel:?} on lane {lane} does not come after the channel that the packet comes from"
    )]
    Multicast {
        /// Multicast LID of the group.
        mlid: Lid,
        /// The later channel of the packet.
        channel: ChannelIdx,
        /// Virtual lane of the packet there.
        lane: Vl,
    },
    /// A channel is in the order twice.
    #[error("channel {channel:?} on lane {lane} is in the order twice")]
    Twice {
        /// Channel of the repeated entry.
        channel: ChannelIdx,
        /// Virtual lane of the repeated entry.
        lane: u8,
    },
    /// A route does not end.
    #[error("the route from LID {from} to LID {to} does not end")]
    Endless {
        /// The packet's source.
        from: Lid,
        /// The packet's destination.
        to: Lid,
    },
}

/// Follows the packets of every pair of CAs and checks them against `order`.
///
/// # Errors
/// The first [`ProofError`] found.
pub fn check(
    fabric: &Fabric,
    lids: &LidMap,
    routes: &Routes,
    order: &[Vertex],
) -> Result<(), ProofError> {
    let places = Places::new(fabric, order)?;
    let place = |channel, lane| places.of(channel, lane);
    // A port without a cable to a switch neither sends nor gets what the order is about.
    let is_ca = |end: &&Destination| !end.is_switch() && end.switch.is_some();
    for source in lids.destinations().iter().filter(is_ca) {
        for destination in lids.destinations().iter().filter(is_ca) {
            for from in source.range.iter() {
                for to in destination.range.iter() {
                    follow(fabric, routes, (source, from), (destination, to), &place)?;
                }
            }
        }
    }
    Ok(())
}

/// Floods a packet of every group into its tree at every port, and checks its copies against `order`.
///
/// # Errors
/// The first [`ProofError`] found.
pub fn check_groups(
    fabric: &Fabric,
    routes: &Routes,
    groups: &[Group<'_>],
    order: &[Vertex],
) -> Result<(), ProofError> {
    let places = Places::new(fabric, order)?;
    for group in groups {
        let mut seen = BTreeSet::new();
        let mut open: Vec<(SwitchIdx, PortNum, Option<usize>)> = Vec::new();
        for (&switch, ports) in &group.tree.ports {
            open.extend(ports.iter().map(|port| (switch, port, None)));
        }
        while let Some((switch, input, before)) = open.pop() {
            // Places only grow along a path, so that a copy that comes round is an error and not an endless
            // loop.
            if !seen.insert((switch, input, before)) {
                continue;
            }
            let ports = group.tree.ports.get(&switch).copied().unwrap_or_default();
            for port in ports.iter().filter(|&port| port != input) {
                let Some(channel) = fabric.channel_at(switch, port) else {
                    continue;
                };
                let lane = routes.vl_map().vl(switch, input, port, group.sl);
                let here = places.of(channel, lane);
                if here.is_none() || before.is_some() && before >= here {
                    return Err(ProofError::Multicast {
                        mlid: group.mlid,
                        channel,
                        lane,
                    });
                }
                let ends = fabric.channel(channel);
                open.push((ends.to, ends.to_port, here));
            }
        }
    }
    Ok(())
}

/// The place of each channel and lane in an order.
struct Places(Vec<Option<usize>>);

impl Places {
    const LANES: usize = 16;

    fn new(fabric: &Fabric, order: &[Vertex]) -> Result<Self, ProofError> {
        let mut places = vec![None; fabric.channels().len() * Self::LANES];
        for (at, vertex) in order.iter().enumerate() {
            let place = vertex.channel.at() * Self::LANES + usize::from(vertex.lane);
            match places.get_mut(place) {
                Some(entry @ None) => *entry = Some(at),
                _ => {
                    return Err(ProofError::Twice {
                        channel: vertex.channel,
                        lane: vertex.lane,
                    });
                }
            }
        }
        Ok(Self(places))
    }

    fn of(&self, channel: ChannelIdx, lane: Vl) -> Option<usize> {
        let place = channel.at() * Self::LANES + usize::from(lane.bits());
        self.0.get(place).copied().flatten()
    }
}

fn follow(
    fabric: &Fabric,
    routes: &Routes,
    (source, from): (&Destination, Lid),
    (destination, to): (&Destination, Lid),
    place: &impl Fn(ChannelIdx, Vl) -> Option<usize>,
) -> Result<(), ProofError> {
    let Some(mut switch) = source.switch else {
        return Ok(());
    };
    let mut input: PortNum = source.exit;
    let sl = routes.sl(from, to);
    let mut before = None;
    for _ in 0..=fabric.num_switches() {
        let port = routes.port(switch, to);
        if destination.switch == Some(switch) && port == destination.exit {
            return Ok(());
        }
        // A route that ends at a dead port holds no further channel.
        let Some(index) = fabric.channel_at(switch, port) else {
            return Ok(());
        };
        let lane = routes.vl_map().vl(switch, input, port, sl);
        let here = place(index, lane).ok_or(ProofError::Missing {
            channel: index,
            lane,
            from,
            to,
        })?;
        if before.is_some_and(|before| before >= here) {
            return Err(ProofError::Backward {
                channel: index,
                lane,
                from,
                to,
            });
        }
        before = Some(here);
        let channel = fabric.channel(index);
        (switch, input) = (channel.to, channel.to_port);
    }
    Err(ProofError::Endless { from, to })
}
