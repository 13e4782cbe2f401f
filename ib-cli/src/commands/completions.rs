//! `ib completions`: what a shell completes commands and options with.

use std::io::{self, Write as _};

use clap_complete::Shell;

use crate::{
    args::Args,
    commands::refuse_json,
    error::{CliError, Verdict},
};

/// Print the completions of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  ib completions bash > ~/.local/share/bash-completion/completions/ib
  ib completions zsh > ~/.zfunc/_ib          with ~/.zfunc in fpath";

pub fn run(args: CompletionsArgs, json: bool) -> Result<Verdict, CliError> {
    refuse_json("completions", json)?;
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::definition(), "ib", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Verdict::Holds)
}
