//! `Dump`: nodes, forwarding tables and ports, in ibsim's columns.

use std::fmt::Write as _;
use std::io::Write as _;

use ib_routing::NodeIdx;
use ib_smp::{
    LinkSpeed, LinkWidth, NodeType, PortInfo, PortPhysicalState, PortState, VendorLinkSpeeds,
};
use ib_wire::{Lid, PortNum};

use crate::node::{SimNode, SimPort};
use crate::sim::Sim;

use super::words::Words;
use super::{Refusal, print};

/// Entries of a forwarding table in a line.
const ENTRIES: u16 = 16;

pub(super) fn dump(sim: &Sim, words: &mut Words<'_>, text: &mut Vec<u8>) -> Result<(), Refusal> {
    print(text, |text| writeln!(text, "# Net status"));
    let nodes: Vec<NodeIdx> = match words.rest().is_empty() {
        true => sim.nodes().indices().collect(),
        false => vec![words.node(sim)?.0],
    };
    for &node in &nodes {
        dump_node(sim, node, text);
    }
    print(text, |text| {
        writeln!(text, "#  dumped {} nodes", nodes.len())
    });
    Ok(())
}

fn dump_node(sim: &Sim, index: NodeIdx, text: &mut Vec<u8>) {
    let Some(node) = sim.node(index) else { return };
    let info = node.node_info();
    let kind = match info.node_type() {
        NodeType::SWITCH => "Switch",
        NodeType::ROUTER => "Rt",
        _ => "Ca",
    };
    print(text, |text| {
        write!(text, "\n{kind} {} \"{}\"", node.num_ports(), node.name())?;
        let (guid, system) = (node.guid().0, info.system_image_guid().0);
        writeln!(text, "\tnodeguid {guid:x}\tsysimgguid {system:x}")
    });
    if node.is_switch() {
        dump_tables(node, text);
    }
    for port in sim.ports_of(index) {
        dump_port(sim, node, port, text);
    }
}

fn dump_tables(node: &SimNode, text: &mut Vec<u8>) {
    let Some(info) = node.switch_info() else {
        return;
    };
    let top = info.linear_fdb_top().0;
    print(text, |text| {
        let (cap, change) = (info.linear_fdb_cap(), u8::from(info.port_state_change()));
        writeln!(text, "#\tlinearcap {cap} FDBtop {top} portchange {change}")
    });
    let ports: Vec<PortNum> = node.lft().collect();
    // ibsim shows no table whose only entry is that of LID 0.
    for first in (0..top).step_by(ENTRIES.into()) {
        // The highest LID has an entry as well.
        let last = match first.saturating_add(ENTRIES) {
            next if next >= top => top,
            next => next.saturating_sub(1),
        };
        let mut line = format!("#\tForwarding table {first}-{last}:");
        for lid in first..=last {
            let port = ports.get(usize::from(lid)).copied();
            let port = port.unwrap_or(PortNum::UNREACHABLE);
            // Text in memory does not fail.
            let _ = write!(line, " [{lid}]{:X}", port.0);
        }
        print(text, |text| writeln!(text, "{line}"));
    }
}

fn dump_port(sim: &Sim, node: &SimNode, port: SimPort<'_>, text: &mut Vec<u8>) {
    let (number, info) = (port.at().port, port.info());
    let peer = match (info.port_state(), sim.peer(port.at())) {
        (PortState::DOWN, _) => "\t".to_owned(),
        (_, Some(peer)) => {
            let name = sim.node(peer.node).map_or("", SimNode::name);
            format!("\"{name}\"[{}]", peer.port)
        }
        (_, None) => "\"Sma Port\"[0]".to_owned(),
    };
    let lids = if node.is_switch() && number != PortNum::MANAGEMENT {
        String::new()
    } else {
        let (lid, manager): (Lid, Lid) = (info.lid(), info.master_sm_lid());
        format!(
            "lid {} lmc {} smlid {} ",
            lid.0,
            info.lmc().bits(),
            manager.0
        )
    };
    let mut comment = String::new();
    if let Some(rate) = port.entry.drop_rate.as_deref() {
        let _ = write!(comment, "\t# err_rate {:.0}", rate.share * 100.0);
        if let Some(attribute) = rate.attribute {
            let _ = write!(comment, "\t# err_attr {}", attribute.0);
        }
    }
    print(text, |text| {
        writeln!(
            text,
            "{:x}\t[{number}]\t{peer}\t {lids}{} {} {}/{}{comment}",
            port.guid().0,
            width(info),
            speed(port),
            state(info),
            physical_state(info)
        )
    });
}

fn width(info: &PortInfo) -> &'static str {
    match info.width().map(LinkWidth::lanes) {
        Some(1) => " 1x",
        Some(2) => " 2x",
        Some(4) => " 4x",
        Some(8) => " 8x",
        Some(12) => "12x",
        _ => "?",
    }
}

/// Gigabits a second of a lane: the extended speed, else the vendor's, else the plain one.
fn speed(port: SimPort<'_>) -> &'static str {
    let speed = port.info().speed();
    if speed <= Some(LinkSpeed::Qdr)
        && port.sma().mlnx().link_speed_active() == VendorLinkSpeeds::FDR10
    {
        return " FDR10";
    }
    match speed {
        Some(LinkSpeed::Sdr) => " 2.5G",
        Some(LinkSpeed::Ddr) => " 5.0G",
        // ibsim has no words for XDR: it prints the speed of the field that it knows.
        Some(LinkSpeed::Qdr | LinkSpeed::Xdr) => "10.0G",
        Some(LinkSpeed::Fdr) => " 14G",
        Some(LinkSpeed::Edr) => " 25G",
        Some(LinkSpeed::Hdr) => "50G",
        Some(LinkSpeed::Ndr) => "100G",
        _ => "?",
    }
}

fn state(info: &PortInfo) -> &'static str {
    match info.port_state() {
        PortState::DOWN => "Down",
        PortState::INITIALIZE => "Init",
        PortState::ARMED => "Armed",
        PortState::ACTIVE => "Active",
        _ => "?",
    }
}

fn physical_state(info: &PortInfo) -> &'static str {
    match info.port_physical_state() {
        PortPhysicalState::SLEEP => "Sleep",
        PortPhysicalState::POLLING => "Polling",
        PortPhysicalState::DISABLED => "Disabled",
        PortPhysicalState::PORT_CONFIGURATION_TRAINING => "Training",
        PortPhysicalState::LINK_UP => "LinkUp",
        PortPhysicalState::LINK_ERROR_RECOVERY => "ErrorRecovery",
        _ => "?",
    }
}
