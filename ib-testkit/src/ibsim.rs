//! External programs for the interop tests of these crates: ibsim and the programs that attach to it.
//!
//! Linux with Debian's packages `ibsim-utils` and `libumad2sim0`; a missing one fails the test.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Lines of a shell script: starts OpenSM, waits until the client's port is active, and leaves it running as `$SM`.
pub const WITH_OPENSM: &str = r#"
    opensm -f osm.log >osm.out 2>&1 & SM=$!
    trap 'kill $SM; wait $SM' EXIT
    for try in $(seq 300); do
        smpquery -D portinfo 0 2>/dev/null | grep -q 'LinkState:.*Active' && break
        sleep 0.1
    done
    sleep 0.5
"#;

/// A running ibsim with a socket name and a directory of its own; killed when dropped.
#[derive(Debug)]
pub struct Ibsim {
    child: Child,
    name: String,
    directory: PathBuf,
}

impl Ibsim {
    /// Starts ibsim on the fabric of `file` and waits until it listens.
    ///
    /// # Errors
    /// If it is not installed or does not come up within 15 seconds; the error holds what it printed.
    pub fn start(file: &Path) -> io::Result<Self> {
        Self::launch(file, &["-s", "-n"], Stdio::null())
    }

    /// As [`start`](Self::start), with a [`console`](Self::console).
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_console(file: &Path) -> io::Result<Self> {
        Self::launch(file, &["-s"], Stdio::piped())
    }

    /// Gives the console a line; it is carried out some time later.
    ///
    /// # Errors
    /// If there is no console, or it does not read.
    pub fn console(&mut self, line: &str) -> io::Result<()> {
        let console = self.child.stdin.as_mut();
        let console = console.ok_or_else(|| io::Error::other("started without a console"))?;
        writeln!(console, "{line}")
    }

    fn launch(file: &Path, options: &[&str], console: Stdio) -> io::Result<Self> {
        let name = unique_name();
        let directory = std::env::temp_dir().join(&name);
        fs::create_dir_all(&directory)?;
        let log = directory.join("ibsim.log");
        let child = Command::new("ibsim")
            .args(options)
            .args(["-N", "16384", "-S", "4096", "-P", "262144"])
            .arg(file)
            .env("IBSIM_SOCKNAME", &name)
            .current_dir(&directory)
            .stdin(console)
            .stdout(fs::File::create(&log)?)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("ibsim: {error}")))?;
        let mut started = Self {
            child,
            name,
            directory,
        };
        let patience = Instant::now() + Duration::from_secs(15);
        while !started.listens(&log) {
            if started.child.try_wait()?.is_some() || Instant::now() > patience {
                let printed = fs::read_to_string(&log).unwrap_or_default();
                return Err(io::Error::other(format!("ibsim did not start: {printed}")));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(started)
    }

    fn listens(&self, log: &Path) -> bool {
        is_listening(&self.name)
            && fs::read_to_string(log).is_ok_and(|text| text.contains("simulator ready"))
    }

    /// The socket name (`IBSIM_SOCKNAME`).
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A file of this name in the server's folder, which is removed with the server.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A program that attaches to this server as `node`.
    #[must_use]
    pub fn client(&self, program: impl AsRef<std::ffi::OsStr>, node: &str) -> Command {
        client(program, &self.name, node, &self.directory)
    }
}

impl Drop for Ibsim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A program under the preloaded library that attaches it to server `name` as `node`; its files go
/// to `directory`.
#[must_use]
pub fn client(
    program: impl AsRef<std::ffi::OsStr>,
    name: &str,
    node: &str,
    directory: &Path,
) -> Command {
    let mut command = Command::new(program);
    command
        .env("LD_PRELOAD", preload_library().unwrap_or_default())
        .env("IBSIM_SOCKNAME", name)
        .env("SIM_HOST", node)
        .env("OSM_TMP_DIR", directory)
        .env("OSM_CACHE_DIR", directory)
        .current_dir(directory)
        .stdin(Stdio::null());
    command
}

/// Returns true if a server listens under the socket name.
#[must_use]
pub fn is_listening(name: &str) -> bool {
    is_bound(name, "ctl")
}

/// Returns true if the server of that name, or a client of it, holds a socket: `ctl` is the server's for control
/// messages, `inN` and `ctlN` are those of the client N.
#[must_use]
pub fn is_bound(name: &str, socket: &str) -> bool {
    let needle = format!("@{name}:{socket}@");
    fs::read_to_string("/proc/net/unix").is_ok_and(|sockets| sockets.contains(&needle))
}

/// A socket name that no other test uses.
#[must_use]
pub fn unique_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!(
        "ib-test-{}-{}",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

/// ibsim's preloaded library: `/usr/lib/*/umad2sim/libumad2sim.so`.
#[must_use]
pub fn preload_library() -> Option<PathBuf> {
    let directories = fs::read_dir("/usr/lib")
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    std::iter::once(PathBuf::from("/usr/lib"))
        .chain(directories)
        .map(|directory| directory.join("umad2sim/libumad2sim.so"))
        .find(|library| library.exists())
}
