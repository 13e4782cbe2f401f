//! Limits, at their last permitted value and one beyond, and packets that change nothing.

use super::*;

/// The segments of a table of `len` bytes in transaction `id`.
fn table(id: u64, len: usize) -> RmppSender {
    let mut head = template(Method::GET_TABLE_RESP);
    head.header_mut().set_transaction_id(TransactionId(id));
    RmppSender::new(config(), &head, data(len)).unwrap()
}

fn acknowledge(sender: &mut RmppSender, ms: u64, segment: u32, window_last: u32) {
    let ack = ack_header(segment, window_last);
    sender.handle_mad(at(ms), &acknowledging(&template(Method::GET_TABLE), &ack));
}

/// Numbers of the segments that may go out.
fn sent(sender: &mut RmppSender, ms: u64) -> Vec<u32> {
    core::iter::from_fn(|| sender.poll_transmit(at(ms)))
        .map(|mad| segment_of(&mad).1)
        .collect()
}

#[test]
fn a_message_as_long_as_the_limit_arrives() {
    for (len, arrives) in [(1000, true), (1001, false)] {
        let limited = RmppConfig {
            max_message: 1000,
            ..config()
        };
        let mut pair = Pair::new([config(), limited]);
        pair.sides[0]
            .send(at(0), &template(Method::GET_TABLE_RESP), data(len))
            .unwrap();
        pair.run(&mut at(0), |_, _| false);
        assert_eq!(pair.received(1).len(), usize::from(arrives), "{len} bytes");
    }
}

#[test]
fn a_message_is_received_while_memory_is_not_above_the_limit() {
    let sender = table(1, 500);
    let mut rmpp = Rmpp::new(config());
    rmpp.handle_mad(at(0), &sender.segment_for_test(1));
    let memory = rmpp.memory();
    assert!(memory >= 200);
    for (max_memory, expected) in [(memory, None), (memory - 1, Some(RmppType::STOP))] {
        let mut rmpp = Rmpp::new(RmppConfig {
            max_memory,
            ..config()
        });
        rmpp.handle_mad(at(0), &sender.segment_for_test(1));
        let _ = rmpp.poll_transmit(at(0));
        rmpp.handle_mad(at(0), &sender.segment_for_test(2));
        let said = rmpp.poll_transmit(at(0)).map(|mad| segment_of(&mad).0);
        assert_eq!(said, expected, "{max_memory} bytes");
    }
}

#[test]
fn messages_that_fill_the_memory_of_senders_are_sent() {
    for (max_send_memory, expected) in [(6000, 2), (5999, 1)] {
        let mut rmpp = Rmpp::new(RmppConfig {
            max_send_memory,
            ..config()
        });
        for id in 1..=2 {
            let mut head = template(Method::GET_TABLE_RESP);
            head.header_mut().set_transaction_id(TransactionId(id));
            rmpp.send(at(0), &head, data(3000)).unwrap();
        }
        assert_eq!(rmpp.sending(), expected, "{max_send_memory} bytes");
    }
}

#[test]
fn a_complete_transfer_is_remembered_while_there_is_room() {
    let (old, new) = (table(1, 10), table(2, 500));
    for (max_receivers, remembered) in [(2, true), (1, false)] {
        let mut rmpp = Rmpp::new(RmppConfig {
            max_receivers,
            ..config()
        });
        for mad in [old.segment_for_test(1), new.segment_for_test(1)] {
            assert!(rmpp.handle_mad(at(0), &mad));
        }
        assert_eq!(rmpp.knows(&old.segment_for_test(1)), remembered);
        assert!(rmpp.knows(&new.segment_for_test(1)));
    }
}

#[test]
fn answers_that_are_not_polled_are_bounded() {
    let mut rmpp = Rmpp::new(config());
    for id in 0..200 {
        let mut mad = table(id, 500).segment_for_test(1);
        let mut header = *mad.rmpp().unwrap();
        header.set_rmpp_version(2);
        segment::write(&mut mad, HEADER_AT, header.as_bytes());
        rmpp.handle_mad(at(0), &mad);
    }
    let waiting = core::iter::from_fn(|| rmpp.poll_transmit(at(0))).count();
    assert_eq!(waiting, 64);
}

#[test]
fn of_unacknowledged_messages_the_oldest_gives_its_place_up() {
    let head = |id| {
        let mut head = template(Method::GET_TABLE_RESP);
        head.header_mut().set_transaction_id(TransactionId(id));
        head
    };
    let per_port = RmppConfig {
        max_senders_per_port: 2,
        ..config()
    };
    let in_all = RmppConfig {
        max_senders: 2,
        ..config()
    };
    for config in [per_port, in_all] {
        let mut rmpp = Rmpp::new(config);
        // The transaction IDs are in another order than the messages.
        for id in [9, 3, 5] {
            rmpp.send(at(0), &head(id), data(2000)).unwrap();
        }
        let Some(RmppEvent::SendFailed { key, .. }) = rmpp.poll_event() else {
            panic!("one had to go");
        };
        assert_eq!(key, RmppKey::of_data(&head(9)));
        assert_eq!(rmpp.sending(), 2);
    }
}

#[test]
fn segments_after_the_last_one_are_dropped() {
    let sender = table(1, 500);
    let mut receiver = RmppReceiver::new(config(), &sender.segment_for_test(1)).unwrap();
    assert_eq!(
        receiver.handle_mad(at(0), &sender.segment_for_test(1)),
        None
    );
    assert_eq!(
        receiver.handle_mad(at(1), &sender.segment_for_test(3)),
        None
    );
    let due = receiver.poll_timeout();
    // The last one again, and one after it.
    let longer = table(1, 1000);
    for mad in [sender.segment_for_test(3), longer.segment_for_test(4)] {
        assert_eq!(receiver.handle_mad(at(2), &mad), None);
        assert_eq!(receiver.poll_timeout(), due, "no progress");
    }
    let message = receiver.handle_mad(at(3), &sender.segment_for_test(2));
    assert_eq!(message.unwrap().data, data(500));
}

#[test]
fn packets_that_fit_the_other_side_end_nothing() {
    let mut sender = table(1, 500);
    let segment = sender.segment_for_test(1);
    let mut receiver = RmppReceiver::new(config(), &segment).unwrap();
    assert_eq!(receiver.handle_mad(at(0), &segment), None);
    let ack = receiver.poll_transmit().unwrap();
    assert_eq!(receiver.handle_mad(at(0), &ack), None);
    assert_eq!((receiver.error(), receiver.poll_transmit()), (None, None));
    sender.handle_mad(at(0), &segment);
    assert_eq!(sender.outcome(), None);
    assert_eq!(sent(&mut sender, 0), [1]);
}

#[test]
fn a_timeout_that_is_not_due_does_nothing() {
    let mut sender = table(1, 500);
    assert_eq!(sent(&mut sender, 0), [1]);
    let due = sender.poll_timeout();
    sender.handle_timeout(at(1));
    assert_eq!(sender.poll_timeout(), due);
    assert_eq!(sent(&mut sender, 1), []);
}

#[test]
fn the_time_of_a_window_starts_when_all_of_it_is_sent() {
    let mut sender = table(1, 2000);
    assert_eq!(sent(&mut sender, 0), [1]);
    acknowledge(&mut sender, 1, 1, 3);
    for (number, runs) in [(2, false), (3, true)] {
        let mad = sender.poll_transmit(at(2)).unwrap();
        assert_eq!(segment_of(&mad).1, number);
        assert_eq!(sender.poll_timeout().is_some(), runs, "segment {number}");
    }
    assert_eq!(sender.poll_transmit(at(2)), None);
}

#[test]
fn a_window_may_open_without_a_new_segment_acknowledged() {
    let mut sender = table(1, 2000);
    assert_eq!(sent(&mut sender, 0), [1]);
    assert!(!sender.is_acknowledged());
    acknowledge(&mut sender, 1, 1, 1);
    assert!(sender.is_acknowledged());
    assert_eq!(sent(&mut sender, 1), []);
    acknowledge(&mut sender, 2, 1, 3);
    assert_eq!(sent(&mut sender, 2), [2, 3]);
}

#[test]
fn a_turn_alone_is_an_acknowledgement() {
    let head = template(Method::GET_MULTI_RESP);
    let mut sender = RmppSender::awaiting_turn(config(), &head, data(2000), at(0)).unwrap();
    assert!(!sender.is_acknowledged());
    acknowledge(&mut sender, 1, 0, 3);
    assert!(sender.is_acknowledged());
    assert_eq!(sent(&mut sender, 1), [1, 2, 3]);
}

#[test]
fn a_repeated_acknowledgement_gains_no_time() {
    let mut sender = table(1, 2000);
    assert_eq!(sent(&mut sender, 0), [1]);
    acknowledge(&mut sender, 1, 1, 3);
    assert_eq!(sent(&mut sender, 1), [2, 3]);
    let due = sender.poll_timeout();
    acknowledge(&mut sender, 100, 1, 3);
    assert_eq!(sender.poll_timeout(), due);
}

#[test]
fn an_acknowledgement_takes_nothing_back() {
    let mut sender = table(1, 2000);
    assert_eq!(sent(&mut sender, 0), [1]);
    acknowledge(&mut sender, 1, 1, 3);
    assert_eq!(sent(&mut sender, 1), [2, 3]);
    acknowledge(&mut sender, 2, 2, 4);
    assert_eq!(sent(&mut sender, 2), [4]);
    // Fewer segments with a larger window.
    acknowledge(&mut sender, 3, 1, 9);
    assert_eq!(sent(&mut sender, 3), []);
    let due = sender.poll_timeout().unwrap();
    sender.handle_timeout(due);
    let again = sender.poll_transmit(due).unwrap();
    assert_eq!(segment_of(&again).1, 3);
}
