use ib_mad::MadAddress;

use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn record(millis: u64, direction: Direction, number: u8) -> Record {
    let mut mad = Mad::new(MadAddress::DIRECTED);
    mad.bytes[0] = number;
    Record {
        at: at(millis),
        direction,
        mad,
    }
}

#[test]
fn the_engine_sees_the_moments_that_it_saw() {
    let sent = record(900, Direction::Sent, 2);
    let mut replay = Replay::new([record(100, Direction::Received, 1), sent]);
    let clock = replay.clock();
    assert!(matches!(
        replay.recv(Some(at(200))),
        Ok(Some(Received::Mad(_)))
    ));
    // It computed for 800 ms before it sent: the time-out of what it sent starts then.
    assert_eq!(clock.now(), at(100));
    assert_eq!(clock.now(), at(900));
    replay.send(&sent.mad).unwrap();
    assert_eq!(clock.now(), at(900));
}

#[test]
fn where_the_engine_sent_next_its_timer_had_run_out() {
    let again = record(205, Direction::Sent, 1);
    let answer = record(206, Direction::Received, 2);
    let mut replay = Replay::new([again, answer]);
    let clock = replay.clock();
    assert_eq!(replay.recv(Some(at(250))).unwrap(), None);
    assert_eq!(clock.now(), at(250));
    replay.send(&again.mad).unwrap();
    assert_eq!(clock.now(), at(250), "time never goes back");
    // A datagram that came after the deadline is not there yet.
    let earlier = record(100, Direction::Received, 0);
    let mut replay = Replay::new([earlier, answer]);
    assert!(replay.recv(None).unwrap().is_some());
    assert_eq!(replay.recv(Some(at(205))).unwrap(), None);
    assert_eq!(
        replay.recv(Some(at(206))).unwrap(),
        Some(Received::Mad(answer.mad))
    );
}

#[test]
fn what_was_refused_is_refused_again_and_what_came_back_comes_back() {
    let refused = record(1, Direction::Sent, 1);
    let returned = record(2, Direction::Sent, 2);
    let mut replay = Replay::new([
        refused,
        record(1, Direction::Refused, 1),
        returned,
        record(3, Direction::Returned, 2),
    ]);
    let error = replay.send(&refused.mad);
    assert!(matches!(error, Err(TransportError::Unreachable { .. })));
    replay.send(&returned.mad).unwrap();
    assert_eq!(
        replay.recv(None).unwrap(),
        Some(Received::Returned(returned.mad))
    );
    assert_eq!(replay.left(), 0);
}

#[test]
fn another_datagram_or_another_order_is_named() {
    let (first, answer) = (
        record(1, Direction::Sent, 1),
        record(2, Direction::Received, 2),
    );
    let second = record(3, Direction::Sent, 3);
    let diverged = |replay: &mut Replay, mad| match replay.send(mad) {
        Err(TransportError::Diverged { expected, .. }) => expected.map(|mad| mad.bytes[0]),
        other => panic!("{other:?}"),
    };
    let mut replay = Replay::new([first, answer, second]);
    assert_eq!(diverged(&mut replay, &second.mad), Some(1));
    replay.send(&first.mad).unwrap();
    // The answer came first.
    assert_eq!(diverged(&mut replay, &second.mad), Some(3));
    assert!(replay.recv(None).unwrap().is_some());
    replay.send(&second.mad).unwrap();
    // The recording ends here.
    assert_eq!(diverged(&mut replay, &second.mad), None);
    assert_eq!(replay.recv(None).unwrap(), None);
}

#[test]
fn a_timer_that_sends_nothing_runs_out_at_its_own_time() {
    let sent = record(900, Direction::Sent, 2);
    let mut replay = Replay::new([record(100, Direction::Received, 1), sent]);
    let clock = replay.clock();
    assert!(replay.recv(Some(at(200))).unwrap().is_some());
    assert_eq!((clock.now(), clock.now()), (at(100), at(900)));
    for deadline in [300, 500] {
        assert_eq!(replay.recv(Some(at(deadline))).unwrap(), None);
        assert_eq!((clock.now(), clock.now()), (at(deadline), at(900)));
    }
}
