//! Blocks of linear forwarding tables, each once in memory: those of many switches are equal.

use std::{collections::HashSet, sync::Arc};

use ib_smp::LinearForwardingTable;

/// Number of blocks below which none are looked for that no switch holds any more.
const FEW: usize = 1024;

/// The different blocks of the switches of a fabric.
#[derive(Debug, Default)]
pub(crate) struct LftPool {
    blocks: HashSet<Arc<LinearForwardingTable>>,
    /// Number of blocks from which those that no switch holds are removed.
    limit: usize,
}

impl LftPool {
    /// The block of the pool with the content of `block`, which becomes that block if there is none.
    pub(crate) fn share(
        &mut self,
        block: &Arc<LinearForwardingTable>,
    ) -> Arc<LinearForwardingTable> {
        if let Some(equal) = self.blocks.get(block) {
            return Arc::clone(equal);
        }
        if self.blocks.len() >= self.limit {
            self.blocks.retain(|block| Arc::strong_count(block) > 1);
            // To look for blocks only at twice the number costs little for each block.
            self.limit = self.blocks.len().max(FEW).saturating_mul(2);
        }
        self.blocks.insert(Arc::clone(block));
        Arc::clone(block)
    }
}

#[cfg(test)]
mod tests {
    use ib_mad::{Attribute, Instant, MadAddress, Method};
    use ib_routing::generate::FabricSpec;
    use ib_smp::{DrPath, SmpDirected};
    use ib_wire::PortNum;

    use super::*;
    use crate::{Sim, SimOptions};

    fn block(number: u16) -> Arc<LinearForwardingTable> {
        let mut bytes = [0; 64];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        Arc::new(LinearForwardingTable::from_bytes(bytes))
    }

    #[test]
    fn equal_blocks_are_the_same_memory() {
        let mut pool = LftPool::default();
        let first = pool.share(&block(1));
        assert!(Arc::ptr_eq(&first, &pool.share(&block(1))));
        assert!(!Arc::ptr_eq(&first, &pool.share(&block(2))));
    }

    #[test]
    fn switches_that_are_written_the_same_block_share_it() {
        let fabric: FabricSpec = "fat-tree:radix=4,levels=2".parse().unwrap();
        let fabric = fabric.build().unwrap();
        let host = fabric.first_host().unwrap();
        let mut sim = Sim::new(&fabric, SimOptions::default());
        // The leaf of the host and a switch next to it, each by two blocks of the same content.
        let (_, port) = fabric.attachment(host).unwrap();
        let uplink = PortNum(if port.0 <= 2 { 3 } else { 1 });
        for path in [&[host.port][..], &[host.port, uplink]] {
            for number in [1, 2] {
                let path = DrPath::try_new(path).unwrap();
                let id = LinearForwardingTable::ID;
                let mut smp = SmpDirected::new(Method::SET, id, number, &path);
                smp.set_smp_data(&[2; 64]);
                sim.send(host, &smp.to(MadAddress::DIRECTED));
            }
        }
        sim.advance(Instant::from_nanos(1_000_000_000));
        let written = sim.nodes().iter().filter(|node| node.lft().count() > 0);
        assert_eq!(written.count(), 2);
        let block = Arc::new(LinearForwardingTable::from_bytes([2; 64]));
        let shared = sim.lft_pool.blocks.get(&block).unwrap();
        assert_eq!(
            (sim.lft_pool.blocks.len(), Arc::strong_count(shared)),
            (1, 5)
        );
    }

    #[test]
    fn blocks_that_no_switch_holds_leave_the_pool() {
        let mut pool = LftPool::default();
        let kept: Vec<_> = (0..100).map(|number| pool.share(&block(number))).collect();
        for number in 100..60_000 {
            pool.share(&block(number));
        }
        assert!(pool.blocks.len() <= 2 * FEW, "{}", pool.blocks.len());
        assert!(kept.iter().all(|block| pool.blocks.contains(block)));
    }
}
