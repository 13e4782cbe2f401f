//! A port by its name: an adapter's, or that of a simulator.

use std::{
    os::fd::{AsFd as _, BorrowedFd},
    time::Duration,
};

use ib_mad::{Instant, Mad};
use ib_wire::Guid;

use crate::{
    MadTransport, Received, TransportError,
    ibsim::{IbsimOptions, IbsimPort},
    umad::{AgentClass, PortSelector, UmadOptions, UmadPort},
};

/// The port to open, and the options for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortOptions {
    /// Adapter, as `mlx5_0`; or the GUID of its port, as `0x0002c90300001234`; or `sim:NAME`, the
    /// simulator that listens as NAME (its `IBSIM_SOCKNAME`). `None`: the first adapter with a usable port.
    pub device: Option<String>,
    /// Port of the adapter; `None`: the first active one.
    pub port: Option<u8>,
    /// Node of the simulator to sit on, by its id in the server's file; empty: the server's default.
    pub node: String,
    /// Announces a subnet manager on the port (IsSM), which then receives requests.
    pub announce_sm: bool,
    /// Time for which the engine waits for one answer; the kernel gives requests back before that. Default
    /// 200 ms.
    pub timeout: Duration,
}

impl Default for PortOptions {
    fn default() -> Self {
        Self {
            device: None,
            port: None,
            node: String::new(),
            announce_sm: false,
            timeout: Duration::from_millis(200),
        }
    }
}

/// A port that is open.
#[derive(Debug)]
pub enum AnyPort {
    /// Of an adapter.
    Umad(Box<UmadPort>),
    /// Of a simulator.
    Ibsim(Box<IbsimPort>),
}

impl AnyPort {
    /// Opens the port for these classes; a simulator has them all.
    ///
    /// # Errors
    /// Those of [`UmadPort::open`] and [`IbsimPort::attach`].
    pub fn open(options: &PortOptions, classes: &[AgentClass]) -> Result<Self, TransportError> {
        let device = options.device.as_deref();
        if let Some(server) = device.and_then(|device| device.strip_prefix("sim:")) {
            let ibsim = IbsimOptions {
                server: server.to_owned(),
                node: options.node.clone(),
                announce_sm: options.announce_sm,
            };
            return Ok(Self::Ibsim(Box::new(IbsimPort::attach(&ibsim)?)));
        }
        let guid: Option<Guid> = device
            .filter(|device| device.starts_with("0x"))
            .and_then(|device| device.parse().ok());
        let umad = UmadOptions {
            wanted: PortSelector {
                device: options.device.clone().filter(|_| guid.is_none()),
                port: options.port,
                guid,
            },
            timeout: UmadOptions::below(options.timeout),
            announce_sm: options.announce_sm,
        };
        Ok(Self::Umad(Box::new(UmadPort::open(&umad, classes)?)))
    }

    /// The files to wait for, to read a datagram.
    #[must_use]
    pub fn files(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Umad(port) => port.files().collect(),
            Self::Ibsim(port) => vec![port.as_fd()],
        }
    }

    /// Returns true if every peer of an RMPP transfer acknowledges it. Programs that ibsim's library is preloaded into
    /// do not.
    #[must_use]
    pub fn peers_acknowledge(&self) -> bool {
        match self {
            Self::Umad(port) => !port.is_simulator(),
            Self::Ibsim(_) => false,
        }
    }

    /// The port, for a person: `mlx5_0 port 1`, `node H1 of the simulator`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Umad(port) => format!("{} port {}", port.device(), port.port().number),
            Self::Ibsim(port) => format!("node {} of the simulator", port.node()),
        }
    }
}

impl MadTransport for AnyPort {
    type Error = TransportError;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), TransportError> {
        match self {
            Self::Umad(port) => port.send(now, mad),
            Self::Ibsim(port) => port.send(now, mad),
        }
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, TransportError> {
        match self {
            Self::Umad(port) => port.recv(now),
            Self::Ibsim(port) => port.recv(now),
        }
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, TransportError> {
        match self {
            Self::Umad(port) => port.wait(now, until),
            Self::Ibsim(port) => port.wait(now, until),
        }
    }

    fn flush(&mut self, now: Instant) -> Result<(), TransportError> {
        match self {
            Self::Umad(port) => port.flush(now),
            Self::Ibsim(port) => port.flush(now),
        }
    }
}
