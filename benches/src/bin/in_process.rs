//! Brings a fabric up inside the process, in virtual time: `in_process [SPEC [TIMES]]`, by default a three-level tree of
//! 3,456 hosts. Prints what each phase took of the processor's time.

use std::{env, error::Error, ops::ControlFlow, time::Instant};

use ib_routing::{engine, generate::FabricSpec};
use ib_sim::{Sim, SimOptions};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_transport::{Clock, drive};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let spec = arguments.next();
    let spec: FabricSpec = spec
        .as_deref()
        .unwrap_or("fat-tree:radix=24,levels=3")
        .parse()?;
    let times = arguments
        .next()
        .map_or(Ok(1), |times| times.parse::<u32>())?;
    let start = Instant::now();
    let fabric = spec.build()?;
    println!("generated in {:.1?}", start.elapsed());
    let host = fabric.first_host().ok_or("no CA")?;
    for _ in 0..times {
        let start = Instant::now();
        let sim = Sim::new(&fabric, SimOptions::default()).share();
        let mut transport = sim.attach(host)?;
        println!("built in {:.1?}", start.elapsed());
        let config = SmConfig {
            routing_engines: vec![engine::MINHOP.clone()],
            ..SmConfig::default()
        };
        let mut sm = SubnetManager::new(config, sim.now());
        let mut last = Instant::now();
        drive(&mut sm, &mut transport, &sim, |_, event| match event {
            Event::SubnetUp(summary) => {
                println!("up after {:.1?}: {:?}", last.elapsed(), summary.mads);
                ControlFlow::Break(())
            }
            Event::PhaseStarted(phase) => {
                println!("{:.1?}, then {phase:?}", last.elapsed());
                last = Instant::now();
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        })?;
        println!("all in {:.1?}", start.elapsed());
    }
    Ok(())
}
