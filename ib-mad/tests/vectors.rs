//! Datagrams that other programs sent, and whole packets of a reference model.

use ib_mad::{
    CLASSES, Instant, Mad, MadAddress, Message, MgmtClass, RespTime, RmppConfig, RmppReceiver,
    RmppSender,
};
use ib_wire::{Lid, Sl};
use serde_json::Value;

use ib_testkit::vectors::mad::{all_read_and_write, bytes, cases};

#[test]
fn datagrams_read_as_the_tools_and_the_model_read_them() {
    let is_ours = |class: MgmtClass| {
        !class.is_smp() && ![MgmtClass::SUBN_ADM, MgmtClass::COM_MGT].contains(&class)
    };
    assert_eq!(all_read_and_write(CLASSES, is_ours), (219, 27));
}

#[test]
fn a_typed_message_is_its_bytes() {
    for case in cases("mads") {
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
    cases("rmpp").into_iter().map(|case| {
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
