//! A port that a signal or a command can wake: the manager sleeps until something happens, and no longer.

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

/// Interval at which commands are looked for on a port that cannot be waited for beside other files: ibsim's library
/// puts numbers in the place of files that the kernel does not know.
const FALLBACK_INTERVAL: Duration = Duration::from_millis(100);

/// Wakes the loop that drives the manager; any thread and any signal handler may hold one.
#[derive(Clone)]
pub struct Waker(Arc<UnixStream>);

impl Waker {
    /// Ends the wait that is going on, or the next one.
    pub fn wake(&self) {
        // A full pipe wakes as well.
        let _ = (&*self.0).write(&[0]);
    }

    /// The end to write to, for a signal handler.
    ///
    /// # Errors
    /// The kernel has no more files for the process.
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
    /// The port's files are the kernel's.
    polls: bool,
}

impl WakeablePort {
    /// Puts a waker beside a port. `clock` is the port's.
    ///
    /// # Errors
    /// The kernel has no more files for the process.
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

    /// A clock that knows of waits that ended early.
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

    /// Waits for the port or the waker until `deadline`. `false`: the port's files cannot be waited for.
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

    /// As the port's; `None` before the deadline if it was woken.
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

/// The clock of a [`WakeablePort`]: a wait that was ended early did not reach its deadline.
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
