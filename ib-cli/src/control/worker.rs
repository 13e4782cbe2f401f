//! Runs long computations of the manager on a thread of their own. Routes, their verification and the order of their
//! writes take seconds on a large fabric; the manager answers queries and other managers meanwhile.

use std::{
    sync::mpsc::{Receiver, TryRecvError, sync_channel},
    thread,
};

use ib_mad::Instant;
use ib_sm::{Done, SubnetManager, Work};

use super::Waker;

/// Nice value of a computation: its priority is lower than that of the manager, whose clients wait.
const NICE: i32 = 5;

/// At most one computation that the manager waits for and one that it does not wait for, and the threads that run them.
pub struct Worker {
    waker: Waker,
    running: Option<Receiver<Done>>,
    /// Work that the manager does not wait for.
    background: Option<Receiver<Done>>,
}

impl Worker {
    /// Creates a worker that wakes the manager by `waker` when a result is available.
    pub const fn new(waker: Waker) -> Self {
        Self {
            waker,
            running: None,
            background: None,
        }
    }

    /// Passes available results to the manager, and starts the computations that it offers.
    pub fn run(&mut self, sm: &mut SubnetManager, now: Instant) {
        loop {
            take_in(&mut self.background, sm, now);
            take_in(&mut self.running, sm, now);
            if self.running.is_some() {
                return;
            }
            let Some(work) = sm.poll_work() else { return };
            self.start(work, sm, now);
        }
    }

    fn start(&mut self, work: Work, sm: &mut SubnetManager, now: Instant) {
        let (sender, results) = sync_channel(1);
        let (handover, receive) = sync_channel::<Work>(1);
        let waker = self.waker.clone();
        let is_in_background = work.is_in_background();
        let thread = thread::Builder::new().name("routing".to_owned());
        let started = thread.spawn(move || {
            // On Linux this holds for the calling thread and those that it starts. If it fails, only the answers of
            // the manager come later.
            let _ = rustix::process::nice(NICE);
            if let Ok(work) = receive.recv() {
                let _ = sender.send(work.run());
                waker.wake();
            }
        });
        match started {
            Ok(_) => {
                // The thread waits for this message.
                let _ = handover.send(work);
                let slot = match is_in_background {
                    true => &mut self.background,
                    false => &mut self.running,
                };
                *slot = Some(results);
            }
            // No thread could be started, so the computation runs here.
            Err(_) => sm.handle_done(now, work.run()),
        }
    }
}

/// Passes a result to the manager, if it is available.
fn take_in(running: &mut Option<Receiver<Done>>, sm: &mut SubnetManager, now: Instant) {
    let Some(results) = running else { return };
    match results.try_recv() {
        Ok(done) => {
            *running = None;
            sm.handle_done(now, done);
        }
        Err(TryRecvError::Empty) => {}
        // The thread ended without a result. The next sweep requests the computation again.
        Err(TryRecvError::Disconnected) => *running = None,
    }
}
