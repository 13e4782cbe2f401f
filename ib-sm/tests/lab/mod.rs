//! `Lab`: a subnet manager on a simulated fabric, in virtual time.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses a part of it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

pub mod client;

use std::{ops::ControlFlow, path::PathBuf, time::Duration};

use ib_mad::{Engine, Instant, Mad, MadHeader, Method};
use ib_routing::{Fabric, NodeIdx, PortRef, SharedEngine, format::ibnetdiscover};
use ib_sim::{SharedSim, Sim, SimClock, SimNode, SimOptions, SimTransport};
use ib_sm::{Event, SmConfig, SubnetManager, Summary};
use ib_transport::{Clock, MadTransport, Received, TransportError, drive};
use ib_wire::PortNum;

/// A fabric with a manager that is about to start.
pub struct Lab {
    pub fabric: Fabric,
    pub options: SimOptions,
    pub config: SmConfig,
    pub at: Option<PortRef>,
}

/// A fabric whose manager has worked.
pub struct Running {
    pub sm: SubnetManager,
    pub transport: Recorder,
    pub sim: SharedSim,
    pub clock: SimClock,
    pub events: Vec<Event>,
}

/// Passes everything on and keeps what was sent.
pub struct Recorder {
    inner: SimTransport,
    pub sent: Vec<Mad>,
}

impl MadTransport for Recorder {
    type Error = TransportError;

    fn send(&mut self, mad: &Mad) -> Result<(), TransportError> {
        self.sent.push(*mad);
        self.inner.send(mad)
    }

    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, TransportError> {
        self.inner.recv(deadline)
    }
}

impl Recorder {
    /// Headers of what was sent with this method.
    pub fn sent_with(&self, method: Method) -> Vec<MadHeader> {
        let headers = self.sent.iter().map(Mad::header);
        headers.filter(|header| header.method() == method).collect()
    }
}

/// The fabric files that come with ib-routing.
pub fn fabric_files() -> Vec<PathBuf> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ib-routing/testdata/fabrics"
    );
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "net"))
        .collect();
    files.sort();
    assert!(files.len() > 20, "the fabrics are missing");
    files
}

impl Lab {
    /// A fabric by the name of its file.
    pub fn new(name: &str) -> Self {
        let file = format!("{name}.net");
        let found = fabric_files()
            .into_iter()
            .find(|path| path.ends_with(&file));
        let text = std::fs::read_to_string(found.expect(name)).unwrap();
        Self::of(ibnetdiscover::read(&text).unwrap().fabric)
    }

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

    pub fn routing(mut self, engine: &SharedEngine) -> Self {
        self.config.allow_deadlock = true;
        self.config.routing_engines = vec![engine.clone()];
        self
    }

    /// Where the manager sits: a node by its name.
    pub fn sm_at(mut self, node: NodeIdx, port: u8) -> Self {
        self.at = Some(PortRef {
            node,
            port: PortNum(port),
        });
        self
    }

    pub fn config(mut self, change: impl FnOnce(&mut SmConfig)) -> Self {
        change(&mut self.config);
        self
    }

    pub fn options(mut self, change: impl FnOnce(&mut SimOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// A manager that has not done anything yet.
    pub fn start(self) -> Running {
        let at = self.at.unwrap_or_else(|| {
            let nodes = self.fabric.nodes().iter_enumerated();
            nodes
                .filter(|(_, node)| !node.type_.is_switch())
                .find_map(|(index, node)| {
                    let (port, _) = node.ports().find(|(_, port)| port.peer.is_some())?;
                    Some(PortRef { node: index, port })
                })
                .expect("a CA with a link")
        });
        let sim = Sim::new(&self.fabric, self.options).share();
        let clock = sim.clock();
        Running {
            sm: SubnetManager::new(self.config, clock.now()),
            transport: Recorder {
                inner: sim.attach(at).unwrap(),
                sent: Vec::new(),
            },
            sim,
            clock,
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
    /// Runs until a sweep has ended well.
    pub fn run_until_up(&mut self) -> Summary {
        let summary = self.run(|event| match event {
            Event::SubnetUp(summary) => ControlFlow::Break((**summary).clone()),
            _ => ControlFlow::Continue(()),
        });
        summary.unwrap_or_else(|| panic!("never up: {:?}", self.events.last()))
    }

    /// Runs until `on_event` breaks, or until nothing can happen any more.
    pub fn run<B>(&mut self, mut on_event: impl FnMut(&Event) -> ControlFlow<B>) -> Option<B> {
        let events = &mut self.events;
        drive(
            &mut self.sm,
            &mut self.transport,
            &self.clock,
            |_, event| {
                let flow = on_event(&event);
                events.push(event);
                flow
            },
        )
        .unwrap()
    }

    /// Lets the manager work for so long.
    pub fn run_for(&mut self, time: Duration) {
        let end = self.clock.now() + time;
        loop {
            let now = self.clock.now();
            while let Some(mad) = self.sm.poll_transmit(now) {
                self.transport.send(&mad).unwrap();
            }
            while let Some(event) = self.sm.poll_event() {
                self.events.push(event);
            }
            if now >= end {
                return;
            }
            let wake = self.sm.poll_timeout().map_or(end, |at| at.min(end));
            match self.transport.recv(Some(wake)).unwrap() {
                Some(Received::Mad(mad)) => {
                    let now = self.clock.now();
                    self.sm.handle_input(now, ib_mad::Input::Mad(&mad));
                }
                Some(Received::Returned(mad)) => {
                    let now = self.clock.now();
                    self.sm.handle_input(now, ib_mad::Input::Returned(&mad));
                }
                None => self.sm.handle_timeout(self.clock.now()),
            }
        }
    }

    /// Whether a sweep has ended, well or not.
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

    /// The manager ends, and another one starts on the same port.
    pub fn restart(&mut self, config: SmConfig) {
        self.sm = SubnetManager::new(config, self.clock.now());
        self.transport.sent.clear();
        self.events.clear();
    }

    /// Discovers again at the host's wish.
    pub fn resweep(&mut self) -> Summary {
        self.transport.sent.clear();
        let now = self.clock.now();
        self.sm.resweep(now);
        self.run_until_up()
    }

    /// Looks at a simulated node.
    pub fn node<T>(&self, node: NodeIdx, look: impl FnOnce(&SimNode) -> T) -> T {
        self.sim.with(|sim| look(sim.node(node).unwrap()))
    }
}
