//! Messages to many ports at once, and to ports that do not acknowledge.

use super::*;

/// The headers of a table for port `lid` in transaction `id`.
fn table_to(lid: u16, id: u64) -> Mad {
    let mut mad = template(Method::GET_TABLE_RESP);
    mad.address.lid = Lid(lid);
    mad.header_mut().set_transaction_id(TransactionId(id));
    mad
}

/// All datagrams that wait, as LID and segment number; 0 is a STOP or ABORT.
fn sent(rmpp: &mut Rmpp, now: Instant) -> Vec<(u16, u32)> {
    let sent = core::iter::from_fn(|| rmpp.poll_transmit(now));
    sent.map(|mad| {
        let (kind, segment, _) = segment_of(&mad);
        let number = if kind == RmppType::DATA { segment } else { 0 };
        (mad.address.lid.0, number)
    })
    .collect()
}

fn ack(lid: u16, id: u64, segment: u32, window_last: u32) -> Mad {
    let mut mad = acknowledging(&table_to(lid, id), &ack_header(segment, window_last));
    mad.header_mut().set_method(Method::GET_TABLE);
    mad
}

#[test]
fn ports_take_turns_at_each_segment() {
    let mut rmpp = Rmpp::new(config());
    for (lid, id) in [(1, 1), (1, 2), (2, 3)] {
        rmpp.send(at(0), &table_to(lid, id), data(2000)).unwrap();
    }
    assert_eq!(sent(&mut rmpp, at(0)), [(1, 1), (2, 1), (1, 1)]);
    for (lid, id) in [(1, 1), (1, 2), (2, 3)] {
        assert!(rmpp.handle_mad(at(1), &ack(lid, id, 1, 4)));
    }
    let segments = [
        (1, 2),
        (2, 2),
        (1, 2),
        (2, 3),
        (1, 3),
        (2, 4),
        (1, 3),
        (1, 4),
        (1, 4),
    ];
    assert_eq!(sent(&mut rmpp, at(1)), segments);
}

#[test]
fn an_unacknowledged_message_gives_its_place_up() {
    let few = RmppConfig {
        max_senders: 3,
        max_senders_per_port: 2,
        ..config()
    };
    let mut rmpp = Rmpp::new(few);
    for (lid, id) in [(1, 1), (1, 2), (2, 3)] {
        rmpp.send(at(0), &table_to(lid, id), data(2000)).unwrap();
    }
    let _ = sent(&mut rmpp, at(0));
    rmpp.send(at(1), &table_to(9, 4), data(2000)).unwrap();
    let evicted = RmppKey::of_data(&table_to(1, 1));
    let status = RmppStatus::RESOURCES_EXHAUSTED;
    let error = RmppError::Ended { status };
    assert_eq!(
        rmpp.poll_event(),
        Some(RmppEvent::SendFailed {
            key: evicted,
            error
        })
    );
    assert_eq!(
        sent(&mut rmpp, at(1)),
        [(1, 0), (9, 1)],
        "a STOP, and the new one"
    );
    // Those that are acknowledged stay: one port has two places, all have three.
    for (lid, id) in [(1, 2), (2, 3), (9, 4)] {
        assert!(rmpp.handle_mad(at(2), &ack(lid, id, 1, 4)));
    }
    let refused = rmpp.send(at(3), &table_to(5, 5), data(2000));
    assert_eq!(refused, Err(RmppError::Busy));
    assert_eq!(rmpp.sending(), 3);
}

#[test]
fn one_port_has_its_limit_while_others_have_places() {
    let few = RmppConfig {
        max_senders_per_port: 2,
        ..config()
    };
    let mut rmpp = Rmpp::new(few);
    for id in 1..=2 {
        rmpp.send(at(0), &table_to(1, id), data(2000)).unwrap();
        let _ = sent(&mut rmpp, at(0));
        assert!(rmpp.handle_mad(at(0), &ack(1, id, 1, 4)));
    }
    let refused = rmpp.send(at(0), &table_to(1, 3), data(1));
    assert_eq!(refused, Err(RmppError::Busy));
    rmpp.send(at(0), &table_to(2, 3), data(1)).unwrap();
}

#[test]
fn messages_that_are_sent_stay_below_the_memory_limit() {
    let small = RmppConfig {
        max_send_memory: 5000,
        ..config()
    };
    let mut rmpp = Rmpp::new(small);
    rmpp.send(at(0), &table_to(1, 1), data(9000)).unwrap();
    let _ = sent(&mut rmpp, at(0));
    assert!(rmpp.handle_mad(at(0), &ack(1, 1, 1, 4)));
    let refused = rmpp.send(at(0), &table_to(2, 2), data(10));
    assert_eq!(refused, Err(RmppError::Busy));
    rmpp.forget(RmppKey::of_data(&table_to(1, 1)));
    rmpp.send(at(0), &table_to(2, 2), data(10)).unwrap();
}

#[test]
fn nothing_is_repeated_to_peers_that_may_not_acknowledge() {
    let preloaded = RmppConfig {
        peers_acknowledge: false,
        ..config()
    };
    let mut rmpp = Rmpp::new(preloaded);
    rmpp.send(at(0), &table_to(1, 1), data(2000)).unwrap();
    rmpp.send(at(0), &table_to(2, 2), data(100)).unwrap();
    rmpp.send(at(0), &table_to(3, 3), data(2000)).unwrap();
    assert_eq!(sent(&mut rmpp, at(0)), [(1, 1), (2, 1), (3, 1)]);
    // One segment is all of the second message, and the third peer does acknowledge.
    assert_eq!(rmpp.sending(), 2);
    assert!(rmpp.handle_mad(at(1), &ack(3, 3, 1, 4)));
    assert_eq!(sent(&mut rmpp, at(1)), [(3, 2), (3, 3), (3, 4)]);
    let mut later = Vec::new();
    while let Some(next) = rmpp.poll_timeout() {
        rmpp.handle_timeout(next);
        later.extend(sent(&mut rmpp, next));
    }
    assert!(later.iter().all(|&(lid, _)| lid == 3), "{later:?}");
    assert!(
        later.contains(&(3, 2)),
        "a window that is lost is repeated: {later:?}"
    );
    assert_eq!(rmpp.sending(), 0);
}

#[test]
fn a_client_that_repeats_an_unacknowledged_request_is_answered_again() {
    let preloaded = RmppConfig {
        peers_acknowledge: false,
        ..config()
    };
    let mut rmpp = Rmpp::new(preloaded);
    for now in [at(0), at(1)] {
        rmpp.send(now, &table_to(1, 1), data(2000)).unwrap();
        assert_eq!(sent(&mut rmpp, now), [(1, 1)]);
    }
    assert_eq!(rmpp.sending(), 1);
}

#[test]
fn a_message_that_cannot_be_delivered_ends() {
    let mut rmpp = Rmpp::new(config());
    rmpp.send(at(0), &table_to(1, 1), data(2000)).unwrap();
    let segment = rmpp.poll_transmit(at(0)).unwrap();
    assert!(rmpp.handle_undelivered(&segment));
    assert!(!rmpp.handle_undelivered(&segment));
    assert_eq!((rmpp.sending(), rmpp.poll_timeout()), (0, None));
}

#[test]
fn the_last_segment_says_how_long_it_is() {
    // The class header of 20 bytes counts: a reader takes 36 bytes of headers before it.
    for (len, last) in [(0, 20), (64, 84), (200, 220), (201, 21), (464, 84)] {
        let sender = RmppSender::new(config(), &table_to(1, 1), data(len)).unwrap();
        let segment = sender.segment_for_test(sender.segments());
        assert_eq!(segment_of(&segment).2, last, "{len} bytes");
    }
}

#[test]
fn a_transfer_is_repeated_for_its_request_only_while_nobody_acknowledges() {
    for (peers_acknowledge, acknowledged, may_replace) in [
        (false, false, true),
        (false, true, false),
        (true, false, false),
        (true, true, false),
    ] {
        let mut rmpp = Rmpp::new(RmppConfig {
            peers_acknowledge,
            ..config()
        });
        let template = table_to(1, 1);
        rmpp.send(at(0), &template, data(2000)).unwrap();
        assert_eq!(sent(&mut rmpp, at(0)).first(), Some(&(1, 1)));
        if acknowledged {
            assert!(rmpp.handle_mad(at(1), &ack(1, 1, 1, 4)));
        }
        let again = rmpp.send(at(2), &template, data(2000));
        let expected = match may_replace {
            true => Ok(RmppKey::of_data(&template)),
            false => Err(RmppError::Duplicate),
        };
        assert_eq!(again, expected, "{peers_acknowledge} {acknowledged}");
    }
}

#[test]
fn a_message_shows_its_class_header_and_goes_to_user_space_with_the_headers_once() {
    let mut first = template(Method::GET_TABLE_RESP);
    for (at, byte) in first.bytes[36..].iter_mut().enumerate() {
        *byte = at as u8;
    }
    let message = RmppMessage {
        first,
        data: data(500),
    };
    // The administrator's class header has 20 bytes: SM_Key, AttributeOffset, reserved, ComponentMask.
    let expected: Vec<u8> = (0..20).collect();
    assert_eq!(message.class_header(), expected);
    let umad = message.to_umad();
    assert_eq!(umad.len(), 56 + 500);
    assert_eq!(umad[..56], first.bytes[..56]);
    assert_eq!(umad[56..], data(500)[..]);
}
