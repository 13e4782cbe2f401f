//! One open `/dev/infiniband/umadN`: its agents, and the header before each datagram.

use std::{
    ffi::c_int,
    io,
    ops::Range,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
};

use ib_mad::MgmtClass;
use zerocopy::{FromBytes, IntoBytes};

use super::{
    abi::{
        BUFFER_LEN, ENABLE_PKEY, REGISTER_AGENT, REGISTER_AGENT2, RegisterAgent, RegisterAgent2,
        UNREGISTER_AGENT, USER_RMPP, UserMadHeader,
    },
    agent::{AgentClass, RmppSide, is_rmpp_class},
    device::{Device, DevicePort},
    sys::{Fd, UserMadFile},
};
use crate::TransportError;

/// The user MAD file of one port.
pub(super) struct Node<F: UserMadFile = Fd> {
    /// Device and port, for errors.
    name: String,
    file: F,
    header_len: usize,
    agents: Vec<(MgmtClass, u32)>,
}

impl Node {
    /// A file with its agents, as after [`open`](Self::open) and [`register`](Self::register).
    #[cfg(test)]
    pub(super) fn ready(file: Fd, agents: &[(MgmtClass, u32)]) -> Self {
        Self {
            name: "mlx5_0/1".to_owned(),
            file,
            header_len: UserMadHeader::LEN,
            agents: agents.to_vec(),
        }
    }

    /// Opens the file of a port.
    pub(super) fn open(device: &Device, port: &DevicePort) -> Result<Self, TransportError> {
        let name = format!("{}/{}", device.name, port.number);
        let Some(umad) = port.umad else {
            return Err(TransportError::NoPort {
                reason: format!(
                    "{name} ({}) has no user MAD device: iWARP has none, others if ib_umad is loaded \
                     (`modprobe ib_umad`)",
                    port.link_layer
                ),
            });
        };
        let file = open(format!("/dev/infiniband/umad{umad}").into(), Fd::open)?;
        let is_simulator = device.hca_type.as_deref() == Some("simulator");
        Ok(Self::over(file, name, is_simulator))
    }
}

impl<F: UserMadFile> Node<F> {
    /// Takes an open file over, before anything is registered on it.
    fn over(file: F, name: String, is_simulator: bool) -> Self {
        // ibsim's library accepts ENABLE_PKEY but keeps the old header.
        let has_index = !is_simulator && file.ioctl_plain(ENABLE_PKEY).is_ok();
        Self {
            name,
            file,
            header_len: match has_index {
                true => UserMadHeader::LEN,
                false => UserMadHeader::OLD_LEN,
            },
            agents: Vec::new(),
        }
    }

    /// Registers one more class.
    pub(super) fn register(&mut self, class: &AgentClass) -> Result<(), TransportError> {
        let id = match self.register_agent2(class) {
            Ok(id) => {
                // As the first call of a file it switches to the long header by itself.
                if self.agents.is_empty() {
                    self.header_len = UserMadHeader::LEN;
                }
                Ok(id)
            }
            // Kernels without the second call, and ibsim's library.
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    None | Some(libc::ENOTTY | libc::EINVAL)
                ) =>
            {
                self.register_agent(class)
            }
            Err(error) => Err(error),
        };
        match id {
            Ok(id) => {
                self.agents.push((class.mgmt_class, id));
                Ok(())
            }
            Err(source) => Err(TransportError::Register {
                port: self.name.clone(),
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
                RmppSide::User if is_rmpp_class(class.mgmt_class) => USER_RMPP,
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
        self.file.ioctl::<REGISTER_AGENT2, _>(&mut request)?;
        Ok(request.id)
    }

    fn register_agent(&self, class: &AgentClass) -> io::Result<u32> {
        let [_, oui @ ..] = class.oui.to_be_bytes();
        let mut request = RegisterAgent {
            qpn: class.qpn().bits() as u8,
            mgmt_class: class.mgmt_class.bits(),
            class_version: class.class_version,
            oui,
            rmpp_version: (class.rmpp == RmppSide::Kernel).into(),
            ..RegisterAgent::default()
        };
        for method in class.methods {
            if let Some(word) = request.method_mask.get_mut(usize::from(method.bits() / 32)) {
                *word |= 1 << (method.bits() % 32);
            }
        }
        self.file.ioctl::<REGISTER_AGENT, _>(&mut request)?;
        Ok(request.id)
    }

    /// The number of the agent that serves a class.
    pub(super) fn agent(&self, class: MgmtClass) -> Option<u32> {
        let mut agents = self.agents.iter();
        agents
            .find(|(registered, _)| *registered == class)
            .map(|&(_, id)| id)
    }

    /// The classes that are registered.
    pub(super) fn classes(&self) -> impl Iterator<Item = MgmtClass> {
        self.agents.iter().map(|&(class, _)| class)
    }

    /// Sends `bytes` after `header`; `buffer` is scratch.
    pub(super) fn write(
        &self,
        header: &UserMadHeader,
        bytes: &[u8],
        buffer: &mut Vec<u8>,
    ) -> Result<(), TransportError> {
        let unreachable = |reason| Err(TransportError::Unreachable { reason });
        buffer.clear();
        buffer.extend(header.as_bytes().iter().take(self.header_len));
        buffer.extend_from_slice(bytes);
        let written = self.file.write(buffer);
        buffer.resize(buffer.len().max(BUFFER_LEN), 0);
        match written {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // The same transaction still waits in the kernel, or there is no path to the address.
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

    /// Takes one message that is there now: its header, and the place of its bytes in `buffer`.
    pub(super) fn read(
        &self,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<(UserMadHeader, Range<usize>)>, TransportError> {
        let Some(length) = self.read_into(buffer)? else {
            return Ok(None);
        };
        let mut header = UserMadHeader::default();
        let start = self.header_len.min(length);
        let head = buffer.get(..start).unwrap_or_default();
        for (to, from) in header.as_mut_bytes().iter_mut().zip(head) {
            *to = *from;
        }
        Ok(Some((header, start..length)))
    }

    /// Reads one message that is there now, header included, and returns its length.
    fn read_into(&self, buffer: &mut Vec<u8>) -> Result<Option<usize>, TransportError> {
        loop {
            match self.file.read(buffer) {
                Ok(length) => return Ok(length),
                // A message of several segments: the header says how long it is, and it stays queued.
                Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => {
                    let header = UserMadHeader::read_from_prefix(buffer.as_slice());
                    let needed = header.map_or(0, |(header, _)| header.length as usize);
                    if needed <= buffer.len() || needed > MAX_MESSAGE {
                        return Err(self.lost("read", error));
                    }
                    buffer.resize(needed, 0);
                }
                Err(source) => return Err(self.lost("read", source)),
            }
        }
    }

    /// The error of a failed call of this file.
    pub(super) fn lost(&self, action: &str, source: io::Error) -> TransportError {
        match source.raw_os_error() {
            Some(libc::EIO | libc::ENODEV | libc::ENXIO | libc::EPIPE) => TransportError::Closed {
                reason: format!("{} was removed", self.name),
            },
            _ => TransportError::Io {
                action: format!("{action} {}", self.name),
                source,
            },
        }
    }
}

impl<F: UserMadFile> AsFd for Node<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl<F: UserMadFile> Drop for Node<F> {
    fn drop(&mut self) {
        for &(_, id) in &self.agents {
            let mut id = id;
            // Closing the file would do, but ibsim's library leaks agents that are not unregistered.
            let _ = self.file.ioctl::<UNREGISTER_AGENT, _>(&mut id);
        }
    }
}

/// Opens the file that announces a subnet manager on a port while it is open.
pub(super) fn announce(port: &DevicePort) -> Result<Option<Fd>, TransportError> {
    let path = |umad| PathBuf::from(format!("/dev/infiniband/issm{umad}"));
    port.umad.map(|umad| open(path(umad), Fd::open)).transpose()
}

/// Longest message that is taken in: far more than the SA's answer for the largest subnet.
const MAX_MESSAGE: usize = 1 << 28;

/// Opens `path` by `call` for reading and writing; neither waits.
fn open<F>(
    path: PathBuf,
    call: impl FnOnce(&Path, c_int) -> io::Result<F>,
) -> Result<F, TransportError> {
    call(&path, libc::O_RDWR | libc::O_NONBLOCK).map_err(|source| {
        let hint = match source.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => " (needs root, or a udev rule that gives access)",
            Some(libc::EAGAIN) => " (another subnet manager announces itself there)",
            Some(libc::ENXIO | libc::ENODEV) => " (the device was removed)",
            Some(libc::ENOENT) => {
                " (sysfs names the port, but its device file is not here: is udev running, and is \
                 /dev/infiniband part of this container?)"
            }
            _ => "",
        };
        TransportError::Io {
            action: format!("open {}{hint}", path.display()),
            source,
        }
    })
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

#[cfg(test)]
mod tests;
