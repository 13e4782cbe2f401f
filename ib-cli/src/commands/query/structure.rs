//! A structure that was read, as text and as JSON.

use std::io;

use ib_wire::table::{Fields, Layout};
use serde_json::{Map, Value, json};

use crate::output::table::Table;

/// The bytes of a structure.
pub(super) struct Structure {
    layout: &'static Layout,
    bytes: Vec<u8>,
}

impl Structure {
    /// The structure that the bytes begin with, if it is there as a whole.
    pub(super) fn whole(layout: &'static Layout, bytes: &[u8]) -> Vec<Self> {
        bytes.get(..layout.len).map_or_else(Vec::new, |bytes| {
            vec![Self {
                layout,
                bytes: bytes.to_vec(),
            }]
        })
    }

    fn fields(&self) -> Value {
        let fields = Fields {
            layout: self.layout,
            bytes: &self.bytes,
        };
        serde_json::to_value(fields).unwrap_or_default()
    }

    /// Name and fields.
    pub(super) fn json(&self) -> Value {
        json!({ "name": self.layout.name, "fields": self.fields() })
    }

    /// A row a field.
    pub(super) fn print(&self, out: &mut impl io::Write) -> io::Result<()> {
        let mut table = Table::new([self.layout.name, ""]);
        if let Value::Object(fields) = self.fields() {
            add_rows(&mut table, "", &fields);
        }
        table.print(out)
    }
}

/// A row a field; the fields of a nested structure by their path, structures of an array a row each.
fn add_rows(table: &mut Table, prefix: &str, fields: &Map<String, Value>) {
    for (name, value) in fields {
        let name = format!("{prefix}{name}");
        match value {
            Value::Object(inner) => add_rows(table, &format!("{name}."), inner),
            Value::Array(elements) if elements.iter().any(Value::is_object) => {
                for (index, element) in elements.iter().enumerate() {
                    table.row([format!("{name}[{index}]"), text(element)]);
                }
            }
            _ => drop(table.row([name, text(value)])),
        }
    }
}

/// A value in a line: elements with blanks between, fields of a structure with their names.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(text).collect();
            elements.join(" ")
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields: Vec<String> = fields
                .map(|(name, value)| format!("{name} {}", text(value)))
                .collect();
            fields.join(", ")
        }
        other => other.to_string(),
    }
}
