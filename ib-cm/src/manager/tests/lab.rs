//! Two managers, `A` and `B`, a wire that loses chosen messages, and a transcript.

use alloc::{format, string::String, vec::Vec};
use core::time::Duration;

use ib_wire::{Guid, Lid, Qpn, Sl};

use ib_mad::*;

use crate::{manager::*, *};

pub(super) const SERVICE: u64 = 0x1000_0000_0106_04d2;
pub(super) const A: usize = 0;
pub(super) const B: usize = 1;
const NAMES: [&str; 2] = ["A", "B"];

pub(super) struct Lab {
    pub(super) sides: [CommunicationManager; 2],
    pub(super) now: Instant,
    pub(super) events: [Vec<CmEvent>; 2],
    /// Everything that was sent, in order, with the sender.
    pub(super) sent: Vec<(usize, Mad)>,
    transcript: Vec<String>,
    /// Messages to lose: sender and name.
    losses: Vec<(usize, &'static str)>,
}

pub(super) fn config(side: usize) -> CmConfig {
    CmConfig {
        ca_guid: Guid(0xa + side as u64),
        packet_life_time: RespTime::from_bits(10),
        first_communication_id: [0xa0, 0xb0][side],
        ..CmConfig::default()
    }
}

/// 2^18 * 4.096 us, more than a second, in each direction; two repetitions.
pub(super) fn req() -> Req {
    let mut req = Req::default();
    req.set_service_id(SERVICE)
        .set_local_qpn(Qpn::try_new(0xaaa).unwrap())
        .set_remote_cm_response_timeout(18)
        .set_local_cm_response_timeout(18)
        .set_max_cm_retries(2);
    req
}

pub(super) fn rep() -> Rep {
    let mut rep = Rep::default();
    rep.set_local_qpn(Qpn::try_new(0xbbb).unwrap())
        .set_target_ack_delay(15);
    rep
}

pub(super) fn mra(service_timeout: u8) -> Mra {
    let mut mra = Mra::default();
    mra.set_service_timeout(service_timeout);
    mra
}

pub(super) fn rej(reason: RejReason) -> Rej {
    let mut rej = Rej::default();
    rej.set_reason(reason);
    rej
}

pub(super) fn address() -> MadAddress {
    MadAddress::gsi(Lid(7), Sl::ZERO)
}

pub(super) fn options() -> ConnectOptions {
    ConnectOptions {
        packet_life_time: RespTime::from_bits(10),
        peer_to_peer: false,
    }
}

impl Lab {
    pub(super) fn new() -> Self {
        Self::with([config(A), config(B)])
    }

    pub(super) fn with(configs: [CmConfig; 2]) -> Self {
        let mut sides = configs.map(CommunicationManager::new);
        sides[B].listen(SERVICE, u64::MAX);
        Self {
            sides,
            now: Instant::ZERO,
            events: [Vec::new(), Vec::new()],
            sent: Vec::new(),
            transcript: Vec::new(),
            losses: Vec::new(),
        }
    }

    /// An established connection, with an empty transcript: numbers of A and of B.
    pub(super) fn established() -> (Self, ConnectionId, ConnectionId) {
        let mut lab = Self::new();
        let (a, b) = lab.ask();
        lab.accept(b);
        lab.confirm(a);
        assert_eq!(lab.state(A, a), Some(ConnectionState::Established));
        assert_eq!(lab.state(B, b), Some(ConnectionState::Established));
        lab.transcript.clear();
        (lab, a, b)
    }

    pub(super) fn connect(&mut self) -> ConnectionId {
        self.sides[A].connect(address(), &req(), options()).unwrap()
    }

    /// A sends a REQ, and B reports it: numbers of A and of B.
    pub(super) fn ask(&mut self) -> (ConnectionId, ConnectionId) {
        self.ask_with(&req())
    }

    pub(super) fn ask_with(&mut self, req: &Req) -> (ConnectionId, ConnectionId) {
        let a = self.sides[A].connect(address(), req, options()).unwrap();
        self.exchange();
        (a, self.requested())
    }

    /// B accepts, and all is said that follows.
    pub(super) fn accept(&mut self, b: ConnectionId) {
        self.sides[B].accept(b, &rep()).unwrap();
        self.exchange();
    }

    /// A confirms, and all is said that follows.
    pub(super) fn confirm(&mut self, a: ConnectionId) {
        self.sides[A].confirm(a, &Rtu::default()).unwrap();
        self.exchange();
    }

    /// The connection that B was asked for last.
    pub(super) fn requested(&self) -> ConnectionId {
        let last = self.events[B].iter().rev().find_map(|event| match event {
            CmEvent::Requested { connection, .. } => Some(*connection),
            _ => None,
        });
        last.expect("no REQ came")
    }

    pub(super) fn state(&self, side: usize, id: ConnectionId) -> Option<ConnectionState> {
        self.sides[side].state(id)
    }

    /// Loses the next such message of this side.
    pub(super) fn lose(&mut self, side: usize, name: &'static str) {
        self.losses.push((side, name));
    }

    /// Carries all that is to be said at this moment.
    pub(super) fn exchange(&mut self) {
        loop {
            let mut said = Vec::new();
            for side in [A, B] {
                self.hear(side);
                while let Some(mad) = self.sides[side].poll_transmit(self.now) {
                    said.push((side, mad));
                }
            }
            if said.is_empty() {
                return;
            }
            for (side, mad) in said {
                self.carry(side, mad);
            }
        }
    }

    fn carry(&mut self, side: usize, mad: Mad) {
        let name = name(&mad);
        self.sent.push((side, mad));
        let loss = self.losses.iter().position(|&loss| loss == (side, name));
        if let Some(at) = loss {
            self.losses.remove(at);
            return self.note(format!("{}: {name}, lost", NAMES[side]));
        }
        self.note(format!("{}: {name}", NAMES[side]));
        self.deliver(1 - side, &mad);
    }

    /// A message arrives at this side.
    pub(super) fn deliver(&mut self, side: usize, mad: &Mad) {
        self.sides[side].handle_input(self.now, Input::Mad(mad));
        self.hear(side);
    }

    fn hear(&mut self, side: usize) {
        while let Some(event) = self.sides[side].poll_event() {
            self.note(format!("   {} reports {}", NAMES[side], report_of(&event)));
            self.events[side].push(event);
        }
    }

    /// Time passes until something is due, and all is said.
    pub(super) fn wait(&mut self) {
        let timeouts = self.sides.iter().filter_map(Engine::poll_timeout);
        self.now = timeouts.min().expect("nothing is due");
        for side in [A, B] {
            self.sides[side].handle_timeout(self.now);
            self.hear(side);
        }
        self.exchange();
    }

    /// Time passes until nothing is due.
    pub(super) fn wait_for_end(&mut self) {
        while self.sides.iter().any(|side| side.poll_timeout().is_some()) {
            self.wait();
        }
    }

    /// The message that was sent last under this name.
    pub(super) fn last_sent(&self, what: &str) -> Mad {
        let mut sent = self.sent.iter().rev();
        sent.find(|(_, mad)| name(mad) == what).expect(what).1
    }

    fn note(&mut self, line: String) {
        self.transcript.push(line);
    }

    /// Everything since the last look was exactly this.
    #[track_caller]
    pub(super) fn expect(&mut self, expected: &[&str]) {
        let transcript = core::mem::take(&mut self.transcript);
        assert_eq!(transcript, expected);
    }

    /// All is over and forgotten.
    #[track_caller]
    pub(super) fn expect_nothing_left(&self) {
        for side in &self.sides {
            let open = (side.connections(), side.resolutions(), side.queries());
            assert_eq!(open, (0, 0, 0), "{side:?}");
            assert_eq!(side.poll_timeout(), None);
        }
    }

    pub(super) fn since(&self, earlier: Instant) -> Duration {
        self.now.since(earlier)
    }
}

pub(super) fn name(mad: &Mad) -> &'static str {
    let id = mad.header().attribute_id();
    let mut entries = CmAttribute::ATTRIBUTES.iter();
    entries
        .find(|entry| entry.id == id)
        .expect("a message")
        .name
}

fn report_of(event: &CmEvent) -> String {
    String::from(match event {
        CmEvent::Requested { .. } => "Requested",
        CmEvent::Replied { .. } => "Replied",
        CmEvent::Established { .. } => "Established",
        CmEvent::Closed { reason, .. } => return format!("Closed, {}", why(reason)),
        CmEvent::Released { .. } => "Released",
        CmEvent::PathOffered { .. } => "PathOffered",
        CmEvent::PathAnswered { apr, .. } => return format!("PathAnswered {}", apr.ap_status()),
        CmEvent::PathTimedOut { .. } => "PathTimedOut",
        CmEvent::Resolved { answer, .. } => return format!("Resolved {}", answer.status()),
        CmEvent::ResolveTimedOut { .. } => "ResolveTimedOut",
        CmEvent::Queried { .. } => "Queried",
    })
}

fn why(reason: &CloseReason) -> String {
    String::from(match reason {
        CloseReason::Rejected(rej) => {
            return format!("Rejected {} {}", rej.message_rejected(), rej.reason());
        }
        CloseReason::RejectedHere => "RejectedHere",
        CloseReason::TimedOut => "TimedOut",
        CloseReason::DisconnectedByPeer(_) => "DisconnectedByPeer",
        CloseReason::Disconnected(_) => "Disconnected",
        CloseReason::DisconnectTimedOut => "DisconnectTimedOut",
        CloseReason::Stale => "Stale",
    })
}
