//! Observes a running manager for a command: wall time of each phase, warnings, and the report at the end.

use std::{
    collections::BTreeSet,
    ops::ControlFlow,
    time::{Duration, Instant},
};

use ib_sm::{Event, Phase, SubnetManager};

use crate::output::{
    count,
    progress::Progress,
    report::{Report, Seconds, seconds},
    stderr, warning,
};

/// Sweeps that may fail before the manager is given up.
const MAX_ATTEMPTS: u32 = 5;

/// Sweeps that follow each other without a pause after a failure; the manager waits for its timer then.
const QUICK_ATTEMPTS: u32 = 4;

/// Warnings that a report of a subnet that is not up repeats.
const MAX_REASONS: usize = 20;

/// Follows the events of a manager: measures its phases, prints its warnings, shows its progress.
pub struct ProgressObserver {
    times: [Duration; Phase::ALL.len()],
    /// The phase that is going on, and when it began.
    phase: Option<(Phase, Instant)>,
    /// Sweeps that failed.
    attempts: u32,
    /// Sweeps that may fail.
    max_attempts: u32,
    /// Prints no warnings: a log on standard error has them.
    quiet: bool,
    progress: Progress,
    /// Warnings since the subnet was up last.
    warnings: BTreeSet<String>,
    /// Why routes were not installed, since the last sweep that failed.
    refused: Vec<String>,
    /// Failures that were said since the subnet was up last.
    said: BTreeSet<String>,
}

impl ProgressObserver {
    /// An observer of a manager that starts now.
    pub fn new() -> Self {
        Self {
            times: Default::default(),
            phase: None,
            attempts: 0,
            max_attempts: MAX_ATTEMPTS,
            quiet: false,
            progress: Progress::new("phases", Phase::ALL.len()),
            warnings: BTreeSet::new(),
            refused: Vec::new(),
            said: BTreeSet::new(),
        }
    }

    /// One that gives the manager up before it would wait for its timer, as the clock is real.
    pub fn impatient() -> Self {
        Self {
            max_attempts: QUICK_ATTEMPTS,
            ..Self::new()
        }
    }

    /// One that prints no warnings.
    pub fn quiet(self, quiet: bool) -> Self {
        Self { quiet, ..self }
    }

    /// Handles an event. Breaks when the subnet is up, or when the manager is given up.
    pub fn event(&mut self, event: &Event) -> ControlFlow<()> {
        // A sweep that is tried again finds the same faults.
        if let Some(warning) = warning::of(event)
            && self.warnings.insert(warning.clone())
            && !self.quiet
        {
            stderr::warn(warning);
        }
        match event {
            Event::PhaseStarted(phase) => {
                self.end_phase();
                self.phase = Some((*phase, Instant::now()));
                self.progress.set(*phase as usize);
            }
            // Not printed at once, as the next engine may do better; the report says it if none does.
            Event::RoutesVerified {
                installed: false, ..
            } => {
                self.warnings.insert(event.to_string());
                self.refused.push(event.to_string());
            }
            Event::SubnetUp(_) => {
                self.end_phase();
                self.warnings.clear();
                self.refused.clear();
                self.said.clear();
                return ControlFlow::Break(());
            }
            Event::SweepFailed(_) => {
                self.end_phase();
                self.attempts += 1;
                if self.attempts == self.max_attempts {
                    return ControlFlow::Break(());
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// Says on stderr that a sweep failed and why no routes were installed. A manager sweeps again and again, so what
    /// was said since the subnet was up last is not repeated.
    pub fn say_failure(&mut self, failed: &Event) {
        let reasons = std::mem::take(&mut self.refused);
        for text in std::iter::once(failed.to_string()).chain(reasons) {
            if self.said.insert(text.clone()) && !self.quiet {
                stderr::error(text);
            }
        }
    }

    fn end_phase(&mut self) {
        if let Some((phase, started)) = self.phase.take()
            && let Some(time) = self.times.get_mut(phase as usize)
        {
            *time += started.elapsed();
        }
    }

    /// The report of the manager after `total` of wall time.
    pub fn report(&self, sm: &SubnetManager, total: Duration) -> Report {
        let seconds = self.seconds(total);
        let mut report = Report::of_manager(sm.summary(), sm.fabric(), seconds, sm.report());
        if !sm.is_up() {
            let sweeps = count(self.attempts, "sweep", "sweeps");
            report.fail(format!("the subnet is not up after {sweeps}"));
            for warning in self.warnings.iter().take(MAX_REASONS) {
                report.fail(warning.as_str());
            }
        }
        report
    }

    /// Wall time of each phase.
    fn seconds(&self, total: Duration) -> Seconds {
        let of = |phase: Phase| {
            self.times
                .get(phase as usize)
                .map_or(0.0, |&time| seconds(time))
        };
        Seconds {
            discover: of(Phase::Discover),
            lids: of(Phase::Lids),
            route: of(Phase::Route),
            verify: of(Phase::Verify),
            program: of(Phase::Program),
            total: seconds(total),
        }
    }
}
