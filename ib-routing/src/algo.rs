//! Graph algorithms that the engines share.

pub mod bfs;
pub mod random;
