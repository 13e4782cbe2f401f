//! `ib ctl`: gives commands to a running subnet manager.

use std::{
    io::{self, BufReader, Write as _},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::PathBuf,
    thread,
    time::Duration,
};

use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::{
    control::{
        COMMANDS,
        lines::{self, Request},
    },
    error::{CliError, Verdict},
};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Time between two answers of a command that is repeated, as OpenSM's console takes it.
const INTERVAL: Duration = Duration::from_secs(2);

/// Send a command to a running subnet manager, and print its answer.
///
/// The manager listens where `ib sm --control SOCKET` says. `ib ctl help` lists the commands with their values. Status 2 if
/// the command is refused.
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
    /// Repeat the command every 2 seconds, until Ctrl-C
    #[arg(long = "loop")]
    repeat: bool,
    /// The command, as `status`; `ib ctl help` lists the commands
    #[arg(value_name = "COMMAND", value_parser = commands(), hide_possible_values = true)]
    command: String,
    /// Values of the command, as `5` in `priority 5`
    #[arg(
        value_name = "VALUE",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    values: Vec<String>,
}

/// The words that shells complete; `json` is what `--json` says.
fn commands() -> PossibleValuesParser {
    let words = COMMANDS.iter().filter(|command| command.name != "json");
    words
        .map(|command| PossibleValue::new(command.name).help(command.help))
        .collect::<Vec<_>>()
        .into()
}

const EXAMPLES: &str = "\
Examples:
  ib ctl status                              what the manager does and keeps
  ib ctl --json portstatus switch            ports of switches by state, as JSON
  ib ctl status loop                         the same every 2 seconds
  ib ctl switchbalance verbose               routes by port of every switch
  ib ctl partition add 'storage=0x12 : 0x2c90300a1b2c3=full'
  ib ctl loglevel debug                      log more from now on
  ib ctl dump_conf > opensm.conf             the configuration in effect";

pub fn run(args: CtlArgs, json: bool) -> Result<Verdict, CliError> {
    let (mut repeats, mut values) = (args.repeat, args.values.clone());
    // OpenSM's spelling.
    if args.command == "status" && values.first().is_some_and(|value| value == "loop") {
        repeats = true;
        values.remove(0);
    }
    let command = [std::slice::from_ref(&args.command), &values]
        .concat()
        .join(" ");
    loop {
        print_answer(&args, &command, json)?;
        if !repeats {
            return Ok(Verdict::Holds);
        }
        if !json {
            writeln!(io::stdout().lock())?;
        }
        thread::sleep(INTERVAL);
    }
}

/// Gives the command and prints the answer; a refusal is an error.
fn print_answer(args: &CtlArgs, command: &str, json: bool) -> Result<(), CliError> {
    let answer = ask(args, command, json)?;
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
        true => Err(CliError::input("the command was refused")),
        false => Ok(()),
    }
}

/// The manager's answer to one command.
fn ask(args: &CtlArgs, command: &str, json: bool) -> Result<String, CliError> {
    let name = args.socket.display();
    let refuse = |error: io::Error| {
        CliError::at(
            format_args!("{name}"),
            format_args!("{error}, expected the socket of `ib sm --control {name}`"),
        )
    };
    let mut stream = UnixStream::connect(&args.socket).map_err(refuse)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(refuse)?;
    let request = Request { command, json };
    let line = request.to_line().map_err(CliError::input)?;
    stream.write_all(line.as_bytes()).map_err(refuse)?;
    stream.shutdown(Shutdown::Write).map_err(refuse)?;
    let answer = lines::read_answer(BufReader::new(stream), json).map_err(refuse)?;
    answer.ok_or_else(|| CliError::at(name, "the manager did not answer"))
}
