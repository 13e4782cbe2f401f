//! Seeded schedules of faults: three sweeps after the last fault the subnet is whole, in the eyes of the devices, of the
//! verifier and of a fresh manager.
//!
//! A seed that fails is printed with the fewest of its faults that still fail, and with the command that replays them.
//! `IB_SCHEDULES=10000` runs so many seeds instead of 300. `IB_SCHEDULE=17` runs one, `IB_SCHEDULE=17:0,3` only its
//! faults 0 and 3.

use std::{
    fmt::Write as _,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ib_mad::{
    Attribute as _, Engine as _, Input, Mad, MadAddress, Method, NoticeDetails256, NoticeSm,
    TrapNumber,
};
use ib_sim::{Behaviour, Corruption, FaultRates};
use ib_smp::SmpLidRouted;
use ib_testkit::lab::Lab;
use ib_testkit::lab::schedule::{FaultKind, Schedule, ScheduledFault};
use ib_transport::Clock as _;
use ib_wire::{Lid, table::padded};

const SEEDS: u64 = 300;

/// Most failures that are shrunk and printed.
const SHOWN: usize = 10;

#[test]
fn the_subnet_is_whole_three_sweeps_after_the_last_fault() {
    if let Ok(text) = std::env::var("IB_SCHEDULE") {
        return replay(&text);
    }
    let seeds = std::env::var("IB_SCHEDULES").map_or(SEEDS, |text| text.parse().unwrap());
    let failed = failing(seeds);
    assert!(failed.is_empty(), "{}", report(&failed));
}

/// Seeds beyond [`SEEDS`] that failed once: a switch restarts while a sweep sets it up.
#[test]
fn a_switch_that_restarts_while_it_is_set_up_gets_all_of_it_again() {
    for seed in [2578, 7551, 8911, 9111, 9768] {
        let played = Schedule::of_seed(seed).play();
        assert!(played.is_ok(), "{}", report(&[seed]));
    }
}

/// A damaged Set gave a port another LID. A manager that starts later keeps the entries for the LID of before, which is no
/// port's any more, as the running manager does.
#[test]
fn entries_for_a_lid_of_no_port_stay_when_a_manager_starts() {
    let played = Schedule::of_seed(6627).play();
    assert!(played.is_ok(), "{}", report(&[6627]));
}

/// Plays the schedule of a seed, or some of its faults: `17`, `17:0,3`.
fn replay(text: &str) {
    let Some((seed, numbers)) = text.split_once(':') else {
        let seed = text.parse().unwrap();
        let fails = Schedule::of_seed(seed).play().is_err();
        assert!(!fails, "{}", report(&[seed]));
        return;
    };
    let numbers = numbers.split(',').filter(|number| !number.is_empty());
    let numbers: Vec<_> = numbers.map(|number| number.parse().unwrap()).collect();
    let schedule = Schedule::of_seed(seed.parse().unwrap()).only(&numbers);
    println!("{schedule:#?}");
    schedule.play().unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// The seeds below a bound whose schedules fail, in order.
fn failing(seeds: u64) -> Vec<u64> {
    let next = AtomicU64::new(0);
    let failed = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    if Schedule::of_seed(seed).play().is_err() {
                        failed.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort_unstable();
    failed
}

fn report(failed: &[u64]) -> String {
    let mut text = format!("{} seeds fail: {failed:?}\n", failed.len());
    for &seed in failed.iter().take(SHOWN) {
        let whole = Schedule::of_seed(seed);
        let numbers = whole.shrink();
        let fewest = whole.only(&numbers);
        let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
        let numbers = numbers.join(",");
        let replay =
            format!("IB_SCHEDULE={seed}:{numbers} cargo test -p ib-sm --test it schedules");
        writeln!(
            text,
            "\n{replay}\n{}, heavy sweeps: {}",
            fewest.fabric, fewest.heavy_sweeps
        )
        .unwrap();
        for fault in &fewest.faults {
            writeln!(text, "  {fault}").unwrap();
        }
        let wrong = fewest.play().unwrap_err();
        for line in wrong.lines().take(40) {
            writeln!(text, "  {line}").unwrap();
        }
    }
    text
}

/// A fault that begins and ends at these times, in microseconds.
fn fault(at: u64, lasts: u64, kind: FaultKind) -> ScheduledFault {
    ScheduledFault {
        at: Duration::from_micros(at),
        lasts: Duration::from_micros(lasts),
        kind,
    }
}

fn is_whole_after(fabric: &'static str, seed: u64, faults: Vec<ScheduledFault>) {
    let schedule = Schedule {
        fabric,
        seed,
        heavy_sweeps: false,
        faults,
    };
    schedule.play().unwrap_or_else(|wrong| panic!("{wrong}"));
}

// What the schedules have found, each with the faults that showed it.

/// The tables that a manager left were repaired, refused as they could deadlock, and repaired again, without end.
#[test]
fn repaired_routes_that_are_refused_are_computed_anew() {
    let faults = vec![
        fault(557_056, 34_560, FaultKind::Cable(189)),
        fault(557_269, 29_952, FaultKind::Manager(Some(56))),
    ];
    is_whole_after("dragonfly:a=2,p=1,h=1", 191, faults);
}

/// PortStateChange was cleared for a cable that had come up after its ports were read, and whose trap was lost.
#[test]
fn a_port_that_changes_before_the_change_is_acknowledged_is_found() {
    let rates = FaultRates {
        bit_error: 0.05,
        delay: 0.005,
        max_delay: Duration::from_micros(475),
        ..FaultRates::NONE
    };
    let faults = vec![
        fault(9, 43_392, FaultKind::Manager(Some(177))),
        fault(8318, 915_456, FaultKind::Cable(174)),
        fault(17_598, 1_220_608, FaultKind::Links(rates)),
        fault(861_425, 26_816, FaultKind::Manager(Some(168))),
    ];
    is_whole_after("fat-tree:radix=4,levels=2", 298, faults);
}

/// A switch restarted while a sweep waited for time-outs. The sweep wrote its SwitchInfo, so the next one took the
/// switch for one that had kept its tables.
#[test]
fn a_switch_that_restarts_during_a_sweep_gets_its_lanes_again() {
    let faults = vec![
        fault(1420, 289, FaultKind::Cable(246)),
        fault(4587, 718, FaultKind::Cable(58)),
        fault(14_676, 720, FaultKind::Power(0)),
    ];
    is_whole_after("dragonfly:a=2,p=1,h=1", 1327, faults);
}

/// A switch that called itself a node of unknown type stayed one for the manager.
#[test]
fn a_type_that_is_not_defined_is_asked_for_again() {
    let lie = FaultKind::Agents(33, Behaviour::Byzantine(Corruption::NodeType));
    let faults = vec![
        fault(73_216, 2_072_576, lie),
        fault(75_279, 23_808, FaultKind::Manager(None)),
    ];
    is_whole_after("ring:switches=4,hosts=1", 18, faults);
}

/// Both ends of a packet may disagree about the key for ever.
#[test]
fn a_trap_about_the_key_of_a_repress_is_not_repressed() {
    let mut running = Lab::new("gen-ring-5").up();
    let mut details = NoticeDetails256::default();
    let mut represses = |method| {
        details.set_method(method);
        let mut notice = NoticeSm::default();
        notice
            .set_is_generic(true)
            .set_trap_number(TrapNumber::BAD_M_KEY.0)
            .set_issuer_lid(Lid(2))
            .set_data_details(&padded(details.as_bytes()));
        let mut smp = SmpLidRouted::new(Method::TRAP, NoticeSm::ID, 0);
        smp.set_smp_data(notice.as_bytes());
        let mut trap = Mad::new(MadAddress::smi(Lid(2)));
        trap.bytes = *smp.as_bytes();
        running.transport.sent.clear();
        let now = running.sim.now();
        running.sm.handle_input(now, Input::Mad(&trap));
        running.run_for(Duration::from_millis(1));
        running.transport.sent_with(Method::TRAP_REPRESS).len()
    };
    assert_eq!(represses(Method::SET), 1);
    assert_eq!(represses(Method::TRAP_REPRESS), 0);
}
