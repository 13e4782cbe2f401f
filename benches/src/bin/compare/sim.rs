//! The simulator beside ibsim: how many SMPs a second each of them carries.
//!
//! Every case asks the node at distance 1 for its NodeInfo, with 32 requests in flight: in process through a
//! transport, and through ibsim's socket protocol with one client against both servers.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ib_mad::{Attribute, Mad, MadAddress, Method};
use ib_routing::{Fabric, NodeType, PortRef, format::ibnetdiscover};
use ib_sim::server::{Listen, Server, ServerOptions};
use ib_sim::{Sim, SimOptions};
use ib_smp::{DrPath, NodeInfo, SmpDirected};
use ib_transport::ibsim::{IbsimOptions, IbsimPort};
use ib_transport::interop::Ibsim;
use ib_transport::{Clock, MadTransport, MonotonicClock, Received};
use ib_wire::PortNum;

use crate::measure::{Sample, figures_by_turns, is_installed};
use crate::row::Row;

const WINDOW: u32 = 32;
const REPETITIONS: usize = 7;
const PEER: &str = "ibsim over its socket (window 32)";
const INSTALL: &str = "apt-get install ibsim-utils";
const UNIT: &str = "SMPs/s";
const FABRIC: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../ib-routing/testdata/fabrics/gen-line-2.net"
);

type Failure = Box<dyn Error>;

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    match measure() {
        Ok(rows) => rows,
        Err(error) => {
            eprintln!("sim: {error}");
            Vec::new()
        }
    }
}

fn measure() -> Result<Vec<Row>, Failure> {
    let fabric = ibnetdiscover::read(&fs::read_to_string(FABRIC)?)?.fabric;
    let port = host(&fabric).ok_or("the fabric has no host")?;
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
    let theirs = Ibsim::start(Path::new(FABRIC))?;
    let over_theirs = || over_socket(theirs.name(), 20_000).unwrap_or(f64::NAN);
    let (ours, peer) = figures_by_turns(REPETITIONS, in_process, over_theirs);
    let mut rows = vec![Row::rates("sim", first, PEER, UNIT, &ours, &peer)];
    let (ours, peer) = figures_by_turns(REPETITIONS, over_ours, over_theirs);
    rows.push(Row::rates("sim", second, PEER, UNIT, &ours, &peer));
    Ok(rows)
}

/// The first port of the first CA.
fn host(fabric: &Fabric) -> Option<PortRef> {
    let mut nodes = fabric.nodes().iter_enumerated();
    let (node, _) = nodes.find(|(_, node)| node.type_ == NodeType::Ca)?;
    let port = PortNum(1);
    Some(PortRef { node, port })
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
    rate(&mut transport, None, 1_000_000)
}

/// SMPs a second through ibsim's socket protocol.
fn over_socket(server: &str, count: u32) -> Result<f64, Failure> {
    let options = IbsimOptions {
        server: server.to_owned(),
        node: "host00000 HCA-1".to_owned(),
        announce_sm: false,
    };
    let clock = MonotonicClock::start();
    let mut port = IbsimPort::attach(&options, clock)?;
    rate(&mut port, Some(&clock), count)
}

/// Keeps `WINDOW` requests in flight until `count` are answered. A datagram that is lost ends the measurement.
fn rate(
    transport: &mut impl MadTransport,
    clock: Option<&MonotonicClock>,
    count: u32,
) -> Result<f64, Failure> {
    let start = Instant::now();
    for id in 0..WINDOW {
        transport.send(&request(id))?;
    }
    for answered in 0..count {
        let deadline = clock.map(|clock| clock.now() + Duration::from_secs(1));
        match transport.recv(deadline)? {
            Some(Received::Mad(_)) => {}
            other => return Err(format!("after {answered} answers: {other:?}").into()),
        }
        if answered + WINDOW < count {
            transport.send(&request(answered + WINDOW))?;
        }
    }
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

/// Our server, in a thread of its own.
struct OurServer {
    name: String,
    stop: Arc<AtomicBool>,
}

impl OurServer {
    fn start(fabric: &Fabric) -> Result<Self, Failure> {
        let name = format!("ib-compare-{}", std::process::id());
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
