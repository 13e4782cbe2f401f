//! A running manager: commands on its socket, and signals.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Time within which every expected event happens, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A served fabric, a manager on it, and a folder for both.
pub(crate) struct Running {
    /// The name of the simulator's sockets.
    server: String,
    sim: Child,
    pub(crate) sm: Child,
    pub(crate) folder: PathBuf,
}

impl Running {
    /// Starts both; `options` of the manager may name files of the folder as `@name`.
    pub(crate) fn start(name: &str, options: &[&str], files: &[(&str, &str)]) -> Self {
        Self::start_on("ring:switches=4,hosts=1", name, options, files)
    }

    /// As [`start`](Self::start), where a shell does `before` in the process that becomes the manager.
    pub(crate) fn start_after(before: &str, name: &str, options: &[&str]) -> Self {
        Self::start_by(before, "ring:switches=4,hosts=1", name, options, &[])
    }

    /// As [`start`](Self::start), on another fabric.
    fn start_on(fabric: &str, name: &str, options: &[&str], files: &[(&str, &str)]) -> Self {
        Self::start_by("", fabric, name, options, files)
    }

    fn start_by(
        before: &str,
        fabric: &str,
        name: &str,
        options: &[&str],
        files: &[(&str, &str)],
    ) -> Self {
        let folder = std::env::temp_dir().join(format!("ib-control-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in files {
            fs::write(folder.join(file), text).unwrap();
        }
        let server = format!("control-{name}-{}", std::process::id());
        let ib = |before: &str| {
            let program = env!("CARGO_BIN_EXE_ib");
            let mut command = Command::new("sh");
            let script = format!("{before}\nexec \"$0\" \"$@\"");
            command.args(["-c", &script, program]);
            command.stdin(Stdio::piped()).stderr(Stdio::piped());
            command.stdout(Stdio::piped()).current_dir(&folder);
            command
        };
        let mut sim = ib("")
            .args(["sim", "--fabric", fabric, "--socket", &server])
            .spawn()
            .unwrap();
        let device = format!("sim:{server}");
        let begun = Instant::now();
        let sm = loop {
            let mut sm = ib(before)
                .args(["sm", "--control", "socket", "--device", &device])
                .args(options)
                .spawn()
                .unwrap();
            // If the server does not listen yet, the manager ends at once; else its socket soon listens.
            let socket = folder.join("socket");
            let listens = || UnixStream::connect(&socket).is_ok();
            while sm.try_wait().unwrap().is_none() && !listens() {
                assert!(begun.elapsed() < PATIENCE, "the manager does not start");
                std::thread::sleep(Duration::from_millis(20));
            }
            if sm.try_wait().unwrap().is_none() {
                break sm;
            }
            assert!(begun.elapsed() < PATIENCE, "the manager does not start");
            assert!(sim.try_wait().unwrap().is_none(), "the simulator has ended");
        };
        Self {
            server,
            sim,
            sm,
            folder,
        }
    }

    /// The name of the simulator's sockets.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// The device by which a client attaches to the simulator.
    pub(crate) fn device(&self) -> String {
        format!("sim:{}", self.server)
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// The answer to one command after `json `.
    pub(crate) fn ask(&self, order: &str) -> serde_json::Value {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        writeln!(stream, "json {order}").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{order}: {error}: {line}"))
    }

    pub(crate) fn wait_for(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !holds(self) {
            assert!(
                begun.elapsed() < PATIENCE,
                "never: {what}: {}",
                self.ask("status")
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.sm.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in [&mut self.sm, &mut self.sim] {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub(crate) fn is_up(running: &Running) -> bool {
    let status = running.ask("status");
    status["up"] == true && status["phase"] == "waiting"
}

#[test]
fn a_running_manager_answers_on_its_socket_which_is_the_users_alone() {
    let running = Running::start("answers", &[], &[]);
    running.wait_for("up", is_up);
    let mode = fs::metadata(running.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    let status = running.ask("status");
    assert_eq!(status["state"], "Master");
    assert_eq!(status["fabric"]["switches"], 4);
    let ports = running.ask("portstatus switch");
    assert_eq!(ports["nodes"], 4);
    let list = running.ask("dump_portguid S");
    let first = &list[0];
    let owner = running.ask(&format!("querylid {}", first["lid"]));
    assert_eq!(owner["port_guid"], first["port_guid"]);
    let unknown = running.ask("frobnicate");
    assert!(unknown["message"].as_str().unwrap().contains("no command"));
    // Several lines at once, in text; an empty line ends each answer.
    let mut stream = UnixStream::connect(running.socket()).unwrap();
    stream.write_all(b"version\nhelp\n").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(
        text.starts_with(concat!(env!("CARGO_PKG_VERSION"), "\n\n")),
        "{text}"
    );
    assert!(
        text.contains("portstatus") && text.ends_with("\n\n"),
        "{text}"
    );
}

#[test]
fn half_a_line_and_a_flood_hold_up_nobody() {
    let running = Running::start("flood", &[], &[]);
    running.wait_for("up", is_up);
    let mut half = UnixStream::connect(running.socket()).unwrap();
    half.write_all(b"sta").unwrap();
    let mut flood = UnixStream::connect(running.socket()).unwrap();
    // The connection is closed at some point, so that writing may fail then.
    for _ in 0..64 {
        let _ = flood.write_all(&[b'x'; 1024]);
    }
    assert_eq!(running.ask("status")["up"], true);
    half.write_all(b"tus\n").unwrap();
    let mut line = String::new();
    BufReader::new(half).read_line(&mut line).unwrap();
    assert!(line.starts_with("manager"), "{line}");
}

#[test]
fn hangup_reads_the_configuration_again_and_usr1_writes_the_dump_files() {
    let conf = "sm_priority 3\ndump_files_dir dump\n";
    let options = ["--config", "opensm.conf"];
    let running = Running::start("signals", &options, &[("opensm.conf", conf)]);
    running.wait_for("up", is_up);
    assert_eq!(running.ask("status")["priority"], 3);
    let write = |text: &str| fs::write(running.folder.join("opensm.conf"), text).unwrap();
    write("sm_priority 99\n");
    let refused = running.ask("reload");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("nothing changes: opensm.conf:1"),
        "{message}"
    );
    assert_eq!(refused["refused"], true);
    write("sm_priority 7\ndump_files_dir dump\n");
    running.signal("HUP");
    running.wait_for("priority 7", |running| {
        running.ask("status")["priority"] == 7
    });
    running.wait_for("up again", is_up);
    let dumped: &Path = &running.folder.join("dump/opensm-subnet.lst");
    assert!(!dumped.exists());
    running.signal("USR1");
    running.wait_for("a dump", |_| dumped.exists());
}

#[test]
fn what_hosts_told_is_kept_in_a_file_that_a_restart_reads() {
    let member =
        "mcm_port: port_gid=0xfe80000000000000:0x000000000000dead scope_state=0x21 proxy_join=0x0";
    let group = "MC Group 0xc000  (well known): mgid=0xff12401bffff0000:0x00000000ffffffff \
        port_gid=0x0:0x0 qkey=0x00000b1b mlid=0xc000 mtu=0x84 tclass=0x00 pkey=0xffff rate=0x83 \
        pkt_life=0x92 sl_flow_hop=0x00000000 scope_state=0x20 proxy_join=0x0";
    let file = format!("{group}\n{member}\n");
    let running = Running::start("sa-db", &["--sa-db", "sa.dump"], &[("sa.dump", &file)]);
    running.wait_for("up", is_up);
    assert_eq!(running.ask("status")["groups"], 1);
    let read = || fs::read_to_string(running.folder.join("sa.dump")).unwrap();
    // No port has the GUID that the file names.
    running.wait_for("the file", |_| !read().contains("mcm_port"));
    assert!(read().starts_with("MC Group 0xc000  (well known): mgid=0xff12401bffff0000"));
}

/// The output of `ib ctl`, with its exit status.
fn ctl(running: &Running, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ib"));
    command.arg("ctl").arg("--socket").arg(running.socket());
    let output = command.args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn the_client_prints_answers_and_refusals_are_status_2() {
    let running = Running::start("ctl", &["--set", "sm_priority=4"], &[]);
    running.wait_for("up", is_up);
    let (status, text, _) = ctl(&running, &["status"]);
    assert_eq!(status, Some(0));
    assert!(text.contains("Master") && !text.ends_with("\n\n"), "{text}");
    let (status, text, _) = ctl(&running, &["--json", "status"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (status, &document["priority"]),
        (Some(0), &serde_json::json!(4))
    );
    for arguments in [&["priority", "99"][..], &["--json", "frobnicate"]] {
        let (status, _, stderr) = ctl(&running, arguments);
        assert_eq!(status, Some(2), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    let (_, text, _) = ctl(&running, &["dump_conf"]);
    assert!(text.contains("\nsm_priority 4\n"), "{text}");
    let (_, text, _) = ctl(&running, &["sweep", "off"]);
    assert!(text.contains("no sweeps"), "{text}");
    let (_, text, _) = ctl(&running, &["dump_conf"]);
    assert!(text.contains("\nsweep_interval 0\n"), "{text}");
    let mode = fs::metadata(running.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
}

#[test]
fn a_partition_added_to_a_running_manager_takes_effect_and_can_be_removed() {
    let running = Running::start("partition", &[], &[]);
    running.wait_for("up", is_up);
    let port = running.ask("dump_portguid .")[0]["port_guid"].clone();
    let guid = port.as_str().unwrap();
    let names = |running: &Running| -> Vec<String> {
        let list = running.ask("partition");
        let each = list.as_array().unwrap().iter();
        each.map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&running), ["Default"]);
    let rule = format!("storage=0x12, ipoib : {guid}=full");
    let (status, _, stderr) = ctl(&running, &["partition", "add", &rule]);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(names(&running), ["Default", "storage"]);
    // The group of the new partition exists as soon as its keys are written.
    running.wait_for("a group for each partition", |running| {
        running.ask("status")["groups"] == 2 && is_up(running)
    });
    for (command, what) in [
        ("partition add nonsense", "expected `:`"),
        ("partition remove nobody", "no partition"),
        ("partition remove 0x7fff", "always exists"),
        ("partition remove storage 0x1", "names the port"),
        ("partition frobnicate", "partition add RULE"),
    ] {
        let answer = running.ask(command);
        let message = answer["message"].as_str().unwrap();
        assert!(
            answer["refused"] == true && message.contains(what),
            "{command}: {message}"
        );
    }
    running.ask(&format!("partition remove storage {guid}"));
    assert_eq!(
        running.ask("partition")[1]["members"],
        serde_json::json!([])
    );
    running.ask("partition remove 0x8012");
    running.wait_for("one group", |running| running.ask("status")["groups"] == 1);
    assert_eq!(names(&running), ["Default"]);
}

#[test]
fn every_command_of_opensms_console_has_an_answer() {
    let running = Running::start("console", &["--log-file", "sm.log"], &[]);
    running.wait_for("up", is_up);
    let lid = running.ask("dump_portguid ^none$ .")[0]["lid"].clone();
    for command in [
        "help",
        "help priority",
        "loglevel",
        "loglevel 0x07",
        "permodlog",
        "priority",
        "priority 3",
        "resweep heavy",
        "resweep light",
        "reroute",
        "sweep",
        "sweep off",
        "sweep 7",
        "sweep on",
        "status",
        "logflush",
        "logflush on",
        "logflush off",
        "portstatus",
        "portstatus ca",
        "switchbalance",
        "switchbalance verbose",
        "lidbalance",
        "dump_conf",
        "update_desc",
        "version",
        "perfmgr enable",
        "perfmgr",
        "pm sweep",
        "pm sweep_time 60",
        "pm set_rm_nodes",
        "pm clear_rm_nodes",
        "pm set_query_cpi",
        "pm clear_query_cpi",
        "pm clear_inactive",
        "pm clear_counters",
        "pm pc",
        "pm pe",
        "pm disable",
    ] {
        let answer = running.ask(command);
        assert_eq!(
            answer["refused"],
            serde_json::Value::Null,
            "{command}: {answer}"
        );
    }
    assert_eq!(running.ask("loglevel")["message"], "debug");
    assert_eq!(running.ask("priority")["message"], "the priority is 3");
    assert_eq!(running.ask("sweep")["sweep_interval"], 10);
    let owner = running.ask(&format!("querylid {lid}"));
    assert_eq!(owner["lid"], lid);
    assert!(
        owner["ports"]
            .as_array()
            .unwrap()
            .iter()
            .any(|port| port["state"] == "Active")
    );
    for (command, what) in [
        ("priority x", "priority N"),
        ("sweep sometimes", "sweep SECONDS"),
        ("querylid x", "querylid LID"),
        ("dump_portguid (", "regular expression"),
        ("switchbalance 0x1", "no switch"),
        ("lidbalance x", "lidbalance [GUID]"),
        ("portstatus x", "portstatus [ca|switch|router]"),
        ("pm dump_redir", "perfmgr enable"),
    ] {
        let answer = running.ask(command);
        let message = answer["message"].as_str().unwrap();
        assert!(
            answer["refused"] == true && message.contains(what),
            "{command}: {message}"
        );
    }
}

#[test]
fn a_command_is_repeated_until_the_client_is_ended() {
    let running = Running::start("loop", &[], &[]);
    running.wait_for("up", is_up);
    let mut client = Command::new(env!("CARGO_BIN_EXE_ib"));
    client.arg("ctl").arg("--socket").arg(running.socket());
    client
        .args(["--json", "status", "loop"])
        .stdout(Stdio::piped());
    let mut client = client.spawn().unwrap();
    let lines = BufReader::new(client.stdout.take().unwrap()).lines();
    for line in lines.take(2) {
        let document: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_eq!(document["up"], true);
    }
    client.kill().unwrap();
    client.wait().unwrap();
}

#[test]
fn idle_clients_lock_nobody_out_and_many_orders_take_turns() {
    let running = Running::start("turns", &[], &[]);
    running.wait_for("up", is_up);
    let idle: Vec<_> = (0..20)
        .map(|_| UnixStream::connect(running.socket()).unwrap())
        .collect();
    let mut busy = UnixStream::connect(running.socket()).unwrap();
    busy.write_all("dump_portguid S\n".repeat(500).as_bytes())
        .unwrap();
    let begun = Instant::now();
    assert_eq!(running.ask("status")["up"], true);
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    drop((idle, busy));
}

#[test]
fn a_signal_ends_the_manager_with_130_and_removes_its_socket() {
    for signal in ["TERM", "INT"] {
        let mut running = Running::start(&format!("end-{signal}"), &[], &[]);
        running.wait_for("up", is_up);
        running.signal(signal);
        let status = running.sm.wait().unwrap();
        assert_eq!(status.code(), Some(130), "{signal}");
        assert!(!running.socket().exists(), "{signal}");
        // The log has the port that was chosen with the reason, and each change of its state.
        let mut stderr = String::new();
        let mut stream = running.sm.stderr.take().unwrap();
        stream.read_to_string(&mut stderr).unwrap();
        for line in [
            "subnet manager on node ",
            "this manager is the master",
            "subnet up: 4 switches",
        ] {
            assert!(stderr.contains(line), "{line}: {stderr}");
        }
    }
}

#[test]
fn a_manager_without_work_sleeps() {
    let running = Running::start("sleep", &["--set", "sweep_interval=0"], &[]);
    running.wait_for("up", is_up);
    let switches = || -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", running.sm.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("voluntary_ctxt"));
        line.unwrap()
            .split_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap()
    };
    std::thread::sleep(Duration::from_millis(500));
    let before = switches();
    std::thread::sleep(Duration::from_secs(2));
    // Ten times a second would be 20.
    assert!(switches() - before <= 3, "{}", switches() - before);
    // A command or a signal wakes the manager.
    assert_eq!(running.ask("status")["up"], true);
}

#[test]
fn files_that_cannot_be_written_are_tried_again() {
    let options = [
        "--set",
        "single_thread=TRUE",
        "--guid2lid",
        "later/guid2lid",
        "--guid2mkey",
        "later/guid2mkey",
        "--neighbors",
        "later/neighbors",
        "--sa-db",
        "later/sa",
        "--dump-dir",
        "file/dump",
    ];
    let running = Running::start("retry", &options, &[("file", "")]);
    running.wait_for("up", is_up);
    // A file has the name of the directory of tables, and the directory of the other files does not exist.
    let file = |name: &str| running.folder.join(name);
    assert!(!file("later").exists());
    fs::remove_file(file("file")).unwrap();
    fs::create_dir(file("later")).unwrap();
    for name in [
        "later/guid2lid",
        "later/neighbors",
        "later/sa",
        "file/dump/opensm-lfts.dump",
    ] {
        running.wait_for(name, |_| file(name).exists());
    }
    // A sweep may be going on, and on a busy machine a device may seem silent for a moment.
    running.wait_for("up as before", is_up);
}

#[test]
fn decisions_are_logged_by_level_and_the_file_is_opened_again() {
    let options = ["--log-file", "sm.log", "--log-level", "info", "--log-json"];
    let running = Running::start("log", &options, &[]);
    running.wait_for("up", is_up);
    let read = |name: &str| fs::read_to_string(running.folder.join(name)).unwrap_or_default();
    let lines: Vec<serde_json::Value> = read("sm.log")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let find = |event: &str| lines.iter().find(|line| line["fields"]["event"] == event);
    let up = find("subnet_up").unwrap();
    assert_eq!(
        (&up["level"], &up["target"]),
        (&"INFO".into(), &"sweep".into())
    );
    // A line names the sweep and the phase that it belongs to.
    let verified = find("routes_verified").unwrap();
    assert_eq!(verified["span"]["phase"], "verify");
    assert_eq!(
        (
            &verified["spans"][0]["name"],
            &verified["spans"][0]["number"]
        ),
        (&"sweep".into(), &1.into())
    );
    assert!(find("sm_state_changed").is_some() && find("routes_verified").is_some());
    assert!(find("lid_assigned").is_none());
    fs::rename(
        running.folder.join("sm.log"),
        running.folder.join("old.log"),
    )
    .unwrap();
    running.signal("USR1");
    running.wait_for("the file again", |_| running.folder.join("sm.log").exists());
    assert_eq!(
        running.ask("loglevel lids=debug")["refused"],
        serde_json::Value::Null
    );
    assert_eq!(running.ask("loglevel nonsense=nonsense")["refused"], true);
    running.ask("loglevel debug");
    running.ask("resweep");
    running.wait_for("phases", |_| read("sm.log").contains("phase_started"));
    // Each datagram is a line of its transaction.
    running.ask("loglevel off,transaction=trace");
    running.ask("resweep");
    let answered = |text: &str| {
        let lines = text.lines().map(serde_json::from_str);
        let lines = lines.filter_map(Result::<serde_json::Value, _>::ok);
        let mut answers = lines.filter(|line| line["fields"]["message"] == "answered");
        answers.find(|line| line["span"]["attribute"] == "NodeInfo")
    };
    running.wait_for("an answer", |_| answered(&read("sm.log")).is_some());
    let line = answered(&read("sm.log")).unwrap();
    assert_eq!(line["span"]["method"], "Get");
    assert_eq!(
        line["span"]["peer"].as_str().unwrap().split(',').next(),
        Some("0")
    );
    assert_eq!(line["fields"]["attempts"], 1);
    assert!(line["fields"]["us"].is_u64());
}

#[test]
fn a_port_that_vanishes_is_opened_again_and_nothing_is_forgotten() {
    let mut running = Running::start("vanished", &[], &[]);
    running.wait_for("up", is_up);
    let lids = |running: &Running| running.ask("dump_portguid .*");
    let before = lids(&running);
    assert!(
        before.as_array().is_some_and(|ports| !ports.is_empty()),
        "{before}"
    );
    running.sim.kill().unwrap();
    running.sim.wait().unwrap();
    // The manager goes on, answers its clients, and says that the subnet is gone.
    running.ask("resweep");
    running.wait_for("not up", |running| !is_up(running));
    running.sim = Command::new(env!("CARGO_BIN_EXE_ib"))
        .args([
            "sim",
            "--fabric",
            "ring:switches=4,hosts=1",
            "--socket",
            &running.server,
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    running.wait_for("up again", is_up);
    assert_eq!(lids(&running), before);
}

#[test]
fn metrics_are_served_over_http() {
    let running = Running::start(
        "metrics",
        &[
            "--metrics",
            "127.0.0.1:0",
            "--status-page",
            "--log-level",
            "off",
        ],
        &[],
    );
    running.wait_for("up", is_up);
    let listening = || -> Option<u16> {
        let table = fs::read_to_string(format!("/proc/{}/net/tcp", running.sm.id())).ok()?;
        let sockets: Vec<String> = fs::read_dir(format!("/proc/{}/fd", running.sm.id()))
            .ok()?
            .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
            .filter_map(|link| {
                Some(
                    link.to_str()?
                        .strip_prefix("socket:[")?
                        .trim_end_matches(']')
                        .to_owned(),
                )
            })
            .collect();
        table.lines().skip(1).find_map(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            let (address, port) = fields.get(1)?.split_once(':')?;
            assert!(fields.get(3) != Some(&"0A") || !address.is_empty());
            let own = fields.get(3) == Some(&"0A")
                && sockets
                    .iter()
                    .any(|inode| Some(&inode.as_str()) == fields.get(9));
            // The loopback, as the kernel prints it.
            (own && address == "0100007F").then(|| u16::from_str_radix(port, 16).unwrap())
        })
    };
    let port = listening().expect("it listens on the loopback");
    let get = |path: &str| {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    };
    let (head, body) = get("/metrics");
    assert!(head.contains("200"), "{head}");
    assert!(
        body.contains("\nib_sm_up 1\n") && body.contains("ib_sm_nodes{type=\"switch\"} 4\n"),
        "{body}"
    );
    let (_, body) = get("/status");
    let status: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status["state"], "Master");
    assert!(get("/etc/passwd").0.contains("404"));
    let (head, page) = get("/");
    assert!(head.contains("200") && page.contains("<canvas"), "{head}");
    assert!(get("/map.js").1.contains("window.subnetMap"));
    let (_, topology) = get("/topology");
    let topology: serde_json::Value = serde_json::from_str(&topology).unwrap();
    assert_eq!(topology["nodes"].as_array().unwrap().len(), 8);
    assert_eq!(topology["tables"].as_object().unwrap().len(), 4);
    // The page draws again when this number changes.
    assert!(status["topology"].is_u64());
    assert_eq!(status["topology"], running.ask("status")["topology"]);
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(
        stream,
        "POST /topology HTTP/1.0\r\nContent-Length: 0\r\n\r\n"
    )
    .unwrap();
    let mut refused = String::new();
    stream.read_to_string(&mut refused).unwrap();
    assert!(refused.contains(" 405 "), "{refused}");
}

#[test]
fn a_subnet_that_cannot_come_up_is_said_at_once() {
    let folder = std::env::temp_dir().join(format!("ib-control-once-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let fabric = folder.join("fabric.net");
    // A switch whose GUID is invalid, so no sweep succeeds.
    let text = "switchguid=0x0\nSwitch 1 \"s\"\n[1] \"h\"[1]\n\nCa 1 \"h\"\n[1] \"s\"[1]\n";
    fs::write(&fabric, text).unwrap();
    let server = format!("control-once-{}", std::process::id());
    let mut sim = Command::new(env!("CARGO_BIN_EXE_ib"));
    sim.args(["sim", "--socket", &server, "--fabric"])
        .arg(&fabric);
    let mut sim = sim
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let device = format!("sim:{server}");
    let begun = Instant::now();
    let (output, took) = loop {
        let started = Instant::now();
        let mut once = Command::new(env!("CARGO_BIN_EXE_ib"));
        once.args(["sm", "--once", "--node", "h", "--device", &device]);
        let output = once.output().unwrap();
        // Until the server listens the port cannot be opened.
        if output.status.code() != Some(2) || begun.elapsed() > PATIENCE {
            break (output, started.elapsed());
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let _ = sim.kill();
    let _ = sim.wait();
    fs::remove_dir_all(&folder).unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    assert!(stdout.contains("NOT up"), "{stdout}");
    assert!(took < Duration::from_secs(8), "{took:?}");
}

#[test]
fn a_running_manager_says_once_why_it_installs_no_routes() {
    // The shortest paths around a ring of five can deadlock.
    let ring = "ring:switches=5,hosts=1";
    let options = ["--engine", "minhop", "--set", "sweep_interval=1"];
    let mut running = Running::start_on(ring, "refused", &options, &[]);
    running.wait_for("five sweeps", |running| {
        running.ask("status")["mads"]["sent"].as_u64() > Some(800)
    });
    running.signal("INT");
    let mut said = String::new();
    let mut stderr = running.sm.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(said.matches("subnet NOT up").count(), 1, "{said}");
    assert_eq!(said.matches("--allow-deadlock").count(), 1, "{said}");
}

/// Ends a manager and returns what it wrote to the standard error stream.
fn said_until_its_end(sm: &mut Child) -> String {
    let sent = Command::new("kill")
        .args(["-s", "INT", &sm.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let mut said = String::new();
    let mut stderr = sm.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    sm.wait().unwrap();
    said
}

#[test]
fn managers_say_when_they_stand_by_and_take_over() {
    let polls = ["sminfo_polling_timeout=100", "polling_retry_number=1"];
    let polls = polls.map(|option| ["--set", option]).concat();
    let mut running = Running::start(
        "states",
        &[&polls[..], &["--set", "sm_priority=5"]].concat(),
        &[],
    );
    running.wait_for("up", is_up);
    let mut other = Command::new(env!("CARGO_BIN_EXE_ib"));
    other.args(["sm", "--control", "other", "--set", "sm_priority=4"]);
    other
        .args(&polls)
        .args(["--device", &format!("sim:{}", running.server)]);
    other.args(["--node", "H-0010000000000030"]);
    other.current_dir(&running.folder).stdout(Stdio::null());
    let mut other = other.stderr(Stdio::piped()).spawn().unwrap();
    let state = || {
        let mut stream = UnixStream::connect(running.folder.join("other")).ok()?;
        writeln!(stream, "json status").ok()?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).ok()?;
        let status: serde_json::Value = serde_json::from_str(&line).ok()?;
        status["state"].as_str().map(ToOwned::to_owned)
    };
    let until = |wanted: &str| {
        let begun = Instant::now();
        while state().as_deref() != Some(wanted) {
            assert!(begun.elapsed() < PATIENCE, "never {wanted}: {:?}", state());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until("Standby");
    let first = said_until_its_end(&mut running.sm);
    assert!(first.contains("state Discovering -> Master"), "{first}");
    until("Master");
    let second = said_until_its_end(&mut other);
    for line in [
        "state Discovering -> Standby",
        "standing by: the master is at port 0x",
        "state Discovering -> Master: ",
    ] {
        assert!(second.contains(line), "{line}: {second}");
    }
}

#[test]
fn the_performance_manager_adds_up_counters_and_congestion_control_reaches_the_devices() {
    let config = "perfmgr TRUE\nperfmgr_sweep_time_s 1\nevent_db_dump_file totals\n\
                  congestion_control TRUE\ncc_sw_cong_setting_control_map 0x10\n\
                  cc_sw_cong_setting_marking_rate 9\n";
    let options = ["--config", "opensm.conf", "--log-file", "log"];
    let running = Running::start("perf", &options, &[("opensm.conf", config)]);
    running.wait_for("up", is_up);
    running.wait_for("counters read", |running| {
        running.ask("perfmgr")["ports"].as_u64() > Some(0)
    });
    // Every external port of a switch with its cable, and every host.
    let status = running.ask("perfmgr status");
    assert_eq!(status["ports"], status["active"]);
    let list = running.ask("perfmgr print_counters");
    let list = list.as_array().unwrap();
    let sent = |port: &serde_json::Value| port["counters"]["port_xmit_pkts"].as_u64();
    assert!(list.iter().any(|port| sent(port) > Some(0)), "{list:?}");
    running.wait_for("the file", |running| running.folder.join("totals").exists());
    let totals = fs::read_to_string(running.folder.join("totals")).unwrap();
    assert!(totals.contains("active TRUE port 1\n     Last Reset           : never"));
    assert!(
        totals.contains("\n     xmit_pkts            : "),
        "{totals}"
    );
    // The agents of congestion control have been configured.
    let log = || fs::read_to_string(running.folder.join("log")).unwrap();
    running.wait_for("congestion control", |_| {
        log().contains("congestion control: 4 switches and 4 ports of CAs configured with 4 writes")
    });
    assert_eq!(
        running.ask("perfmgr disable")["refused"],
        serde_json::Value::Null
    );
    assert_eq!(running.ask("perfmgr")["refused"], true);
}
