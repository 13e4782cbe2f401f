//! Subscriptions: the notices that each subscriber wants, and the Reports that carry them (IBA vol. 1,
//! 13.4.11 and 15.2.5.12).
//! A host subscribes by Set(InformInfo). Each notice, from a device's trap or from the manager itself, is sent as
//! a Report to every subscription that it matches, and repeated until a ReportResp arrives.

use alloc::{collections::BTreeSet, vec::Vec};

use ib_mad::{
    Attribute, Engine, InformInfo, Instant, Mad, MadAddress, MadMatch, MadStatus, Method, Notice,
    TransactionWindow, TrapNumber, WindowConfig,
};
use ib_sa::{InformInfoRecord, SaMad};
use ib_wire::{Gid, Guid, Lid, QKey, addr::LidRange, table::padded};

use crate::registrations::SubscriptionRegistration;

/// Maximum number of subscriptions, one for each number that they can have; beyond it they are refused.
const MAX_SUBSCRIPTIONS: usize = 1 << 16;
/// Maximum number of subscriptions of one port.
const MAX_SUBSCRIPTIONS_PER_PORT: usize = 1 << 10;
/// Maximum number of queued Reports; beyond it the newest are lost, as traps may be.
const MAX_REPORTS: usize = 1 << 16;

/// Value of a filter field that matches any value.
const ANY: u16 = 0xffff;
const ANY_PRODUCER: u32 = 0xff_ffff;

#[derive(Clone, Copy, Debug)]
struct Subscription {
    address: MadAddress,
    gid: Gid,
    enumeration: u16,
    filter: InformInfo,
}

/// All subscriptions, and the Reports without an answer so far.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    all: Vec<Subscription>,
    /// The numbers of all subscriptions.
    numbers: BTreeSet<u16>,
    /// The number to try first for the next subscription.
    next: u16,
    window: TransactionWindow<()>,
}

impl Subscriptions {
    pub(crate) fn new(config: WindowConfig) -> Self {
        Self {
            all: Vec::new(),
            numbers: BTreeSet::new(),
            next: 0,
            window: TransactionWindow::new(WindowConfig {
                max_requests: MAX_REPORTS,
                ..config
            }),
        }
    }

    /// Number of subscriptions.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns true if at least half of the room is taken.
    pub(crate) fn is_half_full(&self) -> bool {
        self.all.len() >= MAX_SUBSCRIPTIONS / 2
    }

    /// Applies Set(InformInfo) from a port.
    pub(crate) fn set(
        &mut self,
        address: MadAddress,
        gid: Gid,
        wanted: &InformInfo,
    ) -> Result<InformInfo, MadStatus> {
        // The subscription and the request that ends it differ only in this field.
        let mut filter = *wanted;
        filter.set_subscribe(1);
        let is_it = |known: &Subscription| {
            known.gid == gid && known.address.qpn == address.qpn && same(&known.filter, &filter)
        };
        match wanted.subscribe() {
            1 if self.all.iter().any(is_it) => {}
            1 => {
                let of_port = self.all.iter().filter(|known| known.gid == gid).count();
                let number = self
                    .free_number()
                    .filter(|_| of_port < MAX_SUBSCRIPTIONS_PER_PORT);
                let Some(enumeration) = number else {
                    return Err(MadStatus::from_sa(ib_mad::SaStatus::NO_RESOURCES));
                };
                self.add(Subscription {
                    address,
                    gid,
                    enumeration,
                    filter,
                });
            }
            0 if self.all.iter().any(is_it) => self.retain(|known| !is_it(known)),
            _ => return Err(MadStatus::from_sa(ib_mad::SaStatus::REQ_INVALID)),
        }
        Ok(*wanted)
    }

    /// All subscriptions, with the addresses of their Reports.
    pub(crate) fn registrations(&self) -> Vec<SubscriptionRegistration> {
        let addresses = self.all.iter().map(|known| known.address);
        let records = self.records().into_iter().zip(addresses);
        records
            .map(|(record, address)| SubscriptionRegistration { record, address })
            .collect()
    }

    /// Restores a subscription from before a restart.
    pub(crate) fn restore(&mut self, kept: &SubscriptionRegistration) {
        let number = Some(kept.record.enumeration()).filter(|it| !self.numbers.contains(it));
        if let Some(enumeration) = number.or_else(|| self.free_number()) {
            self.add(Subscription {
                address: kept.address,
                gid: kept.record.subscriber_gid(),
                enumeration,
                filter: *kept.record.inform_info(),
            });
        }
    }

    /// All subscriptions as records.
    pub(crate) fn records(&self) -> Vec<InformInfoRecord> {
        let each = self.all.iter().map(|known| {
            let mut record = InformInfoRecord::default();
            record
                .set_subscriber_gid(known.gid)
                .set_enumeration(known.enumeration)
                .set_inform_info(&known.filter);
            record
        });
        each.collect()
    }

    /// Reports a notice to all subscribers that are present; `lids_of` gives the LIDs of a port that is present.
    pub(crate) fn report(&mut self, notice: &Notice, lids_of: impl Fn(Gid) -> Option<LidRange>) {
        for known in self.all.iter().filter(|known| fits(&known.filter, notice)) {
            let Some(lids) = lids_of(known.gid) else {
                continue;
            };
            // A port that came back may have another LID than when it subscribed.
            let lid = match lids.contains(known.address.lid) {
                true => known.address.lid,
                false => lids.base(),
            };
            let mut report = SaMad::new(Method::REPORT, Notice::ID);
            report.set_data(&padded(notice.as_bytes()));
            let mad = Mad {
                address: MadAddress {
                    lid,
                    qkey: QKey::GSI,
                    ..known.address
                },
                bytes: *report.as_bytes(),
            };
            let _ = self.window.request(&mad, ());
        }
    }

    /// Ends the subscriptions of ports that are gone.
    pub(crate) fn retain_ports(&mut self, keep: impl Fn(Guid) -> bool) {
        self.retain(|known| keep(known.gid.guid()));
    }

    /// Accepts a ReportResp. Returns whether the datagram is one.
    pub(crate) fn handle_mad(&mut self, now: Instant, mad: &Mad) -> bool {
        let header = mad.header();
        let is_answer =
            header.method() == Method::REPORT_RESP && header.attribute_id() == Notice::ID;
        is_answer && !matches!(self.window.handle_mad(now, mad), MadMatch::Unsolicited)
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.window.handle_timeout(now);
        // A subscriber that is absent for a short time keeps its subscription.
        while self.window.poll_failure().is_some() {}
    }

    pub(crate) fn handle_send_failed(&mut self, mad: &Mad) {
        self.window.handle_send_failed(mad);
        while self.window.poll_failure().is_some() {}
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        self.window.poll_transmit(now)
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.window.poll_timeout()
    }

    /// The next unused number; `None` if there are too many subscriptions.
    fn free_number(&self) -> Option<u16> {
        let mut numbers = (0..=u16::MAX).map(|ahead| self.next.wrapping_add(ahead));
        numbers.find(|number| !self.numbers.contains(number))
    }

    fn add(&mut self, subscription: Subscription) {
        self.next = subscription.enumeration.wrapping_add(1);
        self.numbers.insert(subscription.enumeration);
        self.all.push(subscription);
    }

    fn retain(&mut self, stays: impl Fn(&Subscription) -> bool) {
        let numbers = &mut self.numbers;
        self.all.retain(|known| {
            if !stays(known) {
                numbers.remove(&known.enumeration);
            }
            stays(known)
        });
    }
}

/// Returns true if two filters select the same notices.
fn same(a: &InformInfo, b: &InformInfo) -> bool {
    a.gid() == b.gid()
        && a.lid_range_begin() == b.lid_range_begin()
        && a.lid_range_end() == b.lid_range_end()
        && a.is_generic() == b.is_generic()
        && a.type_() == b.type_()
        && a.trap_number() == b.trap_number()
        && a.producer_type() == b.producer_type()
}

/// Returns true if a filter selects a notice.
fn fits(filter: &InformInfo, notice: &Notice) -> bool {
    let trap = TrapNumber(notice.trap_number());
    // For ports and groups that appear and disappear, the filter names the port or group itself, not the issuer
    // of the notice.
    let about = match trap {
        TrapNumber::GID_IN_SERVICE
        | TrapNumber::GID_OUT_OF_SERVICE
        | TrapNumber::MC_GROUP_CREATED
        | TrapNumber::MC_GROUP_DELETED => {
            let (_, rest) = notice.data_details().split_at(6);
            Gid(*rest.first_chunk().unwrap_or(&[0; 16]))
        }
        _ => notice.issuer_gid(),
    };
    let gid = filter.gid();
    let (begin, end) = (filter.lid_range_begin(), filter.lid_range_end());
    let in_range = begin == Lid::PERMISSIVE
        || begin == Lid::NONE
        || (begin..=end.max(begin)).contains(&notice.issuer_lid());
    let by_issuer = match gid.bits() {
        0 => in_range,
        _ => gid == about,
    };
    by_issuer
        && (filter.is_generic() != 0) == notice.is_generic()
        && (filter.type_() == ANY || filter.type_() == u16::from(notice.type_().0))
        && (filter.trap_number() == ANY || filter.trap_number() == notice.trap_number())
        && (filter.producer_type() == ANY_PRODUCER
            || filter.producer_type() == notice.producer_type())
}

#[cfg(test)]
mod tests {
    use ib_wire::Sl;

    use super::*;

    fn subscribe(subscriptions: &mut Subscriptions, port: u16, trap: u16, on: u8) -> bool {
        let mut filter = InformInfo::default();
        filter.set_trap_number(trap).set_subscribe(on);
        let address = MadAddress::gsi(Lid(port), Sl::ZERO);
        let gid = Gid(u128::from(port).to_be_bytes());
        subscriptions.set(address, gid, &filter).is_ok()
    }

    fn numbers(subscriptions: &Subscriptions) -> Vec<u16> {
        let records = subscriptions.records().into_iter();
        records.map(|record| record.enumeration()).collect()
    }

    #[test]
    fn no_two_subscriptions_have_one_number() {
        let mut subscriptions = Subscriptions::new(WindowConfig::default());
        assert!(subscribe(&mut subscriptions, 1, 64, 1));
        // The numbers wrap around once while the first subscription stays.
        for _ in 0..=u16::MAX {
            assert!(subscribe(&mut subscriptions, 2, 65, 1));
            assert!(subscribe(&mut subscriptions, 2, 65, 0));
        }
        assert!(subscribe(&mut subscriptions, 3, 66, 1));
        let numbers = numbers(&subscriptions);
        assert_eq!(numbers.len(), 2);
        assert_ne!(numbers.first(), numbers.last(), "{numbers:?}");
    }

    #[test]
    fn numbers_from_before_a_restart_are_not_given_again() {
        let mut before = Subscriptions::new(WindowConfig::default());
        for trap in 64..68 {
            assert!(subscribe(&mut before, 1, trap, 1));
        }
        let mut subscriptions = Subscriptions::new(WindowConfig::default());
        assert!(subscribe(&mut subscriptions, 2, 1, 1));
        for kept in before.registrations() {
            subscriptions.restore(&kept);
        }
        assert!(subscribe(&mut subscriptions, 3, 1, 1));
        let mut numbers = numbers(&subscriptions);
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 6);
    }

    #[test]
    fn one_port_cannot_take_the_room_of_all() {
        let mut subscriptions = Subscriptions::new(WindowConfig::default());
        for trap in 0..MAX_SUBSCRIPTIONS_PER_PORT as u16 {
            assert!(subscribe(&mut subscriptions, 1, trap, 1));
        }
        assert!(!subscribe(&mut subscriptions, 1, 5000, 1));
        assert!(subscribe(&mut subscriptions, 2, 5000, 1));
        assert!(subscribe(&mut subscriptions, 1, 0, 0));
        assert!(subscribe(&mut subscriptions, 1, 5000, 1));
    }

    fn gid(bits: u128) -> Gid {
        Gid(bits.to_be_bytes())
    }

    /// A notice that a switch reports about its own link.
    fn notice() -> Notice {
        let mut notice = Notice::default();
        notice
            .set_is_generic(true)
            .set_type(ib_mad::NoticeType::URGENT)
            .set_producer_type(2)
            .set_trap_number(TrapNumber::LINK_STATE_CHANGE.0)
            .set_issuer_lid(Lid(20))
            .set_issuer_gid(gid(77));
        notice
    }

    /// A filter that selects [`notice`] by every field but the GID, which excludes a range of LIDs.
    fn filter() -> InformInfo {
        let mut filter = InformInfo::default();
        filter
            .set_lid_range_begin(Lid(20))
            .set_lid_range_end(Lid(20))
            .set_is_generic(1)
            .set_subscribe(1)
            .set_type(1)
            .set_trap_number(TrapNumber::LINK_STATE_CHANGE.0)
            .set_producer_type(2);
        filter
    }

    /// Filters that differ from [`filter`] in one field each, and true if they select [`notice`] as well.
    fn variants() -> Vec<(InformInfo, bool)> {
        let variant = |change: &dyn Fn(&mut InformInfo), selects| {
            let mut filter = filter();
            change(&mut filter);
            (filter, selects)
        };
        Vec::from([
            variant(
                &|it| {
                    it.set_lid_range_begin(Lid::PERMISSIVE);
                },
                true,
            ),
            variant(
                &|it| {
                    it.set_lid_range_begin(Lid::NONE);
                },
                true,
            ),
            variant(
                &|it| {
                    it.set_lid_range_begin(Lid(10));
                },
                true,
            ),
            variant(
                &|it| {
                    it.set_lid_range_begin(Lid(21));
                },
                false,
            ),
            // An end below the begin means a range of one LID.
            variant(
                &|it| {
                    it.set_lid_range_end(Lid(0));
                },
                true,
            ),
            variant(
                &|it| {
                    it.set_lid_range_end(Lid(30));
                },
                true,
            ),
            variant(
                &|it| {
                    it.set_gid(gid(77));
                },
                true,
            ),
            variant(
                &|it| {
                    it.set_gid(gid(78));
                },
                false,
            ),
            variant(
                &|it| {
                    it.set_is_generic(0);
                },
                false,
            ),
            variant(
                &|it| {
                    it.set_type(ANY);
                },
                true,
            ),
            variant(
                &|it| {
                    it.set_type(3);
                },
                false,
            ),
            variant(
                &|it| {
                    it.set_trap_number(ANY);
                },
                true,
            ),
            variant(
                &|it| {
                    it.set_trap_number(129);
                },
                false,
            ),
            variant(
                &|it| {
                    it.set_producer_type(ANY_PRODUCER);
                },
                true,
            ),
            variant(
                &|it| {
                    it.set_producer_type(1);
                },
                false,
            ),
        ])
    }

    #[test]
    fn each_field_of_a_filter_selects_notices() {
        assert!(fits(&filter(), &notice()));
        for (filter, selects) in variants() {
            assert_eq!(fits(&filter, &notice()), selects, "{filter:?}");
        }
        let mut range = filter();
        range
            .set_lid_range_begin(Lid(10))
            .set_lid_range_end(Lid(19));
        assert!(!fits(&range, &notice()));
    }

    /// IBA vol. 1, 13.4.8.3: the GID of a filter is compared with the port or group that the notice is about, if it
    /// is one about ports or groups that appear and disappear.
    #[test]
    fn a_filter_names_the_port_or_group_that_appears_or_disappears() {
        for trap in [64, 65, 66, 67] {
            let mut notice = notice();
            let mut details = [0; 54];
            details[6..22].copy_from_slice(&gid(1234).0);
            notice.set_trap_number(trap).set_data_details(&details);
            let mut filter = filter();
            filter.set_trap_number(trap).set_gid(gid(1234));
            assert!(fits(&filter, &notice), "{trap}");
            filter.set_gid(gid(77));
            assert!(!fits(&filter, &notice), "{trap}: the issuer");
        }
    }

    #[test]
    fn a_subscription_is_ended_only_by_the_same_filter_port_and_queue_pair() {
        let mut subscriptions = Subscriptions::new(WindowConfig::default());
        let address = MadAddress::gsi(Lid(1), Sl::ZERO);
        assert!(subscriptions.set(address, gid(1), &filter()).is_ok());
        // Once more is not an error, and no further subscription.
        assert!(subscriptions.set(address, gid(1), &filter()).is_ok());
        assert_eq!(subscriptions.len(), 1);
        let mut end = filter();
        end.set_subscribe(0);
        for (mut other, _) in variants() {
            other.set_subscribe(0);
            assert!(subscriptions.set(address, gid(1), &other).is_err());
        }
        let other_queue_pair = MadAddress {
            qpn: ib_wire::Qpn::try_new(7).unwrap(),
            ..address
        };
        assert!(subscriptions.set(other_queue_pair, gid(1), &end).is_err());
        assert!(subscriptions.set(address, gid(2), &end).is_err());
        end.set_subscribe(2);
        assert!(subscriptions.set(address, gid(1), &end).is_err());
        assert_eq!(subscriptions.len(), 1);
        end.set_subscribe(0);
        assert!(subscriptions.set(address, gid(1), &end).is_ok());
        assert_eq!(subscriptions.len(), 0);
        assert!(subscriptions.numbers.is_empty());
    }

    #[test]
    fn a_report_goes_to_the_present_lid_of_a_subscriber_that_is_present() {
        let mut subscriptions = Subscriptions::new(WindowConfig::default());
        let address = MadAddress {
            qkey: QKey(5),
            ..MadAddress::gsi(Lid(6), Sl::ZERO)
        };
        assert!(subscriptions.set(address, gid(1), &filter()).is_ok());
        let now = Instant::ZERO;
        for (base, expected) in [(4, Some(6)), (8, Some(8)), (0, None)] {
            let lmc = ib_wire::Lmc::try_new(2).unwrap();
            let lids = LidRange::try_new(Lid(base), lmc).ok();
            subscriptions.report(&notice(), |_| lids.filter(|_| base != 0));
            let sent = subscriptions.poll_transmit(now);
            assert_eq!(sent.map(|mad| mad.address.lid), expected.map(Lid));
            if let Some(mut sent) = sent {
                assert_eq!(sent.address.qkey, QKey::GSI);
                assert!(subscriptions.poll_timeout().is_some());
                // Only a ReportResp for a Notice ends the repetition.
                assert!(!subscriptions.handle_mad(now, &sent));
                sent.header_mut()
                    .set_method(Method::REPORT_RESP)
                    .set_attribute_id(InformInfo::ID);
                assert!(!subscriptions.handle_mad(now, &sent));
                sent.header_mut().set_attribute_id(Notice::ID);
                assert!(subscriptions.handle_mad(now, &sent));
            }
            assert_eq!(subscriptions.poll_timeout(), None);
        }
        let other = {
            let mut notice = notice();
            notice.set_trap_number(129);
            notice
        };
        subscriptions.report(&other, |_| {
            LidRange::try_new(Lid(4), ib_wire::Lmc::ZERO).ok()
        });
        assert_eq!(subscriptions.poll_transmit(now), None);
    }

    #[test]
    fn the_room_for_subscriptions_ends() {
        let mut subscriptions = Subscriptions::new(WindowConfig::default());
        for port in 0..64 {
            assert_eq!(subscriptions.is_half_full(), port >= 32, "{port}");
            for trap in 0..1024 {
                assert!(subscriptions.is_half_full() == (port >= 32));
                subscriptions.add(Subscription {
                    address: MadAddress::gsi(Lid(port), Sl::ZERO),
                    gid: gid(port.into()),
                    enumeration: port * 1024 + trap,
                    filter: filter(),
                });
            }
        }
        assert_eq!(subscriptions.free_number(), None);
        subscriptions.retain_ports(|guid| guid != Guid(9));
        assert_eq!(subscriptions.len(), 63 * 1024);
        assert_eq!(subscriptions.free_number(), Some(9 * 1024));
    }
}
