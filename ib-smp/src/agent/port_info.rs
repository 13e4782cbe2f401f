//! Get and Set of PortInfo, and what follows from a Set.

use ib_mad::MadStatus;
use ib_wire::{MKey, PortNum};

use super::{
    CheckedRequest, INVALID, PortKind, Sma, SmaEvent,
    attributes::{Data, put},
    m_key::opens,
    set_port_info,
};
use crate::{
    LinkSpeedExtActive, LinkSpeedExtActive2, LinkSpeedsExt, LinkSpeedsExt2, MKeyProtect, PortInfo,
    PortInfoModifier, SmpLidRouted,
};

impl Sma {
    pub(super) fn get_port_info(
        &self,
        request: CheckedRequest,
        smp: &SmpLidRouted,
        data: &mut Data,
    ) -> MadStatus {
        let Some(modifier) = PortInfoModifier::from_bits(request.modifier) else {
            return INVALID;
        };
        let target = self.target(request, modifier.port);
        let Some(port) = target.and_then(|port| self.port(port)) else {
            return INVALID;
        };
        let mut info = port.info;
        info.set_local_port_num(request.arrival.port);
        if self.hides_extended_speeds && !modifier.extended_speeds {
            hide_extended_speeds(&mut info);
        }
        let shown = port.info.m_key_protect_bits() == MKeyProtect::GET_OPEN;
        if !shown && !opens(&port.info, smp.m_key()) {
            info.set_m_key(MKey(0));
        }
        put(data, info.as_bytes())
    }

    pub(super) fn set_port_info(&mut self, request: CheckedRequest, data: &mut Data) -> MadStatus {
        let Some(modifier) = PortInfoModifier::from_bits(request.modifier) else {
            return INVALID;
        };
        let Some(target) = self.target(request, modifier.port) else {
            return INVALID;
        };
        let kind = self.kind(target);
        let Some(port) = self.port_mut(target) else {
            return INVALID;
        };
        let wanted = PortInfo::from_bytes(*data);
        let old = port.info;
        let Ok(new) = set_port_info(&old, &wanted, kind, modifier.extended_speeds) else {
            return INVALID;
        };
        port.info = new;
        if new.m_key_lease_period() != old.m_key_lease_period() {
            port.set_lease_ends(None);
        }
        self.tell_changes(target, &old, &new, &wanted);
        // The response is to the sender's old key or none: it knows the one that it has just set.
        let mut info = new;
        info.set_local_port_num(request.arrival.port)
            .set_client_reregister(wanted.client_reregister() && kind.has_lid());
        put(data, info.as_bytes())
    }

    fn tell_changes(&mut self, port: PortNum, old: &PortInfo, new: &PortInfo, wanted: &PortInfo) {
        if (old.lid(), old.lmc()) != (new.lid(), new.lmc()) {
            self.events.push_back(SmaEvent::Lid { port });
        }
        let (state, physical_state) = (new.port_state(), new.port_physical_state());
        if physical_state != old.port_physical_state() {
            self.events.push_back(SmaEvent::LinkDown {
                port,
                physical_state,
            });
        } else if state != old.port_state() {
            self.events.push_back(SmaEvent::PortState { port, state });
        }
        if wanted.client_reregister() && self.kind(port).has_lid() {
            self.events.push_back(SmaEvent::ClientReregister { port });
        }
    }

    fn kind(&self, port: PortNum) -> PortKind {
        match &self.switch {
            None => PortKind::EndPort,
            Some(switch) if port == PortNum::MANAGEMENT => PortKind::SwitchManagement {
                enhanced: switch.info.enhanced_port0(),
            },
            Some(switch) => PortKind::SwitchExternal {
                inbound_enforcement: switch.info.inbound_enforcement_cap(),
                outbound_enforcement: switch.info.outbound_enforcement_cap(),
                filter_raw_inbound: switch.info.filter_raw_inbound_cap(),
                filter_raw_outbound: switch.info.filter_raw_outbound_cap(),
            },
        }
    }
}

/// PortInfo as it looks to a manager that does not know extended speeds: the fields were reserved.
fn hide_extended_speeds(info: &mut PortInfo) {
    info.set_link_speed_ext_active(LinkSpeedExtActive::NONE)
        .set_link_speed_ext_enabled(LinkSpeedsExt::empty())
        .set_link_speed_ext_supported(LinkSpeedsExt::empty())
        .set_link_speed_ext_active2(LinkSpeedExtActive2::NONE)
        .set_link_speed_ext_enabled2(LinkSpeedsExt2::empty())
        .set_link_speed_ext_supported2(LinkSpeedsExt2::empty());
}
