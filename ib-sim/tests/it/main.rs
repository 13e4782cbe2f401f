//! The simulator, one module for each subject. `memory` and `allocations` measure a whole process, so they are
//! programs of their own.

mod agents;
mod clients;
mod console;
mod counters;
mod directed_route;
mod fabric;
mod faults;
mod packets;
mod properties;
mod samples;
mod server;
mod traps;
