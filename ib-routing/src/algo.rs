//! Graph algorithms that the engines share.

pub mod balance;
pub mod bfs;
pub mod channel_graph;
pub mod choices;
pub mod demands;
pub mod dependency;
pub mod frontiers;
pub mod hotspots;
pub mod lanes;
pub mod layered;
pub(crate) mod overlay;
pub(crate) mod parallel;
pub mod port_balancing;
pub mod roots;
pub mod shortest_path_dag;
pub mod tree_dependencies;
pub mod tree_lanes;
pub mod up_down;
