//! Forwarding of packets to a LID: forwarding tables, and the packets that a port passes in each state.

use ib_mad::{Attribute as _, ClassPortInfo, Mad, MadAddress, Method, MgmtClass};
use ib_smp::{LinearForwardingTable, NodeInfo, PortState, SwitchInfo};
use ib_wire::{Lid, PortNum, Sl};

use crate::conform::{
    Case,
    bench::{Bench, Outcome, Stop, attribute, ensure, skip, smp_to},
    case,
    ports::Edge,
};

const LINEAR: &str = "IBA vol. 1, 14.2.5.10";
const STATE: &str = "IBA vol. 1, 14.2.5.6 (PortState)";

pub(super) const CASES: &[Case] = &[
    case(
        "sim-121",
        "A LID-routed SMP reaches every LID",
        LINEAR,
        |bench| {
            let mut ends = alloc::vec::Vec::new();
            for (at, node, port) in bench.subnet.ports() {
                let external = node.is_switch() && at.port != PortNum::MANAGEMENT;
                let lid = port
                    .info
                    .map(|info| info.lid())
                    .filter(|lid| lid.is_unicast());
                if let (false, Some(lid)) = (external, lid) {
                    ends.push((lid, node.guid()));
                }
            }
            if ends.is_empty() {
                return skip("no LIDs: bring the subnet up first");
            }
            for (lid, guid) in ends {
                let mad = node_info(bench, lid);
                let info: NodeInfo = attribute(&bench.answer(&mad)?)?;
                ensure!(
                    info.node_guid() == guid,
                    "LID {lid} is answered by {}, expected {guid}",
                    info.node_guid()
                );
            }
            Ok(())
        },
    ),
    case(
        "sim-122",
        "An SMP to a LID that no port has is not answered",
        LINEAR,
        |bench| {
            let mad = node_info(bench, Lid(0xbffe));
            bench.silence(&mad)
        },
    ),
    case(
        "sim-124",
        "A LID whose entry is 255 is not forwarded",
        LINEAR,
        |bench| {
            let (edge, lid) = target(bench)?;
            with_entry(bench, edge, lid, PortNum(255), |bench, lid| {
                let mad = node_info(bench, lid);
                bench.silence(&mad)
            })
        },
    ),
    case(
        "sim-125",
        "A LID above LinearFDBTop is not forwarded",
        "IBA vol. 1, 14.2.5.4 (LinearFDBTop)",
        |bench| {
            let (edge, lid) = target(bench)?;
            let path = edge.switch.path;
            let before: SwitchInfo = bench.get(&path, 0)?;
            let mut lower = before;
            lower
                .set_port_state_change(false)
                .set_linear_fdb_top(Lid(lid.0.saturating_sub(1)));
            bench.put(&path, 0, &lower)?;
            let mad = node_info(bench, lid);
            let outcome = bench.silence(&mad);
            lower.set_linear_fdb_top(before.linear_fdb_top());
            bench.put(&path, 0, &lower)?;
            outcome
        },
    ),
    case(
        "sim-126",
        "A LID-routed SMP passes a link in Initialize",
        STATE,
        |bench| {
            target(bench)?;
            bench.with_link(|bench, edge| {
                bench.bring_to(edge, PortState::INITIALIZE)?;
                let lid = bench.port_info(edge.ca)?.lid();
                let mad = node_info(bench, lid);
                bench.answer(&mad).map(|_| ())
            })
        },
    ),
    case(
        "sim-127",
        "A packet on a data VL does not pass a link in Initialize",
        STATE,
        |bench| {
            target(bench)?;
            bench.with_link(|bench, edge| {
                let lid = bench.port_info(edge.ca)?.lid();
                let mad = class_port_info(lid);
                bench.answer(&mad)?;
                bench.bring_to(edge, PortState::INITIALIZE)?;
                bench.silence(&mad)
            })
        },
    ),
    case(
        "sim-128",
        "A packet on a data VL passes a link that is Active again",
        STATE,
        |bench| {
            let (_, lid) = target(bench)?;
            bench.with_link(|bench, edge| bench.initialize(edge))?;
            bench.answer(&class_port_info(lid)).map(|_| ())
        },
    ),
];

/// The cable to the tested channel adapter, and its LID.
fn target(bench: &mut Bench<'_>) -> Result<(Edge, Lid), Stop> {
    let edge = bench.edge()?;
    let lid = bench.port_info(edge.ca)?.lid();
    if lid == Lid::NONE || bench.own_info()?.lid() == Lid::NONE {
        return skip("no LIDs: bring the subnet up first");
    }
    Ok((edge, lid))
}

fn node_info(bench: &Bench<'_>, lid: Lid) -> Mad {
    smp_to(lid, Method::GET, NodeInfo::ID, 0, bench.options.m_key)
}

/// A request of performance management, which is sent on a data VL.
fn class_port_info(lid: Lid) -> Mad {
    let mut mad = Mad::new(MadAddress::gsi(lid, Sl::ZERO));
    mad.header_mut()
        .set_base_version(1)
        .set_mgmt_class(MgmtClass::PERF)
        .set_class_version(1)
        .set_method(Method::GET)
        .set_attribute_id(ClassPortInfo::ID);
    mad
}

/// Changes the entry of a LID in the switch next to its port, and restores the entry.
fn with_entry(
    bench: &mut Bench<'_>,
    edge: Edge,
    lid: Lid,
    port: PortNum,
    body: fn(&mut Bench<'_>, Lid) -> Outcome,
) -> Outcome {
    let (block, entry) = LinearForwardingTable::block_of(lid);
    let path = edge.switch.path;
    let before: LinearForwardingTable = bench.get(&path, block.into())?;
    let mut bytes = *before.as_bytes();
    if let Some(byte) = bytes.get_mut(entry) {
        *byte = port.0;
    }
    bench.put(
        &path,
        block.into(),
        &LinearForwardingTable::from_bytes(bytes),
    )?;
    let outcome = body(bench, lid);
    bench.put(&path, block.into(), &before)?;
    outcome
}
