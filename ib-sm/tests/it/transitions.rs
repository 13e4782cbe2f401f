//! Tables change under traffic: no packet loops, whatever the old and the new routes are.

use std::{collections::BTreeMap, time::Duration};

use ib_mad::{Attribute, Engine, Input};
use ib_routing::{NodeIdx, PortRef, SharedEngine, engine, index::Idx};
use ib_sim::{DropReason, PacketId, Sim};
use ib_sm::{Event, SmConfig};
use ib_smp::LinearForwardingTable;
use ib_testkit::lab::{Lab, Running};
use ib_transport::{Clock, MadTransport, Received, receive};
use ib_wire::{Bth, Deth, Lid, Lrh, OpCode, PKey, PacketBuilder, QKey, Qpn};
use proptest::prelude::*;

/// The end ports of CAs with their LIDs.
fn hosts(sim: &Sim) -> Vec<(PortRef, Lid)> {
    let cas = sim
        .nodes()
        .iter_enumerated()
        .filter(|(_, node)| !node.is_switch());
    let ports = cas.flat_map(|(node, _)| sim.end_ports(node));
    ports
        .map(|port| (port.at(), port.info().lid()))
        .filter(|(_, lid)| *lid != Lid::NONE)
        .collect()
}

fn datagram(from: Lid, to: Lid) -> Vec<u8> {
    let mut lrh = Lrh::default();
    lrh.set_slid(from).set_dlid(to);
    let mut bth = Bth::default();
    bth.set_op_code(OpCode::UD_SEND_ONLY)
        .set_p_key(PKey::DEFAULT_FULL)
        .set_dest_qp(Qpn::try_new(0x48).unwrap());
    let mut deth = Deth::default();
    deth.set_q_key(QKey(0xb1b))
        .set_src_qp(Qpn::try_new(0x49).unwrap());
    let mut buffer = [0; 400];
    let mut packet = PacketBuilder::local(lrh, bth);
    let len = packet
        .with(&deth)
        .payload(&[0x5a; 64])
        .build(&mut buffer)
        .unwrap();
    buffer[..len].to_vec()
}

/// The first LID whose packets would loop if the tables stayed as they are now.
fn looping_lid(sim: &Sim, lids: &[Lid]) -> Option<Lid> {
    let switches: Vec<NodeIdx> = sim
        .nodes()
        .iter_enumerated()
        .filter(|(_, node)| node.is_switch())
        .map(|(index, _)| index)
        .collect();
    let next = |switch: NodeIdx, lid: Lid| {
        let port = sim.node(switch)?.lft_port(lid)?;
        let peer = sim.peer(PortRef { node: switch, port })?;
        sim.node(peer.node)?.is_switch().then_some(peer.node)
    };
    lids.iter().copied().find(|&lid| {
        // Switches from which packets are known to end.
        let mut ends = vec![false; sim.nodes().len()];
        switches.iter().any(|&start| {
            let mut way = vec![start];
            while let Some(&here) = way.last() {
                match next(here, lid) {
                    Some(there) if way.contains(&there) => return true,
                    Some(there) if !ends[there.at()] => way.push(there),
                    _ => break,
                }
            }
            way.iter().for_each(|passed| ends[passed.at()] = true);
            false
        })
    })
}

/// Observations while a manager worked.
#[derive(Default)]
struct Seen {
    blocks: usize,
    packets: usize,
    delivered: usize,
}

/// Runs the manager until the subnet is up while hosts send to each other. After every block that is written the
/// tables must be free of loops, and no packet may live too long.
fn watch(running: &mut Running, seed: u64) -> Seen {
    let mut seen = Seen::default();
    let mut draw = seed;
    let mut random = move |below: usize| {
        draw = draw
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (draw >> 33) as usize % below
    };
    let mut sent: Vec<PacketId> = Vec::new();
    let lids: Vec<Lid> = running
        .sim
        .with(|sim| hosts(sim))
        .iter()
        .map(|host| host.1)
        .collect();
    loop {
        let now = running.sim.now();
        while let Some(mad) = running.sm.poll_transmit(now) {
            running.transport.send(now, &mad).unwrap();
        }
        let mut up = false;
        while let Some(event) = running.sm.poll_event() {
            up |= matches!(event, Event::SubnetUp(_));
            running.events.push(event);
        }
        if up {
            break;
        }
        let deadline = running.sm.poll_timeout();
        let (_, received) = receive(&mut running.transport, &running.sim, deadline).unwrap();
        match received {
            Some(Received::Mad(mad)) => {
                let header = mad.header();
                if header.attribute_id() == LinearForwardingTable::ID {
                    seen.blocks += 1;
                    running.sim.with(|sim| {
                        let found = looping_lid(sim, &lids);
                        assert_eq!(found, None, "after block {}", seen.blocks);
                        let hosts = hosts(sim);
                        for _ in 0..4 {
                            let (from, slid) = hosts[random(hosts.len())];
                            let (_, dlid) = hosts[random(hosts.len())];
                            if sim.port(from).unwrap().info().port_state()
                                == ib_smp::PortState::ACTIVE
                            {
                                sent.push(sim.send_packet(from, &datagram(slid, dlid)).unwrap());
                            }
                        }
                    });
                }
                running.sm.handle_input(running.sim.now(), Input::Mad(&mad));
            }
            Some(Received::Returned(_)) => unreachable!("every port is attached"),
            None => running.sm.handle_timeout(running.sim.now()),
        }
    }
    running.run_for(Duration::from_millis(50));
    running.sim.with(|sim| {
        for id in sent {
            let trace = sim.take_trace(id).unwrap();
            assert!(trace.is_complete());
            let mut visits: BTreeMap<NodeIdx, usize> = BTreeMap::new();
            for hop in &trace.hops {
                *visits.entry(hop.to.node).or_default() += 1;
            }
            // Once by the old entry and once by the new one: more visits are a loop.
            assert!(visits.values().all(|&count| count <= 2), "{:?}", trace.hops);
            assert!(
                trace
                    .discarded()
                    .all(|(_, reason)| reason != DropReason::TooManyHops)
            );
            seen.packets += 1;
            seen.delivered += trace.delivered().count();
        }
    });
    seen
}

fn config(engine: &SharedEngine) -> SmConfig {
    SmConfig {
        sweep_interval: None,
        allow_deadlock: true,
        routing_engines: vec![engine.clone()],
        // Otherwise the routes of the previous manager would stay.
        takeover: true,
        ..SmConfig::default()
    }
}

/// Number of entries that moved in tables in use, and number of LIDs that were moved one by one.
fn change(running: &Running) -> (u64, usize) {
    let changes = running.events.iter().rev();
    let mut changes = changes.filter_map(|event| match event {
        Event::TablesChange {
            entries, held_back, ..
        } => Some((*entries, *held_back)),
        _ => None,
    });
    changes.next().unwrap_or_default()
}

#[test]
fn a_fabric_that_forwards_nothing_is_written_in_any_order() {
    let running = Lab::new("gen-torus-4x4x4").up();
    assert_eq!(change(&running), (0, 0));
}

#[test]
fn another_engine_takes_over_without_a_loop() {
    use engine::{DOR, MINHOP, SSSP, UPDN};
    for (name, before, after) in [
        ("gen-torus-4x4x4", &DOR, &UPDN),
        ("gen-torus-4x4x4", &UPDN, &SSSP),
        ("gen-ring-5", &MINHOP, &UPDN),
        ("gen-ring-5", &UPDN, &MINHOP),
    ] {
        let mut running = Lab::new(name)
            .config(|options| *options = config(before))
            .up();
        running.restart(config(after));
        let seen = watch(&mut running, 7);
        let (entries, _) = change(&running);
        assert!(
            entries > 0 && seen.packets > 20,
            "{name}: {entries} entries, {} packets",
            seen.packets
        );
        assert_eq!(running.sm.engine(), Some(after.name()));
        assert_eq!(running.sm.report().unwrap().unreachable, 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, ..ProptestConfig::default() })]

    /// Cables are pulled and put back, and engines change.
    #[test]
    fn no_packet_loops_while_tables_change(
        seed: u64,
        rounds in proptest::collection::vec((0..64usize, 0..4usize, any::<bool>()), 1..4),
    ) {
        const ENGINES: [&SharedEngine; 4] = [
            &engine::MINHOP,
            &engine::UPDN,
            &engine::DNUP,
            &engine::SSSP,
        ];
        let mut running = Lab::new("gen-torus-4x4x4").config(|options| *options = config(ENGINES[0])).up();
        for (cable, engine, pull) in rounds {
            running.sim.with(|sim| {
                let switches = sim.nodes().iter_enumerated().filter(|(_, node)| node.is_switch());
                let switch = switches.map(|(index, _)| index).nth(cable).unwrap();
                let port = PortRef { node: switch, port: ib_wire::PortNum(1 + cable as u8 % 6) };
                // Pulling an absent cable, or inserting one that is present, changes nothing.
                if pull {
                    let _ = sim.unlink(port);
                } else {
                    let _ = sim.relink(port);
                }
            });
            running.restart(config(ENGINES[engine]));
            watch(&mut running, seed);
        }
    }
}
