//! A port that a signal or a command can wake, so that the manager can sleep until something happens.

use std::{
    cell::Cell,
    io::{self, Read as _, Write as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use ib_mad::{Instant, Mad};
use ib_transport::{Clock, MadTransport, MonotonicClock, Received, TransportError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::device::DevicePort;

/// Interval at which commands are polled on a port whose file cannot be waited for together with others. ibsim's
/// library uses numbers in place of file descriptors, which the kernel does not know.
const FALLBACK_INTERVAL: Duration = Duration::from_millis(100);

/// Wakes the loop that drives the manager. Any thread and any signal handler may hold one.
#[derive(Clone)]
pub struct Waker(Arc<UnixStream>);

impl Waker {
    /// Ends the current wait, or the next one if there is none.
    pub fn wake(&self) {
        // If the pipe is full, the port is going to wake anyway.
        let _ = (&*self.0).write(&[0]);
    }

    /// The writing end of the pipe, for a signal handler.
    ///
    /// # Errors
    /// Fails if the process cannot open more files.
    pub fn stream(&self) -> io::Result<UnixStream> {
        self.0.try_clone()
    }
}

/// A port with the reading end of a [`Waker`].
pub struct WakeablePort {
    port: DevicePort,
    reader: UnixStream,
    clock: MonotonicClock,
    woken: Rc<Cell<bool>>,
    /// Whether the port's files are kernel files, so that the kernel can wait for them.
    polls: bool,
}

impl WakeablePort {
    /// Joins a port with a waker. `clock` is the port's clock.
    ///
    /// # Errors
    /// Fails if the process cannot open more files.
    pub fn new(port: DevicePort, clock: MonotonicClock) -> io::Result<(Self, Waker)> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        let woken = Rc::default();
        let port = Self {
            port,
            reader,
            clock,
            woken,
            polls: true,
        };
        Ok((port, Waker(Arc::new(writer))))
    }

    /// A clock that takes waits that ended early into account.
    pub fn clock<C: Clock>(&self, clock: C) -> WakeableClock<C> {
        WakeableClock {
            clock,
            woken: Rc::clone(&self.woken),
        }
    }

    /// Whether the port was woken since the last call.
    fn take_wake(&mut self) -> bool {
        let mut bytes = [0; 64];
        let mut woken = false;
        while matches!(self.reader.read(&mut bytes), Ok(count) if count > 0) {
            woken = true;
        }
        woken
    }

    /// Waits for the port or the waker until `deadline`. Returns `false` if the port's files cannot be waited for.
    fn wait(&self, deadline: Option<Instant>) -> Result<bool, TransportError> {
        let mut files = self.port.files();
        files.push(self.reader.as_fd());
        let mut files: Vec<_> = files
            .into_iter()
            .map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN))
            .collect();
        let wait = deadline.map(|deadline| deadline.since(self.clock.now()));
        let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
        match poll(&mut files, wait.as_ref()) {
            Ok(_) => {
                let unknown = |file: &PollFd<'_>| file.revents().contains(PollFlags::NVAL);
                Ok(!files.iter().any(unknown))
            }
            Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(TransportError::Io {
                action: "wait for the port".to_owned(),
                source: error.into(),
            }),
        }
    }
}

impl MadTransport for WakeablePort {
    type Error = TransportError;

    fn send(&mut self, mad: &Mad) -> Result<(), TransportError> {
        self.port.send(mad)
    }

    /// As for the port alone, but returns `None` before the deadline if the port was woken.
    fn recv(&mut self, deadline: Option<Instant>) -> Result<Option<Received>, TransportError> {
        loop {
            if let Some(received) = self.port.recv(Some(Instant::ZERO))? {
                return Ok(Some(received));
            }
            if self.take_wake() {
                self.woken.set(true);
                return Ok(None);
            }
            let now = self.clock.now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Ok(None);
            }
            if self.polls && self.wait(deadline)? {
                continue;
            }
            self.polls = false;
            let step = now + FALLBACK_INTERVAL;
            let until = deadline.map_or(step, |deadline| deadline.min(step));
            if let Some(received) = self.port.recv(Some(until))? {
                return Ok(Some(received));
            }
        }
    }
}

/// The clock of a [`WakeablePort`]: a wait that ended early has not reached its deadline.
#[derive(Clone)]
pub struct WakeableClock<C> {
    clock: C,
    woken: Rc<Cell<bool>>,
}

impl<C: Clock> Clock for WakeableClock<C> {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn sent(&self) -> Instant {
        self.clock.sent()
    }

    fn wake(&self, deadline: Option<Instant>, arrived: bool) -> Instant {
        match self.woken.take() {
            true => self.clock.wake(None, arrived),
            false => self.clock.wake(deadline, arrived),
        }
    }
}
