//! Runs a program on a served fabric, as `ibsim-run` does: umad2sim is preloaded and shows it an adapter.

use std::{
    env,
    ffi::OsString,
    fs::{self, DirBuilder},
    io,
    os::unix::{fs::DirBuilderExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use ib_routing::{Fabric, Node};
use ib_sim::server::Server;
use rustix::process::{Pid, Signal, kill_process};

use crate::{error::CliError, interrupt::on_interrupt};

/// The library that shows a simulated adapter to programs of libibumad.
const LIBRARY: &str = "umad2sim/libumad2sim.so";

/// A name for sockets that no other process uses.
pub fn private_name() -> String {
    format!("ib-sim-{}", std::process::id())
}

/// The name of the first CA with a link: where a program sits that says nothing else.
pub fn first_host(fabric: &Fabric) -> Result<String, CliError> {
    let is_host = |node: &&Node| {
        let mut ports = node.end_ports();
        !node.type_.is_switch() && ports.any(|(_, port)| port.peer.is_some())
    };
    let host = fabric.nodes().iter().map(|node| &**node).find(is_host);
    host.map(|node| node.name.clone())
        .ok_or_else(|| CliError::input("the fabric has no CA with a link, expected --host NODE"))
}

/// Runs a program on the server's fabric until the program ends; its exit status, 128 and the signal's number if a
/// signal ended it.
///
/// OpenSM's temporary files go to a private directory, which is removed, unless the user has chosen one.
pub fn run(
    command: &[OsString],
    mut server: Server,
    socket: &str,
    host: &str,
) -> Result<i32, CliError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(CliError::input("no program, expected one after `--`"));
    };
    let library = library()?;
    let directory = env::temp_dir().join(private_name());
    let made = DirBuilder::new().mode(0o700).create(&directory);
    made.map_err(|error| CliError::file(directory.display(), "created", &error))?;
    let mut child = Command::new(program);
    child
        .args(arguments)
        .env("LD_PRELOAD", preload(&library))
        .env("IBSIM_SOCKNAME", socket)
        .env("SIM_HOST", host)
        .env_remove("IBSIM_SERVER_NAME");
    for name in ["OSM_TMP_DIR", "OSM_CACHE_DIR"] {
        if env::var_os(name).is_none() {
            child.env(name, &directory);
        }
    }
    let ran = match child.spawn() {
        Ok(child) => serve_until_it_ends(child, &mut server, &directory),
        Err(error) => Err(CliError::at(
            Path::new(program).display(),
            format_args!("{error}, expected a program"),
        )),
    };
    remove(&directory);
    let status = ran?;
    Ok(status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

fn serve_until_it_ends(
    mut child: Child,
    server: &mut Server,
    directory: &Path,
) -> Result<ExitStatus, CliError> {
    let id = child.id();
    let ended = Arc::new(AtomicBool::new(false));
    let (stop, directory) = (Arc::clone(&ended), directory.to_owned());
    let interrupted = Arc::clone(&ended);
    let _guard = on_interrupt(move || {
        if !interrupted.load(Ordering::Acquire) {
            terminate(id);
        }
        remove(&directory);
    });
    let waiter = thread::spawn(move || {
        let status = child.wait();
        stop.store(true, Ordering::Release);
        status
    });
    let served = server.run(None, &mut io::sink(), &ended);
    if served.is_err() {
        terminate(id);
    }
    let status = waiter
        .join()
        .map_err(|_| CliError::input("waiting for the program failed"))?;
    served.map_err(CliError::input)?;
    let status = status.map_err(|error| CliError::at("waiting for the program", error))?;
    if status.signal().is_some() {
        // At exit umad2sim removes the files that represent the adapter, which a signal skips.
        remove(Path::new(&format!("sys-{id}")));
    }
    Ok(status)
}

fn terminate(id: u32) {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    if let Some(id) = id {
        // A program that has ended needs no signal.
        let _ = kill_process(id, Signal::TERM);
    }
}

/// Removes a directory if it is there.
fn remove(directory: &Path) {
    let _ = fs::remove_dir_all(directory);
}

/// The value of LD_PRELOAD: the library, then the libraries that the user preloads.
fn preload(library: &Path) -> OsString {
    let mut preload = library.as_os_str().to_owned();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    preload
}

/// The path of umad2sim: the variable UMAD2SIM, else below the system's library directories.
fn library() -> Result<PathBuf, CliError> {
    if let Some(file) = env::var_os("UMAD2SIM").map(PathBuf::from) {
        return match file.is_file() {
            true => Ok(file),
            false => Err(CliError::at("UMAD2SIM", "expected the file libumad2sim.so")),
        };
    }
    let mut directories: Vec<PathBuf> = Vec::new();
    for base in [
        "/usr/lib",
        "/usr/lib64",
        "/usr/local/lib",
        "/usr/local/lib64",
    ] {
        directories.push(base.into());
        // Debian has a directory for each architecture.
        let below = fs::read_dir(base).into_iter().flatten().flatten();
        let mut below: Vec<_> = below.map(|entry| entry.path()).collect();
        below.sort();
        directories.append(&mut below);
    }
    let mut files = directories.iter().map(|directory| directory.join(LIBRARY));
    files.find(|file| file.is_file()).ok_or_else(|| {
        CliError::input(
            "libumad2sim.so is not there, expected ibsim's package (libumad2sim0) or its file in UMAD2SIM",
        )
    })
}
