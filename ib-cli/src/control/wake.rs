//! The port of a running manager: a signal or a command can wake it, so that the manager can sleep until something
//! happens, and a port that is gone is opened again.

use std::{
    io::{self, Read as _, Write as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ib_mad::{Instant, Mad};
use ib_transport::{MadTransport, Received, TransportError, TransportFailure as _};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{device::DevicePort, error::CliError, output::stderr};

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

/// Interval at which a port that is gone is tried again.
const REOPEN_INTERVAL: Duration = Duration::from_secs(1);

/// Opens a port that is gone, an adapter that was reset or a simulator that was started again.
type Reopen = Box<dyn FnMut() -> Result<DevicePort, CliError>>;

/// A port with the reading end of a [`Waker`]. A wait ends early when it is woken.
pub struct WakeablePort {
    /// `None` while it is gone: nothing arrives, and each datagram that is sent comes back.
    port: Option<DevicePort>,
    /// Without it an error of the port ends the program.
    reopen: Option<Reopen>,
    /// Time at which a port that is gone is tried again.
    retry_at: Instant,
    /// Set when a port that was gone is back.
    is_back: Arc<AtomicBool>,
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
            port: Some(port),
            reopen: None,
            retry_at: Instant::ZERO,
            is_back: Arc::default(),
            reader,
            polls: true,
        };
        Ok((port, Waker(Arc::new(writer))))
    }

    /// Opens the port again by `reopen` if it is gone. Returns what is set when it is back.
    pub fn reopen_by(&mut self, reopen: Reopen) -> Arc<AtomicBool> {
        self.reopen = Some(reopen);
        Arc::clone(&self.is_back)
    }

    /// Goes on without the port if it can be opened again.
    ///
    /// # Errors
    /// The error, if it cannot.
    fn lose(&mut self, now: Instant, error: TransportError) -> Result<(), TransportError> {
        if self.reopen.is_none() {
            return Err(error);
        }
        self.port = None;
        self.retry_at = now + REOPEN_INTERVAL;
        stderr::warn(format_args!(
            "the port is gone: {error}; it is tried again each second"
        ));
        Ok(())
    }

    /// Tries to open a port that is gone, if that is due.
    fn retry(&mut self, now: Instant) {
        if self.port.is_some() || now < self.retry_at {
            return;
        }
        self.retry_at = now + REOPEN_INTERVAL;
        self.port = self.reopen.as_mut().and_then(|reopen| reopen().ok());
        if let Some(port) = &self.port {
            self.polls = true;
            self.is_back.store(true, Ordering::Relaxed);
            stderr::info(format_args!("the port is back: {}", port.describe()));
        }
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

    /// Waits for the port and the waker, and empties the pipe if it was woken. Returns `false` if the port's files cannot be
    /// waited for.
    fn poll(&mut self, wait: Option<Duration>) -> Result<bool, TransportError> {
        let port = self.port.as_ref();
        let mut files = port.map_or_else(Vec::new, DevicePort::files);
        files.push(self.reader.as_fd());
        let mut files: Vec<_> = files
            .into_iter()
            .map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN))
            .collect();
        let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
        match poll(&mut files, wait.as_ref()) {
            Ok(_) => {
                let unknown = |file: &PollFd<'_>| file.revents().contains(PollFlags::NVAL);
                let is_known = !files.iter().any(unknown);
                let is_woken = files.last().is_some_and(|pipe| !pipe.revents().is_empty());
                if is_known && is_woken {
                    self.take_wake();
                }
                Ok(is_known)
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
        let reason = "the port is gone";
        let Some(port) = &mut self.port else {
            return Err(TransportError::Unreachable { reason });
        };
        match port.send(now, mad) {
            Err(error) if !error.is_unreachable() => {
                self.lose(now, error)?;
                Err(TransportError::Unreachable { reason })
            }
            sent => sent,
        }
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, TransportError> {
        match self.port.as_mut().map(|port| port.recv(now)) {
            Some(Ok(received)) => Ok(received),
            Some(Err(error)) => self.lose(now, error).map(|()| None),
            None => Ok(None),
        }
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, TransportError> {
        self.retry(now);
        // The port's files are waited for here, so the port cannot send what it keeps back.
        self.flush(now)?;
        let retry_at = self.port.is_none().then_some(self.retry_at);
        let until = Instant::earliest([until, retry_at]);
        if self.polls && self.poll(until.map(|until| until.since(now)))? {
            return Ok(true);
        }
        self.polls = false;
        if self.take_wake() {
            return Ok(true);
        }
        let step = now + FALLBACK_INTERVAL;
        let until = until.map_or(step, |until| until.min(step));
        match self.port.as_mut().map(|port| port.wait(now, Some(until))) {
            Some(Err(error)) => self.lose(now, error).map(|()| true),
            Some(waited) => waited,
            None => Ok(true),
        }
    }

    fn flush(&mut self, now: Instant) -> Result<(), TransportError> {
        match self.port.as_mut().map(|port| port.flush(now)) {
            Some(Err(error)) => self.lose(now, error),
            _ => Ok(()),
        }
    }
}
