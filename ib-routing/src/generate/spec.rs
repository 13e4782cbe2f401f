//! The text of a specification, read and printed.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{fmt, str::FromStr};

use super::FabricSpec;
use crate::error::{TopologyError, TopologyErrorKind};

pub(super) fn bad(spec: &impl ToString, what: String) -> TopologyError {
    TopologyErrorKind::BadSpec {
        spec: spec.to_string(),
        what,
    }
    .into()
}

impl FabricSpec {
    /// The words that a specification begins with, one for each topology.
    pub const KINDS: [&'static str; 10] = [
        "fat-tree",
        "torus",
        "mesh",
        "hypercube",
        "dragonfly",
        "jellyfish",
        "ring",
        "random",
        "thesis",
        "mcsm",
    ];

    /// Returns true if text names a generator (`torus:...`, `thesis`) and not a file.
    #[must_use]
    pub fn is_spec(text: &str) -> bool {
        let kind = text.split(':').next().unwrap_or_default();
        let named = Self::KINDS.contains(&kind);
        named && (text.contains(':') || matches!(kind, "thesis" | "mcsm"))
    }
}

impl FromStr for FabricSpec {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Self, TopologyError> {
        parse(text).map_err(|what| bad(&text, what))
    }
}

fn parse(text: &str) -> Result<FabricSpec, String> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut args = Args::new(kind, rest)?;
    let spec = match kind {
        "fat-tree" => FabricSpec::FatTree {
            radix: args.need("radix")?,
            levels: args.need("levels")?,
            oversub: args.or("oversub", 1)?,
            parallel: args.or("parallel", 1)?,
            pods: args.or("pods", 0)?,
        },
        "torus" => FabricSpec::Torus {
            dims: args.dims()?,
            hosts: args.or("hosts", 1)?,
        },
        "mesh" => FabricSpec::Mesh {
            dims: args.dims()?,
            hosts: args.or("hosts", 1)?,
        },
        "hypercube" => FabricSpec::Hypercube {
            dim: args.need("dim")?,
            hosts: args.or("hosts", 1)?,
        },
        "dragonfly" => FabricSpec::Dragonfly {
            a: args.need("a")?,
            p: args.need("p")?,
            h: args.need("h")?,
            g: args.or("g", 0)?,
        },
        "jellyfish" => FabricSpec::Jellyfish {
            switches: args.need("switches")?,
            degree: args.need("degree")?,
            hosts: args.or("hosts", 1)?,
            seed: args.or("seed", 1)?,
        },
        "ring" => FabricSpec::Ring {
            switches: args.need("switches")?,
            hosts: args.or("hosts", 1)?,
        },
        "random" => FabricSpec::Random {
            switches: args.need("switches")?,
            links: args.need("links")?,
            hosts: args.or("hosts", 1)?,
            seed: args.or("seed", 1)?,
        },
        "thesis" => FabricSpec::Thesis,
        "mcsm" => FabricSpec::Mcsm,
        _ => {
            let kinds = FabricSpec::KINDS.join(", ");
            return Err(format!("unknown kind {kind:?}, expected one of {kinds}"));
        }
    };
    args.finish()?;
    Ok(spec)
}

/// `key=value` pairs after the kind, and the one argument without a key.
struct Args<'a> {
    kind: &'a str,
    shape: Option<&'a str>,
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Args<'a> {
    fn new(kind: &'a str, text: &'a str) -> Result<Self, String> {
        let mut args = Self {
            kind,
            shape: None,
            values: BTreeMap::new(),
        };
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some((key, value)) => {
                    if args.values.insert(key, value).is_some() {
                        return Err(format!("`{key}` is given twice, expected once"));
                    }
                }
                None if args.shape.is_none() => args.shape = Some(part),
                None => return Err(format!("found {part:?}, expected key=value")),
            }
        }
        Ok(args)
    }

    fn need<T: FromStr>(&mut self, key: &str) -> Result<T, String> {
        let value = self.values.remove(key);
        let value = value
            .ok_or_else(|| format!("`{key}` is missing, expected `{}:...{key}=N`", self.kind))?;
        value
            .parse()
            .map_err(|_| format!("`{key}`: found {value:?}, expected a number"))
    }

    fn or<T: FromStr>(&mut self, key: &str, default: T) -> Result<T, String> {
        if self.values.contains_key(key) {
            self.need(key)
        } else {
            Ok(default)
        }
    }

    fn dims(&mut self) -> Result<Vec<u32>, String> {
        let shape = self.shape.take();
        let shape = shape.ok_or_else(|| format!("no size, expected `{}:4x4x4`", self.kind))?;
        let dims = shape.split('x').map(|dim| dim.parse::<u32>());
        dims.collect::<Result<_, _>>()
            .map_err(|_| format!("size {shape:?}, expected numbers joined by x, as 4x4x4"))
    }

    fn finish(self) -> Result<(), String> {
        let left = self.shape.or_else(|| self.values.keys().next().copied());
        left.map_or(Ok(()), |left| {
            Err(format!("unknown argument {left:?} of {}", self.kind))
        })
    }
}

impl fmt::Display for FabricSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grid = |f: &mut fmt::Formatter<'_>, kind: &str, dims: &[u32], hosts: &u32| {
            write!(f, "{kind}:")?;
            for (at, dim) in dims.iter().enumerate() {
                write!(f, "{}{dim}", if at == 0 { "" } else { "x" })?;
            }
            write!(f, ",hosts={hosts}")
        };
        match self {
            Self::FatTree {
                radix,
                levels,
                oversub,
                parallel,
                pods,
            } => {
                write!(f, "fat-tree:radix={radix},levels={levels}")?;
                for (key, value, default) in [
                    ("oversub", oversub, 1),
                    ("parallel", parallel, 1),
                    ("pods", pods, 0),
                ] {
                    if *value != default {
                        write!(f, ",{key}={value}")?;
                    }
                }
                Ok(())
            }
            Self::Torus { dims, hosts } => grid(f, "torus", dims, hosts),
            Self::Mesh { dims, hosts } => grid(f, "mesh", dims, hosts),
            Self::Hypercube { dim, hosts } => write!(f, "hypercube:dim={dim},hosts={hosts}"),
            Self::Dragonfly { a, p, h, g: 0 } => write!(f, "dragonfly:a={a},p={p},h={h}"),
            Self::Dragonfly { a, p, h, g } => write!(f, "dragonfly:a={a},p={p},h={h},g={g}"),
            Self::Jellyfish {
                switches,
                degree,
                hosts,
                seed,
            } => {
                write!(
                    f,
                    "jellyfish:switches={switches},degree={degree},hosts={hosts},seed={seed}"
                )
            }
            Self::Ring { switches, hosts } => write!(f, "ring:switches={switches},hosts={hosts}"),
            Self::Random {
                switches,
                links,
                hosts,
                seed,
            } => {
                write!(
                    f,
                    "random:switches={switches},links={links},hosts={hosts},seed={seed}"
                )
            }
            Self::Thesis => f.write_str("thesis"),
            Self::Mcsm => f.write_str("mcsm"),
        }
    }
}
