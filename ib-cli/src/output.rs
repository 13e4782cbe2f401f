//! Output: tables for people, JSON for programs, progress on stderr.

pub mod json;
pub mod place;
pub mod progress;
pub mod report;
pub mod stderr;
pub mod table;
pub mod terminal;
pub mod topology;
pub mod warning;
