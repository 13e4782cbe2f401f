//! `ib diff`: what changed between two snapshots, topology files, or the live subnet.

use std::{
    io::{self, Write},
    path::Path,
};

use ib_diag::{
    Contents, EndName, FabricDifference, LinkName, NodeName, NodeNameMap, Snapshot, TableChange,
    difference, table_changes,
};
use ib_routing::{Fabric, format::ibnetdiscover};
use serde_json::{Map, Value, json};

use crate::{
    error::{CliError, Verdict},
    files,
    output::{count, json, place, stderr},
    source::{SourceArgs, snapshot_in},
};

/// Show what changed from A to B: nodes, links, attributes, tables.
///
/// Only reads. Tables are compared where both sides have them. Status 1 if there is a difference.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DiffArgs {
    /// A snapshot, a topology in ibnetdiscover's format, or `live`: the subnet of --device
    #[arg(value_name = "A")]
    before: String,
    /// The later state, in one of the same forms
    #[arg(value_name = "B", default_value = "live")]
    after: String,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib diff monday.ibsnap tuesday.ibsnap
  ib diff planned.net                        against the live subnet
  ib diff monday.ibsnap live --json";

/// One side.
struct Side {
    fabric: Fabric,
    snapshot: Option<Snapshot>,
}

pub fn run(args: DiffArgs, as_json: bool) -> Result<Verdict, CliError> {
    let names = args.source.names.read()?;
    let before = Side::open(&args.before, &args.source, &names)?;
    let after = Side::open(&args.after, &args.source, &names)?;
    let changes = difference(&before.fabric, &after.fabric);
    let tables = match (&before.snapshot, &after.snapshot) {
        (Some(before), Some(after)) => table_changes(before, after),
        _ => Vec::new(),
    };
    let mut out = io::stdout().lock();
    if as_json {
        json::print(&mut out, &document(&changes, &tables))?;
    } else {
        print(&mut out, &changes, &tables)?;
    }
    for (name, side) in [(&args.before, &before), (&args.after, &after)] {
        side.warn_of_silent(name);
    }
    Ok(Verdict::of(changes.is_empty() && tables.is_empty()))
}

impl Side {
    fn open(text: &str, source: &SourceArgs, names: &NodeNameMap) -> Result<Self, CliError> {
        if text == "live" {
            let snapshot = source.snapshot(Contents::all())?;
            return Ok(Self::of(snapshot));
        }
        let file = Path::new(text);
        let bytes = files::read_bytes(text)?;
        if let Some(mut snapshot) = snapshot_in(text, &bytes)? {
            snapshot.rename(names);
            return Ok(Self::of(snapshot));
        }
        let topology = files::parse(file, &files::text_of(text, &bytes)?, ibnetdiscover::read)?;
        files::warn(text, &topology.warnings);
        Ok(Self {
            fabric: names.renamed(topology.fabric),
            snapshot: None,
        })
    }

    fn of(snapshot: Snapshot) -> Self {
        Self {
            fabric: snapshot.fabric(),
            snapshot: Some(snapshot),
        }
    }

    /// Says that devices of this side did not respond: that they are missing does not mean that they were removed.
    fn warn_of_silent(&self, name: &str) {
        let Some(snapshot) = &self.snapshot else {
            return;
        };
        for silent in &snapshot.silent {
            stderr::warn(format_args!("{name}: {}", place::silent(snapshot, silent)));
        }
    }
}

fn node(name: &NodeName) -> Map<String, Value> {
    let members = [
        ("node_guid", json!(name.guid.to_string())),
        ("name", json!(name.name)),
    ];
    members
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
}

fn link(link: &LinkName) -> Map<String, Value> {
    let end = |end: &EndName| {
        let mut map = node(&end.node);
        map.insert("port".to_owned(), json!(end.port.0));
        Value::Object(map)
    };
    let members = [("a", end(&link.a)), ("b", end(&link.b))];
    members
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
}

/// Adds what changed to what it changed of.
fn changed(mut map: Map<String, Value>, what: &str, before: &str, after: &str) -> Value {
    for (key, value) in [("what", what), ("before", before), ("after", after)] {
        map.insert(key.to_owned(), json!(value));
    }
    Value::Object(map)
}

fn document(changes: &FabricDifference, tables: &[TableChange]) -> Value {
    let nodes = |names: &[NodeName]| {
        names
            .iter()
            .map(|name| Value::Object(node(name)))
            .collect::<Vec<_>>()
    };
    let links = |names: &[LinkName]| {
        names
            .iter()
            .map(|name| Value::Object(link(name)))
            .collect::<Vec<_>>()
    };
    let nodes_changed = changes.nodes_changed.iter().map(|change| {
        changed(
            node(&change.node),
            change.what,
            &change.before,
            &change.after,
        )
    });
    let links_changed = changes.links_changed.iter().map(|change| {
        changed(
            link(&change.link),
            change.what,
            &change.before,
            &change.after,
        )
    });
    let tables = tables.iter().map(|change| {
        let mut map = node(&change.node);
        map.insert("table".to_owned(), json!(change.table));
        map.insert("entries".to_owned(), json!(change.entries));
        map.insert("first".to_owned(), json!(change.first));
        Value::Object(map)
    });
    json!({
        "nodes": {
            "added": nodes(&changes.nodes_added),
            "removed": nodes(&changes.nodes_removed),
            "changed": nodes_changed.collect::<Vec<_>>(),
        },
        "links": {
            "added": links(&changes.links_added),
            "removed": links(&changes.links_removed),
            "changed": links_changed.collect::<Vec<_>>(),
        },
        "tables": { "changed": tables.collect::<Vec<_>>() },
    })
}

fn print(
    out: &mut impl Write,
    changes: &FabricDifference,
    tables: &[TableChange],
) -> io::Result<()> {
    for (sign, names) in [("-", &changes.nodes_removed), ("+", &changes.nodes_added)] {
        for name in names {
            writeln!(out, "{sign} node {} ({})", name.name, name.guid)?;
        }
    }
    for change in &changes.nodes_changed {
        let name = &change.node;
        writeln!(
            out,
            "~ node {} ({}): {} {} -> {}",
            name.name, name.guid, change.what, change.before, change.after
        )?;
    }
    for (sign, links) in [("-", &changes.links_removed), ("+", &changes.links_added)] {
        for link in links {
            writeln!(out, "{sign} link {} to {}", link.a, link.b)?;
        }
    }
    for change in &changes.links_changed {
        let link = &change.link;
        writeln!(
            out,
            "~ link {} to {}: {} {} -> {}",
            link.a, link.b, change.what, change.before, change.after
        )?;
    }
    for change in tables {
        let name = &change.node;
        writeln!(
            out,
            "~ {} of {} ({}): {}, first {}",
            change.table,
            name.name,
            name.guid,
            count(change.entries, "entry", "entries"),
            change.first
        )?;
    }
    let nodes =
        changes.nodes_added.len() + changes.nodes_removed.len() + changes.nodes_changed.len();
    let links =
        changes.links_added.len() + changes.links_removed.len() + changes.links_changed.len();
    writeln!(
        out,
        "{} of nodes, {links} of links, {} of tables",
        count(nodes, "change", "changes"),
        tables.len()
    )
}
