//! A Unix socket on which lines come in and answers go out, for a few clients at once.
//!
//! Nothing here waits: a client that sends half a line or does not read its answers holds up nobody, and one
//! that sends too much is let go. The socket belongs to the user alone.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::{
        fs::FileTypeExt as _,
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
};

use rustix::fs::Mode;

use crate::error::CliError;

/// Clients at once; further ones wait to be accepted.
const MAX_CLIENTS: usize = 8;
/// Longest line.
const MAX_LINE: usize = 4096;
/// Bytes of answers that may wait for a client.
const MAX_WAITING: usize = 64 << 20;

/// The socket and who is there.
pub struct Console {
    listener: UnixListener,
    path: PathBuf,
    clients: Vec<Client>,
}

struct Client {
    stream: UnixStream,
    /// A line that is not complete yet.
    line: Vec<u8>,
    /// Answers that were not taken yet.
    waiting: Vec<u8>,
    /// It sends no more.
    ended: bool,
}

impl Console {
    /// Listens on a path; a socket that nobody listens on any more makes room.
    pub fn open(path: PathBuf) -> Result<Self, CliError> {
        let refuse = |error: &io::Error| CliError::file(path.display(), "listened on", error);
        if UnixStream::connect(&path).is_ok() {
            return Err(CliError::at(path.display(), "another manager listens here"));
        }
        let found = std::fs::symlink_metadata(&path);
        if found.is_ok_and(|found| found.file_type().is_socket()) {
            std::fs::remove_file(&path).map_err(|error| refuse(&error))?;
        }
        let before = rustix::process::umask(Mode::RWXG | Mode::RWXO);
        let listener = UnixListener::bind(&path);
        rustix::process::umask(before);
        let listener = listener.map_err(|error| refuse(&error))?;
        listener
            .set_nonblocking(true)
            .map_err(|error| refuse(&error))?;
        Ok(Self {
            listener,
            path,
            clients: Vec::new(),
        })
    }

    /// Takes in who comes, and answers the lines that are there.
    pub fn serve(&mut self, mut answer: impl FnMut(&str) -> String) {
        while self.clients.len() < MAX_CLIENTS {
            let Ok((stream, _)) = self.listener.accept() else {
                break;
            };
            if stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client {
                    stream,
                    line: Vec::new(),
                    waiting: Vec::new(),
                    ended: false,
                });
            }
        }
        self.clients
            .retain_mut(|client| client.serve(&mut answer).is_ok_and(|goes_on| goes_on));
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Client {
    /// Reads, answers and writes as far as nothing waits; false when the client has gone.
    fn serve(&mut self, answer: &mut impl FnMut(&str) -> String) -> io::Result<bool> {
        let mut bytes = [0; 1024];
        while !self.ended && self.waiting.len() < MAX_WAITING {
            match self.stream.read(&mut bytes) {
                Ok(0) => self.ended = true,
                Ok(count) => self.take_in(bytes.get(..count).unwrap_or_default(), answer)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        while !self.waiting.is_empty() {
            match self.stream.write(&self.waiting) {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(!self.ended || !self.waiting.is_empty())
    }

    fn take_in(&mut self, bytes: &[u8], answer: &mut impl FnMut(&str) -> String) -> io::Result<()> {
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
                if self.line.len() > MAX_LINE {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let text = answer(String::from_utf8_lossy(&line).trim());
            self.waiting.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }
}
