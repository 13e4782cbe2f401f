//! The source of a fabric: a file, standard input or a generator; and the faults that are made in it
//! first.

use std::path::Path;

use clap::{Args, builder::NonEmptyStringValueParser};
use ib_routing::{
    Fabric, TopologyError, TopologyErrorKind,
    format::ibnetdiscover::{self, Topology},
    generate::{FabricSpec, remove_links},
};

use crate::{
    error::CliError,
    files::{self, read_bytes, read_text, text_of},
    nearest::nearest,
    output::topology,
    source::snapshot_in,
};

/// A fabric for a demonstration: two levels, 32 hosts, full bandwidth.
const DEFAULT: &str = "fat-tree:radix=8,levels=2";

/// The options that name a fabric.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Fabric")]
pub struct FabricArgs {
    /// File in ibnetdiscover's or ibsim's format, a document of `generate --json` (`-`: stdin), a snapshot, or a
    /// generator:
    /// fat-tree:radix=R,levels=L[,oversub=O][,parallel=P], torus:8x8x8[,hosts=H], mesh:..,
    /// hypercube:dim=D[,hosts=H], dragonfly:a=A,p=P,h=H[,g=G],
    /// jellyfish:switches=N,degree=D,hosts=H,seed=S, ring:switches=N,hosts=H,
    /// random:switches=N,links=M,hosts=H,seed=S, thesis, mcsm. Write ./NAME for a file with the name of a
    /// generator
    #[arg(
        long,
        value_name = "SPEC",
        default_value = DEFAULT,
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub fabric: String,
    /// Remove this share of the links between switches first: 0 to 100 percent [default: 0]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub remove_links: Option<f64>,
    /// Seed of the random choice of links for --remove-links
    #[arg(
        long,
        value_name = "SEED",
        default_value_t = 0,
        requires = "remove_links"
    )]
    pub seed: u64,
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("expected a number from 0 to 100".to_owned()),
    }
}

impl FabricArgs {
    /// Reads or generates the fabric; odd lines of a file are warnings on stderr.
    pub fn load(&self) -> Result<Fabric, CliError> {
        let fabric = self.whole()?;
        Ok(match self.remove_links {
            Some(percent) => remove_links(&fabric, percent, self.seed),
            None => fabric,
        })
    }

    fn whole(&self) -> Result<Fabric, CliError> {
        let spec = self.fabric.as_str();
        if is_generator(spec) {
            let spec: FabricSpec = spec.parse().map_err(|error| self.complaint(&error))?;
            return spec.build().map_err(|error| self.complaint(&error));
        }
        if spec != "-" && !Path::new(spec).exists() {
            return Err(self.neither());
        }
        let bytes = read_bytes(spec)?;
        if let Some(snapshot) = snapshot_in(spec, &bytes)? {
            return Ok(snapshot.fabric());
        }
        let text = text_of(spec, &bytes)?;
        if text.trim_start().starts_with('{') {
            return topology::read(&text)
                .map_err(|error| CliError::at(format_args!("{spec}:{}", error.line), error.what));
        }
        let Topology {
            fabric, warnings, ..
        } = ibnetdiscover::read_with(&text, |name| included(spec, name))
            .map_err(|error| self.complaint(&error))?;
        files::warn(spec, &warnings);
        Ok(fabric)
    }

    /// The error of a name that is no file's and no generator's.
    fn neither(&self) -> CliError {
        let word = kind(&self.fabric);
        let what = match nearest(word, FabricSpec::KINDS).and_then(usage) {
            Some(usage) => format!("the nearest generator is `{usage}`"),
            None => format!(
                "expected a file or a generator: {}",
                FabricSpec::KINDS.join(", ")
            ),
        };
        CliError::at(&self.fabric, format_args!("No such file, {what}"))
    }

    fn complaint(&self, error: &TopologyError) -> CliError {
        match error.kind {
            // It names the specification itself.
            TopologyErrorKind::BadSpec { .. } => {
                let word = kind(&self.fabric);
                let known = FabricSpec::KINDS.contains(&word);
                let near = nearest(word, FabricSpec::KINDS).and_then(usage);
                let hint = near
                    .filter(|_| !known)
                    .map(|usage| format!("; the nearest is `{usage}`"));
                CliError::Input(error.kind.to_string() + &hint.unwrap_or_default())
            }
            _ => files::at_line(&self.fabric, error),
        }
    }
}

/// The text of a file that the fabric's file includes: beside it, or in the working directory.
fn included(fabric: &str, name: &str) -> Result<String, String> {
    let beside = Path::new(fabric).with_file_name(name);
    let file = if fabric != "-" && beside.exists() {
        beside
    } else {
        name.into()
    };
    read_text(&file.display().to_string()).map_err(|error| error.to_string())
}

/// The names and parameters of the generators.
const USAGES: [&str; 10] = [
    "fat-tree:radix=R,levels=L",
    "torus:4x4x4",
    "mesh:4x4",
    "hypercube:dim=D",
    "dragonfly:a=A,p=P,h=H",
    "jellyfish:switches=N,degree=D,hosts=H,seed=S",
    "ring:switches=N,hosts=H",
    "random:switches=N,links=M,hosts=H,seed=S",
    "thesis",
    "mcsm",
];

/// The name and parameters of the generator of this kind.
fn usage(wanted: &str) -> Option<&'static str> {
    USAGES.into_iter().find(|usage| kind(usage) == wanted)
}

/// The word before the colon.
fn kind(spec: &str) -> &str {
    spec.split(':').next().unwrap_or_default()
}

/// Returns true if the text names a generator: `thesis`, `mcsm`, or a word and a colon, unless a file has that name.
fn is_generator(spec: &str) -> bool {
    let word = spec.split_once(':').map(|(word, _)| word);
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    };
    matches!(spec, "thesis" | "mcsm") || (word.is_some_and(is_word) && !Path::new(spec).exists())
}
