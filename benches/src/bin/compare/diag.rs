//! The diagnostics beside infiniband-diags and ibutils: whole processes on one `ib sim` server.
//!
//! A manager of ours has brought the subnet up before and runs on, as ibqueryerrors asks an administrator for a path.
//! The simulator leaves requests to silent hosts unanswered. The peers leave time-outs to the kernel, which
//! the simulator stands for: it gives their requests back when the kernel would.

use std::{
    error::Error,
    io,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use ib_routing::{Fabric, NodeType, generate::FabricSpec};
use ib_testkit::ibsim::client;

use crate::{
    bringup::FABRICS,
    dissect::program_ib,
    measure::{Sample, figures_by_turns, is_installed},
    row::Row,
    sim::OurProgram,
};

const SUBJECT: &str = "diag";
const INSTALL: &str = "apt-get install infiniband-diags ibutils libumad2sim0";
const REPETITIONS: usize = 3;

/// One host of so many is silent where hosts are.
const SILENT: usize = 100;

/// Milliseconds after which the kernel gives a request of libibnetdisc back: its default time-out of 1000 ms, four times,
/// as its default is three repetitions.
const GIVEN_UP: u32 = 4000;

/// A case: its name, our command and its options, the peer's program, and what it does.
type Case = (&'static str, &'static str, &'static str, &'static str);

const CASES: [Case; 5] = [
    (
        "discover",
        "discover",
        "ibnetdiscover",
        "ibnetdiscover on the same server",
    ),
    (
        "links",
        "links",
        "iblinkinfo",
        "iblinkinfo on the same server",
    ),
    (
        "perf",
        "perf",
        "ibqueryerrors",
        "ibqueryerrors on the same server",
    ),
    // ibqueryerrors reads the counters of all ports of a device together, and those of single ports only where there are
    // errors; `ib perf` alone reads all of them.
    (
        "errors",
        "perf --errors",
        "ibqueryerrors",
        "ibqueryerrors on the same server",
    ),
    (
        "health",
        "health",
        "ibdiagnet",
        "ibdiagnet on the same server",
    ),
];

const SILENT_CASES: [Case; 4] = [
    (
        "discover",
        "discover",
        "ibnetdiscover",
        "ibnetdiscover on the same server with 1 % of the hosts silent",
    ),
    (
        "links",
        "links",
        "iblinkinfo",
        "iblinkinfo on the same server with 1 % of the hosts silent",
    ),
    (
        "errors",
        "perf --errors",
        "ibqueryerrors",
        "ibqueryerrors on the same server with 1 % of the hosts silent",
    ),
    // ibdiagnet ends by a signal here. ibqueryerrors is the peer that looks for faults, though for those of links alone.
    (
        "health",
        "health",
        "ibqueryerrors",
        "ibqueryerrors on the same server with 1 % of the hosts silent",
    ),
];

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let Some(ib) = program_ib() else {
        let install = "cargo build --release --bin ib";
        return vec![Row::without_peer(
            SUBJECT,
            "discover-ft324",
            install,
            "s",
            None,
        )];
    };
    let mut rows = Vec::new();
    for (name, spec) in FABRICS {
        match measure(&ib, name, spec) {
            Ok(found) => rows.extend(found),
            Err(error) => eprintln!("{SUBJECT} {name}: {error}"),
        }
    }
    rows
}

fn measure(ib: &Path, name: &str, spec: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    let fabric = spec.parse::<FabricSpec>()?.build()?;
    let hosts = hosts(&fabric);
    let own = hosts.first().ok_or("the fabric has no host")?;
    let mut server = OurProgram::start(ib, spec)?;
    let subnet = Subnet {
        ib,
        name: server.name.clone(),
        directory: server.directory.clone(),
        own,
    };
    let up = subnet
        .ours("sm")
        .arg("--once")
        .stdout(Stdio::null())
        .status()?;
    if !up.success() {
        return Err(format!("ib sm --once: {up}").into());
    }
    let other = hosts.get(1).ok_or("the fabric has one host")?;
    let _manager = Manager::start(&subnet, other)?;
    let mut rows: Vec<Row> = CASES
        .iter()
        .map(|case| subnet.row(case, format!("{}-{name}", case.0)))
        .collect();
    // Every hundredth host, and not the one that the programs sit on.
    for host in hosts.iter().skip(SILENT / 2).step_by(SILENT) {
        server.console(&format!("Silent \"{host}\" {GIVEN_UP}"))?;
    }
    let silent = SILENT_CASES.iter();
    rows.extend(silent.map(|case| subnet.row(case, format!("{}-{name}-silent", case.0))));
    Ok(rows)
}

fn hosts(fabric: &Fabric) -> Vec<String> {
    let nodes = fabric.nodes().iter();
    let hosts = nodes.filter(|node| node.type_ == NodeType::CA);
    hosts.map(|node| node.name.clone()).collect()
}

/// A served subnet that is up.
struct Subnet<'a> {
    ib: &'a Path,
    name: String,
    directory: std::path::PathBuf,
    own: &'a str,
}

impl Subnet<'_> {
    /// Our command on the server's socket.
    fn ours(&self, command: &str) -> Command {
        let mut program = Command::new(self.ib);
        program.args(command.split(' '));
        program.args(["--node", self.own, "--device"]);
        program
            .arg(format!("sim:{}", self.name))
            .stdin(Stdio::null());
        program
    }

    fn row(&self, case: &Case, name: String) -> Row {
        let &(_, command, peer, peer_name) = case;
        let ours = || seconds_of_ours(self.ours(command));
        if !is_installed(peer) {
            let ours = Sample::new((0..REPETITIONS).map(|_| ours()).collect());
            return Row::without_peer(SUBJECT, name, INSTALL, "s", Some(&ours));
        }
        let theirs = || seconds(client(peer, &self.name, self.own, &self.directory));
        let (ours, theirs) = figures_by_turns(REPETITIONS, ours, theirs);
        if theirs.median().is_nan() {
            let text = format!("{peer} did not end well");
            return Row::without_peer(SUBJECT, name, text, "s", Some(&ours));
        }
        Row::times(SUBJECT, name, peer_name, "s", &ours, &theirs)
    }
}

/// A manager that runs until it is dropped.
struct Manager(Child);

impl Manager {
    fn start(subnet: &Subnet<'_>, host: &str) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(subnet.ib);
        command.args(["sm", "--node", host, "--device"]);
        command.arg(format!("sim:{}", subnet.name));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let manager = Self(command.stderr(Stdio::null()).spawn()?);
        let patience = Instant::now() + Duration::from_secs(60);
        while Instant::now() < patience {
            let mut query = subnet.ours("query");
            query.args(["sa", "ClassPortInfo"]).stderr(Stdio::null());
            if query.stdout(Stdio::null()).status()?.success() {
                return Ok(manager);
            }
            thread::sleep(Duration::from_millis(100));
        }
        Err("the manager does not serve the subnet".into())
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Run time of a command of ours in seconds; no number if it failed. Status 1 is no failure: it reports findings, such
/// as silent devices. A command without findings may print nothing.
fn seconds_of_ours(command: Command) -> f64 {
    let (took, output) = timed(command);
    let has_run = output.is_ok_and(|output| matches!(output.status.code(), Some(0 | 1)));
    if has_run { took } else { f64::NAN }
}

/// Run time of a peer in seconds; no number if a signal ended it or it printed nothing. Its status says what it found.
fn seconds(command: Command) -> f64 {
    let (took, output) = timed(command);
    let has_run =
        output.is_ok_and(|output| output.status.code().is_some() && !output.stdout.is_empty());
    if has_run { took } else { f64::NAN }
}

/// Runs a program to its end, and takes the time in seconds.
fn timed(mut command: Command) -> (f64, io::Result<Output>) {
    let start = Instant::now();
    let output = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .output();
    (start.elapsed().as_secs_f64(), output)
}
