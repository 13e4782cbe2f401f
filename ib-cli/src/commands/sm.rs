//! `ib sm`: the subnet manager on a real port, or on a port of a simulator.

use std::{
    io::{self, Write as _},
    ops::ControlFlow,
    path::PathBuf,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ib_mad::{Method, MgmtClass};
use ib_routing::format::guid2lid;
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_transport::{Clock as _, MonotonicClock, Record, Tap, TappedClock, drive};

use crate::{
    control::{ManagedSm, SaDb},
    device::DeviceArgs,
    error::{CliError, Verdict},
    files,
    observer::ProgressObserver,
    output::stderr,
    recording::Recording,
    sm_args::SmArgs,
};

/// Run the subnet manager on a port of this host, or of a simulator.
///
/// Sweeps, assigns LIDs, routes and answers for good, as master or standby beside other managers; with
/// --once it reports after the first sweep, and status 1 says that the subnet is not up. SIGHUP reads the
/// configuration again and sweeps; SIGUSR1 writes the dump files.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SmCommand {
    /// Sweep once, report, and exit
    #[arg(long)]
    once: bool,
    /// Keep who owns which LID in this file, in the format of OpenSM's guid2lid: ports have their LIDs back
    /// after a restart. It may be missing at first
    #[arg(long, value_name = "FILE")]
    guid2lid: Option<PathBuf>,
    /// Keep what hosts told the administrator in this file, in the format of OpenSM's opensm-sa.dump:
    /// memberships, services and subscriptions survive a restart. It may be missing at first [default: the
    /// sa_db_file of --config]
    #[arg(long, value_name = "FILE")]
    sa_db: Option<PathBuf>,
    /// Answer orders on this Unix socket while running, a line each, as `status`, `portstatus`, `resweep`;
    /// `help` lists them
    #[arg(long, value_name = "SOCKET", conflicts_with = "once")]
    control: Option<PathBuf>,
    /// Print the configuration in effect as a commented option file, which OpenSM reads too, and exit
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(flatten)]
    sm: SmArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib sm --device mlx5_0 --port 1             on an adapter, for good
  ib sm --once --json                        one sweep on the first usable port, and a report
  ib sm --control /run/ib-sm                 to be asked: echo status | nc -U -N /run/ib-sm
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
    let began = Instant::now();
    let mut config = args.sm.config()?;
    if args.print_config {
        io::stdout().lock().write_all(config.to_text().as_bytes())?;
        return Ok(Verdict::Holds);
    }
    let mut kept = Guid2lid::open(args.guid2lid, &mut config)?;
    let sa_db = SaDb::open(args.sa_db, &mut config)?;
    let clock = MonotonicClock::start();
    let classes = [
        (MgmtClass::SUBN_LID, 1, SMP),
        (MgmtClass::SUBN_DIRECTED, 1, SMP),
        (MgmtClass::SUBN_ADM, 2, SA),
    ];
    let timeout = config.transaction_timeout;
    let port = args.device.open(&classes, true, timeout, clock)?;
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut recording =
        Recording::create(args.sm.pcap.as_deref(), epoch.unwrap_or(Duration::ZERO))?;
    // What is recorded can be replayed: the engine sees no other moments than the file has.
    let clock = TappedClock::new(clock);
    let mut transport = Tap::new(port, clock.clone(), |record: &Record| {
        recording.write(record)
    });
    let sm = SubnetManager::new(config, clock.now());
    let mut managed = ManagedSm::new(sm, args.sm.clone(), args.control, sa_db, clock.now())?;
    let mut observer = ProgressObserver::new();
    let once = args.once;
    let dump_dir = args.sm.dump_dir.as_deref();
    let ended = drive(&mut managed, &mut transport, &clock, |host, event| {
        let sm = &host.sm;
        let flow = observer.event(&event);
        if matches!(event, Event::SubnetUp(_))
            && let Err(error) = kept.keep(sm)
        {
            return ControlFlow::Break(Err(error));
        }
        if once {
            return match flow {
                ControlFlow::Break(()) => ControlFlow::Break(Ok(())),
                ControlFlow::Continue(()) => ControlFlow::Continue(()),
            };
        }
        if let Event::SubnetUp(summary) = &event {
            stderr::info(format_args!(
                "subnet up: {} switches, {} CAs, {} links",
                summary.fabric.switches, summary.fabric.cas, summary.fabric.links
            ));
            if let (Some(directory), Some(routes)) = (dump_dir, sm.routes())
                && let Err(error) =
                    files::dump(directory, sm.fabric(), sm.lids(), routes, sm.multicast())
            {
                return ControlFlow::Break(Err(error));
            }
        }
        ControlFlow::Continue(())
    })
    .map_err(CliError::input)?;
    recording.finish()?;
    managed.keep(clock.now());
    let sm = &managed.sm;
    if let Some(Err(error)) = ended {
        return Err(error);
    }
    if let (Some(directory), Some(routes)) = (dump_dir, sm.routes()) {
        files::dump(directory, sm.fabric(), sm.lids(), routes, sm.multicast())?;
    }
    let elapsed = began.elapsed();
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

/// The file in which LIDs outlive the manager.
struct Guid2lid {
    file: Option<PathBuf>,
    /// What stands in it.
    text: String,
}

impl Guid2lid {
    /// Reads the file, if there is one already, into the manager's configuration.
    fn open(file: Option<PathBuf>, config: &mut SmConfig) -> Result<Self, CliError> {
        if let Some(file) = file.as_deref().filter(|file| file.exists()) {
            config.guid2lid = files::read(file, guid2lid::read)?;
        }
        let text = String::new();
        Ok(Self { file, text })
    }

    /// Writes what the manager knows, if it is news.
    fn keep(&mut self, sm: &SubnetManager) -> Result<(), CliError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let text = guid2lid::write(sm.lids(), sm.guid2lid());
        if text != self.text {
            files::write(file, &text)?;
            self.text = text;
        }
        Ok(())
    }
}
