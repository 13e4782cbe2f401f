//! Tables of records, and the selection of records by components (IBA vol. 1, 15.2.5 and 15.4.4).

use alloc::{format, vec::Vec};

use ib_mad::{MadStatus, Method};
use ib_sa::{
    ComponentMask, GuidInfoRecord, InformInfoRecord, LinearForwardingTableComponents,
    LinearForwardingTableRecord, LinkComponents, LinkRecord, MulticastForwardingTableRecord,
    NodeComponents, NodeRecord, PKeyTableRecord, PortInfoComponents, PortInfoRecord, QueryError,
    Record, ServiceRecord, SlToVlMappingTableRecord, SmInfoComponents, SmInfoRecord,
    SwitchInfoComponents, SwitchInfoRecord, VlArbitrationTableRecord,
};
use ib_smp::{LinearForwardingTable, NodeInfo, NodeType, SmState};
use ib_wire::{Guid, Lid, PortNum};

use super::reports::subscribe;
use crate::conform::{
    Case,
    bench::{Bench, Outcome, ensure, fail, skip},
    case,
};

const NODES: &str = "IBA vol. 1, 15.2.5.2";
const PORTS: &str = "IBA vol. 1, 15.2.5.3";
const MASK: &str = "IBA vol. 1, 15.4.4";
const LINKS: &str = "IBA vol. 1, 15.2.5.13";

pub(super) const CASES: &[Case] = &[
    case(
        "sa-131",
        "There is a NodeRecord for every end port",
        NODES,
        |bench| {
            let expected = ends(bench);
            let records = bench.table(&NodeRecord::default(), ComponentMask(0))?;
            let mut found: Vec<Lid> = records.iter().map(|record| record.lid()).collect();
            found.sort();
            ensure!(found == expected, "LIDs {found:?}, expected {expected:?}");
            Ok(())
        },
    ),
    case(
        "sa-132",
        "A NodeRecord is selected by its LID",
        MASK,
        |bench| {
            let lid = bench.other_end()?.1.lid();
            let mut template = NodeRecord::default();
            template.set_lid(lid);
            let records = bench.table(&template, NodeComponents::LID)?;
            ensure!(records.len() == 1, "{} records", records.len());
            ensure!(
                records.iter().all(|record| record.lid() == lid),
                "another LID"
            );
            Ok(())
        },
    ),
    case(
        "sa-133",
        "NodeRecords are selected by NodeType",
        MASK,
        |bench| {
            let switches = num_switches(bench);
            let mut template = NodeRecord::default();
            let mut node = NodeInfo::default();
            node.set_node_type(NodeType::SWITCH);
            template.set_node_info(&node);
            let records = bench.table(&template, NodeComponents::NODE_TYPE)?;
            ensure!(
                records.len() == switches,
                "{} records, {switches} switches",
                records.len()
            );
            Ok(())
        },
    ),
    case(
        "sa-134",
        "A NodeRecord is selected by its port GUID",
        MASK,
        |bench| {
            let guid = bench.other_end()?.0.guid();
            let mut template = NodeRecord::default();
            let mut node = NodeInfo::default();
            node.set_port_guid(guid);
            template.set_node_info(&node);
            let records = bench.table(&template, NodeComponents::PORT_GUID)?;
            ensure!(records.len() == 1, "{} records", records.len());
            Ok(())
        },
    ),
    case(
        "sa-135",
        "Two components select what matches both",
        MASK,
        |bench| {
            let lid = bench.other_end()?.1.lid();
            let mut template = NodeRecord::default();
            let mut node = NodeInfo::default();
            node.set_node_type(NodeType::SWITCH);
            template.set_lid(lid).set_node_info(&node);
            let mask = NodeComponents::LID | NodeComponents::NODE_TYPE;
            let records = bench.table(&template, mask)?;
            ensure!(
                records.is_empty(),
                "{} records of a switch with the LID of a channel adapter",
                records.len()
            );
            Ok(())
        },
    ),
    case(
        "sa-136",
        "A NodeRecord shows NodeInfo as the node does",
        NODES,
        |bench| {
            let path = bench.ca()?;
            let (_, info) = bench.other_end()?;
            let node: NodeInfo = bench.get(&path, 0)?;
            let mut template = NodeRecord::default();
            template.set_lid(info.lid());
            let record: NodeRecord = bench.good(Method::GET, &template, NodeComponents::LID)?;
            let mut shown = *record.node_info();
            shown.set_local_port_num(node.local_port_num());
            ensure!(shown == node, "another NodeInfo");
            Ok(())
        },
    ),
    case(
        "sa-137",
        "A NodeRecord shows the node's description",
        NODES,
        |bench| {
            let path = bench.ca()?;
            let (_, info) = bench.other_end()?;
            let description: ib_smp::NodeDescription = bench.get(&path, 0)?;
            let mut template = NodeRecord::default();
            template.set_lid(info.lid());
            let record: NodeRecord = bench.good(Method::GET, &template, NodeComponents::LID)?;
            ensure!(
                record.node_description().as_bytes() == description.as_bytes(),
                "another description"
            );
            Ok(())
        },
    ),
    case(
        "sa-138",
        "There is a PortInfoRecord for every port of a channel adapter",
        PORTS,
        |bench| {
            let lid = bench.other_end()?.1.lid();
            let mut template = PortInfoRecord::default();
            template.set_endport_lid(lid);
            let records = bench.table(&template, PortInfoComponents::ENDPORT_LID)?;
            ensure!(!records.is_empty(), "no record");
            ensure!(
                records.iter().all(|record| record.endport_lid() == lid),
                "another LID"
            );
            Ok(())
        },
    ),
    case(
        "sa-139",
        "There is a PortInfoRecord for every external port of a switch",
        PORTS,
        |bench| {
            let path = bench.switch()?;
            let lid = bench.port_0().and_then(|at| bench.port_info(at))?.lid();
            let ports = usize::from(bench.get::<NodeInfo>(&path, 0)?.num_ports());
            let mut template = PortInfoRecord::default();
            template.set_endport_lid(lid);
            let records = bench.table(&template, PortInfoComponents::ENDPORT_LID)?;
            let external = records
                .iter()
                .filter(|record| record.port_num() != PortNum(0))
                .count();
            ensure!(external == ports, "{external} records, {ports} ports");
            Ok(())
        },
    ),
    case(
        "sa-140",
        "A PortInfoRecord shows LID, state, MTU and width as the port does",
        PORTS,
        |bench| {
            let (_, info) = bench.other_end()?;
            let port = bench.ca_port()?.port;
            let mut template = PortInfoRecord::default();
            template.set_endport_lid(info.lid()).set_port_num(port);
            let mask = PortInfoComponents::ENDPORT_LID | PortInfoComponents::PORT_NUM;
            let record: PortInfoRecord = bench.good(Method::GET, &template, mask)?;
            let shown = record.port_info();
            ensure!(shown.lid() == info.lid(), "LID {}", shown.lid());
            ensure!(
                shown.port_state() == info.port_state(),
                "state {}",
                shown.port_state()
            );
            ensure!(
                shown.neighbor_mtu() == info.neighbor_mtu(),
                "NeighborMTU {}",
                shown.neighbor_mtu()
            );
            ensure!(
                shown.link_width_active() == info.link_width_active(),
                "another width"
            );
            Ok(())
        },
    ),
    case(
        "sa-141",
        "PortInfoRecords are selected by PortState",
        MASK,
        |bench| {
            let mut template = PortInfoRecord::default();
            let mut info = ib_smp::PortInfo::default();
            info.set_port_state(ib_smp::PortState::ACTIVE);
            template.set_port_info(&info);
            let records = bench.table(&template, PortInfoComponents::PORT_STATE)?;
            ensure!(!records.is_empty(), "no record");
            let others = records
                .iter()
                .filter(|record| record.port_info().port_state() != ib_smp::PortState::ACTIVE);
            ensure!(others.count() == 0, "a port that is not Active");
            Ok(())
        },
    ),
    case(
        "sa-142",
        "There is a SwitchInfoRecord for every switch",
        "IBA vol. 1, 15.2.5.5",
        |bench| {
            let switches = num_switches(bench);
            let records = bench.table(&SwitchInfoRecord::default(), ComponentMask(0))?;
            ensure!(
                records.len() == switches,
                "{} records, {switches} switches",
                records.len()
            );
            Ok(())
        },
    ),
    case(
        "sa-143",
        "A SwitchInfoRecord is selected by its LID",
        MASK,
        |bench| {
            let lid = bench.port_0().and_then(|at| bench.port_info(at))?.lid();
            let mut template = SwitchInfoRecord::default();
            template.set_lid(lid);
            let records = bench.table(&template, SwitchInfoComponents::LID)?;
            ensure!(records.len() == 1, "{} records", records.len());
            Ok(())
        },
    ),
    case(
        "sa-144",
        "A LinearForwardingTableRecord is the switch's block",
        "IBA vol. 1, 15.2.5.6",
        |bench| {
            let path = bench.switch()?;
            let lid = bench.port_0().and_then(|at| bench.port_info(at))?.lid();
            let block: LinearForwardingTable = bench.get(&path, 0)?;
            let mut template = LinearForwardingTableRecord::default();
            template.set_lid(lid);
            let mask =
                LinearForwardingTableComponents::LID | LinearForwardingTableComponents::BLOCK_NUM;
            let record: LinearForwardingTableRecord = bench.good(Method::GET, &template, mask)?;
            ensure!(
                record.linear_forwarding_table().as_bytes() == block.as_bytes(),
                "another block"
            );
            Ok(())
        },
    ),
    case(
        "sa-145",
        "There are MulticastForwardingTableRecords, or an empty table",
        "IBA vol. 1, 15.2.5.8",
        has_table::<MulticastForwardingTableRecord>,
    ),
    case(
        "sa-146",
        "The SMInfoRecord of the administrator's port shows a master",
        "IBA vol. 1, 15.2.5.10",
        |bench| {
            let lid = bench.administrator()?.lid;
            let mut template = SmInfoRecord::default();
            template.set_lid(lid);
            let record: SmInfoRecord = bench.good(Method::GET, &template, SmInfoComponents::LID)?;
            let state = record.sm_info().sm_state();
            ensure!(state == SmState::MASTER, "state {state}");
            Ok(())
        },
    ),
    case(
        "sa-147",
        "There is a LinkRecord for each direction of every cable",
        LINKS,
        |bench| {
            let cables = bench.subnet.cables().count().saturating_mul(2);
            let records = bench.table(&LinkRecord::default(), ComponentMask(0))?;
            ensure!(
                records.len() == cables,
                "{} records, expected {cables}",
                records.len()
            );
            Ok(())
        },
    ),
    case(
        "sa-148",
        "LinkRecords are selected by FromLID",
        MASK,
        |bench| {
            let (_, info) = bench.other_end()?;
            let mut template = LinkRecord::default();
            template.set_from_lid(info.lid());
            let records = bench.table(&template, LinkComponents::FROM_LID)?;
            ensure!(
                records.len() == 1,
                "{} records of a port with one cable",
                records.len()
            );
            Ok(())
        },
    ),
    case(
        "sa-149",
        "A LinkRecord leads to the switch in front of a channel adapter",
        LINKS,
        |bench| {
            let edge = bench.edge()?;
            let (_, info) = bench.other_end()?;
            let switch = bench.get::<ib_smp::PortInfo>(&edge.switch.path, 0)?.lid();
            let mut template = LinkRecord::default();
            template.set_from_lid(info.lid());
            let records = bench.table(&template, LinkComponents::FROM_LID)?;
            let leads = records.iter().any(|record| {
                record.to_lid() == switch && u32::from(record.to_port().0) == edge.switch.modifier
            });
            ensure!(
                leads,
                "no record leads to port {} of LID {switch}",
                edge.switch.modifier
            );
            Ok(())
        },
    ),
    case(
        "sa-150",
        "GUIDInfoRecords show the port GUID in entry 0",
        "IBA vol. 1, 15.2.5.18",
        |bench| {
            let guid = bench.other_end()?.0.guid();
            let records =
                match bench.table_or_error(&GuidInfoRecord::default(), ComponentMask(0))? {
                    Ok(records) => records,
                    Err(error) => return skip(alloc::format!("{error}")),
                };
            let shown = records.iter().any(|record| {
                let table = record.guid_info().as_bytes();
                Guid(u64::from_be_bytes(*table.first_chunk().unwrap_or(&[0; 8]))) == guid
            });
            ensure!(shown, "no record with {guid}");
            Ok(())
        },
    ),
    case(
        "sa-151",
        "P_KeyTableRecords show a P_Key of every end port, or are refused with a status",
        "IBA vol. 1, 15.2.5.11",
        |bench| {
            let expected = ends(bench);
            let Ok(records) =
                bench.table_or_error(&PKeyTableRecord::default(), ComponentMask(0))?
            else {
                return Ok(());
            };
            for lid in expected {
                let shown = records.iter().any(|record| {
                    let first = record.lid() == lid && record.block_num() == 0;
                    first
                        && record
                            .p_key_table()
                            .as_bytes()
                            .iter()
                            .any(|&byte| byte != 0)
                });
                ensure!(shown, "no P_Key of LID {lid}");
            }
            Ok(())
        },
    ),
    case(
        "sa-152",
        "There are SLtoVLMappingTableRecords, or an empty table",
        "IBA vol. 1, 15.2.5.4",
        has_table::<SlToVlMappingTableRecord>,
    ),
    case(
        "sa-153",
        "There are VLArbitrationTableRecords, or an empty table",
        "IBA vol. 1, 15.2.5.9",
        has_table::<VlArbitrationTableRecord>,
    ),
    case(
        "sa-154",
        "ServiceRecords are a table",
        "IBA vol. 1, 15.2.5.14",
        has_table::<ServiceRecord>,
    ),
    case(
        "sa-155",
        "InformInfoRecords are a table that shows a subscription until it ends, or refused with 0x0008 or 0x000c",
        "IBA vol. 1, 15.2.5.12",
        |bench| {
            let own = bench.own_gid()?;
            subscribe(bench, 66, true)?;
            let during = bench.table_or_error(&InformInfoRecord::default(), ComponentMask(0));
            subscribe(bench, 66, false)?;
            let shows = |records: &[InformInfoRecord]| {
                records.iter().any(|record| {
                    record.subscriber_gid() == own && record.inform_info().trap_number() == 66
                })
            };
            match during? {
                Ok(records) => ensure!(shows(&records), "the subscription is not shown"),
                Err(QueryError::Refused {
                    status: MadStatus::UNSUPPORTED_METHOD | MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE,
                }) => return Ok(()),
                Err(error) => return fail(format!("{error}")),
            }
            let after: Vec<InformInfoRecord> =
                bench.table(&InformInfoRecord::default(), ComponentMask(0))?;
            ensure!(!shows(&after), "the subscription is shown after its end");
            Ok(())
        },
    ),
];

/// Judges a query for all records of a kind, of which there may be none.
fn has_table<R: Record + Default>(bench: &mut Bench<'_>) -> Outcome {
    bench.table(&R::default(), ComponentMask(0)).map(|_| ())
}

fn num_switches(bench: &Bench<'_>) -> usize {
    let nodes = bench.subnet.nodes.iter();
    nodes.filter(|node| node.is_switch()).count()
}

/// The LIDs of all end ports that have one, in ascending order.
fn ends(bench: &Bench<'_>) -> Vec<Lid> {
    let ends = bench.subnet.ports().filter_map(|(at, node, port)| {
        let external = node.is_switch() && at.port != PortNum::MANAGEMENT;
        let info = port.info.filter(|_| !external)?;
        info.lid().is_unicast().then_some(info.lid())
    });
    let mut lids: Vec<Lid> = ends.collect();
    lids.sort();
    lids
}
