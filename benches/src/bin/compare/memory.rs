//! Memory of a bring-up: the most that a process held at any time, of a fabric with nearly as many LIDs as there can be.

use std::{
    error::Error,
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::{bringup::SUBJECT, measure::Sample, row::Row, sim::OurProgram};

/// 47,824 LIDs: 3,920 switches and 43,904 CAs.
const FABRIC: &str = "fat-tree:radix=56,levels=3";

const UNIT: &str = "MB";

/// Time between two looks at a process. What it takes in the last of them is missed.
const INTERVAL: Duration = Duration::from_millis(5);

/// Measures both cases: manager and simulator in one process, and the manager alone.
pub(crate) fn rows(ib: &Path) -> Vec<Row> {
    let in_process = || {
        let mut up = Command::new(ib);
        up.args(["up", "--fabric", FABRIC]);
        peak(up)
    };
    let manager = || {
        let server = OurProgram::start(ib, FABRIC)?;
        let mut sm = Command::new(ib);
        sm.args(["sm", "--once", "--device", &format!("sim:{}", server.name)]);
        peak(sm)
    };
    vec![
        row("47824-in-process-memory", "target: 500 MB", in_process()),
        row(
            "47824-manager-memory",
            "target: 287 MB, 6 KB a LID",
            manager(),
        ),
    ]
}

fn row(case: &str, target: &str, megabytes: Result<f64, Box<dyn Error>>) -> Row {
    match megabytes {
        Ok(megabytes) => {
            let sample = Sample::new(vec![megabytes]);
            Row::without_peer(SUBJECT, case, target, UNIT, Some(&sample))
        }
        Err(error) => Row::without_peer(SUBJECT, case, format!("failed: {error}"), UNIT, None),
    }
}

/// The most memory, in megabytes, that a program held until it ended well.
fn peak(mut command: Command) -> Result<f64, Box<dyn Error>> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut kilobytes = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        // A process that has just ended has no such line.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        kilobytes = number.map_or(Ok(kilobytes), str::parse::<u32>)?;
        thread::sleep(INTERVAL);
    };
    match ended.success() {
        true => Ok(f64::from(kilobytes) * 1024.0 / 1e6),
        false => Err(format!("{command:?}: {ended}").into()),
    }
}
