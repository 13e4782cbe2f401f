use ib_mad::MadAddress;

use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn record(millis: u64, direction: Direction, number: u8) -> RecordedMad {
    RecordedMad {
        at: at(millis),
        direction,
        mad: mad(number),
    }
}

fn mad(number: u8) -> Mad {
    let mut mad = Mad::new(MadAddress::DIRECTED);
    mad.bytes[0] = number;
    mad
}

/// An engine that sends datagrams of these numbers, each at its first poll after its cue, and writes down what happens.
#[derive(Default)]
struct Script {
    /// The next datagram to send, and the number of calls until then.
    sends: VecDeque<(usize, u8)>,
    /// Its timers.
    timers: VecDeque<u64>,
    /// The call, the moment in milliseconds, and the number of the datagram.
    calls: Vec<(&'static str, u64, u8)>,
}

impl Script {
    fn new(sends: &[(usize, u8)], timers: &[u64]) -> Self {
        Self {
            sends: sends.iter().copied().collect(),
            timers: timers.iter().copied().collect(),
            calls: Vec::new(),
        }
    }

    fn called(&mut self, call: &'static str, now: Instant, number: u8) {
        self.calls.push((call, now.as_nanos() / 1_000_000, number));
    }

    fn play(&mut self, records: &[RecordedMad]) -> (Result<Option<()>, TransportError>, Replay) {
        let mut replay = Replay::new(records.iter().copied());
        let outcome = replay.drive(self, |_, ()| ControlFlow::Continue(()));
        (outcome, replay)
    }
}

impl Engine for Script {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = ();

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        match input {
            Input::Mad(mad) => self.called("received", now, mad.bytes[0]),
            Input::Returned(mad) => self.called("returned", now, mad.bytes[0]),
            Input::SendFailed(mad) => self.called("refused", now, mad.bytes[0]),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.called("timer", now, 0);
        self.timers.pop_front();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        let (_, number) = self
            .sends
            .pop_front_if(|(calls, _)| *calls <= self.calls.len())?;
        self.called("sent", now, number);
        Some(mad(number))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timers.front().map(|&timer| at(timer))
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }
}

#[test]
fn the_engine_sees_the_moments_that_it_saw() {
    // It computed for 800 ms before it sent: the time-out of what it sent starts then.
    let mut script = Script::new(&[(1, 2)], &[950]);
    let records = [
        record(100, Direction::Received, 1),
        record(900, Direction::Sent, 2),
    ];
    let (outcome, replay) = script.play(&records);
    assert_eq!((outcome.unwrap(), replay.left()), (None, 0));
    let expected = [("received", 100, 1), ("sent", 900, 2), ("timer", 950, 0)];
    assert_eq!(script.calls, expected);
}

#[test]
fn a_timer_runs_out_at_its_own_time_and_before_what_arrived_later() {
    let mut script = Script::new(&[(1, 1)], &[250, 300, 310]);
    let records = [
        // The engine sent this when its timer ran out; the file's times are microseconds.
        record(249, Direction::Sent, 1),
        record(305, Direction::Received, 2),
    ];
    let (outcome, replay) = script.play(&records);
    assert_eq!((outcome.unwrap(), replay.left()), (None, 0));
    let expected = [
        ("timer", 250, 0),
        ("sent", 250, 1),
        ("timer", 300, 0),
        ("received", 305, 2),
        ("timer", 310, 0),
    ];
    assert_eq!(script.calls, expected, "time never goes back");
}

#[test]
fn what_was_refused_is_refused_again_and_what_came_back_comes_back() {
    let mut script = Script::new(&[(0, 1), (2, 2)], &[]);
    let records = [
        record(1, Direction::Sent, 1),
        record(1, Direction::Refused, 1),
        record(2, Direction::Sent, 2),
        record(3, Direction::Returned, 2),
    ];
    let (outcome, replay) = script.play(&records);
    assert_eq!((outcome.unwrap(), replay.left()), (None, 0));
    let expected = [
        ("sent", 1, 1),
        ("refused", 1, 1),
        ("sent", 2, 2),
        ("returned", 3, 2),
    ];
    assert_eq!(script.calls, expected);
}

#[test]
fn another_datagram_or_another_order_is_named() {
    let records = [
        record(1, Direction::Sent, 1),
        record(2, Direction::Received, 2),
        record(3, Direction::Sent, 3),
    ];
    // Another datagram; one too early; one after the end.
    let scripts = [
        (vec![(0, 3)], Some(1)),
        (vec![(0, 1), (1, 3)], Some(3)),
        (vec![(0, 1), (2, 3), (3, 4)], None),
    ];
    for (sends, wanted) in scripts {
        let (outcome, _) = Script::new(&sends, &[]).play(&records);
        let Err(TransportError::Diverged { expected, .. }) = outcome else {
            panic!("{sends:?}: {outcome:?}");
        };
        assert_eq!(expected.map(|mad| mad.bytes[0]), wanted, "{sends:?}");
    }
}
