//! Two engines that the test connects by passing their datagrams.

mod interleavings;
mod takeovers;
mod trio;

use ib_mad::{MadAddress, MgmtClass};
use ib_sa::{JoinState, McMemberRecord, ServiceRecord};
use ib_wire::{Gid, Lid, Sl};

use super::*;
use crate::registrations::{GroupRegistration, GuidRegistration, SubscriptionRegistration};

const MASTER: Guid = Guid(1);
const STANDBY: Guid = Guid(2);

fn own(guid: Guid, sm_key: u64) -> Own {
    Own {
        guid,
        sm_key: SmKey(sm_key),
    }
}

fn engine() -> Replication {
    Replication::new(WindowConfig::default(), TransactionId(7))
}

/// Ports 1 to `count` in one group.
fn members(count: u64) -> Registrations {
    group_of(1..=count)
}

/// A group with these ports.
fn group_of(ports: impl IntoIterator<Item = u64>) -> Registrations {
    let mut group = McMemberRecord::default();
    group.set_mgid(Gid([0xff; 16])).set_mlid(Lid(0xc001));
    let member = |port: u64| {
        let mut member = group;
        member
            .set_port_gid(Gid(u128::from(port).to_be_bytes()))
            .set_join_state(JoinState::FULL_MEMBER);
        member
    };
    Registrations {
        groups: Vec::from([GroupRegistration {
            group,
            well_known: false,
            members: ports.into_iter().map(member).collect(),
        }]),
        ..Registrations::default()
    }
}

/// A master and a standby, and the datagrams between them.
struct Pair {
    master: Replication,
    standby: Replication,
    keys: [u64; 2],
    now: Instant,
    /// Datagrams that the master sent.
    sent: usize,
    /// Changes the master's datagrams; `None` loses one.
    spoil: fn(usize, Mad) -> Option<Mad>,
}

impl Pair {
    fn new() -> Self {
        let mut pair = Self {
            master: engine(),
            standby: engine(),
            keys: [5, 5],
            now: Instant::ZERO,
            sent: 0,
            spoil: |_, mad| Some(mad),
        };
        pair.standby.stand_by_for(pair.now, MASTER);
        let address = MadAddress::gsi(Lid(2), Sl::ZERO);
        pair.master
            .set_peers(pair.now, &BTreeMap::from([(STANDBY, address)]));
        pair
    }

    fn run(&mut self, time: Duration) {
        let end = self.now.saturating_add(time);
        loop {
            let (ours, theirs) = (own(MASTER, self.keys[0]), own(STANDBY, self.keys[1]));
            let mut moved = false;
            while let Some(mad) = self.master.poll_transmit(self.now) {
                self.sent += 1;
                moved = true;
                if let Some(mad) = (self.spoil)(self.sent, mad) {
                    self.standby
                        .handle_mad(self.now, theirs, Some(MASTER), &mad);
                }
            }
            while let Some(mad) = self.standby.poll_transmit(self.now) {
                moved = true;
                self.master.handle_mad(self.now, ours, None, &mad);
            }
            if moved {
                continue;
            }
            let due = [self.master.poll_timeout(), self.standby.poll_timeout()];
            match due.into_iter().flatten().min().filter(|at| *at <= end) {
                Some(at) => self.now = at.max(self.now),
                None => break,
            }
            self.master.handle_timeout(self.now, ours, None);
            self.standby.handle_timeout(self.now, theirs, Some(MASTER));
        }
        self.now = end;
    }

    fn tell(&mut self, version: u64, all: &Registrations) {
        let ours = own(MASTER, self.keys[0]);
        self.master.update(self.now, ours, version, all);
    }

    fn held(&mut self) -> Option<Registrations> {
        self.standby.take_replica(self.now)
    }
}

#[test]
fn a_standby_holds_what_the_master_was_told_and_changes_cost_what_they_are() {
    let mut pair = Pair::new();
    pair.tell(1, &members(1000));
    pair.run(Duration::from_secs(5));
    let whole = pair.sent;
    // One more member: a question and one short message, not 1,000 members again.
    pair.tell(2, &members(1001));
    pair.run(Duration::from_secs(5));
    assert!(pair.sent - whole < 10, "{} of {whole}", pair.sent - whole);
    assert!(whole > 200);
    // And members that leave.
    pair.tell(3, &members(900));
    pair.run(Duration::from_secs(5));
    assert_eq!(pair.held(), Some(members(900)));
    assert_eq!(pair.held(), None);
}

#[test]
fn losses_cost_time_and_nothing_else() {
    let mut pair = Pair::new();
    pair.spoil = |number, mad| (number % 3 != 0).then_some(mad);
    pair.tell(1, &members(200));
    pair.run(Duration::from_secs(300));
    assert_eq!(pair.held(), Some(members(200)));
}

#[test]
fn a_changed_bit_is_found_and_all_is_sent_again() {
    let mut pair = Pair::new();
    pair.spoil = |number, mut mad| {
        // The second message is the first segment of the update; this is a byte after its header.
        if number == 2 {
            mad.bytes[120] ^= 1;
        }
        Some(mad)
    };
    pair.tell(1, &members(3));
    pair.run(Duration::from_secs(60));
    assert_eq!(pair.held(), Some(members(3)));
}

#[test]
fn a_manager_with_another_key_gets_nothing() {
    let mut pair = Pair::new();
    pair.keys = [5, 6];
    pair.tell(1, &members(3));
    pair.run(Duration::from_secs(60));
    assert_eq!(pair.held(), None);
}

#[test]
fn a_manager_that_does_not_answer_is_asked_once() {
    let mut pair = Pair::new();
    pair.spoil = |_, _| None;
    pair.tell(1, &members(3));
    pair.run(Duration::from_secs(60));
    // One question with its repetitions.
    let asked = pair.sent;
    assert!((1..=4).contains(&asked), "{asked}");
    pair.tell(2, &members(4));
    pair.run(Duration::from_secs(3600));
    assert_eq!(pair.sent, asked);
    // It was away and comes back, perhaps running another program.
    pair.master.set_peers(pair.now, &BTreeMap::new());
    let address = MadAddress::gsi(Lid(2), Sl::ZERO);
    let found = BTreeMap::from([(STANDBY, address)]);
    pair.master.set_peers(pair.now, &found);
    pair.spoil = |_, mad| Some(mad);
    pair.run(Duration::from_secs(10));
    assert_eq!(pair.held(), Some(members(4)));
}

#[test]
fn an_update_of_another_manager_or_an_old_mastership_is_not_taken() {
    let mut pair = Pair::new();
    pair.tell(1, &members(3));
    pair.run(Duration::from_secs(5));
    let header = |master, epoch, base| {
        let mut header = ReplicaHeader::of(SmKey(5), master, epoch);
        header.set_base(base).set_sequence(9);
        header
    };
    let theirs = own(STANDBY, 5);
    for header in [
        header(Guid(3), 7, 1),
        header(MASTER, 8, 1),
        header(MASTER, 7, 0),
    ] {
        let data = message::write(&header, core::iter::empty(), pair.now);
        pair.standby.take_in(pair.now, theirs, MASTER, &data);
        let held = pair.standby.replica.as_ref().map(|held| held.sequence);
        assert_eq!(held, Some(1), "{header:?}");
    }
    let good = message::write(&header(MASTER, 7, 1), core::iter::empty(), pair.now);
    pair.standby.take_in(pair.now, theirs, MASTER, &good);
    let held = pair.standby.replica.as_ref().map(|held| held.sequence);
    assert_eq!(held, Some(9));
}

#[test]
fn leases_go_on_at_the_standby() {
    let service = |id, lease| {
        let mut record = ServiceRecord::default();
        record.set_service_id(id).set_service_lease(lease);
        record
    };
    let all = |services: &[ServiceRecord]| Registrations {
        services: services.to_vec(),
        ..Registrations::default()
    };
    let mut pair = Pair::new();
    pair.tell(
        1,
        &all(&[service(1, 100), service(2, 10), service(3, u32::MAX)]),
    );
    pair.run(Duration::from_secs(5));
    let sent = pair.sent;
    // The same services with their remaining leases are no change.
    pair.tell(
        2,
        &all(&[service(1, 95), service(2, 5), service(3, u32::MAX)]),
    );
    pair.run(Duration::from_secs(55));
    assert_eq!(pair.sent, sent);
    assert_eq!(
        pair.held(),
        Some(all(&[service(1, 40), service(3, u32::MAX)]))
    );
}

#[test]
fn any_bytes_are_refused_or_taken_without_a_panic() {
    let whole = message::write(
        &ReplicaHeader::of(SmKey(5), MASTER, 7),
        entry::entries(&members(2), Instant::ZERO)
            .iter()
            .map(|(key, entry)| (key, Some(entry))),
        Instant::ZERO,
    );
    for length in 0..whole.len() {
        let cut = message::read(&whole[..length], Instant::ZERO);
        assert!(cut.is_err(), "{length}");
    }
    assert!(message::read(&whole, Instant::ZERO).is_ok());
}

#[test]
fn the_state_of_the_master_before_is_kept_for_a_minute() {
    const NEXT: Guid = Guid(3);
    for (seconds, held) in [(59, Some(members(3))), (60, None)] {
        let mut pair = Pair::new();
        pair.tell(1, &members(3));
        pair.run(Duration::from_secs(5));
        pair.standby.stand_by_for(pair.now, NEXT);
        // The new master dies before it has sent anything.
        pair.now = pair.now.saturating_add(Duration::from_secs(seconds));
        assert_eq!(pair.held(), held);
    }
}

fn gid(port: u64) -> Gid {
    Gid(u128::from(port).to_be_bytes())
}

fn service(id: u64, port: u64, p_key: u16) -> ServiceRecord {
    let mut record = ServiceRecord::default();
    record
        .set_service_id(id)
        .set_service_gid(gid(port))
        .set_service_p_key(ib_wire::PKey(p_key))
        .set_service_lease(u32::MAX);
    record
}

fn subscription(port: u64, number: u16) -> SubscriptionRegistration {
    let mut record = ib_sa::InformInfoRecord::default();
    record.set_subscriber_gid(gid(port)).set_enumeration(number);
    SubscriptionRegistration {
        record,
        address: MadAddress {
            qpn: ib_wire::Qpn::try_new(0x1234).unwrap(),
            path_bits: 3,
            ..MadAddress::gsi(Lid(9), Sl::try_new(2).unwrap())
        },
    }
}

fn guids(port: u64, block: u8, guid: u64) -> GuidRegistration {
    let mut info = ib_smp::GuidInfo::default();
    info.set_guid_block(1, Guid(guid)).unwrap();
    let mut record = ib_sa::GuidInfoRecord::default();
    record.set_block_num(block).set_guid_info(&info);
    GuidRegistration {
        port_guid: Guid(port),
        record,
    }
}

/// Several registrations of each kind, of which some differ in one field of their identity only.
fn every_kind() -> Registrations {
    let mut group = members(3).groups.remove(0);
    group.well_known = true;
    let mut other = members(2).groups.remove(0);
    let mgid = Gid([0xfe; 16]);
    other.group.set_mgid(mgid);
    for member in &mut other.members {
        member.set_mgid(mgid);
    }
    Registrations {
        groups: Vec::from([other, group]),
        subscriptions: Vec::from([subscription(1, 1), subscription(1, 2), subscription(2, 2)]),
        services: Vec::from([
            service(1, 1, 1),
            service(1, 1, 2),
            service(1, 2, 1),
            service(2, 1, 1),
        ]),
        guids: Vec::from([guids(1, 0, 50), guids(1, 1, 51), guids(2, 0, 52)]),
    }
}

#[test]
fn every_kind_of_registration_is_held_and_each_is_changed_and_removed_by_itself() {
    let mut pair = Pair::new();
    pair.tell(1, &every_kind());
    pair.run(Duration::from_secs(5));
    let held = pair.standby.replica.clone();
    assert_eq!(pair.held(), Some(every_kind()));
    pair.standby.replica = held;
    pair.standby.stand_by_for(pair.now, MASTER);

    let mut fewer = every_kind();
    fewer.groups[0].members.remove(0);
    fewer.subscriptions.remove(1);
    fewer.subscriptions[1].address.lid = Lid(10);
    fewer.services.remove(2);
    fewer.services[0].set_service_data8(3, 7).unwrap();
    fewer.guids.remove(1);
    fewer.guids[1] = guids(2, 0, 53);
    pair.tell(2, &fewer);
    pair.run(Duration::from_secs(5));
    assert_eq!(pair.held(), Some(fewer));
}

#[test]
fn bodies_that_encode_no_registration_are_refused() {
    let entries = entry::entries(&every_kind(), Instant::ZERO);
    assert_eq!(entries.len(), 2 + 5 + 3 + 4 + 3);
    for (key, Entry { body, .. }) in &entries {
        assert_eq!(entry::key_of(body).as_ref(), Ok(key));
        for length in 0..body.len() {
            let cut = entry::key_of(&body[..length]);
            assert_eq!(cut, Err(entry::BadEntry), "{length} of {body:?}");
        }
        let long = [body, &[0][..]].concat();
        assert_eq!(entry::key_of(&long), Err(entry::BadEntry), "{body:?}");
        let mut unknown = body.clone();
        unknown[0] = 77;
        assert_eq!(entry::key_of(&unknown), Err(entry::BadEntry));
        // What cannot be read is left out, and the rest is read.
        let bad = Entry {
            body: long,
            until: None,
        };
        let all = entries.values().chain([&bad]);
        let read = entry::registrations(all, Instant::ZERO);
        assert_eq!(read, every_kind());
    }
}

#[test]
fn the_state_is_updated_a_moment_after_a_change_if_there_is_a_standby() {
    let at = |millis: u64| Instant::ZERO.saturating_add(Duration::from_millis(millis));
    let mut pair = Pair::new();
    let master = &mut pair.master;
    assert!(master.has_peers());
    assert!(!master.wants_registrations(at(500)));
    master.note_version(at(1000), 1);
    // A second change does not put the first one off.
    master.note_version(at(1050), 2);
    assert!(!master.wants_registrations(at(1099)));
    assert!(master.wants_registrations(at(1100)));
    assert_eq!(
        master.poll_timeout().map(|due| due.min(at(1100))),
        Some(Instant::ZERO),
        "the standby is asked at once"
    );
    let ours = own(MASTER, 5);
    master.update(at(1100), ours, 2, &members(1));
    assert!(!master.wants_registrations(at(5000)));
    master.note_version(at(5000), 2);
    assert!(!master.wants_registrations(at(9000)), "no new version");
    master.set_peers(at(5000), &BTreeMap::new());
    assert!(!master.has_peers());
    master.note_version(at(5000), 3);
    assert!(!master.wants_registrations(at(9000)), "nobody to tell");
}

#[test]
fn a_master_that_retires_keeps_what_it_told_for_a_minute() {
    for (seconds, held) in [(59, Some(members(3))), (60, None)] {
        let mut pair = Pair::new();
        pair.tell(1, &members(3));
        pair.run(Duration::from_secs(5));
        let epoch = pair.master.epoch;
        pair.master.retire(pair.now);
        assert!(!pair.master.has_peers());
        assert_ne!(pair.master.epoch, epoch);
        assert_eq!(pair.master.last_master(), None);
        let later = pair.now.saturating_add(Duration::from_secs(seconds));
        assert_eq!(pair.master.take_replica(later), held);
        pair.master.stand_by_for(pair.now, STANDBY);
        assert_eq!(pair.master.last_master(), Some(STANDBY));
        assert_eq!(pair.master.take_replica(later), None);
        assert_eq!(pair.master.last_master(), None);
    }
    let mut empty = engine();
    empty.retire(Instant::ZERO);
    assert_eq!(empty.take_replica(Instant::ZERO), None);
}

#[test]
fn a_standby_answers_questions_of_its_class_and_key_and_nothing_else() {
    let mut pair = Pair::new();
    pair.tell(1, &members(3));
    pair.run(Duration::from_secs(5));
    let theirs = own(STANDBY, 5);
    let asked = |key: u64, method, attribute| {
        let header = ReplicaHeader::of(SmKey(key), MASTER, 7);
        let from = MadAddress {
            qkey: ib_wire::QKey(4),
            ..MadAddress::gsi(Lid(1), Sl::ZERO)
        };
        message::datagram(method, attribute, from, TransactionId(88), Some(&header))
    };
    let question = asked(5, Method::GET, message::STATE);
    assert!(Replication::is_ours(&question));
    for (mad, master, expected) in [
        (question, Some(MASTER), Some((MASTER, 7, 1))),
        // What it holds of a master is no answer to another one.
        (question, Some(Guid(3)), Some((Guid(3), 0, 0))),
        (question, None, Some((Guid::NONE, 0, 0))),
        (asked(6, Method::GET, message::STATE), Some(MASTER), None),
        (asked(5, Method::SET, message::STATE), Some(MASTER), None),
        (asked(5, Method::GET, message::UPDATE), Some(MASTER), None),
    ] {
        pair.standby.handle_mad(pair.now, theirs, master, &mad);
        let answer = pair.standby.poll_transmit(pair.now);
        let held = answer.map(|answer| {
            let header = answer.header();
            assert_eq!(header.method(), Method::GET_RESP);
            assert_eq!(header.attribute_id(), message::STATE);
            assert_eq!(header.transaction_id(), TransactionId(88));
            assert_eq!(answer.address.qkey, ib_wire::QKey::GSI);
            assert_eq!(answer.address.lid, Lid(1));
            let held = message::header_of(&answer).unwrap();
            (held.master(), held.epoch(), held.sequence())
        });
        assert_eq!(held, expected);
    }
    let mut other_layout = ReplicaHeader::of(SmKey(5), MASTER, 7);
    other_layout.set_format(2);
    let other_layout = message::datagram(
        Method::GET,
        message::STATE,
        question.address,
        TransactionId(88),
        Some(&other_layout),
    );
    let mut other_organisation = question;
    let (other, _) = ib_mad::VendorRange2Mad::parse_mut(&mut other_organisation.bytes, 0).unwrap();
    other.set_oui(ib_mad::Oui(0x02_4943));
    for mad in [other_layout, other_organisation] {
        pair.standby
            .handle_mad(pair.now, theirs, Some(MASTER), &mad);
        assert_eq!(pair.standby.poll_transmit(pair.now), None);
    }
    for (class, version) in [(MgmtClass::PERF, 1), (message::CLASS, 2)] {
        let mut foreign = question;
        foreign
            .header_mut()
            .set_mgmt_class(class)
            .set_class_version(version);
        assert!(!Replication::is_ours(&foreign));
    }
    // The memory for questions whose answers are never taken is bounded.
    for _ in 0..100 {
        pair.standby
            .handle_mad(pair.now, theirs, Some(MASTER), &question);
    }
    assert_eq!(pair.standby.answers.len(), 64);
}

#[test]
fn removed_entries_are_remembered_up_to_a_limit() {
    for (count, remembered) in [(MAX_REMOVED, MAX_REMOVED), (MAX_REMOVED + 1, 0)] {
        let mut master = engine();
        let ours = own(MASTER, 5);
        let group = Registrations {
            groups: members(0).groups,
            ..Registrations::default()
        };
        master.update(Instant::ZERO, ours, 1, &members(count as u64));
        master.update(Instant::ZERO, ours, 2, &group);
        assert_eq!(master.removed, remembered);
        assert_eq!(master.slots.len(), 1 + remembered);
        assert_eq!((master.sequence, master.oldest == 2), (2, remembered == 0));
        // One that comes back is not removed any more.
        master.update(Instant::ZERO, ours, 3, &members(1));
        assert_eq!(master.removed, remembered.saturating_sub(1));
        master.update(Instant::ZERO, ours, 4, &members(1));
        assert_eq!(master.sequence, 3, "nothing has changed");
    }
}

#[test]
fn a_lease_renewed_by_less_than_two_seconds_is_no_change() {
    let entry = |seconds: Option<u64>| Entry {
        body: Vec::from([1]),
        until: seconds.map(|at| Instant::ZERO.saturating_add(Duration::from_millis(at))),
    };
    for (a, b, same) in [
        (Some(5000), Some(5000), true),
        (Some(5000), Some(6999), true),
        (Some(6999), Some(5000), true),
        (Some(5000), Some(7000), false),
        (Some(7000), Some(5000), false),
        (Some(5000), None, false),
        (None, None, true),
    ] {
        assert_eq!(is_same(&entry(a), &entry(b)), same, "{a:?} {b:?}");
    }
    let other = Entry {
        body: Vec::from([2]),
        until: None,
    };
    assert!(!is_same(&entry(None), &other));
}

#[test]
fn the_successor_is_sent_everything_unless_it_holds_a_state_or_is_silent() {
    let ours = own(MASTER, 5);
    let mut pair = Pair::new();
    pair.tell(1, &members(3));
    // It is due to be asked: it may hold nothing.
    pair.master.flush(pair.now, ours, STANDBY);
    let state = pair.master.peers[&STANDBY].state;
    assert!(matches!(state, PeerState::Sending(_)), "{state:?}");
    pair.run(Duration::from_secs(5));
    let state = pair.master.peers[&STANDBY].state;
    assert_eq!(state, PeerState::Holds(1));
    for known in [state, PeerState::Silent] {
        pair.master.peers.get_mut(&STANDBY).unwrap().state = known;
        pair.master.flush(pair.now, ours, STANDBY);
        assert_eq!(pair.master.peers[&STANDBY].state, known);
    }
    pair.master.flush(pair.now, ours, Guid(99));
    assert_eq!(pair.master.poll_transmit(pair.now), None);
    assert_eq!(pair.held(), Some(members(3)));
}

#[test]
fn an_older_update_of_one_mastership_is_dropped_whenever_it_arrives() {
    let mut pair = Pair::new();
    for version in 1..=3 {
        pair.tell(version, &members(version));
        pair.run(Duration::from_secs(5));
    }
    let theirs = own(STANDBY, 5);
    // Epoch and sequence of a whole state, and those that are held after it.
    for ((epoch, sequence), held) in [
        ((7, 2), (7, 3)),
        ((7, 3), (7, 3)),
        ((8, 1), (8, 1)),
        ((7, 0), (7, 0)),
        ((7, 4), (7, 4)),
    ] {
        let mut header = ReplicaHeader::of(SmKey(5), MASTER, epoch);
        header.set_is_whole(1).set_sequence(sequence);
        let data = message::write(&header, core::iter::empty(), pair.now);
        let before = pair.standby.replica.as_ref().map(|held| held.entries.len());
        pair.standby.take_in(pair.now, theirs, MASTER, &data);
        let after = pair.standby.replica.as_ref().unwrap();
        assert_eq!((after.epoch, after.sequence), held);
        let entries = if sequence == 2 { before.unwrap() } else { 0 };
        assert_eq!(after.entries.len(), entries, "{epoch} {sequence}");
    }
}

#[test]
fn a_standby_that_was_away_for_a_while_is_asked_again_and_one_that_stays_away_is_not() {
    for (away, held) in [(8, Some(members(4))), (3600, None)] {
        let mut pair = Pair::new();
        pair.tell(1, &members(3));
        pair.run(Duration::from_secs(5));
        pair.spoil = |_, _| None;
        pair.tell(2, &members(4));
        pair.run(Duration::from_secs(away));
        let sent = pair.sent;
        pair.spoil = |_, mad| Some(mad);
        pair.run(Duration::from_secs(120));
        assert_eq!(pair.sent > sent, held.is_some());
        // What it held before is outdated, but better than nothing.
        let expected = held.or(Some(members(3)));
        assert_eq!(pair.held(), expected);
    }
}

#[test]
fn a_service_ends_at_the_end_of_its_lease() {
    let at = |seconds| Instant::ZERO.saturating_add(Duration::from_secs(seconds));
    let mut record = service(1, 1, 1);
    record.set_service_lease(10);
    let all = Registrations {
        services: Vec::from([record]),
        ..Registrations::default()
    };
    let entries = entry::entries(&all, at(5));
    for (now, left) in [(5, Some(10)), (14, Some(1)), (15, None), (16, None)] {
        let read = entry::registrations(entries.values(), at(now));
        let read = read.services.first().map(|service| service.service_lease());
        assert_eq!(read, left, "{now}");
    }
}
