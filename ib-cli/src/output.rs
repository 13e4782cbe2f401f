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

/// A number of things in words: `1 device`, `2 devices`.
pub fn count(number: impl TryInto<u64>, one: &str, many: &str) -> String {
    match number.try_into() {
        Ok(1) => format!("1 {one}"),
        Ok(number) => format!("{number} {many}"),
        Err(_) => format!("many {many}"),
    }
}
