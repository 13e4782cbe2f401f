//! The console: what its commands do, and what input it survives.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Cursor, Read, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ib_mad::{Attribute, Mad, MadAddress, Method};
use ib_smp::{NodeInfo, SmpDirected};
use ib_transport::{Clock, MadTransport, Received, receive};
use ib_wire::Guid;

use ib_testkit::worked_traces::server::{Client, Running};
use ib_testkit::worked_traces::{fabric, path};

#[test]
fn the_console_changes_the_fabric_and_says_what_is_wrong() {
    let server = Running::start(
        "Unlink \"S2\"[5]\nfoo\nLink \"S2\"[9] \"T\"[1]\nError \"T\" 101\nBaselid \"H\"[1] 7\nRoute 7 7\n",
    );
    let mut client = server.attach("H");
    let mut waited = 0;
    while client.guid(&[1, 7, 5]).is_some() && waited < 100 {
        std::thread::sleep(Duration::from_millis(20));
        waited += 1;
    }
    assert_eq!(client.guid(&[1, 7, 5]), None);
    assert_eq!(client.guid(&[1, 7]), Some(Guid(0x300)));
    std::thread::sleep(Duration::from_millis(300));
    let output = server.end();
    for line in [
        "command 'foo' unknown - skipped",
        "# Link: nodeid \"S2\" has no port 9",
        "# Error: 101: expected a percentage from 0 to 100",
        "From node \"H\" port 1 lid 7",
    ] {
        assert!(output.contains(line), "{line:?} is not in {output:?}");
    }
}

#[test]
fn a_silent_node_neither_answers_nor_returns_what_it_gets() {
    let (mut console, input) = UnixStream::pair().unwrap();
    let server = Running::with_console(Box::new(BufReader::new(input)));
    let refused = "Silent \"nobody\"\nSilent \"S2\"[5]\nSilent \"S2\" maybe\n";
    writeln!(console, "{refused}Silent \"T\"").unwrap();
    let mut client = server.attach("H");
    // The silent node is asked before the switch in front of it: whatever the server sent for it would come first.
    let ask = |client: &mut Client, route: &[u8]| {
        let mut mad = Mad::new(MadAddress::DIRECTED);
        let smp = SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path(route));
        mad.bytes = *smp.as_bytes();
        client.port.send(client.clock.now(), &mad).unwrap();
    };
    let first_answer = |client: &mut Client| {
        ask(client, &[1, 7, 5]);
        ask(client, &[1, 7]);
        let received = receive(&mut client.port, &client.clock, None).unwrap().1;
        match received {
            Some(Received::Mad(mad)) => {
                let smp = SmpDirected::from_bytes(mad.bytes);
                NodeInfo::from_bytes(*smp.smp_data().first_chunk().unwrap()).node_guid()
            }
            other => panic!("{other:?}"),
        }
    };
    // The console's lines are read by a thread of its own.
    let mut turns = 0;
    while first_answer(&mut client) == Guid(0x400) {
        // The answer of the switch.
        let _ = receive(&mut client.port, &client.clock, None).unwrap();
        turns += 1;
        assert!(turns < 500, "the node still answers");
        std::thread::sleep(Duration::from_millis(10));
    }
    for _ in 0..3 {
        assert_eq!(first_answer(&mut client), Guid(0x300));
    }
    // With a time the requests come back as timed out, as the kernel returns them to a program that waits for that.
    writeln!(console, "Silent \"T\" 1").unwrap();
    let mut turns = 0;
    loop {
        ask(&mut client, &[1, 7, 5]);
        let soon = client.clock.now() + Duration::from_millis(200);
        let returned = receive(&mut client.port, &client.clock, Some(soon))
            .unwrap()
            .1;
        if let Some(Received::Returned(mad)) = returned {
            let smp = SmpDirected::from_bytes(mad.bytes);
            assert_eq!(smp.hop_count(), 3);
            break;
        }
        turns += 1;
        assert!(turns < 100, "nothing comes back");
    }
    writeln!(console, "silent \"T\" OFF").unwrap();
    for turns in 0.. {
        ask(&mut client, &[1, 7, 5]);
        let received = receive(&mut client.port, &client.clock, None).unwrap().1;
        if let Some(Received::Mad(_)) = received {
            break;
        }
        assert!(turns < 500, "the node is still silent");
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = server.end();
    for line in [
        "# Silent: nodeid \"nobody\" not found",
        "# Silent: port 5: expected a node",
        "# Silent: maybe: expected off, or milliseconds",
    ] {
        assert!(output.contains(line), "{line:?} is not in {output:?}");
    }
}

/// The output of a server whose console gets `quit`.
fn console(commands: &str) -> String {
    let mut server = Running::serve(&fabric(), commands);
    let thread = server.thread.take().unwrap();
    thread.join().unwrap()
}

#[test]
fn a_file_of_commands_waits_where_it_says_so() {
    let directory = std::env::temp_dir();
    let file = directory.join(format!("ib-sim-console-{}", std::process::id()));
    let inner = directory.join(format!("ib-sim-console-{}-inner", std::process::id()));
    let text = format!("Verbose 1\n! {} \nVerbose 3\nQuit\n", inner.display());
    std::fs::write(&file, text).unwrap();
    std::fs::write(&inner, "Verbose 2\nWait 1\n").unwrap();
    let started = std::time::Instant::now();
    let output = console(&format!("!{}\nVerbose 4\n", file.display()));
    let took = started.elapsed();
    for file in [file, inner] {
        std::fs::remove_file(file).unwrap();
    }
    let levels: Vec<_> = output
        .lines()
        .filter_map(|line| line.strip_prefix("simulator verbose level is "))
        .collect();
    // `Quit` in a file ends the server: commands after it are not carried out.
    assert_eq!(levels, ["1", "2", "3"], "{output}");
    assert!(took >= Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_file_of_commands_that_reads_itself_ends() {
    let file = std::env::temp_dir().join(format!("ib-sim-console-{}-loop", std::process::id()));
    let text = format!("Verbose 1\n!{}\n", file.display());
    std::fs::write(&file, text).unwrap();
    let output = console(&format!("!{}\nQuit\n", file.display()));
    std::fs::remove_file(file).unwrap();
    assert_eq!(output.matches("simulator verbose level is 1").count(), 9);
    assert!(output.contains("files are nested too deep"), "{output}");
}

/// A console that repeats a line for ever and counts how often it was read.
struct Endless {
    line: &'static [u8],
    at: usize,
    read: Arc<AtomicUsize>,
}

impl Read for Endless {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        unreachable!("the server reads lines")
    }
}

impl BufRead for Endless {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        Ok(&self.line[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
        if self.at == self.line.len() {
            self.at = 0;
            self.read.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn clients_are_served_between_the_lines_of_an_endless_console() {
    let read = Arc::new(AtomicUsize::new(0));
    let console = Endless {
        line: b"Dump\n",
        at: 0,
        read: Arc::clone(&read),
    };
    let server = Running::with_console(Box::new(console));
    let mut client = server.attach("H");
    while read.load(Ordering::Relaxed) < 100 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let started = Instant::now();
    for _ in 0..100 {
        assert_eq!(client.guid(&[1]), Some(Guid(0x200)));
    }
    let took = started.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn lines_that_wait_for_their_turn_are_bounded() {
    let read = Arc::new(AtomicUsize::new(0));
    let lines = Endless {
        line: b"# a comment\n",
        at: 0,
        read: Arc::clone(&read),
    };
    let server = Running::with_console(Box::new(Cursor::new("Wait 30\n").chain(lines)));
    std::thread::sleep(Duration::from_millis(300));
    let waiting = read.load(Ordering::Relaxed);
    assert!(waiting <= 100, "{waiting}");
    drop(server);
}

#[test]
fn bytes_that_are_not_utf8_are_an_error_and_not_the_end() {
    let mut text = b"Verbose 1\n\xff\xfe Dump\nVerbose 2\n".to_vec();
    text.extend(std::iter::repeat_n(b'x', 1 << 20));
    text.extend(b"\nVerbose 3\nVerbose 4");
    let server = Running::with_console(Box::new(Cursor::new(text)));
    std::thread::sleep(Duration::from_millis(500));
    let output = server.end();
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(
        lines,
        [
            "simulator verbose level is 1",
            "# the line is not UTF-8: skipped",
            "simulator verbose level is 2",
            "# the line is longer than 65536 bytes: skipped",
            "simulator verbose level is 3",
            "simulator verbose level is 4",
        ]
    );
}
