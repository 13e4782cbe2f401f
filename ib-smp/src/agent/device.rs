//! Changes of the agent's state by its device: the host sets names, links count violations, the power
//! fails.

use alloc::boxed::Box;

use ib_wire::{GidPrefix, Guid, Lid, Lmc, MKey, PortNum, Sl};

use super::{RouterTables, Sma, SmaPort};
use crate::{MKeyProtect, NodeDescription, PortInfo, SlToVlMappingTable};

impl Sma {
    /// Gives the node another GUID; port 0 of a switch shares it.
    pub fn set_node_guid(&mut self, guid: Guid) {
        self.node_info.set_node_guid(guid);
        if self.switch.is_some() {
            self.set_port_guid(PortNum::MANAGEMENT, guid);
        }
    }

    /// Gives a port another GUID.
    pub fn set_port_guid(&mut self, port: PortNum, guid: Guid) {
        if let Some(at) = self.port_mut(port) {
            at.guid = guid;
        }
    }

    /// Changes the text that people know the node by.
    pub fn set_node_description(&mut self, text: &str) {
        self.node_description = NodeDescription::named(text);
    }

    /// Lets the agent answer for MlnxExtPortInfo on all ports, as the agents of that vendor do.
    #[must_use]
    pub fn with_mlnx_ext_port_info(mut self) -> Self {
        self.has_mlnx_ext_port_info = true;
        self
    }

    /// Lets the agent answer for RouterInfo and the tables of a router, as the agents of Mellanox routers do.
    #[must_use]
    pub fn with_router_tables(mut self, tables: RouterTables) -> Self {
        self.router = Some(Box::new(tables));
        self
    }

    /// Shows extended speeds only to a manager whose modifier says that it knows them (bit 31), as NDR and XDR switches do.
    #[must_use]
    pub fn with_hidden_extended_speeds(mut self) -> Self {
        self.hides_extended_speeds = true;
        self
    }

    /// Sets all SLtoVL tables of a switch as they are after a reset, which the specification leaves open. Without
    /// this, each SL has the VL of its number, and SL 15 has VL 7. Without effect on a CA or router.
    #[must_use]
    pub fn with_initial_sl_to_vl(mut self, table: SlToVlMappingTable) -> Self {
        if let Some(switch) = &mut self.switch {
            switch.set_initial_sl_to_vl(table);
        }
        self
    }

    /// PortInfo of a port, for what the device writes itself: violations, capabilities. States are
    /// changed by [`link_up`](Self::link_up) and [`link_down`](Self::link_down).
    #[must_use]
    pub fn port_info_mut(&mut self, port: PortNum) -> Option<&mut PortInfo> {
        Some(&mut self.port_mut(port)?.info)
    }

    /// Forgets what managers wrote, as after a loss of power. States of links stay.
    pub fn reset(&mut self) {
        for port in &mut self.ports {
            *port = SmaPort::new(port.info, port.guid);
            port.info
                .set_lid(Lid::NONE)
                .set_lmc(Lmc::ZERO)
                .set_master_sm_lid(Lid::NONE)
                .set_master_sm_sl(Sl::ZERO)
                .set_gid_prefix(GidPrefix::DEFAULT)
                .set_m_key(MKey(0))
                .set_m_key_protect_bits(MKeyProtect::GET_OPEN)
                .set_m_key_lease_period(0)
                .set_m_key_violations(0)
                .set_p_key_violations(0)
                .set_q_key_violations(0)
                .set_partition_enforcement_inbound(false)
                .set_partition_enforcement_outbound(false);
        }
        if let Some(switch) = &mut self.switch {
            let mut info = *switch.info();
            info.set_linear_fdb_top(Lid::NONE)
                .set_multicast_fdb_top(Lid::NONE)
                .set_port_state_change(true);
            switch.reset(info);
        }
        self.events.clear();
        self.responses.clear();
        self.traps.clear();
        self.notices.clear();
    }
}
