//! `ib sm --dry-run`: the changes that a manager would make, one per line or as JSON.

use std::io::{self, Write};

use ib_sm::Change;
use serde_json::{Value, json};

use crate::{error::CliError, output::json};

/// Prints the changes as lines, or as one JSON document.
pub fn print(changes: &[Change], as_json: bool) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    if as_json {
        let changes: Vec<Value> = changes.iter().map(document).collect();
        json::print(&mut out, &json!({ "changes": changes }))?;
        return Ok(());
    }
    for change in changes {
        writeln!(
            out,
            "{:?}  {}  {} {:#x}  {} -> {}",
            change.stage,
            change.at,
            change.attribute_id,
            change.attribute_modifier,
            from(change),
            const_hex::encode(change.to),
        )?;
    }
    writeln!(out, "{} changes would be made", changes.len())?;
    Ok(())
}

fn document(change: &Change) -> Value {
    json!({
        "stage": format!("{:?}", change.stage),
        "node_guid": change.at.node_guid.to_string(),
        "port": change.at.port_num.0,
        "attribute_id": change.attribute_id.0,
        "attribute_modifier": change.attribute_modifier,
        "from": change.from.map(const_hex::encode),
        "to": const_hex::encode(change.to),
    })
}

/// The current block on the device, in hexadecimal; `unknown` if it was not read.
fn from(change: &Change) -> String {
    change
        .from
        .map_or_else(|| "unknown".to_owned(), const_hex::encode)
}
