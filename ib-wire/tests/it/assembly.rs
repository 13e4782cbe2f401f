//! Getters compile on x86-64 to one load, one byte swap, and one mask or shift.
//!
//! The test compiles a crate of three functions with optimisation, and reads the assembly.
#![cfg(all(target_arch = "x86_64", not(miri)))]

use std::{fs, path::Path, process::Command};

/// A getter each; what they return is a plain number, so that nothing but the getter is in them.
const FUNCTIONS: &str = "
#[unsafe(no_mangle)]
pub fn bth_psn(bth: &ib_wire::Bth) -> u32 { bth.psn().bits() }
#[unsafe(no_mangle)]
pub fn lrh_pkt_len(lrh: &ib_wire::Lrh) -> u16 { lrh.pkt_len() }
#[unsafe(no_mangle)]
pub fn lrh_dlid(lrh: &ib_wire::Lrh) -> u16 { lrh.dlid().0 }
";

/// The assembly of [`FUNCTIONS`].
fn assembly() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("getters");
    fs::create_dir_all(&home).unwrap();
    let manifest = format!(
        "[package]\nname = \"getters\"\nedition = \"2024\"\n[lib]\npath = \"getters.rs\"\n\
         [dependencies]\nib-wire = {{ path = {root:?}, default-features = false }}\n[workspace]\n"
    );
    fs::write(home.join("Cargo.toml"), manifest).unwrap();
    fs::write(home.join("getters.rs"), FUNCTIONS).unwrap();
    // The versions that are on this machine already: those that this test was built with.
    fs::copy(root.join("../Cargo.lock"), home.join("Cargo.lock")).unwrap();
    let output = home.join("getters.s");
    let mut emit = std::ffi::OsString::from("--emit=asm=");
    emit.push(&output);
    let cargo = Command::new(env!("CARGO"))
        .current_dir(&home)
        .args([
            "rustc",
            "--release",
            "--offline",
            "--target-dir",
            "target",
            "--",
        ])
        .arg(emit)
        .args(["-Ccodegen-units=1", "-Cforce-frame-pointers=no"])
        // Flags for the tests, such as those that measure coverage, would change the code.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&cargo.stderr);
    assert!(cargo.status.success(), "{said}");
    fs::read_to_string(output).unwrap()
}

/// The instructions of a function, without those that keep a frame pointer and the return.
fn instructions<'a>(assembly: &'a str, function: &str) -> Vec<&'a str> {
    let is_label =
        |line: &&str| line.strip_suffix(':').map(|l| l.trim_start_matches('_')) == Some(function);
    let body: Vec<&str> = assembly
        .lines()
        .skip_while(|line| !is_label(line))
        .skip(1)
        .map(str::trim)
        .take_while(|line| !line.starts_with("ret"))
        .filter(|line| !line.is_empty() && !line.starts_with(['.', '#']) && !line.ends_with(':'))
        .filter(|line| !line.contains("%rbp") && !line.starts_with("endbr"))
        .collect();
    assert!(!body.is_empty(), "no {function} in:\n{assembly}");
    body
}

/// Asserts one load, one byte swap, and `others` that shift or mask, and nothing else.
fn assert_look(assembly: &str, function: &str, others: usize) {
    let all = instructions(assembly, function);
    let starts = |line: &&&str, names: &[&str]| names.iter().any(|name| line.starts_with(name));
    let loads = all.iter().filter(|line| line.contains('(')).count();
    let swap = |line: &&&str| {
        let rotates = starts(line, &["rolw", "rorw"]) && line.contains("$8,");
        rotates || starts(line, &["bswap", "movbe"])
    };
    let swaps = all.iter().filter(swap).count();
    let masks = all
        .iter()
        .filter(|line| starts(line, &["and", "shr"]))
        .count();
    let (loads_and_swaps, body) = ((loads, swaps), all.join("\n"));
    assert_eq!(loads_and_swaps, (1, 1), "{function}:\n{body}");
    assert_eq!(masks, others, "{function}:\n{body}");
    // A `movbe` loads and swaps at once.
    let at_once = all.iter().filter(|line| line.starts_with("movbe")).count();
    assert_eq!(all.len() + at_once, 2 + others, "{function}:\n{body}");
}

#[test]
fn a_getter_is_one_load_one_byte_swap_and_one_mask() {
    let assembly = assembly();
    assert_look(&assembly, "bth_psn", 1);
    assert_look(&assembly, "lrh_pkt_len", 1);
    // All 16 bits: nothing to mask.
    assert_look(&assembly, "lrh_dlid", 0);
}
