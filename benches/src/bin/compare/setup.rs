//! Peers that no package has: built once, beside the programs of the build.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

const SCRIPT: &str = include_str!("../../../peers/opensm-setup.sh");
const CLOCKS: &str = include_str!("../../../peers/opensm-clocks.h");

/// The OpenSM with clocks around its engines: the one that `OPENSM_BENCH` names, else the one that [`build`] made.
///
/// # Errors
/// There is none.
pub(crate) fn opensm() -> Result<PathBuf, &'static str> {
    let named = env::var_os("OPENSM_BENCH").map(PathBuf::from);
    let built = directory().map(|directory| directory.join("opensm"));
    let found = named.or(built).filter(|path| path.is_file());
    found.ok_or("compare --setup builds an OpenSM with clocks around its engines")
}

/// Builds OpenSM with clocks, and prints where it is.
///
/// # Errors
/// The script failed, or its files cannot be written.
pub(crate) fn build() -> Result<(), Box<dyn std::error::Error>> {
    let directory = directory().ok_or("the folder of this program is not known")?;
    fs::create_dir_all(&directory)?;
    let script = directory.join("opensm-setup.sh");
    fs::write(&script, SCRIPT)?;
    fs::write(directory.join("opensm-clocks.h"), CLOCKS)?;
    let status = Command::new("bash").arg(script).arg(&directory).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("opensm-setup.sh: {status}").into()),
    }
}

/// `peers` in the folder of all builds.
fn directory() -> Option<PathBuf> {
    let this = env::current_exe().ok()?;
    this.parent()
        .and_then(Path::parent)
        .map(|target| target.join("peers"))
}
