//! Lines on standard error: news, warnings and errors for a person; standard output has the results alone.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

/// Prints one line on standard error. Control characters of the text are escaped.
///
/// If standard error is closed, the line is lost and the work goes on; `eprintln!` would end it.
pub fn info(text: impl Display) {
    let line = printable(&text.to_string());
    let _ = writeln!(io::stderr(), "{line}");
}

/// A warning: the work goes on, and its result may not be what was meant.
pub fn warn(text: impl Display) {
    info(format_args!("warning: {text}"));
}

/// An error: the work ends here, with status 2.
pub fn error(text: impl Display) {
    info(format_args!("error: {text}"));
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
