//! Programs that tests run, with a limit of time: a program that hangs fails its own test and does not stop all others.

use std::{
    io,
    os::unix::process::CommandExt as _,
    process::{Command, Output, Stdio},
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// The time that a program has. Scripts of tests end their own programs after 60 seconds, so only a program that hangs reaches it.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Runs a program to its end and returns its status and what it printed, as [`Command::output`] does. It reads the standard input
/// that the command names, or that of the test.
///
/// A program that runs for longer than [`LIMIT`] is killed, together with the programs that it started. Its status then names
/// the signal SIGKILL.
///
/// # Errors
/// If the program cannot be started, or what it prints cannot be read.
pub fn output(command: &mut Command) -> io::Result<Output> {
    output_within(command, LIMIT)
}

/// As [`output`], with another limit.
fn output_within(command: &mut Command, limit: Duration) -> io::Result<Output> {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.process_group(0).spawn()?;
    let group = format!("-{}", child.id());
    let (end, ended) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{command:?} is killed: it ran for {limit:?}");
                let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            }
        });
        let output = child.wait_with_output();
        drop(end);
        output
    })
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt as _, time::Instant};

    use super::*;

    fn bash(script: &str) -> Command {
        let mut bash = Command::new("bash");
        bash.args(["-c", script]);
        bash
    }

    #[test]
    fn a_program_that_ends_is_reported_as_the_standard_library_reports_it() {
        let script = "echo out; echo error >&2; exit 3";
        let expected = bash(script).output().unwrap();
        let found = output(&mut bash(script)).unwrap();
        assert_eq!(found, expected);
        assert_eq!(found.status.code(), Some(3));
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_what_it_started() {
        let begin = Instant::now();
        // The inner program holds the pipe open, so it has to be killed, too.
        let mut hangs = bash("echo before; sleep 1000 & sleep 1000");
        let found = output_within(&mut hangs, Duration::from_millis(200)).unwrap();
        assert_eq!(found.status.signal(), Some(9));
        assert_eq!(found.stdout, b"before\n");
        assert!(begin.elapsed() < Duration::from_secs(500));
    }

    #[test]
    fn a_program_that_is_missing_is_an_error() {
        let missing = output(&mut Command::new("/nothing/here"));
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
