//! Measures the crates beside their peers.

fn main() {}
