//! Jobs of a running manager that write files: an error is reported, and the job is repeated until it succeeds.

use std::time::Duration;

use ib_mad::Instant;

use crate::{error::CliError, output::stderr};

/// Time between two attempts to write a file.
const PAUSE: Duration = Duration::from_secs(10);

/// A job that runs when it is due, and again until it succeeds.
#[derive(Debug, Default)]
pub struct Retry {
    due: Option<Instant>,
    /// The error of the last attempt. It is kept so that an error that repeats is reported only once.
    failure: Option<String>,
}

impl Retry {
    /// Requests the job at a moment, unless it is already requested.
    pub fn request(&mut self, at: Instant) {
        self.due.get_or_insert(at);
    }

    /// Time at which to call [`run`](Self::run); `None` if the job is not requested.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Runs the job if it is due.
    pub fn run(&mut self, now: Instant, job: impl FnOnce() -> Result<(), CliError>) {
        if self.due.take_if(|due| *due <= now).is_none() {
            return;
        }
        match job() {
            Ok(()) => {
                if let Some(failure) = self.failure.take() {
                    stderr::info(format_args!("written after a failure: {failure}"));
                }
            }
            Err(error) => {
                let error = error.to_string();
                if self.failure.as_ref() != Some(&error) {
                    stderr::warn(format_args!("{error}; it is tried again every 10 s"));
                }
                self.failure = Some(error);
                self.due = Some(now + PAUSE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_fails_is_due_again_until_it_succeeds() {
        let mut retry = Retry::default();
        let at = |seconds: u64| Instant::ZERO + Duration::from_secs(seconds);
        let mut calls = 0;
        retry.run(at(0), || unreachable!("nothing is due"));
        retry.request(at(1));
        for (second, fails, due) in [
            (0, true, Some(1)),
            (1, true, Some(11)),
            (5, true, Some(11)),
            (11, false, None),
        ] {
            retry.run(at(second), || {
                calls += 1;
                if fails {
                    Err(CliError::input("disk full"))
                } else {
                    Ok(())
                }
            });
            assert_eq!(retry.due(), due.map(at), "second {second}");
        }
        assert_eq!(calls, 2);
    }
}
