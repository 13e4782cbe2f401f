//! The paths whose instructions are counted.

mod mad;
mod manager;
mod packet;
mod routing;
mod text;

use crate::Error;

/// The code whose instructions are counted: it checks its own result, because an error is found in few instructions.
pub(crate) type Work = Box<dyn FnMut() -> Result<(), Error>>;

/// A path.
pub(crate) struct Path {
    /// Its name in the baseline.
    pub(crate) name: &'static str,
    /// Builds what the work needs.
    pub(crate) prepare: fn() -> Result<Work, Error>,
}

/// All paths.
pub(crate) const ALL: [&[Path]; 5] = [
    packet::PATHS,
    mad::PATHS,
    text::PATHS,
    routing::PATHS,
    manager::PATHS,
];

/// The path of this name.
pub(crate) fn find(name: &str) -> Option<&'static Path> {
    ALL.into_iter().flatten().find(|path| path.name == name)
}

/// A path whose work cannot fail once it is prepared.
fn work(mut work: impl FnMut() + 'static) -> Result<Work, Error> {
    Ok(Box::new(move || {
        work();
        Ok(())
    }))
}

/// An error unless `holds`.
fn ensure(holds: bool, what: &str) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(what.into()) }
}
