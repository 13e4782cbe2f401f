//! Inputs of a running manager from its host: signals, commands on a Unix socket and over HTTP, files to write.
//!
//! The manager does no I/O, and the loop that drives it waits for datagrams. So the two are joined by an
//! engine around the engine, which takes one command between two datagrams. Threads read and write for the clients;
//! they share a queue with it and nothing else. A signal or a command ends the wait for datagrams ([`wake`]).

mod commands;
mod companions;
mod console;
mod kept_text;
pub mod lines;
#[cfg(test)]
mod lines_properties;
pub mod metrics;
mod retry;
mod sa_db;
mod wake;
mod worker;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ib_mad::{Engine, Input, Instant, Mad};
use ib_sm::{Event, SubnetManager};
use signal_hook::consts::{SIGHUP, SIGUSR1};

pub use self::{
    commands::COMMANDS,
    companions::Companions,
    console::CommandSender,
    kept_text::{KeptKind, KeptText},
    sa_db::SaDb,
    wake::{WakeablePort, Waker},
};
use self::{
    commands::Host,
    console::{CommandQueue, Console, ManagerRequest},
    retry::Retry,
    worker::Worker,
};
use crate::{
    error::CliError,
    files,
    log::{Log, Transactions},
    output::{stderr, warning},
    sm_args::SmArgs,
};

/// Longest wait of a manager that nothing happens to.
const LONGEST_SLEEP: Duration = Duration::from_secs(3600);

/// Files that a running manager keeps.
#[derive(Default)]
pub struct KeptFiles {
    /// The file of registrations.
    pub sa_db: Option<SaDb>,
    /// LIDs, M_Keys, cables.
    pub texts: Vec<KeptText>,
    /// Tables after each sweep, in this directory.
    pub dump_dir: Option<PathBuf>,
}

/// A manager and what its host may command.
pub struct ManagedSm {
    pub sm: SubnetManager,
    args: SmArgs,
    log: Log,
    transactions: Transactions,
    reload: Arc<AtomicBool>,
    dump: Arc<AtomicBool>,
    /// The port was gone and is back: what happened meanwhile is not known.
    port_is_back: Arc<AtomicBool>,
    queue: CommandQueue,
    _console: Option<Console>,
    files: KeptFiles,
    dump_retry: Retry,
    /// Performance and congestion control management on the same port.
    companions: Companions,
    /// Runs what takes longer than a datagram may wait; `None`: the manager runs it in place.
    worker: Option<Worker>,
    /// The options that the routes in place override, as they were said last.
    overridden: Option<String>,
    /// The time that the last call gave.
    now: Instant,
}

impl ManagedSm {
    /// Handles SIGHUP (read the configuration again and sweep), SIGUSR1 (write the dump files and open the log file again),
    /// and commands: those of the queue, and those that come on a socket if one is named.
    ///
    /// # Errors
    /// A signal cannot be handled, or the socket cannot be listened on.
    pub fn new(
        sm: SubnetManager,
        args: SmArgs,
        log: Log,
        files: KeptFiles,
        socket: Option<PathBuf>,
        waker: Waker,
        now: Instant,
    ) -> Result<(Self, CommandSender), CliError> {
        let flag = |signal: i32| {
            let refuse = |error: io::Error| CliError::at(format_args!("signal {signal}"), error);
            let flag = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(refuse)?;
            let stream = waker.stream().map_err(refuse)?;
            signal_hook::low_level::pipe::register(signal, stream).map_err(refuse)?;
            Ok::<_, CliError>(flag)
        };
        let (reload, dump) = (flag(SIGHUP)?, flag(SIGUSR1)?);
        let worker = Worker::new(waker.clone());
        let companions = Companions::new(sm.config(), log.clone(), now);
        let (commands, queue) = CommandSender::new(waker);
        let console = socket.map(|path| Console::open(path, commands.clone()));
        let mut managed = Self {
            sm,
            args,
            log,
            transactions: Transactions::default(),
            reload,
            dump,
            port_is_back: Arc::default(),
            queue,
            _console: console.transpose()?,
            files,
            dump_retry: Retry::default(),
            companions,
            worker: None,
            overridden: None,
            now,
        };
        // A recording has the moments of datagrams and timers, and not those of results: what is recorded runs in
        // place, so that it can be replayed.
        if managed.args.pcap.is_none() && !managed.sm.config().host.single_thread {
            managed.sm.hand_out_work();
            managed.worker = Some(worker);
        }
        Ok((managed, commands))
    }

    /// Reads the whole subnet again when this is set.
    pub fn resweep_when(&mut self, port_is_back: Arc<AtomicBool>) {
        self.port_is_back = port_is_back;
    }

    /// Handles signals, and executes at most one command.
    fn poll_commands(&mut self, now: Instant) {
        self.now = now;
        if let Some(worker) = &mut self.worker {
            worker.run(&mut self.sm, now);
        }
        if take(&self.port_is_back) {
            self.log
                .decision("the port is back: the whole subnet is read again");
            self.sm.resweep(now);
        }
        if take(&self.reload) {
            self.log.reopen();
            match self.host(now).reload() {
                Ok(text) => {
                    stderr::info(&text);
                    self.log.decision(&text);
                }
                Err(reason) => {
                    stderr::warn(&reason);
                    self.log.warning(&reason);
                }
            }
        }
        if take(&self.dump) {
            self.log.reopen();
            stderr::info(self.host(now).dump());
        }
        // A client that has gone misses its answer.
        match self.queue.take() {
            Some(ManagerRequest::Command(line, reply)) => {
                self.log.command(&line);
                let _ = reply.try_send(self.host(now).execute(&line));
            }
            Some(ManagerRequest::Installed(reply)) => {
                let _ = reply.try_send(self.sm.installed().cloned());
            }
            None => {}
        }
        self.companions.poll(&self.sm, now);
        self.keep(now);
    }

    /// The object of a command.
    fn host(&mut self, now: Instant) -> Host<'_> {
        Host {
            sm: &mut self.sm,
            companions: &mut self.companions,
            args: &self.args,
            log: &self.log,
            now,
        }
    }

    /// The subnet is up: the files that describe it are due, and congestion control is written to its devices.
    pub fn subnet_is_up(&mut self, now: Instant) {
        self.companions.subnet_is_up(&self.sm);
        let overridden = warning::of_overridden(&self.sm);
        if let Some(overridden) = overridden
            .as_ref()
            .filter(|_| overridden != self.overridden)
        {
            stderr::warn(overridden);
        }
        self.overridden = overridden;
        for text in &mut self.files.texts {
            text.request(now);
        }
        if self.files.dump_dir.is_some() {
            self.dump_retry.request(now);
        }
        self.keep(now);
    }

    /// Writes the files that are due.
    pub fn keep(&mut self, now: Instant) {
        if let Some(sa_db) = &mut self.files.sa_db {
            sa_db.keep(&self.sm, now);
        }
        for text in &mut self.files.texts {
            text.keep(&self.sm, now);
        }
        let directory = self.files.dump_dir.as_deref();
        let sm = &self.sm;
        self.dump_retry.run(now, || write_tables(sm, directory));
    }
}

/// Clears a flag, and returns whether it was set. It is read first, because it is asked for each datagram, and a write
/// takes longer.
fn take(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed) && flag.swap(false, Ordering::Relaxed)
}

/// Writes the tables to a directory, if there is one and there are routes.
fn write_tables(sm: &SubnetManager, directory: Option<&Path>) -> Result<(), CliError> {
    match (directory, sm.routes()) {
        (Some(directory), Some(routes)) => {
            files::dump(directory, sm.fabric(), sm.lids(), routes, sm.multicast())
        }
        _ => Ok(()),
    }
}

impl Engine for ManagedSm {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = Event;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        match input {
            Input::Mad(mad) => self.transactions.received(now, mad),
            Input::SendFailed(mad) | Input::Returned(mad) => self.transactions.returned(now, mad),
        }
        if self.companions.handle_input(now, &input) {
            self.sm.handle_input(now, input);
        }
        self.poll_commands(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.sm.handle_timeout(now);
        self.companions.handle_timeout(now);
        self.poll_commands(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        let mad = self.sm.poll_transmit(now);
        let mad = mad.or_else(|| self.companions.poll_transmit(now));
        if let Some(mad) = &mad {
            self.transactions.sent(now, mad);
        }
        mad
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let files = &self.files;
        let timers = [
            self.sm.poll_timeout(),
            self.companions.poll_timeout(),
            files.sa_db.as_ref().and_then(SaDb::due),
            files.texts.iter().filter_map(KeptText::due).min(),
            self.dump_retry.due(),
            (!self.queue.is_empty()).then_some(Instant::ZERO),
            // Without any timer the loop would end as soon as a command wakes it.
            Some(self.now + LONGEST_SLEEP),
        ];
        Instant::earliest(timers)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.sm.poll_event()
    }
}
