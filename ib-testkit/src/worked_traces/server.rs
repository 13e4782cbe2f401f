//! A running server, and clients of it.

use std::io::{BufRead, Cursor};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ib_mad::{Attribute, Mad, Method};
use ib_routing::Fabric;
use ib_sim::server::{Listen, Server, ServerOptions};
use ib_smp::{NodeInfo, SmpDirected};
use ib_transport::ibsim::{ClientInfo, Control, Datagram, IbsimOptions, IbsimPort, control_type};
use ib_transport::{Clock, MadTransport, MonotonicClock, Received, TransportError, receive};
use ib_wire::Guid;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::{fabric, path};

/// A server in a thread; it ends with the test.
pub struct Running {
    /// The name by which clients attach.
    pub name: String,
    stop: Arc<AtomicBool>,
    /// The thread; when it ends it returns the console's output.
    pub thread: Option<JoinHandle<String>>,
}

impl Running {
    /// Starts a server of the worked traces, with these lines at the console.
    pub fn start(console: &str) -> Self {
        Self::serve(&fabric(), console)
    }

    /// Starts a server of a fabric, with these lines at the console.
    pub fn serve(fabric: &Fabric, console: &str) -> Self {
        let console = Box::new(Cursor::new(console.to_owned()));
        Self::run(fabric, console, |_| {})
    }

    /// Starts a server of the worked traces, with a console that a test writes to.
    pub fn with_console(console: Box<dyn BufRead + Send>) -> Self {
        Self::run(&fabric(), console, |_| {})
    }

    /// Starts a server whose options `change` alters.
    pub fn with(change: impl FnOnce(&mut ServerOptions)) -> Self {
        Self::run(&fabric(), Box::new(std::io::empty()), change)
    }

    /// Starts a server of the worked traces that shows a function every datagram of its clients.
    pub fn observed(observer: impl FnMut(&Mad) + Send + 'static) -> Self {
        let console = Box::new(std::io::empty());
        Self::prepared(
            &fabric(),
            console,
            |_| {},
            |server| server.observe(observer),
        )
    }

    fn run(
        fabric: &Fabric,
        console: Box<dyn BufRead + Send>,
        change: impl FnOnce(&mut ServerOptions),
    ) -> Self {
        Self::prepared(fabric, console, change, |_| {})
    }

    fn prepared(
        fabric: &Fabric,
        console: Box<dyn BufRead + Send>,
        change: impl FnOnce(&mut ServerOptions),
        prepare: impl FnOnce(&mut Server),
    ) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("ib-sim-test-{}-{number}", std::process::id());
        let mut options = ServerOptions::new(Listen::Unix(name.clone()));
        change(&mut options);
        let mut server = Server::bind(fabric, &options).unwrap();
        prepare(&mut server);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
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

    /// Ends the server and returns the output of its console.
    pub fn end(mut self) -> String {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }

    /// A client at this node.
    pub fn attach(&self, node: &str) -> Client {
        self.try_attach(node, false).unwrap()
    }

    /// A client at this node, if the server admits it.
    pub fn try_attach(&self, node: &str, announce_sm: bool) -> Result<Client, TransportError> {
        let options = IbsimOptions {
            server: self.name.clone(),
            node: node.to_owned(),
            announce_sm,
        };
        let port = IbsimPort::attach(&options)?;
        let clock = MonotonicClock::start();
        Ok(Client { port, clock })
    }

    /// A socket with a name of its own.
    pub fn stranger(&self, own: &str) -> UnixDatagram {
        let socket = UnixDatagram::bind_addr(&self.address(own)).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(2000)))
            .unwrap();
        socket
    }

    /// A socket of another program, connected to the control socket.
    pub fn control(&self, own: &str) -> UnixDatagram {
        let socket = self.stranger(own);
        socket.connect_addr(&self.address("ctl")).unwrap();
        socket
    }

    /// The address of a socket of the server: `ctl`, `out0`.
    pub fn address(&self, of: &str) -> SocketAddr {
        SocketAddr::from_abstract_name(format!("{}:{of}\0", self.name)).unwrap()
    }

    /// A raw client, which leaves without a DISCONNECT when it is dropped; `None` if the server refuses it.
    pub fn raw(&self, id: u32, node: &str, is_sm: bool) -> Option<RawClient> {
        let control = self.control(&format!("ctl{id}"));
        let data = self.stranger(&format!("in{id}"));
        let mut info = ClientInfo::new_zeroed();
        info.id = id.into();
        info.issm = u32::from(is_sm).into();
        info.set_node_name(node.as_bytes());
        let request = Control::new(control_type::CONNECT, 0, info.as_bytes());
        let reply = exchange(&control, &request);
        if reply.type_.get() != control_type::CONNECT {
            return None;
        }
        let (info, _) = ClientInfo::read_from_prefix(&reply.data).unwrap();
        let slot = info.id.get();
        data.connect_addr(&self.address(&format!("out{slot}")))
            .unwrap();
        Some(RawClient {
            control,
            data,
            slot,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Sends a control message and returns its reply.
pub fn exchange(control: &UnixDatagram, request: &Control) -> Control {
    control.send(request.as_bytes()).unwrap();
    let mut reply = [0; Control::LEN];
    control.recv(&mut reply).unwrap();
    Control::parse(&reply).unwrap()
}

/// A raw client.
pub struct RawClient {
    /// The control socket.
    pub control: UnixDatagram,
    /// The socket of datagrams.
    pub data: UnixDatagram,
    /// The number that the server assigned to the client.
    pub slot: u32,
}

impl RawClient {
    /// Sends a control message for a slot; returns whether the server carried it out.
    pub fn ask(&self, type_: u32, slot: u32, data: &[u8]) -> Option<[u8; 64]> {
        let reply = exchange(&self.control, &Control::new(type_, slot, data));
        (reply.type_.get() == type_).then_some(reply.data)
    }

    /// Sends a datagram.
    pub fn send(&self, message: &Datagram) {
        self.data.send(message.as_bytes()).unwrap();
    }

    /// The next datagram; `None` after the time-out of the socket, 2 s.
    pub fn recv(&self) -> Option<Datagram> {
        let mut bytes = [0; Datagram::LEN];
        self.data.recv(&mut bytes).ok()?;
        Datagram::parse(&bytes).copied()
    }
}

/// A client that uses this project's own library.
pub struct Client {
    /// The port.
    pub port: IbsimPort,
    /// Its clock.
    pub clock: MonotonicClock,
}

impl Client {
    /// The GUID of the node at the end of a route.
    pub fn guid(&mut self, ports: &[u8]) -> Option<Guid> {
        let request = SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path(ports));
        let smp = self.ask(&request)?;
        let info = NodeInfo::from_bytes(*smp.smp_data().first_chunk().unwrap());
        Some(info.node_guid())
    }

    /// The answer to a request; `None`: the server returned it.
    pub fn ask(&mut self, request: &SmpDirected) -> Option<SmpDirected> {
        let now = self.clock.now();
        self.port.send(now, &request.to_mad()).unwrap();
        let deadline = now + Duration::from_secs(2);
        let received = receive(&mut self.port, &self.clock, Some(deadline)).unwrap();
        match received.1? {
            Received::Mad(mad) => Some(SmpDirected::from_bytes(mad.bytes)),
            Received::Returned(_) => None,
        }
    }
}
