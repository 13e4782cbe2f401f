//! Ctrl-C and SIGTERM: what must not be left half done is completed or undone, then the process ends with
//! status 130.
//!
//! A thread of its own waits for the signals, so a command needs no loop that checks for them. Code with something open
//! registers an action with [`on_interrupt`]: a recording writes out its buffer, a temporary file or a socket is
//! removed. An action runs beside the command's own threads: data that both use need a lock.

use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};

/// Exit status after a signal: 128 and the number of SIGINT, as a shell reports Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Actions to run before the process ends, the oldest first.
static ACTIONS: Mutex<Actions> = Mutex::new(Actions {
    next: 0,
    list: Vec::new(),
});

struct Actions {
    /// Number of the next action.
    next: u64,
    list: Vec<(u64, Box<dyn FnOnce() + Send>)>,
}

/// The list. A thread that panicked with the lock held cannot have left it half changed.
fn actions() -> MutexGuard<'static, Actions> {
    ACTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Handles SIGINT and SIGTERM from now on.
///
/// # Errors
/// The kernel refuses a handler or a thread: then the signals end the process as they do by default.
pub fn install() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if signals.forever().next().is_some() {
                // The lock is held until the end: nothing registers or leaves while actions run.
                let mut actions = actions();
                while let Some((_, action)) = actions.list.pop() {
                    action();
                }
                std::process::exit(INTERRUPTED);
            }
        })
        .map(drop)
}

/// Runs `action` if a signal ends the process before the guard is dropped. The youngest action runs first.
pub fn on_interrupt(action: impl FnOnce() + Send + 'static) -> Guard {
    let mut actions = actions();
    let number = actions.next;
    actions.next += 1;
    actions.list.push((number, Box::new(action)));
    Guard(number)
}

/// Keeps an action registered.
#[must_use = "the action is forgotten when the guard is dropped"]
#[derive(Debug)]
pub struct Guard(u64);

impl Drop for Guard {
    fn drop(&mut self) {
        actions().list.retain(|(number, _)| *number != self.0);
    }
}
