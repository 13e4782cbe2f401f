//! Reads the entries of LIDs that come block by block.

use core::cell::Cell;

use ib_wire::{Lid, PortNum};

use super::{Routes, page::BLOCK};
use crate::index::{IdxVec, SwitchIdx};

/// The block of switches that have none.
static UNREACHABLE: [u8; BLOCK] = [PortNum::UNREACHABLE.0; BLOCK];

/// The number of no block: a table has 1,024 at most.
const NONE: u16 = u16::MAX;

/// Reads forwarding entries. It keeps the block of each switch that was read last, so it is quicker than [`Routes::port`]
/// where one LID is examined after the other.
#[derive(Debug)]
pub(crate) struct BlockReader<'a> {
    routes: &'a Routes,
    /// By switch: the block that was read last, with its number.
    blocks: IdxVec<SwitchIdx, Cell<(u16, &'a [u8; BLOCK])>>,
}

impl<'a> BlockReader<'a> {
    /// Nothing is read yet.
    pub(crate) fn new(routes: &'a Routes) -> Self {
        let nothing = Cell::new((NONE, &UNREACHABLE));
        Self {
            routes,
            blocks: IdxVec::filled(routes.num_switches(), nothing),
        }
    }

    /// Returns true if the entries of two LIDs are in the same block.
    pub(crate) fn is_in_one_block(one: Lid, other: Lid) -> bool {
        one.0 / BLOCK as u16 == other.0 / BLOCK as u16
    }

    /// As [`Routes::port`].
    #[inline]
    pub(crate) fn port(&self, switch: SwitchIdx, lid: Lid) -> PortNum {
        let entry = self.block_of(switch, lid).get(usize::from(lid.0) % BLOCK);
        entry.map_or(PortNum::UNREACHABLE, |&port| PortNum(port))
    }

    /// Returns true if a switch sends to so many LIDs from `lid` on by the same port. They are in one block.
    pub(crate) fn is_one_port(&self, switch: SwitchIdx, lid: Lid, count: usize) -> bool {
        let at = usize::from(lid.0) % BLOCK;
        let ports = self.block_of(switch, lid).get(at..at + count);
        let both = ports.and_then(|ports| ports.split_first());
        both.is_some_and(|(first, others)| others.iter().all(|other| other == first))
    }

    /// The block of a switch's table that a LID is in.
    #[inline]
    fn block_of(&self, switch: SwitchIdx, lid: Lid) -> &'a [u8; BLOCK] {
        let Some(last) = self.blocks.find(switch) else {
            return &UNREACHABLE;
        };
        let number = lid.0 / BLOCK as u16;
        let (of, mut block) = last.get();
        if of != number {
            block = self.read(switch, number);
            last.set((number, block));
        }
        block
    }

    /// A block of the tables.
    #[inline(never)]
    fn read(&self, switch: SwitchIdx, number: u16) -> &'a [u8; BLOCK] {
        let block = self.routes.lft_block(switch, number);
        block.unwrap_or(&UNREACHABLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LidMap, LidOptions, engine, generate::FabricSpec, options::RouteOptions};

    #[test]
    fn entries_are_those_of_the_tables() {
        let fabric = "torus:4x4,hosts=5".parse::<FabricSpec>().unwrap();
        let fabric = fabric.build().unwrap();
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let options = RouteOptions::default();
        let mut routes = engine::MINHOP.route(&fabric, &lids, &options).unwrap();
        for _ in 0..2 {
            let reader = BlockReader::new(&routes);
            // The blocks of a switch come in turn, and one is past the end.
            for lid in [1, 70, 2, 95, 5_000, 64, 63, 0xffff].map(Lid) {
                for switch in (0..17).map(SwitchIdx) {
                    let wanted = match switch.0 {
                        16 => PortNum::UNREACHABLE,
                        _ => routes.port(switch, lid),
                    };
                    assert_eq!(reader.port(switch, lid), wanted);
                }
            }
            for (lid, count) in [(64, 3), (70, 1), (69, 2), (126, 2), (127, 2), (5_000, 2)] {
                for switch in (0..17).map(SwitchIdx) {
                    let is_inside = lid % 64 + count <= 64;
                    let port = |lid| reader.port(switch, Lid(lid));
                    let same = (lid..lid + count).all(|other| port(other) == port(lid));
                    let found = reader.is_one_port(switch, Lid(lid), count.into());
                    assert_eq!(found, is_inside && same);
                }
            }
            routes.share(1);
            routes.set_port(SwitchIdx(3), Lid(70), PortNum(9));
        }
    }
}
