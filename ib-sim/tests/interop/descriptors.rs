//! Several file descriptors in one process: an unmodified libibumad with three of umad2sim's, and three ports of our client.

use std::process::Command;
use std::time::Duration;

use ib_mad::{Attribute, Mad, MadAddress, Method, TransactionId};
use ib_smp::{DrPath, NodeInfo, SmpDirected};
use ib_transport::ibsim::{IbsimOptions, IbsimPort};
use ib_transport::{Clock, MadTransport, MonotonicClock, Received, receive};
use ib_wire::Guid;

use ib_testkit::data::fabric_file;

use crate::running::{Running, same_on_both};

#[test]
fn several_descriptors_of_one_process_get_their_own_answers_and_traps() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/descriptors.c");
    let program = std::env::temp_dir().join(format!("ib-sim-descriptors-{}", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Werror", "-o"]).arg(&program);
    let compiled = compiler.arg(source).arg("-libumad").status().unwrap();
    assert!(compiled.success(), "{compiler:?}");
    let file = fabric_file("gen-line-2");
    let command = format!("{}; echo status $?", program.display());
    let printed = same_on_both(&file, &command, str::to_owned);
    std::fs::remove_file(program).unwrap();
    let expected = [
        "directed: class 81 method 81 attribute 15 id 2",
        "counters: class 04 method 81 attribute 12 id 33",
        "routed: class 01 method 81 attribute 10 id 22",
        "directed: class 81 method 81 attribute 11 id 11",
        "directed: class 81 method 81 attribute 10 id 44",
        "routed: class 01 method 05 attribute 02 trap 144",
        "routed: class 01 method 81 attribute 11 id 66",
        "directed: class 81 method 81 attribute 11 id 55",
        "status 0",
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

/// Asks for NodeInfo at the end of a path, under a transaction ID.
fn ask(port: &mut IbsimPort, clock: MonotonicClock, id: u64, path: &DrPath) {
    let mut smp = SmpDirected::new(Method::GET, NodeInfo::ID, 0, path);
    smp.set_transaction_id(TransactionId(id));
    let mut mad = Mad::new(MadAddress::DIRECTED);
    mad.bytes = *smp.as_bytes();
    port.send(clock.now(), &mad).unwrap();
}

/// The transaction ID of the next answer, and the node GUID in it.
fn answer(port: &mut IbsimPort, clock: MonotonicClock) -> (u64, Guid) {
    let deadline = clock.now() + Duration::from_secs(2);
    let (_, received) = receive(port, &clock, Some(deadline)).unwrap();
    let Some(Received::Mad(mad)) = received else {
        panic!("no answer");
    };
    let smp = SmpDirected::from_bytes(mad.bytes);
    let info = NodeInfo::from_bytes(*smp.smp_data().first_chunk().unwrap());
    // The server has its own mark in the highest 16 bits.
    (smp.transaction_id().0 & 0xffff_ffff, info.node_guid())
}

#[test]
fn several_ports_of_our_client_in_one_process_get_their_own_answers() {
    let file = fabric_file("gen-line-2");
    for server in [Running::ours(&file), Running::theirs(&file)] {
        let clock = MonotonicClock::start();
        // Two on one node, one on another.
        let nodes = [&server.host, &server.host, "H-0010000000000010"];
        let mut ports = nodes.map(|node| {
            let options = IbsimOptions {
                server: server.name.clone(),
                node: node.to_owned(),
                announce_sm: false,
            };
            IbsimPort::attach(&options).unwrap()
        });
        let own = DrPath::OWN_NODE;
        // The same transaction IDs everywhere.
        for port in &mut ports {
            ask(port, clock, 1, &own);
            ask(port, clock, 2, &own);
        }
        let mut answers = ports.each_mut().map(|port| {
            let both = [answer(port, clock), answer(port, clock)];
            let nothing = port.recv(clock.now()).unwrap();
            assert!(nothing.is_none(), "{nothing:?}");
            both
        });
        answers.reverse();
        let [other, second, first] = answers;
        assert_eq!(first, second);
        assert_eq!((first[0].0, first[1].0), (1, 2));
        assert_ne!(first[0].1, other[0].1, "each is asked at its own node");
        // One goes, the others stay.
        let [first, mut second, mut other] = ports;
        drop(first);
        for port in [&mut second, &mut other] {
            ask(port, clock, 3, &own);
            assert_eq!(answer(port, clock).0, 3);
        }
    }
}
