//! The tables of a router's agent: RouterInfo, the subnets beside the router, and those behind other routers.
//!
//! They are set by the device's maker or its own software, and read by managers: a Set has no effect on them.

use alloc::vec::Vec;

use ib_mad::{Attribute as _, AttributeId, MadStatus};

use super::{
    INVALID, UNSUPPORTED,
    attributes::{Data, put},
};
use crate::{
    AdjacentSiteLocalSubnetRecord, AdjacentSiteLocalSubnetsTable, NextHopRecord, NextHopTable,
    RouterInfo,
};

/// The attributes in which a router describes the subnets that it joins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterTables {
    info: RouterInfo,
    adjacent: Vec<AdjacentSiteLocalSubnetRecord>,
    next_hops: Vec<NextHopRecord>,
}

impl RouterTables {
    /// The tables with these records; RouterInfo tells their sizes. At most 255 adjacent subnets are kept, as many as
    /// RouterInfo can count.
    #[must_use]
    pub fn new(adjacent: &[AdjacentSiteLocalSubnetRecord], next_hops: &[NextHopRecord]) -> Self {
        let adjacent: Vec<_> = adjacent
            .iter()
            .copied()
            .take(usize::from(u8::MAX))
            .collect();
        let (adjacent_count, next_count) = (adjacent.len() as u8, next_hops.len() as u32);
        let mut info = RouterInfo::default();
        info.set_adjacent_subnets_table_cap(adjacent_count)
            .set_adjacent_subnets_table_top(adjacent_count.saturating_sub(1))
            .set_next_hop_table_cap(next_count)
            .set_next_hop_table_top(next_count.saturating_sub(1));
        Self {
            info,
            adjacent,
            next_hops: next_hops.to_vec(),
        }
    }

    /// Makes an attribute the data of a response. Blocks behind the end of a table are refused.
    pub(super) fn get(&self, id: AttributeId, modifier: u32, data: &mut Data) -> MadStatus {
        match id {
            RouterInfo::ID if modifier == 0 => put(data, self.info.as_bytes()),
            AdjacentSiteLocalSubnetsTable::ID => {
                let Some(records) = block(&self.adjacent, modifier) else {
                    return INVALID;
                };
                let mut table = AdjacentSiteLocalSubnetsTable::default();
                for (index, record) in records.iter().enumerate() {
                    table.set_records(index, record);
                }
                put(data, table.as_bytes())
            }
            NextHopTable::ID => {
                let Some(records) = block(&self.next_hops, modifier) else {
                    return INVALID;
                };
                let mut table = NextHopTable::default();
                for (index, record) in records.iter().enumerate() {
                    table.set_records(index, record);
                }
                put(data, table.as_bytes())
            }
            RouterInfo::ID => INVALID,
            _ => UNSUPPORTED,
        }
    }
}

/// The records of a block of 64 bytes. Block 0 exists in an empty table too.
fn block<R>(records: &[R], number: u32) -> Option<&[R]> {
    let in_block = 64_usize.checked_div(size_of::<R>())?;
    match usize::try_from(number).ok()? {
        0 => records.chunks(in_block).next().or(Some(&[])),
        number => records.chunks(in_block).nth(number),
    }
}
