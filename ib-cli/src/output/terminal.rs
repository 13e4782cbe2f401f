//! The terminal that standard output is, if it is one.

use std::io::{self, IsTerminal as _};

use ib_text::Terminal;

/// Fewest columns that lines are wrapped for.
const NARROWEST: usize = 40;

/// Width and colours of standard output: neither if it is no terminal, no colours if `NO_COLOR` is set.
pub fn of_stdout() -> Terminal {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return Terminal::PLAIN;
    }
    let size = rustix::termios::tcgetwinsize(&stdout).ok();
    let width = size.map(|size| usize::from(size.ws_col));
    Terminal {
        width: width
            .filter(|width| *width > 0)
            .map(|width| width.max(NARROWEST)),
        colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}
