//! What people and programs see: tables for reading, JSON for programs, progress on stderr.

pub mod columns;
pub mod fields;
pub mod json;
pub mod line;
pub mod place;
pub mod progress;
pub mod readable;
pub mod report;
pub mod stderr;
pub mod table;
pub mod topology;
pub mod warning;
