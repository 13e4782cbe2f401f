//! Several managers on one simulated fabric, in virtual time.

use std::time::Duration;

use ib_mad::{Engine, Input, SmKey};
use ib_routing::PortRef;
use ib_sim::{SharedSim, Sim, SimOptions, SimTransport};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_smp::SmState;
use ib_transport::{MadTransport, Received};

use super::Lab;

/// A manager and its port.
pub struct Host {
    /// The manager.
    pub sm: SubnetManager,
    /// Its port.
    pub transport: SimTransport,
    /// Every event so far.
    pub events: Vec<Event>,
    /// True if the manager runs; a dead one does nothing any more.
    pub alive: bool,
    /// The requests that it sent.
    pub sent: usize,
}

/// Several managers on one simulated fabric.
pub struct Managers {
    /// The simulator.
    pub sim: SharedSim,
    /// The managers in the order of their start.
    pub hosts: Vec<Host>,
}

impl Managers {
    /// A fabric without managers, by the name of its file, and the ports that managers can use.
    pub fn new(name: &str) -> (Self, Vec<PortRef>) {
        let fabric = Lab::new(name).fabric;
        let hosts = fabric
            .nodes()
            .iter_enumerated()
            .filter(|(_, node)| !node.type_.is_switch());
        let ports = hosts
            .filter_map(|(node, entry)| {
                let (port, _) = entry.ports().find(|(_, port)| port.peer.is_some())?;
                Some(PortRef { node, port })
            })
            .collect();
        let sim = Sim::new(&fabric, SimOptions::default()).share();
        (
            Self {
                sim,
                hosts: Vec::new(),
            },
            ports,
        )
    }

    /// Starts a manager; returns its index among the hosts.
    pub fn start(&mut self, port: PortRef, priority: u8) -> usize {
        self.start_with(port, priority, SmConfig::default().sm_key)
    }

    /// Starts a manager with its own SM_Key.
    pub fn start_with(&mut self, port: PortRef, priority: u8, sm_key: SmKey) -> usize {
        self.start_as(port, |config| {
            config.sm_priority = priority;
            config.sm_key = sm_key;
        })
    }

    /// Starts a manager with the default configuration adapted by `change`.
    pub fn start_as(&mut self, port: PortRef, change: impl FnOnce(&mut SmConfig)) -> usize {
        self.sim.with(|sim| {
            sim.attach(port, true).unwrap();
            sim.set_is_sm(port, true).unwrap();
        });
        let transport = self.sim.attach(port).unwrap();
        self.sim.with(|sim| sim.set_is_sm(port, true).unwrap());
        let mut config = SmConfig {
            sweep_interval: Some(Duration::from_secs(10)),
            ..SmConfig::default()
        };
        change(&mut config);
        let now = self.sim.with(|sim| sim.now());
        self.hosts.push(Host {
            sm: SubnetManager::new(config, now),
            transport,
            events: Vec::new(),
            alive: true,
            sent: 0,
        });
        self.hosts.len() - 1
    }

    /// Runs all managers for this long.
    pub fn run_for(&mut self, time: Duration) {
        let mut now = self.sim.with(|sim| sim.now());
        let end = now + time;
        while now < end {
            let mut next = end;
            for host in self.hosts.iter_mut().filter(|host| host.alive) {
                // Datagrams that have already arrived are handled first.
                while let Some(Received::Mad(mad)) = host.transport.recv(now).unwrap() {
                    host.sm.handle_input(now, Input::Mad(&mad));
                }
                if host.sm.poll_timeout().is_some_and(|at| at <= now) {
                    host.sm.handle_timeout(now);
                }
                while let Some(mad) = host.sm.poll_transmit(now) {
                    // The master sends requests too, after the trap about IsSM has named the other manager:
                    // answers do not count.
                    host.sent += usize::from(!mad.header().method().is_response());
                    host.transport.send(now, &mad).unwrap();
                }
                while let Some(event) = host.sm.poll_event() {
                    host.events.push(event);
                }
                if let Some(at) = host.sm.poll_timeout() {
                    next = next.min(at);
                }
            }
            if let Some(at) = self.sim.next_at() {
                next = next.min(at);
            }
            now = next.max(now);
            self.sim.advance(now);
            if next == now && self.sim.next_at().is_some_and(|at| at <= now) {
                now = now + Duration::from_nanos(1);
                self.sim.advance(now);
            }
        }
    }

    /// The states of all managers, in the order of the hosts.
    pub fn states(&self) -> Vec<SmState> {
        self.hosts.iter().map(|host| host.sm.state()).collect()
    }

    /// Ends a manager as if its host had died: its requests are no longer answered.
    pub fn die(&mut self, host: usize, port: PortRef) {
        self.hosts[host].alive = false;
        self.sim.with(|sim| {
            sim.set_is_sm(port, false).unwrap();
            sim.detach(port);
        });
    }
}
