//! The state of the manager in a few numbers: its identity, its activity, its registrations.

use alloc::vec::Vec;

use ib_mad::Instant;
use ib_smp::{SmInfo, SmState};
use ib_subnet::PortAt;
use ib_wire::Guid;

use crate::{
    event::{MadCounts, Phase},
    manager::SubnetManager,
    sa::RegistrationCounts,
};

/// State of a manager, for people and monitors.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// GUID of the port that the manager uses; [`Guid::NONE`] until the own node has answered.
    pub port_guid: Guid,
    /// State of the manager in the election.
    pub state: SmState,
    /// Election priority of this manager, 0..=15.
    pub priority: u8,
    /// True if the last sweep ended with every port configured.
    pub up: bool,
    /// The phase of the present sweep; `None` while the manager waits.
    pub phase: Option<Phase>,
    /// Number of requests that are queued or in flight.
    pub requests: usize,
    /// The time at which the running sweep began, or the last one if none is running.
    pub sweep_started: Instant,
    /// The engine that computed the installed routes.
    pub engine: Option<&'static str>,
    /// Numbers of datagrams since the start.
    pub mads: MadCounts,
    /// The other managers that the last discovery found, each with its port.
    pub others: Vec<(PortAt, SmInfo)>,
    /// Numbers of registrations that the administrator keeps.
    pub registered: RegistrationCounts,
}

impl SubnetManager {
    /// The present state of the manager.
    #[must_use]
    pub fn status(&self) -> Status {
        let own = self.election().current();
        let others = self.others().iter();
        Status {
            port_guid: own.guid(),
            state: own.sm_state(),
            priority: own.priority(),
            up: self.is_up(),
            phase: self.is_sweeping().then_some(self.phase()),
            requests: self.num_requests(),
            sweep_started: self.sweep_started(),
            engine: self.engine(),
            mads: self.mads(),
            others: others
                .map(|&(port, info)| (self.subnet().port_at(port), info))
                .collect(),
            registered: self.administrator().counts(),
        }
    }
}
