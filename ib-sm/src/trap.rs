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

    fn seconds(at: u64) -> Instant {
        Instant::from_nanos(at * 1_000_000_000)
    }

    /// A notice of a port about itself.
    fn about_port(number: TrapNumber) -> NoticeSm {
        let mut notice = link_state_change(7);
        let mut details = NoticeDetails129::default();
        details.set_lidaddr(Lid(7)).set_port_num(PortNum(3));
        notice
            .set_trap_number(number.0)
            .set_data_details(&ib_wire::table::padded(details.as_bytes()));
        notice
    }

    #[test]
    fn only_traps_about_changes_of_the_subnet_ask_for_a_sweep() {
        let judge = |notice: &NoticeSm| TrapFilter::default().judge(Instant::ZERO, notice);
        for number in [
            TrapNumber::LINK_STATE_CHANGE,
            TrapNumber::CAPABILITY_MASK_CHANGE,
            TrapNumber::SYSTEM_IMAGE_GUID_CHANGE,
        ] {
            assert_eq!(judge(&about_port(number)), TrapAction::Sweep);
            // A vendor's trap with that number means something else.
            let mut vendor = about_port(number);
            vendor.set_is_generic(false);
            assert_eq!(judge(&vendor), TrapAction::Report);
        }
        for number in [TrapNumber::LOCAL_LINK_INTEGRITY, TrapNumber::BAD_M_KEY] {
            assert_eq!(judge(&about_port(number)), TrapAction::Report);
        }
    }

    #[test]
    fn a_trap_counts_as_repeated_whatever_its_toggle_and_count_say() {
        let mut filter = TrapFilter::default();
        let judged = (0..20).map(|number| {
            let mut notice = link_state_change(7);
            notice
                .set_notice_toggle(number % 2 == 1)
                .set_notice_count(number);
            filter.judge(Instant::ZERO, &notice)
        });
        let acted_on = judged.filter(|&action| action == TrapAction::Sweep).count();
        assert_eq!(acted_on, PATIENCE as usize);
        assert_eq!(filter.seen.len(), 1);
    }

    #[test]
    fn a_pause_of_exactly_the_window_is_no_pause() {
        let mut filter = TrapFilter::default();
        for number in 0..30 {
            let action = filter.judge(seconds(5 * number), &link_state_change(7));
            let expected = match number < PATIENCE.into() {
                true => TrapAction::Sweep,
                false => TrapAction::Ignore,
            };
            assert_eq!(action, expected, "trap {number}");
        }
    }

    #[test]
    fn the_two_hundred_and_fiftieth_trap_about_link_errors_shuts_the_port_off() {
        let shut_off = |notice: &NoticeSm| {
            let mut filter = TrapFilter::default();
            let mut judged = (1..=400).map(|_| filter.judge(Instant::ZERO, notice));
            judged.position(|action| action == TrapAction::ShutOff)
        };
        for number in [
            TrapNumber::LOCAL_LINK_INTEGRITY,
            TrapNumber::EXCESSIVE_BUFFER_OVERRUN,
            TrapNumber::FLOW_CONTROL_UPDATE_WATCHDOG,
        ] {
            let notice = about_port(number);
            assert_eq!(babbler(&notice), Some((Lid(7), PortNum(3))));
            assert_eq!(shut_off(&notice), Some(249));
            let mut vendor = notice;
            vendor.set_is_generic(false);
            assert_eq!(babbler(&vendor), None);
            assert_eq!(shut_off(&vendor), None);
        }
        let about_a_change = about_port(TrapNumber::LINK_STATE_CHANGE);
        assert_eq!(babbler(&about_a_change), None);
        assert_eq!(shut_off(&about_a_change), None);
    }

    #[test]
    fn a_full_memory_forgets_old_traps_and_acts_on_no_new_ones() {
        let mut filter = TrapFilter::default();
        for lid in 0..KINDS as u16 {
            let action = filter.judge(seconds(0), &link_state_change(lid));
            assert_eq!(action, TrapAction::Sweep, "{lid}");
        }
        // Those that are counted go on being counted.
        let known = filter.judge(seconds(5), &link_state_change(1));
        assert_eq!(known, TrapAction::Sweep);
        let new = filter.judge(seconds(5), &link_state_change(1000));
        assert_eq!(new, TrapAction::Report);
        assert_eq!(filter.seen.len(), KINDS);
        let new = filter.judge(seconds(6), &link_state_change(1000));
        assert_eq!(new, TrapAction::Sweep);
        assert_eq!(filter.seen.len(), 2, "the new one, and the one of 5 s");
    }

    #[test]
    fn a_repress_goes_back_with_the_notice_and_the_key() {
        let route = |class: MgmtClass| {
            let mut mad = Mad::new(ib_mad::MadAddress::smi(Lid(7)));
            mad.header_mut()
                .set_mgmt_class(class)
                .set_method(Method::TRAP)
                .set_attribute_id(NoticeSm::ID);
            mad
        };
        for class in [MgmtClass::SUBN_LID, MgmtClass::SUBN_DIRECTED] {
            let trap = route(class);
            assert!(notice(&trap).is_some());
            let answer = repress(&trap, MKey(0x77)).unwrap();
            assert_eq!(answer.header().method(), Method::TRAP_REPRESS);
            assert_eq!(answer.bytes[24..32], 0x77_u64.to_be_bytes());
            assert_eq!(answer.address, trap.address);
            assert_eq!(notice(&answer), None, "a repress is no trap");
            let mut other = trap;
            other.header_mut().set_attribute_id(ib_smp::NodeInfo::ID);
            assert_eq!(notice(&other), None);
        }
        let foreign = route(MgmtClass::PERF);
        assert_eq!(notice(&foreign), None);
        assert_eq!(repress(&foreign, MKey(0)), None);
    }

    #[test]
    fn a_complaint_about_the_key_of_a_repress_is_told_from_others() {
        let complaint = |method: Method, number: TrapNumber| {
            let mut details = NoticeDetails256::default();
            details.set_method(method);
            let mut notice = link_state_change(7);
            notice
                .set_trap_number(number.0)
                .set_data_details(&ib_wire::table::padded(details.as_bytes()));
            notice
        };
        let mut notice = complaint(Method::TRAP_REPRESS, TrapNumber::BAD_M_KEY);
        assert!(is_about_repress(&notice));
        notice.set_is_generic(false);
        assert!(!is_about_repress(&notice));
        assert!(!is_about_repress(&complaint(
            Method::SET,
            TrapNumber::BAD_M_KEY
        )));
        let other = complaint(Method::TRAP_REPRESS, TrapNumber::LINK_STATE_CHANGE);
        assert!(!is_about_repress(&other));
    }
}
