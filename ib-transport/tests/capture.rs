//! Captures of others are read, and what is written is read back.

use std::time::Duration;

use ib_transport::capture::{CaptureError, CaptureReader, CaptureWriter, Content, LinkType};

fn file(name: &str) -> Vec<u8> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../ib-wire/testdata/vectors/captures/"
    );
    std::fs::read(format!("{folder}{name}")).unwrap()
}

#[test]
fn captures_of_others_hold_as_many_packets_as_tshark_counts() {
    for (name, frames, infiniband) in [
        ("ib-erf-infiniband.pcap", 43, true),
        ("rocev1-and-v2.pcap", 186, false),
        ("rocev2-write.pcap", 17, false),
    ] {
        let bytes = file(name);
        let mut reader = CaptureReader::new(&bytes[..]).unwrap();
        let mut count = 0;
        while let Some(frame) = reader.next_frame().unwrap() {
            count += 1;
            match frame.content().unwrap() {
                Content::InfiniBand(packet) => {
                    assert!(infiniband, "{name}");
                    let words = usize::from(u16::from_be_bytes([packet[4], packet[5]]) & 0x7ff);
                    assert_eq!(words * 4 + 2, packet.len(), "{name}, frame {count}");
                }
                Content::Ethernet(_) => assert!(!infiniband, "{name}"),
                content => panic!("{name}: {content:?}"),
            }
        }
        assert_eq!(count, frames, "{name}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let frames: Vec<(Duration, Vec<u8>)> = (0..70)
        .map(|i| {
            (
                Duration::from_nanos(1_700_000_000_123_456_789 + i),
                vec![i as u8; i as usize],
            )
        })
        .collect();
    let pcap = CaptureWriter::pcap(Vec::new(), LinkType::INFINIBAND).unwrap();
    let pcapng = CaptureWriter::pcapng(Vec::new(), LinkType::INFINIBAND).unwrap();
    for mut writer in [pcap, pcapng] {
        for (timestamp, data) in &frames {
            writer.write(*timestamp, data).unwrap();
        }
        let bytes = writer.into_inner();
        let mut reader = CaptureReader::new(&bytes[..]).unwrap();
        for (timestamp, data) in &frames {
            let frame = reader.next_frame().unwrap().unwrap();
            assert_eq!(frame.link, LinkType::INFINIBAND);
            assert_eq!(
                (&frame.timestamp, frame.data.as_ref()),
                (timestamp, &data[..])
            );
            assert_eq!(frame.original_len as usize, data.len());
        }
        assert!(reader.next_frame().unwrap().is_none());
    }
}

#[test]
fn a_capture_that_ends_inside_a_frame_says_which() {
    let bytes = file("rocev2-write.pcap");
    let mut reader = CaptureReader::new(&bytes[..bytes.len() - 1]).unwrap();
    for _ in 0..16 {
        assert!(reader.next_frame().unwrap().is_some());
    }
    let error = reader.next_frame().unwrap_err();
    assert!(
        matches!(error, CaptureError::CutShort { frame: 17, .. }),
        "{error}"
    );
}

#[test]
fn bytes_that_are_no_capture_are_refused() {
    for bytes in [
        &b""[..],
        b"ib",
        b"GET / HTTP/1.1\r\n\r\nand some more bytes",
    ] {
        let error = CaptureReader::new(bytes).unwrap_err();
        assert!(error.to_string().contains("expected"), "{error}");
    }
    let error = CaptureReader::new(&b""[..]).unwrap_err();
    assert!(matches!(error, CaptureError::Empty), "{error}");
}

#[test]
fn a_capture_that_ends_inside_its_header_has_no_frame_to_blame() {
    for writer in [CaptureWriter::pcap, CaptureWriter::pcapng] {
        let file = writer(Vec::new(), LinkType::INFINIBAND)
            .unwrap()
            .into_inner();
        for len in 4..20 {
            let error = CaptureReader::new(&file[..len]).unwrap_err();
            assert!(
                matches!(error, CaptureError::HeaderCutShort),
                "{len}: {error}"
            );
        }
    }
}
