//! `ib sim -- COMMAND`: programs of other projects on a fabric that exists as long as they run.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use ib_testkit::{ibsim::WITH_OPENSM, process};

/// A directory of one test, which is removed at the end of the test.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("ib-simulated-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `ib sim OPTIONS -- bash -c SCRIPT` in a directory of its own; the status, stdout and stderr.
pub(crate) fn simulated(options: &[&str], script: &str) -> (Option<i32>, String, String) {
    let directory = Directory::new();
    let mut sim = Command::new(env!("CARGO_BIN_EXE_ib"));
    sim.arg("sim")
        .args(options)
        .args(["--", "timeout", "60", "bash", "-c", script])
        .env_remove("IBSIM_SOCKNAME")
        .env_remove("SIM_HOST")
        .env("TMPDIR", &directory.0)
        .current_dir(&directory.0)
        .stdin(Stdio::null());
    let output = process::output(&mut sim).unwrap();
    let left: Vec<_> = std::fs::read_dir(&directory.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with("ib-sim-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn a_program_runs_on_its_own_fabric_and_its_status_is_ours() {
    let began = Instant::now();
    let (status, output, _) = simulated(
        &["--fabric", "ring:switches=3,hosts=3"],
        "opensm -o -f osm.log >osm.out; ibnetdiscover | grep -c '^Ca'; exit 7",
    );
    assert_eq!((status, output.as_str()), (Some(7), "9\n"));
    assert!(began.elapsed() < Duration::from_secs(30));
    let (status, ..) = simulated(&[], "kill -9 $$");
    assert_eq!(status, Some(137));
}

#[test]
fn saquery_shows_the_records_that_there_are_and_no_zeros() {
    let script = format!(
        "{WITH_OPENSM}
        saquery PR --slid 2 --dlid 3 | grep -c dump
        saquery SR | grep -c dump
        saquery PR --slid 2 --dlid 3 | grep -c 'dlid.*[.]0$'"
    );
    let (_, output, error) = simulated(&["--fabric", "ring:switches=2,hosts=2"], &script);
    assert_eq!(output, "1\n0\n0\n", "{error}");
}

#[test]
fn options_of_the_simulation_reach_the_fabric() {
    let script = "smpquery -D switchinfo 0,1 | grep FdbCap | tr -d .";
    let (_, output, _) = simulated(&["--lft-cap", "200", "--mft-cap", "64"], script);
    assert_eq!(output, "LinearFdbCap:200\nRandomFdbCap:0\nMcastFdbCap:64\n");
    // A fabric of 31,250 hosts needs larger tables than ibsim's.
    let (_, output, _) = simulated(&["--fabric", "dragonfly:a=50,p=25,h=1,g=25"], script);
    assert_eq!(
        output,
        "LinearFdbCap:49152\nRandomFdbCap:0\nMcastFdbCap:16383\n"
    );
    let lost = ["--faults", "loss=1"];
    let (status, ..) = simulated(&lost, "smpquery -D nodeinfo 0,1");
    assert_ne!(status, Some(0));
    let slow = ["--latency", "40ms", "--agent-latency", "120ms"];
    let began = Instant::now();
    let (status, ..) = simulated(&slow, "smpquery -D nodeinfo 0,1");
    assert_eq!(status, Some(0));
    assert!(began.elapsed() > Duration::from_millis(200));
}
