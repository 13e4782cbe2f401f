//! A recording, replayed to a second manager: it makes the same decisions, byte for byte.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ib_mad::{Instant, Mad, TransactionId};
use ib_sim::server::{Listen, Server, ServerOptions};
use ib_sim::{FaultRates, SharedSim, Sim, SimOptions, SimTransport};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_transport::ibsim::{IbsimOptions, IbsimPort};
use ib_transport::{
    Clock, Direction, MadTransport, MonotonicClock, Received, RecordWriter, RecordedMad, Replay,
    Tap, TransportError, drive, read_records,
};
use ib_wire::Lid;

use ib_testkit::lab::Lab;

/// Number of sweeps in a run.
const SWEEPS: usize = 3;
/// Time between them: short, as some runs are in real time.
const INTERVAL: Duration = Duration::from_millis(500);

fn config() -> SmConfig {
    SmConfig {
        sweep_interval: Some(INTERVAL),
        ..SmConfig::default()
    }
}

/// The events of a run as text, and how it ended.
type Run = (Vec<String>, Result<Option<()>, TransportError>);

/// Runs a manager that is created at `now` until its last sweep has ended. `run` drives it with a handler of its events.
fn run(
    now: Instant,
    run: impl FnOnce(
        &mut SubnetManager,
        &mut dyn FnMut(&mut SubnetManager, Event) -> ControlFlow<()>,
    ) -> Result<Option<()>, TransportError>,
) -> Run {
    let mut sm = SubnetManager::new(config(), now);
    let (mut events, mut sweeps) = (Vec::new(), 0);
    let outcome = run(&mut sm, &mut |_, event| {
        sweeps += usize::from(matches!(
            event,
            Event::SubnetUp(_) | Event::SweepFailed(_) | Event::LightSweepDone { .. }
        ));
        events.push(format!("{event:?}"));
        match sweeps {
            SWEEPS => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    (events, outcome)
}

/// Plays a recording to a manager.
fn play(replay: &mut Replay) -> Run {
    run(replay.now(), |sm, on_event| replay.drive(sm, on_event))
}

/// The events of a run on a fabric with these faults, and the recording.
fn tapped(rates: FaultRates, seed: u64) -> (Vec<String>, Vec<RecordedMad>) {
    let (transport, clock) = simulated(rates, seed);
    tap(transport, clock)
}

/// A port of a fabric with these faults, in virtual time.
fn simulated(rates: FaultRates, seed: u64) -> (SimTransport, SharedSim) {
    let fabric = Lab::new("seed-dualstar").fabric;
    let mut options = SimOptions::default();
    options.faults.rates = rates;
    options.faults.seed = seed;
    let sim = Sim::new(&fabric, options).share();
    let (host, _) = fabric
        .nodes()
        .iter_enumerated()
        .find(|(_, node)| !node.type_.is_switch())
        .unwrap();
    let port = ib_routing::PortRef {
        node: host,
        port: ib_wire::PortNum(1),
    };
    (sim.attach(port).unwrap(), sim)
}

/// The events of a run over `transport`, and the recording.
fn tap<T: MadTransport<Error = TransportError>>(
    transport: T,
    clock: impl Clock,
) -> (Vec<String>, Vec<RecordedMad>) {
    let mut records = Vec::new();
    let mut transport = Tap::new(transport, |record: &RecordedMad| records.push(*record));
    let (events, outcome) = run(clock.now(), |sm, on_event| {
        drive(sm, &mut transport, &clock, on_event)
    });
    assert_eq!(outcome.unwrap(), Some(()), "{:?}", events.last());
    (events, records)
}

/// An event without durations: the time that a real clock measured between two datagrams is in no recording.
fn without_times(event: &str) -> String {
    match (event.find("started: "), event.find("mads: ")) {
        (Some(from), Some(to)) => [&event[..from], &event[to..]].concat(),
        _ => event.to_owned(),
    }
}

/// The file of a recording.
fn file_of(records: &[RecordedMad]) -> Vec<u8> {
    let mut writer = RecordWriter::new(Vec::new(), Lid(1), Duration::ZERO).unwrap();
    for record in records {
        writer.write(record).unwrap();
    }
    writer.into_inner()
}

/// Replays a file to a second manager: returns its events, the end of the run, and the part that was not
/// replayed.
fn played(file: &[u8]) -> (Vec<String>, Result<Option<()>, TransportError>, usize) {
    let recording = read_records(file).unwrap();
    assert_eq!(recording.passed_over, 0);
    let mut replay = Replay::new(recording.records);
    let (events, outcome) = play(&mut replay);
    (events, outcome, replay.left())
}

/// Imitates the kernel's interface: it puts its own number in the upper half of a request's transaction ID,
/// refuses a request now and then, and returns the header of a request that is not answered, before the engine's
/// own time-out.
struct KernelLike<T> {
    inner: T,
    sent: u32,
    returned: VecDeque<Mad>,
}

impl<T: MadTransport<Error = TransportError>> MadTransport for KernelLike<T> {
    type Error = TransportError;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), TransportError> {
        const AGENT: u64 = 0x0002_0000_0000;
        self.sent += 1;
        if self.sent.is_multiple_of(41) {
            return Err(TransportError::Unreachable {
                reason: "the kernel refused it",
            });
        }
        let mut changed = *mad;
        if !mad.header().method().is_response() {
            let low = u64::from(mad.header().transaction_id().low());
            changed
                .header_mut()
                .set_transaction_id(TransactionId(AGENT | low));
            if self.sent.is_multiple_of(37) {
                let mut header = Mad::new(mad.address);
                header.bytes[..24].copy_from_slice(&changed.bytes[..24]);
                self.returned.push_back(header);
                return Ok(());
            }
        }
        self.inner.send(now, &changed)
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, TransportError> {
        match self.returned.pop_front() {
            Some(mad) => Ok(Some(Received::Returned(mad))),
            None => self.inner.recv(now),
        }
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, TransportError> {
        self.inner.wait(now, until)
    }
}

/// Every fault that a datagram can have, one by one and together.
fn troubles() -> [(&'static str, FaultRates); 7] {
    let none = FaultRates::NONE;
    [
        ("none", none),
        ("loss", FaultRates { loss: 0.02, ..none }),
        (
            "duplicates",
            FaultRates {
                duplicate: 0.1,
                ..none
            },
        ),
        (
            "delay",
            FaultRates {
                delay: 0.2,
                max_delay: Duration::from_millis(300),
                ..none
            },
        ),
        (
            "reordering",
            FaultRates {
                reorder: 0.2,
                ..none
            },
        ),
        (
            "corruption",
            FaultRates {
                corrupt: 0.005,
                ..none
            },
        ),
        (
            "all",
            FaultRates {
                loss: 0.01,
                duplicate: 0.02,
                delay: 0.02,
                reorder: 0.02,
                corrupt: 0.002,
                bit_error: 0.01,
                ..none
            },
        ),
    ]
}

#[test]
fn a_replay_brings_a_manager_to_the_same_decisions() {
    for (trouble, rates) in troubles() {
        for seed in 1..=2 {
            let (events, records) = tapped(rates, seed);
            let sent = records
                .iter()
                .filter(|record| record.direction == Direction::Sent);
            assert!(sent.count() > 200, "{trouble}");
            let mut replay = Replay::new(records);
            // The replay itself refuses a datagram that differs in a byte from the recorded one.
            let (again, outcome) = play(&mut replay);
            assert_eq!(outcome.unwrap(), Some(()), "{trouble}, seed {seed}");
            assert_eq!(replay.left(), 0, "{trouble}, seed {seed}");
            assert_eq!(events, again, "{trouble}, seed {seed}");
        }
    }
}

#[test]
fn a_replay_of_a_file_is_as_good() {
    for (trouble, rates) in troubles() {
        let (events, records) = tapped(rates, 5);
        let (again, outcome, left) = played(&file_of(&records));
        assert_eq!(outcome.unwrap(), Some(()), "{trouble}");
        assert_eq!((left, events), (0, again), "{trouble}");
    }
}

#[test]
fn what_the_kernels_interface_refuses_and_returns_is_played_as_it_was() {
    for (trouble, rates) in troubles() {
        let (inner, clock) = simulated(rates, 9);
        let transport = KernelLike {
            inner,
            sent: 0,
            returned: VecDeque::new(),
        };
        let (events, records) = tap(transport, clock);
        for direction in [Direction::Refused, Direction::Returned] {
            let count = records
                .iter()
                .filter(|record| record.direction == direction);
            assert!(count.count() > 2, "{trouble}: {direction:?}");
        }
        let (again, outcome, left) = played(&file_of(&records));
        assert_eq!(outcome.unwrap(), Some(()), "{trouble}");
        assert_eq!((left, events), (0, again), "{trouble}");
    }
}

#[test]
fn a_recording_that_was_cut_inside_a_frame_is_played_up_to_there() {
    let (events, records) = tapped(FaultRates::NONE, 3);
    let file = file_of(&records);
    for length in [file.len() - 7, file.len() / 2, file.len() / 3 + 1] {
        let (again, outcome, left) = played(&file[..length]);
        assert_eq!(left, 0, "{length} of {} bytes", file.len());
        assert!(
            events.starts_with(&again),
            "{length} of {} bytes",
            file.len()
        );
        // The manager continues where the recording ends: it sends a datagram, or it waits.
        assert!(
            matches!(
                outcome,
                Ok(Some(())) | Ok(None) | Err(TransportError::Diverged { expected: None, .. })
            ),
            "{outcome:?}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_in_real_time_over_a_socket_is_played_as_it_was() {
    for (trouble, rates) in troubles() {
        let name = format!("ib-sm-replay-{}-{trouble}", std::process::id());
        let mut options = ServerOptions::new(Listen::Unix(name.clone()));
        options.sim.faults.rates = rates;
        options.sim.faults.seed = 11;
        let fabric = Lab::new("seed-dualstar").fabric;
        let mut server = Server::bind(&fabric, &options).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| server.run(None, &mut std::io::sink(), &stop));
            let options = IbsimOptions {
                server: name,
                announce_sm: true,
                ..IbsimOptions::default()
            };
            let port = IbsimPort::attach(&options).unwrap();
            let (events, records) = tap(port, MonotonicClock::start());
            stop.store(true, Ordering::Relaxed);
            serving.join().unwrap().unwrap();
            let (again, outcome, left) = played(&file_of(&records));
            assert!(matches!(outcome, Ok(Some(()))), "{trouble}: {outcome:?}");
            assert_eq!(left, 0, "{trouble}");
            let decisions = |events: &[String]| -> Vec<String> {
                events.iter().map(|event| without_times(event)).collect()
            };
            assert_eq!(decisions(&events), decisions(&again), "{trouble}");
        });
    }
}

#[test]
fn a_replay_to_a_manager_with_another_configuration_says_where_they_part() {
    let (_, records) = tapped(FaultRates::NONE, 1);
    let mut replay = Replay::new(records);
    let mut other = config();
    other.lmc = ib_wire::Lmc::try_new(1).unwrap();
    let mut sm = SubnetManager::new(other, replay.now());
    let outcome: Result<Option<()>, _> = replay.drive(&mut sm, |_, _| ControlFlow::Continue(()));
    assert!(
        matches!(outcome, Err(TransportError::Diverged { .. })),
        "{outcome:?}"
    );
}
