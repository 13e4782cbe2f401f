//! Real host adapters through the kernel's user MAD interface (`/dev/infiniband/umadN`).
//!
//! The same code runs under ibsim's preloaded library, which imitates the interface in user space. The
//! classes that are registered decide what a port can send and receive: a manager takes the subnet
//! management classes with the methods it serves, a client registers without methods and receives the
//! answers to its own requests only.

mod abi;
mod agent;
mod device;
mod node;
mod select;
#[allow(
    unsafe_code,
    reason = "the system calls; each block states its contract"
)]
mod sys;

use std::{
    fmt,
    ops::Range,
    os::fd::{AsFd, BorrowedFd},
    time::Duration,
};

use ib_mad::{Instant, Mad, MadAddress, MadHeader, Method, MgmtClass, WindowConfig};
use ib_wire::Qpn;

pub use agent::{AgentClass, RmppSide};
pub use device::{Device, DevicePort, LinkLayer, devices, umad_is_loaded};
pub use select::PortSelector;

use self::{
    abi::{BUFFER_LEN, UserMadHeader},
    device::{ABI_VERSION, abi_version},
    node::{Node, announce},
    select::{SplitPort, check, no_port},
    sys::Fd,
};
use crate::{MadTransport, Received, TransportError};

/// A message from the fabric, longer than one datagram where the kernel joined its segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UmadMessage {
    /// The other end.
    pub address: MadAddress,
    /// True if this is our own request come back without an answer; then only its header is there.
    pub returned: bool,
    /// The first segment's headers, then the data of all segments.
    pub bytes: Vec<u8>,
}

/// Options for opening an adapter's port.
#[derive(Clone, Debug)]
pub struct UmadOptions {
    /// The port; the first Active one where nothing is named.
    pub wanted: PortSelector,
    /// Time for which the kernel waits for the answer to a request before it gives it back.
    ///
    /// [`below`](Self::below) the engine's own time-out: the kernel refuses a request whose transaction ID is
    /// still waiting.
    pub timeout: Duration,
    /// Announces a subnet manager on this port: sets IsSM in its CapabilityMask while open.
    pub announce_sm: bool,
}

impl UmadOptions {
    /// Time for which the kernel may wait for an engine whose requests time out after `engine`: a bit less,
    /// by more than the kernel's timers round.
    #[must_use]
    pub fn below(engine: Duration) -> Duration {
        let gap = (engine / 20).max(Duration::from_millis(10));
        engine.saturating_sub(gap).max(Duration::from_millis(1))
    }
}

impl Default for UmadOptions {
    /// For the transaction window's own default.
    fn default() -> Self {
        Self {
            wanted: PortSelector::default(),
            timeout: Self::below(WindowConfig::default().timeout),
            announce_sm: false,
        }
    }
}

/// A port of a host adapter, opened for management datagrams.
pub struct UmadPort {
    device: String,
    is_simulator: bool,
    port: DevicePort,
    /// Carries QP0; of most ports QP1 too.
    node: Node,
    /// Carries QP1, of a port that is split over two devices.
    gsi: Option<Node>,
    /// Open while we announce a subnet manager.
    issm: Option<Fd>,
    timeout_ms: u32,
    /// As long as the longest message so far.
    buffer: Vec<u8>,
}

impl fmt::Debug for UmadPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gsi = self.gsi.iter().flat_map(Node::classes);
        let classes: Vec<MgmtClass> = self.node.classes().chain(gsi).collect();
        f.debug_struct("UmadPort")
            .field("device", &self.device)
            .field("port", &self.port.number)
            .field("classes", &classes)
            .finish_non_exhaustive()
    }
}

impl UmadPort {
    /// Opens a port and registers `classes` on it.
    ///
    /// # Errors
    /// Each says what to do: no module, no port, no permission, no link, Ethernet, class taken by another
    /// program.
    pub fn open(options: &UmadOptions, classes: &[AgentClass]) -> Result<Self, TransportError> {
        let devices = devices().unwrap_or_default();
        let abi_version = abi_version();
        let speaks = |_: &_| abi_version.is_some_and(|version| version >= ABI_VERSION);
        let Some(chosen) = options.wanted.choose(&devices).filter(speaks) else {
            return Err(no_port(&devices, &options.wanted, abi_version));
        };
        let (device, port) = chosen;
        let halves = SplitPort::of(&devices, chosen);
        check(&devices, chosen, halves.smi.is_some(), classes)?;
        let (smi_device, smi_port) = halves.smi.unwrap_or(halves.gsi);
        let (gsi_device, gsi_port) = halves.gsi;
        let mut opened = Self {
            device: device.name.clone(),
            is_simulator: device.hca_type.as_deref() == Some("simulator"),
            port: port.clone(),
            node: Node::open(smi_device, smi_port)?,
            gsi: match halves.are_split() {
                true => Some(Node::open(gsi_device, gsi_port)?),
                false => None,
            },
            issm: None,
            timeout_ms: u32::try_from(options.timeout.as_millis()).unwrap_or(u32::MAX),
            buffer: vec![0; BUFFER_LEN],
        };
        for class in classes {
            opened.register(class)?;
        }
        if options.announce_sm {
            opened.issm = announce(smi_port)?;
        }
        Ok(opened)
    }

    /// The device's name.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Returns true if the device is one that ibsim's library presents, which carries no RMPP acknowledgements.
    #[must_use]
    pub fn is_simulator(&self) -> bool {
        self.is_simulator
    }

    /// The port as sysfs showed it when it was opened.
    #[must_use]
    pub fn port(&self) -> &DevicePort {
        &self.port
    }

    /// Returns true if a subnet manager is announced on this port.
    #[must_use]
    pub fn announces_sm(&self) -> bool {
        self.issm.is_some()
    }

    /// The files to poll in a loop of one's own: one, or two of a port that is split over two devices.
    ///
    /// Under ibsim's library their numbers mean nothing to the kernel.
    pub fn files(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [Some(&self.node), self.gsi.as_ref()]
            .into_iter()
            .flatten()
            .map(Node::as_fd)
    }

    /// Registers one more class.
    ///
    /// # Errors
    /// [`Register`](TransportError::Register), with the reason in words.
    pub fn register(&mut self, class: &AgentClass) -> Result<(), TransportError> {
        match &mut self.gsi {
            Some(gsi) if class.qpn() == Qpn::GSI => gsi.register(class),
            _ => self.node.register(class),
        }
    }

    /// Sends a message of any length to `address`.
    ///
    /// `bytes` are the headers of the first segment, then all data; a class registered with
    /// [`RmppSide::Kernel`] may pass more than 256, with RMPP marked active in its header.
    ///
    /// # Errors
    /// As [`send`](MadTransport::send).
    pub fn send_message(
        &mut self,
        address: &MadAddress,
        bytes: &[u8],
    ) -> Result<(), TransportError> {
        let unreachable = |reason| Err(TransportError::Unreachable { reason });
        let Ok((header, _)) = MadHeader::parse(bytes, 0) else {
            return unreachable("it is shorter than a header");
        };
        let class = header.mgmt_class();
        let nodes = [Some(&self.node), self.gsi.as_ref()];
        let mut agents = nodes.into_iter().flatten();
        let Some((node, agent)) = agents.find_map(|node| Some((node, node.agent(class)?))) else {
            return unreachable("no agent is registered for this class");
        };
        let mut user = UserMadHeader::to(address, agent);
        let waits = !header.method().is_response()
            && !matches!(
                header.method(),
                Method::SEND | Method::TRAP | Method::TRAP_REPRESS
            );
        // The kernel also repeats and awaits the segments of a message that it cuts itself.
        if waits || bytes.len() > Mad::LEN {
            user.timeout_ms = self.timeout_ms;
        }
        node.write(&user, bytes, &mut self.buffer)
    }

    /// The next message of any length that has arrived; does not wait.
    ///
    /// # Errors
    /// As [`recv`](MadTransport::recv).
    pub fn recv_message(&mut self) -> Result<Option<UmadMessage>, TransportError> {
        let message = self.read()?.map(|(header, bytes)| UmadMessage {
            address: header.address(),
            returned: header.status != 0,
            bytes: self.buffer.get(bytes).unwrap_or_default().to_vec(),
        });
        Ok(message)
    }

    /// The next message: its header, and the place of its bytes in the buffer.
    fn read(&mut self) -> Result<Option<(UserMadHeader, Range<usize>)>, TransportError> {
        let first = self.node.read(&mut self.buffer)?;
        match &self.gsi {
            Some(gsi) if first.is_none() => gsi.read(&mut self.buffer),
            _ => Ok(first),
        }
    }
}

impl MadTransport for UmadPort {
    type Error = TransportError;

    fn send(&mut self, _: Instant, mad: &Mad) -> Result<(), TransportError> {
        self.send_message(&mad.address, &mad.bytes)
    }

    /// Of a message that the kernel joined, only the first 256 bytes: use
    /// [`recv_message`](UmadPort::recv_message) with [`RmppSide::Kernel`].
    fn recv(&mut self, _: Instant) -> Result<Option<Received>, TransportError> {
        let received = self.read()?.map(|(header, bytes)| {
            let mut mad = Mad::new(header.address());
            let bytes = self.buffer.get(bytes).unwrap_or_default();
            // The kernel returns the start of the datagram after a time-out: its header is enough.
            for (to, from) in mad.bytes.iter_mut().zip(bytes) {
                *to = *from;
            }
            match header.status {
                0 => Received::Mad(mad),
                _ => Received::Returned(mad),
            }
        });
        Ok(received)
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, TransportError> {
        let wait = until.map(|until| until.since(now));
        let ready = match &self.gsi {
            None => sys::wait_readable([self.node.as_fd()], wait),
            Some(gsi) => sys::wait_readable([self.node.as_fd(), gsi.as_fd()], wait),
        };
        ready.map_err(|source| self.node.lost("wait for", source))?;
        Ok(true)
    }
}

impl AsFd for UmadPort {
    /// Of a port that is split over two devices, the file that carries subnet management; see
    /// [`files`](UmadPort::files).
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.node.as_fd()
    }
}

#[cfg(test)]
mod tests;
