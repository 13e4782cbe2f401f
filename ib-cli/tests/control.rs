//! A manager that runs: orders on its socket, and signals.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Time within which everything here happens, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// A served fabric, a manager on it, and a folder for both.
struct Running {
    sim: Child,
    sm: Child,
    folder: PathBuf,
}

impl Running {
    /// Starts both; `options` of the manager may name files of the folder as `@name`.
    fn start(name: &str, options: &[&str], files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("ib-control-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in files {
            fs::write(folder.join(file), text).unwrap();
        }
        let server = format!("control-{name}-{}", std::process::id());
        let ib = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_ib"));
            command.stdin(Stdio::piped()).stderr(Stdio::piped());
            command.stdout(Stdio::piped()).current_dir(&folder);
            command
        };
        let mut sim = ib()
            .args([
                "sim",
                "--fabric",
                "ring:switches=4,hosts=1",
                "--socket",
                &server,
            ])
            .spawn()
            .unwrap();
        let device = format!("sim:{server}");
        let begun = Instant::now();
        let sm = loop {
            let mut sm = ib()
                .args(["sm", "--control", "socket", "--device", &device])
                .args(options)
                .spawn()
                .unwrap();
            let wait = Instant::now();
            // The server may not listen yet: then the manager ends at once.
            while wait.elapsed() < Duration::from_millis(500) && sm.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(20));
            }
            if sm.try_wait().unwrap().is_none() {
                break sm;
            }
            assert!(begun.elapsed() < PATIENCE, "the manager does not start");
            assert!(sim.try_wait().unwrap().is_none(), "the simulator has ended");
        };
        Self { sim, sm, folder }
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// The answer to one order behind `json `.
    fn ask(&self, order: &str) -> serde_json::Value {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        writeln!(stream, "json {order}").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{order}: {error}: {line}"))
    }

    fn wait_for(&self, what: &str, holds: impl Fn(&Self) -> bool) {
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

    fn signal(&self, name: &str) {
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

fn is_up(running: &Running) -> bool {
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
    assert!(unknown["message"].as_str().unwrap().contains("no order"));
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
    // It is let go at some point: to write may fail then.
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
    // The port that the file names is nobody's.
    running.wait_for("the file", |_| !read().contains("mcm_port"));
    assert!(read().starts_with("MC Group 0xc000  (well known): mgid=0xff12401bffff0000"));
}
