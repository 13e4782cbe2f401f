//! `ib generate`: a fabric in the format that ibnetdiscover prints and ibsim loads.

use std::io::{self, Write as _};

use ib_routing::format::ibnetdiscover;

use crate::{
    error::{CliError, Verdict},
    fabric_spec::FabricArgs,
};

/// Print a generated (or read, or broken) fabric in ibnetdiscover's format.
#[derive(Debug, clap::Args)]
pub struct GenerateArgs {
    #[command(flatten)]
    fabric: FabricArgs,
    /// The same as --fabric SPEC
    #[arg(value_name = "SPEC", conflicts_with = "fabric")]
    spec: Option<String>,
}

pub fn run(mut args: GenerateArgs) -> Result<Verdict, CliError> {
    if let Some(spec) = args.spec {
        args.fabric.fabric = spec;
    }
    let text = ibnetdiscover::write(&args.fabric.load()?, None);
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(Verdict::Holds)
}
