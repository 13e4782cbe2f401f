//! The longest calls of a manager's engine while a cable between switches is pulled and put back:
//! `call_times [SPEC [ROUNDS]]`, by default once on a three-level tree of 3,456 hosts. Work that the engine hands out is not
//! counted, because a host runs it on another thread.

use std::{
    cmp::Reverse, collections::BTreeMap, env, error::Error, rc::Rc, time::Duration, time::Instant,
};

use ib_mad::{Engine, Input};
use ib_routing::{engine, generate::FabricSpec};
use ib_sim::{Sim, SimOptions};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_transport::{Clock, MadTransport, Received, receive};

/// Number of calls that are printed.
const LONGEST: usize = 12;

/// The longest calls, each with its name and the event that came before it.
#[derive(Default)]
struct Calls {
    times: Vec<(Duration, &'static str, Rc<str>)>,
    // Shared by the calls after it: to free a text for each call would be part of the next measurement.
    last_event: Rc<str>,
}

impl Calls {
    fn time<T>(&mut self, name: &'static str, call: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = call();
        self.times
            .push((start.elapsed(), name, Rc::clone(&self.last_event)));
        result
    }

    fn print(&mut self, title: &str) {
        self.times.sort_by_key(|(time, ..)| Reverse(*time));
        println!("{title}: {} calls", self.times.len());
        for (time, name, after) in self.times.iter().take(LONGEST) {
            println!(
                "{:>9.3} ms  {name:<14} after {after}",
                time.as_secs_f64() * 1e3
            );
        }
        let mut sums = BTreeMap::new();
        for (time, name, _) in &self.times {
            *sums.entry(*name).or_insert(Duration::ZERO) += *time;
        }
        println!("{sums:?}");
        self.times.clear();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let spec = env::args().nth(1);
    let spec: FabricSpec = spec
        .as_deref()
        .unwrap_or("fat-tree:radix=24,levels=3")
        .parse()?;
    let fabric = spec.build()?;
    let port = fabric.first_host().ok_or("no CA")?;
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let mut transport = sim.attach(port)?;
    let config = SmConfig {
        routing_engines: vec![engine::MINHOP.clone(), engine::NUE.clone()],
        sweep_interval: None,
        ..SmConfig::default()
    };
    let mut calls = Calls::default();
    let mut sm = SubnetManager::new(config, sim.now());
    sm.hand_out_work();
    until_up(&mut sm, &mut transport, &sim, &mut calls)?;
    calls.print("bring-up");
    let mut cables = fabric.switch_links();
    let (cable, _) = cables.next().ok_or("no cable between switches")?;
    let rounds = env::args().nth(2).map_or(Ok(1), |rounds| rounds.parse())?;
    for _ in 0..rounds {
        sim.with(|sim| sim.unlink(cable))?;
        until_up(&mut sm, &mut transport, &sim, &mut calls)?;
        calls.print("cable pulled");
        sim.with(|sim| sim.relink(cable))?;
        until_up(&mut sm, &mut transport, &sim, &mut calls)?;
        calls.print("cable put back");
    }
    Ok(())
}

/// Drives the manager until it reports that the subnet is up.
fn until_up(
    sm: &mut SubnetManager,
    transport: &mut impl MadTransport<Error = ib_transport::TransportError>,
    clock: &impl Clock,
    calls: &mut Calls,
) -> Result<(), Box<dyn Error>> {
    loop {
        while let Some(work) = sm.poll_work() {
            let done = work.run();
            calls.time("handle_done", || sm.handle_done(clock.now(), done));
        }
        while let Some(mad) = calls.time("poll_transmit", || sm.poll_transmit(clock.now())) {
            transport.send(clock.now(), &mad)?;
        }
        let mut up = false;
        while let Some(event) = sm.poll_event() {
            up |= matches!(event, Event::SubnetUp(_));
            let text = format!("{event:?}");
            calls.last_event = text.chars().take(40).collect::<String>().into();
        }
        if up {
            return Ok(());
        }
        let deadline = calls.time("poll_timeout", || sm.poll_timeout());
        match receive(transport, clock, deadline)?.1 {
            Some(Received::Mad(mad)) => calls.time("handle_input", || {
                sm.handle_input(clock.now(), Input::Mad(&mad));
            }),
            Some(Received::Returned(mad)) => calls.time("handle_input", || {
                sm.handle_input(clock.now(), Input::Returned(&mad));
            }),
            None if deadline.is_none() && sm.poll_timeout().is_none() => {
                return Err("the manager waits for nothing".into());
            }
            None => calls.time("handle_timeout", || sm.handle_timeout(clock.now())),
        }
    }
}
