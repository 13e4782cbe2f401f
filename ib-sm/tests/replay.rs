//! What was tapped, played back to a second manager: it decides the same, byte for byte.

mod lab;

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Duration;

use ib_sim::{FaultRates, Sim, SimOptions};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_transport::{
    Clock, Direction, MadTransport, Record, RecordWriter, Replay, Tap, TransportError, drive,
    read_records,
};
use ib_wire::Lid;

use lab::Lab;

/// Sweeps that a run lasts.
const SWEEPS: usize = 3;

fn config() -> SmConfig {
    SmConfig {
        sweep_interval: Some(Duration::from_secs(10)),
        ..SmConfig::default()
    }
}

/// Drives a manager until it has ended its last sweep; its events in words.
fn run<T: MadTransport, C: Clock>(
    transport: &mut T,
    clock: &C,
) -> (Vec<String>, Result<Option<()>, TransportError>) {
    let mut sm = SubnetManager::new(config(), clock.now());
    let (mut events, mut sweeps) = (Vec::new(), 0);
    let outcome = drive(&mut sm, transport, clock, |_, event| {
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

/// The events of a run on a fabric with these faults, and what was tapped meanwhile.
fn tapped(rates: FaultRates, seed: u64) -> (Vec<String>, Vec<Record>) {
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
    let records = RefCell::new(Vec::new());
    let tap = |record: &Record| records.borrow_mut().push(*record);
    let mut transport = Tap::new(sim.attach(port).unwrap(), sim.clock(), tap);
    let (events, outcome) = run(&mut transport, &sim.clock());
    assert_eq!(outcome.unwrap(), Some(()), "{:?}", events.last());
    (events, records.into_inner())
}

/// Every way in which a datagram can suffer, one by one and together.
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
            let clock = replay.clock();
            // The replay itself refuses a datagram that differs in a byte from the recorded one.
            let (again, outcome) = run(&mut replay, &clock);
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
        let mut writer = RecordWriter::new(Vec::new(), Lid(1), Duration::ZERO).unwrap();
        for record in &records {
            writer.write(record).unwrap();
        }
        let file = writer.into_inner();
        let (read, passed_over) = read_records(&file[..]).unwrap();
        assert_eq!((read.len(), passed_over), (records.len(), 0), "{trouble}");
        let mut replay = Replay::new(read);
        let clock = replay.clock();
        let (again, outcome) = run(&mut replay, &clock);
        assert_eq!(outcome.unwrap(), Some(()), "{trouble}");
        assert_eq!(events, again, "{trouble}");
    }
}

#[test]
fn a_replay_to_a_manager_with_another_configuration_says_where_they_part() {
    let (_, records) = tapped(FaultRates::NONE, 1);
    let mut replay = Replay::new(records);
    let clock = replay.clock();
    let mut other = config();
    other.lmc = ib_wire::Lmc::try_new(1).unwrap();
    let mut sm = SubnetManager::new(other, clock.now());
    let outcome: Result<Option<()>, _> = drive(&mut sm, &mut replay, &clock, |_, _| {
        ControlFlow::Continue(())
    });
    assert!(
        matches!(outcome, Err(TransportError::Diverged { .. })),
        "{outcome:?}"
    );
}
