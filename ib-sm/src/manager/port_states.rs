//! States of ports at the end of a sweep: how many are Active, and why the others are not.

use alloc::{collections::BTreeMap, vec::Vec};

use ib_smp::PortState;
use ib_subnet::PortId;
use ib_wire::PortNum;

use super::SubnetManager;
use crate::{
    event::{Event, NotActive, PortCounts},
    policy::links,
};

/// The ports whose link is up and that are not Active, with their state and the reason, as last reported.
pub(super) type NotActivePorts = BTreeMap<PortId, (PortState, NotActive)>;

impl SubnetManager {
    /// Counts the ports whose link is up by their state, and reports each one that is not Active if it was not reported
    /// with the same state and reason before.
    pub(super) fn report_port_states(&mut self) -> PortCounts {
        let situation = self.situation();
        let mut counts = PortCounts::default();
        let mut found = NotActivePorts::new();
        for (id, node, port) in self.subnet.ports() {
            let is_management = node.is_switch() && id.port == PortNum::MANAGEMENT;
            if is_management || !port.is_up() {
                continue;
            }
            if port.state() == PortState::ACTIVE {
                counts.active = counts.active.saturating_add(1);
                continue;
            }
            counts.not_active = counts.not_active.saturating_add(1);
            found.insert(id, (port.state(), links::why_not_active(situation, id)));
        }
        let known = &self.history.not_active;
        let news = found.iter().filter(|(id, now)| known.get(id) != Some(now));
        let events: Vec<_> = news
            .map(|(&id, &(state, reason))| Event::PortNotActive {
                at: self.subnet.port_at(id),
                state,
                reason,
            })
            .collect();
        self.events.extend(events);
        self.history.not_active = found;
        counts
    }
}
