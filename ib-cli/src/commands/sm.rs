//! `ib sm`: the subnet manager on a real port, or on a port of a simulator.

mod cluster;
mod planned;

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    ops::ControlFlow,
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ib_mad::{Instant, Method, MgmtClass};
use ib_sm::{Conduct, Event, REPLICATION_CLASS, REPLICATION_CLASS_VERSION, SubnetManager};
use ib_transport::{Clock as _, MonotonicClock, RecordedMad, Tap, drive};
use ib_wire::{Guid, Lid};

use crate::{
    commands::query,
    control::{KeptFiles, KeptKind, KeptText, ManagedSm, SaDb, WakeablePort, metrics},
    device::DeviceArgs,
    error::{CliError, Verdict},
    log::{Log, LogArgs},
    observer::ProgressObserver,
    output::stderr,
    recording::PcapFile,
    sm_args::SmArgs,
};

/// Run the subnet manager on a port of this host, or of a simulator.
///
/// Sweeps the subnet, assigns LIDs, routes and answers queries until it is stopped, as master or as standby beside
/// other managers. With --once it ends after the first sweep with a report; status 1 means that the subnet is not up.
/// SIGHUP reads the configuration again and sweeps; SIGUSR1 writes the dump files and opens the log file again.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SmCommand {
    /// Sweep once, report, and exit
    #[arg(long)]
    once: bool,
    /// Keep the LID of each port in this file, in the format of OpenSM's guid2lid, so that ports keep their LIDs over a
    /// restart. It is created if it does not exist
    #[arg(long, value_name = "FILE")]
    guid2lid: Option<PathBuf>,
    /// Manage the logical cluster of this file that the port is in, and nothing beyond its boundary. The file also
    /// names the other clusters with their LIDs
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,
    /// LIDs of the devices of all clusters by port GUID, in the format of OpenSM's guid2lid. Ports are assigned these
    /// LIDs, and managers answer path queries to other clusters with them
    #[arg(long, value_name = "FILE", requires = "cluster")]
    predefined_lids: Option<PathBuf>,
    /// Keep the M_Keys of ports in this file, in the format of OpenSM's guid2mkey, so that ports with another key than
    /// the manager's are reached after a restart (m_key_lookup). Only its owner can read it. It is created if it does
    /// not exist
    #[arg(long, value_name = "FILE")]
    guid2mkey: Option<PathBuf>,
    /// Keep the two ends of each cable in this file, in the format of OpenSM's neighbors: the manager finds there which
    /// key of --guid2mkey belongs to the device at the other end of a cable. It is created if it does not exist
    #[arg(long, value_name = "FILE")]
    neighbors: Option<PathBuf>,
    /// Keep the registrations of hosts in this file, in the format of OpenSM's opensm-sa.dump: memberships, services
    /// and subscriptions survive a restart. It is created if it does not exist [default: the sa_db_file of --config]
    #[arg(long, value_name = "FILE")]
    sa_db: Option<PathBuf>,
    /// Answer the commands of `ib ctl` on this Unix socket. Only its owner can use it
    #[arg(long, value_name = "SOCKET", conflicts_with = "once")]
    control: Option<PathBuf>,
    /// Serve /metrics for Prometheus and /status as JSON over HTTP. A port alone means that port of 127.0.0.1
    #[arg(long, value_name = "ADDR:PORT", value_parser = metrics::address, conflicts_with = "once")]
    metrics: Option<SocketAddr>,
    /// Serve a map of the subnet on the address of --metrics, at /. It shows the state of the manager and follows
    /// changes of routes
    #[arg(long, requires = "metrics")]
    status_page: bool,
    /// Only watch: send no Set of any kind and take no part in the election. It may run beside any manager
    #[arg(long, conflicts_with_all = ["once", "dry_run"])]
    observe: bool,
    /// Send the clients of the subnet administrator to the administrator at this LID (ClassPortInfo redirection). Only
    /// requests from that LID are answered here
    #[arg(long, value_name = "LID", value_parser = query::lid, conflicts_with = "once")]
    sa_redirect: Option<Lid>,
    /// Print every change that the manager would make, one a line, and exit without making it
    #[arg(long, conflicts_with = "once")]
    dry_run: bool,
    /// Replace the routes of an earlier manager at once, even if they work. Without it, routes that work are kept, and
    /// each change is logged before it is made
    #[arg(long)]
    takeover: bool,
    /// Print the configuration in effect as a commented option file, which OpenSM reads too, and exit
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    sm: SmArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib sm --device mlx5_0 --port 1             on an adapter, until it is stopped
  ib sm --once --json                        one sweep on the first usable port, and a report
  ib sm --control /run/ib-sm/control         ib ctl status shows what it does
  ib sm --metrics 9090 --status-page         a live map at http://127.0.0.1:9090/
  ib sm --dry-run                            what would be changed
  ib sm --cluster compute.conf               one logical cluster, beside the managers of the others
  ib sm --device sim:NAME                    on what `ib sim --socket NAME` or ibsim serves";

pub fn run(args: SmCommand, json: bool) -> Result<Verdict, CliError> {
    const SMP: &[Method] = &[Method::GET, Method::SET, Method::TRAP, Method::TRAP_REPRESS];
    const SA: &[Method] = &[
        Method::GET,
        Method::SET,
        Method::GET_TABLE,
        Method::GET_TRACE_TABLE,
        Method::GET_MULTI,
        Method::DELETE,
    ];
    const REPLICATION: &[Method] = &[Method::GET, Method::SET];
    // The recording needs the date at which the clock began.
    let (clock, epoch) = (MonotonicClock::start(), SystemTime::now());
    let mut config = args.sm.config()?;
    config.takeover = args.takeover;
    config.sa_redirect = args.sa_redirect;
    if args.print_config {
        io::stdout().lock().write_all(config.to_text().as_bytes())?;
        return Ok(Verdict::Holds);
    }
    let log = Log::open(&args.log, &config.host)?;
    let kept = [
        (KeptKind::Guid2lid, args.guid2lid),
        (KeptKind::Guid2mkey, args.guid2mkey),
        (KeptKind::Neighbors, args.neighbors),
    ];
    let kept = kept
        .into_iter()
        .filter_map(|(kind, file)| Some(KeptText::open(kind, file?, &mut config)));
    let texts = kept.collect::<Result<_, _>>()?;
    let files = KeptFiles {
        texts,
        sa_db: SaDb::open(args.sa_db, &mut config)?,
        dump_dir: args.sm.dump_dir.clone(),
    };
    let classes = [
        (MgmtClass::SUBN_LID, 1, SMP),
        (MgmtClass::SUBN_DIRECTED, 1, SMP),
        (MgmtClass::SUBN_ADM, 2, SA),
        // The companion engines send requests of these classes; the port takes no requests from others.
        (MgmtClass::PERF, 1, &[]),
        (MgmtClass::CONGESTION_CONTROL, 2, &[]),
        (REPLICATION_CLASS, REPLICATION_CLASS_VERSION, REPLICATION),
    ];
    let timeout = config.transaction_timeout;
    let mut device = args.device;
    let configured = device.device.is_none() && config.host.guid != Guid::NONE;
    if configured {
        device.device = Some(config.host.guid.to_string());
    }
    let only_reads = args.observe || args.dry_run;
    let mut port = device.open(&classes, !only_reads, timeout)?;
    if let Some(file) = args.cluster {
        config.cluster = cluster::role(file, args.predefined_lids, &config, &mut port, &clock)?;
    }
    config.rmpp.peers_acknowledge = port.peers_acknowledge();
    let reason = match configured {
        true => "chosen by `guid` of --config",
        false => device.reason(),
    };
    let described = port.describe();
    let chosen = format!("subnet manager on {described}: {reason}");
    log.decision(&chosen);
    if !args.once {
        stderr::info(&chosen);
    }
    let wakeable = |error: io::Error| CliError::at("the port", error);
    let (mut port, waker) = WakeablePort::new(port).map_err(wakeable)?;
    // `ib sm` goes on if its port fails; a single sweep or reading ends with an error.
    let is_service = !args.once && !args.dry_run;
    let port_is_back = is_service.then(|| {
        let reopen = move || device.open(&classes, !only_reads, timeout);
        port.reopen_by(Box::new(reopen))
    });
    let epoch = epoch.duration_since(UNIX_EPOCH);
    let mut recording = PcapFile::create(args.sm.pcap.as_deref(), epoch.unwrap_or(Duration::ZERO))?;
    let mut transport = Tap::new(port, |record: &RecordedMad| recording.write(record));
    let conduct = match only_reads {
        true => Conduct::Observe,
        false => Conduct::Manage,
    };
    let sm = SubnetManager::new(config, clock.now()).with_conduct(conduct);
    let mut planned = Vec::new();
    let (mut managed, commands) = ManagedSm::new(
        sm,
        args.sm,
        log.clone(),
        files,
        args.control,
        waker,
        clock.now(),
    )?;
    if let Some(port_is_back) = port_is_back {
        managed.resweep_when(port_is_back);
    }
    if let Some(address) = args.metrics {
        let page = args.status_page.then_some(described);
        let path = if args.status_page { "" } else { "metrics" };
        let bound = metrics::serve(address, commands, page)?;
        stderr::info(format_args!("metrics at http://{bound}/{path}"));
    }
    let once = args.once;
    let observer = match once || args.dry_run {
        true => ProgressObserver::impatient(),
        false => ProgressObserver::new(),
    };
    let mut observer = observer.quiet(log.is_on_stderr());
    let ended = drive(&mut managed, &mut transport, &clock, |host, event| {
        let flow = observer.event(&event);
        log.event(&event);
        if matches!(event, Event::SubnetUp(_)) {
            host.subnet_is_up(clock.now());
        }
        if let Event::ChangePlanned(change) = event {
            if args.dry_run {
                planned.push(*change);
            }
            return ControlFlow::Continue(());
        }
        if once || args.dry_run {
            return flow;
        }
        match &event {
            Event::SubnetUp(_) | Event::SmStateChanged { .. } | Event::StandingBy { .. }
                if !log.is_on_stderr() =>
            {
                stderr::info(&event);
            }
            Event::SweepFailed(_) => observer.say_failure(&event),
            Event::DuplicateGuid { .. } if host.sm.config().host.exit_on_fatal => {
                stderr::error("two nodes have one GUID, and exit_on_fatal is TRUE");
                return ControlFlow::Break(());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    ended.map_err(CliError::input)?;
    recording.finish()?;
    if args.dry_run {
        planned::print(&planned, json)?;
        return Ok(Verdict::of(managed.sm.is_up()));
    }
    managed.keep(clock.now());
    let sm = &managed.sm;
    let elapsed = clock.now().since(Instant::ZERO);
    let report = observer.report(sm, elapsed);
    let mut out = io::stdout().lock();
    if json {
        report.print_json(&mut out)?;
    } else {
        report.print_text(&mut out)?;
        let ms = elapsed.as_secs_f64() * 1e3;
        let (good, bad) = (
            format!("subnet up in {ms:.3} ms"),
            format!("subnet NOT up in {ms:.3} ms"),
        );
        report.print_verdict(&mut out, &good, &bad)?;
    }
    Ok(report.verdict())
}
