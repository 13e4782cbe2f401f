//! Graph algorithms that the engines share.

pub mod balance;
pub mod bfs;
pub mod channel_graph;
pub mod choices;
pub mod demands;
pub mod dependency;
pub mod lanes;
pub mod layered;
pub mod parallel;
pub mod random;
pub mod relief;
pub mod roots;
pub mod spread;
pub mod up_down;
pub mod waves;
pub mod ways;
