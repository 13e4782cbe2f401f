//! The notice queue: events that a manager reads by Get(Notice) (IBA vol. 1, 13.4.8.2 and 13.4.10).
//!
//! Get(Notice) shows the oldest notice and how many there are; Set(Notice) with the toggle that was
//! shown takes it out, and the toggle turns, so that a Set that is repeated takes out no second one.
//! Unlike a trap, a notice waits for a manager that the port does not know yet.

use alloc::collections::VecDeque;

use ib_mad::{NoticeSm, NoticeType};
use ib_wire::PortNum;

use super::Sma;
use crate::CapabilityMask;

/// Notices that wait to be read, at most; a full queue takes in no more.
const MOST_NOTICES: usize = 16;

/// Notices that no manager has taken out yet.
#[derive(Clone, Debug, Default)]
pub(super) struct NoticeQueue {
    notices: VecDeque<NoticeSm>,
    toggle: bool,
}

impl NoticeQueue {
    /// Adds a notice that does not wait already.
    pub(super) fn push(&mut self, notice: NoticeSm) {
        if self.notices.len() < MOST_NOTICES && !self.notices.contains(&notice) {
            self.notices.push_back(notice);
        }
    }

    pub(super) fn clear(&mut self) {
        self.notices.clear();
    }

    /// The oldest notice with toggle and count; an empty one where there is none.
    pub(super) fn front(&self) -> NoticeSm {
        let mut notice = self.notices.front().copied().unwrap_or_else(|| {
            let mut none = NoticeSm::default();
            none.set_is_generic(true).set_type(NoticeType::EMPTY);
            none
        });
        // At most `MOST_NOTICES`.
        let count = self.notices.len() as u16;
        *notice
            .set_notice_toggle(self.toggle)
            .set_notice_count(count)
    }

    /// Takes the oldest notice out if a manager has seen it: if it knows the toggle.
    pub(super) fn take(&mut self, seen: &NoticeSm) {
        if seen.notice_toggle() == self.toggle && self.notices.pop_front().is_some() {
            self.toggle = !self.toggle;
        }
    }
}

impl Sma {
    /// Returns true if a manager may ask a port for notices.
    pub(super) fn keeps_notices(&self, port: PortNum) -> bool {
        let able = CapabilityMask::IS_NOTICE_SUPPORTED;
        self.port(port)
            .is_some_and(|port| port.info.capability_mask().contains(able))
    }
}
