//! Limits and timers of the window, at and around their bounds.

use super::{super::timers::Timers, *};

#[test]
fn timers_run_out_in_the_order_of_their_times_whatever_is_stopped_between() {
    // Places of the entries, so that indices are those of a slab.
    let mut window = TransactionWindow::new(WindowConfig {
        max_requests: 1000,
        ..config()
    });
    for context in 0..200u32 {
        window.request(&get(1), context).unwrap();
    }
    let indices: Vec<_> = window.slab.indices().collect();
    assert_eq!(indices.len(), 200);
    for step in [1, 7, 61, 89, 197] {
        let due = |place: usize| at((place * step % 200 / 3) as u64);
        let mut timers = Timers::new();
        for (place, &index) in indices.iter().enumerate() {
            timers.insert(index, due(place));
        }
        let is_stopped = |place: usize| place % 3 == step % 3;
        for (place, &index) in indices.iter().enumerate() {
            if is_stopped(place) {
                timers.remove(index);
                timers.remove(index);
            }
        }
        let mut left: Vec<_> = (0..200).filter(|&place| !is_stopped(place)).collect();
        left.sort_by_key(|&place| due(place));
        for place in left {
            assert_eq!(timers.next(), Some(due(place)), "step {step}");
            assert_eq!(timers.pop_due(due(place)), Some(indices[place]));
        }
        assert_eq!(timers.next(), None);
    }
}

#[test]
fn an_answer_frees_one_place_of_its_destination() {
    let mut window = window();
    for context in 0..2 {
        window.request(&get(1), context).unwrap();
    }
    let on_the_wire = sent(&mut window, at(0));
    let _ = window.handle_mad(at(1), &answer(&on_the_wire[0], MadStatus::OK));
    for context in 2..5 {
        window.request(&get(1), context).unwrap();
    }
    assert_eq!(sent(&mut window, at(1)).len(), 1);
    assert_eq!(window.in_flight(), 2);
    let _ = window.handle_mad(at(2), &answer(&on_the_wire[1], MadStatus::OK));
    assert_eq!(sent(&mut window, at(2)).len(), 1);
}

#[test]
fn a_window_says_how_many_requests_it_still_takes() {
    let mut window = window();
    for context in 0..64 {
        assert_eq!(window.room(), 64 - context as usize);
        window.request(&get(1), context).unwrap();
    }
    assert_eq!(window.room(), 0);
    assert!(window.request(&get(1), 64).is_err());
}

#[test]
fn an_open_request_can_be_read() {
    let mut window = window();
    window.request(&get(3), 7).unwrap();
    let request = window.poll_transmit(at(0)).unwrap();
    let (class, id) = (MgmtClass::SUBN_LID, request.header().transaction_id());
    assert_eq!(window.datagram(class, id), Some(&request));
    assert_eq!(window.datagram(MgmtClass::PERF, id), None);
}

#[test]
fn an_answer_that_arrives_as_its_request_times_out_is_waited_for() {
    let mut window = window();
    window.request(&get(1), 7).unwrap();
    let request = window.poll_transmit(at(0)).unwrap();
    let id = request.header().transaction_id();
    window.handle_timeout(at(10));
    assert!(window.extend_deadline(MgmtClass::SUBN_LID, id, at(50)));
    assert_eq!(window.poll_transmit(at(10)), None, "it is not repeated");
    assert_eq!(window.poll_timeout(), Some(at(50)));
    assert_eq!(window.in_flight(), 1);
    window.handle_timeout(at(50));
    assert_eq!(window.poll_transmit(at(50)), Some(request));
}

#[test]
fn a_full_window_in_which_nothing_waits_has_no_timer_beyond_its_requests() {
    let mut window = overflowing();
    for lid in 1..=2 {
        window.request(&get(lid), lid.into()).unwrap();
    }
    assert_eq!(sent(&mut window, at(0)).len(), 2);
    assert_eq!(window.poll_timeout(), Some(at(1000)));
}

#[test]
fn without_redirections_the_answer_goes_to_the_caller() {
    let mut window = TransactionWindow::new(WindowConfig {
        max_redirects: 0,
        ..config()
    });
    window.request(&perf_get(1), 7).unwrap();
    let request = window.poll_transmit(at(0)).unwrap();
    let matched = window.handle_mad(at(1), &redirect(&request, 9));
    assert!(matches!(matched, MadMatch::Answer(_)));
    assert!(window.poll_failure().is_none());
}

#[test]
fn a_send_of_another_class_or_modifier_answers_nothing() {
    let bm = |class, method, modifier| {
        let mut mad = get(1);
        mad.header_mut()
            .set_mgmt_class(class)
            .set_method(method)
            .set_attribute_modifier(modifier);
        mad
    };
    let (send, class) = (Method::SEND, MgmtClass::BM);
    for (request, modifier, answers) in [
        (bm(class, send, 0), 1, true),
        (bm(class, send, 0), 0, false),
        (bm(class, send, 1), 1, false),
        (bm(class, Method::GET, 0), 1, false),
        (bm(MgmtClass::PERF, send, 0), 1, false),
    ] {
        let mut window = window();
        window.request(&request, 7).unwrap();
        let sent = window.poll_transmit(at(0)).unwrap();
        let mut answer = sent;
        answer
            .header_mut()
            .set_method(send)
            .set_attribute_modifier(modifier);
        let matched = window.handle_mad(at(1), &answer);
        assert_eq!(
            matches!(matched, MadMatch::Answer(_)),
            answers,
            "{request:?}"
        );
    }
}

#[test]
fn after_a_loss_the_limit_grows_by_one_for_each_full_window_of_answers() {
    let mut limit = limit::Limit::new(InFlight::Adaptive { min: 1, max: 64 });
    for _ in 0..15 {
        limit.answered(at(1), true, at(0));
    }
    assert_eq!(limit.get(), 16);
    // What was sent up to the reduction met the same congestion; what was sent after it did not.
    for (first_sent, expected) in [(5, 8), (5, 8), (10, 8), (11, 4)] {
        limit.answered(at(10), false, at(first_sent));
        assert_eq!(limit.get(), expected, "first sent at {first_sent} ms");
    }
    for expected in [4, 4, 4, 5, 5, 5, 5, 5, 6] {
        limit.answered(at(20), true, at(15));
        assert_eq!(limit.get(), expected);
    }
}
