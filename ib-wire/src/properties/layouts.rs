//! The layout tables of this code against those of the specification.

use alloc::{format, string::String, vec::Vec};

use crate::table::{Field, FieldKind, Layout};

/// One row of a layout table in CSV: `struct,field,bit_offset,bits,kind,note`.
struct CsvRow<'a> {
    structure: &'a str,
    field: &'a str,
    bit_offset: usize,
    bits: usize,
    kind: &'a str,
}

/// The rows of a layout table; a line that is none becomes a complaint.
fn rows(csv: &str) -> impl Iterator<Item = Result<CsvRow<'_>, String>> {
    csv.lines().skip(1).map(|line| {
        let mut columns = line.split(',');
        let mut column = || columns.next().unwrap_or_default();
        let (structure, field) = (column(), column());
        match (column().parse(), column().parse()) {
            (Ok(bit_offset), Ok(bits)) => Ok(CsvRow {
                structure,
                field,
                bit_offset,
                bits,
                kind: column(),
            }),
            _ => Err(format!("not a row of a layout table: {line}")),
        }
    })
}

/// The names of the structures that the table `csv` describes, each once, in its order.
#[must_use]
pub fn structs_of(csv: &str) -> Vec<&str> {
    let mut names: Vec<&str> = rows(csv).flatten().map(|row| row.structure).collect();
    names.dedup();
    names
}

/// Every difference between `layouts` and their rows in the table `csv`, in both directions: a row without
/// its field, a field without its row, another place, width or kind. Empty where they agree.
///
/// `csv` has the columns `struct,field,bit_offset,bits,kind,note`, as `headers.csv` and
/// `attributes.csv` have them.
#[must_use]
pub fn layout_disagreements(csv: &str, layouts: &[&Layout]) -> Vec<String> {
    let mut wrong = Vec::new();
    for layout in layouts {
        let name = layout.name;
        let mut fields = layout.fields.iter();
        let mut end = 0usize;
        for row in rows(csv) {
            let row = match row {
                Ok(row) if row.structure == name => row,
                Ok(_) => continue,
                Err(complaint) => {
                    wrong.push(complaint);
                    continue;
                }
            };
            end = row.bit_offset.saturating_add(row.bits);
            let place = format!("{name}.{}", row.field);
            let Some(field) = fields.next() else {
                wrong.push(format!("{place}: the layout has no such field"));
                continue;
            };
            if field.name != row.field {
                wrong.push(format!("{place}: the layout has `{}` here", field.name));
            }
            if (field.bit_offset, field.bits) != (row.bit_offset, row.bits) {
                wrong.push(format!(
                    "{place}: {} bits at {}, the layout has {} at {}",
                    row.bits, row.bit_offset, field.bits, field.bit_offset
                ));
            }
            if !kind_agrees(row.kind, field) {
                wrong.push(format!(
                    "{place}: kind {}, the layout has {:?}",
                    row.kind, field.kind
                ));
            }
        }
        for field in fields {
            wrong.push(format!("{name}.{}: the table has no such row", field.name));
        }
        if Some(end) != layout.len.checked_mul(8) {
            wrong.push(format!(
                "{name}: {end} bits, the layout has {} bytes",
                layout.len
            ));
        }
    }
    wrong
}

/// Returns true if a field reads as the specification's word for its kind says.
fn kind_agrees(kind: &str, field: &Field) -> bool {
    match kind {
        "bytes" => field.kind == FieldKind::Bytes,
        "string" => field.kind == FieldKind::Text,
        "gid" => field.kind == FieldKind::Gid,
        "reserved" => matches!(field.kind, FieldKind::Uint | FieldKind::Bytes),
        "uint" | "flags" | "guid" | "lid" | "pkey" | "qkey" | "qpn" | "psn" => {
            field.kind == FieldKind::Uint
        }
        _ if kind.starts_with("enum:") => field.kind == FieldKind::Uint,
        _ => kind
            .strip_prefix("array:")
            .and_then(|array| array.split_once('x'))
            .is_some_and(|(count, element)| array_agrees(count, element, field)),
    }
}

/// `array:NxB` and `array:NxStruct`; an array of one structure or GID may be that one itself.
fn array_agrees(count: &str, element: &str, field: &Field) -> bool {
    let Ok(count) = count.parse::<usize>() else {
        return false;
    };
    let element_agrees = |kind: &FieldKind, bits: usize| match element.parse::<usize>() {
        Ok(width) => width == bits && matches!(kind, FieldKind::Uint | FieldKind::Gid),
        Err(_) => matches!(kind, FieldKind::Struct(layout) if layout.name == element),
    };
    match field.kind {
        FieldKind::Array {
            element_bits,
            element,
        } => {
            element_bits.checked_mul(count) == Some(field.bits)
                && element_agrees(element, element_bits)
        }
        ref single => count == 1 && element_agrees(single, field.bits),
    }
}
