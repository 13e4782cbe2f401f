//! Memory that a datagram costs in the simulator: none. `allocation-counter` counts the allocations of this
//! thread.
#![cfg(target_os = "linux")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use allocation_counter::measure;
use ib_mad::{Attribute, Mad, MadAddress, Method};
use ib_sim::server::{Listen, Server, ServerOptions};
use ib_sim::{Sim, SimOptions};
use ib_smp::{NodeInfo, SmpDirected};
use ib_transport::ibsim::{IbsimOptions, IbsimPort};
use ib_transport::{Clock, MadTransport, MonotonicClock, Received, RecordedMad, Tap, receive};

use ib_testkit::worked_traces::{H, at, fabric, path};

/// Exchanges a hundred datagrams after the first ones have made room, and counts what this thread asks for.
fn asked_for_hundred(
    transport: &mut impl MadTransport<Error = ib_transport::TransportError>,
    clock: &impl Clock,
) -> u64 {
    let mut mad = Mad::new(MadAddress::DIRECTED);
    let request = SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path(&[1, 7, 5]));
    mad.bytes = *request.as_bytes();
    let mut exchange = || {
        let now = clock.now();
        transport.send(now, &mad).unwrap();
        let deadline = now.saturating_add(Duration::from_secs(5));
        let (_, answer) = receive(transport, clock, Some(deadline)).unwrap();
        assert!(matches!(answer, Some(Received::Mad(_))), "{answer:?}");
    };
    for _ in 0..100 {
        exchange();
    }
    let asked = measure(|| {
        for _ in 0..100 {
            exchange();
        }
    });
    asked.count_total
}

#[test]
fn the_allocator_is_counted() {
    let asked = measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(asked.count_total, 1);
}

#[test]
fn an_exchange_in_the_process_asks_for_no_memory() {
    let sim = Sim::new(&fabric(), SimOptions::default()).share();
    let mut transport = sim.attach(at(H, 1)).unwrap();
    assert_eq!(asked_for_hundred(&mut transport, &sim), 0);
}

#[test]
fn a_tap_asks_for_no_memory() {
    let sim = Sim::new(&fabric(), SimOptions::default()).share();
    let transport = sim.attach(at(H, 1)).unwrap();
    let mut seen = 0;
    let mut tap = Tap::new(transport, |_: &RecordedMad| seen += 1);
    assert_eq!(asked_for_hundred(&mut tap, &sim), 0);
    drop(tap);
    assert_eq!(seen, 400);
}

#[test]
fn an_exchange_over_the_socket_asks_for_no_memory() {
    let name = format!("ib-sim-allocations-{}", std::process::id());
    let options = ServerOptions::new(Listen::Unix(name.clone()));
    let mut server = Server::bind(&fabric(), &options).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || server.run(None, &mut io::sink(), &stopped));
    let clock = MonotonicClock::start();
    let options = IbsimOptions {
        server: name,
        node: "H".to_owned(),
        announce_sm: false,
    };
    let mut port = IbsimPort::attach(&options).unwrap();
    assert_eq!(asked_for_hundred(&mut port, &clock), 0);
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap().unwrap();
}
