//! Facts that hold for every input: called by the property tests and the fuzz targets alike.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a property that does not hold panics: that is how tests and fuzzers learn of it"
)]

use alloc::{string::String, vec::Vec};

use arbitrary::Unstructured;
use ib_wire::{Guid, Lid, Lmc, PortNum};

use crate::{
    Fabric, FabricBuilder, LidMap, LidOptions, NewNode, NodeType, PortRef, RouteOptions, Routes,
    RoutingEngine, SwitchIdx,
    format::{guid_list, guid2lid, ibnetdiscover, lfts, port_lists, sl2vl, sls},
    generate::FabricSpec,
    verify::{certificate, verify_on},
};

/// Any text is a fabric or an error with a line; a fabric that is written is read again as it was.
pub fn any_text_is_a_fabric_or_an_error(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match ibnetdiscover::read(&text) {
        Ok(topology) => {
            let written = ibnetdiscover::write(&topology.fabric, None);
            if let Ok(again) = ibnetdiscover::read(&written) {
                assert_eq!(again.fabric.num_links(), topology.fabric.num_links());
                assert_eq!(ibnetdiscover::write(&again.fabric, None), written);
            }
        }
        Err(error) => assert!(error.line.is_some(), "{error}"),
    }
}

/// A capture with lines left out, repeated and cut is read, or is an error, and what is read is routed
/// without loops.
pub fn damaged_captures_are_routed_or_refused(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let capture = include_str!("generate/thesis.net");
    let mut text = String::new();
    for line in capture.lines() {
        match input.arbitrary::<u8>().unwrap_or(0) {
            1 => continue,
            2 => text.push_str(line),
            3 => text.push_str(line.get(..line.len() / 2).unwrap_or(line)),
            _ => {}
        }
        text.push_str(line);
        text.push('\n');
    }
    if let Ok(topology) = ibnetdiscover::read(&text) {
        is_routed(&topology.fabric, Lmc::ZERO);
    }
}

/// Random fabrics, connected or not, are routed wherever cables lead, without loops, and up*/down*
/// without deadlock.
pub fn random_fabrics_are_routed(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let lmc = Lmc::try_new(input.arbitrary::<u8>().unwrap_or(0) % 3).unwrap_or_default();
    is_routed(&random_fabric(&mut input), lmc);
}

/// The verifier ends on any tables, and finds reachable what a walk finds reachable.
pub fn any_tables_are_judged(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let fabric = random_fabric(&mut input);
    let lids = LidMap::assign(&fabric, &LidOptions::default()).expect("few ports");
    let mut routes = Routes::new(RoutingEngine::File, &fabric, &lids);
    for switch in fabric.switches().indices() {
        for lid in 0..=lids.max_lid().0 {
            let port = input.arbitrary::<u8>().unwrap_or(0) % 20;
            routes.set_port(switch, Lid(lid), PortNum(port));
        }
    }
    let report = verify_on(1, &fabric, &lids, &routes);
    let mut unreachable = 0;
    for source in lids.destinations().iter() {
        for target in lids
            .destinations()
            .iter()
            .filter(|target| target.end != source.end)
        {
            let arrives = source.switch.is_some_and(|switch| {
                let end = routes.path(&fabric, switch, target.range.base()).last();
                end == target.switch.map(|switch| (switch, target.exit))
            });
            unreachable += u64::from(!arrives && !on_one_cable(&fabric, source.end, target.end));
        }
    }
    assert_eq!(report.unreachable, unreachable);
}

/// Any text is tables, service levels and lists, or an error.
pub fn any_text_is_tables_or_an_error(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let fabric = FabricSpec::Thesis.build().expect("a fabric");
    let lids = LidMap::assign(&fabric, &LidOptions::default()).expect("few ports");
    let _ = lfts::read(&text, &fabric);
    let _ = sls::read(&text, &mut Routes::new(RoutingEngine::File, &fabric, &lids));
    let _ = sl2vl::read(&text, &fabric);
    let _ = (
        guid2lid::read(&text),
        guid_list::read(&text),
        guid_list::read_ids(&text),
    );
    let _ = (
        port_lists::read_hop_weights(&text),
        port_lists::read_port_order(&text),
    );
    let _ = text.parse::<FabricSpec>();
}

fn on_one_cable(fabric: &Fabric, one: PortRef, other: PortRef) -> bool {
    fabric.port(one).and_then(|port| port.peer) == Some(other)
}

/// Up to 12 switches of 8 ports with random cables, and hosts.
fn random_fabric(input: &mut Unstructured<'_>) -> Fabric {
    let mut next = |below: u8| input.arbitrary::<u8>().unwrap_or(0) % below.max(1);
    let mut builder = FabricBuilder::new();
    let switches: Vec<_> = (0..=next(12))
        .map(|at| {
            let guid = Guid(0x2000 + u64::from(at ^ 5));
            let new = NewNode {
                type_: NodeType::Switch,
                guid,
                num_ports: 8,
                ..NewNode::default()
            };
            builder.add_node(new).expect("another GUID")
        })
        .collect();
    for _ in 0..next(40) {
        let mut end = || {
            let node = switches[usize::from(next(switches.len() as u8))];
            PortRef {
                node,
                port: PortNum(1 + next(8)),
            }
        };
        let (one, other) = (end(), end());
        let _ = builder.add_link(one, other);
    }
    for at in 0..next(16) {
        let new = NewNode {
            guid: Guid(0x1000 + 16 * u64::from(at)),
            num_ports: 1,
            ..NewNode::default()
        };
        let node = builder.add_node(new).expect("another GUID");
        let host = PortRef {
            node,
            port: PortNum(1),
        };
        builder.port_mut(host).expect("a port").guid = Guid(0x1001 + 16 * u64::from(at));
        let switch = switches[usize::from(next(switches.len() as u8))];
        let _ = builder.add_link(
            PortRef {
                node: switch,
                port: PortNum(1 + next(8)),
            },
            host,
        );
    }
    builder.build()
}

fn is_routed(fabric: &Fabric, lmc: Lmc) {
    let options = LidOptions {
        lmc,
        reassign: true,
        ..LidOptions::default()
    };
    let lids = LidMap::assign(fabric, &options).expect("few ports");
    let parts = fabric.parts();
    let part = |switch: Option<SwitchIdx>| switch.map(|switch| parts[switch]);
    let mut apart = 0;
    for target in lids.destinations().iter() {
        let cut_off = lids.destinations().iter().filter(|source| {
            let together = source.switch.is_some() && part(source.switch) == part(target.switch);
            !together && source.end != target.end && !on_one_cable(fabric, source.end, target.end)
        });
        apart += cut_off.count() as u64 * u64::from(target.range.lmc().lid_count());
    }
    for engine in [
        RoutingEngine::MinHop,
        RoutingEngine::UpDown,
        RoutingEngine::Dor,
    ] {
        let options = RouteOptions {
            threads: 1,
            ..RouteOptions::default()
        };
        let routes = engine.route(fabric, &lids, &options).expect("routes");
        let report = verify_on(1, fabric, &lids, &routes);
        assert_eq!((report.unreachable, report.loops), (apart, 0), "{engine}");
        assert!(
            report.deadlock_free || engine != RoutingEngine::UpDown,
            "{:?}",
            report.cycle
        );
        if let Some(order) = &report.order {
            assert_eq!(
                certificate::check(fabric, &lids, &routes, order),
                Ok(()),
                "{engine}"
            );
        }
    }
}
