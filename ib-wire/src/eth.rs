//! Extended transport headers: what follows the BTH, by operation.

mod deth;

pub use deth::Deth;
