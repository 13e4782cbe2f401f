//! `ib man`: a manual page for every command.

use std::{fs, path::PathBuf};

use clap::Command;
use clap_mangen::Man;

use crate::{
    args::Args,
    commands::refuse_json,
    error::{CliError, Verdict},
    files,
};

/// Write the manual pages, one for each command.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ManArgs {
    /// Directory for the pages; it is created if it is not there
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  ib man ~/.local/share/man/man1
  man ib-decode-packet";

pub fn run(args: ManArgs, json: bool) -> Result<Verdict, CliError> {
    refuse_json("man", json)?;
    let directory = args.directory.as_path();
    fs::create_dir_all(directory)
        .map_err(|error| CliError::file(directory.display(), "made a directory", &error))?;
    let mut command = Args::definition();
    // Gives each subcommand its whole name, as `ib-decode-packet`.
    command.build();
    let mut commands = vec![command];
    while let Some(command) = commands.pop() {
        write_page(&args, &command)?;
        let documented = |command: &&Command| command.get_name() != "help";
        commands.extend(command.get_subcommands().filter(documented).cloned());
    }
    Ok(Verdict::Holds)
}

fn write_page(args: &ManArgs, command: &Command) -> Result<(), CliError> {
    let page = Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    let file = args.directory.join(page.get_filename());
    files::write(&file, &String::from_utf8_lossy(&text))
}
