//! Questions a second that the subnet administrator answers: `sa_rate [SPEC]`, by default of a three-level
//! tree of 3,456 hosts. A host asks one question after the other, by LID or GID as hosts do; no answer is longer than a
//! datagram.

use std::{env, error::Error, ops::ControlFlow, time::Instant};

use ib_mad::{Engine, Input, Mad, MadAddress, Method};
use ib_routing::{engine, generate::FabricSpec};
use ib_sa::{
    ComponentMask, McMemberComponents, McMemberRecord, NodeComponents, NodeRecord, PathComponents,
    PathRecord, PortInfoComponents, PortInfoRecord, Record, SaMad,
};
use ib_sim::{Sim, SimOptions};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_transport::{Clock, drive};
use ib_wire::{Gid, GidPrefix, Sl};

fn main() -> Result<(), Box<dyn Error>> {
    let spec = env::args().nth(1);
    let spec: FabricSpec = spec
        .as_deref()
        .unwrap_or("fat-tree:radix=24,levels=3")
        .parse()?;
    let fabric = spec.build()?;
    let host = fabric.first_host().ok_or("no CA")?;
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let mut transport = sim.attach(host)?;
    let config = SmConfig {
        routing_engines: vec![engine::MINHOP.clone()],
        sweep_interval: None,
        ..SmConfig::default()
    };
    let mut sm = SubnetManager::new(config, sim.now());
    drive(&mut sm, &mut transport, &sim, |_, event| match event {
        Event::SubnetUp(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })?;
    println!("{} LIDs", sm.summary().fabric.lids);
    let hosts: Vec<_> = sm.lids().destinations().iter().cloned().collect();
    let hosts: Vec<_> = hosts.into_iter().filter(|end| !end.is_switch()).collect();
    let gid = |index: usize| Gid::new(GidPrefix::DEFAULT, hosts[index % hosts.len()].guid);
    let lid = |index: usize| hosts[index % hosts.len()].range.base();
    let now = sim.now();
    let mut measure =
        |what: &str, request: &dyn Fn(usize) -> SaMad| -> Result<(), Box<dyn Error>> {
            let begun = Instant::now();
            let mut answered = 0_usize;
            while answered < 100_000 && begun.elapsed().as_secs() < 2 {
                let index = answered.wrapping_mul(7919);
                let mut mad = Mad::new(MadAddress::gsi(lid(index), Sl::ZERO));
                mad.bytes = *request(index).as_bytes();
                sm.handle_input(now, Input::Mad(&mad));
                let answer = sm.poll_transmit(now).or_else(|| {
                    // Of many in a row it looks for more input first.
                    sm.handle_timeout(now);
                    sm.poll_transmit(now)
                });
                let answer = answer.ok_or("the administrator does not answer")?;
                let (answer, _) = SaMad::parse(&answer.bytes, 0)?;
                assert!(answer.status().is_ok(), "{what}: {}", answer.status());
                answered += 1;
                // As a loop that drives an engine does.
                let _ = sm.poll_timeout();
            }
            let rate = answered as f64 / begun.elapsed().as_secs_f64();
            println!("{what:<32} {rate:>10.0}/s");
            Ok(())
        };
    measure("PathRecord by GIDs", &|index| {
        let mut template = PathRecord::default();
        template.set_sgid(gid(index)).set_dgid(gid(index + 1));
        get(&template, PathComponents::SGID | PathComponents::DGID)
    })?;
    measure("NodeRecord by LID", &|index| {
        let mut template = NodeRecord::default();
        template.set_lid(lid(index));
        get(&template, NodeComponents::LID)
    })?;
    measure("NodeRecord by port GUID", &|index| {
        let mut template = NodeRecord::default();
        let mut info = template.node_info().to_owned();
        info.set_port_guid(gid(index).guid());
        template.set_node_info(&info);
        get(&template, NodeComponents::PORT_GUID)
    })?;
    measure("PortInfoRecord by LID", &|index| {
        let mut template = PortInfoRecord::default();
        template.set_endport_lid(lid(index));
        get(&template, PortInfoComponents::ENDPORT_LID)
    })?;
    measure("MCMemberRecord by MGID", &|_| {
        let mut template = McMemberRecord::default();
        template.set_mgid(Gid(
            0xff12_401b_ffff_0000_0000_0000_ffff_ffff_u128.to_be_bytes()
        ));
        get(&template, McMemberComponents::MGID)
    })?;
    Ok(())
}

/// A question for one record.
fn get<R: Record>(template: &R, mask: impl Into<ComponentMask>) -> SaMad {
    SaMad::query(Method::GET, template, mask.into())
}
