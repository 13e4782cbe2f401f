//! A progress bar on stderr for work that takes longer than a second.

use std::{io::IsTerminal as _, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time that work may take before a bar shows.
const PATIENCE: Duration = Duration::from_secs(1);

/// Progress of one piece of work; shows nothing before a second has passed, and nothing at all where
/// stderr is no terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    started: std::time::Instant,
}

impl Progress {
    /// Progress of `total` steps of the work `what`.
    pub fn new(what: &'static str, total: usize) -> Self {
        let bar =
            ProgressBar::with_draw_target(u64::try_from(total).ok(), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{msg} [{wide_bar}] {pos}/{len} {eta}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what);
        Self {
            bar,
            is_terminal: std::io::stderr().is_terminal(),
            started: std::time::Instant::now(),
        }
    }

    /// `done` of `of` steps are done: of work that grows while it is done.
    pub fn set_of(&self, done: usize, of: usize) {
        if self.is_terminal {
            self.bar.set_length(u64::try_from(of).unwrap_or(u64::MAX));
            self.set(done);
        }
    }

    /// `done` of the steps are done.
    pub fn set(&self, done: usize) {
        if !self.is_terminal {
            return;
        }
        if self.bar.is_hidden() && self.started.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar
            .set_position(u64::try_from(done).unwrap_or(u64::MAX));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
