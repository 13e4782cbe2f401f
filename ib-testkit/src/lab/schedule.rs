//! Schedules of faults: what happens to a fabric and to its manager, and whether the subnet is whole afterwards.
//!
//! A [`Schedule`] is drawn from a seed or from the bytes of a fuzzer. [`Schedule::play`] runs it in virtual time: cables
//! and nodes fail and come back, packets are lost, repeated, delayed, reordered or corrupt, agents are silent or lie,
//! and the manager dies and starts again, on the same port or on another one. Three sweeps after the last fault
//! `judge` looks at the devices from outside.

mod draw;
mod judge;

use std::{
    fmt::{self, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use ib_mad::TransactionId;
use ib_routing::{Fabric, NodeIdx, PortRef, generate::FabricSpec};
use ib_sim::{Behaviour, Corruption, FaultRates};
use ib_sm::SmConfig;
use ib_transport::Clock as _;

use self::draw::Draw;
use super::{Lab, Running};

/// Time between two sweeps of the manager.
const SWEEP: Duration = Duration::from_secs(10);

/// Time that three sweeps may take themselves: time-outs of devices, and waits between the stages of an update.
const WORK: Duration = Duration::from_secs(10);

/// Most inputs of a manager between two moments of a schedule: beyond, it would never come to rest.
const MOST_INPUTS: usize = 30_000;

/// Events that are shown of a run that failed.
const LAST_EVENTS: usize = 16;

/// A fabric, and the faults that happen to it in a run.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The fabric, as [`FabricSpec`] reads it.
    pub fabric: &'static str,
    /// Seed of the faults of single packets.
    pub seed: u64,
    /// True if each sweep reads the whole subnet.
    pub heavy_sweeps: bool,
    /// The faults, in the order of their beginnings.
    pub faults: Vec<ScheduledFault>,
}

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduledFault {
    /// When it begins, from the start of the first manager.
    pub at: Duration,
    /// Its duration.
    pub lasts: Duration,
    /// The kind of fault.
    pub kind: FaultKind,
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// The cable with this number is pulled out.
    Cable(usize),
    /// The node with this number has no power, and keeps nothing.
    Power(usize),
    /// Links do this to packets.
    Links(FaultRates),
    /// The agents of the node with this number do this.
    Agents(usize, Behaviour),
    /// The manager dies. At the end another one starts: on the same port, or on the host with this number.
    Manager(Option<usize>),
}

impl fmt::Display for ScheduledFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {:?} for {:?}: {:?}", self.at, self.lasts, self.kind)
    }
}

impl Schedule {
    /// The schedule of a seed.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut numbers = ib_wire::random::SplitMix64::new(seed);
        Draw(&mut |bound| numbers.below(bound)).schedule(seed)
    }

    /// The schedule that bytes stand for; bytes that are missing are 0.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let mut bytes = bytes.iter().copied();
        let mut next = |bound: usize| usize::from(bytes.next().unwrap_or(0)) % bound.max(1);
        let seed = next(256) as u64;
        Draw(&mut next).schedule(seed)
    }

    /// The same schedule with the faults of these numbers only.
    #[must_use]
    pub fn only(&self, numbers: &[usize]) -> Self {
        let faults = numbers.iter().filter_map(|&number| self.faults.get(number));
        Self {
            faults: faults.copied().collect(),
            ..self.clone()
        }
    }

    /// Runs the schedule.
    ///
    /// # Errors
    /// The faults of the subnet at the end, a line for each; a panic counts.
    pub fn play(&self) -> Result<(), String> {
        let outcome = catch_unwind(AssertUnwindSafe(|| Bed::new(self).play(&self.faults)));
        outcome.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("panic: {}\n", text.unwrap_or("of unknown type")))
        })
    }

    /// The numbers of the fewest faults that still fail, found by leaving out one after another.
    #[must_use]
    pub fn shrink(&self) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..self.faults.len()).collect();
        let mut at = 0;
        while at < kept.len() {
            let mut fewer = kept.clone();
            fewer.remove(at);
            match self.only(&fewer).play() {
                Err(_) => {
                    kept = fewer;
                    at = 0;
                }
                Ok(()) => at += 1,
            }
        }
        kept
    }
}

/// A fabric with its manager, while a schedule runs.
struct Bed {
    fabric: Fabric,
    config: SmConfig,
    running: Running,
    cables: Vec<PortRef>,
    /// The ports that a manager can have.
    hosts: Vec<PortRef>,
    /// The manager's port.
    own: PortRef,
    /// The faults that keep the manager from running.
    dead: Vec<usize>,
    /// The number of managers so far.
    managers: u32,
    /// True if packets or answers were changed in a way that nobody can tell.
    lied: bool,
}

impl Bed {
    fn new(schedule: &Schedule) -> Self {
        let spec: FabricSpec = schedule.fabric.parse().unwrap();
        let fabric = spec.build().unwrap();
        let own = fabric.first_host().unwrap();
        let cables = fabric.links().map(|(end, _)| end).collect();
        let hosts = fabric.nodes().iter_enumerated();
        let hosts = hosts.filter(|(_, node)| !node.type_.is_switch());
        let hosts = hosts
            .filter_map(|(node, entry)| {
                let (port, _) = entry.ports().find(|(_, port)| port.peer.is_some())?;
                Some(PortRef { node, port })
            })
            .collect();
        let config = SmConfig {
            sweep_interval: Some(SWEEP),
            force_heavy_sweep: schedule.heavy_sweeps,
            ..SmConfig::default()
        };
        let running = Lab::of(fabric.clone())
            .options(|options| options.faults.seed = schedule.seed)
            .config(|to| *to = config.clone())
            .start();
        running.sim.with(|sim| sim.set_is_sm(own, true).unwrap());
        Self {
            fabric,
            config,
            running,
            cables,
            hosts,
            own,
            dead: Vec::new(),
            managers: 1,
            lied: false,
        }
    }

    fn play(mut self, faults: &[ScheduledFault]) -> Result<(), String> {
        let mut moments = Vec::new();
        for (number, fault) in faults.iter().enumerate() {
            moments.push((fault.at, number, true));
            moments.push((fault.at + fault.lasts, number, false));
        }
        moments.sort();
        let mut now = Duration::ZERO;
        for (at, number, begins) in moments {
            self.run_for(at - now);
            now = at;
            match begins {
                true => self.begin(number, faults[number].kind),
                false => self.end(number, faults[number].kind),
            }
        }
        if self.lied {
            self.forgive_lies();
        }
        self.run_for(SWEEP * 3 + WORK);
        let faults = self.judge();
        if faults.is_empty() {
            return Ok(());
        }
        Err(faults.join("\n") + &self.last_events())
    }

    fn last_events(&self) -> String {
        let events = self.running.events.iter().rev().take(LAST_EVENTS).rev();
        events.fold(String::new(), |mut text, event| {
            write!(text, "\n  event: {event}").unwrap();
            text
        })
    }

    fn run_for(&mut self, time: Duration) {
        if !self.dead.is_empty() {
            let end = self.running.sim.now() + time;
            return self.running.sim.advance(end);
        }
        let is_over = self.running.run_for_at_most(time, MOST_INPUTS);
        assert!(
            is_over,
            "the manager never comes to rest{}",
            self.last_events()
        );
    }

    fn begin(&mut self, number: usize, kind: FaultKind) {
        match kind {
            FaultKind::Cable(cable) => {
                let cable = self.cable(cable);
                self.running.sim.with(|sim| sim.unlink(cable).unwrap());
            }
            FaultKind::Power(node) => {
                let node = self.node(node);
                if node == self.own.node {
                    self.kill(number);
                }
                self.running.sim.with(|sim| sim.power_off(node));
            }
            FaultKind::Links(rates) => {
                self.lied |= rates.corrupt > 0.0;
                self.running.sim.with(|sim| sim.set_fault_rates(rates));
            }
            FaultKind::Agents(node, behaviour) => {
                self.lied |= behaviour == Behaviour::Byzantine(Corruption::Garbage);
                self.set_behaviour(node, behaviour);
            }
            FaultKind::Manager(_) => self.kill(number),
        }
    }

    fn end(&mut self, number: usize, kind: FaultKind) {
        match kind {
            FaultKind::Cable(cable) => {
                let cable = self.cable(cable);
                // Another fault may have put it back already.
                self.running
                    .sim
                    .with(|sim| sim.relink(cable).unwrap_or(false));
            }
            FaultKind::Power(node) => {
                let node = self.node(node);
                self.running.sim.with(|sim| {
                    // Another fault may have switched it on already.
                    if !sim.nodes()[node].is_powered() {
                        sim.power_on(node);
                    }
                });
                self.revive(number, self.own);
            }
            FaultKind::Links(_) => {
                let rates = FaultRates::NONE;
                self.running.sim.with(|sim| sim.set_fault_rates(rates));
            }
            FaultKind::Agents(node, _) => self.set_behaviour(node, Behaviour::Honest),
            FaultKind::Manager(None) => self.revive(number, self.own),
            FaultKind::Manager(Some(host)) => {
                let host = self.hosts[host % self.hosts.len()];
                self.revive(number, host);
            }
        }
    }

    /// Ends the manager. The kernel clears IsSM with it.
    fn kill(&mut self, number: usize) {
        self.dead.push(number);
        let own = self.own;
        self.running.sim.with(|sim| {
            sim.set_is_sm(own, false).unwrap();
            sim.detach(own);
        });
    }

    /// Starts a new manager, unless another fault keeps it dead.
    fn revive(&mut self, number: usize, at: PortRef) {
        let before = self.dead.len();
        self.dead.retain(|&other| other != number);
        if before == 0 || !self.dead.is_empty() {
            return;
        }
        self.own = at;
        self.managers += 1;
        // Answers to the one before are not its own.
        self.config.first_transaction_id = TransactionId(u64::from(self.managers) << 20);
        self.running.restart_at(at, self.config.clone());
        self.running
            .sim
            .with(|sim| sim.set_is_sm(at, true).unwrap());
    }

    /// Damage that no CRC detects may have set any key in a device, and any state of it in the manager. The operator
    /// switches such a device off and on, and starts the manager anew.
    fn forgive_lies(&mut self) {
        let locked: Vec<NodeIdx> = self.running.sim.with(|sim| {
            let nodes = sim.nodes().indices();
            let is_locked = |&node: &NodeIdx| {
                let mut ports = sim.ports_of(node);
                ports.any(|port| port.info().m_key() != self.config.m_key)
            };
            nodes.filter(is_locked).collect()
        });
        for node in locked {
            self.running.sim.with(|sim| {
                sim.power_off(node);
                sim.power_on(node);
            });
        }
        self.kill(usize::MAX);
        self.revive(usize::MAX, self.own);
    }

    fn cable(&self, number: usize) -> PortRef {
        self.cables[number % self.cables.len()]
    }

    fn node(&self, number: usize) -> NodeIdx {
        NodeIdx((number % self.fabric.nodes().len()) as u32)
    }

    fn set_behaviour(&self, node: usize, behaviour: Behaviour) {
        let node = self.node(node);
        self.running
            .sim
            .with(|sim| sim.set_behaviour(node, behaviour));
    }
}
