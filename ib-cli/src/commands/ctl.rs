//! `ib ctl`: gives orders to a running subnet manager.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::PathBuf,
    time::Duration,
};

use crate::error::{CliError, Verdict};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Give an order to a running subnet manager, and print its answer.
///
/// The manager listens where `ib sm --control SOCKET` says. `ib ctl help` lists the orders. Status 2 if the order
/// is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CtlArgs {
    /// The manager's control socket
    #[arg(
        long,
        value_name = "SOCKET",
        env = "IB_SM_CONTROL",
        default_value = "/run/ib-sm/control"
    )]
    socket: PathBuf,
    /// The order and its values, as `status` or `priority 5`
    #[arg(required = true, value_name = "ORDER")]
    order: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  ib ctl status                              what the manager does and keeps
  ib ctl --json portstatus switch            ports of switches by state, as JSON
  ib ctl loglevel debug                      log more from now on
  ib ctl dump_conf > opensm.conf             the configuration in effect";

pub fn run(args: CtlArgs, json: bool) -> Result<Verdict, CliError> {
    let name = args.socket.display();
    let refuse = |error: io::Error| {
        CliError::at(
            format_args!("{name}"),
            format_args!("{error}, expected the socket of `ib sm --control {name}`"),
        )
    };
    let order = args.order.join(" ");
    if order.contains('\n') {
        return Err(CliError::input("an order is one line"));
    }
    let mut stream = UnixStream::connect(&args.socket).map_err(refuse)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(refuse)?;
    let prefix = if json { "json " } else { "" };
    stream
        .write_all(format!("{prefix}{order}\n").as_bytes())
        .map_err(refuse)?;
    stream.shutdown(Shutdown::Write).map_err(refuse)?;
    let mut reader = BufReader::new(stream);
    let mut answer = String::new();
    loop {
        let start = answer.len();
        let count = reader.read_line(&mut answer).map_err(refuse)?;
        if count == 0 && start == 0 {
            return Err(CliError::at(name, "no answer, expected one"));
        }
        // Text ends with an empty line, a document with its line.
        if count == 0 || json {
            break;
        }
        if answer.get(start..) == Some("\n") {
            answer.truncate(start);
            break;
        }
    }
    let refused = match json {
        true => {
            let document: serde_json::Value = serde_json::from_str(&answer)?;
            document.get("refused").is_some()
        }
        false => answer.starts_with("error: "),
    };
    if refused && !json {
        return Err(CliError::input(
            answer.trim_start_matches("error: ").trim_end(),
        ));
    }
    io::stdout().lock().write_all(answer.as_bytes())?;
    match refused {
        true => Err(CliError::input("the order was refused")),
        false => Ok(Verdict::Holds),
    }
}
