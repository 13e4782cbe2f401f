//! The source of the printers is made here, out of the steps that they print.

use std::fmt::Write;

use ib_mad::MgmtClass;

use super::*;
use crate::dissect;

/// The classes of most datagrams. Printers of all classes would take twice as much memory.
const COMMON: [MgmtClass; 4] = [
    MgmtClass::SUBN_LID,
    MgmtClass::SUBN_DIRECTED,
    MgmtClass::SUBN_ADM,
    MgmtClass::PERF,
];

/// The layouts that have a printer: those of most packets and datagrams.
fn common() -> Vec<&'static Layout> {
    let classes = [ib_smp::CLASSES, ib_sa::CLASSES, ib_mad::CLASSES];
    let mut layouts = ib_wire::LAYOUTS.to_vec();
    for table in classes.into_iter().flatten() {
        if COMMON.contains(&table.class) {
            layouts.push(table.format);
            layouts.extend(table.attributes.iter().filter_map(|entry| entry.layout));
        }
    }
    let mut common: Vec<&Layout> = Vec::new();
    for layout in layouts {
        if !has_array(layout) && !common.contains(&layout) {
            common.push(layout);
        }
    }
    common
}

/// Returns true if there is an array, which would be as much code as it has elements. Bytes are one value.
fn has_array(layout: &Layout) -> bool {
    layout.fields.iter().any(|field| match field.kind {
        FieldKind::Array { element_bits, .. } => element_bits != 8,
        FieldKind::Struct(layout) => has_array(layout),
        _ => false,
    })
}

/// The source of the printers.
fn source() -> String {
    let mut source = String::from(
        "//! The steps of each layout with a printer. A test makes this file, and says how to call it.\n\n\
         use super::{Printer, printers};\n\
         use crate::{Cursor, value::Value::*, window::{InByte, Whole, Window}};\n\n\
         pub(super) const PRINTERS: &[(&str, Printer)] = printers! {\n",
    );
    for layout in common() {
        writeln!(source, "    {:?} {} {{", layout.name, layout.len).unwrap();
        for Step { before, value } in FieldFormat::of_layout(Style::Json, layout).steps {
            let mut block = [0; Constant::MOST + 1];
            before.write(&mut block);
            let text = String::from_utf8_lossy(&block[..before.len()]);
            writeln!(source, "        b{text:?} {value:?};").unwrap();
        }
        writeln!(source, "    }}").unwrap();
    }
    source + "};\n"
}

#[test]
fn the_source_of_the_printers_is_up_to_date() {
    let source = source();
    if std::env::var_os("WRITE_PRINTERS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/fields/printers/steps.rs");
        std::fs::write(path, &source).unwrap();
    }
    let is_up_to_date = source == include_str!("../printers/steps.rs");
    assert!(
        is_up_to_date,
        "run `WRITE_PRINTERS=1 cargo test -p ib-text printers`, then the tests again"
    );
}

#[test]
fn printers_print_what_the_steps_print() {
    for layout in dissect::layouts() {
        let with_printer = FieldFormat::of_layout(Style::Json, layout);
        let without = FieldFormat {
            printer: None,
            ..FieldFormat::of_layout(Style::Json, layout)
        };
        assert_eq!(with_printer.printer.is_some(), common().contains(&layout));
        for (seed, offset) in (0..32u32).zip([0, 7, 255, 256, 12_345].into_iter().cycle()) {
            let byte = |at: u32| ((at + seed).wrapping_mul(0x9e37_79b9) >> (seed % 24)) as u8;
            let bytes: Vec<u8> = (0..layout.len as u32).map(byte).collect();
            let print = |format: &FieldFormat, bytes: &[u8]| {
                let mut line = Line::default();
                format.print(&mut line, offset, bytes);
                String::from_utf8_lossy(line.as_bytes()).into_owned()
            };
            assert_eq!(print(&with_printer, &bytes), print(&without, &bytes));
        }
    }
}

#[test]
fn a_layout_of_others_has_no_printer_by_its_name() {
    let other = Layout {
        len: 4,
        ..*ib_wire::Lrh::LAYOUT
    };
    assert!(
        FieldFormat::of_layout(Style::Json, &other)
            .printer
            .is_none()
    );
}
