//! The subnet list: OpenSM's `opensm-subnet.lst`, every link from both ends.
//!
//! All numbers are hexadecimal. OpenSM prints the device at the far end shifted up by 16 bits on
//! little-endian machines, and every link that is faster than it knows as `??`: both are read.

use alloc::{borrow::ToOwned, string::String};
use core::fmt::Write;

use ib_wire::{Guid, Lid, PortNum};

use super::bad;
use crate::{
    error::TopologyError,
    fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NewNode, NodeType, PortRef},
    index::NodeIdx,
    lid::LidMap,
};

/// Speeds by the list's names for them.
const SPEEDS: [(LinkSpeed, &str); 9] = [
    (LinkSpeed::Sdr, "2.5"),
    (LinkSpeed::Ddr, "5"),
    (LinkSpeed::Qdr, "10"),
    (LinkSpeed::Fdr10, "FDR10"),
    (LinkSpeed::Fdr, "14"),
    (LinkSpeed::Edr, "25"),
    (LinkSpeed::Hdr, "50"),
    (LinkSpeed::Ndr, "100"),
    (LinkSpeed::Xdr, "200"),
];

/// Reads a list into a fabric. LMCs and ports without a link stay unknown: the list has neither.
///
/// # Errors
/// A line that is not two ends and a link, two cables at one port, and a text without any line.
pub fn read(text: &str) -> Result<Fabric, TopologyError> {
    let mut builder = FabricBuilder::new();
    let mut lines = 0usize;
    for (at, line) in (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
    {
        lines = lines.saturating_add(1);
        let expected =
            "`{ SW Ports:18 ... PN:01 } { CA Ports:02 ... PN:01 } PHY=4x LOG=ACT SPD=10`";
        let parsed = End::parse(line).and_then(|(one, rest)| {
            let (other, rest) = End::parse(rest)?;
            Some((one, other, rest))
        });
        let (one, other, rest) = parsed.ok_or_else(|| bad(at, "link", line, expected))?;
        let ends = [&one, &other].map(|end| end.add(&mut builder));
        let [here, there] = ends;
        let (here, there) = (
            here.map_err(|error| error.kind.at(at))?,
            there.map_err(|error| error.kind.at(at))?,
        );
        builder
            .add_link(here, there)
            .map_err(|error| error.kind.at(at))?;
        if let Some(port) = builder.port_mut(here) {
            let word = |name: &str| {
                let mut words = rest.split_whitespace();
                words.find_map(|word| word.strip_prefix(name))
            };
            let lanes = word("PHY=").and_then(|width| super::small(width.strip_suffix('x')?));
            port.width = lanes.and_then(LinkWidth::from_lanes);
            let speed = |speed: &str| SPEEDS.iter().find(|(_, name)| *name == speed);
            port.speed = word("SPD=").and_then(speed).map(|&(speed, _)| speed);
        }
    }
    if lines == 0 {
        return Err(bad(1, "list", "", "a line per end of a link"));
    }
    Ok(builder.build())
}

/// One end of a link.
struct End<'a> {
    type_: NodeType,
    num_ports: u8,
    system_image_guid: Guid,
    node_guid: Guid,
    port_guid: Guid,
    vendor_id: u32,
    device_id: u16,
    description: &'a str,
    lid: Lid,
    port: PortNum,
}

impl<'a> End<'a> {
    /// Reads an end at the start of a line, and says what follows.
    fn parse(line: &'a str) -> Option<(Self, &'a str)> {
        let rest = line.trim_start().strip_prefix('{')?;
        let (head, rest) = rest.split_once('{')?;
        // A description may hold braces: its end is where an end's LID and port follow.
        let mut ends = rest.match_indices("} LID:");
        let (description, lid, port, rest) = ends.find_map(|(at, mark)| {
            let tail = rest.get(at..)?.strip_prefix(mark)?;
            let (lid, tail) = tail.split_once(char::is_whitespace)?;
            let (port, tail) = tail.trim_start().strip_prefix("PN:")?.split_once('}')?;
            Some((rest.get(..at)?, lid, port, tail))
        })?;
        let kind = head.split_whitespace().next()?;
        let kind = kind.strip_suffix("-SM").unwrap_or(kind);
        let field = |name: &str| -> Option<u64> {
            let mut words = head.split_whitespace();
            let digits = words.find_map(|word| word.strip_prefix(name)?.strip_prefix(':'))?;
            super::hexadecimal(digits)
        };
        let device = field("DevID")?;
        let device = if device > 0xffff {
            device >> 16
        } else {
            device
        };
        let end = Self {
            type_: match kind {
                "SW" => NodeType::SWITCH,
                "CA" => NodeType::CA,
                "RT" | "Rt" => NodeType::ROUTER,
                _ => return None,
            },
            num_ports: field("Ports")?
                .try_into()
                .ok()
                .filter(|&ports| ports < u8::MAX)?,
            system_image_guid: Guid(field("SystemGUID")?),
            node_guid: Guid(field("NodeGUID")?),
            port_guid: Guid(field("PortGUID")?),
            vendor_id: field("VenID")?.try_into().ok()?,
            device_id: device.try_into().ok()?,
            description,
            lid: Lid(super::hexadecimal(lid)?),
            port: PortNum(super::hexadecimal(port.trim())?),
        };
        Some((end, rest))
    }

    /// Adds the end's node where it is new, and says what is known of the port.
    fn add(&self, builder: &mut FabricBuilder) -> Result<PortRef, TopologyError> {
        let node: NodeIdx = match builder.node_by_guid(self.node_guid) {
            Some(node) => node,
            None => builder.add_node(NewNode {
                type_: self.type_,
                guid: self.node_guid,
                num_ports: self.num_ports,
                system_image_guid: self.system_image_guid,
                vendor_id: self.vendor_id,
                device_id: self.device_id,
                description: self.description.to_owned(),
                name: String::new(),
                enhanced_port_0: false,
            })?,
        };
        let is_switch = self.type_.is_switch();
        let with_lid = if is_switch {
            PortNum::MANAGEMENT
        } else {
            self.port
        };
        if let Some(port) = builder.port_mut(PortRef {
            node,
            port: with_lid,
        }) {
            (port.lid, port.guid) = (self.lid, self.port_guid);
        }
        Ok(PortRef {
            node,
            port: self.port,
        })
    }
}

/// Writes the list.
#[must_use]
pub fn write(fabric: &Fabric, lids: &LidMap) -> String {
    let mut out = String::new();
    for (node, entry) in fabric.nodes().iter_enumerated() {
        for (port, end) in entry.ports() {
            let Some(peer) = end.peer else { continue };
            // Writing to a string does not fail.
            let _ = write_end(&mut out, fabric, lids, PortRef { node, port });
            out.push(' ');
            let _ = write_end(&mut out, fabric, lids, peer);
            let width = end.width.map_or(4, |width| width.lanes());
            let speed = end.speed.unwrap_or(LinkSpeed::Sdr);
            let speed = SPEEDS.iter().find(|(known, _)| *known == speed);
            let speed = speed.map_or("??", |(_, name)| name);
            let _ = writeln!(out, " PHY={width}x LOG=ACT SPD={speed}");
        }
    }
    out
}

fn write_end(out: &mut String, fabric: &Fabric, lids: &LidMap, end: PortRef) -> core::fmt::Result {
    let node = fabric.node(end.node);
    let kind = match node.type_ {
        NodeType::SWITCH => "SW",
        NodeType::ROUTER => "Rt",
        _ => "CA",
    };
    let guid = fabric.port(end).map_or(node.guid, |port| port.guid);
    let owner = match fabric.switch_of(end.node) {
        Some(switch) => lids.switch_port(switch).copied(),
        None => fabric.attachment(end).and_then(|(switch, exit)| {
            lids.at_switch(switch)
                .find(|destination| destination.exit == exit)
                .copied()
        }),
    };
    let lid = owner.map_or(0, |owner| owner.range.base().0);
    write!(
        out,
        "{{ {kind} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} VenID:{:06X} DevID:{:04X} Rev:00000000 {{{}}} LID:{lid:04X} PN:{:02X} }}",
        node.num_ports(),
        node.system_image_guid.0,
        node.guid.0,
        guid.0,
        node.vendor_id,
        node.device_id,
        node.description,
        end.port.0
    )
}
