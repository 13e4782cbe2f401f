//! The performance manager on simulated fabrics, in virtual time.

use core::{ops::ControlFlow, time::Duration};

use ib_mad::Instant;
use ib_routing::{Fabric, PortRef};
use ib_sim::{Behaviour, SharedSim};
use ib_subnet::PortAt;
use ib_transport::{Clock as _, drive};

use super::{PerfManager, PerfManagerConfig, PerfManagerEvent};
use crate::{
    counters::UnreadReason,
    testing::{fabric, first_host, simulated},
};

/// A fabric that is up, and a performance manager that reads it.
struct Watched {
    fabric: Fabric,
    sim: SharedSim,
    manager: PerfManager,
}

impl Watched {
    fn new(config: PerfManagerConfig) -> Self {
        let fabric = fabric("gen-ring-5");
        let sim = simulated(&fabric, true);
        let manager = PerfManager::new(config, sim.now());
        Self {
            fabric,
            sim,
            manager,
        }
    }

    /// Runs one sweep when it is due. Returns the events of the sweep and the time that passed before it was due.
    fn sweep(&mut self) -> (Vec<PerfManagerEvent>, Duration) {
        let began = self.sim.now();
        let mut transport = self.sim.attach(first_host(&self.fabric)).unwrap();
        let mut events = Vec::new();
        let mut waited = Duration::ZERO;
        let done = drive(
            &mut self.manager,
            &mut transport,
            &self.sim,
            |manager, event| {
                if event == PerfManagerEvent::SweepDue {
                    waited = self.sim.now().since(began);
                    manager.begin(self.sim.now(), None);
                    return ControlFlow::Continue(());
                }
                let is_done = matches!(event, PerfManagerEvent::SweepDone { .. });
                events.push(event);
                match is_done {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            },
        );
        assert_eq!(done.unwrap(), Some(()));
        (events, waited)
    }

    /// The port of another host, as the simulator's index and with its GUID.
    fn other_host(&self) -> (PortRef, PortAt) {
        let own = first_host(&self.fabric);
        let mut nodes = self.fabric.nodes().iter_enumerated();
        let (node, of) = nodes
            .find(|(index, node)| !node.type_.is_switch() && *index != own.node)
            .unwrap();
        let (port, _) = of.ports().find(|(_, port)| port.peer.is_some()).unwrap();
        let at = PortAt {
            node_guid: of.guid,
            port_num: port,
        };
        (PortRef { node, port }, at)
    }

    fn set(&self, port: PortRef, attribute: &str, counter: &str, value: u64) {
        let set = self
            .sim
            .with(|sim| sim.set_counter(port, attribute, counter, value));
        assert_eq!(set, Some(value));
    }
}

/// A configuration that reads only PortCounters, whose counters are narrow.
fn narrow() -> PerfManagerConfig {
    PerfManagerConfig {
        class_port_info: false,
        ..PerfManagerConfig::default()
    }
}

#[test]
fn a_counter_near_its_end_is_cleared_and_its_total_goes_on() {
    let mut watched = Watched::new(narrow());
    let (port, at) = watched.other_host();
    watched.set(port, "PortCounters", "SymbolErrorCounter", 0xf000);
    let (events, _) = watched.sweep();
    let cleared = |events: &[PerfManagerEvent]| match events.last() {
        Some(&PerfManagerEvent::SweepDone { cleared, .. }) => cleared,
        _ => usize::MAX,
    };
    assert_eq!(cleared(&events), 1);
    let total = |watched: &Watched| port_total(watched, at, "symbol_error_counter");
    assert_eq!(total(&watched), 0xf000);
    // The counter begins at 0 again after this manager cleared it, and no event reports that.
    watched.set(port, "PortCounters", "SymbolErrorCounter", 5);
    let (events, _) = watched.sweep();
    assert_eq!(cleared(&events), 0);
    assert_eq!(total(&watched), 0xf005);
    let by_others =
        |event: &PerfManagerEvent| matches!(event, PerfManagerEvent::ClearedByOthers { .. });
    assert!(!events.iter().any(by_others), "{events:?}");
    // Clearing by another program is reported, and the count from before stays in the total.
    watched.set(port, "PortCounters", "SymbolErrorCounter", 2);
    let (events, _) = watched.sweep();
    assert_eq!(total(&watched), 0xf007);
    assert!(events.iter().any(by_others), "{events:?}");
    // There are three readings; each holds the growth since the one before.
    let samples: Vec<_> = watched.manager.port(at).unwrap().samples().collect();
    let counted: Vec<_> = samples
        .iter()
        .map(|sample| {
            let errors = |(name, _): &&(&str, u64)| *name == "symbol_error_counter";
            sample.counted.iter().find(errors).map(|(_, count)| *count)
        })
        .collect();
    assert_eq!(counted, [Some(0xf000), Some(5), Some(2)]);
}

#[test]
fn errors_and_waiting_are_reported_when_they_grow_and_not_again() {
    let config = PerfManagerConfig {
        xmit_wait_threshold: Some(1000),
        ..PerfManagerConfig::default()
    };
    let mut watched = Watched::new(config);
    let (port, at) = watched.other_host();
    watched.set(port, "PortCounters", "PortRcvErrors", 3);
    watched.set(port, "PortCounters", "PortXmitWait", 1001);
    let (events, _) = watched.sweep();
    let of_port = |events: &[PerfManagerEvent]| {
        let mut found: Vec<PerfManagerEvent> = Vec::new();
        for event in events {
            match event {
                PerfManagerEvent::Errors { port, .. }
                | PerfManagerEvent::Congestion { port, .. }
                    if *port == at =>
                {
                    found.push(event.clone());
                }
                _ => {}
            }
        }
        found
    };
    let found = of_port(&events);
    assert!(
        matches!(&found[..], [
            PerfManagerEvent::Errors { counted, .. },
            PerfManagerEvent::Congestion { waited: 1001, .. },
        ] if counted[..] == [("port_rcv_errors", 3)]),
        "{found:?}"
    );
    let (events, _) = watched.sweep();
    assert_eq!(of_port(&events), []);
}

#[test]
fn a_sweep_begins_at_each_interval_and_forgets_ports_that_left() {
    let mut watched = Watched::new(PerfManagerConfig {
        sweep_interval: Duration::from_secs(60),
        ..PerfManagerConfig::default()
    });
    let (port, at) = watched.other_host();
    let (_, waited) = watched.sweep();
    assert_eq!(waited, Duration::ZERO);
    watched
        .sim
        .with(|sim| sim.set_behaviour(port.node, Behaviour::Silent));
    let first = watched.sim.now();
    let (events, waited) = watched.sweep();
    assert!(waited > Duration::from_secs(59), "{waited:?}");
    assert!(watched.sim.now() > first);
    // The walk did not find the host, so its port and its totals are gone.
    assert!(watched.manager.port(at).is_none(), "{events:?}");
}

#[test]
fn ports_that_left_keep_their_totals_if_told_so() {
    let mut watched = Watched::new(PerfManagerConfig {
        remove_nodes: false,
        ..PerfManagerConfig::default()
    });
    let (port, at) = watched.other_host();
    watched.set(port, "PortCounters", "PortRcvErrors", 3);
    watched.sweep();
    watched
        .sim
        .with(|sim| sim.set_behaviour(port.node, Behaviour::Silent));
    watched.sweep();
    let left = watched.manager.port(at).unwrap();
    assert!(!left.is_active());
    assert_eq!(left.total("port_rcv_errors"), Some(3));
    watched.manager.clear_totals(Instant::ZERO);
    let left = watched.manager.port(at).unwrap();
    assert_eq!(left.total("port_rcv_errors"), Some(0));
}

#[test]
fn an_agent_that_does_not_respond_is_reported_as_unread() {
    let mut watched = Watched::new(PerfManagerConfig::default());
    let (port, at) = watched.other_host();
    let known = {
        let mut walk = ib_subnet::Discovery::new(ib_subnet::DiscoveryConfig::default());
        let mut transport = watched.sim.attach(first_host(&watched.fabric)).unwrap();
        drive(
            &mut walk,
            &mut transport,
            &watched.sim,
            |_, event| match event {
                ib_subnet::DiscoveryEvent::Done => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            },
        )
        .unwrap();
        walk.finish().subnet
    };
    watched
        .sim
        .with(|sim| sim.set_behaviour(port.node, Behaviour::Silent));
    let mut transport = watched.sim.attach(first_host(&watched.fabric)).unwrap();
    let manager = &mut watched.manager;
    let mut unread = Vec::new();
    drive(manager, &mut transport, &watched.sim, |manager, event| {
        match event {
            PerfManagerEvent::SweepDue => manager.begin(watched.sim.now(), Some(&known)),
            PerfManagerEvent::Unread { port, reason, .. } => unread.push((port, reason)),
            PerfManagerEvent::SweepDone { unread, .. } => return ControlFlow::Break(unread),
            _ => {}
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(unread, [(at, UnreadReason::NoAnswer)]);
}

fn port_total(watched: &Watched, at: PortAt, counter: &str) -> u64 {
    watched.manager.port(at).unwrap().total(counter).unwrap()
}

#[test]
fn the_dump_has_the_format_of_opensm() {
    let mut watched = Watched::new(narrow());
    let (port, at) = watched.other_host();
    watched.set(port, "PortCounters", "PortRcvErrors", 3);
    watched.sweep();
    let name = watched.manager.port(at).unwrap().name().to_owned();
    let text = watched
        .manager
        .dump_port(at, |_| "Sun Nov 22 17:00:00 2026".to_owned());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        format!(
            "\"{name}\" {:#x} active TRUE port {}",
            at.node_guid.0, at.port_num.0
        )
    );
    assert_eq!(lines[1], "     Last Reset           : never");
    assert_eq!(
        lines[2],
        "     Last Error Update    : Sun Nov 22 17:00:00 2026"
    );
    assert_eq!(lines[6], "     rcv_err              : 3");
    assert_eq!(
        lines[16],
        "     Last Data Update     : Sun Nov 22 17:00:00 2026"
    );
    let sent = port_total(&watched, at, "port_xmit_data");
    assert!(sent > 0);
    assert_eq!(lines[17], format!("     xmit_data            : {sent}"));
    assert_eq!(lines.len(), 25);
    let all = watched
        .manager
        .dump(|_| "Sun Nov 22 17:00:00 2026".to_owned());
    assert!(all.contains(&text));
}
