//! No byte of an answer depends on what the agent's memory held before.
//!
//! Each attribute is requested twice: once with zeros after the header and once with ones, with other requests in
//! between. The answers must be equal byte for byte, except for the transaction ID.

use ib_mad::{Attribute, Method};
use ib_smp::{
    DrPath, GuidInfo, LinearForwardingTable, MulticastForwardingTable, NodeDescription, NodeInfo,
    PartitionKeyTable, PortInfo, SlToVlMappingTable, SwitchInfo, VlArbitrationTable,
};

use crate::conform::{
    Case,
    bench::{Bench, Outcome, difference, fail},
    case,
};

const SOURCE: &str = "IBA vol. 1, 13.4.2 (reserved fields) and 14.2.5";

pub(super) const CASES: &[Case] = &[
    case(
        "sma-201",
        "NodeDescription does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice::<NodeDescription>(bench, &path, 0)
        },
    ),
    case(
        "sma-202",
        "NodeInfo does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice::<NodeInfo>(bench, &path, 0)
        },
    ),
    case(
        "sma-203",
        "SwitchInfo does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.switch()?;
            twice::<SwitchInfo>(bench, &path, 0)
        },
    ),
    case(
        "sma-204",
        "GUIDInfo does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice::<GuidInfo>(bench, &path, 0)
        },
    ),
    case(
        "sma-205",
        "PortInfo of a channel adapter does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice::<PortInfo>(bench, &path, 0)
        },
    ),
    case(
        "sma-206",
        "PortInfo of a switch's external port does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.switch()?;
            twice::<PortInfo>(bench, &path, 1)
        },
    ),
    case(
        "sma-207",
        "P_KeyTable does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice::<PartitionKeyTable>(bench, &path, 0)
        },
    ),
    case(
        "sma-208",
        "SLtoVLMappingTable does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice::<SlToVlMappingTable>(bench, &path, 0)
        },
    ),
    case(
        "sma-209",
        "VLArbitrationTable does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice::<VlArbitrationTable>(bench, &path, 1 << 16)
        },
    ),
    case(
        "sma-210",
        "LinearForwardingTable does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.switch()?;
            twice::<LinearForwardingTable>(bench, &path, 0)
        },
    ),
    case(
        "sma-211",
        "MulticastForwardingTable does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.switch()?;
            twice::<MulticastForwardingTable>(bench, &path, 0)
        },
    ),
];

fn twice<T: Attribute>(bench: &mut Bench<'_>, path: &DrPath, modifier: u32) -> Outcome {
    let mut request = bench.smp(Method::GET, T::ID, modifier, path);
    request.set_smp_data(&[0x00; 64]);
    let first = bench.answer(&request.to_mad())?;
    for other in [NodeDescription::ID, PortInfo::ID, PartitionKeyTable::ID] {
        let mut between = bench.smp(Method::GET, other, 0, path);
        between.set_smp_data(&[0xff; 64]);
        bench.answer(&between.to_mad())?;
    }
    request.set_smp_data(&[0xff; 64]);
    let second = bench.answer(&request.to_mad())?;
    // Cases of their own judge the bytes behind an attribute.
    let behind = size_of::<T>().saturating_add(64)..128;
    match difference(&first, &second, behind) {
        None => Ok(()),
        Some(difference) => fail(difference),
    }
}
