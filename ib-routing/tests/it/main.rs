//! Routing on fabrics of every kind, one module for each subject.

mod brute_force;
mod engines;
mod heal;
mod judge;
mod loads;
mod opensm;
mod path_counts;
mod properties;
mod rebalance;
mod repair;
mod repaired_lanes;
mod suite;
mod update;
mod whatif;
