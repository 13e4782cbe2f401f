//! Compares the datagrams of the vectors with the results of a crate's tables.

use ib_mad::{ClassTable, MadHeader, describe};
use ib_wire::table::{Fields, FieldsMut, Layout};
use serde::de::DeserializeSeed;
use serde_json::Value;

pub use super::{cases, unhex};

/// The bytes that a value in a case encodes.
pub fn bytes(hex: &Value) -> Vec<u8> {
    unhex(hex.as_str().unwrap())
}

/// Compares a datagram's reading with the vector's, writes the vector's values into bytes that were
/// something else before, and compares the bytes.
pub fn reads_and_writes(classes: &'static [ClassTable], id: &Value, mad: &[u8], headers: &Value) {
    let (header, _) = MadHeader::parse(mad, 0).unwrap();
    let described = describe(&[classes], header, mad);
    let mut parts: Vec<(&'static Layout, usize)> = vec![(described.format, 0)];
    // The payload of an RMPP packet is part of a table: the vectors leave it as bytes.
    let in_rmpp = header.mgmt_class() == ib_mad::MgmtClass::SUBN_ADM && mad[26] & 1 != 0;
    parts.extend(described.attribute.filter(|_| !in_rmpp));
    let expected = headers.as_array().unwrap();
    let names: Vec<_> = expected.iter().map(|part| &part["name"]).collect();
    assert_eq!(parts.len(), expected.len(), "{id}: {names:?}");
    let mut built = vec![0xa5; mad.len()];
    for ((layout, offset), expected) in parts.into_iter().zip(expected) {
        assert_eq!(layout.name, expected["name"], "{id}");
        assert_eq!(offset, expected["offset"], "{id}");
        let fields = &expected["fields"];
        let bytes = &mad[offset..];
        let read = serde_json::to_value(Fields { layout, bytes }).unwrap();
        assert_eq!(read, *fields, "{id}");
        let bytes = &mut built[offset..];
        FieldsMut { layout, bytes }.deserialize(fields).unwrap();
    }
    assert_eq!(built, mad, "{id}");
}

/// Runs [`reads_and_writes`] over every recorded datagram and every whole packet of these classes, and
/// returns how many there were of each.
pub fn all_read_and_write(
    classes: &'static [ClassTable],
    is_ours: impl Fn(ib_mad::MgmtClass) -> bool,
) -> (usize, usize) {
    let run = |file: &str, hex: &str, headers: &str| {
        let mut count = 0;
        for case in cases(file) {
            let mut mad = bytes(&case[hex]);
            // A table that a kernel put together is as long as it is; the vector reads its front.
            mad.resize(256, 0);
            let (header, _) = MadHeader::parse(&mad, 0).unwrap();
            if is_ours(header.mgmt_class()) {
                reads_and_writes(classes, &case["id"], &mad, &case[headers]);
                count += 1;
            }
        }
        count
    };
    let recorded = run("mads", "hex", "headers");
    (recorded, run("mad_packets", "mad", "mad_headers"))
}
