//! The work of each call is bounded: in a large subnet the manager hands out what looks at every port, and answers
//! queries and other managers meanwhile. The work is counted, not timed.

use std::time::Duration;

use ib_mad::{Attribute as _, Engine, Input, Mad, MadAddress, MadStatus, Method, TransactionId};
use ib_routing::{Fabric, PortRef, SharedLft, VerifyReport, generate::FabricSpec, verify};
use ib_sa::{PathComponents, PathRecord, SaMad};
use ib_sim::{SharedSim, Sim, SimOptions, SimTransport};
use ib_sm::{Event, Phase, SmConfig, SubnetManager, SweepKind};
use ib_smp::{SmInfo, SmpLidRouted};
use ib_testkit::lab::Lab;
use ib_transport::{Clock, MadTransport, Received, receive};
use ib_wire::{Lid, Sl};

/// Number of looks at each node of the subnet that a call may take. Switches of this fabric have 12 ports, and a stage
/// that looked at all ports within a call would look at each node more often.
const LOOKS_PER_NODE: usize = 10;

struct Bench<C> {
    sm: SubnetManager,
    transport: SimTransport,
    clock: C,
    /// The largest number of looks at nodes within one call so far.
    most: usize,
}

impl<C: Clock> Bench<C> {
    fn call<T>(&mut self, call: impl FnOnce(&mut SubnetManager) -> T) -> T {
        let before = self.sm.subnet().looks();
        let result = call(&mut self.sm);
        let looks = self.sm.subnet().looks().saturating_sub(before);
        self.most = self.most.max(looks);
        result
    }

    /// Drives the manager until the subnet is up. `while_working` is called before each work is run, with the manager
    /// waiting for it.
    fn until_up(&mut self, mut while_working: impl FnMut(&mut Self)) {
        loop {
            while let Some(work) = self.sm.poll_work() {
                while_working(self);
                let done = work.run();
                let now = self.clock.now();
                self.call(|sm| sm.handle_done(now, done));
            }
            let now = self.clock.now();
            while let Some(mad) = self.call(|sm| sm.poll_transmit(now)) {
                self.transport.send(now, &mad).unwrap();
            }
            while let Some(event) = self.sm.poll_event() {
                if matches!(event, Event::SubnetUp(_)) {
                    return;
                }
            }
            let deadline = self.sm.poll_timeout();
            let (now, received) = receive(&mut self.transport, &self.clock, deadline).unwrap();
            self.call(|sm| match &received {
                Some(Received::Mad(mad)) => sm.handle_input(now, Input::Mad(mad)),
                Some(Received::Returned(mad)) => sm.handle_input(now, Input::Returned(mad)),
                None => sm.handle_timeout(now),
            });
        }
    }

    /// The LIDs of two hosts.
    fn hosts(&self) -> (Lid, Lid) {
        let ends = self.sm.lids().destinations().iter();
        let mut hosts = ends.filter(|end| !end.is_switch());
        let (from, to) = (hosts.next().unwrap(), hosts.next_back().unwrap());
        (from.range.base(), to.range.base())
    }

    /// Asks for a path between two hosts.
    fn path(&mut self) -> MadStatus {
        let (from, to) = self.hosts();
        let mut template = PathRecord::default();
        template.set_slid(from).set_dlid(to).set_numb_path(1);
        let mask = PathComponents::SLID | PathComponents::DLID | PathComponents::NUMB_PATH;
        let query = SaMad::query(Method::GET, &template, mask);
        let mut mad = Mad::new(MadAddress::gsi(from, Sl::ZERO));
        mad.bytes = *query.as_bytes();
        self.ask(&mad)
    }

    /// Polls the manager as a standby one does.
    fn sm_info(&mut self) -> MadStatus {
        let (from, _) = self.hosts();
        let mut poll = SmpLidRouted::new(Method::GET, SmInfo::ID, 0);
        poll.set_transaction_id(TransactionId(77));
        self.ask(&poll.to(MadAddress::smi(from)))
    }

    /// The status of the answer to a request. No time passes, no datagram arrives and no work ends before it is sent.
    fn ask(&mut self, request: &Mad) -> MadStatus {
        let now = self.clock.now();
        self.call(|sm| sm.handle_input(now, Input::Mad(request)));
        while let Some(sent) = self.call(|sm| sm.poll_transmit(now)) {
            let (asked, header) = (request.header(), sent.header());
            if header.method() == Method::GET_RESP
                && header.attribute_id() == asked.attribute_id()
                && header.transaction_id() == asked.transaction_id()
                && sent.address.lid == request.address.lid
            {
                return header.status();
            }
            self.transport.send(now, &sent).unwrap();
        }
        panic!("no answer to {:?}", request.header());
    }
}

/// A cable between switches.
fn cable(fabric: &Fabric) -> PortRef {
    let (switch, _) = fabric.switches().iter_enumerated().next().unwrap();
    let (_, channel) = fabric.channels_from(switch).next().unwrap();
    PortRef {
        node: fabric.switches()[switch],
        port: channel.port,
    }
}

/// A simulated fabric with a manager that hands out its work and has brought the subnet up.
fn up(fabric: &Fabric) -> (SharedSim, Bench<SharedSim>) {
    let sim = Sim::new(fabric, SimOptions::default()).share();
    let bench = up_on(&sim, fabric);
    (sim, bench)
}

/// A manager that hands out its work and has brought the subnet up, on a fabric that others may have configured.
fn up_on(sim: &SharedSim, fabric: &Fabric) -> Bench<SharedSim> {
    let config = SmConfig {
        sweep_interval: None,
        ..SmConfig::default()
    };
    let mut sm = SubnetManager::new(config, sim.now()).with_detours_from(0);
    sm.hand_out_work();
    let mut bench = Bench {
        sm,
        transport: sim.attach(fabric.first_host().unwrap()).unwrap(),
        clock: sim.clone(),
        most: 0,
    };
    bench.until_up(|_| {});
    bench
}

#[test]
fn a_repair_is_verified_by_the_lids_that_it_touched() {
    let spec: FabricSpec = "fat-tree:radix=12,levels=3".parse().unwrap();
    let fabric = spec.build().unwrap();
    let (sim, mut bench) = up(&fabric);
    let is_switch = |end: PortRef| fabric.switch_of(end.node).is_some();
    let mut between = fabric
        .links()
        .filter(|&(a, b)| is_switch(a) && is_switch(b));
    let all = bench.sm.installed().unwrap().examined();
    assert_eq!(all, bench.sm.lids().num_lids());
    for _ in 0..2 {
        let (cable, _) = between.next().unwrap();
        sim.with(|sim| sim.unlink(cable).unwrap());
        bench.until_up(|_| {});
        let installed = bench.sm.installed().unwrap();
        let examined = installed.examined();
        assert!(examined < all / 2, "{examined} of {all} LIDs");
        let report = verify(installed.fabric(), installed.lids(), installed.routes());
        let facts =
            |report: &VerifyReport| (report.is_clean(), report.dependencies, report.max_hops);
        assert_eq!(facts(installed.report()), facts(&report));
        assert_eq!(installed.report().link_load, report.link_load);
    }
}

#[test]
fn a_call_looks_at_each_node_a_few_times_at_most_and_queries_are_answered_while_work_runs() {
    let spec: FabricSpec = "fat-tree:radix=12,levels=3".parse().unwrap();
    let fabric = spec.build().unwrap();
    let (sim, mut bench) = up(&fabric);
    // Before the first sweep has ended nothing is answered, so only later calls are bounded.
    bench.most = 0;
    let (mut works, mut answered, mut polled) = (0, 0, 0);
    let cable = cable(&fabric);
    for pulled in [true, false] {
        sim.with(|sim| match pulled {
            true => sim.unlink(cable).unwrap(),
            false => assert!(sim.relink(cable).unwrap()),
        });
        bench.until_up(|bench| {
            works += 1;
            answered += usize::from(bench.path().is_ok());
            polled += usize::from(bench.sm_info().is_ok());
        });
    }
    // LIDs, detours, routes, healing, and the stages of both sweeps.
    assert!(works > 20, "{works} works");
    assert_eq!(answered, works, "queries while work runs");
    assert_eq!(polled, works, "polls of other managers while work runs");
    let limit = LOOKS_PER_NODE * fabric.nodes().len();
    assert!(bench.most <= limit, "{} looks, {limit} may be", bench.most);
}

#[test]
fn tables_that_switches_held_are_shared_with_the_routes_a_few_at_each_call() {
    let spec: FabricSpec = "fat-tree:radix=12,levels=3".parse().unwrap();
    let fabric = spec.build().unwrap();
    let num_shared = |sm: &SubnetManager| {
        let installed = sm.installed().unwrap();
        let is_shared = |row: &SharedLft| {
            sm.subnet()
                .switches()
                .any(|(_, switch)| switch.lft().is_shared_with(row))
        };
        let switches = installed.fabric().switches().iter_enumerated();
        let rows = switches.filter_map(|(switch, _)| installed.routes().shared_lft(switch));
        rows.filter(|row| is_shared(row)).count()
    };
    let (all, mut before, mut calls) = (fabric.switches().len(), 0, 0);
    // Tables that the manager has written are never in memory twice.
    let (sim, bench) = up(&fabric);
    assert_eq!(num_shared(&bench.sm), all);
    drop(bench);
    // Its successor reads them.
    let mut bench = up_on(&sim, &fabric);
    assert_eq!(num_shared(&bench.sm), 0);
    while before < all {
        let now = sim.now();
        assert!(bench.sm.poll_timeout().is_some_and(|due| due <= now));
        bench.sm.handle_timeout(now);
        let shared = num_shared(&bench.sm);
        assert!(
            (before + 1..=before + 64).contains(&shared),
            "{shared} after {before}"
        );
        (before, calls) = (shared, calls + 1);
    }
    assert_eq!(calls, all.div_ceil(64));
    assert!(bench.sm.poll_timeout().is_none_or(|due| due > sim.now()));
}

/// A failure that is seen while a decision is made ends the wait for it, unless the changes of a stage are listed: the
/// sweep would not come to an end while failures follow each other.
#[test]
fn a_failure_ends_the_wait_for_a_decision_but_not_for_the_changes_of_a_stage() {
    let spec: FabricSpec = "fat-tree:radix=12,levels=3".parse().unwrap();
    let fabric = spec.build().unwrap();
    for (phase, ends) in [(Phase::Lids, true), (Phase::Program, false)] {
        let mut running = Lab::of(fabric.clone()).start();
        running.sm.hand_out_work();
        running.run_for_with_work(Duration::from_secs(1));
        assert!(running.sm.is_up());
        running.events.clear();
        running.sm.resweep(running.sim.now());
        // The first decision of the phase: the LIDs, or the first changes.
        let work = loop {
            running.run_for_at_most(Duration::from_secs(1), 1);
            match running.sm.poll_work() {
                Some(work) if running.sm.status().phase == Some(phase) => break work,
                Some(work) => running.sm.handle_done(running.sim.now(), work.run()),
                None => {}
            }
        };
        running.sim.with(|sim| sim.unlink(cable(&fabric)).unwrap());
        running.run_for(Duration::from_millis(20));
        let partial = |event: &Event| {
            let kind = SweepKind::Partial;
            matches!(event, Event::SweepStarted { kind: begun, .. } if *begun == kind)
        };
        assert_eq!(running.events.iter().any(partial), ends, "{phase:?}");
        running.sm.handle_done(running.sim.now(), work.run());
        running.run_for_with_work(Duration::from_secs(1));
        assert!(running.sm.is_up());
        assert!(running.events.iter().any(partial), "{phase:?}");
    }
}
