//! Work of the manager on a thread of its own: routes, their verification and the order of their writes take
//! seconds on a large fabric, and the manager answers queries and other managers meanwhile.

use std::{
    sync::mpsc::{Receiver, TryRecvError, sync_channel},
    thread,
};

use ib_mad::Instant;
use ib_sm::{Done, SubnetManager, Work};

use super::Waker;

/// At most one work at a time, and the thread that runs it.
pub struct Worker {
    waker: Waker,
    running: Option<Receiver<Done>>,
}

impl Worker {
    /// A worker that ends the wait for datagrams by `waker` when a result is there.
    pub const fn new(waker: Waker) -> Self {
        Self {
            waker,
            running: None,
        }
    }

    /// Gives the manager a result that is there, and starts the work that it waits for.
    pub fn run(&mut self, sm: &mut SubnetManager, now: Instant) {
        loop {
            if let Some(results) = &self.running {
                match results.try_recv() {
                    Ok(done) => {
                        self.running = None;
                        sm.handle_done(now, done);
                    }
                    Err(TryRecvError::Empty) => return,
                    // The thread ended without a result: the next sweep asks for it again.
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
            if let Ok(work) = receive.recv() {
                let _ = sender.send(work.run());
                waker.wake();
            }
        });
        match started {
            Ok(_) => {
                // The thread waits for it.
                let _ = handover.send(work);
                self.running = Some(results);
            }
            // Without a thread it is done here.
            Err(_) => sm.handle_done(now, work.run()),
        }
    }
}
