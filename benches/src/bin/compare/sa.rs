//! The subnet administrator beside OpenSM's: the same client loads both over the same `ib sim` server.
//!
//! Either manager brings the subnet up on a server of its own, from the same host. The figures of processor time are
//! those of the manager alone, over all its threads; the client and the server run beside it.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ib_routing::{Fabric, NodeType, generate::FabricSpec};
use ib_testkit::ibsim::client;
use serde::Deserialize;

use crate::{
    dissect::program_ib,
    measure::{Sample, is_installed},
    row::Row,
    sim::OurProgram,
};

const SUBJECT: &str = "sa";
const PEER: &str = "OpenSM on the same server";
const INSTALL: &str = "apt-get install opensm libumad2sim0 libibumad-dev gcc";
const REPETITIONS: usize = 3;
const SOURCE: &str = include_str!("../../../peers/sa-load.c");

/// The fabric: 114 switches and 342 hosts.
const FABRIC: &str = "dragonfly:a=6,p=3,h=3";

/// The longest time that a manager may take until it serves the subnet.
const PATIENCE: Duration = Duration::from_secs(60);

/// A load: the name of the case, the client's mode, the number of requests, and how many are under way at once.
type Load = (&'static str, &'static str, u32, u32);

const LOADS: [Load; 3] = [
    ("path-record-cpu", "path", 100_000, 64),
    ("node-table-cpu", "table", 10_000, 64),
    ("member-cpu", "member", 20_000, 64),
];

/// The longest time without an answer: the name of the case, and the number of times that a cable is pulled and put back
/// while the client asks. Without a change it is the time for which the machine itself leaves one of the programs without a
/// processor; a manager cannot come below that.
const GAPS: [(&str, u32); 2] = [("path-record-gap", FLAPS), ("path-record-gap-unchanged", 0)];
const FLAPS: u32 = 3;

/// A few requests at a time, so that the client leaves the managers a processor.
const GAP_WINDOW: u32 = 8;

/// The time between two changes of a cable.
const BETWEEN_CHANGES: Duration = Duration::from_millis(1500);

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let missing = |install: &str| {
        let gaps = GAPS.iter().map(|gap| gap.0);
        let cases = LOADS.iter().map(|load| load.0).chain(gaps);
        let rows = cases.map(|case| Row::without_peer(SUBJECT, case, install, "us", None));
        rows.collect()
    };
    let Some(ib) = program_ib() else {
        return missing("cargo build --profile dist --bin ib");
    };
    if !is_installed("opensm") || !is_installed("cc") {
        return missing(INSTALL);
    }
    measure(&ib).unwrap_or_else(|error| {
        eprintln!("{SUBJECT}: {error}");
        missing(INSTALL)
    })
}

fn measure(ib: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let fabric = FABRIC.parse::<FabricSpec>()?.build()?;
    let generator = Generator::build()?;
    // One figure of each case a repetition, of ours and of the peer by turns.
    let mut figures = [const { [Vec::new(), Vec::new()] }; LOADS.len() + GAPS.len()];
    for _ in 0..REPETITIONS {
        for (side, which) in [Which::Ours, Which::OpenSm].into_iter().enumerate() {
            let mut subnet = Subnet::start(ib, which, &fabric)?;
            let (loads, gaps) = figures.split_at_mut(LOADS.len());
            for ((.., mode, count, window), figures) in LOADS.iter().zip(loads) {
                figures[side].push(subnet.processor_time(&generator, mode, *count, *window)?);
            }
            for ((_, flaps), figures) in GAPS.iter().zip(gaps) {
                figures[side].push(subnet.longest_gap(&generator, &fabric, *flaps)?);
            }
        }
    }
    let loads = LOADS.iter().map(|load| (load.0, "us"));
    let cases = loads.chain(GAPS.iter().map(|gap| (gap.0, "ms")));
    let rows = cases.zip(figures).map(|((case, unit), [ours, peer])| {
        Row::times(
            SUBJECT,
            case,
            PEER,
            unit,
            &Sample::new(ours),
            &Sample::new(peer),
        )
    });
    Ok(rows.collect())
}

/// The client, built by this machine's compiler.
struct Generator {
    directory: PathBuf,
}

impl Generator {
    fn build() -> Result<Self, Box<dyn Error>> {
        let directory = std::env::temp_dir().join(format!("ib-compare-sa-{}", process::id()));
        fs::create_dir_all(&directory)?;
        let generator = Self { directory };
        let source = generator.directory.join("sa-load.c");
        fs::write(&source, SOURCE)?;
        let mut command = Command::new("cc");
        command.arg("-O2").arg("-o").arg(generator.program());
        let output = command.arg(source).arg("-libumad").output()?;
        match output.status.success() {
            true => Ok(generator),
            false => Err(String::from_utf8_lossy(&output.stderr).into()),
        }
    }

    fn program(&self) -> PathBuf {
        self.directory.join("sa-load")
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // What stays behind is in the directory for temporary files.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Output of the client.
#[derive(Deserialize)]
struct Answers {
    answered: u32,
    refused: u32,
    gap_ms: f64,
}

/// The manager that serves a subnet.
#[derive(Clone, Copy)]
enum Which {
    Ours,
    OpenSm,
}

/// A subnet that a manager has brought up and serves; both end when it is dropped.
struct Subnet {
    manager: Manager,
    server: OurProgram,
    /// The host that the client sits on.
    host: String,
    /// The highest LID: both managers give them without gaps.
    last_lid: usize,
}

impl Subnet {
    fn start(ib: &Path, which: Which, fabric: &Fabric) -> Result<Self, Box<dyn Error>> {
        let nodes = fabric.nodes().iter();
        let mut hosts = nodes.filter(|node| node.type_ == NodeType::CA);
        let (Some(own), Some(other)) = (hosts.next(), hosts.next()) else {
            return Err("the fabric has no two hosts".into());
        };
        let server = OurProgram::start(ib, FABRIC)?;
        let device = format!("sim:{}", server.name);
        let mut command = match which {
            Which::Ours => {
                let mut command = Command::new(ib);
                command.args(["sm", "--device", &device, "--node"]);
                command.arg(&own.name).stdin(Stdio::null());
                command
            }
            Which::OpenSm => {
                let mut command = client("opensm", &server.name, &own.name, &server.directory);
                command.args(["-n", "32", "-f", "/dev/null"]);
                command
            }
        };
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let subnet = Self {
            manager: Manager(quiet.spawn()?),
            host: other.name.clone(),
            last_lid: fabric.nodes().len(),
            server,
        };
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let mut query = Command::new(ib);
            query.args(["query", "--device", &device, "--node", &subnet.host]);
            query.args(["sa", "ClassPortInfo"]).stdin(Stdio::null());
            let quiet = query.stdout(Stdio::null()).stderr(Stdio::null());
            if quiet.status()?.success() {
                // The manager has more to do after its first answer than answers.
                thread::sleep(BETWEEN_CHANGES);
                return Ok(subnet);
            }
            thread::sleep(Duration::from_millis(100));
        }
        Err("the manager does not serve the subnet".into())
    }

    /// The client with a mode, ready to start.
    fn client(&self, generator: &Generator, mode: &str, count: u32, window: u32) -> Command {
        let (name, directory) = (&self.server.name, &self.server.directory);
        let mut command = client(generator.program(), name, &self.host, directory);
        command.args([mode, &count.to_string(), &window.to_string(), "1"]);
        command.arg(self.last_lid.to_string());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    /// Microseconds of processor time of the manager for an answer.
    fn processor_time(
        &self,
        generator: &Generator,
        mode: &str,
        count: u32,
        window: u32,
    ) -> Result<f64, Box<dyn Error>> {
        let before = self.manager.processor_time()?;
        let output = self.client(generator, mode, count, window).output()?;
        let took = self.manager.processor_time()?.saturating_sub(before);
        let answers: Answers = serde_json::from_slice(&output.stdout)?;
        if answers.answered < count || answers.refused > 0 {
            let Answers {
                answered, refused, ..
            } = answers;
            return Err(
                format!("{mode}: {answered} of {count} answered, {refused} refused").into(),
            );
        }
        Ok(took.as_secs_f64() * 1e6 / f64::from(count))
    }

    /// Milliseconds of the longest time without an answer while a cable between switches is pulled and put back `flaps`
    /// times. The client asks for the same time whatever their number is.
    fn longest_gap(
        &mut self,
        generator: &Generator,
        fabric: &Fabric,
        flaps: u32,
    ) -> Result<f64, Box<dyn Error>> {
        let first = fabric.switches().indices().next();
        let cable = first.and_then(|first| {
            let (_, channel) = fabric.channels_from(first).next()?;
            let name = &fabric.nodes()[fabric.switches()[first]].name;
            Some(format!("\"{name}\"[{}]", channel.port.0))
        });
        let cable = cable.ok_or("the fabric has no cable between switches")?;
        let lasts = BETWEEN_CHANGES * (2 * FLAPS + 1);
        let mut command = self.client(generator, "path", 10_000_000, GAP_WINDOW);
        let asking = command.arg(lasts.as_secs_f64().to_string()).spawn()?;
        for _ in 0..flaps {
            for change in ["Unlink", "ReLink"] {
                thread::sleep(BETWEEN_CHANGES);
                self.server.console(&format!("{change} {cable}"))?;
            }
        }
        let output = asking.wait_with_output()?;
        let answers: Answers = serde_json::from_slice(&output.stdout)?;
        Ok(answers.gap_ms)
    }
}

/// A manager that runs until it is dropped.
struct Manager(Child);

impl Manager {
    /// Processor time of all its threads so far.
    fn processor_time(&self) -> Result<Duration, Box<dyn Error>> {
        let mut total = Duration::ZERO;
        for task in fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            let nanoseconds = text.split_whitespace().next().unwrap_or_default();
            total += Duration::from_nanos(nanoseconds.parse()?);
        }
        Ok(total)
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
