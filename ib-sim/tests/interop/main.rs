//! Debian's packaged programs, preloaded with umad2sim, on our server and on ibsim: they print the same.
//!
//! Needs `opensm ibsim-utils libumad2sim0 infiniband-diags libibumad-dev`; run with `--features interop`. Fields that
//! OpenSM writes with a Set and ibsim does not store (lease period, time-outs, thresholds, link masks) is not compared.
#![cfg(all(target_os = "linux", feature = "interop"))]

mod console;
mod descriptors;
mod remote;
mod running;
mod tools;
