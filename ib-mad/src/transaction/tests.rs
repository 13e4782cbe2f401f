//! The transaction window, in virtual time.

mod limits;
mod patterns;

use core::time::Duration;

use ib_wire::Lid;

use super::*;
use crate::{AttributeId, ClassPortInfo, MadAddress, MadStatus};

const MS: Duration = Duration::from_millis(1);

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn config() -> WindowConfig {
    WindowConfig {
        timeout: 10 * MS,
        retries: 2,
        busy_wait: 5 * MS,
        busy_retries: 2,
        in_flight: InFlight::Fixed(4),
        per_destination: 2,
        max_requests: 64,
        first_transaction_id: TransactionId(0x55_0000_0001),
        ..WindowConfig::default()
    }
}

fn window() -> TransactionWindow<u32> {
    TransactionWindow::new(config())
}

/// A window of two requests that grows to four, by one for each 30 ms without an answer.
fn overflowing() -> TransactionWindow<u32> {
    TransactionWindow::new(WindowConfig {
        timeout: 1000 * MS,
        in_flight: InFlight::Fixed(2),
        overflow: Some(Overflow {
            after: 30 * MS,
            max: 4,
        }),
        ..config()
    })
}

fn get(lid: u16) -> Mad {
    let mut mad = Mad::new(MadAddress::smi(Lid(lid)));
    mad.header_mut()
        .set_base_version(1)
        .set_class_version(1)
        .set_mgmt_class(MgmtClass::SUBN_LID)
        .set_method(Method::GET)
        .set_attribute_id(AttributeId(0x11));
    mad
}

fn answer(request: &Mad, status: MadStatus) -> Mad {
    let mut mad = *request;
    mad.header_mut()
        .set_method(Method::GET_RESP)
        .set_status(status);
    mad
}

fn sent(window: &mut TransactionWindow<u32>, now: Instant) -> Vec<Mad> {
    core::iter::from_fn(|| window.poll_transmit(now)).collect()
}

#[test]
fn an_answer_brings_the_context_back() {
    let mut window = window();
    window.request(&get(1), 7).unwrap();
    assert!(!window.is_empty());
    let request = window.poll_transmit(at(0)).unwrap();
    assert!(!window.is_empty());
    assert_eq!(window.poll_timeout(), Some(at(10)));
    let MadMatch::Answer(got) = window.handle_mad(at(3), &answer(&request, MadStatus::OK)) else {
        panic!("not an answer");
    };
    assert_eq!(
        got,
        Answer {
            context: 7,
            attempts: 1,
            elapsed: 3 * MS
        }
    );
    assert!(window.is_empty());
    assert_eq!(window.in_flight(), 0);
    assert_eq!(window.poll_timeout(), None);
}

#[test]
fn one_call_takes_in_any_input_and_returns_what_was_answered() {
    let mut window = window();
    window.request(&get(1), 7).unwrap();
    window.request(&get(2), 8).unwrap();
    let requests = sent(&mut window, at(0));
    let response = answer(&requests[0], MadStatus::OK);
    let answered = window.handle_answer(at(3), Input::Mad(&response));
    assert_eq!(answered, Some((7, &response)));
    // It comes twice, and a trap comes: neither answers anything that is open.
    assert_eq!(window.handle_answer(at(4), Input::Mad(&response)), None);
    assert_eq!(window.handle_answer(at(4), Input::Mad(&get(3))), None);
    // The second request could not be sent, so it is sent again at once.
    assert_eq!(
        window.handle_answer(at(5), Input::SendFailed(&requests[1])),
        None
    );
    assert_eq!(sent(&mut window, at(5)), [requests[1]]);
    assert_eq!(window.in_flight(), 1);
}

#[test]
fn an_error_status_is_an_answer() {
    let mut window = window();
    window.request(&get(1), 7).unwrap();
    let request = window.poll_transmit(at(0)).unwrap();
    let refused = answer(&request, MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    assert!(matches!(
        window.handle_mad(at(0), &refused),
        MadMatch::Answer(_)
    ));
}

#[test]
fn the_high_half_of_a_transaction_id_does_not_count() {
    let mut window = window();
    let id = window.request(&get(1), 7).unwrap();
    assert_eq!(id, TransactionId(0x55_0000_0001));
    let mut response = answer(&window.poll_transmit(at(0)).unwrap(), MadStatus::OK);
    response
        .header_mut()
        .set_transaction_id(TransactionId(0xabcd_0000_0001));
    assert!(matches!(
        window.handle_mad(at(0), &response),
        MadMatch::Answer(_)
    ));
}

#[test]
fn the_same_id_of_another_class_is_stale() {
    let mut window = window();
    window.request(&get(1), 7).unwrap();
    let mut response = answer(&window.poll_transmit(at(0)).unwrap(), MadStatus::OK);
    response.header_mut().set_mgmt_class(MgmtClass::PERF);
    assert!(matches!(
        window.handle_mad(at(0), &response),
        MadMatch::Stale
    ));
    assert_eq!(window.in_flight(), 1);
}

#[test]
fn a_second_answer_is_stale() {
    let mut window = window();
    window.request(&get(1), 7).unwrap();
    let response = answer(&window.poll_transmit(at(0)).unwrap(), MadStatus::OK);
    assert!(matches!(
        window.handle_mad(at(0), &response),
        MadMatch::Answer(_)
    ));
    assert!(matches!(
        window.handle_mad(at(0), &response),
        MadMatch::Stale
    ));
    assert_eq!(window.counters().stale, 1);
}

#[test]
fn what_was_not_sent_has_no_answer() {
    let mut window = window();
    let id = window.request(&get(7), 1).unwrap();
    let mut early = answer(&get(7), MadStatus::OK);
    early.header_mut().set_transaction_id(id);
    assert!(matches!(window.handle_mad(at(0), &early), MadMatch::Stale));
    assert_eq!(sent(&mut window, at(0)).len(), 1);
    let received = window.handle_mad(at(1), &early);
    assert!(matches!(received, MadMatch::Answer(_)));
}

#[test]
fn a_request_of_somebody_else_is_unsolicited_even_with_an_id_of_ours() {
    let mut window = window();
    window.request(&get(1), 7).unwrap();
    let request = window.poll_transmit(at(0)).unwrap();
    assert!(matches!(
        window.handle_mad(at(0), &request),
        MadMatch::Unsolicited
    ));
    assert_eq!(window.len(), 1);
}

#[test]
fn silence_repeats_the_same_bytes_and_then_fails() {
    let mut window = window();
    window.request(&get(1), 7).unwrap();
    let first = sent(&mut window, at(0));
    for ms in [10, 20] {
        window.handle_timeout(at(ms - 1));
        assert_eq!(sent(&mut window, at(ms - 1)), [], "before its time");
        window.handle_timeout(at(ms));
        assert_eq!(sent(&mut window, at(ms)), first);
    }
    window.handle_timeout(at(30));
    assert_eq!(sent(&mut window, at(30)), []);
    let failure = window.poll_failure().unwrap();
    assert_eq!(failure.context, 7);
    assert_eq!(failure.reason, FailureReason::TimedOut);
    assert_eq!(failure.attempts, 3);
    assert_eq!(failure.request, first[0]);
    assert_eq!(window.poll_failure(), None);
    assert_eq!((window.in_flight(), window.len()), (0, 0));
    assert_eq!(window.counters().timed_out, 3);
}

#[test]
fn an_answer_after_the_time_out_still_counts() {
    let mut window = window();
    window.request(&get(1), 7).unwrap();
    let request = sent(&mut window, at(0))[0];
    window.handle_timeout(at(10));
    let response = answer(&request, MadStatus::OK);
    assert!(matches!(
        window.handle_mad(at(11), &response),
        MadMatch::Answer(_)
    ));
    assert_eq!(sent(&mut window, at(11)), [], "it is not repeated any more");
    assert_eq!(window.in_flight(), 0);
}

#[test]
fn back_off_doubles_each_wait_up_to_its_bound() {
    let backoff = Backoff {
        doublings: 1,
        max: 35 * MS,
    };
    let waits: Vec<_> = (0..4)
        .map(|attempt| backoff.wait(10 * MS, attempt))
        .collect();
    assert_eq!(waits, [10 * MS, 20 * MS, 35 * MS, 35 * MS]);
    assert_eq!(
        backoff.wait(50 * MS, 9),
        50 * MS,
        "never below the first one"
    );
    assert_eq!(Backoff::DOUBLE.wait(Duration::MAX, u32::MAX), Duration::MAX);
}

/// A window that repeats early, and that has seen so many answers, each after `round_trip`.
fn early_window(answers: u32, round_trip: Duration) -> TransactionWindow<u32> {
    let mut window = TransactionWindow::new(WindowConfig {
        timeout: 200 * MS,
        retries: 3,
        early_repeat: Some(EarlyRepeat {
            min: 20 * MS,
            after_answers: 8,
        }),
        ..config()
    });
    for number in 0..answers {
        window.request(&get(7), number).unwrap();
        let request = window.poll_transmit(at(0)).unwrap();
        let answer = answer(&request, MadStatus::default());
        let answered_at = at(0).saturating_add(round_trip);
        assert!(matches!(
            window.handle_mad(answered_at, &answer),
            MadMatch::Answer(_)
        ));
    }
    window
}

/// Milliseconds between the attempts of a request that nobody answers, and from the last one to its failure.
fn waits(window: &mut TransactionWindow<u32>) -> Vec<u64> {
    window.request(&get(9), 0).unwrap();
    let mut waits = Vec::new();
    let mut now = at(1000);
    while window.poll_transmit(now).is_some() {
        let next = window.poll_timeout().unwrap();
        waits.push(next.since(now).as_millis() as u64);
        now = next;
        window.handle_timeout(now);
    }
    assert!(window.poll_failure().is_some());
    waits
}

#[test]
fn early_repetitions_leave_the_whole_time_out_to_the_last_attempt() {
    assert_eq!(waits(&mut early_window(8, MS / 5)), [20, 20, 20, 200]);
}

#[test]
fn slow_answers_put_early_repetitions_off_up_to_the_time_out() {
    let slow = waits(&mut early_window(40, 90 * MS));
    assert!((90..100).contains(&slow[0]), "{slow:?}");
    assert_eq!(slow[3], 200);
    assert_eq!(waits(&mut early_window(40, 900 * MS)), [200; 4]);
}

#[test]
fn nothing_is_repeated_early_while_round_trip_times_are_unknown() {
    assert_eq!(waits(&mut early_window(7, MS / 5)), [200; 4]);
    assert_eq!(waits(&mut window()), [10; 3]);
}

#[test]
fn a_slow_device_that_is_repeated_early_is_answered_by_its_first_answer() {
    let mut window = early_window(8, MS / 5);
    window.request(&get(9), 9).unwrap();
    let request = window.poll_transmit(at(1000)).unwrap();
    window.handle_timeout(at(1020));
    assert_eq!(window.poll_transmit(at(1020)), Some(request));
    let found = window.handle_mad(at(1030), &answer(&request, MadStatus::default()));
    let MadMatch::Answer(found) = found else {
        panic!("{found:?}");
    };
    assert_eq!(
        (found.context, found.attempts, found.elapsed),
        (9, 2, 30 * MS)
    );
    let again = window.handle_mad(at(1035), &answer(&request, MadStatus::default()));
    assert!(matches!(again, MadMatch::Stale));
}

#[test]
fn no_more_than_the_limit_are_in_flight() {
    let mut window = window();
    for lid in 1..=10 {
        window.request(&get(lid), lid.into()).unwrap();
    }
    let first = sent(&mut window, at(0));
    assert_eq!(first.len(), 4);
    let _ = window.handle_mad(at(1), &answer(&first[2], MadStatus::OK));
    let next = sent(&mut window, at(1));
    assert_eq!(next.len(), 1);
    assert_eq!(next[0].address.lid, Lid(5), "in the order of the requests");
}

#[test]
fn a_destination_at_its_limit_does_not_hold_the_others_up() {
    let mut window = window();
    for (context, lid) in [1, 1, 1, 1, 2].into_iter().enumerate() {
        window.request(&get(lid), context as u32).unwrap();
    }
    let lids = |mads: &[Mad]| mads.iter().map(|mad| mad.address.lid.0).collect::<Vec<_>>();
    let first = sent(&mut window, at(0));
    assert_eq!(lids(&first), [1, 1, 2]);
    let _ = window.handle_mad(at(1), &answer(&first[0], MadStatus::OK));
    assert_eq!(lids(&sent(&mut window, at(1))), [1]);
}

#[test]
fn a_destination_of_the_callers_is_counted_instead_of_the_lid() {
    let mut window = window();
    let options = RequestOptions {
        destination: Some(99),
        ..RequestOptions::default()
    };
    for lid in 1..=4 {
        window.request_with(&get(lid), options, 0).unwrap();
    }
    assert_eq!(sent(&mut window, at(0)).len(), 2);
}

#[test]
fn directed_routes_have_no_destination_unless_told() {
    let mut window = window();
    for _ in 0..4 {
        window.request(&get(0xffff), 0).unwrap();
    }
    assert_eq!(sent(&mut window, at(0)).len(), 4);
}

#[test]
fn a_busy_responder_rests_and_gives_its_place_to_others() {
    let mut window = window();
    for lid in 1..=5 {
        window.request(&get(lid), lid.into()).unwrap();
    }
    let first = sent(&mut window, at(0));
    let busy = answer(&first[0], MadStatus::BUSY);
    assert!(matches!(window.handle_mad(at(1), &busy), MadMatch::Pending));
    let next = sent(&mut window, at(1));
    assert_eq!(next[0].address.lid, Lid(5));
    assert_eq!(window.poll_timeout(), Some(at(6)));
    for mad in first[1..].iter().chain(&next) {
        let _ = window.handle_mad(at(2), &answer(mad, MadStatus::OK));
    }
    window.handle_timeout(at(6));
    assert_eq!(
        sent(&mut window, at(6)),
        [first[0]],
        "the same request again"
    );
    assert!(matches!(window.handle_mad(at(7), &busy), MadMatch::Pending));
    assert_eq!(
        window.poll_timeout(),
        Some(at(17)),
        "twice as long as before"
    );
    window.handle_timeout(at(17));
    assert_eq!(sent(&mut window, at(17)).len(), 1);
    let _ = window.handle_mad(at(18), &busy);
    assert_eq!(window.poll_failure().unwrap().reason, FailureReason::Busy);
    assert_eq!((window.in_flight(), window.len()), (0, 0));
}

#[test]
fn what_is_not_sent_or_comes_back_is_an_early_time_out() {
    for reason in [FailureReason::NotSent, FailureReason::TimedOut] {
        let mut window = window();
        window.request(&get(1), 7).unwrap();
        for _ in 0..3 {
            let mad = window.poll_transmit(at(0)).unwrap();
            window.handle_input(
                at(0),
                match reason {
                    FailureReason::NotSent => Input::SendFailed(&mad),
                    _ => Input::Returned(&mad),
                },
            );
        }
        assert_eq!(window.poll_transmit(at(0)), None);
        let failure = window.poll_failure().unwrap();
        assert_eq!((failure.reason, failure.attempts), (reason, 3));
        assert_eq!(window.poll_timeout(), None);
    }
}

#[test]
fn a_trap_is_answered_by_its_repression() {
    let mut window = window();
    let mut trap = get(1);
    trap.header_mut().set_method(Method::TRAP);
    window.request(&trap, 7).unwrap();
    let sent = window.poll_transmit(at(0)).unwrap();
    let mut repress = sent;
    repress.header_mut().set_method(Method::TRAP_REPRESS);
    assert!(matches!(
        window.handle_mad(at(1), &repress),
        MadMatch::Answer(_)
    ));
    assert!(matches!(
        window.handle_mad(at(1), &repress),
        MadMatch::Unsolicited
    ));
}

#[test]
fn a_full_window_gives_the_context_back() {
    let mut window = window();
    for context in 0..64 {
        window.request(&get(1), context).unwrap();
    }
    assert_eq!(window.request(&get(1), 64), Err(WindowFull(64)));
    assert_eq!(window.room(), 0);
}

#[test]
fn what_is_cancelled_is_neither_sent_nor_reported() {
    let mut window = window();
    let ids: Vec<_> = (0..6)
        .map(|context| window.request(&get(1), context).unwrap())
        .collect();
    let first = sent(&mut window, at(0));
    assert_eq!(first.len(), 2);
    // In flight, in the destination's queue, unknown.
    assert_eq!(window.cancel(MgmtClass::SUBN_LID, ids[0]), Some(0));
    assert_eq!(window.cancel(MgmtClass::SUBN_LID, ids[4]), Some(4));
    assert_eq!(window.cancel(MgmtClass::SUBN_LID, ids[4]), None);
    window.retain(|&context| context == 1 || context == 5);
    assert_eq!(window.len(), 2);
    let next = sent(&mut window, at(1));
    assert_eq!(next.len(), 1);
    assert_eq!(next[0].header().transaction_id(), ids[5]);
    assert!(matches!(
        window.handle_mad(at(2), &answer(&first[0], MadStatus::OK)),
        MadMatch::Stale
    ));
}

#[test]
fn a_held_request_waits_until_it_is_told() {
    let mut window = window();
    let id = window.request(&get(1), 7).unwrap();
    let _ = window.poll_transmit(at(0));
    assert!(window.extend_deadline(MgmtClass::SUBN_LID, id, at(500)));
    window.handle_timeout(at(499));
    assert_eq!(window.poll_transmit(at(499)), None);
    assert_eq!(window.poll_timeout(), Some(at(500)));
}

#[test]
fn the_adaptive_limit_grows_with_answers_and_halves_with_losses_of_the_living() {
    let mut window = TransactionWindow::new(WindowConfig {
        in_flight: InFlight::Adaptive { min: 2, max: 8 },
        per_destination: 1000,
        ..config()
    });
    for context in 0..30u32 {
        window.request(&get(1), context).unwrap();
    }
    let mut ms = 0;
    for expected in [2, 4, 8, 8] {
        let mads = sent(&mut window, at(ms));
        assert_eq!(mads.len(), expected);
        for mad in &mads[1..] {
            let _ = window.handle_mad(at(ms), &answer(mad, MadStatus::OK));
        }
        let _ = window.handle_mad(at(ms), &answer(&mads[0], MadStatus::OK));
        ms += 1;
    }
    assert_eq!(window.limit(), 8);
    // Two are lost and answered at the second attempt: one congestion, not two.
    let lost = sent(&mut window, at(ms));
    window.handle_timeout(at(ms + 10));
    let again = sent(&mut window, at(ms + 10));
    assert_eq!(again.len(), lost.len());
    for mad in &again[..2] {
        let _ = window.handle_mad(at(ms + 11), &answer(mad, MadStatus::OK));
    }
    assert_eq!(window.limit(), 4);
}

#[test]
fn silent_devices_do_not_stop_the_others_for_longer_than_the_overflow_waits() {
    let mut window = overflowing();
    for lid in 1..=6 {
        window.request(&get(lid), lid.into()).unwrap();
    }
    assert_eq!(sent(&mut window, at(0)).len(), 2);
    // One more after each wait in which nothing happens, up to the maximum.
    for (ms, due, count) in [
        (29, 30, 0),
        (30, 60, 1),
        (59, 60, 0),
        (60, 1000, 1),
        (500, 1000, 0),
    ] {
        window.handle_timeout(at(ms));
        assert_eq!(sent(&mut window, at(ms)).len(), count, "after {ms} ms");
        assert_eq!(window.poll_timeout(), Some(at(due)), "after {ms} ms");
    }
    assert_eq!(window.in_flight(), 4);
    // Answers bring the window back below its limit, and requests go out at once again.
    let mut window = self::window();
    for lid in 1..=6 {
        window.request(&get(lid), lid.into()).unwrap();
    }
    assert_eq!(sent(&mut window, at(0)).len(), 4);
    assert_eq!(
        window.poll_timeout(),
        Some(at(10)),
        "no overflow, no timer for it"
    );
}

#[test]
fn a_silent_destination_does_not_shrink_the_adaptive_limit() {
    let mut window = TransactionWindow::new(WindowConfig {
        in_flight: InFlight::Adaptive { min: 1, max: 8 },
        retries: 0,
        ..config()
    });
    window.request(&get(1), 0).unwrap();
    let mad = window.poll_transmit(at(0)).unwrap();
    let _ = window.handle_mad(at(0), &answer(&mad, MadStatus::OK));
    assert_eq!(window.limit(), 2);
    window.request(&get(2), 0).unwrap();
    let _ = window.poll_transmit(at(0));
    window.handle_timeout(at(10));
    assert!(window.poll_failure().is_some());
    assert_eq!(window.limit(), 2);
}

#[test]
fn transaction_ids_skip_zero_and_the_places_of_old_requests() {
    let mut window = TransactionWindow::new(WindowConfig {
        first_transaction_id: TransactionId(0xffff_ffff),
        ..config()
    });
    let first = window.request(&get(1), 0).unwrap();
    assert_eq!(first.low(), 0xffff_ffff);
    assert_eq!(window.request(&get(1), 1).unwrap().low(), 1);
    let _ = sent(&mut window, at(0));
    for context in 2..1000 {
        let id = window.request(&get(2), context).unwrap();
        let mad = sent(&mut window, at(0))[0];
        assert_eq!(mad.header().transaction_id(), id);
        assert_ne!(id.low() & 0xf, first.low() & 0xf);
        let MadMatch::Answer(got) = window.handle_mad(at(0), &answer(&mad, MadStatus::OK)) else {
            panic!("{id}");
        };
        assert_eq!(got.context, context);
    }
}

#[test]
fn as_an_engine_it_reports_everything_once() {
    let mut window = window();
    window.request(&get(1), 7).unwrap();
    let request = window.poll_transmit(at(0)).unwrap();
    let response = answer(&request, MadStatus::OK);
    window.handle_input(at(1), Input::Mad(&request));
    window.handle_input(at(1), Input::Mad(&response));
    window.handle_input(at(1), Input::Mad(&response));
    let events: Vec<_> = core::iter::from_fn(|| window.poll_event()).collect();
    assert!(matches!(
        events[..],
        [
            WindowEvent::Unsolicited(_),
            WindowEvent::Answered { .. },
            WindowEvent::Stale(_)
        ]
    ));
}

/// A redirecting answer to a performance query, to this LID.
fn redirect(request: &Mad, lid: u16) -> Mad {
    let mut mad = answer(request, MadStatus::REDIRECT);
    let (info, _) = ClassPortInfo::parse_mut(&mut mad.bytes[64..], 64).unwrap();
    info.set_redirect_lid(Lid(lid))
        .set_redirect_qp(ib_wire::Qpn::GSI)
        .set_redirect_q_key(ib_wire::QKey::GSI);
    mad
}

fn perf_get(lid: u16) -> Mad {
    let mut mad = get(lid);
    mad.header_mut().set_mgmt_class(MgmtClass::PERF);
    mad
}

#[test]
fn a_redirection_is_followed_to_its_address() {
    let mut window = window();
    window.request(&perf_get(1), 7).unwrap();
    let first = window.poll_transmit(at(0)).unwrap();
    assert!(matches!(
        window.handle_mad(at(1), &redirect(&first, 9)),
        MadMatch::Pending
    ));
    let second = window.poll_transmit(at(1)).unwrap();
    assert_eq!(second.address.lid, Lid(9));
    assert_eq!(second.address.qpn, ib_wire::Qpn::GSI);
    assert_eq!(second.bytes, first.bytes, "the request itself stays");
    assert_eq!(window.in_flight(), 1);
    assert!(matches!(
        window.handle_mad(at(2), &answer(&second, MadStatus::OK)),
        MadMatch::Answer(_)
    ));
}

#[test]
fn a_loop_of_redirections_ends() {
    let mut window = window();
    window.request(&perf_get(1), 7).unwrap();
    let mut hops = 0;
    while let Some(mad) = window.poll_transmit(at(0)) {
        hops += 1;
        let next = 3 - mad.address.lid.0;
        assert!(matches!(
            window.handle_mad(at(0), &redirect(&mad, next)),
            MadMatch::Pending
        ));
    }
    assert_eq!(hops, 5, "the first one and four redirections");
    let failure = window.poll_failure().unwrap();
    assert_eq!(failure.reason, FailureReason::RedirectLoop);
    assert_eq!((window.in_flight(), window.len()), (0, 0));
}

#[test]
fn a_redirection_without_a_lid_goes_to_the_caller() {
    let mut window = window();
    window.request(&perf_get(1), 7).unwrap();
    let first = window.poll_transmit(at(0)).unwrap();
    assert!(matches!(
        window.handle_mad(at(1), &redirect(&first, 0)),
        MadMatch::Answer(_)
    ));
}
