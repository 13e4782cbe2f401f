//! Switches, hosts and cables by number, before they get ports and GUIDs.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use ib_wire::{Guid, PortNum};

use crate::{
    fabric::{Fabric, FabricBuilder, LinkSpeed, LinkWidth, NewNode, NodeType, PortRef},
    index::NodeIdx,
};

/// More nodes than this is a slip of the keyboard: a subnet has 49,151 LIDs.
const MAX_NODES: u64 = 100_000;

/// Cables by the number of the switch at each end. Every switch takes its ports in the order in
/// which its hosts and cables were added.
#[derive(Default)]
pub(super) struct Wiring {
    names: Vec<String>,
    hosts: Vec<u32>,
    cables: Vec<(u32, u32)>,
    /// Cables whose ports are given: for shapes where port numbers mean a direction.
    ports: Vec<Option<(u8, u8)>>,
}

impl Wiring {
    /// Checks a count before anything of the size is made.
    pub(super) fn check(switches: u64, hosts_each: u64) -> Result<(), String> {
        let nodes = hosts_each.saturating_add(1).saturating_mul(switches);
        if switches == 0 {
            return Err("no switch, expected at least 1".to_string());
        }
        if nodes > MAX_NODES {
            return Err(format!("{nodes} nodes, expected at most {MAX_NODES}"));
        }
        Ok(())
    }

    pub(super) fn switch(&mut self, name: String, hosts: u32) -> u32 {
        self.names.push(name);
        self.hosts.push(hosts);
        (self.names.len() as u32).saturating_sub(1)
    }

    pub(super) fn cable(&mut self, one: u32, other: u32) {
        self.cables.push((one, other));
        self.ports.push(None);
    }

    pub(super) fn cable_at(&mut self, one: (u32, u8), other: (u32, u8)) {
        self.cables.push((one.0, other.0));
        self.ports.push(Some((one.1, other.1)));
    }

    pub(super) fn build(self) -> Result<Fabric, String> {
        let mut used: Vec<u32> = self.hosts.clone();
        let mut ends = Vec::with_capacity(self.cables.len());
        // Given ports count from after the last one that a direction owns; hosts come after them.
        let given = self.ports.iter().any(Option::is_some);
        let mut highest: Vec<u32> = alloc::vec![0; self.hosts.len()];
        for (&(one, other), ports) in self.cables.iter().zip(&self.ports) {
            let mut end = |switch: u32, port: Option<u8>| {
                let count = used.get_mut(switch as usize)?;
                *count = count.saturating_add(1);
                let port = port.map_or(*count, u32::from);
                let top = highest.get_mut(switch as usize)?;
                *top = port.max(*top);
                Some((switch, port))
            };
            let pair = (
                end(one, ports.map(|ports| ports.0)),
                end(other, ports.map(|ports| ports.1)),
            );
            if let (Some(one), Some(other)) = pair {
                ends.push((one, other));
            }
        }
        let mut builder = FabricBuilder::new();
        let mut switches = Vec::new();
        let mut host_ports = Vec::new();
        for (at, ((name, &hosts), (&used, &highest))) in self
            .names
            .into_iter()
            .zip(&self.hosts)
            .zip(used.iter().zip(&highest))
            .enumerate()
        {
            let first_host_port = if given { highest.saturating_add(1) } else { 1 };
            let ports = if given {
                highest.saturating_add(hosts)
            } else {
                used
            };
            let num_ports = u8::try_from(ports.max(1)).ok().filter(|&ports| ports < 255);
            let num_ports = num_ports.ok_or_else(|| {
                format!("switch {name} needs {ports} ports, expected at most 254")
            })?;
            let guid = Guid(0x0020_0000_0000_0000 | (at as u64) << 8);
            switches.push(node(&mut builder, NodeType::SWITCH, guid, num_ports, name)?);
            host_ports.push((first_host_port, hosts));
        }
        let mut host = 0u64;
        for (&switch, (first, hosts)) in switches.iter().zip(host_ports) {
            for port in first..first.saturating_add(hosts) {
                let guid = 0x0010_0000_0000_0000 | host << 4;
                let name = format!("host{host:05} HCA-1");
                let node = node(&mut builder, NodeType::CA, Guid(guid), 1, name)?;
                let end = PortRef {
                    node,
                    port: PortNum(1),
                };
                if let Some(port) = builder.port_mut(end) {
                    port.guid = Guid(guid | 1);
                }
                join(
                    &mut builder,
                    PortRef {
                        node: switch,
                        port: PortNum(port as u8),
                    },
                    end,
                )?;
                host = host.saturating_add(1);
            }
        }
        for ((one, port), (other, other_port)) in ends {
            if let (Some(&one), Some(&other)) =
                (switches.get(one as usize), switches.get(other as usize))
            {
                let one = PortRef {
                    node: one,
                    port: PortNum(port as u8),
                };
                join(
                    &mut builder,
                    one,
                    PortRef {
                        node: other,
                        port: PortNum(other_port as u8),
                    },
                )?;
            }
        }
        Ok(builder.build())
    }
}

fn node(
    builder: &mut FabricBuilder,
    type_: NodeType,
    guid: Guid,
    num_ports: u8,
    description: String,
) -> Result<NodeIdx, String> {
    let new = NewNode {
        type_,
        guid,
        num_ports,
        system_image_guid: guid,
        vendor_id: 0x2c9,
        device_id: if type_.is_switch() { 0xcb20 } else { 0x1017 },
        description,
        ..NewNode::default()
    };
    builder.add_node(new).map_err(|error| error.to_string())
}

fn join(builder: &mut FabricBuilder, one: PortRef, other: PortRef) -> Result<(), String> {
    builder
        .add_link(one, other)
        .map_err(|error| error.to_string())?;
    for end in [one, other] {
        if let Some(port) = builder.port_mut(end) {
            (port.width, port.speed) = (Some(LinkWidth::X4), Some(LinkSpeed::Edr));
        }
    }
    Ok(())
}
