//! A port of a simulated fabric over ibsim's socket protocol: no preloaded library, no pretended files.
//!
//! A client binds two datagram sockets of its own, asks the server's control socket for a slot, and
//! then exchanges one message of 288 bytes per management datagram with that slot's socket. It works
//! against ibsim and against this project's own server alike.

use std::{
    collections::VecDeque,
    fmt, io,
    os::{
        fd::{AsFd, BorrowedFd},
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram},
    },
    time::Duration,
};

use ib_mad::{
    AttributeId, Instant, Mad, MadAddress, MadHeader, Method, MgmtClass, RmppData, RmppType,
};
use ib_wire::{Lid, Qpn, Sl};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::{ClientInfo, Control, Datagram, MAX_JOINED, Messages, control_type, send_messages};
use crate::{MadTransport, Received, TransportError, mmsg::MAX_BATCH};

/// SMInfo (IBA vol. 1, 14.2.5.13).
const SM_INFO: AttributeId = AttributeId(0x0020);

/// Options of the attachment to a simulated port.
#[derive(Clone, Debug)]
pub struct IbsimOptions {
    /// The server's socket name (`IBSIM_SOCKNAME`).
    pub server: String,
    /// The node to sit on, by its id in the server's file; empty: the server's default.
    pub node: String,
    /// Announces a subnet manager on the port, which also receives requests then.
    pub announce_sm: bool,
}

impl Default for IbsimOptions {
    fn default() -> Self {
        Self {
            server: "sim".to_owned(),
            node: String::new(),
            announce_sm: false,
        }
    }
}

/// A port of a fabric that ibsim, or a server of its kind, simulates.
///
/// Datagrams are queued and leave together: when as many are queued as one system call takes, when the port is asked for
/// a datagram and none is left from the last read, when it waits, when it is flushed, and when it is dropped.
pub struct IbsimPort {
    control: UnixDatagram,
    data: UnixDatagram,
    /// Our slot in the server.
    slot: u32,
    /// Number of messages that the server accepts in one datagram; 1 if they are not joined.
    per_datagram: usize,
    /// Node to which this client is attached, by the name that the server uses.
    node: String,
    /// Messages that wait to be sent; fewer than [`MAX_BATCH`] between two calls.
    queued: Vec<Datagram>,
    /// Datagrams that were read and not yet asked for.
    arrived: VecDeque<Received>,
    /// Time of the last read, if it found all that was there and no further one was left out since.
    emptied_at: Option<Instant>,
    /// Space for a read.
    space: Messages,
}

impl fmt::Debug for IbsimPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IbsimPort")
            .field("slot", &self.slot)
            .field("node", &self.node)
            .finish_non_exhaustive()
    }
}

impl IbsimPort {
    /// A server answers control requests at once; one that does not is taken for dead.
    const CONTROL_TIMEOUT: Duration = Duration::from_secs(5);

    /// Once a read has found all that was there, the next one is left out if it comes so soon: it would find little, and a
    /// wait follows as a rule, which ends at once if something has arrived. Far below the time-out of any request.
    const STILL_EMPTY: Duration = Duration::from_millis(1);

    /// Attaches to a node of the server.
    ///
    /// # Errors
    /// [`NoPort`](TransportError::NoPort) if no server listens under the name or it refuses us: no free
    /// slot, an unknown node, or a subnet manager that is announced on the node already and is alive.
    pub fn attach(options: &IbsimOptions) -> Result<Self, TransportError> {
        let server = &options.server;
        let (id, control, data) = bind_pair(server).map_err(io_error("bind a socket"))?;
        let refused = |reason: String| TransportError::NoPort { reason };
        control
            .connect_addr(&address(&format!("{server}:ctl")).map_err(io_error("name a socket"))?)
            .map_err(|error| refused(format!("no simulator listens as `{server}` ({error})")))?;
        control
            .set_read_timeout(Some(Self::CONTROL_TIMEOUT))
            .map_err(io_error("set a time-out"))?;
        let connect = |is_sm: bool| {
            let mut info = ClientInfo::new_zeroed();
            info.id = id.into();
            info.issm = u32::from(is_sm).into();
            info.set_node_name(options.node.as_bytes());
            let request = Control::new(control_type::CONNECT, 0, info.as_bytes());
            let reply = exchange(&control, &request, server)?;
            let is_granted = reply.type_.get() == control_type::CONNECT;
            Ok::<_, TransportError>(is_granted.then(|| {
                match ClientInfo::read_from_prefix(&reply.data) {
                    Ok((answer, _)) => answer,
                    Err(_) => info,
                }
            }))
        };
        let mut granted = connect(options.announce_sm)?;
        // ibsim keeps the registration of a manager that was killed, and grants a slot to a client that announces none.
        let is_refused_as_manager = granted.is_none() && options.announce_sm;
        if is_refused_as_manager {
            granted = connect(false)?;
        }
        let node = match options.node.as_str() {
            "" => "its default node",
            node => node,
        };
        let Some(info) = granted else {
            return Err(refused(format!(
                "the simulator `{server}` refuses a client on {node}: the node is unknown, or no slot is free"
            )));
        };
        let mut port = Self {
            control,
            data,
            slot: info.id.get(),
            per_datagram: 1,
            node: String::from_utf8_lossy(info.node_name()).into_owned(),
            queued: Vec::with_capacity(MAX_BATCH),
            arrived: VecDeque::new(),
            emptied_at: None,
            space: Messages::default(),
        };
        let slot =
            address(&format!("{server}:out{}", port.slot)).map_err(io_error("name a socket"))?;
        port.data
            .connect_addr(&slot)
            .map_err(io_error("connect to the slot's socket"))?;
        port.join_messages()?;
        if is_refused_as_manager && !port.unregister_dead_manager()? {
            return Err(refused(format!(
                "the simulator `{server}` refuses a second subnet manager on {node}: one sits there and is alive"
            )));
        }
        if options.announce_sm {
            port.announce_sm(true)?;
        }
        Ok(port)
    }

    /// Agrees with the server that messages are joined, if it can do that; ibsim cannot.
    fn join_messages(&mut self) -> Result<(), TransportError> {
        let question = Control::new(control_type::JOIN, self.slot, &[]);
        let reply = exchange(&self.control, &question, &self.node)?;
        let number = reply.data.first_chunk().copied().map(u32::from_ne_bytes);
        let is_number = reply.type_.get() == control_type::JOIN && reply.len.get() == 4;
        let number = number.filter(|_| is_number).map(usize::try_from);
        if let Some(Ok(number)) = number {
            self.per_datagram = number.clamp(1, MAX_JOINED);
        }
        Ok(())
    }

    /// Asks for the SMInfo of the own node. The server passes that on to the manager that is registered there, and
    /// ends the registration if the manager's socket is gone: ibsim notices only then that a client was killed. Returns
    /// true if no manager is registered any more.
    fn unregister_dead_manager(&mut self) -> Result<bool, TransportError> {
        let mut request = Mad::new(MadAddress::DIRECTED);
        request
            .header_mut()
            .set_base_version(1)
            .set_mgmt_class(MgmtClass::SUBN_DIRECTED)
            .set_class_version(1)
            .set_method(Method::GET)
            .set_attribute_id(SM_INFO);
        // DrSLID and DrDLID: the route of no hops has no LID-routed part.
        for byte in request.bytes.iter_mut().skip(32).take(4) {
            *byte = 0xff;
        }
        self.queued.push(message(&request));
        self.send_queued(None)?;
        // The server reads both sockets in one loop. When it answers the second question, the request, which was there
        // before the first one, has been passed on or returned.
        for _ in 0..2 {
            let question = Control::new(control_type::GET_PORT, self.slot, &[]);
            exchange(&self.control, &question, &self.node)?;
        }
        self.read()?;
        let returned = |received: &Received| matches!(received, Received::Returned(_));
        Ok(self.arrived.drain(..).any(|received| returned(&received)))
    }

    /// Node to which this client is attached, by the name that the server uses.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Sets or clears IsSM in the port's CapabilityMask.
    ///
    /// # Errors
    /// If the server does not answer, or refuses.
    pub fn announce_sm(&mut self, on: bool) -> Result<(), TransportError> {
        self.send_queued(None)?;
        let on = u32::from(on).to_ne_bytes();
        let request = Control::new(control_type::SET_ISSM, self.slot, &on);
        let reply = exchange(&self.control, &request, &self.node)?;
        if reply.type_.get() == control_type::SET_ISSM {
            Ok(())
        } else {
            Err(TransportError::NoPort {
                reason: "the simulator refuses a second subnet manager on the node".to_owned(),
            })
        }
    }

    /// Reads the messages that are there now.
    fn read(&mut self) -> Result<(), TransportError> {
        loop {
            match self.space.read(&self.data) {
                Ok(()) => self.arrived.extend(self.space.iter().map(received)),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {}
                Err(error) => return Err(gone(error)),
            }
            // One batch is enough while it has a datagram: a caller that is slow leaves the others to the kernel.
            if !self.arrived.is_empty() || !self.space.is_full() {
                return Ok(());
            }
        }
    }

    /// Sends what is queued; waits for room until `deadline`, or as long as it takes.
    fn send_queued(&mut self, deadline: Option<std::time::Instant>) -> Result<(), TransportError> {
        let mut sent = 0;
        while let Some(rest) = self.queued.get(sent..).filter(|rest| !rest.is_empty()) {
            match send_messages(&self.data, rest, self.per_datagram) {
                Ok(count) => sent = sent.saturating_add(count),
                Err(Errno::INTR) => {}
                // The server's queue is full. It may itself wait for us to read: take what is there.
                Err(Errno::AGAIN | Errno::NOBUFS) => {
                    let now = std::time::Instant::now();
                    let wait = deadline.map(|deadline| deadline.saturating_duration_since(now));
                    if wait.is_some_and(|wait| wait.is_zero()) {
                        return Err(gone(Errno::AGAIN));
                    }
                    self.poll(PollFlags::IN | PollFlags::OUT, wait)?;
                    self.read()?;
                }
                Err(error) => {
                    self.queued.clear();
                    return Err(gone(error));
                }
            }
        }
        self.queued.clear();
        Ok(())
    }

    fn poll(&self, events: PollFlags, wait: Option<Duration>) -> Result<(), TransportError> {
        // A wait that is too long for the kernel is one without end: it is asked again after each message.
        let timeout = wait.and_then(|wait| Timespec::try_from(wait).ok());
        match poll(&mut [PollFd::new(&self.data, events)], timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(gone(error)),
        }
    }
}

impl MadTransport for IbsimPort {
    type Error = TransportError;

    fn send(&mut self, _: Instant, mad: &Mad) -> Result<(), TransportError> {
        self.queued.push(message(mad));
        match self.queued.len() < MAX_BATCH {
            true => Ok(()),
            false => self.send_queued(None),
        }
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, TransportError> {
        if self.arrived.is_empty() {
            self.send_queued(None)?;
            let emptied_at = self.emptied_at.take();
            if emptied_at.is_none_or(|at| now.since(at) > Self::STILL_EMPTY) {
                self.read()?;
                let is_all = !self.arrived.is_empty() && !self.space.is_full();
                self.emptied_at = is_all.then_some(now);
            }
        }
        Ok(self.arrived.pop_front())
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, TransportError> {
        self.send_queued(None)?;
        if self.arrived.is_empty() {
            self.poll(PollFlags::IN, until.map(|until| until.since(now)))?;
        }
        Ok(true)
    }

    fn flush(&mut self, _: Instant) -> Result<(), TransportError> {
        self.send_queued(None)
    }
}

impl AsFd for IbsimPort {
    /// Readable when a datagram is there that was not read yet: `recv` may have others, so it is called until it has none
    /// before this is waited for.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.data.as_fd()
    }
}

impl Drop for IbsimPort {
    fn drop(&mut self) {
        // The time is bounded, so that the program ends although the server hangs. `drop` returns no error.
        let _ = self.send_queued(Some(std::time::Instant::now() + Self::CONTROL_TIMEOUT));
        // Waits for the reply: a server that answers a socket that is gone would not free the slot. If the
        // server itself is gone, nothing is left to free.
        let request = Control::new(control_type::DISCONNECT, self.slot, &[]);
        let _ = exchange(&self.control, &request, &self.node);
    }
}

/// The message that carries a datagram to the server.
fn message(mad: &Mad) -> Datagram {
    let permissive = mad.address.lid.is_permissive();
    Datagram {
        dlid: mad.address.lid.into(),
        // The server fills in our LID.
        slid: if permissive {
            Lid::PERMISSIVE
        } else {
            Lid::NONE
        }
        .into(),
        dqp: mad.address.qpn.bits().into(),
        sqp: own_queue_pair(mad).bits().into(),
        length: (mad.used_len() as u64).into(),
        mad: mad.bytes,
        ..Datagram::new_zeroed()
    }
}

/// The datagram that a message of the server carries.
fn received(message: &Datagram) -> Received {
    let mut mad = Mad {
        address: sender(message),
        bytes: message.mad,
    };
    let length = usize::try_from(message.length.get()).unwrap_or(Mad::LEN);
    complete(&mut mad.bytes, length);
    match message.status.get() {
        0 => Received::Mad(mad),
        _ => Received::Returned(mad),
    }
}

/// The queue pair that a datagram leaves by. A receiver keeps it as the place that reports and answers go to.
fn own_queue_pair(mad: &Mad) -> Qpn {
    match mad.header().mgmt_class().is_smp() {
        true => Qpn::SMI,
        false => Qpn::GSI,
    }
}

/// Does for a datagram of `length` bytes what the kernel does: the bytes behind are zero, and an answer of the
/// administrator that was left to the layer below, and that is whole, is a transfer of one segment.
///
/// The preloaded library of ibsim sends what its program left in memory behind a short datagram.
fn complete(bytes: &mut [u8; Mad::LEN], length: usize) {
    if !(1..Mad::LEN).contains(&length) {
        return;
    }
    for byte in bytes.iter_mut().skip(length) {
        *byte = 0;
    }
    let Some((header, rest)) = bytes.split_at_mut_checked(MadHeader::LEN) else {
        return;
    };
    let Ok((header, _)) = MadHeader::parse(header, 0) else {
        return;
    };
    if header.mgmt_class() != MgmtClass::SUBN_ADM || !header.method().is_response() {
        return;
    }
    // PayloadLength counts from the end of the RMPP header.
    let before = MadHeader::LEN.saturating_add(RmppData::LEN);
    let payload = length.checked_sub(before).map(u32::try_from);
    let (Some(Ok(payload)), Ok((rmpp, _))) = (payload, RmppData::parse_mut(rest, MadHeader::LEN))
    else {
        return;
    };
    // OpenSM writes no more than the flag Active, and leaves the rest of the header to the kernel.
    let is_unsegmented =
        matches!(rmpp.rmpp_type(), RmppType::NONE | RmppType::DATA) && rmpp.segment_number() == 0;
    if rmpp.active() && is_unsegmented {
        rmpp.set_rmpp_version(1)
            .set_rmpp_type(RmppType::DATA)
            .set_first(true)
            .set_last(true)
            .set_segment_number(1)
            .set_payload_length(payload);
    }
}

/// The source of a message.
fn sender(message: &Datagram) -> MadAddress {
    match message.sqp.get() {
        0 => MadAddress::smi(message.slid.into()),
        qpn => MadAddress {
            qpn: Qpn::try_new(qpn).unwrap_or(Qpn::GSI),
            ..MadAddress::gsi(message.slid.into(), Sl::ZERO)
        },
    }
}

/// Our id and the two sockets that carry it in their names. A process may attach several times.
fn bind_pair(server: &str) -> io::Result<(u32, UnixDatagram, UnixDatagram)> {
    let mut id = std::process::id();
    loop {
        let bind = |name: &str| UnixDatagram::bind_addr(&address(&format!("{server}:{name}{id}"))?);
        let pair = bind("ctl").and_then(|control| Ok((id, control, bind("in")?)));
        match pair {
            Ok(pair) => return Ok(pair),
            // Process numbers have 22 bits: the higher bits distinguish our own clients. One that is being closed may have
            // freed one of its names and not yet the other.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && id >> 22 < 255 => {
                id += 1 << 22
            }
            Err(error) => return Err(error),
        }
    }
}

/// An abstract address; the NUL at its end belongs to the name.
fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{name}\0"))
}

fn exchange(
    control: &UnixDatagram,
    request: &Control,
    server: &str,
) -> Result<Control, TransportError> {
    control
        .send(request.as_bytes())
        .map_err(io_error("send to the simulator's control socket"))?;
    let mut reply = Control::new_zeroed();
    match control.recv(reply.as_mut_bytes()) {
        Ok(_) => Ok(reply),
        Err(source) => Err(TransportError::Io {
            action: format!("read the answer of the simulator `{server}`"),
            source,
        }),
    }
}

fn io_error(action: &'static str) -> impl Fn(io::Error) -> TransportError {
    move |source| TransportError::Io {
        action: action.to_owned(),
        source,
    }
}

fn gone(error: Errno) -> TransportError {
    TransportError::Closed {
        reason: format!("the simulator is gone ({error})"),
    }
}

#[cfg(test)]
mod tests {
    use ib_mad::{AttributeId, Method, TransactionId};

    use super::*;

    /// A port, and the server's ends of its two sockets: of control messages and of datagrams.
    fn joined() -> (IbsimPort, UnixDatagram, UnixDatagram) {
        let (control, servers_control) = UnixDatagram::pair().unwrap();
        let (data, servers_data) = UnixDatagram::pair().unwrap();
        // The answer to the message by which a dropped port frees its slot.
        let freed = Control::new(control_type::DISCONNECT, 0, &[]);
        servers_control.send(freed.as_bytes()).unwrap();
        servers_data.set_nonblocking(true).unwrap();
        let port = IbsimPort {
            control,
            data,
            slot: 0,
            per_datagram: 1,
            node: "H".to_owned(),
            queued: Vec::new(),
            arrived: VecDeque::new(),
            emptied_at: None,
            space: Messages::default(),
        };
        (port, servers_control, servers_data)
    }

    #[test]
    fn both_names_of_a_client_are_its_own() {
        let server = format!("test-{}", std::process::id());
        for taken in ["ctl", "in"] {
            let name = format!("{server}:{taken}{}", std::process::id());
            let _other = UnixDatagram::bind_addr(&address(&name).unwrap()).unwrap();
            let (id, _control, _data) = bind_pair(&server).unwrap();
            assert_eq!(id, std::process::id() + (1 << 22), "{taken}");
        }
    }

    fn numbered(id: u64) -> Mad {
        let mut mad = Mad::new(MadAddress::gsi(Lid(1), Sl::ZERO));
        mad.header_mut().set_transaction_id(TransactionId(id));
        mad
    }

    fn number(received: Received) -> u64 {
        match received {
            Received::Mad(mad) => mad.header().transaction_id().0,
            Received::Returned(mad) => panic!("returned: {mad:?}"),
        }
    }

    /// The numbers of the datagrams that have arrived at the server.
    fn arrived(server: &UnixDatagram) -> Vec<u64> {
        let mut space = [0; Datagram::LEN];
        let mut numbers = Vec::new();
        while let Ok(length) = server.recv(&mut space) {
            let message = Datagram::parse(&space[..length]).unwrap();
            numbers.push(number(received(message)));
        }
        numbers
    }

    const NOW: Instant = Instant::ZERO;

    #[test]
    fn datagrams_leave_together_at_the_latest_when_the_port_would_wait() {
        type Cause = fn(IbsimPort) -> Option<IbsimPort>;
        let causes: [(&str, Cause); 4] = [
            ("recv", |mut port| {
                assert_eq!(port.recv(NOW).unwrap(), None);
                Some(port)
            }),
            ("wait", |mut port| {
                port.wait(NOW, Some(NOW)).unwrap();
                Some(port)
            }),
            ("flush", |mut port| {
                port.flush(NOW).unwrap();
                Some(port)
            }),
            ("drop", |_| None),
        ];
        for (cause, act) in causes {
            let (mut port, _control, server) = joined();
            for id in 1..=3 {
                port.send(NOW, &numbered(id)).unwrap();
            }
            assert_eq!(arrived(&server), [], "before {cause}");
            let _port = act(port);
            assert_eq!(arrived(&server), [1, 2, 3], "after {cause}");
        }
    }

    #[test]
    fn a_whole_batch_leaves_at_once() {
        let (mut port, _control, server) = joined();
        let ids = 0..MAX_BATCH as u64 + 1;
        for id in ids.clone() {
            port.send(NOW, &numbered(id)).unwrap();
        }
        assert_eq!(arrived(&server), Vec::from_iter(0..MAX_BATCH as u64));
        port.flush(NOW).unwrap();
        assert_eq!(arrived(&server), [MAX_BATCH as u64]);
    }

    #[test]
    fn what_was_read_is_given_before_more_is_sent() {
        let (mut port, _control, server) = joined();
        for id in 1..=2 {
            server.send(message(&numbered(id)).as_bytes()).unwrap();
        }
        assert_eq!(port.recv(NOW).unwrap().map(number), Some(1));
        port.send(NOW, &numbered(7)).unwrap();
        assert_eq!(port.recv(NOW).unwrap().map(number), Some(2));
        assert_eq!(arrived(&server), []);
        assert_eq!(port.recv(NOW).unwrap(), None);
        assert_eq!(arrived(&server), [7]);
    }

    #[test]
    fn what_arrives_after_a_read_is_found_by_the_next_one_but_one_or_after_a_while() {
        let (mut port, _control, server) = joined();
        let arrives = |id| server.send(message(&numbered(id)).as_bytes()).unwrap();
        arrives(1);
        assert_eq!(port.recv(NOW).unwrap().map(number), Some(1));
        arrives(2);
        assert_eq!(port.recv(NOW).unwrap(), None);
        assert_eq!(port.recv(NOW).unwrap().map(number), Some(2));
        // An engine that took long over a datagram does not miss the answers that came meanwhile.
        arrives(3);
        let later = NOW + Duration::from_millis(2);
        assert_eq!(port.recv(later).unwrap().map(number), Some(3));
        assert_eq!(port.recv(later).unwrap(), None);
    }

    #[test]
    fn a_server_without_room_is_read_from_and_nothing_is_lost() {
        const COUNT: u64 = 5000;
        let (mut port, _control, server) = joined();
        server.set_nonblocking(false).unwrap();
        // Ends the test if either side waits for the other one.
        server
            .set_write_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        server
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let echo = std::thread::spawn(move || {
            let mut space = [0; Datagram::LEN];
            for _ in 0..COUNT {
                server.recv(&mut space).unwrap();
                server.send(&space).unwrap();
            }
            server
        });
        // More than the queues of both sockets hold.
        for id in 0..COUNT {
            port.send(NOW, &numbered(id)).unwrap();
        }
        for id in 0..COUNT {
            let answer = loop {
                match port.recv(NOW).unwrap() {
                    Some(answer) => break answer,
                    None => port.wait(NOW, None).unwrap(),
                };
            };
            assert_eq!(number(answer), id);
        }
        let server = echo.join().unwrap();
        server.set_nonblocking(true).unwrap();
        assert_eq!(arrived(&server), []);
    }

    #[test]
    fn a_server_that_is_gone_is_an_error_of_what_was_to_be_sent() {
        type Cause = fn(&mut IbsimPort) -> Result<(), TransportError>;
        let causes: [Cause; 3] = [
            |port| port.recv(NOW).map(|_| ()),
            |port| port.wait(NOW, Some(NOW)).map(|_| ()),
            |port| port.flush(NOW),
        ];
        for act in causes {
            let (mut port, _control, server) = joined();
            port.send(NOW, &numbered(1)).unwrap();
            drop(server);
            let error = act(&mut port).unwrap_err();
            assert!(matches!(error, TransportError::Closed { .. }), "{error}");
        }
    }

    #[test]
    fn messages_of_another_length_are_no_datagrams() {
        let (mut port, _control, server) = joined();
        for length in [0, 287, 289, 4096] {
            server.send(&vec![0xa5; length]).unwrap();
        }
        server.send(message(&numbered(5)).as_bytes()).unwrap();
        assert_eq!(port.recv(NOW).unwrap().map(number), Some(5));
        assert_eq!(port.recv(NOW).unwrap(), None);
    }

    /// An answer to a GetTable as a program writes it that leaves segments to the layer below.
    fn table() -> Mad {
        let mut mad = Mad {
            address: MadAddress::gsi(Lid(1), Sl::ZERO),
            bytes: [0xa5; Mad::LEN],
        };
        mad.header_mut()
            .set_mgmt_class(MgmtClass::SUBN_ADM)
            .set_method(Method::GET_TABLE_RESP)
            .set_attribute_id(AttributeId(0x0020));
        let (rmpp, _) = RmppData::parse_mut(&mut mad.bytes[24..], 24).unwrap();
        *rmpp = RmppData::default();
        rmpp.set_active(true);
        mad
    }

    fn header(mad: &Mad) -> (bool, bool, u32, u32) {
        let (rmpp, _) = RmppData::parse(&mad.bytes[24..], 24).unwrap();
        let (number, length) = (rmpp.segment_number(), rmpp.payload_length());
        (rmpp.first(), rmpp.last(), number, length)
    }

    #[test]
    fn bytes_behind_a_short_datagram_are_zero() {
        let mut mad = table();
        complete(&mut mad.bytes, 72);
        assert!(mad.bytes[72..].iter().all(|byte| *byte == 0));
        assert_eq!(mad.bytes[71], 0xa5);
    }

    #[test]
    fn a_whole_answer_that_was_left_to_the_layer_below_becomes_one_segment() {
        let mut mad = table();
        complete(&mut mad.bytes, 56 + 2 * 8);
        assert_eq!(header(&mad), (true, true, 1, 20 + 2 * 8));
        // One that fills its datagram may be cut.
        let mut cut = table();
        complete(&mut cut.bytes, Mad::LEN);
        assert_eq!(header(&cut), (false, false, 0, 0));
    }

    #[test]
    fn a_segment_stays_as_its_sender_made_it() {
        let mut mad = table();
        let (rmpp, _) = RmppData::parse_mut(&mut mad.bytes[24..], 24).unwrap();
        rmpp.set_rmpp_type(RmppType::DATA)
            .set_last(true)
            .set_segment_number(7)
            .set_payload_length(36);
        complete(&mut mad.bytes, 72);
        assert_eq!(header(&mad), (false, true, 7, 36));
    }

    #[test]
    fn management_datagrams_leave_by_the_queue_pair_of_their_class() {
        let mut mad = Mad::new(MadAddress::DIRECTED);
        mad.header_mut().set_mgmt_class(MgmtClass::SUBN_DIRECTED);
        assert_eq!(own_queue_pair(&mad), Qpn::SMI);
        mad.header_mut().set_mgmt_class(MgmtClass::SUBN_ADM);
        assert_eq!(own_queue_pair(&mad), Qpn::GSI);
    }
}
