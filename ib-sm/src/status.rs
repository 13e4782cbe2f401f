//! The manager in a few numbers: who it is, what it does, what it keeps.

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
    /// Whether the last sweep left every port configured.
    pub up: bool,
    /// The phase of the present sweep; `None` while the manager waits.
    pub phase: Option<Phase>,
    /// Requests that wait in the sweep's queue or for an answer.
    pub requests: usize,
    /// When the last sweep began, or the one at work.
    pub sweep_started: Instant,
    /// The engine of the routes that are installed.
    pub engine: Option<&'static str>,
    /// Datagrams since the start.
    pub mads: MadCounts,
    /// The other managers that the last discovery met, with where they sit.
    pub others: Vec<(PortAt, SmInfo)>,
    /// Numbers of what hosts registered with the administrator.
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
