//! Sharing of memory between the tables that switches hold and the routes in force, which say the same once a sweep
//! has ended.

use alloc::vec::Vec;

use ib_mad::Instant;
use ib_subnet::NodeId;

use super::SubnetManager;

/// Number of forwarding tables that one call compares: at most 3 MB of entries.
const TABLES_PER_CALL: usize = 64;

/// The switches whose tables are yet to be compared with the routes.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    waiting: Vec<NodeId>,
    /// Time at which the sweep ended.
    due: Instant,
}

impl Sharing {
    /// Time at which the next tables are to be compared; `None` if there are none.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.due)
    }
}

impl SubnetManager {
    /// Begins to compare the tables of all switches with the routes in force.
    pub(super) fn begin_sharing(&mut self, now: Instant) {
        self.sharing = Sharing {
            waiting: self.subnet.switches().map(|(node, _)| node).collect(),
            due: now,
        };
    }

    /// Keeps the tables of the next switches only once in memory, if they hold what the routes in force say.
    pub(super) fn share_next_tables(&mut self) {
        let waiting = &mut self.sharing.waiting;
        let first = waiting.len().saturating_sub(TABLES_PER_CALL);
        let next = waiting.split_off(first);
        let Some(installed) = self.plan.installed() else {
            return;
        };
        let index = installed.topology().index();
        for node in next {
            let row = index.switch(node);
            if let Some(row) = row.and_then(|row| installed.routes().shared_lft(row)) {
                self.subnet.share_lft(node, row);
            }
        }
    }
}
