//! A port that a signal or a command can wake, so that the manager can sleep until something happens.

use std::{
    io::{self, Read as _, Write as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    sync::Arc,
    time::Duration,
};

use ib_mad::{Instant, Mad};
use ib_transport::{MadTransport, Received, TransportError};
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

/// A port with the reading end of a [`Waker`]. A wait ends early when it is woken.
pub struct WakeablePort {
    port: DevicePort,
    reader: UnixStream,
    /// Whether the port's files are kernel files, so that the kernel can wait for them.
    polls: bool,
}

impl WakeablePort {
    /// Joins a port with a waker.
    ///
    /// # Errors
    /// Fails if the process cannot open more files.
    pub fn new(port: DevicePort) -> io::Result<(Self, Waker)> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        let port = Self {
            port,
            reader,
            polls: true,
        };
        Ok((port, Waker(Arc::new(writer))))
    }

    /// Empties the pipe. Returns whether the port was woken since the last call.
    fn take_wake(&mut self) -> bool {
        let mut bytes = [0; 64];
        let mut woken = false;
        while matches!(self.reader.read(&mut bytes), Ok(count) if count > 0) {
            woken = true;
        }
        woken
    }

    /// Waits for the port and the waker. Returns `false` if the port's files cannot be waited for.
    fn poll(&self, wait: Option<Duration>) -> Result<bool, TransportError> {
        let mut files = self.port.files();
        files.push(self.reader.as_fd());
        let mut files: Vec<_> = files
            .into_iter()
            .map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN))
            .collect();
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

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), TransportError> {
        self.port.send(now, mad)
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, TransportError> {
        self.port.recv(now)
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, TransportError> {
        if self.polls && self.poll(until.map(|until| until.since(now)))? {
            self.take_wake();
            return Ok(true);
        }
        self.polls = false;
        if self.take_wake() {
            return Ok(true);
        }
        let step = now + FALLBACK_INTERVAL;
        let until = until.map_or(step, |until| until.min(step));
        self.port.wait(now, Some(until))
    }
}
