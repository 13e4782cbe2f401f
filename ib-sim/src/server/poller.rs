//! Waiting for the server's sockets, or for another thread that ends the wait.
//!
//! Sockets are registered with the kernel once, not at each wait, and a wait names those that are readable: an exchange
//! of one datagram takes three calls of the system however many clients are attached.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};

use super::ServerError;

/// Sockets that one wait names; the others come with the next one.
const BATCH: usize = 64;

/// A socket that is readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    Control,
    /// The client of this slot.
    Client(usize),
}

/// The set of sockets that are waited for.
#[derive(Debug)]
pub(super) struct Poller {
    set: OwnedFd,
    alarm: Arc<OwnedFd>,
}

/// The number of the control socket; a client's is its slot.
const CONTROL: u64 = u64::MAX;
const ALARM: u64 = u64::MAX - 1;

impl Poller {
    pub(super) fn new() -> Result<Self, ServerError> {
        let open = || {
            let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            let alarm = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            let number = epoll::EventData::new_u64(ALARM);
            epoll::add(&set, &alarm, number, epoll::EventFlags::IN)?;
            Ok(Self {
                set,
                alarm: Arc::new(alarm),
            })
        };
        open().map_err(ServerError::new("opening a set of sockets"))
    }

    /// Waits for `socket` as well, until it is closed.
    pub(super) fn add(&self, socket: &impl AsFd, as_: Ready) -> io::Result<()> {
        let number = match as_ {
            Ready::Control => CONTROL,
            Ready::Client(slot) => slot as u64,
        };
        let number = epoll::EventData::new_u64(number);
        Ok(epoll::add(
            &self.set,
            socket,
            number,
            epoll::EventFlags::IN,
        )?)
    }

    /// A function that ends the wait, from any thread.
    pub(super) fn alarm(&self) -> impl Fn() + Send + use<> {
        let alarm = Arc::clone(&self.alarm);
        move || {
            // The write fails only if the counter is full, and a counter above 0 ends the wait.
            let _ = rustix::io::write(&alarm, &1u64.to_ne_bytes());
        }
    }

    /// Waits until a socket is readable, another thread ends the wait, or `timeout` is over. Replaces the content of `ready`.
    pub(super) fn wait(
        &self,
        timeout: Duration,
        ready: &mut Vec<Ready>,
    ) -> Result<(), ServerError> {
        ready.clear();
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let mut space = [MaybeUninit::uninit(); BATCH];
        let events = match epoll::wait(&self.set, &mut space, Some(&timeout)) {
            Ok((events, _)) => &*events,
            Err(rustix::io::Errno::INTR) => &[],
            Err(error) => return Err(ServerError::new("waiting for sockets")(error.into())),
        };
        for event in events {
            match event.data.u64() {
                CONTROL => ready.push(Ready::Control),
                ALARM => {
                    let mut count = [0; 8];
                    let _ = rustix::io::read(&self.alarm, &mut count);
                }
                slot => ready.extend(usize::try_from(slot).map(Ready::Client)),
            }
        }
        Ok(())
    }
}
