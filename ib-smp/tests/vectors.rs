//! Datagrams that other programs sent, and whole packets of a reference model.

use ib_mad::{MadHeader, MgmtClass, describe};
use ib_smp::CLASSES;
use ib_wire::table::{Fields, FieldsMut, Layout};
use serde::de::DeserializeSeed;
use serde_json::Value;

const MADS: &str = include_str!("../../ib-wire/testdata/vectors/mads.jsonl");
const PACKETS: &str = include_str!("../../ib-wire/testdata/vectors/mad_packets.jsonl");

fn cases(lines: &'static str) -> impl Iterator<Item = Value> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
}

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn is_ours(class: MgmtClass) -> bool {
    class.is_smp()
}

/// Compares a datagram's reading with the vector's, writes the vector's values into bytes that were
/// something else before, and compares the bytes. Returns whether the class is one of this crate.
fn check(id: &Value, mad: &[u8], headers: &Value) -> bool {
    let (header, _) = MadHeader::parse(mad, 0).unwrap();
    if !is_ours(header.mgmt_class()) {
        return false;
    }
    let described = describe(&[CLASSES], header, mad);
    let mut parts: Vec<(&'static Layout, usize)> = vec![(described.format, 0)];
    parts.extend(described.attribute);
    let expected = headers.as_array().unwrap();
    let names: Vec<_> = expected.iter().map(|part| &part["name"]).collect();
    assert_eq!(parts.len(), expected.len(), "{id}: {names:?}");
    let mut built = vec![0xa5; mad.len()];
    for ((layout, offset), expected) in parts.into_iter().zip(expected) {
        assert_eq!(layout.name, expected["name"], "{id}");
        assert_eq!(offset, expected["offset"], "{id}");
        let read = Fields {
            layout,
            bytes: &mad[offset..],
        };
        assert_eq!(
            serde_json::to_value(read).unwrap(),
            expected["fields"],
            "{id}"
        );
        let write = FieldsMut {
            layout,
            bytes: &mut built[offset..],
        };
        write.deserialize(&expected["fields"]).unwrap();
    }
    assert_eq!(built, mad, "{id}");
    true
}

#[test]
fn recorded_datagrams_read_as_the_tools_read_them() {
    let mut count = 0;
    for case in cases(MADS) {
        let mad = bytes(&case["hex"]);
        count += usize::from(check(&case["id"], &mad, &case["headers"]));
    }
    assert_eq!(count, 329);
}

#[test]
fn datagrams_in_packets_read_as_the_model_reads_them() {
    let mut count = 0;
    for case in cases(PACKETS) {
        let mad = bytes(&case["mad"]);
        count += usize::from(check(&case["id"], &mad, &case["mad_headers"]));
    }
    assert_eq!(count, 156);
}
