//! The nodes of the fabric: the state of their agents and ports, and read-only views of both.

use ib_mad::{AttributeId, Instant};
use ib_routing::{NodeIdx, PortRef};
use ib_smp::{
    NodeDescription, NodeInfo, PortInfo, PortState, Sma, SmaPort, SwitchInfo, SwitchTables,
};
use ib_wire::{Guid, Lid, PKey, PortNum, Sl, Vl};

use crate::counters::SimCounters;
use crate::fault::Behaviour;
use crate::gsa::Settings;
pub(crate) use crate::port_idx::PortIdx;
use crate::port_link::PortLink;
use crate::sampler::Sampler;

/// A simulated switch, CA or router.
#[derive(Clone, Debug)]
pub struct SimNode {
    pub(crate) name: String,
    pub(crate) sma: Sma,
    /// Index of port 0 in the vector of all ports; the node's other ports follow it. Port 0 of a CA is unused.
    pub(crate) first_port: PortIdx,
    pub(crate) num_ports: u8,
    pub(crate) is_switch: bool,
    pub(crate) behaviour: Behaviour,
    /// True if the node is switched on.
    pub(crate) powered: bool,
    pub(crate) smps_answered: u64,
    /// Time at which its agent sends its next trap.
    pub(crate) wakes_at: Option<Instant>,
    /// SMPs that its agent has received and not answered yet.
    pub(crate) pending_smps: u32,
    /// The sampling of its counters; none before a manager has started one.
    pub(crate) sampler: Option<Box<Sampler>>,
    /// Settings that managers have written to its general services agents; none before the first request.
    pub(crate) settings: Option<Box<Settings>>,
}

impl SimNode {
    /// The name in the fabric it was built from.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The node's subnet management agent: everything that a manager can read or write.
    #[must_use]
    pub fn sma(&self) -> &Sma {
        &self.sma
    }

    /// NodeInfo, but for the fields that depend on the port of arrival.
    #[must_use]
    pub fn node_info(&self) -> &NodeInfo {
        self.sma.node_info()
    }

    /// NodeDescription.
    #[must_use]
    pub fn description(&self) -> &NodeDescription {
        self.sma.node_description()
    }

    /// SwitchInfo, on a switch.
    #[must_use]
    pub fn switch_info(&self) -> Option<&SwitchInfo> {
        self.sma.switch().map(SwitchTables::info)
    }

    /// Node GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.sma.node_info().node_guid()
    }

    /// Returns whether the node forwards packets.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.is_switch
    }

    /// Number of ports, port 0 not counted.
    #[must_use]
    pub fn num_ports(&self) -> u8 {
        self.num_ports
    }

    /// Number of requests that its SMA has answered.
    #[must_use]
    pub fn smps_answered(&self) -> u64 {
        self.smps_answered
    }

    /// Returns whether it is switched on.
    #[must_use]
    pub fn is_powered(&self) -> bool {
        self.powered
    }

    /// The entries of the linear forwarding table by LID, up to the last block that was written with a port; none on a CA.
    pub fn lft(&self) -> impl Iterator<Item = PortNum> + '_ {
        self.sma.switch().into_iter().flat_map(SwitchTables::lft)
    }

    /// The output port for a unicast LID; `None` if the switch drops packets for it.
    #[inline]
    #[must_use]
    pub fn lft_port(&self, lid: Lid) -> Option<PortNum> {
        self.sma.switch()?.unicast_port(lid)
    }

    /// The ports that the switch copies a multicast LID to.
    pub fn mft_ports(&self, mlid: Lid) -> impl Iterator<Item = PortNum> + '_ {
        let switch = self.sma.switch().into_iter();
        switch.flat_map(move |switch| switch.multicast_ports(mlid))
    }

    /// The lane that a service level takes from an input port to an output port.
    #[must_use]
    pub fn vl(&self, input: PortNum, output: PortNum, sl: Sl) -> Vl {
        match self.sma.switch() {
            Some(switch) => switch.vl(input, output, sl),
            None => self
                .sma
                .port(output)
                .map_or(Vl::MANAGEMENT, |port| port.vl(sl)),
        }
    }

    pub(crate) fn port_idx(&self, port: PortNum) -> Option<PortIdx> {
        (port.0 <= self.num_ports)
            .then(|| PortIdx(self.first_port.0.saturating_add(u32::from(port.0))))
    }
}

/// State of a port that is outside the node's agent.
#[derive(Clone, Debug)]
pub(crate) struct PortEntry {
    pub(crate) node: NodeIdx,
    pub(crate) number: PortNum,
    /// True if a host is attached.
    pub(crate) hosted: bool,
    pub(crate) link: PortLink,
    /// Share of the requests to the agents that are lost at this port.
    pub(crate) drop_rate: Option<Box<DropRate>>,
    pub(crate) counters: SimCounters,
}

/// Share of the requests to a node's agents that are lost at a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropRate {
    pub(crate) share: f64,
    /// Attribute of the requests that are lost; none for all.
    pub(crate) attribute: Option<AttributeId>,
}

/// A read-only view of a port of a simulated node.
#[derive(Clone, Copy, Debug)]
pub struct SimPort<'a> {
    pub(crate) entry: &'a PortEntry,
    pub(crate) sma: &'a SmaPort,
}

impl<'a> SimPort<'a> {
    /// PortInfo as the node's agent keeps it.
    #[must_use]
    pub fn info(&self) -> &'a PortInfo {
        self.sma.info()
    }

    /// The agent's state of the port: P_Keys, SLtoVL, arbitration.
    #[must_use]
    pub fn sma(&self) -> &'a SmaPort {
        self.sma
    }

    /// Logical state.
    #[must_use]
    pub fn state(&self) -> PortState {
        self.info().port_state()
    }

    /// Returns whether there is a cable and both ends have trained.
    #[must_use]
    pub fn is_link_up(&self) -> bool {
        self.entry.link.is_up()
    }

    /// Port GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.sma.guid()
    }

    /// Node and number of the port.
    #[must_use]
    pub fn at(&self) -> PortRef {
        PortRef {
            node: self.entry.node,
            port: self.entry.number,
        }
    }

    /// Counters of traffic and errors at the port.
    #[must_use]
    pub fn counters(&self) -> &'a SimCounters {
        &self.entry.counters
    }

    /// The P_Keys in the table, the unused entries left out.
    pub fn p_keys(&self) -> impl Iterator<Item = PKey> + use<'a> {
        self.sma.p_keys()
    }

    /// Returns whether a LID is one of the port's, its LMC considered.
    #[inline]
    #[must_use]
    pub fn has_lid(&self, lid: Lid) -> bool {
        has_lid(self.info(), lid)
    }
}

/// Returns whether a LID is one of the port's.
#[inline]
pub(crate) fn has_lid(info: &PortInfo, lid: Lid) -> bool {
    let (base, lmc) = (info.lid(), info.lmc().bits());
    base != Lid::NONE && lid.0 >> lmc == base.0 >> lmc
}
