//! Two engines that the test connects by passing their datagrams.

mod interleavings;
mod takeovers;
mod trio;

use ib_mad::MadAddress;
use ib_sa::{JoinState, McMemberRecord, ServiceRecord};
use ib_wire::{Gid, Lid, Sl};

use super::*;
use crate::registrations::GroupRegistration;

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
