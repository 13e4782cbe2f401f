//! Compares the output of `ib` with that of infiniband-diags, OpenSM and tshark.
//!
//! Needs Debian's packages `ibsim-utils`, `libumad2sim0`, `infiniband-diags`, `opensm`, `tshark` and `chromium`; run with
//! `--features interop`.
#![cfg(feature = "interop")]

mod config;
mod console;
mod diag;
mod discover;
mod dissect;
mod every_fabric;
mod handover;
mod links;
mod map;
mod osmtest;
mod peers;
mod query;
mod simulated;
mod status_page;
mod subnet;
