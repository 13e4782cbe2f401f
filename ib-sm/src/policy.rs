//! Policy: the desired state of the subnet, as pure functions.
//!
//! Each file covers one concern. Its functions take the [`Situation`], which is the observed state, the
//! configuration and the earlier decisions, and return the values that a device is to hold. They send nothing,
//! wait for nothing and change nothing, so a test can build a subnet by hand and check the result.

pub(crate) mod alias_guids;
pub(crate) mod cluster;
pub(crate) mod lanes;
pub(crate) mod lids;
pub(crate) mod links;
pub(crate) mod multicast;
pub(crate) mod partitions;
pub(crate) mod routing;
pub(crate) mod settled;
pub(crate) mod switches;

use ib_subnet::{PortId, Subnet};

use crate::{SmConfig, plan::Plan};

/// Inputs of all policy decisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'a> {
    config: &'a SmConfig,
    subnet: &'a Subnet,
    plan: &'a Plan,
}

impl<'a> Situation<'a> {
    pub(crate) const fn new(config: &'a SmConfig, subnet: &'a Subnet, plan: &'a Plan) -> Self {
        Self {
            config,
            subnet,
            plan,
        }
    }

    pub(crate) const fn config(self) -> &'a SmConfig {
        self.config
    }

    pub(crate) const fn subnet(self) -> &'a Subnet {
        self.subnet
    }

    pub(crate) const fn plan(self) -> &'a Plan {
        self.plan
    }

    /// Returns true if the cable of a port leaves the logical cluster that the manager is confined to.
    pub(crate) fn leads_out(self, port: PortId) -> bool {
        self.config.cluster.as_ref().is_some_and(|role| {
            let place = self.subnet.port_at(port);
            role.ends_at(place.node_guid, place.port_num)
        })
    }

    /// Returns true if a port's link is up, and its other end is known or lies beyond the boundary of the cluster.
    pub(crate) fn is_linked(self, port: PortId) -> bool {
        let record = self.subnet.port(port).filter(|record| record.is_up());
        record.is_some_and(|record| record.peer().is_some())
            || (record.is_some() && self.leads_out(port))
    }

    /// Returns true if a port is the manager's own port.
    pub(crate) fn is_own(self, port: PortId) -> bool {
        self.subnet.own_port() == Some(port)
    }
}
