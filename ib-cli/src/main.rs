//! The command `ib`.

fn main() {}
