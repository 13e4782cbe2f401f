//! The fabric files as graphs.

use ib_routing::{Fabric, format::ibnetdiscover};

use crate::data;

/// The fabric of this name: `gen-ring-5`.
#[must_use]
pub fn fabric(name: &str) -> Fabric {
    parse(&data::fabric_text(name))
}

/// All fabrics with their names, by name.
pub fn fabrics() -> impl Iterator<Item = (String, Fabric)> {
    data::fabric_files().into_iter().map(|file| {
        let name = file.file_stem().expect("a name").to_string_lossy();
        (name.to_string(), fabric(&name))
    })
}

/// A fabric of text in the format of ibnetdiscover.
#[must_use]
pub fn parse(text: &str) -> Fabric {
    ibnetdiscover::read(text).expect("a fabric").fabric
}
