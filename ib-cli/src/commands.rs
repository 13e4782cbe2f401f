//! The commands, one file each: a thin layer over the libraries.

pub mod check;
pub mod decode;
pub mod discover;
pub mod encode;
pub mod generate;
pub mod query;
pub mod route;
pub mod sim;
pub mod sm;
pub mod up;
pub mod whatif;

use crate::{
    args::{Args, Command},
    error::{CliError, Verdict},
};

/// Runs the command that the arguments name.
pub fn run(args: Args) -> Result<Verdict, CliError> {
    let without_document = match args.command {
        Command::Sim(_) => Some("sim"),
        Command::Encode(_) => Some("encode"),
        _ => None,
    };
    if let Some(name) = without_document.filter(|_| args.json) {
        return Err(CliError::input(format_args!(
            "--json: `ib {name}` prints no document, expected a command that does"
        )));
    }
    match args.command {
        Command::Up(up) => up::run(*up, args.json),
        Command::Check(check) => check::run(check, args.json),
        Command::Sm(sm) => sm::run(*sm, args.json),
        Command::Sim(sim) => sim::run(sim),
        Command::Whatif(whatif) => whatif::run(*whatif, args.json),
        Command::Discover(discover) => discover::run(discover, args.json),
        Command::Query(query) => query::run(query, args.json),
        Command::Decode(decode) => decode::run(decode, args.json),
        Command::Encode(encode) => encode::run(encode),
        Command::Generate(generate) => generate::run(generate, args.json),
        Command::Route(route) => route::run(*route, args.json),
    }
}
