//! Connections over links that lose, repeat and reorder, and messages out of place.

use alloc::{collections::BTreeMap, vec::Vec};
use core::time::Duration;

use arbitrary::Unstructured;
use ib_wire::{Guid, Lid, Qpn, Sl};

use crate::{
    Apr, CmConfig, CmEvent, CommunicationManager, ConnectOptions, ConnectionId, ConnectionState,
    Dreq, Lap, Mra, QueryId, Rej, RejReason, Rep, Req, Rtu, SidrRep, SidrReq,
};
use ib_mad::{Engine, Input, Instant, Mad, MadAddress, Method, MgmtClass, RespTime};

const SERVICE: u64 = 0x1234;
const RETRIES: u8 = 3;
const LIMIT: usize = 8;

/// The history of a connection on one side.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    closed: u32,
    released: u32,
}

/// A manager and its consumer, which decides by the bytes of the input.
struct Side {
    cm: CommunicationManager,
    fates: BTreeMap<ConnectionId, Fate>,
}

impl Side {
    fn new(guid: u64) -> Self {
        let mut cm = CommunicationManager::new(CmConfig {
            ca_guid: Guid(guid),
            packet_life_time: RespTime::from_bits(8),
            max_wait: Duration::from_secs(2),
            max_connections: LIMIT,
            max_resolutions: LIMIT,
            max_queries: LIMIT,
            resolve_retries: RETRIES,
            max_replies: LIMIT,
            first_communication_id: (guid as u32) << 8,
            ..CmConfig::default()
        });
        cm.listen(SERVICE, u64::MAX);
        Self {
            cm,
            fates: BTreeMap::new(),
        }
    }

    fn connect(&mut self, qpn: u32, peer_to_peer: bool) -> Option<ConnectionId> {
        let mut req = Req::default();
        req.set_service_id(SERVICE ^ u64::from(peer_to_peer))
            .set_local_qpn(Qpn::try_new(qpn).unwrap())
            .set_remote_cm_response_timeout(14)
            .set_local_cm_response_timeout(14)
            .set_max_cm_retries(RETRIES);
        let options = ConnectOptions {
            packet_life_time: RespTime::from_bits(8),
            peer_to_peer,
        };
        let id = self.cm.connect(address(), &req, options).ok()?;
        self.fates.insert(id, Fate::default());
        Some(id)
    }

    /// The consumer's answer to an event: mostly yes.
    fn decide(&mut self, event: CmEvent, mood: u8) {
        match event {
            CmEvent::Requested { connection, .. } => {
                self.fates.entry(connection).or_default();
                if mood & 4 != 0 {
                    let mut mra = Mra::default();
                    mra.set_service_timeout(16);
                    self.cm.delay(connection, &mra).unwrap();
                }
                if mood & 3 == 3 {
                    self.cm.reject(connection, &no()).unwrap();
                } else {
                    let mut rep = Rep::default();
                    let qpn = connection.0 & 0xff_ffff;
                    rep.set_local_qpn(Qpn::try_new(qpn).unwrap());
                    self.cm.accept(connection, &rep).unwrap();
                }
            }
            CmEvent::Replied { connection, .. } => {
                if mood & 3 == 3 {
                    self.cm.reject(connection, &no()).unwrap();
                } else {
                    self.cm.confirm(connection, &Rtu::default()).unwrap();
                }
                if mood & 0x84 == 4 {
                    let _ = self.cm.load_path(connection, &Lap::default());
                }
                if mood & 0x88 == 8 {
                    let _ = self.cm.disconnect(connection, &Dreq::default());
                }
            }
            CmEvent::Established { connection, .. } if mood & 0x88 == 8 => {
                self.cm.disconnect(connection, &Dreq::default()).unwrap();
            }
            CmEvent::PathOffered { connection, .. } => {
                let _ = self.cm.answer_path(connection, &Apr::default());
            }
            CmEvent::Queried { query, .. } => {
                self.cm.answer_query(query, &SidrRep::default()).unwrap();
            }
            CmEvent::Closed { connection, .. } => {
                let fate = self.fates.get_mut(&connection).unwrap();
                fate.closed += 1;
                assert_eq!((fate.closed, fate.released), (1, 0), "{connection:?}");
            }
            CmEvent::Released { connection } => {
                let fate = self.fates.get_mut(&connection).unwrap();
                fate.released += 1;
                assert_eq!((fate.closed, fate.released), (1, 1), "{connection:?}");
            }
            _ => {}
        }
    }

    fn stands(&self, id: ConnectionId) -> bool {
        self.cm.state(id) == Some(ConnectionState::Established)
    }

    fn standing(&self) -> Vec<ConnectionId> {
        let ids = self.fates.keys().copied();
        ids.filter(|&id| self.stands(id)).collect()
    }
}

fn no() -> Rej {
    let mut rej = Rej::default();
    rej.set_reason(RejReason::CONSUMER_REJECT);
    rej
}

fn address() -> MadAddress {
    MadAddress::gsi(Lid(7), Sl::ZERO)
}

/// Two managers and the wire between them.
struct Lab<'a> {
    sides: [Side; 2],
    now: Instant,
    wire: Vec<(usize, Mad)>,
    /// Copies that arrive long after.
    late: Vec<(usize, Mad)>,
    fates: Unstructured<'a>,
    /// Messages that may still be lost.
    losses: usize,
    /// Words that end a connection, lost.
    farewells_lost: usize,
    /// Consumers say yes to everything.
    is_kind: bool,
}

impl<'a> Lab<'a> {
    fn new(bytes: &'a [u8], losses: usize) -> Self {
        Self {
            sides: [Side::new(1), Side::new(2)],
            now: Instant::ZERO,
            wire: Vec::new(),
            late: Vec::new(),
            fates: Unstructured::new(bytes),
            losses,
            farewells_lost: 0,
            is_kind: false,
        }
    }

    /// The next byte of the input; nothing goes wrong once it is used up.
    fn byte(&mut self) -> u8 {
        match self.fates.is_empty() {
            true => 255,
            false => self.fates.arbitrary().unwrap_or(255),
        }
    }

    fn run(&mut self) {
        for round in 0.. {
            assert!(round < 100_000, "it never ends");
            self.exchange();
            if self.byte() < 64 || self.fates.is_empty() {
                self.wire.append(&mut self.late);
                self.exchange();
            }
            let timeouts = self.sides.iter().filter_map(|side| side.cm.poll_timeout());
            let Some(next) = timeouts.min() else {
                break;
            };
            self.now = self.now.max(next);
            for side in &mut self.sides {
                side.cm.handle_timeout(self.now);
            }
        }
    }

    /// Carries all that is to be said at one moment.
    fn exchange(&mut self) {
        for _ in 0..1000 {
            let mut moved = false;
            for from in 0..2 {
                while let Some(mad) = self.sides[from].cm.poll_transmit(self.now) {
                    self.carry(1 - from, mad);
                    moved = true;
                }
                while let Some(event) = self.sides[from].cm.poll_event() {
                    let mood = match self.is_kind {
                        true => 0x80,
                        false => self.byte() ^ 0x80,
                    };
                    self.sides[from].decide(event, mood);
                    moved = true;
                }
            }
            if !self.wire.is_empty() {
                let at = match self.byte() {
                    at @ 0..64 => usize::from(at) % self.wire.len(),
                    _ => 0,
                };
                let (to, mad) = self.wire.remove(at);
                self.sides[to].cm.handle_input(self.now, Input::Mad(&mad));
            } else if !moved {
                return;
            }
        }
        panic!("they never fall silent");
    }

    fn carry(&mut self, to: usize, mad: Mad) {
        match self.byte() {
            0..64 if self.losses > 0 => {
                self.losses -= 1;
                let attribute = mad.header().attribute_id().0;
                // REJ, DREQ and DREP.
                self.farewells_lost += usize::from(matches!(attribute, 0x12 | 0x15 | 0x16));
            }
            64..96 => self.wire.extend([(to, mad), (to, mad)]),
            96..128 => {
                self.wire.push((to, mad));
                self.late.push((to, mad));
            }
            _ => self.wire.push((to, mad)),
        }
    }

    /// Takes down every connection: nothing is left of any.
    fn clean_up(&mut self) {
        self.is_kind = true;
        self.fates = Unstructured::new(&[]);
        for side in 0..2 {
            for id in self.sides[side].standing() {
                let _ = self.sides[side].cm.disconnect(id, &Dreq::default());
            }
            self.run();
        }
        for side in &self.sides {
            let open = (
                side.cm.connections(),
                side.cm.resolutions(),
                side.cm.queries(),
            );
            assert_eq!(open, (0, 0, 0));
            for (id, fate) in &side.fates {
                assert_eq!((fate.closed, fate.released), (1, 1), "{id:?}");
            }
        }
    }
}

/// As long as fewer messages are lost than are repeated, a connection that is not refused is established:
/// both sides agree, whatever is repeated or comes in another order.
pub fn few_losses_leave_both_connected(bytes: &[u8]) {
    let mut lab = Lab::new(bytes, usize::from(RETRIES));
    lab.is_kind = true;
    let peer_to_peer = lab.byte() & 1 == 0;
    let first = lab.sides[0].connect(0x48, peer_to_peer).unwrap();
    if peer_to_peer {
        lab.sides[1].connect(0x49, peer_to_peer).unwrap();
    }
    lab.run();
    assert!(lab.sides[0].stands(first));
    let standing = lab.sides.each_ref().map(Side::standing);
    assert_eq!(standing.each_ref().map(Vec::len), [1, 1], "{standing:?}");
    lab.clean_up();
}

/// Whatever is lost, repeated or reordered and whatever the consumers want: each connection ends once;
/// the sides agree in the end unless the words that end a connection were lost; nothing is left.
pub fn any_link_leaves_agreement(bytes: &[u8]) {
    let mut lab = Lab::new(bytes, usize::MAX);
    let what = lab.byte();
    let count = u32::from(what % 3) + 1;
    for qpn in 0x40..0x40 + count {
        lab.sides[0].connect(qpn, what & 0x80 != 0);
        if what & 0x40 == 0 {
            lab.sides[1].connect(qpn, what & 0x80 != 0);
        }
    }
    if what & 0x20 != 0 {
        let mut req = SidrReq::default();
        req.set_service_id(SERVICE);
        lab.sides[0].cm.resolve(address(), &req).unwrap();
    }
    lab.run();
    let standing = lab.sides.each_ref().map(|side| side.standing().len());
    if lab.farewells_lost == 0 {
        assert_eq!(standing[0], standing[1]);
    }
    lab.clean_up();
}

/// Whatever messages arrive and whatever the consumer does: the limits hold, and all ends.
pub fn any_cm_messages_stay_within_bounds(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let mut side = Side::new(1);
    let mut now = Instant::ZERO;
    while !u.is_empty() {
        let (what, which) = u.arbitrary::<(u8, u8)>().unwrap_or_default();
        let id = ConnectionId(0x100 + u32::from(which % 16));
        let cm = &mut side.cm;
        match what % 16 {
            0 => drop(side.connect(which.into(), which & 1 == 0)),
            1 => drop(cm.disconnect(id, &Dreq::default())),
            2 => drop(cm.delay(id, &Mra::default())),
            3 => drop(cm.load_path(id, &Lap::default())),
            4 => drop(cm.resolve(address(), &SidrReq::default())),
            5 => drop(cm.answer_query(QueryId(which.into()), &SidrRep::default())),
            6 => cm.data_arrived(id),
            7 => {
                now = now + Duration::from_millis(u64::from(which) * 16);
                cm.handle_timeout(now);
            }
            _ => {
                let mad = message(what, which, &mut u);
                cm.handle_input(now, Input::Mad(&mad));
            }
        }
        let mut sent = 0;
        while side.cm.poll_transmit(now).is_some() {
            sent += 1;
            assert!(sent < 100, "it does not stop");
        }
        while let Some(event) = side.cm.poll_event() {
            side.decide(event, which);
        }
        assert!(side.cm.connections() <= LIMIT);
        assert!(side.cm.resolutions() <= LIMIT && side.cm.queries() <= LIMIT);
    }
    end(&mut side, now);
}

/// A message with some fields that make it go further than the first checks.
fn message(what: u8, which: u8, u: &mut Unstructured<'_>) -> Mad {
    let mut mad = Mad::new(address());
    let body: [u8; 64] = u.arbitrary().unwrap_or([0; 64]);
    mad.bytes[24..88].copy_from_slice(&body);
    mad.header_mut()
        .set_base_version(1)
        .set_class_version(if what == 0xff { 1 } else { 2 })
        .set_mgmt_class(MgmtClass::COM_MGT)
        .set_method(Method::SEND)
        .set_attribute_id(ib_mad::AttributeId(0x10 + u16::from(which % 12)))
        .set_transaction_id(ib_mad::TransactionId((which / 16).into()));
    // Numbers of both sides are small, and the queue pair is one of few.
    let remote = [0, 0, 0, which / 64];
    mad.bytes[24..28].copy_from_slice(&remote);
    if what & 0x10 == 0 {
        mad.bytes[28..32].copy_from_slice(&[0, 0, 1, which % 16]);
    }
    if which.is_multiple_of(12) {
        let service = SERVICE ^ u64::from(what & 1);
        mad.bytes[32..40].copy_from_slice(&service.to_be_bytes());
        mad.bytes[40..48].copy_from_slice(&u64::from(what / 64).to_be_bytes());
    }
    mad
}

/// The consumer drops all, and time passes.
fn end(side: &mut Side, mut now: Instant) {
    for _ in 0..10_000 {
        for id in side.fates.keys().copied().collect::<Vec<_>>() {
            let _ = side.cm.reject(id, &no());
            let _ = side.cm.disconnect(id, &Dreq::default());
        }
        while side.cm.poll_transmit(now).is_some() {}
        while let Some(event) = side.cm.poll_event() {
            side.decide(event, 3);
        }
        match side.cm.poll_timeout() {
            Some(next) => {
                now = now.max(next);
                side.cm.handle_timeout(now);
            }
            None if side.cm.connections() == 0 => break,
            None => {}
        }
    }
    let open = (
        side.cm.connections(),
        side.cm.resolutions(),
        side.cm.queries(),
        side.cm.poll_timeout(),
    );
    assert_eq!(open, (0, 0, 0, None));
    for (id, fate) in &side.fates {
        assert_eq!((fate.closed, fate.released), (1, 1), "{id:?}");
    }
}
