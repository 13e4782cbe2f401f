//! Facts that hold for every input: called by the property tests and the fuzz targets alike.

mod layouts;

pub use layouts::{layout_disagreements, structs_of};
