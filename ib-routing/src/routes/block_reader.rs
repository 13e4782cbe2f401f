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

    /// As [`Routes::port`].
    #[inline]
    pub(crate) fn port(&self, switch: SwitchIdx, lid: Lid) -> PortNum {
        let Some(last) = self.blocks.find(switch) else {
            return PortNum::UNREACHABLE;
        };
        let (number, at) = (lid.0 / BLOCK as u16, usize::from(lid.0) % BLOCK);
        let (of, mut block) = last.get();
        if of != number {
            block = self.read(switch, number);
            last.set((number, block));
        }
        let entry = block.get(at);
        entry.map_or(PortNum::UNREACHABLE, |&port| PortNum(port))
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
            routes.share(1);
            routes.set_port(SwitchIdx(3), Lid(70), PortNum(9));
        }
    }
}
