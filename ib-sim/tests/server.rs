//! The server against clients that behave, and that do not.
#![cfg(target_os = "linux")]

mod lab;

use std::io::Cursor;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ib_mad::{Attribute, Mad, MadAddress, Method};
use ib_routing::{Fabric, FabricBuilder, NewNode, NodeType};
use ib_sim::server::{Listen, Server, ServerOptions};
use ib_smp::{NodeInfo, SmpDirected};
use ib_transport::ibsim::{Control, IbsimOptions, IbsimPort, control_type};
use ib_transport::{Clock, MadTransport, MonotonicClock, Received};
use ib_wire::Guid;
use zerocopy::IntoBytes;

use lab::{at, fabric, path};

/// A server in a thread; it ends with the test.
struct Running {
    name: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<String>>,
}

impl Running {
    fn start(console: &str) -> Self {
        Self::serve(&fabric(), console)
    }

    fn serve(fabric: &Fabric, console: &str) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("ib-sim-test-{}-{number}", std::process::id());
        let options = ServerOptions::new(Listen::Unix(name.clone()));
        let mut server = Server::bind(fabric, &options).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let console = Box::new(Cursor::new(console.to_owned()));
        let thread = std::thread::spawn(move || {
            let mut output = Vec::new();
            server.run(Some(console), &mut output, &stopped).unwrap();
            String::from_utf8(output).unwrap()
        });
        Self {
            name,
            stop,
            thread: Some(thread),
        }
    }

    /// Ends the server and gives what its console printed.
    fn end(mut self) -> String {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }

    fn attach(&self, node: &str) -> Client {
        let clock = MonotonicClock::start();
        let options = IbsimOptions {
            server: self.name.clone(),
            node: node.to_owned(),
            announce_sm: false,
        };
        let port = IbsimPort::attach(&options, clock).unwrap();
        Client { port, clock }
    }

    /// A socket with a name of its own.
    fn stranger(&self, own: &str) -> UnixDatagram {
        let own = SocketAddr::from_abstract_name(format!("{}:{own}\0", self.name)).unwrap();
        let socket = UnixDatagram::bind_addr(&own).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
        socket
    }

    /// A stranger's socket that is connected to the control socket.
    fn control(&self, own: &str) -> UnixDatagram {
        let socket = self.stranger(own);
        let to = SocketAddr::from_abstract_name(format!("{}:ctl\0", self.name)).unwrap();
        socket.connect_addr(&to).unwrap();
        socket
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Client {
    port: IbsimPort,
    clock: MonotonicClock,
}

impl Client {
    fn guid(&mut self, ports: &[u8]) -> Option<Guid> {
        let mut mad = Mad::new(MadAddress::DIRECTED);
        mad.bytes = *SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path(ports)).as_bytes();
        self.port.send(&mad).unwrap();
        let deadline = self.clock.now() + Duration::from_secs(2);
        match self.port.recv(Some(deadline)).unwrap()? {
            Received::Mad(mad) => {
                let smp = SmpDirected::from_bytes(mad.bytes);
                let info = NodeInfo::from_bytes(*smp.smp_data().first_chunk().unwrap());
                Some(info.node_guid())
            }
            Received::Returned(_) => None,
        }
    }
}

#[test]
fn a_client_reaches_the_whole_fabric_and_learns_at_once_what_it_cannot_reach() {
    let server = Running::start("");
    let mut client = server.attach("H");
    assert_eq!(client.guid(&[]), Some(Guid(0x100)));
    assert_eq!(client.guid(&[1, 7, 5]), Some(Guid(0x400)));
    let asked = client.clock.now();
    assert_eq!(client.guid(&[1, 3]), None);
    assert!(client.clock.now().since(asked) < Duration::from_secs(1));
}

#[test]
fn there_is_room_for_more_than_ten_clients() {
    let server = Running::start("");
    // A process has one data socket per server, so the others are made by hand.
    let control = server.control("ctl-many");
    let mut data = Vec::new();
    for id in 1_000_000..1_000_050u32 {
        data.push(server.stranger(&format!("in{id}")));
        let mut info = [0; 44];
        info[..4].copy_from_slice(&id.to_ne_bytes());
        info[12] = b'T';
        let request = Control::new(control_type::CONNECT, 0, &info);
        control.send(request.as_bytes()).unwrap();
        let mut reply = [0; Control::LEN];
        control.recv(&mut reply).unwrap();
        let reply = Control::parse(&reply).unwrap();
        assert_eq!(reply.type_.get(), control_type::CONNECT, "client {id}");
    }
    assert_eq!(server.attach("H").guid(&[1]), Some(Guid(0x200)));
}

#[test]
fn there_is_room_for_more_than_2048_nodes_and_256_switches() {
    // 1 + 18 + 288 switches, 3168 hosts: a root, its children, theirs, and 11 hosts on each of the last.
    let mut builder = FabricBuilder::new();
    let mut guid = 0x1000;
    let mut add = |builder: &mut FabricBuilder, type_, num_ports| {
        guid += 0x100;
        let node = NewNode {
            type_,
            guid: Guid(guid),
            num_ports,
            name: format!("N-{guid:x}"),
            ..NewNode::default()
        };
        builder.add_node(node).unwrap()
    };
    let root = add(&mut builder, NodeType::Switch, 18);
    let mut last = root;
    for child in 1..=18 {
        let middle = add(&mut builder, NodeType::Switch, 36);
        builder.add_link(at(root, child), at(middle, 36)).unwrap();
        for leaf in 1..=16 {
            let switch = add(&mut builder, NodeType::Switch, 12);
            builder.add_link(at(middle, leaf), at(switch, 12)).unwrap();
            for host in 1..=11 {
                last = add(&mut builder, NodeType::Ca, 1);
                builder.add_link(at(switch, host), at(last, 1)).unwrap();
            }
        }
    }
    let fabric = builder.build();
    assert_eq!((fabric.nodes().len(), fabric.num_switches()), (3475, 307));
    let guid = fabric.nodes()[last].guid;
    let server = Running::serve(&fabric, "");
    let mut client = server.attach(&format!("N-{:x}", guid.0));
    assert_eq!(client.guid(&[]), Some(guid));
    assert_eq!(
        client.guid(&[1, 12, 36, 1, 1, 1]),
        Some(Guid(0x1400)),
        "the first host"
    );
}

#[test]
fn a_flood_and_a_client_that_is_gone_in_mid_exchange_harm_nobody() {
    let server = Running::start("");
    let mut client = server.attach("H");
    let control = server.control("ctl-flood");
    let data = server.stranger("in77");
    let mut info = [0; 44];
    info[..4].copy_from_slice(&77u32.to_ne_bytes());
    info[12] = b'T';
    let request = Control::new(control_type::CONNECT, 0, &info);
    control.send(request.as_bytes()).unwrap();
    let mut reply = [0; Control::LEN];
    control.recv(&mut reply).unwrap();
    let slot = u32::from_ne_bytes(*reply[16..].first_chunk().unwrap());
    let to = SocketAddr::from_abstract_name(format!("{}:out{slot}\0", server.name)).unwrap();
    data.connect_addr(&to).unwrap();
    data.set_nonblocking(true).unwrap();
    // Requests whose answers nobody reads, and halves of requests.
    let mut mad = [0; 288];
    mad[..2].copy_from_slice(&[0xff, 0xff]);
    mad[4..6].copy_from_slice(&[0xff, 0xff]);
    mad[32..]
        .copy_from_slice(SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path(&[])).as_bytes());
    let mut sent = 0;
    for turn in 0..20_000 {
        let len = if turn % 3 == 0 { 100 } else { mad.len() };
        sent += u32::from(data.send(&mad[..len]).is_ok());
        if turn % 1000 == 0 {
            assert_eq!(client.guid(&[1]), Some(Guid(0x200)), "after {turn}");
        }
    }
    assert!(sent > 1000, "{sent}");
    drop(data);
    assert_eq!(client.guid(&[1, 7, 5]), Some(Guid(0x400)));
    // Its slot is free again as soon as something was for it; the fabric serves whoever comes.
    assert_eq!(server.attach("T").guid(&[]), Some(Guid(0x400)));
}

#[test]
fn garbage_harms_nobody() {
    let server = Running::start("");
    let mut client = server.attach("H");
    let control = server.control("ctl-garbage");
    for len in [0, 1, 79, 80, 81, 287, 288, 4096] {
        control.send(&vec![0xa5; len]).unwrap();
    }
    for type_ in 0..=20 {
        for slot in [0, 1, 9, 10, u32::MAX] {
            let message = Control::new(type_, slot, &[0xff; 64]);
            control.send(message.as_bytes()).unwrap();
            let mut reply = [0; 512];
            if let Ok(len) = control.recv(&mut reply) {
                assert_eq!(len, Control::LEN);
            }
            if slot == 0 && type_ == control_type::DISCONNECT {
                // That was the client's own slot: what its process may do, this one may, too.
                drop(client);
                client = server.attach("H");
            }
        }
    }
    assert_eq!(client.guid(&[1]), Some(Guid(0x200)));
}

#[test]
fn the_console_changes_the_fabric_and_says_what_is_wrong() {
    let server = Running::start(
        "Unlink \"S2\"[5]\nfoo\nLink \"S2\"[9] \"T\"[1]\nError \"T\" 101\nBaselid \"H\"[1] 7\nRoute 7 7\n",
    );
    let mut client = server.attach("H");
    let mut waited = 0;
    while client.guid(&[1, 7, 5]).is_some() && waited < 100 {
        std::thread::sleep(Duration::from_millis(20));
        waited += 1;
    }
    assert_eq!(client.guid(&[1, 7, 5]), None);
    assert_eq!(client.guid(&[1, 7]), Some(Guid(0x300)));
    std::thread::sleep(Duration::from_millis(300));
    let output = server.end();
    for line in [
        "command 'foo' unknown - skipped",
        "# Link: nodeid \"S2\" has no port 9",
        "# Error: 101: expected a percentage from 0 to 100",
        "From node \"H\" port 1 lid 7",
    ] {
        assert!(output.contains(line), "{line:?} is not in {output:?}");
    }
}

/// What a server prints that a console tells to quit.
fn console(commands: &str) -> String {
    let mut server = Running::serve(&fabric(), commands);
    let thread = server.thread.take().unwrap();
    thread.join().unwrap()
}

#[test]
fn a_file_of_commands_waits_where_it_says_so() {
    let directory = std::env::temp_dir();
    let file = directory.join(format!("ib-sim-console-{}", std::process::id()));
    let inner = directory.join(format!("ib-sim-console-{}-inner", std::process::id()));
    let text = format!("Verbose 1\n! {} \nVerbose 3\nQuit\n", inner.display());
    std::fs::write(&file, text).unwrap();
    std::fs::write(&inner, "Verbose 2\nWait 1\n").unwrap();
    let started = std::time::Instant::now();
    let output = console(&format!("!{}\nVerbose 4\n", file.display()));
    let took = started.elapsed();
    for file in [file, inner] {
        std::fs::remove_file(file).unwrap();
    }
    let levels: Vec<_> = output
        .lines()
        .filter_map(|line| line.strip_prefix("simulator verbose level is "))
        .collect();
    // `Quit` in a file ends the server: what was typed behind it is not carried out.
    assert_eq!(levels, ["1", "2", "3"], "{output}");
    assert!(took >= Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_file_of_commands_that_reads_itself_ends() {
    let file = std::env::temp_dir().join(format!("ib-sim-console-{}-loop", std::process::id()));
    let text = format!("Verbose 1\n!{}\n", file.display());
    std::fs::write(&file, text).unwrap();
    let output = console(&format!("!{}\nQuit\n", file.display()));
    std::fs::remove_file(file).unwrap();
    assert_eq!(output.matches("simulator verbose level is 1").count(), 9);
    assert!(output.contains("files are nested too deep"), "{output}");
}

/// The server that the test below, run again as another user, is to visit.
const VISIT: &str = "IB_SIM_VISIT";

/// What whoever runs this finds at a server.
fn visit(name: &str) {
    let socket = |own: &str| {
        let own = SocketAddr::from_abstract_name(format!("{name}:{own}\0")).unwrap();
        UnixDatagram::bind_addr(&own).unwrap()
    };
    let address = |of: &str| SocketAddr::from_abstract_name(format!("{name}:{of}\0")).unwrap();
    let (control, _data) = (socket("ctl4242"), socket("in4242"));
    let wait = Some(Duration::from_millis(500));
    control.set_read_timeout(wait).unwrap();
    control.connect_addr(&address("ctl")).unwrap();
    let mut info = [0; 44];
    info[..4].copy_from_slice(&4242u32.to_ne_bytes());
    let request = Control::new(control_type::CONNECT, 0, &info);
    control.send(request.as_bytes()).unwrap();
    println!("answered: {}", control.recv(&mut [0; 512]).is_ok());
    // The data socket of the client that was there before.
    let stolen = socket("thief").connect_addr(&address("out0"));
    println!("another's socket: {}", stolen.is_ok());
}

#[test]
fn the_sockets_are_their_users_own() {
    use std::os::unix::{fs::MetadataExt as _, process::CommandExt as _};
    if let Ok(name) = std::env::var(VISIT) {
        return visit(&name);
    }
    let server = Running::start("");
    let mut client = server.attach("H");
    // Who is another user must be able to run the program.
    let program = std::env::temp_dir().join(&server.name);
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let visit = |user: Option<u32>| {
        let mut command = std::process::Command::new(&program);
        command.args(["--exact", "the_sockets_are_their_users_own", "--nocapture"]);
        command.env(VISIT, &server.name).current_dir("/");
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let own = visit(None);
    assert!(own.contains("answered: true"), "{own}");
    assert!(own.contains("another's socket: false"), "{own}");
    // Only root can become somebody else.
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        let stranger = visit(Some(65534));
        assert!(stranger.contains("answered: false"), "{stranger}");
        assert!(stranger.contains("another's socket: false"), "{stranger}");
    }
    std::fs::remove_file(program).unwrap();
    assert_eq!(client.guid(&[1]), Some(Guid(0x200)));
}
