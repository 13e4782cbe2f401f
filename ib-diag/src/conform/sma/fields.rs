//! Fields that are constant, reserved or agree with each other (IBA vol. 1, 14.2.5).

use ib_mad::{Attribute as _, Method};
use ib_smp::{
    DrPath, GuidInfo, NodeInfo, NodeType, PartitionKeyTable, PortInfo, PortPhysicalState,
    SlToVlMappingTable, SwitchInfo,
};
use ib_wire::Guid;

use crate::conform::{
    Case,
    bench::{Bench, Outcome, Stop, ensure, part},
    case,
};

const NODE_INFO: &str = "IBA vol. 1, 14.2.5.3";
const PORT_INFO: &str = "IBA vol. 1, 14.2.5.6";

pub(super) const CASES: &[Case] = &[
    case(
        "sma-161",
        "NodeInfo has base version 1 and class version 1",
        NODE_INFO,
        |bench| {
            for path in [bench.ca()?, bench.switch()?] {
                let info = bench.get::<NodeInfo>(&path, 0)?;
                let versions = (info.base_version(), info.class_version());
                ensure!(
                    versions == (1, 1),
                    "versions {versions:?} at {path}, expected (1, 1)"
                );
            }
            Ok(())
        },
    ),
    case(
        "sma-162",
        "NodeInfo of a channel adapter has NodeType 1, of a switch 2",
        NODE_INFO,
        |bench| {
            let (ca, switch) = both(bench)?;
            ensure!(
                ca.node_type() == NodeType::CA,
                "the channel adapter is {}",
                ca.node_type()
            );
            ensure!(
                switch.node_type() == NodeType::SWITCH,
                "the switch is {}",
                switch.node_type()
            );
            Ok(())
        },
    ),
    case(
        "sma-163",
        "A node has at least one port",
        NODE_INFO,
        |bench| {
            let (ca, switch) = both(bench)?;
            ensure!(ca.num_ports() > 0 && switch.num_ports() > 0, "no port");
            Ok(())
        },
    ),
    case(
        "sma-164",
        "Node GUID and port GUID are not zero",
        NODE_INFO,
        |bench| {
            let (ca, switch) = both(bench)?;
            for info in [ca, switch] {
                ensure!(info.node_guid() != Guid::NONE, "node GUID 0");
                ensure!(info.port_guid() != Guid::NONE, "port GUID 0");
            }
            Ok(())
        },
    ),
    case(
        "sma-165",
        "LocalPortNum of a channel adapter is the port of arrival",
        NODE_INFO,
        |bench| {
            let path = bench.ca()?;
            local_port(bench, &path)
        },
    ),
    case(
        "sma-166",
        "LocalPortNum of a switch is the port of arrival",
        NODE_INFO,
        |bench| {
            let path = bench.switch()?;
            local_port(bench, &path)
        },
    ),
    case(
        "sma-167",
        "A port holds at least one P_Key",
        NODE_INFO,
        |bench| {
            let (ca, switch) = both(bench)?;
            ensure!(
                ca.partition_cap() > 0 && switch.partition_cap() > 0,
                "PartitionCap 0"
            );
            Ok(())
        },
    ),
    case(
        "sma-168",
        "Bytes after NodeInfo are zero, or those of the request",
        NODE_INFO,
        |bench| {
            let path = bench.ca()?;
            behind(bench, &path, NodeInfo::ID, 0, NodeInfo::LEN)
        },
    ),
    case(
        "sma-169",
        "Bytes after SwitchInfo are zero, or those of the request",
        "IBA vol. 1, 14.2.5.4",
        |bench| {
            let path = bench.switch()?;
            behind(bench, &path, SwitchInfo::ID, 0, SwitchInfo::LEN)
        },
    ),
    case(
        "sma-170",
        "Bytes after SLtoVLMappingTable are zero, or those of the request",
        "IBA vol. 1, 14.2.5.8",
        |bench| {
            let path = bench.ca()?;
            behind(
                bench,
                &path,
                SlToVlMappingTable::ID,
                0,
                SlToVlMappingTable::LEN,
            )
        },
    ),
    case(
        "sma-171",
        "Reserved bits of PortInfo are zero",
        PORT_INFO,
        |bench| {
            for path in [bench.ca()?, bench.switch()?] {
                let info = bench.get::<PortInfo>(&path, 0)?;
                let reserved = [
                    info.reserved1(),
                    info.reserved2(),
                    info.reserved3(),
                    info.reserved4(),
                ];
                ensure!(reserved == [0; 4], "reserved fields {reserved:?} at {path}");
            }
            Ok(())
        },
    ),
    case(
        "sma-172",
        "Reserved bits of SwitchInfo are zero",
        "IBA vol. 1, 14.2.5.4",
        |bench| {
            let path = bench.switch()?;
            let info = bench.get::<SwitchInfo>(&path, 0)?;
            ensure!(
                (info.reserved1(), info.reserved2()) == (0, 0),
                "reserved fields are not zero"
            );
            Ok(())
        },
    ),
    case(
        "sma-173",
        "Entry 0 of GUIDInfo is the port GUID of NodeInfo",
        "IBA vol. 1, 14.2.5.5",
        |bench| {
            let path = bench.ca()?;
            let node = bench.get::<NodeInfo>(&path, 0)?;
            let table = bench.get::<GuidInfo>(&path, 0)?;
            let first = part_guid(table.as_bytes());
            ensure!(
                first == node.port_guid(),
                "entry 0 is {first}, the port GUID {}",
                node.port_guid()
            );
            Ok(())
        },
    ),
    case(
        "sma-174",
        "The port's GUIDCap is at least 1",
        PORT_INFO,
        |bench| {
            let path = bench.ca()?;
            let cap = bench.get::<PortInfo>(&path, 0)?.guid_cap();
            ensure!(cap > 0, "GUIDCap 0");
            Ok(())
        },
    ),
    case(
        "sma-175",
        "LinkWidthEnabled and LinkSpeedEnabled are supported",
        PORT_INFO,
        |bench| {
            let edge = bench.edge()?;
            for at in [edge.ca, edge.switch] {
                let info = bench.port_info(at)?;
                ensure!(
                    info.link_width_supported()
                        .contains(info.link_width_enabled()),
                    "width {:?}",
                    info.link_width_enabled()
                );
                ensure!(
                    info.link_speed_supported()
                        .contains(info.link_speed_enabled()),
                    "speed {:?}",
                    info.link_speed_enabled()
                );
            }
            Ok(())
        },
    ),
    case(
        "sma-176",
        "LinkWidthActive is one width, and an enabled one",
        PORT_INFO,
        |bench| {
            let edge = bench.edge()?;
            for at in [edge.ca, edge.switch] {
                let info = bench.port_info(at)?;
                let active = info.link_width_active().bits();
                ensure!(active.count_ones() == 1, "LinkWidthActive {active:#x}");
                ensure!(
                    info.link_width_enabled().bits() & active != 0,
                    "width {active:#x} is not enabled"
                );
            }
            Ok(())
        },
    ),
    case(
        "sma-177",
        "VLCap is 1 to 5, and OperationalVLs is not above it",
        PORT_INFO,
        |bench| {
            let edge = bench.edge()?;
            for at in [edge.ca, edge.switch] {
                let info = bench.port_info(at)?;
                ensure!(
                    (1..=5).contains(&info.vl_cap().bits()),
                    "VLCap {}",
                    info.vl_cap()
                );
                ensure!(
                    info.operational_vls() <= info.vl_cap(),
                    "OperationalVLs {}",
                    info.operational_vls()
                );
            }
            Ok(())
        },
    ),
    case("sma-178", "MTUCap is 1 to 5", PORT_INFO, |bench| {
        let edge = bench.edge()?;
        for at in [edge.ca, edge.switch] {
            let mtu = bench.port_info(at)?.mtu_cap().bits();
            ensure!((1..=5).contains(&mtu), "MTUCap {mtu}");
        }
        Ok(())
    }),
    case(
        "sma-179",
        "A port whose cable the request came over is LinkUp",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            let state = bench.port_info(at)?.port_physical_state();
            ensure!(
                state == PortPhysicalState::LINK_UP,
                "physical state {state}"
            );
            Ok(())
        },
    ),
    case(
        "sma-181",
        "Entries of the P_Key table past PartitionCap are zero",
        "IBA vol. 1, 14.2.5.7",
        |bench| {
            let path = bench.ca()?;
            let cap = usize::from(bench.get::<NodeInfo>(&path, 0)?.partition_cap());
            let last = cap.saturating_sub(1) / 32;
            let table = bench.get::<PartitionKeyTable>(&path, u32::try_from(last).unwrap_or(0))?;
            let held = cap.saturating_sub(last.saturating_mul(32));
            let beyond = table.as_bytes().iter().skip(held.saturating_mul(2));
            ensure!(
                beyond.copied().all(|byte| byte == 0),
                "an entry past PartitionCap {cap} is not zero"
            );
            Ok(())
        },
    ),
];

fn both(bench: &mut Bench<'_>) -> Result<(NodeInfo, NodeInfo), Stop> {
    let (ca, switch) = (bench.ca()?, bench.switch()?);
    Ok((bench.get(&ca, 0)?, bench.get(&switch, 0)?))
}

fn part_guid(bytes: &[u8; 64]) -> Guid {
    Guid(u64::from_be_bytes(*bytes.first_chunk().unwrap_or(&[0; 8])))
}

/// Judges that LocalPortNum is the port that the last node wrote into the return path.
fn local_port(bench: &mut Bench<'_>, path: &DrPath) -> Outcome {
    let smp = bench.smp(Method::GET, NodeInfo::ID, 0, path);
    let answer = bench.answer(&smp.to_mad())?;
    let hops = usize::from(path.hop_count());
    let arrived = part(&answer, 192, 256)
        .get(hops)
        .copied()
        .unwrap_or_default();
    let info: NodeInfo = crate::conform::bench::attribute(&answer)?;
    let local = info.local_port_num().0;
    ensure!(
        local == arrived,
        "LocalPortNum {local}, the return path says {arrived}"
    );
    Ok(())
}

fn behind(
    bench: &mut Bench<'_>,
    path: &DrPath,
    id: ib_mad::AttributeId,
    modifier: u32,
    len: usize,
) -> Outcome {
    let mut smp = bench.smp(Method::GET, id, modifier, path);
    smp.set_smp_data(&[0xff; 64]);
    let answer = bench.answer(&smp.to_mad())?;
    let behind = part(&answer, len.saturating_add(64), 128);
    let wrong = behind.iter().find(|byte| ![0, 0xff].contains(*byte));
    ensure!(
        wrong.is_none(),
        "a byte is {:#04x}",
        wrong.copied().unwrap_or(0)
    );
    Ok(())
}
