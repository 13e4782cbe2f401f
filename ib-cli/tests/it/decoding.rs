//! `ib decode` with more input than one thread reads at once, and with input that arrives slowly.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::common::ib;

/// A datagram of a thousand different ones, as digits.
fn mad(number: usize) -> String {
    let digits = format!("0181010100000000{:016x}", number % 1000);
    format!("{digits:0<512}")
}

fn decode(input: impl AsRef<[u8]>) -> std::process::Output {
    ib(&["decode", "mad", "--json", "-"], input)
}

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'\n').count()
}

#[test]
fn documents_are_in_the_order_of_the_cases() {
    let one_round: String = (0..1000).map(|number| mad(number) + "\n").collect();
    let alone: Vec<u8> = (0..1000)
        .flat_map(|number| decode(mad(number) + "\n").stdout)
        .collect();
    let rounds = decode(one_round.repeat(5));
    assert!(rounds.stdout == alone.repeat(5));
}

#[test]
fn a_bad_line_is_named_by_its_number_and_those_before_are_decoded() {
    for bad in [1, 127, 128, 129, 4001, 4999, 5000] {
        let mut cases: Vec<String> = (0..5000).map(mad).collect();
        cases[bad - 1].replace_range(100..101, "x");
        let output = decode(cases.join("\n"));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr.starts_with(&format!("error: -:{bad}: `x` is no")),
            "{stderr}"
        );
        assert_eq!(lines(&output.stdout), bad - 1);
    }
}

#[test]
fn a_line_may_be_longer_than_what_is_read_at_once() {
    let long = mad(1) + &"5a".repeat(150_000);
    for end in ["", "\n"] {
        let input = [mad(0), long.clone(), mad(2)].join("\n") + end;
        let output = String::from_utf8(decode(input).stdout).unwrap();
        let documents: Vec<&str> = output.lines().collect();
        assert_eq!(documents.len(), 3);
        assert!(documents[1].contains(&"5a".repeat(150_000)));
        for (document, case) in [(documents[0], mad(0)), (documents[2], mad(2))] {
            assert_eq!(document.as_bytes(), decode(case).stdout.trim_ascii_end());
        }
    }
}

#[test]
fn an_output_that_is_closed_ends_the_command() {
    let input: String = (0..20_000).map(|number| mad(number) + "\n").collect();
    let mut child = started();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()));
    stdout.read_exact(&mut [0; 100]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stderr, b"");
    assert!(writer.join().unwrap().is_err());
}

#[test]
fn cases_are_printed_as_they_arrive() {
    let mut child = started();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, documents) = mpsc::channel();
    let reader = thread::spawn(move || {
        for document in BufReader::new(stdout).lines() {
            sender.send(document.unwrap()).unwrap();
        }
    });
    for number in 0..3 {
        writeln!(stdin, "{}", mad(number)).unwrap();
        let document = documents.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(
            document.as_bytes(),
            decode(mad(number)).stdout.trim_ascii_end()
        );
    }
    drop(stdin);
    reader.join().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

fn started() -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ib"));
    command.args(["decode", "mad", "--json", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}
