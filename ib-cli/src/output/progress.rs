//! A progress bar on stderr for work that takes longer than a second.

use std::{
    io::{self, IsTerminal as _, Read},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time that work may take before a bar shows.
const PATIENCE: Duration = Duration::from_secs(1);

/// Progress of one piece of work; shows nothing before a second has passed, and nothing at all where
/// stderr is no terminal.
#[derive(Debug)]
pub struct Progress {
    /// `None` where nothing is shown.
    bar: Option<ProgressBar>,
    started: Instant,
}

impl Progress {
    /// Progress of `total` steps of the work `what`.
    pub fn new(what: &'static str, total: usize) -> Self {
        let total = u64::try_from(total).ok();
        Self::with(what, total, "{msg} [{wide_bar}] {pos}/{len} {eta}")
    }

    /// Progress of the work `what` on a file of `total` bytes, or on a stream of unknown length. Nothing is shown where
    /// stdout is a terminal: what the work prints there would be in the way of the bar.
    fn of_bytes(what: &'static str, total: Option<u64>) -> Self {
        if io::stdout().is_terminal() {
            return Self::hidden();
        }
        let template = match total {
            Some(_) => "{msg} [{wide_bar}] {bytes}/{total_bytes} {eta}",
            None => "{msg} {bytes}, {bytes_per_sec}",
        };
        Self::with(what, total, template)
    }

    fn with(what: &'static str, total: Option<u64>, template: &str) -> Self {
        if !io::stderr().is_terminal() {
            return Self::hidden();
        }
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(what);
        Self {
            bar: Some(bar),
            started: Instant::now(),
        }
    }

    fn hidden() -> Self {
        Self {
            bar: None,
            started: Instant::now(),
        }
    }

    /// `done` of `of` steps are done: of work that grows while it is done.
    pub fn set_of(&self, done: usize, of: usize) {
        if let Some(bar) = &self.bar {
            bar.set_length(u64::try_from(of).unwrap_or(u64::MAX));
            self.set(done);
        }
    }

    /// `done` of the steps are done.
    pub fn set(&self, done: usize) {
        self.set_position(u64::try_from(done).unwrap_or(u64::MAX));
    }

    fn set_position(&self, done: u64) {
        let Some(bar) = &self.bar else { return };
        if bar.is_hidden() && self.started.elapsed() > PATIENCE {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A reader that shows how much of its file has been read.
#[derive(Debug)]
pub struct ReadProgress<R> {
    reader: R,
    read: u64,
    progress: Progress,
}

impl<R: Read> ReadProgress<R> {
    /// Shows how much of `reader`, which has `total` bytes if that is known, the work `what` has read.
    pub fn new(what: &'static str, total: Option<u64>, reader: R) -> Self {
        Self {
            reader,
            read: 0,
            progress: Progress::of_bytes(what, total),
        }
    }
}

impl<R: Read> Read for ReadProgress<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.reader.read(buffer)?;
        self.read = self.read.saturating_add(len as u64);
        self.progress.set_position(self.read);
        Ok(len)
    }
}
