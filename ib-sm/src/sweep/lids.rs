//! LIDs: from what the ports have to what they shall have (IBA vol. 1, 14.4.3).
//!
//! The choice is [`LidMap::assign`]'s: what is valid stays. Here the discovered subnet becomes the
//! fabric that it and the routing engines work on. A node that cannot take part is left out, with
//! an event: a switch that did not tell its tables' sizes, or has no linear table.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use ib_routing::{FabricBuilder, LidMap, LidOptions, LinkSpeed, LinkWidth, NewNode};
use ib_smp::{NodeDescription, NodeInfo, NodeType, PortInfo};
use ib_wire::{Lmc, PortNum};

use super::Sweep;
use crate::{
    SmConfig,
    event::Event,
    subnet::{Node, PortRef},
};

impl Sweep {
    /// Builds the fabric and chooses the LIDs. Returns false if there are too few.
    pub(super) fn assign_lids(&mut self, config: &SmConfig) -> bool {
        self.build_fabric();
        let reassign = config.reassign_lids && self.first_sweep;
        if reassign {
            self.plan.remembered.clear();
        }
        let own = self.subnet.port(self.own_port);
        let options = LidOptions {
            lmc: config.lmc,
            switch_lmc: if config.lmc_esp0 {
                config.lmc
            } else {
                Lmc::ZERO
            },
            reassign,
            database: self.plan.remembered.clone(),
            manager: own.map(|port| port.guid),
            last: self.last_lid(),
            ..LidOptions::default()
        };
        let assigned = LidMap::assign(&self.plan.fabric, &options).or_else(|_| {
            // Better a switch that cannot reach everybody than no subnet.
            let all = LidOptions {
                last: LidOptions::default().last,
                ..options
            };
            LidMap::assign(&self.plan.fabric, &all)
        });
        match assigned {
            Ok(lids) => {
                self.plan.lids = lids;
                self.report_small_linear_tables();
            }
            Err(error) => {
                self.errors = self.errors.saturating_add(1);
                self.events.push_back(Event::LidsExhausted(error));
                return false;
            }
        }
        for destination in self.plan.lids.destinations().iter() {
            let guid = self.plan.fabric.node(destination.end.node).guid;
            let Some(node) = self.subnet.find(guid) else {
                continue;
            };
            let port = PortRef {
                node,
                port: destination.end.port,
            };
            let Some(record) = self.subnet.port_mut(port) else {
                continue;
            };
            record.lids = Some(destination.range);
            let lid = destination.range.base();
            self.plan.remembered.insert(destination.guid, lid);
            if record.info.is_none_or(|info| info.lid() != lid) {
                self.events.push_back(Event::LidAssigned {
                    port_guid: destination.guid,
                    lid,
                });
            }
        }
        true
    }

    fn build_fabric(&mut self) {
        self.plan.keep_before();
        let mut builder = FabricBuilder::new();
        let mut added = Vec::new();
        for (index, node) in self.subnet.nodes() {
            let entry = if takes_part(node) && self.subnet.is_steady(index) {
                builder.add_node(new_node(node)).ok()
            } else {
                self.events.push_back(Event::Excluded {
                    node_guid: node.info.node_guid(),
                });
                None
            };
            added.push((index, entry));
        }
        let place = |port: PortRef| {
            let &(_, entry) = added.get(port.node.index())?;
            Some(ib_routing::PortRef {
                node: entry?,
                port: port.port,
            })
        };
        for &(index, _) in &added {
            let Some(node) = self.subnet.node(index) else {
                continue;
            };
            for (port, record) in node.ports() {
                let here = PortRef { node: index, port };
                let (Some(end), Some(info)) = (place(here), &record.info) else {
                    continue;
                };
                if let Some(entry) = builder.port_mut(end) {
                    if record.guid != ib_wire::Guid::NONE {
                        entry.guid = record.guid;
                    }
                    if !node.is_switch() || port == PortNum(0) {
                        (entry.lid, entry.lmc) = (info.lid(), info.lmc());
                    }
                    (entry.width, entry.speed) = (width(info), speed(info, true));
                }
                if let Some(peer) = record.peer.filter(|_| self.is_link(here))
                    && let Some(peer) = place(peer)
                {
                    // A cable is met at both ends; the second time changes nothing.
                    let _ = builder.add_link(end, peer);
                }
            }
        }
        let fabric = builder.build();
        for (index, _) in added {
            if let Some(node) = self.subnet.node_mut(index) {
                let routed = fabric.switch_by_guid(node.info.node_guid());
                if let Some(switch) = &mut node.switch {
                    switch.routed = routed;
                }
            }
        }
        self.plan.fabric = fabric;
    }

    /// Whether both ends of a port's cable are known and up.
    fn is_link(&self, port: PortRef) -> bool {
        let ends = self
            .subnet
            .port(port)
            .and_then(|here| Some((here, self.subnet.port(here.peer?)?)));
        ends.is_some_and(|(here, there)| here.is_up() && there.is_up())
    }
}

fn takes_part(node: &Node) -> bool {
    match &node.switch {
        Some(switch) => switch.info.is_some_and(|info| info.linear_fdb_cap() > 0),
        None => true,
    }
}

fn new_node(node: &Node) -> NewNode {
    let info = &node.info;
    let switch_info = node.switch.as_ref().and_then(|switch| switch.info);
    NewNode {
        type_: node_type(info),
        guid: info.node_guid(),
        num_ports: info.num_ports(),
        system_image_guid: info.system_image_guid(),
        vendor_id: info.vendor_id(),
        device_id: info.device_id(),
        description: description(&node.description),
        enhanced_port_0: switch_info.is_some_and(|info| info.enhanced_port0()),
        ..NewNode::default()
    }
}

/// NodeDescription in one line: hosts write what they like into it, ends of lines too.
pub(crate) fn description(of: &NodeDescription) -> String {
    let text = of.node_string().to_string();
    text.replace(char::is_control, " ")
}

/// The kind of a node that NodeInfo describes; what is no switch and no router ends links like a CA.
pub(crate) fn node_type(info: &NodeInfo) -> NodeType {
    info.node_type().normalized()
}

/// Active width, if it is one that has a name.
pub(crate) fn width(info: &PortInfo) -> Option<LinkWidth> {
    info.width()
}

/// Active speed, if it is one that has a name. The extended fields mean something only where the end
/// port's CapabilityMask says so.
pub(crate) fn speed(info: &PortInfo, extended: bool) -> Option<LinkSpeed> {
    if extended {
        info.speed()
    } else {
        info.link_speed_active().speed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_one_line() {
        let mut text = NodeDescription::default();
        text.set_node_string(&ib_wire::table::Text::new("node-7 HCA-1\n[1] \"x\"[1]\r\n"));
        assert_eq!(description(&text), "node-7 HCA-1 [1] \"x\"[1]  ");
    }
}
