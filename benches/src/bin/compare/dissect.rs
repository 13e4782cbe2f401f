//! Whole programs that print what is in packets: `ib decode` beside tshark, both on one processor.
//!
//! The figures are processor time, a program's own and the system's for it: with milliseconds for a run, the
//! clock on the wall would count mostly how long the short program waits for its turn.
//!
//! Both read a file with the same packets or datagrams and print the same fields of each. A second row of ours prints every
//! field, the payload and the checked CRCs, as JSON for programs, and a third one prints them as text for people. tshark
//! computes no CRC, so both are set beside the same three fields of tshark's.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    sys::{
        resource::{UsageWho, getrusage},
        time::TimeVal,
    },
    unistd::Pid,
};

use crate::{
    measure::{Sample, figures_by_turns, is_installed},
    row::Row,
};

/// Packets or datagrams of a file.
pub(crate) const CASES: u32 = 100_000;

/// Number of times that each program runs.
const REPETITIONS: usize = 5;

/// The input of a dissection, and the commands of both programs.
pub(crate) struct Dissection {
    pub(crate) subject: &'static str,
    pub(crate) case: &'static str,
    /// Arguments of `ib`.
    pub(crate) ours: &'static [&'static str],
    /// The fields by `ib`'s names, and the same ones by tshark's.
    pub(crate) fields: (&'static str, &'static [&'static str]),
    /// Standard input of `ib`.
    pub(crate) input: Vec<u8>,
    /// The capture that tshark reads.
    pub(crate) capture: Vec<u8>,
}

impl Dissection {
    /// Three rows: the same fields, all of them as JSON, and all of them as text.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let sides: [(String, &[&str]); 3] = [
            (self.case.to_owned(), &["--fields", self.fields.0]),
            (format!("{}-full", self.case), &["--json"]),
            (format!("{}-readable", self.case), &[]),
        ];
        let missing = |install: &str| {
            let row = |(name, _): &(String, _)| {
                Row::without_peer(self.subject, name.as_str(), install, "ns", None)
            };
            sides.iter().map(row).collect()
        };
        let Some(ib) = program_ib() else {
            return missing("cargo build --profile dist --bin ib");
        };
        let Some(files) = Files::write(&self.input, &self.capture) else {
            return missing("a directory for temporary files");
        };
        // A program that prints less than a line a case did not do the work.
        for (_, options) in &sides {
            let mut command = self.ib(&ib, &files.input, options);
            let lines = command.output().map_or(0, |output| {
                output.stdout.iter().filter(|&&byte| byte == b'\n').count()
            });
            if lines < CASES as usize {
                return missing("cargo build --profile dist --bin ib");
            }
        }
        let row = |(name, options): &(String, &[&str])| {
            let ours = || self.ib(&ib, &files.input, options);
            if is_installed("tshark") {
                let theirs = || per_case(self.tshark(&files.capture));
                let (ours, peer) = figures_by_turns(REPETITIONS, || per_case(ours()), theirs);
                let peer_name = "tshark -T fields";
                Row::times(self.subject, name.as_str(), peer_name, "ns", &ours, &peer)
            } else {
                let figures = std::iter::repeat_with(|| per_case(ours())).take(REPETITIONS);
                let ours = Sample::new(figures.collect());
                let install = "apt-get install tshark";
                Row::without_peer(self.subject, name.as_str(), install, "ns", Some(&ours))
            }
        };
        sides.iter().map(row).collect()
    }

    fn ib(&self, ib: &Path, input: &Path, options: &[&str]) -> Command {
        let mut command = Command::new(ib);
        command.args(self.ours).args(options);
        if let Ok(file) = File::open(input) {
            command.stdin(file);
        }
        command
    }

    fn tshark(&self, capture: &Path) -> Command {
        let mut command = Command::new("tshark");
        command.arg("-r").arg(capture).args(["-T", "fields"]);
        for field in self.fields.1 {
            command.args(["-e", field]);
        }
        command
    }
}

/// The files of a dissection, for as long as it takes.
struct Files {
    input: PathBuf,
    capture: PathBuf,
}

impl Files {
    fn write(input: &[u8], capture: &[u8]) -> Option<Self> {
        let path = |name: &str| {
            std::env::temp_dir().join(format!("ib-compare-{}-{name}", std::process::id()))
        };
        let files = Self {
            input: path("input"),
            capture: path("capture"),
        };
        fs::write(&files.input, input).ok()?;
        fs::write(&files.capture, capture).ok()?;
        Some(files)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        for file in [&self.input, &self.capture] {
            // Files left over are in the directory for temporary files.
            let _ = fs::remove_file(file);
        }
    }
}

/// The command `ib` that was built with this program.
pub(crate) fn program_ib() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let ib = this.parent().map(Path::to_owned)?.join("ib");
    ib.is_file().then_some(ib)
}

/// Keeps what the calling thread starts on the first processor that it may use, until this is dropped: threads are no part
/// of a figure. A program such as `taskset` would be a part of it.
struct OneProcessor {
    /// The processors to use again.
    before: Option<CpuSet>,
}

impl OneProcessor {
    /// Without effect where the system does not allow it.
    fn begin() -> Self {
        let before = sched_getaffinity(CALLING_THREAD).ok();
        let first = |set: &CpuSet| (0..CpuSet::count()).find(|&cpu| set.is_set(cpu) == Ok(true));
        if let Some(first) = before.as_ref().and_then(first) {
            let mut one = CpuSet::new();
            let _ = one
                .set(first)
                .and_then(|()| sched_setaffinity(CALLING_THREAD, &one));
        }
        Self { before }
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // The processors were allowed before.
            let _ = sched_setaffinity(CALLING_THREAD, before);
        }
    }
}

/// The process number 0, by which the system means the calling thread.
const CALLING_THREAD: Pid = Pid::from_raw(0);

/// Nanoseconds of processor time a case of a run whose output goes nowhere.
fn per_case(mut command: Command) -> f64 {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let _one = OneProcessor::begin();
    let before = spent_by_children();
    match command.status() {
        Ok(status) if status.success() => {
            let spent = spent_by_children().saturating_sub(before);
            spent.as_nanos() as f64 / f64::from(CASES)
        }
        _ => f64::NAN,
    }
}

/// Processor time of all programs that this one has started and that have ended.
fn spent_by_children() -> Duration {
    let micros = |time: TimeVal| (time.tv_sec() * 1_000_000 + time.tv_usec()).unsigned_abs();
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(Duration::ZERO, |usage| {
        Duration::from_micros(micros(usage.user_time()) + micros(usage.system_time()))
    })
}
