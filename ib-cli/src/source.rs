//! The source from which diagnostics read a subnet: a live device, or a snapshot file.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    ops::ControlFlow,
    path::PathBuf,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use clap::Args;
use ib_diag::{
    Batch, BatchOutcome, Collector, CollectorConfig, CollectorEvent, Contents, CounterReadings,
    CounterScope, LaneTables, NameError, Named, NodeNameMap, Snapshot, Thresholds,
};
use ib_mad::{
    Client, ClientConfig, Engine, Input, Mad, MadAddress, MgmtClass, Request, SmKey, transport::ask,
};
use ib_routing::PortRef;
use ib_sa::{McMemberComponents, McMemberRecord, TableCall};
use ib_transport::{MonotonicClock, drive};
use ib_wire::MKey;

use crate::{
    commands::query::m_key,
    device::{DeviceArgs, DevicePort, TimeoutArgs},
    error::CliError,
    files, nearest,
    output::{count, progress::Progress, stderr},
};

/// The options of every command that reads a subnet.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Subnet")]
pub struct SourceArgs {
    /// Read what `ib snapshot` wrote, instead of a device
    #[arg(long, value_name = "SNAPSHOT", conflicts_with_all = ["device", "port", "max_hops"])]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub names: NamesArgs,
    /// Read no node that is more than this many hops away [default: as far as routes reach]
    #[arg(long, value_name = "N")]
    max_hops: Option<u8>,
    /// M_Key of the subnet's ports, decimal or 0x; 0 is none
    #[arg(long, value_name = "KEY", default_value = "0", value_parser = m_key)]
    pub m_key: MKey,
    #[command(flatten)]
    timeout: TimeoutArgs,
    #[command(flatten)]
    device: DeviceArgs,
}

/// The option that names nodes.
#[derive(Clone, Debug, Args)]
pub struct NamesArgs {
    /// Names of nodes by GUID, in OpenSM's format
    #[arg(long, value_name = "FILE")]
    node_name_map: Option<PathBuf>,
}

impl NamesArgs {
    /// Reads the file; a map without names if none is given.
    pub fn read(&self) -> Result<NodeNameMap, CliError> {
        match &self.node_name_map {
            Some(file) => files::read_list(file, NodeNameMap::read),
            None => Ok(NodeNameMap::default()),
        }
    }
}

/// The options that choose which error counters are worth a line.
#[derive(Clone, Debug, Args)]
pub struct ThresholdArgs {
    /// File of the thresholds of error counters, in the format of ibqueryerrors: lines like
    /// SymbolErrorCounter=10
    #[arg(long, value_name = "FILE")]
    thresholds: Option<PathBuf>,
    /// Ignore these counters, given by their names in the specification
    #[arg(long, value_name = "COUNTER,..", value_delimiter = ',')]
    ignore: Vec<String>,
}

impl ThresholdArgs {
    /// The thresholds: `without_file` if no file is given, else what the file changes of the default ones.
    pub fn read(&self, without_file: Thresholds) -> Result<Thresholds, CliError> {
        let mut thresholds = match &self.thresholds {
            Some(file) => files::read_list(file, |text| Thresholds::default().read(text))?,
            None => without_file,
        };
        for name in &self.ignore {
            if !thresholds.ignore(name) {
                let hint = nearest::hint(name, CounterReadings::names());
                return Err(CliError::input(format_args!(
                    "--ignore: no counter {name:?}, expected one such as SymbolErrorCounter{hint}"
                )));
            }
        }
        Ok(thresholds)
    }

    /// Returns true if an option is given.
    pub fn is_given(&self) -> bool {
        self.thresholds.is_some() || !self.ignore.is_empty()
    }
}

/// A subnet that can be read: live, or as it was.
pub struct Source {
    names: NodeNameMap,
    from: From,
}

enum From {
    File(Box<Snapshot>),
    Live(Box<Live>),
}

/// A device that is open.
pub struct Live {
    port: RefCell<DevicePort>,
    clock: MonotonicClock,
    config: CollectorConfig,
    /// Number of engines that have been driven over the device.
    engines: Cell<u32>,
}

impl SourceArgs {
    /// Opens the file or the device.
    pub fn open(&self) -> Result<Source, CliError> {
        let names = self.names.read()?;
        let from = match &self.from {
            Some(file) => From::File(Box::new(read_snapshot(file)?)),
            None => From::Live(Box::new(self.open_device()?)),
        };
        Ok(Source { names, from })
    }

    /// Reads what the contents name.
    pub fn snapshot(&self, contents: Contents) -> Result<Snapshot, CliError> {
        self.open()?.snapshot(contents)
    }

    /// The source of the subnet, as text for a person.
    pub fn describe(&self) -> String {
        match (&self.from, &self.device.device) {
            (Some(file), _) => file.display().to_string(),
            (None, Some(device)) => device.clone(),
            (None, None) => "subnet".to_owned(),
        }
    }

    /// Reads what the contents name of the local node and its neighbors.
    pub fn near_snapshot(&self, contents: Contents) -> Result<Snapshot, CliError> {
        let near = Self {
            max_hops: Some(self.max_hops.unwrap_or(1)),
            ..self.clone()
        };
        near.snapshot(contents)
    }

    fn open_device(&self) -> Result<Live, CliError> {
        let clock = MonotonicClock::start();
        let classes = [
            (MgmtClass::SUBN_DIRECTED, 1, &[][..]),
            (MgmtClass::SUBN_LID, 1, &[]),
            (MgmtClass::PERF, 1, &[]),
            (MgmtClass::SUBN_ADM, 2, &[]),
            (MgmtClass::VENDOR2_32, 1, &[]),
        ];
        let mut config = CollectorConfig {
            m_key: self.m_key,
            max_hops: self.max_hops,
            ..CollectorConfig::default()
        };
        self.timeout.apply(&mut config.window);
        let port = self.device.open(&classes, false, config.window.timeout)?;
        Ok(Live {
            port: RefCell::new(port),
            clock,
            config,
            engines: Cell::new(0),
        })
    }
}

/// Reads a snapshot file, or standard input for `-`.
pub fn read_snapshot(file: &std::path::Path) -> Result<Snapshot, CliError> {
    let name = file.display().to_string();
    let bytes = files::read_bytes(&name)?;
    Snapshot::from_bytes(&bytes).map_err(|error| CliError::at(&name, error))
}

/// The snapshot in a file with these bytes; `None` if the file does not begin as a snapshot does.
pub fn snapshot_in(name: &str, bytes: &[u8]) -> Result<Option<Snapshot>, CliError> {
    match Snapshot::is_begun_by(bytes) {
        true => Snapshot::from_bytes(bytes)
            .map(Some)
            .map_err(|error| CliError::at(name, error)),
        false => Ok(None),
    }
}

impl Source {
    /// Reads the subnet. A file must hold what the contents name.
    pub fn snapshot(&self, contents: Contents) -> Result<Snapshot, CliError> {
        self.snapshot_with(contents, |_| {})
    }

    /// As [`snapshot`](Self::snapshot), but without the SLtoVL tables of pairs of ports that no packet passes: a device
    /// has up to twice as many.
    pub fn snapshot_of_routes(&self, contents: Contents) -> Result<Snapshot, CliError> {
        self.snapshot_with(contents, |config| config.lanes = LaneTables::Routed)
    }

    /// As [`snapshot`](Self::snapshot), with other settings of the reading. A file has all that it has.
    pub fn snapshot_with(
        &self,
        contents: Contents,
        adjust: impl FnOnce(&mut CollectorConfig),
    ) -> Result<Snapshot, CliError> {
        let mut snapshot = match &self.from {
            From::File(snapshot) => {
                let missing = contents - snapshot.contents;
                if let Some((name, _)) = missing.iter_names().next() {
                    let what = name.to_lowercase().replace('_', " ");
                    return Err(CliError::input(format_args!(
                        "the snapshot has no {what}, expected one that was taken with them"
                    )));
                }
                (**snapshot).clone()
            }
            From::Live(live) => live.collect(contents, adjust)?,
        };
        snapshot.rename(&self.names);
        Ok(snapshot)
    }

    /// Adds the multicast groups that subnet administration knows, if a manager runs. A refusal is a warning.
    pub fn add_groups(&self, snapshot: &mut Snapshot, sm_key: SmKey) -> Result<(), CliError> {
        // After its manager has gone, the own port still knows the LID: to ask there would take as long as a silent device.
        let is_managed = snapshot.ports().any(|(_, _, port)| port.sm_info.is_some());
        let own = snapshot.own_port.and_then(|own| snapshot.port(own)?.info);
        let manager = own.map(|info| (info.master_sm_lid(), info.master_sm_sl()));
        let Some((lid, sl)) = manager.filter(|(lid, _)| lid.is_unicast() && is_managed) else {
            return Ok(());
        };
        let template = McMemberRecord::default();
        let address = MadAddress::gsi(lid, sl);
        let mut call = TableCall::get(address, &template, McMemberComponents::empty());
        call.request.set_sm_key(sm_key);
        match self.live("subnet administration")?.ask(call)? {
            Ok(groups) => snapshot.set_groups(groups),
            Err(error) => stderr::warn(format_args!(
                "subnet administration does not list the multicast groups: {error}"
            )),
        }
        Ok(())
    }

    /// The device; an error for a snapshot, which nothing can be sent to.
    pub fn live(&self, what: &str) -> Result<&Live, CliError> {
        match &self.from {
            From::Live(live) => Ok(live),
            From::File(_) => Err(CliError::input(format_args!(
                "--from: {what} needs the subnet itself, expected --device"
            ))),
        }
    }

    /// Returns true if the subnet can be read again, to see what changed.
    pub fn is_live(&self) -> bool {
        matches!(self.from, From::Live(_))
    }
}

impl Live {
    fn collect(
        &self,
        contents: Contents,
        adjust: impl FnOnce(&mut CollectorConfig),
    ) -> Result<Snapshot, CliError> {
        let mut config = CollectorConfig {
            contents,
            ..self.next_config()
        };
        adjust(&mut config);
        let snapshot = self.finish(Collector::new(config))?;
        if snapshot.own_port.is_none() {
            return Err(CliError::input(
                "the local node does not respond, expected a port that answers subnet management",
            ));
        }
        Ok(snapshot)
    }

    /// Reads the counters of these ports of a snapshot, or of all its ports. The snapshot that comes back has no others.
    pub fn counters(
        &self,
        snapshot: Snapshot,
        ports: Option<BTreeSet<PortRef>>,
        scope: CounterScope,
    ) -> Result<Snapshot, CliError> {
        let config = CollectorConfig {
            counters: scope,
            ..self.next_config()
        };
        self.finish(Collector::of_counters(config, snapshot, ports))
    }

    /// The configuration of the next engine. Its transaction IDs are others than those of the engines before: a late answer
    /// to one of them must not match.
    fn next_config(&self) -> CollectorConfig {
        const REQUESTS_OF_ONE_ENGINE: u32 = 1 << 22;
        let engines = self.engines.get();
        self.engines.set(engines.wrapping_add(1));
        let mut config = self.config.clone();
        let first = config.window.first_transaction_id;
        let before = engines.wrapping_mul(REQUESTS_OF_ONE_ENGINE);
        config.window.first_transaction_id = first.with_low(first.low().wrapping_add(before));
        config
    }

    /// Drives a collector to its end.
    fn finish(&self, mut collector: Collector) -> Result<Snapshot, CliError> {
        let taken_at = SystemTime::now().duration_since(UNIX_EPOCH);
        let taken_at = taken_at.unwrap_or(Duration::ZERO).as_millis();
        let progress = Progress::new("reading", 0);
        let mut nodes = 0;
        self.run(&mut collector, |event| match event {
            CollectorEvent::NodeFound { .. } => {
                nodes += 1;
                progress.set_of(nodes, nodes);
                ControlFlow::Continue(())
            }
            CollectorEvent::Progress { done, of } => {
                progress.set_of(done, of);
                ControlFlow::Continue(())
            }
            CollectorEvent::Done => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })?;
        let mut snapshot = collector.finish();
        snapshot.taken_at = u64::try_from(taken_at).unwrap_or(u64::MAX);
        snapshot.tools = vec![("ib".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
        Ok(snapshot)
    }

    /// Sends requests, many at a time, and collects what comes back in their order.
    pub fn send(&self, requests: Vec<Mad>) -> Result<Vec<BatchOutcome>, CliError> {
        let mut batch = Batch::new(self.next_config().window, requests);
        self.run(&mut batch, |()| ControlFlow::Break(()))?;
        Ok(batch.finish())
    }

    /// Sends one request and reads its response, of however many datagrams.
    pub fn ask<R: Request>(&self, request: R) -> Result<Result<R::Output, R::Error>, CliError> {
        let mut client = Client::new(ClientConfig {
            window: self.next_config().window,
            ..ClientConfig::default()
        });
        let mut port = self.port.borrow_mut();
        ask(&mut client, request, &mut *port, &self.clock).map_err(CliError::input)
    }

    /// Drives an engine over the device until its events break.
    fn run<E>(
        &self,
        engine: &mut E,
        mut on_event: impl FnMut(E::Event) -> ControlFlow<()>,
    ) -> Result<(), CliError>
    where
        E: for<'a> Engine<Input<'a> = Input<'a>, Transmit = Mad>,
    {
        let mut port = self.port.borrow_mut();
        let port = &mut *port;
        drive(engine, port, &self.clock, |_, event| on_event(event)).map_err(CliError::input)?;
        Ok(())
    }
}

/// The node or port that an argument names. An error says which name is near, and that devices which do not respond
/// cannot be named.
pub fn find(snapshot: &Snapshot, text: &str) -> Result<Named, CliError> {
    snapshot.find(text).map_err(|error| {
        // Of several nodes with the name and of a port that is not there, the error itself says which there are.
        if !matches!(error, NameError::Unknown { .. }) {
            return CliError::input(error);
        }
        let names: Vec<String> = snapshot.nodes.iter().map(|node| node.name()).collect();
        let nearest = |text| nearest::hint(text, names.iter().map(String::as_str));
        let without_port = text.rsplit_once(':').map(|(name, _)| name);
        let nearest = nearest(without_port.unwrap_or(text));
        let silent = match snapshot.silent.len() {
            0 => String::new(),
            silent => format!(
                "; {} not respond and cannot be named (ib health says where)",
                count(silent, "device does", "devices do")
            ),
        };
        CliError::input(format_args!("{error}{nearest}{silent}"))
    })
}

/// The seconds since a moment.
pub fn elapsed(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}
