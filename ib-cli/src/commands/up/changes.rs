//! `ib up --then`: changes of the fabric after the subnet is up, one after the other, and the cost of each.

use std::{
    collections::BTreeSet,
    fmt,
    ops::ControlFlow,
    str::FromStr,
    time::{Duration, Instant as WallInstant},
};

use ib_mad::{Attribute as _, Engine, Input, Instant, Mad, Method, MgmtClass};
use ib_routing::{Fabric, NodeIdx, PortRef};
use ib_sim::SharedSim;
use ib_sm::{Event, SubnetManager, SweepKind};
use ib_smp::LinearForwardingTable;
use ib_transport::{Clock as _, MadTransport, drive};
use ib_wire::{Guid, PortNum};
use serde::Serialize;

use super::{by_guid, by_name};
use crate::{error::CliError, observer::ProgressObserver};

/// Virtual time without an event after which a change counts as complete. A second trap about the same cable arrives
/// earlier.
const QUIET: Duration = Duration::from_millis(50);

/// Virtual time after which the command stops waiting for a manager that is not up again.
const PATIENCE: Duration = Duration::from_secs(300);

/// A change in its text form: `unlink=NODE:PORT`, `relink=NODE:PORT`, `off=NODE` or `on=NODE`.
#[derive(Clone, Debug)]
pub struct FabricChange {
    text: String,
    kind: Kind,
    node: String,
    port: PortNum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unlink,
    Relink,
    Off,
    On,
}

impl FromStr for FabricChange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXPECTED: &str = "expected unlink=NODE:PORT, relink=NODE:PORT, off=NODE or on=NODE";
        let (kind, place) = text.split_once('=').ok_or(EXPECTED)?;
        let kind = match kind {
            "unlink" => Kind::Unlink,
            "relink" => Kind::Relink,
            "off" => Kind::Off,
            "on" => Kind::On,
            _ => return Err(EXPECTED.to_owned()),
        };
        let (node, port) = match kind {
            Kind::Off | Kind::On => (place, 0),
            Kind::Unlink | Kind::Relink => {
                let (node, port) = place.rsplit_once(':').ok_or(EXPECTED)?;
                (node, port.parse().map_err(|_| EXPECTED)?)
            }
        };
        if node.is_empty() {
            return Err(EXPECTED.to_owned());
        }
        Ok(Self {
            text: text.to_owned(),
            kind,
            node: node.to_owned(),
            port: PortNum(port),
        })
    }
}

impl fmt::Display for FabricChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FabricChange {
    /// The node of the change in a fabric, and the port if the change names one.
    fn place(&self, fabric: &Fabric) -> Result<PortRef, CliError> {
        let at = format!("--then {self}");
        let node = by_guid(fabric, &self.node).or_else(|| by_name(fabric, &self.node));
        let node: NodeIdx = match node {
            Some(port) => port.node,
            None => {
                let what = format!("no node `{}` in the fabric", self.node);
                return Err(CliError::at(at, what));
            }
        };
        let num_ports = fabric.node(node).num_ports();
        let names_port = matches!(self.kind, Kind::Unlink | Kind::Relink);
        if names_port && !(1..=num_ports).contains(&self.port.0) {
            let what = format!("no port {}, expected 1 to {num_ports}", self.port);
            return Err(CliError::at(at, what));
        }
        Ok(PortRef {
            node,
            port: self.port,
        })
    }

    pub fn make(&self, sim: &SharedSim, at: PortRef) -> Result<(), CliError> {
        let done = sim.with(|sim| match self.kind {
            Kind::Unlink => sim.unlink(at),
            Kind::Relink => sim.relink(at).map(|_| ()),
            Kind::Off => {
                sim.power_off(at.node);
                Ok(())
            }
            Kind::On => {
                sim.power_on(at.node);
                Ok(())
            }
        });
        done.map_err(|error| CliError::at(format!("--then {self}"), error))
    }
}

/// The cost of a change, until the subnet was up again.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ChangeReport {
    pub change: String,
    pub smps: Smps,
    /// Number of Sets that wrote blocks of linear forwarding tables.
    pub lft_blocks: u64,
    /// Virtual time from the change until the subnet was up again, in seconds.
    pub virtual_seconds: f64,
    /// Real time from the change until the subnet was up again, in seconds.
    pub seconds: f64,
    /// Number of forwarding table entries in use that the change moved to another port.
    pub moved: u64,
    /// Nodes that lost every path to the manager, even if only for a moment.
    pub unreachable_devices: Vec<Guid>,
    /// Nodes that were removed or added.
    pub missing_devices: Vec<Guid>,
    /// The datagrams that the manager of each logical cluster sent; empty without clusters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<ClusterSmps>,
}

/// The datagrams that the manager of one logical cluster sent because of a change.
#[derive(Clone, Debug, Serialize)]
pub struct ClusterSmps {
    pub name: String,
    pub smps: Smps,
}

impl ChangeReport {
    /// Adds the cost that another manager had for the same change.
    pub fn add(&mut self, other: Self) {
        self.change = other.change;
        self.smps.get += other.smps.get;
        self.smps.set += other.smps.set;
        self.lft_blocks += other.lft_blocks;
        self.virtual_seconds = self.virtual_seconds.max(other.virtual_seconds);
        self.moved += other.moved;
        self.unreachable_devices.extend(other.unreachable_devices);
        self.missing_devices.extend(other.missing_devices);
    }
}

/// Returns true if an event reports that a manager begins to read the fabric or a part of it.
pub const fn begins_sweep(event: &Event) -> bool {
    matches!(
        event,
        Event::SweepStarted {
            kind: SweepKind::Heavy | SweepKind::Partial,
            ..
        }
    )
}

/// Number of subnet management datagrams that the manager sent, retries included.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Smps {
    pub get: u64,
    pub set: u64,
}

/// Resolves the places of all changes, so that bad input is refused before anything runs.
pub fn places(fabric: &Fabric, changes: &[FabricChange]) -> Result<Vec<PortRef>, CliError> {
    changes.iter().map(|change| change.place(fabric)).collect()
}

/// The fabric after the changes: without the unplugged cables, and without the cables of nodes that are off.
pub fn remaining(fabric: &Fabric, sim: &SharedSim) -> Fabric {
    let mut builder = fabric.to_builder();
    sim.with(|sim| {
        let is_off = |node: NodeIdx| sim.node(node).is_none_or(|node| !node.is_powered());
        for (a, b) in fabric.links() {
            let is_out = sim.peer(a) != Some(b);
            if is_out || is_off(a.node) || is_off(b.node) {
                builder.remove_link(a);
            }
        }
    });
    builder.build()
}

/// Makes a change and runs the manager until the subnet is up again and no further event follows.
pub fn run(
    change: &FabricChange,
    at: PortRef,
    sim: &SharedSim,
    sm: &mut SubnetManager,
    transport: &mut impl MadTransport,
    observer: &mut ProgressObserver,
) -> Result<ChangeReport, CliError> {
    let (began, started) = (WallInstant::now(), sim.now());
    change.make(sim, at)?;
    let mut counted = Counted::new(sm, started);
    let ended = drive(&mut counted, transport, sim, |_, event| {
        let Some(event) = event else {
            return ControlFlow::Break(());
        };
        // The events that follow decide whether the change is complete.
        let _ = observer.event(&event);
        ControlFlow::Continue(())
    });
    ended.map_err(|error| CliError::at("the simulator", error))?;
    let mut report = counted.into_report(change, started);
    report.seconds = began.elapsed().as_secs_f64();
    Ok(report)
}

/// A manager whose datagrams and events are counted. It reports `None` once the change is complete.
pub struct Counted<'a> {
    sm: &'a mut SubnetManager,
    report: ChangeReport,
    unreachable: BTreeSet<Guid>,
    missing: BTreeSet<Guid>,
    /// Latest time at which the manager is given up; `None` after that has been reported.
    end: Option<Instant>,
    /// End of the last sweep that the change caused; before that sweep, the time of the change.
    done: Instant,
    /// Time at which the change counts as complete if no event arrives before.
    quiet: Option<Instant>,
    now: Instant,
    over: bool,
}

impl<'a> Counted<'a> {
    pub fn new(sm: &'a mut SubnetManager, now: Instant) -> Self {
        Self {
            sm,
            report: ChangeReport::default(),
            unreachable: BTreeSet::new(),
            missing: BTreeSet::new(),
            end: Some(now + PATIENCE),
            done: now,
            quiet: None,
            now,
            over: false,
        }
    }

    /// The cost of the change that was made at `started`.
    pub fn into_report(self, change: &FabricChange, started: Instant) -> ChangeReport {
        ChangeReport {
            change: change.to_string(),
            virtual_seconds: self.done.since(started).as_secs_f64(),
            unreachable_devices: self.unreachable.into_iter().collect(),
            missing_devices: self.missing.into_iter().collect(),
            ..self.report
        }
    }

    fn count(&mut self, mad: &Mad) {
        let header = mad.header();
        if !matches!(
            header.mgmt_class(),
            MgmtClass::SUBN_DIRECTED | MgmtClass::SUBN_LID
        ) {
            return;
        }
        match header.method() {
            Method::GET => self.report.smps.get += 1,
            Method::SET => {
                self.report.smps.set += 1;
                let is_lft = header.attribute_id() == LinearForwardingTable::ID;
                self.report.lft_blocks += u64::from(is_lft);
            }
            _ => {}
        }
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::SubnetUp(_) => {
                self.done = self.now;
                self.quiet = Some(self.now + QUIET);
            }
            // The timer looked for changes and found none, so there is nothing to wait for.
            Event::LightSweepDone { changed: false } => {
                self.quiet.get_or_insert(self.now);
            }
            event if begins_sweep(event) => self.quiet = None,
            Event::TablesHealed { entries } => self.report.moved += *entries as u64,
            Event::TablesChange { entries, .. } => self.report.moved += entries,
            Event::NodesUnreachable { unreachable, .. } => self.unreachable.extend(unreachable),
            Event::NodeVanished { node_guid } | Event::NodeAppeared { node_guid } => {
                self.missing.insert(*node_guid);
            }
            _ => {}
        }
    }
}

impl Engine for Counted<'_> {
    type Input<'i> = Input<'i>;
    type Transmit = Mad;
    type Event = Option<Event>;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        self.now = now;
        self.sm.handle_input(now, input);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        let timers = [self.quiet, self.end];
        self.over |= timers.into_iter().flatten().any(|at| at <= now);
        self.sm.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        let mad = self.sm.poll_transmit(now)?;
        self.count(&mad);
        Some(mad)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let timers = [self.sm.poll_timeout(), self.quiet, self.end];
        Instant::earliest(timers)
    }

    fn poll_event(&mut self) -> Option<Option<Event>> {
        let Some(event) = self.sm.poll_event() else {
            let is_over = core::mem::take(&mut self.over);
            if is_over {
                (self.quiet, self.end) = (None, None);
            }
            return is_over.then_some(None);
        };
        self.note(&event);
        Some(Some(event))
    }
}
