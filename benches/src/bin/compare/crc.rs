//! The CRCs of packets, masks included, beside plain CRCs over the same bytes.

use std::hint::black_box;

use ib_benches::SLICE16;
use ib_wire::crc::{Coverage, icrc, vcrc};

use crate::{measure::by_turns, row::Row};

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for len in [64, 256, 290, 4096] {
        let data = bytes(len);
        let (ours, peer) = by_turns(
            || icrc(Coverage::IbaLocal, black_box(&data)),
            || crc32fast::hash(black_box(&data)),
        );
        let case = format!("icrc-{len}");
        rows.push(Row::times("crc", case, "crc32fast", "ns", &ours, &peer));
    }
    for len in [64, 256, 290, 4096] {
        let data = bytes(len);
        let (ours, peer) = by_turns(
            || vcrc(black_box(&data)),
            || SLICE16.checksum(black_box(&data)),
        );
        let case = format!("vcrc-{len}");
        rows.push(Row::times("crc", case, "crc (slice16)", "ns", &ours, &peer));
    }
    rows
}

/// Bytes without a pattern.
pub(crate) fn bytes(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect()
}
