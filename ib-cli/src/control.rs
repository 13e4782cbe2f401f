//! What reaches a running manager from its host: signals, and questions on a Unix socket.
//!
//! The manager does no I/O, and the loop that drives it waits for datagrams. So the two are joined by an
//! engine around the engine, which polls for commands a few times a second, between datagrams and not beside
//! them: nothing here needs a lock.

mod console;
mod orders;
mod sa_db;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ib_mad::{Engine, Input, Instant, Mad};
use ib_sm::{Event, SubnetManager};
use signal_hook::consts::{SIGHUP, SIGUSR1};

use self::console::Console;
pub use self::sa_db::SaDb;
use crate::{error::CliError, output::stderr, sm_args::SmArgs};

/// How often commands are polled for.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A manager and what its host may order.
pub struct ManagedSm {
    pub sm: SubnetManager,
    args: SmArgs,
    reload: Arc<AtomicBool>,
    dump: Arc<AtomicBool>,
    console: Option<Console>,
    sa_db: Option<SaDb>,
    next_poll: Instant,
}

impl ManagedSm {
    /// Listens to SIGHUP (read the configuration again and sweep), SIGUSR1 (write the dump files), and on a
    /// socket if one is named.
    pub fn new(
        sm: SubnetManager,
        args: SmArgs,
        socket: Option<PathBuf>,
        sa_db: Option<SaDb>,
        now: Instant,
    ) -> Result<Self, CliError> {
        let flag = |signal: i32| {
            let flag = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(signal, Arc::clone(&flag))
                .map(|_| flag)
                .map_err(|error| CliError::at(format_args!("signal {signal}"), error))
        };
        Ok(Self {
            sm,
            args,
            reload: flag(SIGHUP)?,
            dump: flag(SIGUSR1)?,
            console: socket.map(Console::open).transpose()?,
            sa_db,
            next_poll: now + POLL_INTERVAL,
        })
    }

    /// Does what was ordered since the last poll.
    fn poll_commands(&mut self, now: Instant) {
        if now < self.next_poll {
            return;
        }
        self.next_poll = now + POLL_INTERVAL;
        if self.reload.swap(false, Ordering::Relaxed) {
            stderr::info(orders::reload(&mut self.sm, &self.args, now));
        }
        if self.dump.swap(false, Ordering::Relaxed) {
            stderr::info(orders::dump(&self.sm, &self.args));
        }
        if let Some(console) = &mut self.console {
            let (sm, args) = (&mut self.sm, &self.args);
            console.serve(|line| orders::execute(sm, args, now, line));
        }
        self.keep(now);
    }

    /// Writes what hosts told, if it is news.
    pub fn keep(&mut self, now: Instant) {
        if let Some(sa_db) = &mut self.sa_db {
            sa_db.keep(&self.sm, now);
        }
    }
}

impl Engine for ManagedSm {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = Event;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        self.sm.handle_input(now, input);
        self.poll_commands(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.sm.handle_timeout(now);
        self.poll_commands(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        self.sm.poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let next = self.sm.poll_timeout();
        Some(next.map_or(self.next_poll, |at| at.min(self.next_poll)))
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.sm.poll_event()
    }
}
