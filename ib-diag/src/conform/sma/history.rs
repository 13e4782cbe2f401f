//! No byte of an answer depends on what the agent's memory held before.
//!
//! Each attribute is requested twice: once with zeros after the header and once with ones, with other requests in
//! between. The answers must be equal byte for byte, except for the transaction ID.

use ib_mad::{Attribute as _, AttributeId, Method};
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
            twice(bench, &path, NodeDescription::ID, 0)
        },
    ),
    case(
        "sma-202",
        "NodeInfo does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice(bench, &path, NodeInfo::ID, 0)
        },
    ),
    case(
        "sma-203",
        "SwitchInfo does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.switch()?;
            twice(bench, &path, SwitchInfo::ID, 0)
        },
    ),
    case(
        "sma-204",
        "GUIDInfo does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice(bench, &path, GuidInfo::ID, 0)
        },
    ),
    case(
        "sma-205",
        "PortInfo of a channel adapter does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice(bench, &path, PortInfo::ID, 0)
        },
    ),
    case(
        "sma-206",
        "PortInfo of a switch's external port does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.switch()?;
            twice(bench, &path, PortInfo::ID, 1)
        },
    ),
    case(
        "sma-207",
        "P_KeyTable does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice(bench, &path, PartitionKeyTable::ID, 0)
        },
    ),
    case(
        "sma-208",
        "SLtoVLMappingTable does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice(bench, &path, SlToVlMappingTable::ID, 0)
        },
    ),
    case(
        "sma-209",
        "VLArbitrationTable does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.ca()?;
            twice(bench, &path, VlArbitrationTable::ID, 1 << 16)
        },
    ),
    case(
        "sma-210",
        "LinearForwardingTable does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.switch()?;
            twice(bench, &path, LinearForwardingTable::ID, 0)
        },
    ),
    case(
        "sma-211",
        "MulticastForwardingTable does not depend on the memory before",
        SOURCE,
        |bench| {
            let path = bench.switch()?;
            twice(bench, &path, MulticastForwardingTable::ID, 0)
        },
    ),
];

fn twice(bench: &mut Bench<'_>, path: &DrPath, id: AttributeId, modifier: u32) -> Outcome {
    let mut request = bench.smp(Method::GET, id, modifier, path);
    request.set_smp_data(&[0x00; 64]);
    let first = bench.answer(&request.to_mad())?;
    for other in [NodeDescription::ID, PortInfo::ID, PartitionKeyTable::ID] {
        let mut between = bench.smp(Method::GET, other, 0, path);
        between.set_smp_data(&[0xff; 64]);
        bench.answer(&between.to_mad())?;
    }
    request.set_smp_data(&[0xff; 64]);
    let second = bench.answer(&request.to_mad())?;
    match difference(&first, &second) {
        None => Ok(()),
        Some(difference) => fail(difference),
    }
}
