//! `ib up --clusters`: runs a manager for each logical cluster, all on one simulated fabric, and verifies the union of
//! the tables that they installed.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    ops::ControlFlow,
    time::{Duration, Instant},
};

use ib_routing::{
    Fabric, PortRef, Routes, SlTable,
    cluster::{ClusterView, Clusters},
    format::{dot, mcfdbs::MulticastTables, svg},
    verify,
};
use ib_sim::{SharedSim, Sim, SimOptions, drive_all};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_transport::{Clock as _, MadTransport, RecordedMad, Tap, TransportError};
use ib_wire::{Lid, PortNum, Sl};
use serde::Serialize;

use super::{
    UpArgs,
    changes::{self, ChangeReport, ClusterSmps, Counted},
};
use crate::{
    cluster_files::{ClusterFiles, predefined_lids},
    commands::check::add_ports_without_lid,
    error::{CliError, Verdict},
    files,
    output::{
        json,
        report::{Report, Seconds, seconds},
        stderr,
        table::Table,
        warning,
    },
    recording::PcapFile,
};

/// Number of failed sweeps after which a manager is given up.
const MAX_ATTEMPTS: u32 = 5;

/// The report on one cluster.
#[derive(Debug, Serialize)]
struct ClusterReport {
    name: String,
    /// The routing engine of the cluster; `None` if there are no routes.
    engine: Option<&'static str>,
    switches: usize,
    cas: usize,
    /// Number of subnet management packets that the cluster's manager sent, retries included.
    smps: u64,
    /// Number of subnet management packets from any sender that left through the cluster's boundary ports.
    beyond_boundary: u64,
    /// The first and the last LID of the cluster's range.
    lids: [u16; 2],
}

/// The report on the union, with a report on each cluster.
#[derive(Serialize)]
struct WholeReport<'a> {
    #[serde(flatten)]
    report: &'a Report,
    clusters: &'a [ClusterReport],
}

/// The fabric with the managers that share it.
struct Managed<T> {
    sim: SharedSim,
    clusters: Clusters,
    /// The port of each cluster's manager.
    manager_ports: Vec<PortRef>,
    managers: Vec<(SubnetManager, T)>,
}

pub fn run(
    args: &UpArgs,
    fabric: &Fabric,
    config: &SmConfig,
    as_json: bool,
) -> Result<Verdict, CliError> {
    let began = Instant::now();
    let files = ClusterFiles::read(&args.clusters)?.without_declarations()?;
    let clusters = files.validate(fabric)?;
    let predefined = predefined_lids(args.predefined_lids.as_deref())?;
    let places = changes::places(fabric, &args.then)?;

    let mut options = SimOptions::default();
    args.simulation.apply(&mut options);
    let sim = Sim::new(fabric, options).share();
    sim.with(Sim::watch_smps);
    let mut recording = PcapFile::create(args.sm.pcap.as_deref(), Duration::ZERO)?;
    let shared = RefCell::new(&mut recording);
    let mut managed = Managed {
        manager_ports: Vec::new(),
        managers: Vec::new(),
        clusters,
        sim,
    };
    for index in 0..files.configs().len() {
        let at = managed.manager_port(fabric, index)?;
        let failed = |error| CliError::at("the simulator", error);
        let transport = managed.sim.attach(at).map_err(failed)?;
        managed
            .sim
            .with(|sim| sim.set_is_sm(at, true))
            .map_err(failed)?;
        let tap = Tap::new(transport, |record: &RecordedMad| {
            shared.borrow_mut().write(record);
        });
        let config = SmConfig {
            cluster: files.role(index, &predefined),
            ..config.clone()
        };
        managed.manager_ports.push(at);
        let sm = SubnetManager::new(config, managed.sim.now());
        managed.managers.push((sm, tap));
    }
    let mut errors = managed.bring_up()?;
    let mut reports = Vec::new();
    for (change, at) in args.then.iter().zip(places) {
        reports.push(managed.change(change, at)?);
    }

    let started = Instant::now();
    let fabric = changes::remaining(fabric, &managed.sim);
    let (lids, mut routes) = managed.sim.with(|sim| sim.installed(&fabric));
    managed.set_service_levels(&fabric, &mut routes);
    let verified = verify(&fabric, &lids, &routes);
    let times = Seconds {
        verify: seconds(started.elapsed()),
        total: seconds(began.elapsed()),
        ..Seconds::default()
    };
    let all = managed.managers.iter().map(|(sm, _)| sm);
    let mut report = Report::of_managers(&fabric, &lids, all, times, &verified);
    add_ports_without_lid(&mut report, &fabric, &lids);
    if !args.then.is_empty() {
        report.changes = Some(reports);
        errors = managed.not_up();
    }
    errors.into_iter().for_each(|error| report.fail(error));
    let clusters = managed.reports();
    for cluster in clusters
        .iter()
        .filter(|cluster| cluster.beyond_boundary > 0)
    {
        let (name, number) = (&cluster.name, cluster.beyond_boundary);
        report.fail(format!(
            "cluster {name}: {number} subnet management packets crossed its boundary"
        ));
    }
    if let Some(directory) = &args.sm.dump_dir {
        files::dump(directory, &fabric, &lids, &routes, &managed.groups())?;
    }
    if let Some(file) = &args.svg {
        let load = verified.link_load.by_channel.as_slice();
        files::write(file, &svg::write(&fabric, load))?;
    }
    if let Some(file) = &args.dot {
        files::write(file, &dot::write(&fabric))?;
    }
    let virtual_time = managed.sim.now().since(ib_mad::Instant::ZERO);
    // Each transport holds the recording until it is dropped.
    drop(managed);
    recording.finish()?;
    let mut out = io::stdout().lock();
    if as_json {
        let whole = WholeReport {
            report: &report,
            clusters: &clusters,
        };
        json::print(&mut out, &whole)?;
    } else {
        print(&clusters, &mut out)?;
        report.print_text(&mut out)?;
        let times = format!(
            "in {:.3} ms of virtual time, {:.3} ms on the clock",
            virtual_time.as_secs_f64() * 1e3,
            began.elapsed().as_secs_f64() * 1e3
        );
        let good = format!("{} clusters up {times}", clusters.len());
        let bad = format!("clusters NOT all up {times}");
        report.print_verdict(&mut out, &good, &bad)?;
    }
    Ok(report.verdict())
}

impl<T: MadTransport<Error = TransportError>> Managed<T> {
    /// The port of a cluster's manager: the first CA port with a link, or port 0 of the first switch if there is none.
    fn manager_port(&self, fabric: &Fabric, index: usize) -> Result<PortRef, CliError> {
        let own = self.clusters.views().get(index).map(ClusterView::own);
        let found = own.and_then(|own| {
            let first = own.switches().iter().next();
            let port = PortNum::MANAGEMENT;
            let switch = first.map(|&node| PortRef { node, port });
            let at = own.first_host().or(switch)?;
            let node = fabric.node_by_guid(own.node(at.node).guid)?;
            Some(PortRef { node, ..at })
        });
        found.ok_or_else(|| CliError::input("a cluster has no port for a manager"))
    }

    /// Runs all managers until each is up or given up. Returns a sentence for each that is not up, with the reason.
    fn bring_up(&mut self) -> Result<Vec<String>, CliError> {
        let count = self.managers.len();
        let mut attempts = vec![0_u32; count];
        let mut ended: BTreeSet<usize> = BTreeSet::new();
        let mut warnings: BTreeSet<String> = BTreeSet::new();
        let views = self.clusters.views();
        let name = |place: usize| views.get(place).map_or("", |view| &view.config().name);
        let driven = drive_all(&self.sim, &mut self.managers, None, |place, _, event| {
            if let Some(text) = warning::of(&event) {
                let text = format!("cluster {}: {text}", name(place));
                if warnings.insert(text.clone()) {
                    stderr::warn(text);
                }
            }
            let failed = attempts.get_mut(place);
            match event {
                Event::SubnetUp(_) => _ = ended.insert(place),
                Event::SweepFailed(_) => {
                    if let Some(failed) = failed {
                        *failed += 1;
                        if *failed >= MAX_ATTEMPTS {
                            ended.insert(place);
                        }
                    }
                }
                _ => {}
            }
            match ended.len() == count {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        driven.map_err(|error| CliError::at("the simulator", error))?;
        Ok(self.not_up())
    }

    /// A sentence for each cluster that is not up.
    fn not_up(&self) -> Vec<String> {
        let both = self.managers.iter().zip(self.clusters.views());
        let down = both.filter(|((sm, _), _)| !sm.is_up());
        down.map(|(_, view)| format!("cluster {} is not up", view.config().name))
            .collect()
    }

    /// Makes a change, and runs the managers that notice it until their clusters are up again.
    fn change(
        &mut self,
        change: &changes::FabricChange,
        at: PortRef,
    ) -> Result<ChangeReport, CliError> {
        let started = self.sim.now();
        let began = Instant::now();
        change.make(&self.sim, at)?;
        let managers = self.managers.iter_mut();
        let mut counted: Vec<(Counted<'_>, &mut T)> = managers
            .map(|(sm, transport)| (Counted::new(sm, started), transport))
            .collect();
        let (mut busy, mut over) = (BTreeSet::new(), BTreeSet::new());
        let (mut noticed, all) = (false, counted.len());
        let driven = drive_all(&self.sim, &mut counted, None, |place, _, event| {
            match event {
                Some(event) => {
                    if let Some(text) = warning::of(&event) {
                        stderr::warn(text);
                    }
                    if changes::begins_sweep(&event) {
                        noticed = true;
                        busy.insert(place);
                        over.remove(&place);
                    }
                }
                None => {
                    busy.remove(&place);
                    over.insert(place);
                }
            }
            // A cluster that the change does not concern has no work, so its manager is not waited for.
            let is_over = match noticed {
                true => busy.is_empty() && !over.is_empty(),
                false => over.len() == all,
            };
            match is_over {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        driven.map_err(|error| CliError::at("the simulator", error))?;
        let mut report = ChangeReport::default();
        for ((counted, _), view) in counted.into_iter().zip(self.clusters.views()) {
            let part = counted.into_report(change, started);
            report.clusters.push(ClusterSmps {
                name: view.config().name.clone(),
                smps: part.smps,
            });
            report.add(part);
        }
        report.seconds = began.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Gives packets the service levels that the manager of the source's cluster reports to senders.
    fn set_service_levels(&self, fabric: &Fabric, routes: &mut Routes) {
        let row_len = routes.row_len();
        let mut sls = vec![Sl::ZERO; row_len.saturating_mul(fabric.num_switches())];
        let mut vls = 1;
        for (sm, _) in &self.managers {
            let Some(own) = sm.routes() else { continue };
            vls = own.vls().max(vls);
            for here in sm.fabric().switches().indices() {
                let switch = fabric.switch_by_guid(sm.fabric().switch_guid(here));
                let row = switch.and_then(|switch| sls.chunks_mut(row_len).nth(switch.0 as usize));
                for (sl, lid) in row.into_iter().flatten().zip(0..) {
                    *sl = own.sl_from(here, Lid(lid));
                }
            }
        }
        let sls = match sls.first() {
            Some(&first) if sls.iter().all(|&sl| sl == first) => SlTable::Uniform(first),
            _ => SlTable::BySwitch(sls),
        };
        let lanes = routes.vl_map().clone();
        routes.set_lanes(sls, lanes, vls);
    }

    fn reports(&self) -> Vec<ClusterReport> {
        let views = self.clusters.views().iter();
        let managers = self.managers.iter().zip(&self.manager_ports);
        let both = views.zip(managers).map(|(view, ((sm, _), &manager_port))| {
            let (config, counts) = (view.config(), sm.summary().fabric);
            let boundary: BTreeSet<_> = config
                .boundary
                .iter()
                .map(|place| (place.switch, place.port))
                .collect();
            let beyond = |sim: &mut Sim| {
                let ports = boundary.iter().filter_map(|&(switch, port)| {
                    let node = sim.find_guid(switch)?;
                    Some(sim.smps_through(PortRef { node, port }))
                });
                (sim.smps_sent(manager_port), ports.sum())
            };
            let (smps, beyond_boundary) = self.sim.with(beyond);
            ClusterReport {
                name: config.name.clone(),
                engine: sm.engine(),
                switches: counts.switches,
                cas: counts.cas,
                smps,
                beyond_boundary,
                lids: [config.first.0, config.last.0],
            }
        });
        both.collect()
    }

    /// The multicast trees of all clusters.
    fn groups(&self) -> MulticastTables {
        let mut all: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (sm, _) in &self.managers {
            for (&mlid, ports) in sm.multicast() {
                let tree = all.entry(mlid).or_default();
                tree.extend(ports.iter().map(|(&guid, &ports)| (guid, ports)));
            }
        }
        all
    }
}

/// Prints a line for each cluster.
fn print(clusters: &[ClusterReport], out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new([
        "cluster",
        "engine",
        "switches",
        "CAs",
        "LIDs from",
        "to",
        "SMPs",
        "beyond boundary",
    ]);
    for cluster in clusters {
        let [first, last] = cluster.lids;
        table.row([
            cluster.name.clone(),
            cluster.engine.unwrap_or("none").to_owned(),
            cluster.switches.to_string(),
            cluster.cas.to_string(),
            first.to_string(),
            last.to_string(),
            cluster.smps.to_string(),
            cluster.beyond_boundary.to_string(),
        ]);
    }
    table.print(out)?;
    writeln!(out)
}
