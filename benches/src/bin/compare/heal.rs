//! Healing: what a manager spends from the trap of a pulled cable until verified tables are in the switches.
//!
//! In process, in virtual time: the figures are processor time, of all threads, of the manager's calls and of the work that
//! it hands out. The simulator's time and the time of reading the clock are left out. The healing ends with the answer to
//! the last forwarding block.
//! Beside OpenSM, see [`outage`].

use std::{collections::BTreeMap, env, time::Duration};

use ib_mad::{Attribute, Engine, Input, Mad, MadHeader, Method};
use ib_routing::{Fabric, PortRef, engine, generate::FabricSpec};
use ib_sim::{Sim, SimOptions};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_smp::LinearForwardingTable;
use ib_transport::{Clock, MadTransport, Received, receive};

use crate::{
    measure::{Sample, process_time, process_time_overhead},
    outage,
    row::Row,
};

pub(crate) const SUBJECT: &str = "heal";

/// The fabrics, by the names that cases bear, with the cables that fail one after the other.
const FABRICS: [(&str, &str, usize); 2] = [
    ("ft3456", "fat-tree:radix=24,levels=3", 9),
    ("47824", "fat-tree:radix=56,levels=3", 3),
];

/// Time without a datagram after which the manager has done everything that a cable that came back asks for.
const QUIET: Duration = Duration::from_secs(1);

type Failure = Box<dyn std::error::Error>;

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let only = env::var("COMPARE_CASE").unwrap_or_default();
    let mut rows = Vec::new();
    for (name, spec, cables) in FABRICS {
        let case = format!("link-{name}-own");
        if !case.contains(&only) {
            continue;
        }
        eprintln!("  {case}");
        rows.extend(measure(name, spec, cables).unwrap_or_else(|error| {
            vec![Row::without_peer(
                SUBJECT,
                case,
                format!("failed: {error}"),
                "ms",
                None,
            )]
        }));
    }
    rows.extend(outage::rows(&only));
    rows
}

/// Cost of one healing.
struct Healing {
    /// Processor time of the manager.
    milliseconds: f64,
    /// Forwarding blocks that were written.
    blocks: f64,
    /// Forwarding blocks whose content changed.
    changed: f64,
}

fn measure(name: &str, spec: &str, cables: usize) -> Result<Vec<Row>, Failure> {
    let fabric = spec.parse::<FabricSpec>()?.build()?;
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let host = fabric.first_host().ok_or("the fabric has no host")?;
    let mut config = SmConfig {
        routing_engines: vec![engine::MINHOP.clone()],
        sweep_interval: None,
        ..SmConfig::default()
    };
    config.route_options.threads = 1;
    let mut sm = SubnetManager::new(config, sim.now());
    sm.hand_out_work();
    let mut manager = Manager {
        sm,
        transport: sim.attach(host)?,
        clock: sim.clone(),
        own: Duration::ZERO,
        overhead: process_time_overhead(),
        tables: BTreeMap::new(),
        at_last_block: Duration::ZERO,
        blocks: 0,
        changed: 0,
        links: 0,
    };
    manager.run_until_up()?;
    let ends = cables_between_switches(&fabric);
    let links = fabric.links().count();
    let mut healings = Vec::new();
    for number in 0..cables {
        let cable = ends[number * ends.len() / cables];
        manager.finish_work();
        sim.with(|sim| sim.unlink(cable))?;
        healings.push(manager.heal()?);
        sim.with(|sim| sim.relink(cable))?;
        manager.settle(links)?;
    }
    let column = |figure: fn(&Healing) -> f64| Sample::new(healings.iter().map(figure).collect());
    let own = column(|healing| healing.milliseconds);
    let (blocks, least) = (
        column(|healing| healing.blocks),
        column(|healing| healing.changed),
    );
    let target = if name == "ft3456" {
        "target: 5 ms"
    } else {
        "target: 60 ms"
    };
    let blocks_case = format!("link-{name}-blocks");
    let least_name = "blocks whose content changed";
    Ok(vec![
        Row::without_peer(
            SUBJECT,
            format!("link-{name}-own"),
            target,
            "ms",
            Some(&own),
        ),
        Row::times(SUBJECT, blocks_case, least_name, "blocks", &blocks, &least),
    ])
}

/// The cables between switches, by the end that comes first.
pub(crate) fn cables_between_switches(fabric: &Fabric) -> Vec<PortRef> {
    let is_switch = |end: PortRef| fabric.switch_of(end.node).is_some();
    let between = fabric
        .links()
        .filter(|&(a, b)| is_switch(a) && is_switch(b));
    between.map(|(a, _)| a).collect()
}

/// A manager whose time is measured.
struct Manager<T, C> {
    sm: SubnetManager,
    transport: T,
    clock: C,
    /// Processor time of its calls and work.
    own: Duration,
    /// Processor time of one reading of the clock.
    overhead: Duration,
    /// The forwarding blocks that switches hold, by directed route and number.
    tables: BTreeMap<([u8; 64], u32), [u8; 64]>,
    /// `own` at the answer to the last forwarding block.
    at_last_block: Duration,
    blocks: u32,
    changed: u32,
    /// Links of the fabric when the subnet last came up.
    links: usize,
}

impl<T: MadTransport<Error = ib_transport::TransportError>, C: Clock> Manager<T, C> {
    /// Runs until the subnet is up again, and measures from now on.
    fn heal(&mut self) -> Result<Healing, Failure> {
        (self.own, self.at_last_block) = (Duration::ZERO, Duration::ZERO);
        (self.blocks, self.changed) = (0, 0);
        self.run_until_up()?;
        if self.blocks == 0 {
            return Err("no forwarding block was written".into());
        }
        Ok(Healing {
            milliseconds: self.at_last_block.as_secs_f64() * 1e3,
            blocks: self.blocks.into(),
            changed: self.changed.into(),
        })
    }

    /// Runs what the manager does while the subnet is up and it waits for nothing: the work that it offers, and what is
    /// due already. A cable that fails later finds it idle.
    fn finish_work(&mut self) {
        loop {
            let now = self.clock.now();
            if let Some(work) = self.sm.poll_work() {
                self.sm.handle_done(now, work.run());
            } else if self.sm.poll_timeout().is_some_and(|due| due <= now) {
                self.sm.handle_timeout(now);
            } else {
                return;
            }
        }
    }

    fn timed<R>(&mut self, call: impl FnOnce(&mut SubnetManager, &C) -> R) -> R {
        let start = process_time();
        let result = call(&mut self.sm, &self.clock);
        let took = process_time().saturating_sub(start);
        self.own += took.saturating_sub(self.overhead);
        result
    }

    fn run_until_up(&mut self) -> Result<(), Failure> {
        loop {
            let worked = self.timed(|sm, clock| {
                let work = sm.poll_work();
                work.map(|work| sm.handle_done(clock.now(), work.run()))
                    .is_some()
            });
            if worked {
                continue;
            }
            while let Some(mad) = self.timed(|sm, clock| sm.poll_transmit(clock.now())) {
                self.note(&mad);
                self.transport.send(self.clock.now(), &mad)?;
            }
            if self.is_up() {
                return Ok(());
            }
            let deadline = self.sm.poll_timeout();
            match receive(&mut self.transport, &self.clock, deadline)?.1 {
                Some(Received::Mad(mad)) => {
                    self.timed(|sm, clock| sm.handle_input(clock.now(), Input::Mad(&mad)));
                    if is_block(&mad.header(), Method::GET_RESP) {
                        self.at_last_block = self.own;
                    }
                }
                Some(Received::Returned(mad)) => {
                    self.timed(|sm, clock| sm.handle_input(clock.now(), Input::Returned(&mad)));
                }
                None if deadline.is_none() => return Err("the manager waits for nothing".into()),
                None => self.timed(|sm, clock| sm.handle_timeout(clock.now())),
            }
        }
    }

    /// Takes the events. Returns true if the subnet came up.
    fn is_up(&mut self) -> bool {
        let mut up = false;
        while let Some(event) = self.sm.poll_event() {
            if let Event::SubnetUp(summary) = event {
                (up, self.links) = (true, summary.fabric.links);
            }
        }
        up
    }

    /// Runs until the subnet is up with so many links, and then until nothing has arrived for [`QUIET`]. A switch limits the
    /// rate of its traps, so the trap of a cable that came back can be later than the end of the sweep before it, and the
    /// next failure would meet routes that miss the cable.
    fn settle(&mut self, links: usize) -> Result<(), Failure> {
        while self.links != links {
            self.run_until_up()?;
        }
        loop {
            self.finish_work();
            while let Some(mad) = self.sm.poll_transmit(self.clock.now()) {
                self.note(&mad);
                self.transport.send(self.clock.now(), &mad)?;
            }
            self.is_up();
            let end = self.clock.now() + QUIET;
            match receive(&mut self.transport, &self.clock, Some(end))?.1 {
                Some(Received::Mad(mad)) => {
                    self.sm.handle_input(self.clock.now(), Input::Mad(&mad));
                }
                Some(Received::Returned(mad)) => {
                    self.sm
                        .handle_input(self.clock.now(), Input::Returned(&mad));
                }
                None => return Ok(()),
            }
        }
    }

    /// Counts writes of forwarding blocks.
    fn note(&mut self, mad: &Mad) {
        let header = mad.header();
        if !is_block(&header, Method::SET) {
            return;
        }
        self.blocks += 1;
        self.changed += u32::from(outage::changes_a_block(mad, &mut self.tables));
    }
}

/// True if a datagram writes a forwarding block, or answers such a write.
fn is_block(header: &MadHeader, method: Method) -> bool {
    header.method() == method && header.attribute_id() == LinearForwardingTable::ID
}
