//! A Unix socket that receives command lines and returns the answers.
//!
//! Each client has a thread of its own that reads a line, passes it to the manager, and writes the answer before it
//! reads the next one. Each client therefore has at most one command at the manager and one unread answer, a slow
//! client does not delay the others, and the manager takes one command between two datagrams. The connection of a
//! client that sends nothing is closed. Only the user who started the manager can open the socket.

use std::{
    io::{self, BufReader, Write as _},
    os::unix::{
        fs::FileTypeExt as _,
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use ib_sm::InstalledRoutes;
use rustix::fs::Mode;

use super::{lines, wake::Waker};
use crate::{error::CliError, interrupt};

/// The largest number of clients at the same time; further ones receive an error message.
const MAX_CLIENTS: usize = 64;
/// Time after which a client that sends nothing, or does not read its answer, is disconnected.
const IDLE: Duration = Duration::from_secs(60);
/// Time within which the manager answers even when it is busy.
const ANSWER: Duration = Duration::from_secs(60);

/// A request to the manager, and the channel for its answer.
pub enum ManagerRequest {
    /// A command line, without its end.
    Command(String, mpsc::SyncSender<String>),
    /// The installed routes, which the asker draws.
    Installed(mpsc::SyncSender<Option<InstalledRoutes>>),
}

/// Sends commands to the manager. Each thread may have a clone of its own.
#[derive(Clone)]
pub struct CommandSender {
    sender: mpsc::Sender<ManagerRequest>,
    /// Number of commands that the manager has not taken yet.
    waiting: Arc<AtomicUsize>,
    waker: Waker,
}

/// The commands that wait for the manager.
pub struct CommandQueue {
    receiver: mpsc::Receiver<ManagerRequest>,
    waiting: Arc<AtomicUsize>,
}

impl CommandSender {
    /// Creates a queue and its sender; `waker` ends the manager's sleep when a command arrives.
    pub fn new(waker: Waker) -> (Self, CommandQueue) {
        let (sender, receiver) = mpsc::channel();
        let waiting = Arc::default();
        let queue = CommandQueue {
            receiver,
            waiting: Arc::clone(&waiting),
        };
        let commands = Self {
            sender,
            waiting,
            waker,
        };
        (commands, queue)
    }

    /// Waits for the answer to a command; `None` if the manager does not answer in time.
    pub fn ask(&self, line: &str) -> Option<String> {
        self.request(|reply| ManagerRequest::Command(line.to_owned(), reply))
    }

    /// Waits for the installed routes; `None` if there are none, or the manager does not answer in time.
    pub fn installed(&self) -> Option<InstalledRoutes> {
        self.request(ManagerRequest::Installed)?
    }

    fn request<T>(&self, request: impl FnOnce(mpsc::SyncSender<T>) -> ManagerRequest) -> Option<T> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.sender.send(request(reply)).ok()?;
        self.waker.wake();
        answer.recv_timeout(ANSWER).ok()
    }
}

impl CommandQueue {
    /// Takes the next request; `None` if there is none.
    pub fn take(&self) -> Option<ManagerRequest> {
        let request = self.receiver.try_recv().ok()?;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(request)
    }

    /// Returns true if no command waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }
}

/// The socket. It is removed when the console is dropped, and when a signal ends the process.
pub struct Console {
    path: PathBuf,
    _on_interrupt: interrupt::Guard,
}

impl Console {
    /// Listens on a path. A socket on which no process listens any more is removed first.
    ///
    /// # Errors
    /// Fails if another manager listens on the path, or if the path cannot be listened on.
    pub fn open(path: PathBuf, commands: CommandSender) -> Result<Self, CliError> {
        let refuse = |error: &io::Error| CliError::file(path.display(), "listened on", error);
        if UnixStream::connect(&path).is_ok() {
            return Err(CliError::at(path.display(), "another manager listens here"));
        }
        let found = std::fs::symlink_metadata(&path);
        if found.is_ok_and(|found| found.file_type().is_socket()) {
            std::fs::remove_file(&path).map_err(|error| refuse(&error))?;
        }
        let before = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let listener = UnixListener::bind(&path);
        rustix::process::umask(before);
        let listener = listener.map_err(|error| refuse(&error))?;
        let clients = Arc::new(AtomicUsize::new(0));
        thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || accept(&listener, &commands, &clients))
            .map_err(|error| refuse(&error))?;
        let socket = path.clone();
        let on_interrupt = interrupt::on_interrupt(move || {
            let _ = std::fs::remove_file(socket);
        });
        Ok(Self {
            path,
            _on_interrupt: on_interrupt,
        })
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Gives each client a thread.
fn accept(listener: &UnixListener, commands: &CommandSender, clients: &Arc<AtomicUsize>) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else {
            // Most likely the process has no file descriptors left; other clients will close some.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        if clients.fetch_add(1, Ordering::Relaxed) >= MAX_CLIENTS {
            clients.fetch_sub(1, Ordering::Relaxed);
            let _ = stream.write_all(b"error: too many clients\n\n");
            continue;
        }
        let (commands, count) = (commands.clone(), Arc::clone(clients));
        let spawned = thread::Builder::new()
            .name("client".to_owned())
            .spawn(move || {
                // An error affects only this client.
                let _ = serve(&stream, &commands);
                count.fetch_sub(1, Ordering::Relaxed);
            });
        if spawned.is_err() {
            clients.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Answers the lines of a client until the client ends, sends nothing for too long, or sends too much.
fn serve(stream: &UnixStream, commands: &CommandSender) -> io::Result<()> {
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_write_timeout(Some(IDLE))?;
    lines::serve(BufReader::with_capacity(1024, stream), stream, |line| {
        commands.ask(line)
    })
}
