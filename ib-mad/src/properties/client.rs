//! A client whose responders do whatever they like.

use alloc::vec::Vec;
use core::time::Duration;

use arbitrary::Unstructured;
use bytes::Bytes;
use ib_wire::{Lid, Qpn, Sl};

use super::rmpp::CONFIG;
use crate::{
    AttributeId, CallError, ClassPortInfo, Client, ClientConfig, ClientEvent, Engine, Input,
    Instant, Mad, MadAddress, MadStatus, Method, MgmtClass, Request, Response, Rmpp, RmppConfig,
    RmppEvent, RmppHeader, RmppType, TransactionId, WindowConfig,
};

/// Longer than all time-outs and repetitions of a request and its answer together.
const LONGEST: Duration = Duration::from_secs(200);

/// A request for a table, or one that is a message of many segments itself.
struct Ask {
    mad: Mad,
    data: Option<Bytes>,
}

impl Ask {
    fn new(which: u8) -> Self {
        let (method, data) = match which % 4 {
            0 => (Method::GET_MULTI, Some(Bytes::from_static(&[7; 900]))),
            _ => (Method::GET_TABLE, None),
        };
        let lid = Lid(u16::from(which / 4) % 3 + 1);
        let mut mad = Mad::new(MadAddress::gsi(lid, Sl::ZERO));
        mad.header_mut()
            .set_base_version(1)
            .set_class_version(2)
            .set_mgmt_class(MgmtClass::SUBN_ADM)
            .set_method(method)
            .set_attribute_id(AttributeId(0x35));
        Self { mad, data }
    }
}

impl Request for Ask {
    type Output = usize;
    type Error = CallError;

    fn mad(&self) -> Mad {
        self.mad
    }

    fn data(&self) -> Option<Bytes> {
        self.data.clone()
    }

    fn read(&self, response: Response) -> Result<usize, CallError> {
        response.check_status()?;
        Ok(response.data().len())
    }
}

/// The client, a correct responder, and the datagrams between them.
struct Lab {
    client: Client<Ask>,
    server: Rmpp,
    now: Instant,
    /// Requests and segments that the client has sent of late.
    seen: Vec<Mad>,
    ended: usize,
}

impl Lab {
    /// The responder's answer to a request, as a transfer.
    fn respond(&mut self, request: &Mad, len: usize) {
        let template = response(request, MadStatus::OK);
        let data = Bytes::from_static(&[3; 2000]).slice(..len);
        // A repeated request finds that its answer is being sent already.
        let _ = self.server.send(self.now, &template, data);
    }

    /// Takes what the client has to send and to report.
    fn drain(&mut self) {
        while let Some(mad) = self.client.poll_transmit(self.now) {
            if self.seen.len() >= 32 {
                self.seen.remove(0);
            }
            self.seen.push(mad);
        }
        while let Some(event) = self.client.poll_event() {
            self.ended += usize::from(matches!(event, ClientEvent::Ended { .. }));
        }
        if let Some(next) = self.client.poll_timeout() {
            assert!(next.since(self.now) < LONGEST, "nobody waits for ever");
        }
    }
}

fn response(request: &Mad, status: MadStatus) -> Mad {
    let mut mad = *request;
    let method = Method(request.header().method().bits() | 0x80);
    mad.header_mut().set_method(method).set_status(status);
    mad.bytes[24..36].fill(0);
    mad
}

/// Each request of a client ends once, and nothing is left of it, whatever its responders send: tables,
/// parts of them, refusals, segments that make no sense.
pub fn every_call_ends_once(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let rmpp = RmppConfig {
        max_receivers: 2,
        ..CONFIG
    };
    let mut lab = Lab {
        client: Client::new(ClientConfig {
            window: WindowConfig {
                timeout: Duration::from_millis(500),
                retries: 1,
                busy_retries: 1,
                max_redirects: 1,
                max_requests: 6,
                first_transaction_id: TransactionId(1),
                ..WindowConfig::default()
            },
            rmpp,
            classes: &[],
        }),
        server: Rmpp::new(rmpp),
        now: Instant::ZERO,
        seen: Vec::new(),
        ended: 0,
    };
    let mut asked = 0;
    while !u.is_empty() && asked < 500 {
        let (what, which) = u.arbitrary::<(u8, u8)>().unwrap_or_default();
        let known = match lab.seen.len() {
            0 => None,
            len => lab.seen.get(usize::from(which) % len).copied(),
        };
        match (what % 8, known) {
            (0, _) => asked += usize::from(lab.client.ask(Ask::new(which)).is_ok()),
            (1, Some(mad)) => lab.respond(&mad, usize::from(which) * 7),
            (2, Some(mad)) => {
                if !lab.server.handle_mad(lab.now, &mad) {
                    lab.respond(&mad, 1000);
                }
                while let Some(event) = lab.server.poll_event() {
                    if let RmppEvent::Received(message) = event {
                        lab.respond(&message.first, 500);
                    }
                }
            }
            (3, _) => {
                if let Some(mad) = lab.server.poll_transmit(lab.now)
                    && which >= 32
                {
                    lab.client.handle_input(lab.now, Input::Mad(&mad));
                }
            }
            (4, Some(mad)) => {
                let mad = refusal(&mad, what / 8, which);
                lab.client.handle_input(lab.now, Input::Mad(&mad));
            }
            (5, Some(mad)) => {
                let mad = segment(&mad, what / 8, &mut u);
                lab.client.handle_input(lab.now, Input::Mad(&mad));
            }
            (6, Some(mad)) if which >= 128 => {
                let id = mad.header().transaction_id();
                let given_up = lab.client.cancel(MgmtClass::SUBN_ADM, id);
                lab.ended += usize::from(given_up.is_some());
            }
            (6, Some(mad)) if which >= 64 => {
                lab.client.handle_input(lab.now, Input::Returned(&mad));
            }
            (6, Some(mad)) => lab.client.handle_input(lab.now, Input::SendFailed(&mad)),
            _ => {
                lab.now = lab.now + Duration::from_millis(u64::from(which) * 8);
                lab.client.handle_timeout(lab.now);
                lab.server.handle_timeout(lab.now);
                while lab.server.poll_event().is_some() {}
            }
        }
        lab.drain();
    }
    // Silence from now on.
    for round in 0.. {
        assert!(round < 10_000, "it never ends");
        let Some(next) = lab.client.poll_timeout() else {
            break;
        };
        lab.now = lab.now.max(next);
        lab.client.handle_timeout(lab.now);
        lab.drain();
    }
    assert_eq!((lab.client.open(), lab.ended), (0, asked));
}

/// A single answer that is none: busy, elsewhere, or no.
fn refusal(request: &Mad, kind: u8, which: u8) -> Mad {
    let status = match kind % 3 {
        0 => MadStatus::BUSY,
        1 => MadStatus::REDIRECT,
        _ => MadStatus::INVALID_FIELD_VALUE,
    };
    let mut mad = response(request, status);
    let at = MgmtClass::SUBN_ADM.data_offset();
    let (info, _) = ClassPortInfo::parse_mut(&mut mad.bytes[at..], at).unwrap();
    info.set_redirect_lid(Lid(u16::from(which % 4)))
        .set_redirect_qp(Qpn::GSI);
    mad
}

/// A segment or an acknowledgement that is nearly right.
fn segment(request: &Mad, kind: u8, u: &mut Unstructured<'_>) -> Mad {
    let mut mad = response(request, MadStatus::OK);
    let [shape, number, length] = u.arbitrary().unwrap_or([0; 3]);
    let (header, _) = RmppHeader::parse_mut(&mut mad.bytes[24..], 24).unwrap();
    header
        .set_rmpp_version(if kind & 16 == 0 { 1 } else { 2 })
        .set_rmpp_type(RmppType(kind % 6))
        .set_active(true)
        .set_first(number % 8 == 1)
        .set_last(shape & 1 != 0)
        .set_rmpp_status(crate::RmppStatus(if shape & 2 == 0 { 0 } else { shape }))
        .set_data1((number % 8).into())
        .set_data2(length.into());
    if shape & 4 != 0 {
        mad.address.lid = Lid(9);
    }
    mad
}
