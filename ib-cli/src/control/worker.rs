//! Runs long computations of the manager on a thread of their own. Routes, their verification and the order of their
//! writes take seconds on a large fabric; the manager answers queries and other managers meanwhile.

use std::{
    sync::mpsc::{Receiver, TryRecvError, sync_channel},
    thread,
};

use ib_mad::Instant;
use ib_sm::{Done, SubnetManager, Work};

use super::Waker;

/// How much lower the priority of a computation is than that of the manager, which has clients that wait: a nice value.
const NICE: i32 = 5;

/// At most one computation at a time, and the thread that runs it.
pub struct Worker {
    waker: Waker,
    running: Option<Receiver<Done>>,
}

impl Worker {
    /// Creates a worker that wakes the manager by `waker` when a result is available.
    pub const fn new(waker: Waker) -> Self {
        Self {
            waker,
            running: None,
        }
    }

    /// Passes an available result to the manager, and starts the computation that the manager waits for.
    pub fn run(&mut self, sm: &mut SubnetManager, now: Instant) {
        loop {
            if let Some(results) = &self.running {
                match results.try_recv() {
                    Ok(done) => {
                        self.running = None;
                        sm.handle_done(now, done);
                    }
                    Err(TryRecvError::Empty) => return,
                    // The thread ended without a result. The next sweep requests the computation again.
                    Err(TryRecvError::Disconnected) => self.running = None,
                }
            }
            let Some(work) = sm.poll_work() else { return };
            self.start(work, sm, now);
        }
    }

    fn start(&mut self, work: Work, sm: &mut SubnetManager, now: Instant) {
        let (sender, results) = sync_channel(1);
        let (handover, receive) = sync_channel::<Work>(1);
        let waker = self.waker.clone();
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
                self.running = Some(results);
            }
            // No thread could be started, so the computation runs here.
            Err(_) => sm.handle_done(now, work.run()),
        }
    }
}
