//! Every possible end of a call of a client, in virtual time.

use alloc::vec::Vec;
use core::time::Duration;

use ib_wire::{Gid, Lid, Qpn, Sl};

use super::*;
use crate::{
    AttributeId, BmSend, CLASSES, Call, CallTo, ClassPortInfo, MadAddress, MadStatus, Method,
    PortCounters, RmppHeader, RmppStatus,
};

const ADDRESS: MadAddress = MadAddress::gsi(Lid(7), Sl::ZERO);

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn config() -> ClientConfig {
    ClientConfig {
        window: WindowConfig {
            timeout: Duration::from_secs(1),
            retries: 1,
            busy_wait: Duration::from_millis(10),
            busy_retries: 2,
            max_redirects: 2,
            first_transaction_id: TransactionId(0x77_0000_0001),
            ..WindowConfig::default()
        },
        rmpp: RmppConfig {
            window: 4,
            retries: 4,
            ..RmppConfig::default()
        },
        classes: &[],
    }
}

/// A request for a table of bytes, or one that is a message of many segments itself.
#[derive(Clone, Debug, PartialEq)]
struct Bytewise {
    mad: Mad,
    data: Option<Bytes>,
}

impl Bytewise {
    fn table() -> Self {
        Self {
            mad: sa(Method::GET_TABLE),
            data: None,
        }
    }

    fn multi(len: usize) -> Self {
        Self {
            mad: sa(Method::GET_MULTI),
            data: Some(bytes(len)),
        }
    }
}

impl Request for Bytewise {
    /// The length of the table, whose bytes were right.
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
        let data = response.data();
        assert_eq!(data, bytes(data.len()));
        Ok(data.len())
    }
}

fn sa(method: Method) -> Mad {
    let mut mad = Mad::new(ADDRESS);
    mad.header_mut()
        .set_base_version(1)
        .set_class_version(2)
        .set_mgmt_class(MgmtClass::SUBN_ADM)
        .set_method(method)
        .set_attribute_id(AttributeId(0x35));
    mad
}

fn bytes(len: usize) -> Bytes {
    (0..len).map(|at| (at % 251) as u8).collect()
}

fn answer(request: &Mad, status: MadStatus) -> Mad {
    let mut mad = *request;
    let method = Method(request.header().method().bits() | 0x80);
    mad.header_mut().set_method(method).set_status(status);
    mad
}

/// A client and an administrator that answers each request with a table.
struct Pair {
    client: Client<Bytewise>,
    server: Rmpp,
    table: Bytes,
    outcomes: Vec<Result<usize, CallError>>,
    /// Requests that the administrator has seen, single ones and whole messages.
    asked: usize,
    now: Instant,
}

impl Pair {
    fn new(table: usize) -> Self {
        Self {
            client: Client::new(config()),
            server: Rmpp::new(config().rmpp),
            table: bytes(table),
            outcomes: Vec::new(),
            asked: 0,
            now: Instant::ZERO,
        }
    }

    /// Runs until all requests have ended; `lose` is asked for each datagram, of the client or not.
    fn run(&mut self, mut lose: impl FnMut(bool, &Mad) -> bool) {
        for _ in 0..10_000 {
            let mut moved = false;
            while let Some(mad) = self.client.poll_transmit(self.now) {
                moved = true;
                if !lose(true, &mad) {
                    self.serve(&mad);
                }
            }
            while let Some(event) = self.server.poll_event() {
                if let RmppEvent::Received(message) = event {
                    assert_eq!(message.data, bytes(message.data.len()));
                    self.respond(&message.first);
                }
            }
            while let Some(mad) = self.server.poll_transmit(self.now) {
                moved = true;
                if !lose(false, &mad) {
                    self.client.handle_input(self.now, Input::Mad(&mad));
                }
            }
            while let Some(event) = self.client.poll_event() {
                match event {
                    ClientEvent::Ended { outcome, .. } => self.outcomes.push(outcome),
                    ClientEvent::Unsolicited(mad) => panic!("{mad:?}"),
                }
            }
            if moved {
                continue;
            }
            let timeouts = [self.client.poll_timeout(), self.server.poll_timeout()];
            let Some(next) = timeouts.into_iter().flatten().min() else {
                return;
            };
            self.now = self.now.max(next);
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
        }
        panic!("it never ends");
    }

    fn serve(&mut self, mad: &Mad) {
        if !self.server.handle_mad(self.now, mad) {
            self.respond(mad);
        }
    }

    fn respond(&mut self, request: &Mad) {
        self.asked += 1;
        let template = answer(request, MadStatus::OK);
        // A repeated request finds that its answer is being sent already.
        let _ = self.server.send(self.now, &template, self.table.clone());
    }
}

fn keep(_: bool, _: &Mad) -> bool {
    false
}

/// The only outcome of a client that is asked for nothing else.
fn outcome(client: &mut Client<CallTo<PortCounters>>) -> Option<Result<PortCounters, CallError>> {
    match client.poll_event()? {
        ClientEvent::Ended { outcome, .. } => Some(outcome),
        ClientEvent::Unsolicited(mad) => panic!("{mad:?}"),
    }
}

fn counters() -> (Client<CallTo<PortCounters>>, Mad) {
    let mut client = Client::new(config());
    let call = Call::<PortCounters>::get(MgmtClass::PERF, 0);
    client.ask(call.to(ADDRESS)).unwrap();
    let sent = client.poll_transmit(at(0)).unwrap();
    (client, sent)
}

#[test]
fn a_single_datagram_is_answered_by_its_structure() {
    let (mut client, sent) = counters();
    let mut response = answer(&sent, MadStatus::OK);
    response.bytes[64 + 1] = 3;
    client.handle_input(at(1), Input::Mad(&response));
    let counters = outcome(&mut client).unwrap().unwrap();
    assert_eq!(counters.port_select(), 3);
    assert_eq!((client.open(), client.poll_timeout()), (0, None));
}

#[test]
fn a_table_of_any_length_is_one_answer() {
    for len in [0, 1, 200, 201, 3000] {
        let mut pair = Pair::new(len);
        pair.client.ask(Bytewise::table()).unwrap();
        pair.run(keep);
        assert_eq!(pair.outcomes, [Ok(len)]);
        assert_eq!((pair.asked, pair.client.open()), (1, 0));
    }
}

#[test]
fn a_request_of_many_segments_has_an_answer_of_many() {
    for (ask, table) in [(0, 0), (24, 3000), (3000, 24), (3000, 3000)] {
        let mut pair = Pair::new(table);
        pair.client.ask(Bytewise::multi(ask)).unwrap();
        pair.run(keep);
        assert_eq!(pair.outcomes, [Ok(table)], "{ask} {table}");
        assert_eq!(pair.asked, 1);
    }
}

#[test]
#[cfg_attr(miri, ignore = "a pure long loop")]
fn any_one_loss_is_repaired_in_both_kinds_of_transfer() {
    for request in [Bytewise::table(), Bytewise::multi(1500)] {
        let mut lost = 0;
        loop {
            let mut pair = Pair::new(1500);
            pair.client.ask(request.clone()).unwrap();
            let mut count = 0;
            pair.run(|_, _| {
                count += 1;
                count - 1 == lost
            });
            assert_eq!(pair.outcomes, [Ok(1500)], "loss of {lost}");
            lost += 1;
            if lost > count {
                break;
            }
        }
    }
}

#[test]
fn the_time_out_of_a_request_stands_still_while_its_answer_arrives() {
    let mut pair = Pair::new(3000);
    pair.client.ask(Bytewise::table()).unwrap();
    let mut silence = 0;
    // The second window comes late: longer than request and repetition may take.
    pair.run(|from_client, mad| {
        let segment = mad.rmpp().map_or(0, RmppHeader::data1);
        let late = !from_client && segment == 6 && silence < 3;
        silence += u32::from(late);
        late
    });
    assert!(pair.now > at(2000), "{:?}", pair.now);
    assert_eq!(pair.outcomes, [Ok(3000)]);
    assert_eq!(pair.asked, 1);
}

#[test]
fn silence_ends_each_kind_of_call() {
    for request in [Bytewise::table(), Bytewise::multi(0)] {
        let mut pair = Pair::new(0);
        let transfers = request.data.is_some();
        pair.client.ask(request).unwrap();
        pair.run(|_, _| true);
        let [Err(error)] = pair.outcomes[..] else {
            panic!("{:?}", pair.outcomes);
        };
        let expected = match transfers {
            true => CallError::BrokenOff(RmppError::Ended {
                status: RmppStatus::TOO_MANY_RETRIES,
            }),
            false => CallError::Unanswered(FailureReason::TimedOut),
        };
        assert_eq!(error, expected);
    }
}

#[test]
fn a_message_that_arrived_but_has_no_answer_times_out() {
    let mut pair = Pair::new(10);
    pair.client.ask(Bytewise::multi(10)).unwrap();
    pair.run(|from_client, mad| {
        let is_data = mad.rmpp().is_some_and(|h| h.rmpp_type() == RmppType::DATA);
        !from_client && is_data
    });
    let timed_out = CallError::Unanswered(FailureReason::TimedOut);
    assert_eq!(pair.outcomes, [Err(timed_out)]);
}

#[test]
fn a_table_that_breaks_off_ends_the_call() {
    let mut pair = Pair::new(3000);
    pair.client.ask(Bytewise::table()).unwrap();
    pair.run(|from_client, mad| !from_client && mad.rmpp().is_some_and(|h| h.data1() > 4));
    let [Err(CallError::BrokenOff(error))] = pair.outcomes[..] else {
        panic!("{:?}", pair.outcomes);
    };
    // The sender gives up first, and its ABORT arrives.
    let status = RmppStatus::TOO_MANY_RETRIES;
    assert_eq!(error, RmppError::EndedByPeer { status });
    assert_eq!(pair.client.rmpp.memory(), 0);
}

#[test]
fn a_sender_that_falls_silent_is_given_up_after_the_idle_time() {
    let mut client = Client::new(config());
    client.ask(Bytewise::table()).unwrap();
    let request = client.poll_transmit(at(0)).unwrap();
    let mut server = Rmpp::new(config().rmpp);
    server
        .send(at(0), &answer(&request, MadStatus::OK), bytes(500))
        .unwrap();
    let first = server.poll_transmit(at(0)).unwrap();
    client.handle_input(at(1), Input::Mad(&first));
    let idle = at(1).saturating_add(config().rmpp.idle_time);
    assert_eq!(client.poll_timeout(), Some(idle));
    client.handle_timeout(idle);
    let Some(ClientEvent::Ended { outcome, .. }) = client.poll_event() else {
        panic!("still open");
    };
    let status = RmppStatus::TOTAL_TIME_TOO_LONG;
    assert_eq!(outcome, Err(RmppError::Ended { status }.into()));
}

#[test]
fn stop_and_abort_before_the_first_segment_end_the_call() {
    for (kind, status) in [
        (RmppType::STOP, RmppStatus::RESOURCES_EXHAUSTED),
        (RmppType::ABORT, RmppStatus::UNSUPPORTED_VERSION),
    ] {
        let mut client = Client::new(config());
        client.ask(Bytewise::table()).unwrap();
        let request = client.poll_transmit(at(0)).unwrap();
        let mut end = answer(&request, MadStatus::OK);
        let (header, _) = RmppHeader::parse_mut(&mut end.bytes[24..], 24).unwrap();
        header
            .set_rmpp_version(1)
            .set_rmpp_type(kind)
            .set_active(true)
            .set_rmpp_status(status);
        client.handle_input(at(1), Input::Mad(&end));
        let Some(ClientEvent::Ended { outcome, .. }) = client.poll_event() else {
            panic!("{kind}");
        };
        assert_eq!(outcome, Err(RmppError::EndedByPeer { status }.into()));
        assert_eq!(client.poll_transmit(at(1)), None, "{kind} has no answer");
    }
}

#[test]
fn a_busy_responder_is_asked_again_and_given_up_in_the_end() {
    let (mut client, mut sent) = counters();
    let mut now = 0;
    for _ in 0..2 {
        client.handle_input(at(now), Input::Mad(&answer(&sent, MadStatus::BUSY)));
        assert!(outcome(&mut client).is_none());
        now += 50;
        client.handle_timeout(at(now));
        sent = client.poll_transmit(at(now)).unwrap();
    }
    client.handle_input(at(now), Input::Mad(&answer(&sent, MadStatus::BUSY)));
    let busy = CallError::Unanswered(FailureReason::Busy);
    assert_eq!(outcome(&mut client), Some(Err(busy)));
}

#[test]
fn a_request_of_many_segments_ends_when_its_responder_is_busy() {
    let mut client = Client::new(config());
    client.ask(Bytewise::multi(10)).unwrap();
    let sent = client.poll_transmit(at(0)).unwrap();
    let mut busy = answer(&sent, MadStatus::BUSY);
    busy.bytes[24..36].fill(0);
    client.handle_input(at(1), Input::Mad(&busy));
    let Some(ClientEvent::Ended { outcome, .. }) = client.poll_event() else {
        panic!("still open");
    };
    assert_eq!(outcome, Err(CallError::Unanswered(FailureReason::Busy)));
}

fn redirection(request: &Mad, lid: Lid, gid: Gid) -> Mad {
    let mut mad = answer(request, MadStatus::REDIRECT);
    let at = request.header().mgmt_class().data_offset();
    let (info, _) = ClassPortInfo::parse_mut(&mut mad.bytes[at..], at).unwrap();
    info.set_redirect_lid(lid)
        .set_redirect_gid(gid)
        .set_redirect_qp(Qpn::GSI);
    mad
}

#[test]
fn a_table_is_asked_for_where_the_responder_says() {
    let mut pair = Pair::new(900);
    pair.client.ask(Bytewise::table()).unwrap();
    let sent = pair.client.poll_transmit(at(0)).unwrap();
    let elsewhere = redirection(&sent, Lid(9), Gid::default());
    pair.client.handle_input(at(0), Input::Mad(&elsewhere));
    let mut to = Vec::new();
    pair.run(|from_client, mad| {
        to.extend(from_client.then_some(mad.address.lid));
        false
    });
    assert!(
        !to.is_empty() && to.iter().all(|&lid| lid == Lid(9)),
        "{to:?}"
    );
    assert_eq!(pair.outcomes, [Ok(900)]);
}

#[test]
fn a_loop_of_redirections_and_one_without_a_lid_are_typed() {
    let (mut client, mut sent) = counters();
    for lid in [8, 9] {
        let elsewhere = redirection(&sent, Lid(lid), Gid::default());
        client.handle_input(at(0), Input::Mad(&elsewhere));
        sent = client.poll_transmit(at(0)).unwrap();
    }
    let elsewhere = redirection(&sent, Lid(8), Gid::default());
    client.handle_input(at(0), Input::Mad(&elsewhere));
    let looped = CallError::Unanswered(FailureReason::RedirectLoop);
    assert_eq!(outcome(&mut client), Some(Err(looped)));

    let (mut client, sent) = counters();
    let gid = Gid([0x20; 16]);
    let elsewhere = redirection(&sent, Lid::NONE, gid);
    client.handle_input(at(0), Input::Mad(&elsewhere));
    let redirected = CallError::Redirected { gid };
    assert_eq!(outcome(&mut client), Some(Err(redirected)));
}

#[test]
fn what_a_class_does_not_have_is_refused_before_it_is_sent() {
    let mut client = Client::new(ClientConfig {
        classes: &[CLASSES],
        ..config()
    });
    let call = Call::<ClassPortInfo>::set(MgmtClass::PERF, 0).to(ADDRESS);
    let refused = client.ask(call).unwrap_err();
    assert_eq!(
        refused.error,
        CallError::NotInClass {
            class: MgmtClass::PERF,
            method: Method::SET,
            attribute: AttributeId(1),
        }
    );
    assert_eq!(client.poll_transmit(at(0)), None);
    let call = Call::<ClassPortInfo>::get(MgmtClass::PERF, 0).to(ADDRESS);
    assert!(client.ask(call).is_ok());
}

#[test]
fn a_full_window_gives_the_request_back() {
    let mut client = Client::new(ClientConfig {
        window: WindowConfig {
            max_requests: 1,
            ..config().window
        },
        ..config()
    });
    client.ask((sa(Method::GET), 1)).unwrap();
    let refused = client.ask((sa(Method::GET), 2)).unwrap_err();
    assert_eq!(
        (refused.request.1, refused.error),
        (2, CallError::TooManyOpen)
    );
}

#[test]
fn a_second_source_cannot_take_a_transfer_over() {
    let mut client = Client::new(config());
    client.ask(Bytewise::table()).unwrap();
    let request = client.poll_transmit(at(0)).unwrap();
    let mut honest = Rmpp::new(config().rmpp);
    honest
        .send(at(0), &answer(&request, MadStatus::OK), bytes(500))
        .unwrap();
    let first = honest.poll_transmit(at(0)).unwrap();
    client.handle_input(at(0), Input::Mad(&first));
    let ack = client.poll_transmit(at(0)).unwrap();
    // The forger's whole message has the right transaction ID and comes from elsewhere.
    let mut forged = Rmpp::new(config().rmpp);
    forged
        .send(at(0), &answer(&request, MadStatus::OK), bytes(3))
        .unwrap();
    let mut whole = forged.poll_transmit(at(0)).unwrap();
    whole.address.lid = Lid(66);
    client.handle_input(at(0), Input::Mad(&whole));
    assert_eq!(client.poll_transmit(at(0)), None);
    honest.handle_mad(at(0), &ack);
    while let Some(segment) = honest.poll_transmit(at(0)) {
        client.handle_input(at(0), Input::Mad(&segment));
    }
    let Some(ClientEvent::Ended { outcome, .. }) = client.poll_event() else {
        panic!("still open");
    };
    assert_eq!(outcome, Ok(500));
}

/// The first segment of a table of 500 bytes, of this version of RMPP.
fn first_segment(request: &Mad, version: u8) -> Mad {
    let mut server = Rmpp::new(config().rmpp);
    let template = answer(request, MadStatus::OK);
    server.send(at(0), &template, bytes(500)).unwrap();
    let mut first = server.poll_transmit(at(0)).unwrap();
    let (header, _) = RmppHeader::parse_mut(&mut first.bytes[24..], 24).unwrap();
    header.set_rmpp_version(version);
    first
}

#[test]
fn a_segment_that_begins_no_transfer_leaves_the_request_to_its_time_out() {
    let mut client = Client::new(config());
    client.ask(Bytewise::table()).unwrap();
    let request = client.poll_transmit(at(0)).unwrap();
    let due = client.poll_timeout();
    let newer = first_segment(&request, 2);
    let mut late = first_segment(&request, 1);
    late.bytes[31] = 2;
    for segment in [newer, late] {
        client.handle_input(at(1), Input::Mad(&segment));
        assert_eq!(client.poll_timeout(), due);
    }
    client.handle_input(at(2), Input::Mad(&first_segment(&request, 1)));
    assert!(client.poll_timeout() > due, "this one begins a transfer");
}

#[test]
fn a_table_that_comes_late_does_not_shut_out_the_responder_that_is_asked_next() {
    let mut pair = Pair::new(900);
    pair.client.ask(Bytewise::table()).unwrap();
    let sent = pair.client.poll_transmit(at(0)).unwrap();
    let elsewhere = redirection(&sent, Lid(9), Gid::default());
    pair.client.handle_input(at(0), Input::Mad(&elsewhere));
    let late = first_segment(&sent, 1);
    pair.client.handle_input(at(0), Input::Mad(&late));
    pair.run(keep);
    assert_eq!(pair.outcomes, [Ok(900)]);
}

#[test]
fn more_tables_than_may_be_remembered_are_answered() {
    let mut pair = Pair::new(900);
    let rmpp = RmppConfig {
        max_receivers: 2,
        ..config().rmpp
    };
    pair.client = Client::new(ClientConfig { rmpp, ..config() });
    for _ in 0..5 {
        pair.client.ask(Bytewise::table()).unwrap();
        // Up to the answer: what is remembered stays so.
        while pair.client.open() > 0 {
            while let Some(mad) = pair.client.poll_transmit(at(0)) {
                pair.serve(&mad);
            }
            while let Some(mad) = pair.server.poll_transmit(at(0)) {
                pair.client.handle_input(at(0), Input::Mad(&mad));
            }
        }
    }
    let outcomes = core::iter::from_fn(|| pair.client.poll_event());
    let good = outcomes
        .filter(|event| matches!(event, ClientEvent::Ended { outcome, .. } if *outcome == Ok(900)));
    assert_eq!(good.count(), 5);
}

#[test]
fn a_message_that_is_refused_or_redirected_is_sent_no_further() {
    for is_refused in [true, false] {
        let mut client = Client::new(config());
        client.ask(Bytewise::multi(3000)).unwrap();
        let sent = client.poll_transmit(at(0)).unwrap();
        let mut answer = match is_refused {
            true => answer(&sent, MadStatus::INVALID_FIELD_VALUE),
            false => redirection(&sent, Lid(9), Gid::default()),
        };
        answer.bytes[24..36].fill(0);
        client.handle_input(at(1), Input::Mad(&answer));
        let next = client.poll_transmit(at(1)).map(|mad| mad.address.lid);
        assert_eq!(next, (!is_refused).then_some(Lid(9)));
        assert_eq!(client.rmpp.sending(), usize::from(!is_refused));
        assert_eq!(client.open(), client.rmpp.sending());
    }
}

#[test]
fn what_others_ask_is_handed_on_and_what_nobody_asked_for_is_dropped() {
    let (mut client, _) = counters();
    let request = sa(Method::SET);
    client.handle_input(at(0), Input::Mad(&request));
    let event = client.poll_event();
    assert!(matches!(event, Some(ClientEvent::Unsolicited(mad)) if mad == request));
    let stale = answer(&request, MadStatus::OK);
    client.handle_input(at(0), Input::Mad(&stale));
    assert!(client.poll_event().is_none());
    assert_eq!(client.open(), 1);
}

#[test]
fn a_cancelled_table_is_forgotten() {
    let mut client = Client::new(config());
    let id = client.ask(Bytewise::table()).unwrap();
    let request = client.poll_transmit(at(0)).unwrap();
    let mut server = Rmpp::new(config().rmpp);
    server
        .send(at(0), &answer(&request, MadStatus::OK), bytes(500))
        .unwrap();
    let first = server.poll_transmit(at(0)).unwrap();
    client.handle_input(at(0), Input::Mad(&first));
    assert_eq!(
        client.cancel(MgmtClass::SUBN_ADM, id),
        Some(Bytewise::table())
    );
    assert_eq!((client.open(), client.rmpp.memory()), (0, 0));
    assert_eq!(client.poll_timeout(), None);
}

#[test]
fn a_command_of_baseboard_management_is_answered_by_a_send() {
    let mut client = Client::new(config());
    let call = Call::<BmSend>::command(MgmtClass::BM, AttributeId(0x21));
    client.ask(call.to(ADDRESS)).unwrap();
    let mut response = client.poll_transmit(at(0)).unwrap();
    response.header_mut().set_attribute_modifier(1);
    response.bytes[64 + 3] = 5;
    client.handle_input(at(0), Input::Mad(&response));
    let Some(ClientEvent::Ended { outcome, .. }) = client.poll_event() else {
        panic!("still open");
    };
    assert_eq!(outcome.unwrap().param_count(), 5);
}

#[test]
fn a_table_that_no_kernel_cut_into_segments_is_answered_by_its_beginning() {
    for kind in [RmppType::NONE, RmppType::DATA] {
        let mut client = Client::new(config());
        client.ask(Bytewise::table()).unwrap();
        let sent = client.poll_transmit(at(0)).unwrap();
        let mut response = answer(&sent, MadStatus::OK);
        response.header_mut().set_method(Method::GET_TABLE_RESP);
        let (rmpp, _) = RmppHeader::parse_mut(&mut response.bytes[24..], 24).unwrap();
        rmpp.set_active(true).set_rmpp_type(kind);
        let beginning = bytes(200);
        response.bytes[56..].copy_from_slice(&beginning);
        client.handle_input(at(1), Input::Mad(&response));
        let Some(ClientEvent::Ended { outcome, .. }) = client.poll_event() else {
            panic!("{kind:?}: no answer");
        };
        assert_eq!(outcome, Ok(200), "{kind:?}");
        assert_eq!(client.poll_transmit(at(1)), None, "nobody waits for an ACK");
    }
}
