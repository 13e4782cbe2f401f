//! Debian's packaged programs, preloaded with umad2sim, on our server and on ibsim: they print the same.
//!
//! Needs `opensm ibsim-utils libumad2sim0 infiniband-diags`; run with `--features interop`. What OpenSM writes with a
//! Set and ibsim does not store (lease period, time-outs, thresholds, link masks) is not compared.
#![cfg(all(target_os = "linux", feature = "interop"))]

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use ib_routing::format::ibnetdiscover;
use ib_sim::server::{Listen, Server, ServerOptions};

fn fabrics() -> Vec<PathBuf> {
    let directory = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ib-routing/testdata/fabrics"
    );
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "net"))
        .collect();
    files.sort();
    files
}

fn fabric(name: &str) -> PathBuf {
    let mut files = fabrics().into_iter();
    files
        .find(|path| path.file_stem().is_some_and(|stem| stem == name))
        .unwrap()
}

/// A server under a name, ours or ibsim's.
struct Running {
    name: String,
    directory: PathBuf,
    host: String,
    stop: Arc<AtomicBool>,
    peer: Option<Child>,
}

impl Running {
    fn new(file: &Path) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("ib-interop-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(&name);
        fs::create_dir_all(&directory).unwrap();
        let text = fs::read_to_string(file).unwrap();
        let ca = text
            .lines()
            .find(|line| line.starts_with("Ca") || line.starts_with("Hca"));
        let host = ca.unwrap().split('"').nth(1).unwrap().to_owned();
        Self {
            name,
            directory,
            host,
            stop: Arc::new(AtomicBool::new(false)),
            peer: None,
        }
    }

    fn ours(file: &Path) -> Self {
        let running = Self::new(file);
        let topology = ibnetdiscover::read(&fs::read_to_string(file).unwrap()).unwrap();
        let options = ServerOptions::new(Listen::Unix(running.name.clone()));
        let mut server = Server::bind(&topology.fabric, &options).unwrap();
        let stop = Arc::clone(&running.stop);
        std::thread::spawn(move || server.run(None, &mut std::io::sink(), &stop));
        running
    }

    fn theirs(file: &Path) -> Self {
        let mut running = Self::new(file);
        let child = Command::new("ibsim")
            .args(["-s", "-n", "-N", "16384", "-S", "4096", "-P", "262144"])
            .arg(file)
            .env("IBSIM_SOCKNAME", &running.name)
            .stdin(Stdio::null())
            .stdout(fs::File::create(running.directory.join("log")).unwrap())
            .spawn()
            .unwrap();
        running.peer = Some(child);
        let socket = format!("@{}:ctl", running.name);
        for _ in 0..200 {
            if fs::read_to_string("/proc/net/unix")
                .unwrap()
                .contains(&socket)
            {
                return running;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("ibsim does not start");
    }

    /// Runs a shell command on the first CA of the fabric, and gives what it prints.
    fn run(&self, command: &str) -> String {
        let library = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so";
        let preload = if Path::new(library).exists() {
            library
        } else {
            "/usr/lib/umad2sim/libumad2sim.so"
        };
        let output = Command::new("timeout")
            .args(["60", "bash", "-c", command])
            .current_dir(&self.directory)
            .env("IBSIM_SOCKNAME", &self.name)
            .env("SIM_HOST", &self.host)
            .env("OSM_TMP_DIR", &self.directory)
            .env("OSM_CACHE_DIR", &self.directory)
            .env("LD_PRELOAD", preload)
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("# Topology file"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(mut peer) = self.peer.take() {
            let _ = peer.kill();
            let _ = peer.wait();
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The first lines that differ, or nothing.
fn difference(ours: &str, theirs: &str) -> Option<String> {
    let (mut ours, mut theirs) = (ours.lines(), theirs.lines());
    loop {
        let (ours, theirs) = (ours.next(), theirs.next());
        if ours != theirs {
            let [ours, theirs] = [ours, theirs].map(|line| line.unwrap_or("(the end)"));
            return Some(format!("ours:   {ours}\ntheirs: {theirs}"));
        }
        ours?;
    }
}

/// What the commands print on our server, which is what they print on ibsim. A busy machine costs a tool an answer now and
/// then: a difference counts if it is there three times in a row.
fn same_on_both(file: &Path, commands: &str, comparable: impl Fn(&str) -> String) -> String {
    let mut found = String::new();
    for _ in 0..3 {
        let ours = comparable(&Running::ours(file).run(commands));
        let theirs = comparable(&Running::theirs(file).run(commands));
        match difference(&ours, &theirs) {
            None => return ours,
            Some(difference) => found = difference,
        }
    }
    panic!("{}:\n{found}", file.display());
}

#[test]
fn tools_print_the_same_before_a_manager_came() {
    let commands = "ibnetdiscover; ibnetdiscover -f; smpquery -D nodeinfo 0; smpquery -D nodeinfo 0,1; \
        smpquery -D nodedesc 0; smpquery -D portinfo 0; smpquery -D portinfo 0,1 0; smpquery -D portinfo 0,1 1; \
        smpquery -D portinfo 0,1 2; smpquery -D switchinfo 0,1; smpquery -D pkeys 0; smpquery -D pkeys 0,1 1; \
        smpquery -D sl2vl 0; smpquery -D sl2vl 0,1 1; smpquery -D vlarb 0; smpquery -D vlarb 0,1 1; \
        smpquery -D portinfo 0,1 250";
    for file in fabrics() {
        let ours = same_on_both(&file, commands, str::to_owned);
        assert!(ours.lines().count() > 100, "{}: {ours}", file.display());
    }
}

/// What `ibportstate` changes, it and the walk show on both servers alike. A switch's external port has no LIDs; ibsim shows some.
#[test]
fn ports_are_set_as_on_ibsim() {
    let without_lids = |output: &str| {
        let output = comparable(output);
        let lines = output.lines().filter(|line| !line.contains("Lid:"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let file = fabric("real-edr-102");
    for change in ["arm", "active", "vls 1", "query"] {
        let commands = format!(
            "ibportstate -D 0,1 2 {change}; sleep 0.2; smpquery -D portinfo 0,1 2; ibnetdiscover"
        );
        same_on_both(&file, &commands, without_lids);
    }
}

/// On ibsim a disabled port stays in Initialize, and a width is in use before the link has trained again.
#[test]
fn ibportstate_disables_enables_and_trains_a_link() {
    let file = fabric("real-edr-102");
    let server = Running::ours(&file);
    let look = |change: &str| {
        server.run(&format!(
            "ibportstate -D 0,1 2 {change} >/dev/null 2>&1; sleep 0.3; \
             smpquery -D portinfo 0,1 2 | grep '^LinkState\\|^PhysLink\\|^LinkWidthA' | tr -d '.\\n'; \
             ibnetdiscover | grep -c '^\\[2\\].*H-506b4b03003fa9aa'"
        ))
    };
    let up = "LinkWidthActive:4XLinkState:InitializePhysLinkState:LinkUp1";
    assert_eq!(look("query"), up);
    assert_eq!(
        look("disable"),
        "LinkWidthActive:4XLinkState:DownPhysLinkState:Disabled0"
    );
    assert_eq!(look("enable"), up);
    assert_eq!(look("width 1"), up);
    assert_eq!(look("reset"), up.replace("4X", "1X"));
}

#[test]
fn opensm_brings_every_fabric_up_without_an_error() {
    for file in fabrics() {
        let server = Running::ours(&file);
        let output =
            server.run("opensm -o -f osm.log >osm.out 2>&1; echo status $?; grep -c ERR osm.log");
        assert_eq!(output, "status 0\n0", "{}", file.display());
        let links = server.run("iblinkinfo");
        assert!(links.contains("Active/"), "{}: {links}", file.display());
        assert!(
            !links.contains("Initialize/"),
            "{}: {links}",
            file.display()
        );
    }
}

/// Starts OpenSM, waits until the client's port is active, and leaves it running as `$SM`.
const WITH_OPENSM: &str = r#"
    opensm -f osm.log >osm.out 2>&1 & SM=$!
    trap 'kill $SM; wait $SM' EXIT
    for try in $(seq 300); do
        smpquery -D portinfo 0 2>/dev/null | grep -q 'LinkState:.*Active' && break
        sleep 0.1
    done
    sleep 0.5
"#;

/// Lines that differ by what ibsim does, not by what the tool found:
/// what OpenSM writes and ibsim does not store, what counts packets, numbers of processes, NodeInfo's port of arrival in
/// LID-routed queries (ibsim: 0), memory that umad2sim leaves as it was. Of perfquery the counts of packets are left out: how
/// many there were differs from run to run, and ibsim counts none by lane.
fn is_comparable(line: &str) -> bool {
    let named = [
        "MkeyLeasePeriod",
        "LinkSpeedEnabled",
        "LinkSpeedExtEnabled",
        "LinkWidthEnabled",
        "validate_extended_speed",
        "validate_speed",
        "LocalPort:",
        "resv2",
        "# Topology file",
    ];
    !named.iter().any(|name| line.contains(name))
}

fn comparable(output: &str) -> String {
    let lines = output.lines().filter(|line| is_comparable(line));
    let lines = lines.map(|line| {
        let line = line.split(", activity count").next().unwrap_or(line);
        // `ibwarn: [123] text`
        match line
            .strip_prefix("ibwarn: [")
            .and_then(|rest| rest.split_once(']'))
        {
            Some((_, text)) => format!("ibwarn:{text}"),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The LID that the file gives the first CA's linked port, which OpenSM keeps; 1 where it gives none.
fn lid_of_first_ca(file: &Path) -> u16 {
    let text = fs::read_to_string(file).unwrap();
    let block = text.lines().skip_while(|line| !line.starts_with("Ca"));
    let lid = block.skip(1).find_map(|line| {
        let (_, lid) = line.split_once("# lid ")?;
        lid.split_whitespace().next()?.parse().ok()
    });
    lid.filter(|&lid| lid != 0).unwrap_or(1)
}

#[test]
fn tools_print_the_same_under_opensm() {
    let commands = format!(
        "{WITH_OPENSM}
        LID=$(ibaddr -l | sed -n 's/.*start \\(0x[0-9a-f]*\\).*/\\1/p')
        sminfo; saquery -c; saquery NR $LID; saquery -D; iblinkinfo; ibroute -D 0,1; ibroute -M -D 0,1
        ibtracert $LID 2; ibtracert $LID 3; ibportstate -D 0 1; ibportstate -D 0,1 1; ibqueryerrors
        ibhosts; ibswitches; ibnetdiscover; smpquery nodeinfo 2
        for counters in '' -x; do
            perfquery $counters $LID 1 | grep -v 'Pkts\\|Data'
        done"
    );
    for file in fabrics() {
        // A cable of this one is 1x at one end and 4x at the other: after OpenSM's Sets ibsim shows 4x, our links what both can.
        if file.ends_with("real-sdr-2007-6.net") {
            continue;
        }
        let ours = same_on_both(&file, &commands, comparable);
        let master = format!("sminfo: sm lid {} ", lid_of_first_ca(&file));
        assert!(ours.contains(&master), "{}: {ours}", file.display());
    }
}

#[test]
fn tools_print_the_same_after_opensm() {
    let file = fabric("gen-line-2");
    let commands = "opensm -o -f osm.log >/dev/null 2>&1; ibnetdiscover; iblinkinfo; ibroute -D 0,1; \
        ibroute -M -D 0,1; ibtracert 1 3; ibhosts; ibswitches; smpquery nodeinfo 1; \
        smpquery switchinfo 2; ibqueryerrors; perfquery 1 1; perfquery -a 2; perfquery -E 1 1; perfquery -D 1 1; \
        perfquery --oprcvcounters 1 1; perfquery --flowctlcounters 1 1; perfquery --vlopdata 1 1 | grep -v Data; \
        perfquery --vlxmitflowctlerrors 1 1; perfquery --vlxmitcounters 1 1";
    same_on_both(&file, commands, str::to_owned);
}

/// ibsim hands a request of a vendor's class to nobody but a subnet manager, so neither works there.
#[test]
fn two_clients_ping_and_ask_each_other() {
    let file = fabric("gen-line-2");
    let other = "H-0010000000000010";
    let output = Running::ours(&file).run(&format!(
        "{WITH_OPENSM}
        LID=$(SIM_HOST={other} ibaddr -l | sed -n 's/.*start \\(0x[0-9a-f]*\\).*/\\1/p')
        SIM_HOST={other} ibping -S >/dev/null 2>&1 & PING=$!
        sleep 1; ibping -c 3 $LID; kill $PING; wait $PING 2>/dev/null
        SIM_HOST={other} ibsysstat -S >/dev/null 2>&1 & STAT=$!
        sleep 1; ibsysstat $LID host; ibsysstat $LID cpu; kill $STAT"
    ));
    assert!(
        output.contains("3 packets transmitted, 3 received, 0% packet loss"),
        "{output}"
    );
    assert!(output.contains("cpu 0:"), "{output}");
}

/// `-f a` needs answers of more than one segment, which umad2sim cannot carry: on both servers it waits at the same place.
#[test]
fn osmtest_gets_as_far_as_on_ibsim() {
    let file = fabric("gen-line-2");
    let commands = format!(
        "{WITH_OPENSM} osmtest -f c -i inventory; timeout 4 osmtest -f a -i inventory; echo status $?"
    );
    let run = |server: Running| {
        let output = server.run(&commands);
        assert!(
            output.contains("OSMTEST: TEST \"Create Inventory\" PASS"),
            "{output}"
        );
        // `Nov 21 15:46:22 172589 [50A6E400] 0x01 -> text`
        let lines = output
            .lines()
            .map(|line| line.split_once(" -> ").map_or(line, |(_, text)| text));
        lines.collect::<Vec<_>>().join("\n")
    };
    let (ours, theirs) = (run(Running::ours(&file)), run(Running::theirs(&file)));
    if let Some(difference) = difference(&ours, &theirs) {
        panic!("{difference}");
    }
}

/// What a console answers, one line per answer: `ours` of our server, else ibsim's. `SW` and `HOST` in the commands
/// stand for the first switch and the first CA of the file.
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
        let ibsim = Command::new("ibsim")
            .args(["-s", "-N", "16384", "-S", "4096", "-P", "262144"])
            .arg(file)
            .env("IBSIM_SOCKNAME", &running.name)
            .stdin(fs::File::open(&script).unwrap())
            .output();
        ibsim.unwrap().stdout
    };
    let output = String::from_utf8(output).unwrap();
    answers(&output)
}

/// The lines that a console printed, without prompts and the time.
fn answers(output: &str) -> Vec<String> {
    // ibsim first tells what it has read.
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

/// Whether a line says what is wrong with a command: in words of its own on each of the two.
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

/// Each command stands between two that show the fabric, so that what it did is compared, not only what it said.
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
        let file = fabric(name);
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
        let file = fabric(name);
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
                let ibsim = Command::new("ibsim")
                    .args(["-s", "-N", "16384", "-S", "4096", "-P", "262144"])
                    .arg(path)
                    .env("IBSIM_SOCKNAME", name)
                    .stdin(Stdio::from(std::os::fd::OwnedFd::from(server)))
                    .output();
                String::from_utf8(ibsim.unwrap().stdout).unwrap()
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

/// ibsim has the same mode behind `-r`. Some port of these is free.
#[test]
fn tools_print_the_same_over_udp() {
    let file = fabric("real-edr-102");
    let fabric = ibnetdiscover::read(&fs::read_to_string(&file).unwrap())
        .unwrap()
        .fabric;
    let unix = Running::ours(&file);
    let address = std::net::Ipv4Addr::LOCALHOST.into();
    let (port, mut server) = (17_070..17_970)
        .step_by(90)
        .find_map(|port| {
            let options = ServerOptions::new(Listen::Udp { address, port });
            Some((port, Server::bind(&fabric, &options).ok()?))
        })
        .unwrap();
    let stop = Arc::clone(&unix.stop);
    std::thread::spawn(move || server.run(None, &mut std::io::sink(), &stop));
    let commands = "ibnetdiscover; smpquery -D nodeinfo 0,1; opensm -o -f osm.log >osm.out 2>&1; echo $?; \
        ibnetdiscover; iblinkinfo; sminfo; ibroute -D 0,1; perfquery -D 0";
    let over_udp =
        format!("export IBSIM_SERVER_NAME=127.0.0.1 IBSIM_SERVER_PORT={port}; {commands}");
    let (ours, over_unix) = (unix.run(&over_udp), unix.run(commands));
    assert!(ours.lines().count() > 300, "{ours}");
    if let Some(difference) = difference(&comparable(&ours), &comparable(&over_unix)) {
        panic!("{difference}");
    }
}
