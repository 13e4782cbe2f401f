//! Real host adapters through the kernel's user MAD interface (`/dev/infiniband/umadN`).
//!
//! The same code runs under ibsim's preloaded library, which imitates the interface in user space.
//! What a port can do depends on the classes that are registered: a manager takes the subnet
//! management classes with the methods it serves, a client registers without methods and receives
//! the answers to its own requests only.

mod abi;
mod device;
#[allow(
    unsafe_code,
    reason = "the system calls; each block states its contract"
)]
mod sys;

use std::{
    fmt, io,
    os::fd::{AsRawFd, RawFd},
    path::PathBuf,
    time::Duration,
};

use ib_mad::{Instant, Mad, MadAddress, MadHeader, Method, MgmtClass};
use ib_wire::Qpn;
use zerocopy::{FromBytes, IntoBytes};

pub use device::{Device, DevicePort, LinkLayer, by_guid, choose, devices, umad_is_loaded};

use self::{
    abi::{
        BUFFER_LEN, ENABLE_PKEY, REGISTER_AGENT, REGISTER_AGENT2, RegisterAgent, RegisterAgent2,
        UNREGISTER_AGENT, USER_RMPP, UserMadHeader,
    },
    sys::Fd,
};
use crate::{Clock, MadTransport, MonotonicClock, Received, TransportError};

/// What a class is registered for.
#[derive(Clone, Copy, Debug)]
pub struct AgentClass {
    /// The management class.
    pub mgmt_class: MgmtClass,
    /// Its version: 1; 2 for SubnAdm and ComMgt.
    pub class_version: u8,
    /// The methods whose requests we want to receive; without one only answers to our own requests come.
    pub methods: &'static [Method],
    /// OUI of a vendor class of range 2 (0x30..=0x4F), else 0.
    pub oui: u32,
    /// Who cuts and joins messages that are longer than one datagram.
    pub rmpp: Rmpp,
}

/// Who does RMPP for a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rmpp {
    /// The engine: segments pass as datagrams of 256 bytes.
    User,
    /// The kernel: whole messages pass by [`send_message`](UmadPort::send_message) and
    /// [`recv_message`](UmadPort::recv_message). Only for classes that have RMPP, and not under ibsim.
    Kernel,
}

/// A message from the fabric, longer than one datagram where the kernel joined its segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The other end.
    pub address: MadAddress,
    /// Whether this is our own request come back without an answer; then only its header is there.
    pub returned: bool,
    /// The first segment's headers, then the data of all segments.
    pub bytes: Vec<u8>,
}

impl AgentClass {
    /// A client of `mgmt_class`: it sends requests and receives their answers.
    #[must_use]
    pub const fn client(mgmt_class: MgmtClass, class_version: u8) -> Self {
        Self {
            mgmt_class,
            class_version,
            methods: &[],
            oui: 0,
            rmpp: Rmpp::User,
        }
    }

    /// What a subnet manager needs: both kinds of SMPs with the requests that come to a manager, and
    /// the requests of subnet administration.
    pub const SUBNET_MANAGER: [Self; 3] = [
        Self {
            mgmt_class: MgmtClass::SUBN_DIRECTED,
            class_version: 1,
            methods: &[Method::GET, Method::SET, Method::TRAP],
            oui: 0,
            rmpp: Rmpp::User,
        },
        Self {
            mgmt_class: MgmtClass::SUBN_LID,
            class_version: 1,
            methods: &[Method::GET, Method::SET, Method::TRAP],
            oui: 0,
            rmpp: Rmpp::User,
        },
        Self {
            mgmt_class: MgmtClass::SUBN_ADM,
            class_version: 2,
            methods: &[
                Method::GET,
                Method::SET,
                Method::GET_TABLE,
                Method::GET_TRACE_TABLE,
                Method::GET_MULTI,
                Method::DELETE,
            ],
            oui: 0,
            rmpp: Rmpp::User,
        },
    ];

    /// What a diagnostic client needs: SMPs, subnet administration and performance management.
    pub const DIAGNOSTICS: [Self; 4] = [
        Self::client(MgmtClass::SUBN_DIRECTED, 1),
        Self::client(MgmtClass::SUBN_LID, 1),
        Self::client(MgmtClass::SUBN_ADM, 2),
        Self::client(MgmtClass::PERF, 1),
    ];

    fn qpn(&self) -> Qpn {
        match self.mgmt_class {
            MgmtClass::SUBN_LID | MgmtClass::SUBN_DIRECTED => Qpn::SMI,
            _ => Qpn::GSI,
        }
    }
}

/// How an adapter's port is opened.
#[derive(Clone, Debug)]
pub struct UmadOptions {
    /// Device name; `None`: the first with a usable port.
    pub device: Option<String>,
    /// Port number; `None`: the first Active one, else LinkUp, else not Disabled.
    pub port: Option<u8>,
    /// How long the kernel waits for the answer to a request before it gives it back.
    ///
    /// Below the engine's own time-out: the kernel refuses a request whose transaction ID is still waiting.
    pub timeout: Duration,
    /// Announces a subnet manager on this port: sets IsSM in its CapabilityMask while open.
    pub announce_sm: bool,
}

impl Default for UmadOptions {
    fn default() -> Self {
        Self {
            device: None,
            port: None,
            timeout: Duration::from_millis(190),
            announce_sm: false,
        }
    }
}

/// A port of a host adapter, opened for management datagrams.
pub struct UmadPort {
    device: String,
    port: DevicePort,
    file: Fd,
    /// Open while we announce a subnet manager.
    issm: Option<Fd>,
    header_len: usize,
    timeout_ms: u32,
    agents: Vec<(MgmtClass, u32)>,
    /// As long as the longest message so far.
    buffer: Vec<u8>,
    clock: MonotonicClock,
}

impl fmt::Debug for UmadPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UmadPort")
            .field("device", &self.device)
            .field("port", &self.port.number)
            .field("agents", &self.agents)
            .finish_non_exhaustive()
    }
}

impl UmadPort {
    /// Opens a port and registers `classes` on it. `clock` is the one that the engine is driven by.
    ///
    /// # Errors
    /// Each says what to do: no module, no port, no permission, Ethernet, class taken by another program.
    pub fn open(
        options: &UmadOptions,
        classes: &[AgentClass],
        clock: MonotonicClock,
    ) -> Result<Self, TransportError> {
        let devices = devices().unwrap_or_default();
        let wanted = options.device.as_deref();
        let Some((device, port)) = choose(&devices, wanted, options.port) else {
            return Err(no_port(&devices, options));
        };
        let name = format!("{}/{}", device.name, port.number);
        if classes.iter().any(|class| class.qpn() == Qpn::SMI) {
            check_smi(&name, port, &devices)?;
        }
        let Some(umad) = port.umad else {
            return Err(TransportError::NoPort {
                reason: format!("{name} has no umad node; is the module ib_umad loaded?"),
            });
        };
        let path = PathBuf::from(format!("/dev/infiniband/umad{umad}"));
        let file = open_node(&path)?;
        let header_len = if device.hca_type.as_deref() == Some("simulator") {
            // ibsim's library accepts ENABLE_PKEY but keeps the old header.
            UserMadHeader::OLD_LEN
        } else if file.ioctl_plain(ENABLE_PKEY).is_ok() {
            UserMadHeader::LEN
        } else {
            UserMadHeader::OLD_LEN
        };
        let mut opened = Self {
            device: device.name.clone(),
            port: port.clone(),
            file,
            issm: None,
            header_len,
            timeout_ms: u32::try_from(options.timeout.as_millis()).unwrap_or(u32::MAX),
            agents: Vec::new(),
            buffer: vec![0; BUFFER_LEN],
            clock,
        };
        for class in classes {
            opened.register(class)?;
        }
        if options.announce_sm {
            let path = PathBuf::from(format!("/dev/infiniband/issm{umad}"));
            opened.issm = Some(open_node(&path)?);
        }
        Ok(opened)
    }

    /// The device's name.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The port as sysfs showed it when it was opened.
    #[must_use]
    pub fn port(&self) -> &DevicePort {
        &self.port
    }

    /// Whether a subnet manager is announced on this port.
    #[must_use]
    pub fn announces_sm(&self) -> bool {
        self.issm.is_some()
    }

    /// Registers one more class.
    ///
    /// # Errors
    /// [`Register`](TransportError::Register), with the reason in words.
    pub fn register(&mut self, class: &AgentClass) -> Result<(), TransportError> {
        let id = self
            .register_agent2(class)
            .or_else(|error| match error.raw_os_error() {
                // Kernels without the second call, and ibsim's library.
                Some(libc::ENOTTY | libc::EINVAL) | None => self.register_agent(class),
                _ => Err(error),
            });
        match id {
            Ok(id) => {
                self.agents.push((class.mgmt_class, id));
                Ok(())
            }
            Err(source) => Err(TransportError::Register {
                port: format!("{}/{}", self.device, self.port.number),
                mgmt_class: class.mgmt_class,
                hint: register_hint(&source, class),
                source,
            }),
        }
    }

    fn register_agent2(&self, class: &AgentClass) -> io::Result<u32> {
        let mut request = RegisterAgent2 {
            qpn: class.qpn().bits(),
            mgmt_class: class.mgmt_class.bits(),
            class_version: class.class_version,
            flags: match class.rmpp {
                Rmpp::User if is_rmpp_class(class.mgmt_class) => USER_RMPP,
                _ => 0,
            },
            oui: class.oui,
            rmpp_version: u8::from(is_rmpp_class(class.mgmt_class)),
            ..RegisterAgent2::default()
        };
        for method in class.methods {
            if let Some(word) = request.method_mask.get_mut(usize::from(method.bits() / 64)) {
                *word |= 1 << (method.bits() % 64);
            }
        }
        self.file.ioctl(REGISTER_AGENT2, &mut request)?;
        Ok(request.id)
    }

    fn register_agent(&self, class: &AgentClass) -> io::Result<u32> {
        let [_, oui @ ..] = class.oui.to_be_bytes();
        let mut request = RegisterAgent {
            qpn: class.qpn().bits() as u8,
            mgmt_class: class.mgmt_class.bits(),
            class_version: class.class_version,
            oui,
            rmpp_version: (class.rmpp == Rmpp::Kernel).into(),
            ..RegisterAgent::default()
        };
        for method in class.methods {
            if let Some(word) = request.method_mask.get_mut(usize::from(method.bits() / 32)) {
                *word |= 1 << (method.bits() % 32);
            }
        }
        self.file.ioctl(REGISTER_AGENT, &mut request)?;
        Ok(request.id)
    }

    fn agent(&self, class: MgmtClass) -> Option<u32> {
        let mut agents = self.agents.iter();
        agents
            .find(|(registered, _)| *registered == class)
            .map(|&(_, id)| id)
    }

    /// Sends a message of any length to `address`.
    ///
    /// `bytes` are the headers of the first segment, then all data; a class registered with
    /// [`Rmpp::Kernel`] may pass more than 256, with RMPP marked active in its header.
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
        let Some(agent) = self.agent(header.mgmt_class()) else {
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
        self.buffer.clear();
        self.buffer
            .extend(user.as_bytes().iter().take(self.header_len));
        self.buffer.extend_from_slice(bytes);
        let written = self.file.write(&self.buffer);
        self.buffer.resize(self.buffer.len().max(BUFFER_LEN), 0);
        match written {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // The same transaction still waits in the kernel, or the address has no way.
                Some(libc::EINVAL | libc::EHOSTUNREACH | libc::EADDRNOTAVAIL) => {
                    unreachable("the kernel refused it")
                }
                Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => {
                    unreachable("the kernel's queue is full")
                }
                _ => Err(self.lost("write to", error)),
            },
        }
    }

    /// Waits for the next message of any length until `deadline`, or for ever without one.
    ///
    /// # Errors
    /// As [`recv`](MadTransport::recv).
    pub fn recv_message(
        &mut self,
        deadline: Option<Instant>,
    ) -> Result<Option<Message>, TransportError> {
        let message = self.wait(deadline)?.map(|(header, bytes)| Message {
            address: header.address(),
            returned: header.status != 0,
            bytes: bytes.to_vec(),
        });
        Ok(message)
    }

    /// Waits for a message until `deadline`: its header and its bytes, which stay in the buffer.
    fn wait(
        &mut self,
        deadline: Option<Instant>,
    ) -> Result<Option<(UserMadHeader, &[u8])>, TransportError> {
        let length = loop {
            if let Some(length) = self.read()? {
                break length;
            }
            let wait = deadline.map(|deadline| deadline.since(self.clock.now()));
            let readable = match self.file.wait_readable(wait) {
                Ok(readable) => readable,
                Err(source) => return Err(self.lost("wait for", source)),
            };
            if !readable && deadline.is_some_and(|deadline| self.clock.now() >= deadline) {
                return Ok(None);
            }
        };
        let bytes = self.buffer.get(..length).unwrap_or(&self.buffer);
        let (head, data) = bytes
            .split_at_checked(self.header_len)
            .unwrap_or((bytes, &[]));
        let mut header = UserMadHeader::default();
        for (to, from) in header.as_mut_bytes().iter_mut().zip(head) {
            *to = *from;
        }
        Ok(Some((header, data)))
    }

    /// Reads one message that is there now into the buffer, and returns its length.
    fn read(&mut self) -> Result<Option<usize>, TransportError> {
        loop {
            match self.file.read(&mut self.buffer) {
                Ok(length) => return Ok(length),
                // A message of several segments: the header says how long it is, and it stays queued.
                Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => {
                    let header = UserMadHeader::read_from_prefix(&self.buffer);
                    let needed = header.map_or(0, |(header, _)| header.length as usize);
                    if needed <= self.buffer.len() || needed > MAX_MESSAGE {
                        return Err(self.lost("read", error));
                    }
                    self.buffer.resize(needed, 0);
                }
                Err(source) => return Err(self.lost("read", source)),
            }
        }
    }

    fn lost(&self, action: &str, source: io::Error) -> TransportError {
        match source.raw_os_error() {
            Some(libc::EIO | libc::ENODEV | libc::ENXIO | libc::EPIPE) => TransportError::Closed {
                reason: format!("{}/{} was removed", self.device, self.port.number),
            },
            _ => TransportError::Io {
                action: format!("{action} {}/{}", self.device, self.port.number),
                source,
            },
        }
    }
}

impl MadTransport for UmadPort {
    fn send(&mut self, mad: &Mad) -> Result<(), TransportError> {
        self.send_message(&mad.address, &mad.bytes)
    }

    /// Of a message that the kernel joined, only the first 256 bytes: use
    /// [`recv_message`](UmadPort::recv_message) with [`Rmpp::Kernel`].
    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, TransportError> {
        let received = self.wait(deadline)?.map(|(header, bytes)| {
            let mut mad = Mad::new(header.address());
            // What comes back after a time-out is the start of the datagram: its header is what matters.
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
}

impl AsRawFd for UmadPort {
    /// For a poll loop of one's own. Under ibsim's library the number means nothing to the kernel.
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl Drop for UmadPort {
    fn drop(&mut self) {
        for &(_, id) in &self.agents {
            let mut id = id;
            // Closing the file would do, but ibsim's library leaks agents that are not unregistered.
            let _ = self.file.ioctl(UNREGISTER_AGENT, &mut id);
        }
    }
}

/// Longest message that is taken in: far more than the SA's answer for the largest subnet.
const MAX_MESSAGE: usize = 1 << 28;

/// Classes whose datagrams may come in segments.
fn is_rmpp_class(class: MgmtClass) -> bool {
    matches!(class.bits(), 0x03 | 0x10 | 0x12 | 0x30..=0x4f)
}

fn open_node(path: &std::path::Path) -> Result<Fd, TransportError> {
    Fd::open(path, libc::O_RDWR | libc::O_NONBLOCK).map_err(|source| {
        let action = match source.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => {
                format!(
                    "open {} (needs root, or a udev rule that gives access)",
                    path.display()
                )
            }
            Some(libc::EAGAIN) => {
                format!(
                    "open {} (another subnet manager announces itself there)",
                    path.display()
                )
            }
            _ => format!("open {}", path.display()),
        };
        TransportError::Io { action, source }
    })
}

fn check_smi(name: &str, port: &DevicePort, devices: &[Device]) -> Result<(), TransportError> {
    let reason = if port.link_layer != LinkLayer::InfiniBand {
        let others: Vec<String> = devices
            .iter()
            .flat_map(|device| device.ports.iter().map(move |port| (device, port)))
            .filter(|(_, port)| port.has_smi())
            .map(|(device, port)| format!("{}/{}", device.name, port.number))
            .collect();
        let others = if others.is_empty() {
            "none".to_owned()
        } else {
            others.join(", ")
        };
        format!(
            "{name} has link layer {}: no subnet management there; InfiniBand ports are: {others}",
            port.link_layer
        )
    } else if port.umad.is_some() && !port.has_smi() {
        format!("{name} has its subnet management interface disabled")
    } else {
        return Ok(());
    };
    Err(TransportError::NoPort { reason })
}

fn no_port(devices: &[Device], options: &UmadOptions) -> TransportError {
    let reason = if devices.is_empty() && !umad_is_loaded() {
        "the module ib_umad is not loaded (`modprobe ib_umad`), and there is no RDMA device"
            .to_owned()
    } else if !umad_is_loaded() {
        "the module ib_umad is not loaded: `modprobe ib_umad`".to_owned()
    } else {
        let known: Vec<String> = devices
            .iter()
            .flat_map(|device| {
                let name = |port: &DevicePort| {
                    format!("{}/{} ({})", device.name, port.number, port.link_layer)
                };
                device.ports.iter().map(name)
            })
            .collect();
        let wanted = match (&options.device, options.port) {
            (Some(device), Some(port)) => format!("no port {device}/{port}"),
            (Some(device), None) => format!("no device {device} with a port"),
            (None, _) => "no usable InfiniBand port".to_owned(),
        };
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        format!("{wanted}; ports here: {known}")
    };
    TransportError::NoPort { reason }
}

fn register_hint(error: &io::Error, class: &AgentClass) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPROTONOSUPPORT) => {
            "the port has no QP0 (RoCE): subnet management cannot run here"
        }
        Some(libc::EINVAL) if !class.methods.is_empty() => {
            "another program already serves this class on the port, such as a second subnet manager"
        }
        Some(libc::ENOMEM) => "the file has 32 agents already",
        Some(libc::EPIPE | libc::EIO | libc::ENODEV) => "the device was removed",
        _ => "the kernel refused the registration",
    }
}
