//! The simulator beside ibsim: how many SMPs a second each of them carries.
//!
//! The rates ask the node at distance 1 for its NodeInfo, with 32 requests in flight: in process through a
//! transport, and through ibsim's socket protocol with one client against both servers. The times are those of whole
//! processes: an unmodified ibnetdiscover and an unmodified OpenSM on our server and on ibsim.

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ib_mad::{Attribute, Mad, MadAddress, Method};
use ib_routing::{Fabric, PortRef};
use ib_sim::server::{Listen, Server, ServerOptions};
use ib_sim::{Sim, SimOptions};
use ib_smp::{DrPath, NodeInfo, SmpDirected};
use ib_testkit::ibsim::{Ibsim, client, is_listening, unique_name};
use ib_testkit::{data::fabric_file, fabrics::fabric};
use ib_transport::ibsim::{IbsimOptions, IbsimPort};
use ib_transport::{Clock, MadTransport, MonotonicClock, Received, receive};
use ib_wire::PortNum;

use crate::dissect::program_ib;
use crate::measure::{Sample, figures_by_turns, is_installed};
use crate::row::Row;

const WINDOW: u32 = 32;
const REPETITIONS: usize = 7;
const PEER: &str = "ibsim over its socket (window 32)";
const INSTALL: &str = "apt-get install ibsim-utils";
const UNIT: &str = "SMPs/s";
const FABRIC: &str = "gen-line-2";

/// The fabric that whole programs walk over and bring up: a real cluster of 306 nodes.
const CLUSTER: &str = "real-qdr-avakas-306";

type Failure = Box<dyn Error>;

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    [measure, programs]
        .into_iter()
        .flat_map(|measure| {
            measure().unwrap_or_else(|error| {
                eprintln!("sim: {error}");
                Vec::new()
            })
        })
        .collect()
}

/// Unmodified programs on our server and on ibsim. Every run has a server of its own: a second one finds a subnet that
/// is up already.
fn programs() -> Result<Vec<Row>, Failure> {
    let ib = program_ib().ok_or("`ib` is not built: cargo build --profile dist --bin ib")?;
    let cluster = fabric(CLUSTER);
    let port = cluster.first_host().ok_or("the fabric has no host")?;
    let node = cluster.nodes()[port.node].name.as_str();
    let cases: [(&str, &str, &str, &[&str], &str); 2] = [
        (
            "ibnetdiscover-on-server",
            "ibnetdiscover on ibsim",
            "ibnetdiscover",
            &[],
            "apt-get install infiniband-diags ibsim-utils libumad2sim0",
        ),
        (
            "opensm-on-server",
            "OpenSM on ibsim",
            "opensm",
            &["-o", "-f", "/dev/null"],
            "apt-get install opensm ibsim-utils libumad2sim0",
        ),
    ];
    let mut rows = Vec::new();
    for (case, peer, program, arguments, install) in cases {
        let ours = || {
            let server = OurProgram::start(&ib, fabric_file(CLUSTER))?;
            let command = client(program, &server.name, node, &server.directory);
            seconds(command, arguments)
        };
        let theirs = || {
            let server = Ibsim::start(&fabric_file(CLUSTER))?;
            seconds(server.client(program, node), arguments)
        };
        let figure = |run: &dyn Fn() -> Result<f64, Failure>| run().unwrap_or(f64::NAN);
        if !is_installed("ibsim") || !is_installed(program) {
            rows.push(Row::without_peer("sim", case, install, "s", None));
            continue;
        }
        let (ours, theirs) = figures_by_turns(REPETITIONS, || figure(&ours), || figure(&theirs));
        rows.push(Row::times("sim", case, peer, "s", &ours, &theirs));
    }
    Ok(rows)
}

/// Time for which a program runs, from its start to its good end.
fn seconds(mut command: Command, arguments: &[&str]) -> Result<f64, Failure> {
    command.args(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok(start.elapsed().as_secs_f64())
}

fn measure() -> Result<Vec<Row>, Failure> {
    let fabric = fabric(FABRIC);
    let port = fabric.first_host().ok_or("the fabric has no host")?;
    let in_process = || in_process(&fabric, port).unwrap_or(f64::NAN);
    let ours = OurServer::start(&fabric)?;
    let over_ours = || over_socket(&ours.name, 20_000).unwrap_or(f64::NAN);
    let (first, second) = ("smps-in-process", "smps-over-socket");
    if !is_installed("ibsim") {
        let alone =
            |figure: &dyn Fn() -> f64| Sample::new((0..REPETITIONS).map(|_| figure()).collect());
        let (in_process, over_ours) = (alone(&in_process), alone(&over_ours));
        return Ok(vec![
            Row::without_peer("sim", first, INSTALL, UNIT, Some(&in_process)),
            Row::without_peer("sim", second, INSTALL, UNIT, Some(&over_ours)),
        ]);
    }
    let theirs = Ibsim::start(&fabric_file(FABRIC))?;
    let over_theirs = || over_socket(theirs.name(), 20_000).unwrap_or(f64::NAN);
    let (ours, peer) = figures_by_turns(REPETITIONS, in_process, over_theirs);
    let mut rows = vec![Row::rates("sim", first, PEER, UNIT, &ours, &peer)];
    let (ours, peer) = figures_by_turns(REPETITIONS, over_ours, over_theirs);
    rows.push(Row::rates("sim", second, PEER, UNIT, &ours, &peer));
    Ok(rows)
}

fn request(id: u32) -> Mad {
    let path = DrPath::OWN_NODE.then(PortNum(1)).unwrap_or_default();
    let mut smp = SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path);
    smp.set_transaction_id(ib_mad::TransactionId(id.into()));
    let mut mad = Mad::new(MadAddress::DIRECTED);
    mad.bytes = *smp.as_bytes();
    mad
}

/// SMPs a second through the transport in process.
fn in_process(fabric: &Fabric, port: PortRef) -> Result<f64, Failure> {
    let sim = Sim::new(fabric, SimOptions::default()).share();
    let mut transport = sim.attach(port)?;
    rate(&mut transport, &sim, 1_000_000)
}

/// SMPs a second through ibsim's socket protocol.
fn over_socket(server: &str, count: u32) -> Result<f64, Failure> {
    let options = IbsimOptions {
        server: server.to_owned(),
        node: "host00000 HCA-1".to_owned(),
        announce_sm: false,
    };
    let mut port = IbsimPort::attach(&options)?;
    rate(&mut port, &MonotonicClock::start(), count)
}

/// Keeps `WINDOW` requests in flight until `count` are answered. A datagram that is lost ends the measurement.
fn rate(
    transport: &mut impl MadTransport<Error = ib_transport::TransportError>,
    clock: &impl Clock,
    count: u32,
) -> Result<f64, Failure> {
    let start = Instant::now();
    for id in 0..WINDOW {
        transport.send(clock.now(), &request(id))?;
    }
    for answered in 0..count {
        let deadline = clock.now() + Duration::from_secs(1);
        let (now, received) = receive(transport, clock, Some(deadline))?;
        match received {
            Some(Received::Mad(_)) => {}
            other => return Err(format!("after {answered} answers: {other:?}").into()),
        }
        if answered + WINDOW < count {
            transport.send(now, &request(answered + WINDOW))?;
        }
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

/// `ib sim` with a socket name and a directory of its own, as [`Ibsim`] has them; killed when dropped.
pub(crate) struct OurProgram {
    child: Child,
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
}

impl OurProgram {
    pub(crate) fn start(ib: &Path, fabric: impl AsRef<OsStr>) -> Result<Self, Failure> {
        let name = unique_name();
        let directory = std::env::temp_dir().join(&name);
        fs::create_dir_all(&directory)?;
        let mut command = Command::new(ib);
        command
            .args(["sim", "--socket", &name, "--fabric"])
            .arg(fabric)
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let mut started = Self {
            child: command.spawn()?,
            name,
            directory,
        };
        while !is_listening(&started.name) {
            if let Some(status) = started.child.try_wait()? {
                return Err(format!("{command:?}: {status}").into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(started)
    }

    /// Gives the server's console a line.
    pub(crate) fn console(&mut self, line: &str) -> Result<(), Failure> {
        let console = self.child.stdin.as_mut().ok_or("the console is closed")?;
        writeln!(console, "{line}")?;
        Ok(console.flush()?)
    }
}

impl Drop for OurProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Our server, in a thread of its own.
struct OurServer {
    name: String,
    stop: Arc<AtomicBool>,
}

impl OurServer {
    fn start(fabric: &Fabric) -> Result<Self, Failure> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("ib-compare-{}-{number}", std::process::id());
        let options = ServerOptions::new(Listen::Unix(name.clone()));
        let mut server = Server::bind(fabric, &options)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::spawn(move || server.run(None, &mut std::io::sink(), &stopped));
        Ok(Self { name, stop })
    }
}

impl Drop for OurServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
