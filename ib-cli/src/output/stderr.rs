//! Lines on standard error: news, warnings and errors for a person; standard output has the results alone.

use std::{
    fmt::Display,
    io::{self, Write as _},
    sync::OnceLock,
};

/// Prints one line on standard error. Control characters of the text are escaped.
///
/// If standard error is closed, the line is lost and the work goes on; `eprintln!` would end it.
pub fn info(text: impl Display) {
    print("<6>", "", text);
}

/// Prints one line. The journal of systemd takes a level in front of it instead of a word.
fn print(level: &str, word: &str, text: impl Display) {
    let start = if is_journal() { level } else { word };
    let line = printable(&text.to_string());
    let _ = writeln!(io::stderr(), "{start}{line}");
}

/// Returns true if standard error is the journal: its variable names device and file of the stream that systemd has
/// connected.
fn is_journal() -> bool {
    static IS_JOURNAL: OnceLock<bool> = OnceLock::new();
    *IS_JOURNAL.get_or_init(|| {
        let named = std::env::var("JOURNAL_STREAM").ok();
        let stat = rustix::fs::fstat(io::stderr()).ok();
        let own = stat.map(|stat| format!("{}:{}", stat.st_dev, stat.st_ino));
        named.is_some() && named == own
    })
}

/// A warning: the work goes on, and its result may not be what was meant.
pub fn warn(text: impl Display) {
    print("<4>", "warning: ", text);
}

/// An error: the work ends here, with status 2.
pub fn error(text: impl Display) {
    print("<3>", "error: ", text);
}

/// The text in one line without control characters: what is quoted of a file may hold any.
pub fn printable(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}
