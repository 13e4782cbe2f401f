//! Datagram sockets of the server: abstract Unix ones and UDP.
//!
//! There are no streams: ibsim's clients open `SOCK_DGRAM` sockets only, over `PF_LOCAL` or, in remote mode, `PF_INET`
//! (ibsim 0.10 and 0.12: `umad2sim/sim_client.c`, `sim_init`; the server alike: `ibsim/ibsim.c`, `sim_init_conn`).

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{SocketAddr as InetAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixDatagram};

use ib_transport::ibsim::{Control, Datagram, Messages, send_messages};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketAddrAny, recvmsg};
use zerocopy::IntoBytes;

use super::{Listen, ServerError};

/// A datagram socket that does not block.
#[derive(Debug)]
pub(super) enum Socket {
    Unix(UnixDatagram),
    Udp(UdpSocket),
}

/// The name of an abstract socket as ibsim spells it: the trailing NUL belongs to it.
fn unix_name(base: &str, rest: &str) -> io::Result<UnixAddr> {
    UnixAddr::from_abstract_name(format!("{base}:{rest}\0"))
}

/// Result of sending datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// So many are sent, one at least.
    Count(usize),
    /// The receiver has no room for the first one.
    Full,
    Gone,
}

/// The origin of a control message.
#[derive(Debug)]
pub(super) struct Sender {
    /// The address of its socket; none of a Unix socket without a name, which cannot be answered.
    pub(super) address: Option<Address>,
    /// The user on the other side of a Unix socket; UDP has no users.
    credentials: Option<Credentials>,
}

/// The address of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    Unix(SocketAddrAny),
    Udp(InetAddr),
}

/// A user, as the kernel vouches for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Credentials {
    uid: u32,
}

impl Credentials {
    pub(super) fn own() -> Self {
        Self {
            uid: rustix::process::geteuid().as_raw(),
        }
    }
}

impl Sender {
    /// Returns whether the sender is the owner of the server or root. Over UDP everybody may attach.
    pub(super) fn may_use(&self, owner: &Credentials) -> bool {
        match (&self.address, self.credentials) {
            (Some(Address::Udp(_)), _) => true,
            (_, credentials) => credentials.is_some_and(|from| from == *owner || from.uid == 0),
        }
    }
}

/// Returns whether the client of a data socket is gone for certain: no socket has its address any more.
///
/// Nothing is sent to it, as umad2sim takes every message for a datagram. A Unix socket refuses a connection when its
/// owner is gone. A UDP port of this machine that can be bound is free; of another machine's port nothing is known until
/// something was sent to it.
pub(super) fn is_gone(listen: &Listen, client: u32, owner: &Address) -> bool {
    let probed = match (listen, owner) {
        (Listen::Unix(base), _) => {
            let connect =
                || UnixDatagram::unbound()?.connect_addr(&unix_name(base, &format!("in{client}"))?);
            return connect().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        }
        (Listen::Udp { .. }, Address::Udp(owner)) => {
            u16::try_from(client).map(|port| InetAddr::new(owner.ip(), port))
        }
        (Listen::Udp { .. }, Address::Unix(_)) => return false,
    };
    probed.is_ok_and(|address| UdpSocket::bind(address).is_ok())
}

impl Socket {
    pub(super) fn control(listen: &Listen) -> Result<Self, ServerError> {
        match listen {
            Listen::Unix(base) => {
                let action = format!("binding the socket @{base}:ctl");
                let open = || {
                    let socket = UnixDatagram::bind_addr(&unix_name(base, "ctl")?)?;
                    socket.set_nonblocking(true)?;
                    set_socket_passcred(&socket, true)?;
                    Ok(Self::Unix(socket))
                };
                open().map_err(ServerError::new(action))
            }
            Listen::Udp { address, port } => {
                let action = format!("binding UDP port {port} of {address}");
                udp(InetAddr::new(*address, *port)).map_err(ServerError::new(action))
            }
        }
    }

    /// The data socket of a slot, joined to its client.
    pub(super) fn data(
        listen: &Listen,
        slot: u16,
        client: u32,
        owner: &Address,
    ) -> io::Result<Self> {
        match listen {
            Listen::Unix(base) => {
                let socket = UnixDatagram::bind_addr(&unix_name(base, &format!("out{slot}"))?)?;
                socket.connect_addr(&unix_name(base, &format!("in{client}"))?)?;
                socket.set_nonblocking(true)?;
                Ok(Self::Unix(socket))
            }
            Listen::Udp { address, port } => {
                let full = || io::Error::from(io::ErrorKind::AddrNotAvailable);
                let own = port
                    .checked_add(1)
                    .and_then(|first| first.checked_add(slot))
                    .ok_or_else(full)?;
                let Address::Udp(owner) = owner else {
                    return Err(full());
                };
                let to = u16::try_from(client).map_err(|_| full())?;
                let socket = udp(InetAddr::new(*address, own))?;
                if let Self::Udp(socket) = &socket {
                    socket.connect(InetAddr::new(owner.ip(), to))?;
                }
                Ok(socket)
            }
        }
    }

    /// The next message to the control socket, cut at the buffer.
    pub(super) fn receive_control(&self, bytes: &mut [u8]) -> Option<(usize, Sender)> {
        match self {
            Self::Unix(socket) => loop {
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
                let mut control = RecvAncillaryBuffer::new(&mut space);
                let mut parts = [IoSliceMut::new(bytes)];
                let message = recvmsg(socket, &mut parts, &mut control, RecvFlags::empty());
                let message = match message {
                    Ok(message) => message,
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(_) => return None,
                };
                let credentials = control.drain().find_map(|message| match message {
                    RecvAncillaryMessage::ScmCredentials(from) => Some(Credentials {
                        uid: from.uid.as_raw(),
                    }),
                    _ => None,
                });
                let address = message.address.map(Address::Unix);
                let from = Sender {
                    address,
                    credentials,
                };
                return Some((message.bytes, from));
            },
            Self::Udp(socket) => loop {
                match socket.recv_from(bytes) {
                    Ok((len, from)) => {
                        let from = Sender {
                            address: Some(Address::Udp(from)),
                            credentials: None,
                        };
                        return Some((len, from));
                    }
                    // An earlier reply met a closed port.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return None,
                }
            },
        }
    }

    /// Answers a control message. A failure is not reported: the client that cannot be reached asks again, or is gone.
    pub(super) fn reply(&self, message: &Control, to: &Address) {
        match (self, to) {
            (Self::Unix(socket), Address::Unix(address)) => {
                let flags = rustix::net::SendFlags::NOSIGNAL;
                let _ = rustix::net::sendto(socket, message.as_bytes(), flags, address);
            }
            (Self::Udp(socket), Address::Udp(address)) => {
                let _ = socket.send_to(message.as_bytes(), address);
            }
            _ => {}
        }
    }

    /// Reads the next messages of the client. There are none after an error: that of a client that is gone shows when
    /// something is sent to it.
    pub(super) fn receive(&self, messages: &mut Messages) {
        while messages.read(self) == Err(Errno::INTR) {}
    }

    /// Sends the first of these messages to the client, at least one of them, and up to `per_datagram` in one datagram.
    pub(super) fn send(&self, messages: &[Datagram], per_datagram: usize) -> Sent {
        loop {
            return match send_messages(self, messages, per_datagram) {
                Ok(count) => Sent::Count(count),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => Sent::Full,
                Err(_) => Sent::Gone,
            };
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.as_fd(),
            Self::Udp(socket) => socket.as_fd(),
        }
    }
}

fn udp(address: InetAddr) -> io::Result<Socket> {
    let socket = UdpSocket::bind(address)?;
    socket.set_nonblocking(true)?;
    Ok(Socket::Udp(socket))
}
