//! Captures of others are read, and what is written is read back.

use std::time::Duration;

use ib_transport::capture::{CaptureError, CaptureReader, CaptureWriter, Content, LinkType};

fn file(name: &str) -> Vec<u8> {
    std::fs::read(ib_testkit::data::capture_file(name)).unwrap()
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

/// A block of a pcapng file, in either order of bytes.
fn block(is_big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let number = |value: u32| match is_big {
        true => value.to_be_bytes(),
        false => value.to_le_bytes(),
    };
    let padded = body.len().next_multiple_of(4);
    let len = number(padded as u32 + 12);
    let mut bytes = [number(kind), len].concat();
    bytes.extend_from_slice(body);
    bytes.resize(8 + padded, 0x77);
    bytes.extend_from_slice(&len);
    bytes
}

/// Section and interface of InfiniBand whose frames are cut at `snap_len`, with these options.
fn section(is_big: bool, snap_len: u32, options: &[(u16, &[u8])]) -> Vec<u8> {
    let half = |value: u16| match is_big {
        true => value.to_be_bytes(),
        false => value.to_le_bytes(),
    };
    let word = |value: u32| match is_big {
        true => value.to_be_bytes(),
        false => value.to_le_bytes(),
    };
    let version = [half(1), half(0)].concat();
    let header = [&word(0x1a2b_3c4d)[..], &version, &[0xff; 8]].concat();
    let mut interface = [&half(247)[..], &half(0), &word(snap_len)].concat();
    for (code, value) in options {
        interface.extend([half(*code), half(value.len() as u16)].concat());
        interface.extend_from_slice(value);
        interface.resize(interface.len().next_multiple_of(4), 0);
    }
    // The end of the options.
    interface.extend([0; 4]);
    let first = block(is_big, 0x0a0d_0d0a, &header);
    [first, block(is_big, 1, &interface)].concat()
}

#[test]
fn a_simple_packet_ends_where_its_length_or_the_snap_length_says() {
    for is_big in [false, true] {
        for (snap_len, len, kept) in [(0, 26, 26), (65535, 27, 27), (20, 26, 20), (17, 26, 17)] {
            let number = match is_big {
                true => u32::to_be_bytes(len),
                false => u32::to_le_bytes(len),
            };
            let frame = [&number[..], &vec![5; kept]].concat();
            let bytes = [section(is_big, snap_len, &[]), block(is_big, 3, &frame)].concat();
            let mut reader = CaptureReader::new(&bytes[..]).unwrap();
            let frame = reader.next_frame().unwrap().unwrap();
            assert_eq!(frame.data.len(), kept, "{len} at {snap_len}");
            assert_eq!(frame.original_len, len);
            assert!(reader.next_frame().unwrap().is_none());
        }
    }
}

#[test]
fn time_stamps_have_the_resolution_and_the_offset_of_their_interface() {
    let seconds = |seconds: i64| seconds.to_be_bytes();
    for (options, expected) in [
        (&[][..], Duration::from_micros(9_000_000)),
        (&[(9, &[9][..])], Duration::from_nanos(9_000_000)),
        (&[(9, &[0x80 | 10])], Duration::from_secs(9_000_000) / 1024),
        (&[(14, &seconds(1000))], Duration::from_secs(1009)),
        (&[(14, &seconds(-5))], Duration::from_secs(4)),
        (&[(14, &seconds(i64::MIN))], Duration::ZERO),
    ] {
        let frame = [0, 0, 9_000_000, 4, 4].map(u32::to_be_bytes).concat();
        let frame = [&frame[..], &[5; 4]].concat();
        let bytes = [section(true, 0, options), block(true, 6, &frame)].concat();
        let mut reader = CaptureReader::new(&bytes[..]).unwrap();
        let frame = reader.next_frame().unwrap().unwrap();
        assert_eq!(frame.timestamp, expected, "{options:?}");
    }
}

#[test]
fn check_sequences_that_a_capture_kept_are_no_part_of_the_packet() {
    // Two words of 16 bits, and the flag that they count.
    let link = u32::to_le_bytes(1 | 1 << 26 | 2 << 28);
    let magic = 0xa1b2_c3d4_u32.to_le_bytes();
    let header = [
        &magic[..],
        &[2, 0, 4, 0],
        &[0; 8],
        &[0xff, 0xff, 0, 0],
        &link,
    ]
    .concat();
    // Whole, and cut short in the check sequence, before it, and long before it.
    for (kept, packet) in [(20_u8, 16), (18, 16), (16, 16), (7, 7)] {
        let lengths = [0, 0, u32::from(kept), 20].map(u32::to_le_bytes).concat();
        let frame = vec![5; kept.into()];
        let bytes = [&header[..], &lengths, &frame].concat();
        let mut reader = CaptureReader::new(&bytes[..]).unwrap();
        let frame = reader.next_frame().unwrap().unwrap();
        assert_eq!(frame.link, LinkType::ETHERNET);
        assert_eq!((frame.data.len(), frame.original_len), (packet, 16));
    }
    let interface = [
        &[0, 1, 0, 0][..],
        &[0; 4],
        &[0, 13, 0, 1, 32, 0, 0, 0],
        &[0; 4],
    ]
    .concat();
    let frame = [0, 0, 0, 20, 20].map(u32::to_be_bytes).concat();
    let frame = [&frame[..], &[5; 20]].concat();
    let section = [&[0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0][..], &[0xff; 8]].concat();
    let blocks = [(0x0a0d_0d0a, section), (1, interface), (6, frame)];
    let bytes = blocks.map(|(kind, body)| block(true, kind, &body)).concat();
    let mut reader = CaptureReader::new(&bytes[..]).unwrap();
    let frame = reader.next_frame().unwrap().unwrap();
    assert_eq!((frame.data.len(), frame.original_len), (16, 16));
}
