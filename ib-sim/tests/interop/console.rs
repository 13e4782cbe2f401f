//! The console: what our server and ibsim answer to the same commands.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ib_routing::format::ibnetdiscover;
use ib_sim::server::{Listen, Server, ServerOptions};

use ib_testkit::{data::fabric_file, process};

use crate::running::{Running, difference};

/// The answers of a console, one a line: `ours` of our server, else ibsim's. `SW` and `HOST` in the commands are
/// replaced by the first switch and the first CA of the file.
fn console(file: &Path, commands: &str, ours: bool) -> Vec<String> {
    let running = Running::new(file);
    let text = fs::read_to_string(file).unwrap();
    let switch = text.lines().find(|line| line.starts_with("Switch"));
    let switch = switch.unwrap().split('"').nth(1).unwrap();
    let commands = commands
        .replace("SW", switch)
        .replace("HOST", &running.host);
    let script = running.directory.join("script");
    fs::write(&script, &commands).unwrap();
    let output = if ours {
        let topology = ibnetdiscover::read(&text).unwrap();
        let options = ServerOptions::new(Listen::Unix(running.name.clone()));
        let mut server = Server::bind(&topology.fabric, &options).unwrap();
        let mut output = Vec::new();
        let commands = Box::new(std::io::Cursor::new(commands));
        server
            .run(Some(commands), &mut output, &running.stop)
            .unwrap();
        output
    } else {
        let mut ibsim = Command::new("ibsim");
        ibsim
            .args(["-s", "-N", "16384", "-S", "4096", "-P", "262144"])
            .arg(file)
            .env("IBSIM_SOCKNAME", &running.name)
            .stdin(fs::File::open(&script).unwrap());
        process::output(&mut ibsim).unwrap().stdout
    };
    let output = String::from_utf8(output).unwrap();
    answers(&output)
}

/// The lines that a console printed, without prompts and the time.
fn answers(output: &str) -> Vec<String> {
    // ibsim first prints what it has read.
    let answers = output
        .split_once("MaxMcastCap")
        .and_then(|(_, rest)| rest.split_once('\n'))
        .map_or(output, |(_, rest)| rest);
    let lines = answers.lines().map(|line| line.trim_start_matches("sim> "));
    let lines = lines.filter(|line| !line.is_empty());
    // The time is not compared.
    let lines = lines.map(|line| match line.split_once(" - ") {
        Some(("# Net status", _)) => "# Net status",
        // ibsim shows the node GUID where the file gives the system another one.
        _ => line.split("\tsysimgguid").next().unwrap_or(line),
    });
    lines.map(str::to_owned).collect()
}

/// Returns true if a line says what is wrong with a command: in words of its own on each of the two.
fn is_refusal(line: &str) -> bool {
    let shown = ["# Net status", "#\t", "#  dumped"];
    let in_words = [
        "bad params",
        "bad lid value",
        "to/from lid",
        "Bad port",
        "Bad out port",
        "Bad forwarding",
        "wait: ",
        "disconnect client",
        "do_cmd_from_file",
    ];
    in_words.iter().any(|start| line.starts_with(start))
        || line.starts_with('#') && !shown.iter().any(|start| line.starts_with(start))
}

/// Each command comes between two that show the fabric, so that its effect is compared, and not only its answer.
///
/// Left out is what ibsim 0.10 does not do: `Guid "id"[port]` changes nothing there, a switch's port 0 keeps the GUID that
/// its node had, `Route` does not know the LIDs that `Baselid` gave, and one refusal ends without a line's end.
#[test]
fn the_console_answers_and_does_what_ibsims_does() {
    let commands = [
        "Unlink \"HOST\"[1]",
        "Unlink \"HOST\"[1]",
        "unlink \"HOST\"",
        "ReLink \"HOST\"[1]",
        "relink \"HOST\"[1]",
        "ReLink \"HOST\"",
        "Clear \"HOST\"[1]",
        "RELINK \"HOST\"",
        "Clear \"SW\"[1]",
        "ReLink \"SW\"",
        "Unlink \"SW\"",
        "ReLink \"SW\"",
        "Unlink",
        "Unlink \"nobody\"",
        "Unlink \"HOST\"[9]",
        "Link \"HOST\"[1] \"HOST\"[1]",
        "Link \"HOST\" \"SW\"[1]",
        "Link \"nobody\"[1] \"SW\"[1]",
        "Guid \"HOST\" 0x11",
        "Guid \"HOST\"[9] 0x11",
        "Guid \"nobody\" 0x11",
        "Error \"HOST\"[1] 50 17",
        "Error \"SW\" 10",
        "Error \"HOST\" 101",
        "Error \"HOST\"",
        "Error \"HOST\"[1] 0",
        "Error \"nobody\" 1",
        "PerformanceSet \"HOST\"[1] PortCounters.SymbolErrorCounter=99999999",
        "PerformanceSet \"HOST\"[1] portcounters.symbolerrorcounter=0x12",
        "PerformanceSet \"HOST\"[1] PortCountersExtended.PortXmitData=0xffffffffffffffff",
        "PerformanceSet \"HOST\"[1] PortRcvErrorDetails.PortLoopingErrors=7",
        "PerformanceSet \"HOST\"[1] PortXmitDiscardDetails.PortInactiveDiscards=70000",
        "PerformanceSet \"HOST\"[1] PortOpRcvCounters.PortOpRcvPkts=7",
        "PerformanceSet \"HOST\"[1] PortFlowCtlCounters.PortXmitFlowPkts=7",
        "PerformanceSet \"HOST\"[1] PortVLOpPackets.PortVLOpPackets3=70000",
        "PerformanceSet \"HOST\"[1] PortVLOpData.PortVLOpData15=7",
        "PerformanceSet \"HOST\"[1] PortVLXmitFlowCtlUpdateErrors.PortVLXmitFlowCtlUpdateErrors2=7",
        "PerformanceSet \"HOST\"[1] PortCounters.Nothing=3",
        "PerformanceSet \"HOST\"[1] Nothing.PortXmitData=3",
        "PerformanceSet \"HOST\"[1] PortCounters=3",
        "PerformanceSet \"HOST\"[1] PortCounters.PortXmitData=x",
        "PerformanceSet \"HOST\"[9] PortCounters.PortXmitData=3",
        "PerformanceSet \"SW\"[0] PortCounters.PortXmitData=3",
        "PerformanceSet \"SW\" PortCounters.PortXmitData=3",
        "Baselid \"HOST\"[1] 5",
        "Baselid \"HOST\"[1] 8 2",
        "Baselid \"HOST\"[1] 16",
        "Baselid \"SW\"[0] 3",
        "Baselid \"HOST\"[1] 0",
        "Baselid \"nobody\"[1] 5",
        "Route 0 0",
        "Route 1",
        "Route x y",
        "Verbose",
        "Verbose 1",
        "Verbose 0",
        "Attached",
        "X 3",
        "Wait 0",
        "Wait",
        "Start",
        "!/nowhere/at/all",
        "!",
        "foo bar",
        "Dump \"nobody\"",
        "Dump",
    ];
    let mut script = String::new();
    for (number, command) in commands.iter().enumerate() {
        let show = "Dump \"HOST\"\nDump \"SW\"";
        script += &format!("{command}\n{show}\nend of {number}\n");
    }
    script += "Quit\n";
    let mut found = Vec::new();
    for name in [
        "gen-line-2",
        "gen-torus-3x3x3-par2",
        "real-edr-102",
        "real-fdr10-152",
        "real-qdr-avakas-306",
    ] {
        let file = fabric_file(name);
        let [ours, theirs] = [true, false].map(|ours| console(&file, &script, ours));
        let mut ours = ours.iter();
        let mut theirs = theirs.iter().peekable();
        for (number, command) in commands.iter().enumerate() {
            let end = format!("command 'end of {number}' unknown - skipped");
            let answer = |lines: &mut dyn Iterator<Item = &String>| {
                let lines = lines.take_while(|line| **line != end);
                let plain = lines.map(|line| if is_refusal(line) { "# refused" } else { line });
                plain.collect::<Vec<_>>().join("\n")
            };
            let (ours, theirs) = (answer(&mut ours), answer(&mut theirs));
            if let Some(difference) = difference(&ours, &theirs) {
                found.push(format!("{name}: {command}:\n{difference}"));
            }
        }
        assert_eq!(ours.next().unwrap(), "Exiting network simulator.");
        assert_eq!(theirs.next().unwrap(), "Exiting network simulator.");
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_console_shows_the_tables_of_a_manager_as_ibsims_does() {
    for name in ["gen-line-2", "gen-torus-4x4x4-broken2", "real-edr-102"] {
        let file = fabric_file(name);
        let commands =
            "Route 1 2\nRoute 1 7\nRoute 7 1\nRoute 2 2\nRoute 1 999\nAttached\nDump\nQuit\n";
        let [ours, theirs] = [true, false].map(|ours| {
            let running = Running::new(&file);
            let (mut typist, server) = UnixStream::pair().unwrap();
            let text = fs::read_to_string(&file).unwrap();
            let fabric = ibnetdiscover::read(&text).unwrap().fabric;
            let options = ServerOptions::new(Listen::Unix(running.name.clone()));
            let name = running.name.clone();
            let path = file.clone();
            let console = std::thread::spawn(move || {
                if ours {
                    let mut output = Vec::new();
                    let console = Box::new(std::io::BufReader::new(server));
                    let stop = AtomicBool::new(false);
                    let mut server = Server::bind(&fabric, &options).unwrap();
                    server.run(Some(console), &mut output, &stop).unwrap();
                    return String::from_utf8(output).unwrap();
                }
                let mut ibsim = Command::new("ibsim");
                ibsim
                    .args(["-s", "-N", "16384", "-S", "4096", "-P", "262144"])
                    .arg(path)
                    .env("IBSIM_SOCKNAME", name)
                    .stdin(Stdio::from(std::os::fd::OwnedFd::from(server)));
                String::from_utf8(process::output(&mut ibsim).unwrap().stdout).unwrap()
            });
            let socket = format!("@{}:ctl", running.name);
            while !fs::read_to_string("/proc/net/unix")
                .unwrap()
                .contains(&socket)
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            running.run("opensm -o -f osm.log >osm.out 2>&1");
            typist.write_all(commands.as_bytes()).unwrap();
            answers(&console.join().unwrap())
        });
        let [ours, theirs] = [ours, theirs].map(|lines| {
            let plain = lines
                .iter()
                .map(|line| if is_refusal(line) { "# refused" } else { line });
            plain.collect::<Vec<_>>().join("\n")
        });
        assert!(ours.contains("To node"), "{name}: {ours}");
        assert!(ours.contains("Forwarding table"), "{name}: {ours}");
        if let Some(difference) = difference(&ours, &theirs) {
            panic!("{name}:\n{difference}");
        }
    }
}
