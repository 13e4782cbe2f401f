//! Healing beside OpenSM: a cable or a switch fails under a manager that runs as a process of its own on our server.
//!
//! The server is in this process and notes every datagram of the manager, so that no manager is slowed down by its own
//! log. The time is that from the failure to the last forwarding block that changes something. SMPs are counted without
//! such blocks, as any correct repair writes them.

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    io::{BufReader, Write, sink},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use ib_mad::{Attribute, Mad, Method, MgmtClass};
use ib_routing::{Fabric, PortRef, generate::FabricSpec};
use ib_sim::server::{Listen, Server, ServerOptions};
use ib_smp::{LinearForwardingTable, SmpDirected};
use ib_testkit::ibsim::{client, is_listening, unique_name};

use crate::{
    dissect::program_ib,
    heal::{SUBJECT, cables_between_switches},
    measure::{Sample, is_installed},
    row::Row,
};

const FABRIC: &str = "fat-tree:radix=24,levels=3";
const NAME: &str = "ft3456";
const REPETITIONS: usize = 3;

/// A manager has come to rest when it has sent nothing for so long.
const REST: Duration = Duration::from_secs(5);
/// The longest time that a manager may take for one change.
const PATIENCE: Duration = Duration::from_secs(90);

/// The managers: ours, OpenSM, and OpenSM with its cache of routes.
const MANAGERS: [&str; 3] = [
    "ib",
    "OpenSM -n 32 on the same server",
    "OpenSM -n 32 -A on the same server",
];

/// Measures every case.
pub(crate) fn rows(only: &str) -> Vec<Row> {
    let cases = ["link", "switch"]
        .map(|what| [format!("{what}-{NAME}-time"), format!("{what}-{NAME}-smps")]);
    if !cases.iter().flatten().any(|case| case.contains(only)) {
        return Vec::new();
    }
    let missing = |what: String| -> Vec<Row> {
        let cases = cases.iter().flatten();
        cases
            .map(|case| Row::without_peer(SUBJECT, case, &what, "ms", None))
            .collect()
    };
    let Some(ib) = program_ib() else {
        return missing("cargo build --profile dist --bin ib".to_owned());
    };
    if !is_installed("opensm") {
        return missing("apt-get install opensm libumad2sim0".to_owned());
    }
    measure(&ib).unwrap_or_else(|error| missing(format!("failed: {error}")))
}

/// Cost of a failure.
#[derive(Clone, Copy, Debug)]
struct Cost {
    milliseconds: f64,
    /// SMPs without forwarding blocks that changed something.
    smps: f64,
}

/// A figure of a failure: its name, its unit, and its value.
type Figure = (&'static str, &'static str, fn(&Cost) -> f64);

fn measure(ib: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let fabric = FABRIC.parse::<FabricSpec>()?.build()?;
    let mut costs: [[Vec<Cost>; 2]; 3] = Default::default();
    for repetition in 0..REPETITIONS {
        for (manager, costs) in costs.iter_mut().enumerate() {
            eprintln!(
                "  outage: {}, {} of {REPETITIONS}",
                MANAGERS[manager],
                repetition + 1
            );
            let mut subnet = Subnet::start(ib, manager, &fabric)?;
            let cable = cables_between_switches(&fabric);
            let cable = cable.get(cable.len() / 2 + repetition).ok_or("no cable")?;
            costs[0].extend(subnet.fail(&unlink(&fabric, *cable, true))?);
            costs[1].extend(subnet.fail(&unlink(&fabric, last_switch(&fabric)?, false))?);
        }
    }
    let column = |manager: usize, failure: usize, figure: fn(&Cost) -> f64| {
        Sample::new(costs[manager][failure].iter().map(figure).collect())
    };
    let mut rows = Vec::new();
    for (failure, what) in ["link", "switch"].into_iter().enumerate() {
        for peer in [1, 2] {
            let cached = if peer == 2 { "-A" } else { "" };
            let figures: [Figure; 2] = [
                ("time", "ms", |cost| cost.milliseconds),
                ("smps", "SMPs", |cost| cost.smps),
            ];
            for (figure, unit, of) in figures {
                let case = format!("{what}-{NAME}-{figure}{cached}");
                let (ours, theirs) = (column(0, failure, of), column(peer, failure, of));
                rows.push(Row::times(
                    SUBJECT,
                    case,
                    MANAGERS[peer],
                    unit,
                    &ours,
                    &theirs,
                ));
            }
        }
    }
    Ok(rows)
}

/// The console's command that pulls a cable, or all cables of a switch.
fn unlink(fabric: &Fabric, end: PortRef, one: bool) -> String {
    let name = &fabric.node(end.node).name;
    match one {
        true => format!("Unlink \"{name}\"[{}]", end.port.0),
        false => format!("Unlink \"{name}\""),
    }
}

/// The last switch without hosts.
fn last_switch(fabric: &Fabric) -> Result<PortRef, Box<dyn Error>> {
    let is_host = |end: PortRef| fabric.switch_of(end.node).is_none();
    let of_hosts = |node| {
        fabric
            .links()
            .any(|(a, b)| (a.node == node && is_host(b)) || (b.node == node && is_host(a)))
    };
    let ends = cables_between_switches(fabric).into_iter().rev();
    let mut ends = ends.filter(|end| !of_hosts(end.node));
    Ok(ends.next().ok_or("every switch has hosts")?)
}

/// A datagram of the manager: its time, and whether it is a forwarding block that changes something.
type Sent = (Instant, bool);

/// A subnet that a manager has brought up and serves.
struct Subnet {
    manager: Child,
    console: UnixStream,
    sent: Arc<Mutex<Vec<Sent>>>,
    stop: Arc<AtomicBool>,
    server: Option<JoinHandle<()>>,
    directory: PathBuf,
}

impl Subnet {
    fn start(ib: &Path, manager: usize, fabric: &Fabric) -> Result<Self, Box<dyn Error>> {
        let name = unique_name();
        let directory = std::env::temp_dir().join(&name);
        fs::create_dir_all(&directory)?;
        let options = ServerOptions::new(Listen::Unix(name.clone())).sized_for(fabric);
        let mut server = Server::bind(fabric, &options)?;
        let sent = Arc::new(Mutex::new(Vec::new()));
        let (noted, mut tables) = (Arc::clone(&sent), BTreeMap::new());
        server.observe(move |mad| {
            if mad.header().mgmt_class() == MgmtClass::SUBN_DIRECTED {
                let sent = (Instant::now(), changes_a_block(mad, &mut tables));
                noted
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(sent);
            }
        });
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (console, input) = UnixStream::pair()?;
        let server = thread::spawn(move || {
            let console = Box::new(BufReader::new(input));
            if let Err(error) = server.run(Some(console), &mut sink(), &stopped) {
                eprintln!("{SUBJECT}: {error}");
            }
        });
        while !is_listening(&name) {
            thread::sleep(Duration::from_millis(20));
        }
        let host = fabric.first_host().ok_or("the fabric has no host")?;
        let own = &fabric.node(host.node).name;
        let mut command = match manager {
            0 => {
                let mut command = Command::new(ib);
                let device = format!("sim:{name}");
                command.args([
                    "sm", "--engine", "minhop", "--device", &device, "--node", own,
                ]);
                command.stdin(Stdio::null());
                command
            }
            _ => {
                let mut command = client("opensm", &name, own, &directory);
                command.args(["-n", "32", "-R", "minhop", "-f", "/dev/null"]);
                command.args((manager == 2).then_some("-A"));
                command
            }
        };
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let subnet = Self {
            manager: quiet.spawn()?,
            console,
            sent,
            stop,
            server: Some(server),
            directory,
        };
        subnet.rest()?;
        Ok(subnet)
    }

    fn sent(&self) -> Vec<Sent> {
        self.sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until the manager has sent something and then nothing more for a while. Returns what it sent.
    fn rest(&self) -> Result<Vec<Sent>, Box<dyn Error>> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(100));
            let sent = self.sent();
            if sent.last().is_some_and(|(at, _)| at.elapsed() > REST) {
                return Ok(sent);
            }
        }
        Err("the manager does not come to rest".into())
    }

    /// The manager's time and datagrams for a failure; `None` if it changes no forwarding block.
    fn fail(&mut self, command: &str) -> Result<Option<Cost>, Box<dyn Error>> {
        self.sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        let begun = Instant::now();
        writeln!(self.console, "{command}")?;
        let sent = self.rest()?;
        let blocks = || sent.iter().filter(|(_, changes)| *changes);
        Ok(blocks().next_back().map(|(last, _)| Cost {
            milliseconds: last.saturating_duration_since(begun).as_secs_f64() * 1e3,
            smps: (sent.len() - blocks().count()) as f64,
        }))
    }
}

impl Drop for Subnet {
    fn drop(&mut self) {
        let _ = self.manager.kill();
        let _ = self.manager.wait();
        self.stop.store(true, Ordering::Relaxed);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// True if a datagram writes a forwarding block with another content than the last one to the same place. A place is a
/// directed route and the number of a block, so a block that is written by a new route counts as a change.
pub(crate) fn changes_a_block(mad: &Mad, tables: &mut BTreeMap<([u8; 64], u32), [u8; 64]>) -> bool {
    let header = mad.header();
    if header.method() != Method::SET || header.attribute_id() != LinearForwardingTable::ID {
        return false;
    }
    let Ok((smp, _)) = SmpDirected::parse(&mad.bytes, 0) else {
        return false;
    };
    let place = (*smp.initial_path(), header.attribute_modifier());
    tables.insert(place, *smp.smp_data()).as_ref() != Some(smp.smp_data())
}
