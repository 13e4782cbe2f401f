//! The answers of a walk, by attribute.

use ib_mad::{Attribute, Mad};
use ib_smp::{
    LinearForwardingTable, MlnxExtPortInfo, NodeDescription, NodeInfo, PartitionKeyTable, PortInfo,
    PortInfoModifier, SmInfo, SmpDirected, SwitchInfo,
};

use super::{Scope, Unresponsive, Walk, WalkFinding};
use crate::{Block, Read, ReadTarget, Subnet, route::Reach};

impl Walk {
    /// Accepts the answer to a read.
    pub fn handle_answer(&mut self, subnet: &mut Subnet, read: Read, mad: &Mad) {
        let Ok((smp, _)) = SmpDirected::parse(&mad.bytes, 0) else {
            return;
        };
        let is_ok = smp.status().is_ok() && smp.attribute_id() == read.attribute;
        let understood = if is_ok {
            self.take_in(subnet, read, smp)
        } else {
            self.is_optional(subnet, read, smp)
        };
        if !understood {
            self.findings.push_back(WalkFinding::Refused {
                at: read.target.port().map(|port| subnet.port_at(port)),
                attribute_id: read.attribute,
                status: smp.status(),
            });
            if self.scope == Scope::Changes {
                self.mark_failed(subnet, read);
            }
        }
    }

    /// Handles a read that was given up.
    pub fn handle_failure(&mut self, subnet: &mut Subnet, read: Read) {
        let neighbor = matches!(read.target, ReadTarget::Behind(_));
        match read.target {
            _ if self.scope == Scope::Changes => {
                self.mark_failed(subnet, read);
                return;
            }
            // Another manager need not answer, nor a device that does not support the vendor's attribute.
            ReadTarget::Port(_)
                if read.attribute == SmInfo::ID || read.attribute == MlnxExtPortInfo::ID =>
            {
                return;
            }
            // The second question to a suspected node: its first answer stays valid.
            ReadTarget::Port(_) if read.attribute == NodeInfo::ID => return,
            ReadTarget::Behind(port) => {
                subnet.forget_m_key_behind(port);
                self.unlink(subnet, port);
                if let Some(port) = subnet.port_mut(port) {
                    port.set_neighbor_silent(true);
                }
            }
            ReadTarget::Port(port) => {
                subnet.forget_m_key(port);
                if !subnet.set_silent(port.node) {
                    return;
                }
            }
            ReadTarget::OwnNode => subnet.note_own_failure(),
        }
        let reach = reach_asked(subnet, read.target).unwrap_or_default();
        let device = Unresponsive {
            at: read.target.port().map(|port| subnet.port_at(port)),
            neighbor,
            attribute_id: read.attribute,
        };
        let path = reach.path;
        self.findings
            .push_back(WalkFinding::Unresponsive { device, path });
    }

    fn take_in(&mut self, subnet: &mut Subnet, read: Read, smp: &SmpDirected) -> bool {
        let data = smp.smp_data();
        match read.target {
            ReadTarget::OwnNode => {
                subnet.note_own_answer();
                self.take_in_node_info(subnet, None, data)
            }
            ReadTarget::Behind(port) if self.scope == Scope::Changes => {
                self.outcome.marked.insert(port);
                true
            }
            ReadTarget::Behind(port) => self.take_in_node_info(subnet, Some(port), data),
            ReadTarget::Port(port) => match read.attribute {
                NodeInfo::ID => match NodeInfo::parse(data, 0) {
                    Ok((info, _)) if self.scope == Scope::Changes => {
                        let known = subnet.node(port.node).map(|node| node.info().node_type());
                        self.outcome.inconsistent |= known != Some(info.node_type());
                        true
                    }
                    Ok((info, _)) => {
                        self.on_node_info_again(subnet, port.node, info);
                        true
                    }
                    Err(_) => false,
                },
                NodeDescription::ID => {
                    if let Some(node) = subnet.node_mut(port.node) {
                        node.set_description(NodeDescription::from_bytes(*data));
                    }
                    true
                }
                SwitchInfo::ID => match SwitchInfo::parse(data, 0) {
                    Ok((info, _)) if self.scope == Scope::Changes => {
                        self.compare_switch_info(subnet, port, info);
                        true
                    }
                    Ok((info, _)) => {
                        self.on_switch_info(subnet, port.node, info);
                        true
                    }
                    Err(_) => false,
                },
                PortInfo::ID => {
                    let modifier = PortInfoModifier::from_bits(smp.attribute_modifier());
                    let extended = modifier.is_some_and(|modifier| modifier.extended_speeds);
                    let info = PortInfo::from_bytes(*data);
                    if self.scope == Scope::Changes {
                        self.compare_port(subnet, port, &info);
                    } else {
                        self.on_port_info(subnet, port, info, extended);
                    }
                    true
                }
                PartitionKeyTable::ID => {
                    self.on_p_key_table(subnet, port, read.modifier, data);
                    true
                }
                SmInfo::ID => match SmInfo::parse(data, 0) {
                    Ok((info, _)) => {
                        let finding = WalkFinding::Manager { port, info: *info };
                        self.findings.push_back(finding);
                        true
                    }
                    Err(_) => false,
                },
                LinearForwardingTable::ID => {
                    self.on_forwarding_table(subnet, port, read.modifier, data);
                    true
                }
                MlnxExtPortInfo::ID => {
                    if let (Ok((info, _)), Some(port)) =
                        (MlnxExtPortInfo::parse(data, 0), subnet.port_mut(port))
                    {
                        port.set_vendor_speeds(*info);
                    }
                    true
                }
                _ => {
                    let block = Block {
                        port,
                        attribute: read.attribute,
                        modifier: read.modifier,
                    };
                    subnet.record(block, data);
                    true
                }
            },
        }
    }

    /// Returns true if a refusal need not be reported: that of an attribute that a device may lack, or that of the bit
    /// that shows speeds beyond HDR. In the second case PortInfo is read once more without the bit.
    fn is_optional(&mut self, subnet: &mut Subnet, read: Read, smp: &SmpDirected) -> bool {
        let ReadTarget::Port(port) = read.target else {
            return false;
        };
        match read.attribute {
            MlnxExtPortInfo::ID | SmInfo::ID => true,
            PortInfo::ID => {
                let modifier = PortInfoModifier::from_bits(smp.attribute_modifier());
                let extended = modifier.is_some_and(|modifier| modifier.extended_speeds);
                if extended && let Some(node) = subnet.node_mut(port.node) {
                    node.refuse_all_speeds();
                    self.queue.push_back(read);
                }
                extended
            }
            _ => false,
        }
    }
}

/// The route of a read that was answered, even if the read would not be sent any more.
pub(super) fn reach_asked(subnet: &Subnet, target: ReadTarget) -> Option<Reach> {
    match target {
        ReadTarget::OwnNode => Some(Reach::default()),
        ReadTarget::Port(port) => subnet.reach(port),
        ReadTarget::Behind(port) => subnet.reach_behind(port),
    }
}
