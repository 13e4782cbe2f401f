//! The user MAD interface of a real kernel, in a virtual machine with a software RDMA device.
#![cfg(feature = "kernel-tests")]

use std::{path::Path, process::Command};

/// Builds the example without shared libraries, boots a kernel around it, and reads its console.
#[test]
fn a_real_kernel_carries_requests_answers_timeouts_and_long_messages() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = package.join("../target/kernel-tests");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--example", "umad_loopback", "--target", TARGET])
        .arg("--target-dir")
        .arg(directory.join("target"))
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .current_dir(package)
        .status()
        .expect("cargo runs");
    assert!(built.success());
    let program = directory
        .join("target")
        .join(TARGET)
        .join("debug/examples/umad_loopback");
    let output = Command::new(package.join("testdata/kernel/boot.sh"))
        .arg(&directory)
        .arg(program.canonicalize().expect("the example was built"))
        .output()
        .expect("bash runs");
    let console = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    for step in [
        "ok found rxe0/1 (Ethernet)",
        "ok refused QP0: rxe0/1 has link layer Ethernet",
        "ok registered a client and a server",
        "ok refused: rxe0/1: class",
        "ok answered a request",
        "ok exchanged 100 requests and answers without an allocation",
        "ok got a request back that nobody answered",
        "ok was told of 1104 bytes three times where there was no room (ENOSPC)",
        "ok joined a long answer of 1040 bytes",
        "rxe0/1 was removed",
        "program ended with 0",
    ] {
        assert!(
            console.contains(step),
            "no `{step}` in:\n{console}\n{errors}"
        );
    }
}

const TARGET: &str = "x86_64-unknown-linux-gnu";
