//! The fabric files as graphs.

use ib_routing::{Fabric, PortRef, format::ibnetdiscover, generate::FabricSpec};

use crate::data;

/// The fabric of this name: `gen-ring-5`.
#[must_use]
pub fn fabric(name: &str) -> Fabric {
    parse(&data::fabric_text(name))
}

/// The fabric of a specification: `fat-tree:radix=4,levels=2`.
#[must_use]
pub fn generated(spec: &str) -> Fabric {
    let spec: FabricSpec = spec.parse().expect("a specification");
    spec.build().expect("a fabric")
}

/// The fabric without the cables at these ports.
#[must_use]
pub fn without(fabric: &Fabric, ends: &[PortRef]) -> Fabric {
    let mut builder = fabric.to_builder();
    for &end in ends {
        builder.remove_link(end);
    }
    builder.build()
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
