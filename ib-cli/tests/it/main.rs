//! The command `ib` as its users run it, one module for each subject.

mod cli;
mod clusters;
mod common;
mod configuration;
mod conform;
mod contract;
mod control;
mod decoding;
mod diagnostics;
mod files;
mod golden;
mod input;
mod mishaps;
mod redirection;
mod reports;
mod served;
mod shell;
