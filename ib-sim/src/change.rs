//! What happens to nodes by themselves, or by a person: names and GUIDs change, requests get lost in a port.

use ib_mad::AttributeId;
use ib_routing::{NodeIdx, PortRef};
use ib_wire::table::Text;
use ib_wire::{Guid, Lid, Lmc};

use crate::sim::{Sim, SimError};

impl Sim {
    /// Changes a node's GUID, as a repaired board has another one.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`] if there is no such node.
    pub fn set_guid(&mut self, node: NodeIdx, guid: Guid) -> Result<(), SimError> {
        let end_ports: Vec<PortRef> = self.end_ports(node).map(|port| port.at()).collect();
        let port = ib_wire::PortNum::MANAGEMENT;
        let entry = self.nodes.find_mut(node).ok_or(SimError::NoSuchPort {
            port: PortRef { node, port },
        })?;
        entry.info.set_node_guid(guid);
        if entry.is_switch() {
            return end_ports
                .into_iter()
                .try_for_each(|port| self.set_port_guid(port, guid));
        }
        Ok(())
    }

    /// Changes the GUID of one port.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`].
    pub fn set_port_guid(&mut self, port: PortRef, guid: Guid) -> Result<(), SimError> {
        let index = self.port_idx(port).ok_or(SimError::NoSuchPort { port })?;
        self.ports[index].guid = guid;
        Ok(())
    }

    /// Changes a node's description, as its host does when it gets its name.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`] if there is no such node.
    pub fn set_description(&mut self, node: NodeIdx, description: &str) -> Result<(), SimError> {
        let port = ib_wire::PortNum::MANAGEMENT;
        let entry = self.nodes.find_mut(node).ok_or(SimError::NoSuchPort {
            port: PortRef { node, port },
        })?;
        entry.description.set_node_string(&Text::new(description));
        Ok(())
    }

    /// Changes LID and LMC of a port behind the subnet manager's back.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`].
    pub fn set_lid(&mut self, port: PortRef, lid: Lid, lmc: Lmc) -> Result<(), SimError> {
        let index = self.port_idx(port).ok_or(SimError::NoSuchPort { port })?;
        self.ports[index].info.set_lid(lid).set_lmc(lmc);
        Ok(())
    }

    /// Loses a share of the requests that come to the agents by this port: all, or those for one attribute.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`].
    pub fn set_drop_rate(
        &mut self,
        port: PortRef,
        share: f64,
        attribute: Option<AttributeId>,
    ) -> Result<(), SimError> {
        let index = self.port_idx(port).ok_or(SimError::NoSuchPort { port })?;
        self.ports[index].drop_rate = (share > 0.0).then_some((share, attribute));
        Ok(())
    }
}
