//! Changes that no subnet manager makes: names, GUIDs and LIDs of nodes, and requests that are lost at a port.

use ib_mad::AttributeId;
use ib_routing::{NodeIdx, PortRef};
use ib_smp::Sma;
use ib_wire::{Guid, Lid, Lmc, PortNum};

use crate::event::SimError;
use crate::node::DropRate;
use crate::sim::Sim;

impl Sim {
    /// Changes a node's GUID, as a repaired board has another one.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`] if there is no such node.
    pub fn set_guid(&mut self, node: NodeIdx, guid: Guid) -> Result<(), SimError> {
        self.sma_of(node)?.set_node_guid(guid);
        Ok(())
    }

    /// Changes the GUID of one port.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`].
    pub fn set_port_guid(&mut self, port: PortRef, guid: Guid) -> Result<(), SimError> {
        self.port_idx(port).ok_or(SimError::NoSuchPort { port })?;
        self.sma_of(port.node)?.set_port_guid(port.port, guid);
        Ok(())
    }

    /// Changes a node's description, as its host does when it gets its name: trap 144.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`] if there is no such node.
    pub fn set_description(&mut self, node: NodeIdx, description: &str) -> Result<(), SimError> {
        let now = self.now;
        self.sma_of(node)?.change_node_description(now, description);
        self.process_sma_events(node);
        Ok(())
    }

    /// Changes LID and LMC of a port, unknown to the subnet manager.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`].
    pub fn set_lid(&mut self, port: PortRef, lid: Lid, lmc: Lmc) -> Result<(), SimError> {
        let index = self.port_idx(port).ok_or(SimError::NoSuchPort { port })?;
        if let Some(info) = self.info_mut(index) {
            info.set_lid(lid).set_lmc(lmc);
        }
        Ok(())
    }

    /// Clears LID, LMC and SM LID of a port.
    ///
    /// # Errors
    /// [`SimError::NoSuchPort`].
    pub fn forget_lids(&mut self, port: PortRef) -> Result<(), SimError> {
        let index = self.port_idx(port).ok_or(SimError::NoSuchPort { port })?;
        if let Some(info) = self.info_mut(index) {
            info.set_lid(Lid::NONE)
                .set_lmc(Lmc::ZERO)
                .set_master_sm_lid(Lid::NONE);
        }
        Ok(())
    }

    /// Sets the share of the requests to the agents that are lost at this port: of all requests, or of those for one
    /// attribute. 0.0 ends it.
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
        let rate = DropRate { share, attribute };
        self.ports[index].drop_rate = (share > 0.0).then(|| Box::new(rate));
        Ok(())
    }

    pub(crate) fn sma_of(&mut self, node: NodeIdx) -> Result<&mut Sma, SimError> {
        let port = PortNum::MANAGEMENT;
        let node = self.nodes.find_mut(node).ok_or(SimError::NoSuchPort {
            port: PortRef { node, port },
        })?;
        Ok(&mut node.sma)
    }
}
