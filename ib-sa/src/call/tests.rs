//! Calls between a client and an administrator that RMPP carries.

use std::boxed::Box;

use ib_mad::{
    Client, ClientConfig, ClientEvent, Engine, Input, Instant, MadStatus, Rmpp, RmppConfig,
    RmppEvent, SaStatus,
};
use ib_wire::{Lid, Sl};

use super::*;
use crate::{
    MultiPathComponents, MultiPathQuery, NodeComponents, NodeRecord, RecordTable, TraceComponents,
    pack_table,
};

const ADMINISTRATOR: MadAddress = MadAddress::gsi(Lid(1), Sl::ZERO);
const NOW: Instant = Instant::ZERO;

/// The administrator's answer.
enum Served {
    Single(Box<SaMad>),
    Table(MadStatus, RecordTable),
}

fn single(response: SaMad) -> Served {
    Served::Single(Box::new(response))
}

/// Asks, and lets `serve` answer the request and its data.
fn ask<R: Request>(
    request: R,
    serve: impl Fn(&SaMad, &[u8]) -> Served,
) -> Result<R::Output, R::Error> {
    let mut client = Client::new(ClientConfig {
        classes: &[crate::CLASSES],
        ..ClientConfig::default()
    });
    assert!(client.ask(request).is_ok());
    let mut server = Rmpp::new(RmppConfig::default());
    for _ in 0..1000 {
        while let Some(mad) = client.poll_transmit(NOW) {
            if !server.handle_mad(NOW, &mad) {
                let request = SaMad::from_bytes(mad.bytes);
                respond(
                    &mut server,
                    &mut client,
                    serve(&request, request.data()),
                    &mad,
                );
            }
        }
        while let Some(event) = server.poll_event() {
            if let RmppEvent::Received(message) = event {
                let request = SaMad::from_bytes(message.first.bytes);
                let answer = serve(&request, &message.data);
                respond(&mut server, &mut client, answer, &message.first);
            }
        }
        while let Some(mad) = server.poll_transmit(NOW) {
            client.handle_input(NOW, Input::Mad(&mad));
        }
        if let Some(ClientEvent::Ended { outcome, .. }) = client.poll_event() {
            return outcome;
        }
    }
    panic!("no answer");
}

fn respond<R: Request>(server: &mut Rmpp, client: &mut Client<R>, answer: Served, request: &Mad) {
    match answer {
        Served::Single(response) => {
            let response = response.to(request.address);
            client.handle_input(NOW, Input::Mad(&response));
        }
        Served::Table(status, table) => {
            let mut headers = SaMad::from_bytes(request.bytes).refuse(status);
            headers.set_attribute_offset(table.attribute_offset);
            let template = headers.to(request.address);
            assert!(server.send(NOW, &template, table.data).is_ok());
        }
    }
}

fn nodes(count: u16) -> Vec<NodeRecord> {
    let node = |lid| {
        let mut node = NodeRecord::default();
        node.set_lid(Lid(lid));
        node
    };
    (1..=count).map(node).collect()
}

#[test]
fn a_table_of_any_size_comes_as_records() {
    for count in [0, 1, 2, 100] {
        let call = TableCall::get(
            ADMINISTRATOR,
            &NodeRecord::default(),
            NodeComponents::empty(),
        );
        let found = ask(call, |request, _| {
            assert_eq!(request.method(), Method::GET_TABLE);
            Served::Table(MadStatus::OK, pack_table(nodes(count)))
        });
        assert_eq!(found.unwrap(), nodes(count));
    }
}

#[test]
fn a_table_in_one_datagram_holds_one_record_or_none() {
    for count in [0, 1] {
        let nodes = nodes(count);
        let call = TableCall::get(
            ADMINISTRATOR,
            &NodeRecord::default(),
            NodeComponents::empty(),
        );
        let found = ask(call, |request, _| {
            let mut response = request.refuse(MadStatus::OK);
            if let Some(node) = nodes.first() {
                response = request.answer(node);
                response.set_attribute_offset(pack_table(nodes.iter().copied()).attribute_offset);
            }
            single(response)
        });
        assert_eq!(found.unwrap(), nodes);
    }
}

#[test]
fn one_record_comes_there_and_back_by_each_method() {
    let wanted = nodes(1)[0];
    let call = RecordCall::get(ADMINISTRATOR, &wanted, NodeComponents::LID);
    let found = ask(call, |request, _| {
        assert_eq!(request.method(), Method::GET);
        single(request.answer(request.template::<NodeRecord>().unwrap()))
    });
    assert_eq!(found.unwrap(), wanted);
    let service = crate::ServiceRecord::default();
    let mask = crate::ServiceComponents::SERVICE_ID;
    for (call, method) in [
        (RecordCall::set(ADMINISTRATOR, &service, mask), Method::SET),
        (
            RecordCall::delete(ADMINISTRATOR, &service, mask),
            Method::DELETE,
        ),
    ] {
        let found = ask(call, |request, _| {
            assert_eq!(request.method(), method);
            single(request.answer(&service))
        });
        assert_eq!(found.unwrap(), service);
    }
}

#[test]
fn a_refusal_says_why() {
    let refusal = |status: MadStatus| {
        let all = NodeComponents::empty();
        let one = RecordCall::get(ADMINISTRATOR, &NodeRecord::default(), all);
        let table = TableCall::get(ADMINISTRATOR, &NodeRecord::default(), all);
        let one = ask(one, |request, _| single(request.refuse(status)));
        let single = ask(table.clone(), |request, _| single(request.refuse(status)));
        let message = ask(table, |_, _| Served::Table(status, RecordTable::default()));
        assert_eq!(single.clone().err(), one.err());
        assert_eq!(message.err(), one.err());
        one.unwrap_err()
    };
    let none = MadStatus::from_sa(SaStatus::NO_RECORDS);
    assert_eq!(refusal(none), QueryError::NoRecords);
    let many = MadStatus::from_sa(SaStatus::TOO_MANY_RECORDS);
    assert_eq!(refusal(many), QueryError::TooManyRecords);
    let status = MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE;
    assert_eq!(refusal(status), QueryError::Refused { status });
}

#[test]
fn paths_between_sets_of_ports_go_by_segments_both_ways() {
    let gids: Vec<Gid> = (0..40).map(|byte| Gid([byte; 16])).collect();
    let call = MultiPathCall::get(
        ADMINISTRATOR,
        &MultiPathRecord::default(),
        MultiPathComponents::SGID_COUNT | MultiPathComponents::DGID_COUNT,
        &gids[..30],
        &gids[30..],
    );
    let found = ask(call.unwrap(), |request, data| {
        assert_eq!(request.method(), Method::GET_MULTI);
        let query = MultiPathQuery::parse(data).unwrap();
        let sources = query.sources().map(|gid| {
            let mut path = PathRecord::default();
            path.set_sgid(gid);
            path
        });
        Served::Table(MadStatus::OK, pack_table(sources))
    });
    let sources: Vec<Gid> = found.unwrap().iter().map(PathRecord::sgid).collect();
    assert_eq!(sources, gids[..30]);
}

#[test]
fn the_ports_of_a_path_come_as_trace_records() {
    let template = TraceRecord::default();
    let call = TableCall::trace(ADMINISTRATOR, &template, TraceComponents::empty());
    let found = ask(call, |request, _| {
        assert_eq!(request.method(), Method::GET_TRACE_TABLE);
        Served::Table(MadStatus::OK, pack_table([template; 3]))
    });
    assert_eq!(found.unwrap(), [template; 3]);
}

#[test]
fn another_record_than_was_asked_for_is_no_answer() {
    let all = NodeComponents::empty();
    let call = RecordCall::get(ADMINISTRATOR, &NodeRecord::default(), all);
    let found = ask(call, |request, _| {
        let mut response = request.refuse(MadStatus::OK);
        response.set_attribute_id(PathRecord::ID);
        single(response)
    });
    let other = QueryError::OtherAttribute {
        found: PathRecord::ID,
        expected: NodeRecord::ID,
    };
    assert_eq!(found, Err(other));
}
