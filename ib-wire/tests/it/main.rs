//! Packets and headers against the specification and recorded traces, one module for each subject.

mod assembly;
mod edits;
mod faults;
mod frames;
mod properties;
mod spec;
mod strategy;
mod vectors;
