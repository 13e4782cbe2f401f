//! Graph algorithms that the engines share.

pub mod bfs;
pub mod dependency;
pub mod parallel;
pub mod random;
