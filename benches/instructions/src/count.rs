//! Counting: valgrind runs this program once a path, and collects only inside [`counted`].

use std::{
    collections::BTreeMap,
    env, fs,
    process::{self, Command},
    sync::Mutex,
    thread,
};

use crate::{
    Error,
    paths::{self, Path, Work},
};

/// The name under which valgrind knows [`counted`].
const COUNTED: &str = "*instructions::count::counted*";

/// The counts of the paths, by their names; as many processes as processors at a time.
pub(crate) fn all(paths: &[&Path]) -> Result<BTreeMap<&'static str, u64>, Error> {
    let left = Mutex::new(paths.iter());
    let counts = Mutex::new(Ok(BTreeMap::new()));
    let next = || left.lock().ok()?.next();
    let count_each = || {
        while let Some(path) = next() {
            let counted = instructions(path);
            let Ok(mut counts) = counts.lock() else {
                return;
            };
            match (counted, counts.as_mut()) {
                (Ok(count), Ok(counts)) => {
                    counts.insert(path.name, count);
                }
                (Err(error), Ok(_)) => *counts = Err(format!("{}: {error}", path.name).into()),
                (_, Err(_)) => return,
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(count_each);
        }
    });
    counts
        .into_inner()
        .unwrap_or_else(|_| Err("a thread panicked".into()))
}

/// The count of a path.
fn instructions(path: &Path) -> Result<u64, Error> {
    let name = format!("ib-instructions-{}-{}", process::id(), path.name);
    let file = env::temp_dir().join(name);
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--toggle-collect={COUNTED}"))
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(env::current_exe()?)
        .args(["--run", path.name]);
    let output = command.output();
    let output = output.map_err(|error| format!("{error}; apt-get install valgrind"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let profile = fs::read_to_string(&file)?;
    // What stays behind is in the directory for temporary files.
    let _ = fs::remove_file(&file);
    let mut totals = profile
        .lines()
        .filter_map(|line| line.strip_prefix("totals: "));
    match totals.next().map(str::parse) {
        // Nothing was collected: the function has another name.
        None | Some(Ok(0)) => Err(format!("valgrind found no function {COUNTED}").into()),
        Some(count) => Ok(count?),
    }
}

/// Prepares a path and runs it twice: once for what only the first run does, and once to be counted.
pub(crate) fn run(name: &str) -> Result<(), Error> {
    let path = paths::find(name).ok_or("no such path")?;
    let mut work = (path.prepare)()?;
    work()?;
    counted(&mut work)
}

/// Runs the work; valgrind counts what is inside.
#[inline(never)]
fn counted(work: &mut Work) -> Result<(), Error> {
    work()
}
