//! Files that commands write: written completely or not at all, through links, and complete recordings after a signal.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::common::ib;

/// A directory of its own for a test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ib-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_symbolic_link_stays_one_and_its_target_is_written() {
    let scratch = Scratch::new("links");
    let dump = scratch.file("dump");
    fs::create_dir(&dump).unwrap();
    for name in ["lfts", "dump/opensm-lfts.dump", "svg", "dot"] {
        symlink(scratch.file("target"), scratch.file(name)).unwrap();
        // A link to a file that is there, and one to a file that is not.
        for there in [true, false] {
            let _ = fs::remove_file(scratch.file("target"));
            if there {
                fs::write(scratch.file("target"), "old").unwrap();
            }
            let file = scratch.file(name);
            let arguments = match name {
                "lfts" => ["route", "--fabric", "thesis", "--lfts", text(&file)],
                "svg" => ["up", "--fabric", "thesis", "--svg", text(&file)],
                "dot" => ["up", "--fabric", "thesis", "--dot", text(&file)],
                _ => ["route", "--fabric", "thesis", "--dump-dir", text(&dump)],
            };
            let output = ib(&arguments, "");
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            assert!(fs::symlink_metadata(&file).unwrap().is_symlink(), "{name}");
            let written = fs::read_to_string(scratch.file("target")).unwrap();
            assert!(written.len() > 100, "{name}: {written}");
        }
    }
    assert_eq!(scratch.names(), ["dot", "dump", "lfts", "svg", "target"]);
}

#[test]
fn a_write_that_fails_leaves_the_old_file_and_nothing_beside_it() {
    let scratch = Scratch::new("full");
    let file = scratch.file("lfts");
    fs::write(&file, "old").unwrap();
    // No file may be longer than a block of 512 bytes, as on a disk that is full.
    let script = format!(
        "ulimit -f 1; trap '' XFSZ; exec {} route --lfts {}",
        env!("CARGO_BIN_EXE_ib"),
        text(&file)
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.starts_with(&format!("error: {}: ", text(&file))),
        "{stderr}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(scratch.names(), ["lfts"]);
}

#[test]
fn a_file_that_is_written_again_keeps_its_mode() {
    let scratch = Scratch::new("modes");
    let file = scratch.file("lfts");
    for mode in [0o600, 0o664] {
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let output = ib(&["route", "--fabric", "thesis", "--lfts", text(&file)], "");
        assert_eq!(output.status.code(), Some(0));
        let found = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode);
    }
}

/// Asserts that the file is whole blocks of pcapng, and returns how many.
fn whole_blocks(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    let mut count = 0;
    while !rest.is_empty() {
        let length = |at: usize| {
            let length = rest.get(at..at + 4).map(|bytes| bytes.try_into().unwrap());
            length.map(u32::from_le_bytes)
        };
        let first = length(4).expect("a block is cut") as usize;
        assert_eq!(
            length(first - 4),
            Some(first as u32),
            "block {count} is cut"
        );
        rest = &rest[first..];
        count += 1;
    }
    count
}

#[test]
fn a_signal_leaves_a_whole_recording_and_status_130() {
    for signal in ["-INT", "-TERM"] {
        let scratch = Scratch::new(&format!("signal{signal}"));
        let file = scratch.file("up.pcapng");
        let mut child = Command::new(env!("CARGO_BIN_EXE_ib"))
            .args(["up", "--fabric", "fat-tree:radix=24,levels=3"])
            .args(["--pcap", text(&file)])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while fs::metadata(&file).map_or(0, |found| found.len()) < 100_000 {
            assert!(began.elapsed() < Duration::from_secs(60));
            assert_eq!(child.try_wait().unwrap(), None, "it ended too soon");
            std::thread::sleep(Duration::from_millis(2));
        }
        let kill = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        assert!(whole_blocks(&fs::read(&file).unwrap()) > 100);
        assert_eq!(scratch.names(), ["up.pcapng"]);
    }
}
