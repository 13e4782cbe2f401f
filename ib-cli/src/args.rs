//! The command line: a subcommand, and the options that all of them have.

use clap::{Args as _, FromArgMatches as _, Subcommand as _};

use crate::commands::{self, Command};

/// The command line of a call.
#[derive(Debug)]
pub struct Args {
    pub command: Command,
    pub options: Options,
}

/// InfiniBand: subnet manager, simulator, router, verifier, packet decoder.
///
/// Exit status: 0 done and all checks hold, 1 done and a check failed, 2 bad usage or bad input, 130 after Ctrl-C, 141
/// if the reader of the output, such as `head`, has ended. An error is one line on stderr.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(
    version,
    propagate_version = true,
    arg_required_else_help = false,
    after_help = EXAMPLES
)]
pub struct Options {
    /// Print one JSON document on stdout instead of text for people; `decode` prints one document a line
    #[arg(long, global = true)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Two commands to begin with:
  ib up                                      a fabric in the simulator, brought up and verified
  ib discover                                the fabric that this host is on";

impl Args {
    /// The arguments of this process.
    ///
    /// A call needs the arguments of its own subcommand alone. To define those of all takes a third of the processor time
    /// of a short call, so this is done only where clap has to say something: help, the version, or what is wrong.
    ///
    /// # Errors
    /// The arguments are wrong, or ask for help or the version.
    pub fn of_process() -> Result<Self, clap::Error> {
        let deferred = Options::augment_args(commands::deferred(root()));
        Self::parse(deferred).or_else(|_| Self::parse(Self::definition()))
    }

    fn parse(definition: clap::Command) -> Result<Self, clap::Error> {
        let matches = definition.try_get_matches()?;
        Ok(Self {
            command: Command::from_arg_matches(&matches)?,
            options: Options::from_arg_matches(&matches)?,
        })
    }

    /// The definition of all commands with all their arguments.
    pub fn definition() -> clap::Command {
        let commands = Command::augment_subcommands(root());
        taking_negatives(Options::augment_args(commands))
    }
}

/// The command without subcommands and options.
fn root() -> clap::Command {
    clap::Command::new("ib").subcommand_required(true)
}

/// The command with `-1` as a value like others: the option says best what it expected.
pub fn taking_negatives(command: clap::Command) -> clap::Command {
    let negative = |argument: clap::Arg| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    command.mut_args(negative).mut_subcommands(taking_negatives)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every command with its names, its text and its arguments.
    fn listed(mut command: clap::Command) -> Vec<String> {
        command.build();
        let mut all = Vec::new();
        let mut commands: Vec<_> = command.get_subcommands().collect();
        while let Some(command) = commands.pop() {
            let mut arguments: Vec<_> = command
                .get_arguments()
                .map(|argument| {
                    let (help, negative) = (
                        argument.get_long_help(),
                        argument.is_allow_negative_numbers_set(),
                    );
                    format!("{argument} {negative} {help:?}")
                })
                .collect();
            arguments.sort();
            let name = command.get_bin_name().unwrap_or_default();
            all.push(format!("{name}: {:?} {arguments:?}", command.get_about()));
            commands.extend(command.get_subcommands());
        }
        all.retain(|command| !command.starts_with("ib help"));
        all.sort();
        all
    }

    #[test]
    fn commands_are_the_same_whether_their_arguments_are_deferred_or_not() {
        let deferred = listed(Options::augment_args(commands::deferred(root())));
        assert!(deferred.len() > 30);
        assert_eq!(deferred, listed(Args::definition()));
    }
}
