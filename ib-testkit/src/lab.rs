//! `Lab`: a subnet manager on a simulated fabric, in virtual time.

pub mod client;
pub mod clusters;
pub mod managers;
pub mod properties;
pub mod recorder;
pub mod schedule;

use std::{ops::ControlFlow, time::Duration};

use ib_mad::{Engine, Input, Instant, Mad};
use ib_routing::{Fabric, NodeIdx, PortRef, SharedEngine};
use ib_sim::{SharedSim, Sim, SimNode, SimOptions};
use ib_sm::{Event, SmConfig, SubnetManager, Summary};
use ib_transport::{Clock, MadTransport, Received, drive, receive};
use ib_wire::PortNum;

pub use self::recorder::Recorder;
use crate::fabrics::fabric;

/// A fabric with a manager that has not started yet.
pub struct Lab {
    /// The simulated fabric.
    pub fabric: Fabric,
    /// The behaviour of the simulated devices.
    pub options: SimOptions,
    /// The manager's configuration: the library's default, without periodic sweeps.
    pub config: SmConfig,
    /// The port of the manager; `None`: the first host.
    pub at: Option<PortRef>,
}

/// A fabric with a manager that has run.
pub struct Running {
    /// The manager.
    pub sm: SubnetManager,
    /// The manager's port.
    pub transport: Recorder,
    /// The simulator, and its virtual time.
    pub sim: SharedSim,
    /// Every event so far.
    pub events: Vec<Event>,
}

/// A manager whose invariants are checked after every call.
pub struct Checked<'a>(
    /// The manager.
    pub &'a mut SubnetManager,
);

impl Checked<'_> {
    fn check(&self) {
        if let Err(error) = self.0.check_invariants() {
            panic!("{error}");
        }
    }
}

impl Engine for Checked<'_> {
    type Input<'i> = Input<'i>;
    type Transmit = Mad;
    type Event = Event;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        self.0.handle_input(now, input);
        self.check();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
        self.check();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        let mad = self.0.poll_transmit(now);
        self.check();
        mad
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.0.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.0.poll_event()
    }
}

impl Lab {
    /// A fabric by the name of its file.
    pub fn new(name: &str) -> Self {
        Self::of(fabric(name))
    }

    /// A fabric that a test has built.
    pub fn of(fabric: Fabric) -> Self {
        Self {
            fabric,
            options: SimOptions::default(),
            config: SmConfig {
                sweep_interval: None,
                ..SmConfig::default()
            },
            at: None,
        }
    }

    /// Routes by this engine, and permits routes that can deadlock.
    pub fn routing(mut self, engine: &SharedEngine) -> Self {
        self.config.allow_deadlock = true;
        self.config.routing_engines = vec![engine.clone()];
        self
    }

    /// Places the manager on a node, selected by its name.
    pub fn sm_at(mut self, node: NodeIdx, port: u8) -> Self {
        self.at = Some(PortRef {
            node,
            port: PortNum(port),
        });
        self
    }

    /// Changes the manager's configuration.
    pub fn config(mut self, change: impl FnOnce(&mut SmConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Changes how devices behave.
    pub fn options(mut self, change: impl FnOnce(&mut SimOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// A manager that has not done anything yet.
    pub fn start(self) -> Running {
        let at = self
            .at
            .or_else(|| self.fabric.first_host())
            .expect("a CA with a link");
        let sim = Sim::new(&self.fabric, self.options).share();
        Running {
            sm: SubnetManager::new(self.config, sim.now()),
            transport: Recorder::new(&sim, at),
            sim,
            events: Vec::new(),
        }
    }

    /// Brings the fabric up.
    pub fn up(self) -> Running {
        let mut running = self.start();
        running.run_until_up();
        running
    }
}

impl Running {
    /// Runs until a sweep has ended without errors.
    pub fn run_until_up(&mut self) -> Summary {
        let summary = self.run(|event| match event {
            Event::SubnetUp(summary) => ControlFlow::Break((**summary).clone()),
            _ => ControlFlow::Continue(()),
        });
        summary.unwrap_or_else(|| panic!("never up: {:?}", self.events.last()))
    }

    /// Runs until `on_event` breaks, or until there is nothing more to do.
    pub fn run<B>(&mut self, mut on_event: impl FnMut(&Event) -> ControlFlow<B>) -> Option<B> {
        let events = &mut self.events;
        drive(
            &mut Checked(&mut self.sm),
            &mut self.transport,
            &self.sim,
            |_, event| {
                let flow = on_event(&event);
                events.push(event);
                flow
            },
        )
        .unwrap()
    }

    /// Runs the manager for this long.
    pub fn run_for(&mut self, time: Duration) {
        self.run_for_at_most(time, usize::MAX);
    }

    /// Runs the manager for this long, or for so many inputs. Returns whether the time is over.
    pub fn run_for_at_most(&mut self, time: Duration, inputs: usize) -> bool {
        let end = self.sim.now() + time;
        for _ in 0..inputs {
            let now = self.sim.now();
            while let Some(mad) = self.sm.poll_transmit(now) {
                self.transport.send(now, &mad).unwrap();
            }
            while let Some(event) = self.sm.poll_event() {
                self.events.push(event);
            }
            if now >= end {
                return true;
            }
            let wake = self.sm.poll_timeout().map_or(end, |at| at.min(end));
            let (now, received) = receive(&mut self.transport, &self.sim, Some(wake)).unwrap();
            let mut sm = Checked(&mut self.sm);
            match received {
                Some(Received::Mad(mad)) => sm.handle_input(now, Input::Mad(&mad)),
                Some(Received::Returned(mad)) => sm.handle_input(now, Input::Returned(&mad)),
                None => sm.handle_timeout(now),
            }
        }
        false
    }

    /// Runs the manager for this long, and the work that it hands out, as a host with threads does.
    pub fn run_for_with_work(&mut self, time: Duration) {
        let end = self.sim.now() + time;
        loop {
            let now = self.sim.now();
            while let Some(work) = self.sm.poll_work() {
                self.sm.handle_done(now, work.run());
            }
            if self.run_for_at_most(end.since(now), 1) {
                return;
            }
        }
    }

    /// Returns true if a sweep has ended, with or without errors.
    pub fn has_swept(&self) -> bool {
        let ends = |event: &Event| matches!(event, Event::SubnetUp(_) | Event::SweepFailed(_));
        self.events.iter().any(ends)
    }

    /// Every event as text, and every datagram that was sent.
    pub fn log(&self) -> (Vec<String>, Vec<[u8; 256]>) {
        let events = self.events.iter().map(|event| format!("{event:?}"));
        let sent = self.transport.sent.iter().map(|mad| mad.bytes);
        (events.collect(), sent.collect())
    }

    /// Ends the manager and starts another one on the same port.
    pub fn restart(&mut self, config: SmConfig) {
        self.sm = SubnetManager::new(config, self.sim.now());
        self.transport.sent.clear();
        self.events.clear();
    }

    /// Ends the manager and starts another one on another port.
    pub fn restart_at(&mut self, port: PortRef, config: SmConfig) {
        self.transport.move_to(&self.sim, port);
        self.restart(config);
    }

    /// Starts a sweep of the whole subnet by a command of the host.
    pub fn resweep(&mut self) -> Summary {
        self.transport.sent.clear();
        let now = self.sim.now();
        self.sm.resweep(now);
        self.run_until_up()
    }

    /// Calls a function with a simulated node.
    pub fn node<T>(&self, node: NodeIdx, look: impl FnOnce(&SimNode) -> T) -> T {
        self.sim.with(|sim| look(sim.node(node).unwrap()))
    }
}
