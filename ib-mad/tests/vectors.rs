//! Datagrams that other programs sent, and whole packets of a reference model.

use ib_mad::{
    CLASSES, Instant, Mad, MadAddress, MadHeader, Message, MgmtClass, RespTime, RmppConfig,
    RmppReceiver, RmppSender, describe,
};
use ib_wire::{
    Lid, Sl,
    table::{Fields, FieldsMut, Layout},
};
use serde::de::DeserializeSeed;
use serde_json::Value;

const MADS: &str = include_str!("../../ib-wire/testdata/vectors/mads.jsonl");
const PACKETS: &str = include_str!("../../ib-wire/testdata/vectors/mad_packets.jsonl");
const RMPP: &str = include_str!("../../ib-wire/testdata/vectors/rmpp.jsonl");

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

/// Compares a datagram's reading with the vector's, writes the vector's values into bytes that were
/// something else before, and compares the bytes. Returns whether the class is one of this crate.
fn check(id: &Value, mad: &[u8], headers: &Value) -> bool {
    let (header, _) = MadHeader::parse(mad, 0).unwrap();
    let class = header.mgmt_class();
    if class.is_smp() || class == MgmtClass::SUBN_ADM {
        return false;
    }
    let described = describe(&[CLASSES], header, mad);
    let mut parts: Vec<(&'static Layout, usize)> = vec![(described.format, 0)];
    parts.extend(described.attribute);
    let expected = headers.as_array().unwrap();
    assert_eq!(parts.len(), expected.len(), "{id}");
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
    assert_eq!(count, 219);
}

#[test]
fn datagrams_in_packets_read_as_the_model_reads_them() {
    let mut count = 0;
    for case in cases(PACKETS) {
        let mad = bytes(&case["mad"]);
        count += usize::from(check(&case["id"], &mad, &case["mad_headers"]));
    }
    assert_eq!(count, 27);
}

#[test]
fn a_typed_message_is_its_bytes() {
    for case in cases(MADS) {
        if let Ok(mad) = <[u8; 256]>::try_from(bytes(&case["hex"])) {
            assert_eq!(Message::parse(&mad).as_bytes(), &mad, "{}", case["id"]);
        }
    }
}

/// A recorded transfer: the headers of the message, its data and its segments.
struct Transfer {
    id: Value,
    template: Mad,
    data: Vec<u8>,
    segments: Vec<Vec<u8>>,
    config: RmppConfig,
}

fn transfers() -> impl Iterator<Item = Transfer> {
    cases(RMPP).map(|case| {
        let mut template = Mad::new(MadAddress::gsi(Lid(1), Sl::ZERO));
        let header = bytes(&case["header"]);
        template.bytes[..24].copy_from_slice(&header);
        let class_header = bytes(&case["class_header"]);
        template.bytes[36..36 + class_header.len()].copy_from_slice(&class_header);
        let resp_time = case["resp_time"].as_u64().unwrap();
        Transfer {
            template,
            data: bytes(&case["data"]),
            segments: case["segments"]
                .as_array()
                .unwrap()
                .iter()
                .map(bytes)
                .collect(),
            config: RmppConfig {
                resp_time: RespTime::from_bits(resp_time as u8),
                ..RmppConfig::default()
            },
            id: case["id"].clone(),
        }
    })
}

#[test]
fn messages_are_cut_into_the_recorded_segments() {
    let now = Instant::ZERO;
    for case in transfers() {
        let data = case.data.clone().into();
        let mut sender = RmppSender::new(case.config, &case.template, data).unwrap();
        let mut receiver = RmppReceiver::new(case.config, &case.template).unwrap();
        let mut sent = Vec::new();
        while sender.outcome().is_none() {
            while let Some(mad) = sender.poll_transmit(now) {
                sent.push(mad.bytes.to_vec());
                let _ = receiver.handle_mad(now, &mad);
            }
            let ack = receiver.poll_transmit();
            sender.handle_mad(now, &ack.unwrap_or_else(|| panic!("{}", case.id)));
        }
        assert_eq!(sent, case.segments, "{}", case.id);
        assert_eq!(sender.outcome(), Some(Ok(())));
    }
}

#[test]
fn recorded_segments_are_put_together() {
    let now = Instant::ZERO;
    let mut count = 0;
    for case in transfers() {
        let mut receiver = RmppReceiver::new(case.config, &case.template).unwrap();
        let mut message = None;
        for segment in &case.segments {
            let mut mad = case.template;
            mad.bytes.copy_from_slice(segment);
            message = message.or(receiver.handle_mad(now, &mad));
            let _ = receiver.poll_transmit();
        }
        let message = message.unwrap_or_else(|| panic!("{}", case.id));
        assert_eq!(message.data, case.data, "{}", case.id);
        let class_header = message.class_header();
        assert_eq!(
            class_header,
            &case.template.bytes[36..36 + class_header.len()]
        );
        count += 1;
    }
    assert_eq!(count, 42);
}
