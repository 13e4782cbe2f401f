//! `ib generate`: a fabric in the format that ibnetdiscover prints and ibsim loads.

use std::io::{self, Write as _};

use ib_routing::format::ibnetdiscover;

use crate::{
    error::{CliError, Verdict},
    fabric_spec::FabricArgs,
    output::{json, topology},
};

/// Print a fabric in ibnetdiscover's format or as JSON: a generated one, or one from a file.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct GenerateArgs {
    /// The same as --fabric SPEC
    #[arg(value_name = "SPEC", conflicts_with = "fabric")]
    spec: Option<String>,
    #[command(flatten)]
    fabric: FabricArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib generate dragonfly:a=8,p=4,h=4 > dragonfly.net
  ib generate --fabric fabric.net --remove-links 5 --seed 3";

pub fn run(mut args: GenerateArgs, as_json: bool) -> Result<Verdict, CliError> {
    if let Some(spec) = args.spec {
        args.fabric.fabric = spec;
    }
    let fabric = args.fabric.load()?;
    let mut out = io::stdout().lock();
    if as_json {
        let nodes = fabric.nodes().indices();
        json::print(&mut out, &topology::Document::new(&fabric, nodes))?;
    } else {
        out.write_all(ibnetdiscover::write(&fabric, None).as_bytes())?;
    }
    Ok(Verdict::Holds)
}
