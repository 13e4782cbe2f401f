//! Servers, ours and ibsim's, and programs that run on them.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use ib_routing::format::ibnetdiscover;
use ib_sim::server::{Listen, Server, ServerError, ServerOptions};
use ib_testkit::{ibsim::preload_library, process};

/// A server under a name, ours or ibsim's.
pub(crate) struct Running {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    pub(crate) host: String,
    pub(crate) stop: Arc<AtomicBool>,
    peer: Option<Child>,
    /// The address on which it listens, if that is UDP.
    pub(crate) port: Option<u16>,
}

impl Running {
    pub(crate) fn new(file: &Path) -> Self {
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
            port: None,
        }
    }

    pub(crate) fn ours(file: &Path) -> Self {
        let running = Self::new(file);
        let listen = Listen::Unix(running.name.clone());
        running.serve(file, listen).unwrap();
        running
    }

    /// Ours over UDP. Some port of these is free.
    pub(crate) fn ours_remote(file: &Path) -> Self {
        let mut running = Self::new(file);
        let address = Ipv4Addr::LOCALHOST.into();
        running.port = (17_070..17_970).step_by(90).find(|&port| {
            let served = running.serve(file, Listen::Udp { address, port });
            served.is_ok()
        });
        assert!(running.port.is_some(), "a free port");
        running
    }

    fn serve(&self, file: &Path, listen: Listen) -> Result<(), ServerError> {
        let topology = ibnetdiscover::read(&fs::read_to_string(file).unwrap()).unwrap();
        let mut server = Server::bind(&topology.fabric, &ServerOptions::new(listen))?;
        let stop = Arc::clone(&self.stop);
        std::thread::spawn(move || server.run(None, &mut std::io::sink(), &stop));
        Ok(())
    }

    pub(crate) fn theirs(file: &Path) -> Self {
        let mut running = Self::new(file);
        let child = running.ibsim(file, &[]).spawn().unwrap();
        running.peer = Some(child);
        let socket = format!("@{}:ctl", running.name);
        let listens = || {
            let names = fs::read_to_string("/proc/net/unix").unwrap();
            names.contains(&socket)
        };
        assert!(soon(listens), "ibsim does not start");
        running
    }

    /// ibsim over UDP: after `-r` it takes the ports from `-l` on.
    pub(crate) fn theirs_remote(file: &Path) -> Self {
        let mut running = Self::new(file);
        for port in (18_070..18_970u16).step_by(90) {
            let number = port.to_string();
            let mut ibsim = running.ibsim(file, &["-r", "-l", &number]).spawn().unwrap();
            // Its control port and one for each of its ten clients; one that is taken ends it.
            let open = || {
                let sockets = fs::read_to_string("/proc/net/udp").unwrap();
                (port..=port + 10).all(|port| sockets.contains(&format!("00000000:{port:04X} ")))
            };
            if soon(|| open() || ibsim.try_wait().unwrap().is_some())
                && ibsim.try_wait().unwrap().is_none()
            {
                running.peer = Some(ibsim);
                running.port = Some(port);
                return running;
            }
        }
        panic!("ibsim does not start");
    }

    fn ibsim(&self, file: &Path, options: &[&str]) -> Command {
        let mut command = Command::new("ibsim");
        command
            .args(["-s", "-n", "-N", "16384", "-S", "4096", "-P", "262144"])
            .args(options)
            .arg(file)
            .env("IBSIM_SOCKNAME", &self.name)
            .stdin(Stdio::null())
            .stdout(fs::File::create(self.directory.join("log")).unwrap());
        command
    }

    /// Runs a shell command on the first CA of the fabric, and gives what it prints.
    pub(crate) fn run(&self, command: &str) -> String {
        let mut program = Command::new("timeout");
        if let Some(port) = self.port {
            program
                .env("IBSIM_SERVER_NAME", "127.0.0.1")
                .env("IBSIM_SERVER_PORT", port.to_string());
        }
        program
            .args(["60", "bash", "-c", command])
            .current_dir(&self.directory)
            .env("IBSIM_SOCKNAME", &self.name)
            .env("SIM_HOST", &self.host)
            .env("OSM_TMP_DIR", &self.directory)
            .env("OSM_CACHE_DIR", &self.directory)
            .env("LD_PRELOAD", preload_library().unwrap_or_default());
        let output = process::output(&mut program).unwrap();
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
pub(crate) fn difference(ours: &str, theirs: &str) -> Option<String> {
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

/// Returns true if something comes true within some seconds.
fn soon(mut is: impl FnMut() -> bool) -> bool {
    (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        is()
    })
}

/// The output of the commands on our server, which is the same on ibsim.
pub(crate) fn same_on_both(
    file: &Path,
    commands: &str,
    comparable: impl Fn(&str) -> String,
) -> String {
    same_on([Running::ours, Running::theirs], file, commands, comparable)
}

/// The output of the commands on the first server, which is the same on the second. On a busy machine a tool misses an
/// answer now and then: a difference counts if it is there three times in a row.
pub(crate) fn same_on(
    servers: [fn(&Path) -> Running; 2],
    file: &Path,
    commands: &str,
    comparable: impl Fn(&str) -> String,
) -> String {
    let mut found = String::new();
    for _ in 0..3 {
        let [ours, theirs] = servers.map(|start| comparable(&start(file).run(commands)));
        match difference(&ours, &theirs) {
            None => return ours,
            Some(difference) => found = difference,
        }
    }
    panic!("{}:\n{found}", file.display());
}
