//! Traps: notices that devices send unrequested (IBA vol. 1, 13.4.9 and 14.3.13).
//!
//! A device repeats its trap until it is repressed, so every trap is repressed at once, known or not. Traps about
//! changes of the subnet start a sweep; a burst starts only one. A trap that a device repeats nevertheless, for
//! example for a port that flaps, is ignored after a while.

use alloc::collections::BTreeMap;
use core::time::Duration;

use ib_mad::{
    Attribute, Instant, Mad, Method, MgmtClass, NoticeDetails129, NoticeDetails256, NoticeSm,
    TrapNumber,
};
use ib_smp::{DrDirection, SmpDirected, SmpLidRouted};
use ib_wire::{Lid, MKey, PortNum};

/// Number of equal traps that are acted on, each within [`WINDOW`] of the one before; further ones are ignored.
const PATIENCE: u32 = 10;
/// Number of equal traps after which a port counts as babbling. Source: opensm(8), `babbling_port_policy`.
const BABBLING: u32 = 250;
/// Traps further apart than this do not count as repetitions.
const WINDOW: Duration = Duration::from_secs(5);
/// Maximum number of different traps that are counted. Beyond it those older than [`WINDOW`] are forgotten.
const KINDS: usize = 256;

/// The manager's action after a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrapAction {
    /// Read what changed: the trap announces a change of the subnet.
    Sweep,
    /// Report the trap to the host only.
    Report,
    /// Ignore the trap: it came too often.
    Ignore,
    /// Disable the port if the options permit it: the trap came very often.
    ShutOff,
}

/// The traps of the recent past.
#[derive(Debug, Default)]
pub(crate) struct TrapFilter {
    seen: BTreeMap<(Lid, [u8; 64]), (Instant, u32)>,
}

impl TrapFilter {
    /// Counts a trap and decides on the action.
    pub(crate) fn judge(&mut self, now: Instant, notice: &NoticeSm) -> TrapAction {
        // The toggle and the count differ between repetitions of one trap.
        let mut same = *notice;
        same.set_notice_toggle(false).set_notice_count(0);
        let key = (notice.issuer_lid(), *same.as_bytes());
        if self.seen.len() >= KINDS && !self.seen.contains_key(&key) {
            self.seen.retain(|_, (at, _)| now.since(*at) <= WINDOW);
            if self.seen.len() >= KINDS {
                return TrapAction::Report;
            }
        }
        let (last, count) = self.seen.entry(key).or_insert((now, 0));
        *count = match now.since(*last) <= WINDOW {
            true => count.saturating_add(1),
            false => 1,
        };
        *last = now;
        if *count == BABBLING && babbler(notice).is_some() {
            return TrapAction::ShutOff;
        }
        if *count > PATIENCE {
            return TrapAction::Ignore;
        }
        match TrapNumber(notice.trap_number()) {
            TrapNumber::LINK_STATE_CHANGE
            | TrapNumber::CAPABILITY_MASK_CHANGE
            | TrapNumber::SYSTEM_IMAGE_GUID_CHANGE
                if notice.is_generic() =>
            {
                TrapAction::Sweep
            }
            _ => TrapAction::Report,
        }
    }
}

/// The port about which a trap on link errors complains: 129, 130 and 131 name it in the same field.
pub(crate) fn babbler(notice: &NoticeSm) -> Option<(Lid, PortNum)> {
    let about_a_link = matches!(
        TrapNumber(notice.trap_number()),
        TrapNumber::LOCAL_LINK_INTEGRITY
            | TrapNumber::EXCESSIVE_BUFFER_OVERRUN
            | TrapNumber::FLOW_CONTROL_UPDATE_WATCHDOG
    );
    let details = notice.data_details();
    let (details, _) = NoticeDetails129::parse(details, 0).ok()?;
    (about_a_link && notice.is_generic()).then(|| (details.lidaddr(), details.port_num()))
}

/// Returns true if a device complains of the M_Key of a TrapRepress.
pub(crate) fn is_about_repress(notice: &NoticeSm) -> bool {
    let details = NoticeDetails256::parse(notice.data_details(), 0).ok();
    notice.is_generic()
        && TrapNumber(notice.trap_number()) == TrapNumber::BAD_M_KEY
        && details.is_some_and(|(details, _)| details.method() == Method::TRAP_REPRESS)
}

/// Parses a trap of subnet management, whether directed-route or LID-routed.
pub(crate) fn notice(mad: &Mad) -> Option<NoticeSm> {
    let header = mad.header();
    if header.method() != Method::TRAP || header.attribute_id() != NoticeSm::ID {
        return None;
    }
    smp_data(mad).map(NoticeSm::from_bytes)
}

/// The data of an SMP, whether directed-route or LID-routed.
pub(crate) fn smp_data(mad: &Mad) -> Option<[u8; 64]> {
    match mad.header().mgmt_class() {
        MgmtClass::SUBN_LID => Some(*SmpLidRouted::parse(&mad.bytes, 0).ok()?.0.smp_data()),
        MgmtClass::SUBN_DIRECTED => Some(*SmpDirected::parse(&mad.bytes, 0).ok()?.0.smp_data()),
        _ => None,
    }
}

/// The TrapRepress that stops a trap: the same transaction and notice, sent back to the trap's origin.
pub(crate) fn repress(trap: &Mad, m_key: MKey) -> Option<Mad> {
    let mut answer = *trap;
    match trap.header().mgmt_class() {
        MgmtClass::SUBN_LID => {
            let (smp, _) = SmpLidRouted::parse_mut(&mut answer.bytes, 0).ok()?;
            smp.set_method(Method::TRAP_REPRESS).set_m_key(m_key);
        }
        // The response takes the same path back.
        MgmtClass::SUBN_DIRECTED => {
            let (smp, _) = SmpDirected::parse_mut(&mut answer.bytes, 0).ok()?;
            smp.set_method(Method::TRAP_REPRESS)
                .set_m_key(m_key)
                .set_d(DrDirection::RETURNING);
        }
        _ => return None,
    }
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link_state_change(lid: u16) -> NoticeSm {
        let mut notice = NoticeSm::default();
        notice
            .set_is_generic(true)
            .set_trap_number(TrapNumber::LINK_STATE_CHANGE.0)
            .set_issuer_lid(Lid(lid));
        notice
    }

    #[test]
    fn a_flood_of_equal_traps_asks_for_ten_sweeps() {
        let mut filter = TrapFilter::default();
        let judged = (0..100u64).map(|tenths| {
            let now = Instant::from_nanos(tenths * 100_000_000);
            filter.judge(now, &link_state_change(7))
        });
        let sweeps = judged.filter(|&action| action == TrapAction::Sweep).count();
        assert_eq!(sweeps, 10);
    }

    #[test]
    fn a_trap_after_a_pause_counts_again() {
        let mut filter = TrapFilter::default();
        for second in 0..30 {
            let now = Instant::from_nanos(second * 6_000_000_000);
            let action = filter.judge(now, &link_state_change(7));
            assert_eq!(action, TrapAction::Sweep, "after {second} pauses");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut filter = TrapFilter::default();
        for lid in 1..5000 {
            let _ = filter.judge(Instant::ZERO, &link_state_change(lid));
        }
        assert!(filter.seen.len() <= KINDS);
    }
}
