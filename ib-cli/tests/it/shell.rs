//! Completions for the shell, and manual pages.

use std::fs;

use crate::common::ib;

#[test]
fn completions_name_every_command_and_option() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = ib(&["completions", shell], "");
        assert_eq!(output.status.code(), Some(0), "{shell}");
        let script = String::from_utf8(output.stdout).unwrap();
        for word in ["discover", "whatif", "remove-links", "dump-dir"] {
            assert!(script.contains(word), "{shell} does not complete {word}");
        }
        // Commands of `ib ctl`, where clap completes values by their place.
        let completes = matches!(shell, "bash" | "zsh");
        assert_eq!(script.contains("switchbalance"), completes, "{shell}");
    }
    assert_eq!(ib(&["completions", "dos"], "").status.code(), Some(2));
}

#[test]
fn bash_accepts_its_completions() {
    let script = ib(&["completions", "bash"], "").stdout;
    let mut bash = std::process::Command::new("bash")
        .arg("-n")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut bash.stdin.take().unwrap(), &script).unwrap();
    assert!(bash.wait().unwrap().success());
}

#[test]
fn every_command_has_a_manual_page() {
    let directory = std::env::temp_dir().join(format!("ib-man-{}", std::process::id()));
    let output = ib(&["man", directory.to_str().unwrap()], "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for command in ["ib", "ib-up", "ib-decode", "ib-decode-packet", "ib-man"] {
        let page = fs::read_to_string(directory.join(format!("{command}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {command} 1")), "{page}");
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    assert!(!directory.join("ib-help.1").exists());
    fs::remove_dir_all(&directory).unwrap();
}
