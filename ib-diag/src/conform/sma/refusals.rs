//! Requests that an agent does not carry out, and its answers (IBA vol. 1, 13.4.7).

use ib_mad::{Attribute as _, AttributeId, MadStatus, Method};
use ib_smp::{
    DrPath, GuidInfo, LinearForwardingTable, MulticastForwardingTable, NodeInfo, PartitionKeyTable,
    PortInfo, SlToVlMappingTable, SwitchInfo, VlArbitrationTable,
};

use crate::conform::{
    Case,
    bench::{Bench, Outcome, Stop, ensure, skip, status},
    case,
    ports::{PortAt, modifier},
};

const STATUS: &str = "IBA vol. 1, 13.4.7";

pub(super) const CASES: &[Case] = &[
    case(
        "sma-131",
        "A class version that the agent does not know is refused with 0x0004",
        STATUS,
        |bench| {
            let path = bench.ca()?;
            let mut smp = bench.smp(Method::GET, NodeInfo::ID, 0, &path);
            smp.set_class_version(2);
            let status = status(&bench.answer(&smp.to_mad())?);
            ensure!(
                status == MadStatus::BAD_VERSION,
                "status {status}, expected 0x0004"
            );
            Ok(())
        },
    ),
    case(
        "sma-132",
        "An unknown method is refused with 0x0008 or 0x000c",
        STATUS,
        |bench| unsupported(bench, Bench::ca, Method(0x0f), NodeInfo::ID),
    ),
    case(
        "sma-133",
        "A method of another class is refused with 0x0008 or 0x000c",
        STATUS,
        |bench| unsupported(bench, Bench::ca, Method::GET_TABLE, NodeInfo::ID),
    ),
    case(
        "sma-134",
        "An unknown attribute is refused with 0x0008 or 0x000c",
        STATUS,
        |bench| unsupported(bench, Bench::ca, Method::GET, AttributeId(0x0fff)),
    ),
    case(
        "sma-135",
        "A Set of an unknown attribute is refused with 0x0008 or 0x000c",
        STATUS,
        |bench| unsupported(bench, Bench::ca, Method::SET, AttributeId(0x0fff)),
    ),
    case(
        "sma-136",
        "A Set of NodeInfo is refused with 0x0008 or 0x000c",
        "IBA vol. 1, 14.2.5.3",
        |bench| unsupported(bench, Bench::ca, Method::SET, NodeInfo::ID),
    ),
    case(
        "sma-137",
        "A Set of a switch's NodeInfo is refused with 0x0008 or 0x000c",
        "IBA vol. 1, 14.2.5.3",
        |bench| unsupported(bench, Bench::switch, Method::SET, NodeInfo::ID),
    ),
    case(
        "sma-138",
        "A channel adapter has no SwitchInfo",
        "IBA vol. 1, 14.2.5.4",
        |bench| unsupported(bench, Bench::ca, Method::GET, SwitchInfo::ID),
    ),
    case(
        "sma-139",
        "A channel adapter has no linear forwarding table",
        "IBA vol. 1, 14.2.5.10",
        |bench| unsupported(bench, Bench::ca, Method::GET, LinearForwardingTable::ID),
    ),
    case(
        "sma-140",
        "A channel adapter has no multicast forwarding table",
        "IBA vol. 1, 14.2.5.12",
        |bench| unsupported(bench, Bench::ca, Method::GET, MulticastForwardingTable::ID),
    ),
    case(
        "sma-141",
        "A port that the switch does not have is refused in PortInfo with 0x001c",
        "IBA vol. 1, 14.2.5.6",
        |bench| {
            let at = past_the_last_port(bench)?;
            invalid(bench, PortInfo::ID, &at.path, at.modifier)
        },
    ),
    case(
        "sma-142",
        "A port that the channel adapter does not have is refused in PortInfo with 0x001c",
        "IBA vol. 1, 14.2.5.6",
        |bench| {
            let path = bench.ca()?;
            invalid(bench, PortInfo::ID, &path, 254)
        },
    ),
    case(
        "sma-143",
        "A port that the switch does not have is refused in P_KeyTable with 0x001c",
        "IBA vol. 1, 14.2.5.7",
        |bench| {
            let mut at = past_the_last_port(bench)?;
            at.modifier = at.modifier.checked_shl(16).unwrap_or(u32::MAX);
            invalid(bench, PartitionKeyTable::ID, &at.path, at.modifier)
        },
    ),
    case(
        "sma-144",
        "A block past PartitionCap is refused with 0x001c",
        "IBA vol. 1, 14.2.5.7",
        |bench| {
            let path = bench.ca()?;
            let cap = bench.get::<NodeInfo>(&path, 0)?.partition_cap();
            let block = u32::from(cap.div_ceil(32));
            invalid(bench, PartitionKeyTable::ID, &path, block)
        },
    ),
    case(
        "sma-145",
        "A block past GUIDCap is refused with 0x001c",
        "IBA vol. 1, 14.2.5.5",
        |bench| {
            let path = bench.ca()?;
            let cap = bench.get::<PortInfo>(&path, 0)?.guid_cap();
            let block = u32::from(cap.div_ceil(8)).max(1);
            invalid(bench, GuidInfo::ID, &path, block)
        },
    ),
    case(
        "sma-146",
        "An output port that the switch does not have is refused in SLtoVLMappingTable with 0x001c",
        "IBA vol. 1, 14.2.5.8",
        |bench| {
            let at = past_the_last_port(bench)?;
            invalid(bench, SlToVlMappingTable::ID, &at.path, at.modifier)
        },
    ),
    case(
        "sma-147",
        "Block 0 of VLArbitrationTable is refused with 0x001c",
        "IBA vol. 1, 14.2.5.9",
        |bench| {
            let path = bench.ca()?;
            invalid(bench, VlArbitrationTable::ID, &path, 0)
        },
    ),
    case(
        "sma-148",
        "Block 5 of VLArbitrationTable is refused with 0x001c",
        "IBA vol. 1, 14.2.5.9",
        |bench| {
            let path = bench.ca()?;
            invalid(bench, VlArbitrationTable::ID, &path, 5 << 16)
        },
    ),
    case(
        "sma-149",
        "A block past the last one of the linear forwarding table is refused with 0x001c",
        "IBA vol. 1, 14.2.5.10",
        |bench| {
            let path = bench.switch()?;
            invalid(bench, LinearForwardingTable::ID, &path, 768)
        },
    ),
    case(
        "sma-150",
        "A block past LinearFDBCap is refused with 0x001c",
        "IBA vol. 1, 14.2.5.10",
        |bench| {
            let path = bench.switch()?;
            let cap = bench.get::<SwitchInfo>(&path, 0)?.linear_fdb_cap();
            let block = u32::from(cap.div_ceil(64));
            invalid(bench, LinearForwardingTable::ID, &path, block)
        },
    ),
    case(
        "sma-151",
        "A block past MulticastFDBCap is refused with 0x001c",
        "IBA vol. 1, 14.2.5.12",
        |bench| {
            let path = bench.switch()?;
            let cap = bench.get::<SwitchInfo>(&path, 0)?.multicast_fdb_cap();
            let block = u32::from(cap.div_ceil(32));
            if block > 0x1ff {
                return skip("the table has all blocks that a modifier can name");
            }
            invalid(bench, MulticastForwardingTable::ID, &path, block)
        },
    ),
    case(
        "sma-152",
        "A position past the last port is refused in the multicast forwarding table with 0x001c",
        "IBA vol. 1, 14.2.5.12",
        |bench| {
            let path = bench.switch()?;
            let ports = bench.get::<NodeInfo>(&path, 0)?.num_ports();
            if ports >= 240 {
                return skip("the switch has ports at every position");
            }
            invalid(bench, MulticastForwardingTable::ID, &path, 15 << 28)
        },
    ),
    case(
        "sma-153",
        "An unsolicited response is not answered",
        "IBA vol. 1, 13.4.5",
        |bench| {
            let path = bench.ca()?;
            let smp = bench.smp(Method::GET_RESP, NodeInfo::ID, 0, &path);
            bench.silence(&smp.to_mad())
        },
    ),
    case(
        "sma-154",
        "TrapRepress is not answered",
        "IBA vol. 1, 14.2.3",
        |bench| {
            let path = bench.ca()?;
            let smp = bench.smp(Method::TRAP_REPRESS, AttributeId(0x0002), 0, &path);
            bench.silence(&smp.to_mad())
        },
    ),
    case(
        "sma-155",
        "A refusal repeats the transaction and the attribute, with method GetResp",
        STATUS,
        |bench| {
            let at = past_the_last_port(bench)?;
            let smp = bench.smp(Method::GET, PortInfo::ID, at.modifier, &at.path);
            let answer = bench.answer(&smp.to_mad())?;
            ensure!(!status(&answer).is_ok(), "the request is carried out");
            let header = answer.header();
            ensure!(
                header.method() == Method::GET_RESP,
                "method {}",
                header.method()
            );
            ensure!(
                header.attribute_id() == PortInfo::ID,
                "attribute {}",
                header.attribute_id()
            );
            ensure!(
                header.attribute_modifier() == at.modifier,
                "modifier {}",
                header.attribute_modifier()
            );
            Ok(())
        },
    ),
];

/// Sends a request to the node that `of` names. It must be refused as not supported.
fn unsupported<'a>(
    bench: &mut Bench<'a>,
    of: fn(&Bench<'a>) -> Result<DrPath, Stop>,
    method: Method,
    id: AttributeId,
) -> Outcome {
    let path = of(bench)?;
    let smp = bench.smp(method, id, 0, &path);
    let status = status(&bench.answer(&smp.to_mad())?);
    let known = [
        MadStatus::UNSUPPORTED_METHOD,
        MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE,
    ];
    ensure!(
        known.contains(&status),
        "status {status}, expected 0x0008 or 0x000c"
    );
    Ok(())
}

/// Sends a Get with this modifier. It must be refused because of the modifier.
fn invalid(bench: &mut Bench<'_>, id: AttributeId, path: &DrPath, modifier: u32) -> Outcome {
    let smp = bench.smp(Method::GET, id, modifier, path);
    let status = status(&bench.answer(&smp.to_mad())?);
    ensure!(
        status == MadStatus::INVALID_FIELD_VALUE,
        "status {status}, expected 0x001c"
    );
    Ok(())
}

/// A port number that is one above the last port of the nearest switch.
fn past_the_last_port(bench: &mut Bench<'_>) -> Result<PortAt, Stop> {
    let path = bench.switch()?;
    let ports = bench.get::<NodeInfo>(&path, 0)?.num_ports();
    match ports.checked_add(1) {
        Some(port) if port < 255 => Ok(PortAt {
            path,
            modifier: modifier(ib_wire::PortNum(port)),
        }),
        _ => skip("the switch has every port that a modifier can name"),
    }
}
