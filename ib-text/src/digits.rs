//! Digits of numbers from tables and by arithmetic on the lanes of a register.

use std::ops::Range;

/// The longest run of groups that are zero; the first one of equal length.
pub(crate) fn longest_zeros(groups: &[[u8; 2]]) -> Range<usize> {
    let (mut longest, mut run) = (0..0, 0..0);
    for (index, group) in groups.iter().enumerate() {
        if *group != [0, 0] {
            run = index + 1..index + 1;
        } else {
            run.end = index + 1;
            if run.len() > longest.len() {
                longest = run.clone();
            }
        }
    }
    longest
}

/// Digits of 0..=999 without leading zeros, and how many there are.
pub(crate) static SMALL: [[u8; 4]; 1000] = digits(false);

/// Digits of 0..=999 with leading zeros.
pub(crate) static PADDED: [[u8; 4]; 1000] = digits(true);

#[allow(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an index past the end is an error"
)]
const fn digits(padded: bool) -> [[u8; 4]; 1000] {
    let mut table = [[0; 4]; 1000];
    let mut value = 0;
    while value < 1000 {
        let (a, b, c) = (
            b'0' + (value / 100) as u8,
            b'0' + (value / 10 % 10) as u8,
            b'0' + (value % 10) as u8,
        );
        table[value] = match value {
            0..10 if !padded => [c, 0, 0, 1],
            10..100 if !padded => [b, c, 0, 2],
            _ => [a, b, c, 3],
        };
        value += 1;
    }
    table
}

/// Two digits a byte; nothing where the room is not just what they fill.
#[inline]
pub(crate) fn hex_digits(to: &mut [u8], bytes: &[u8]) {
    let _ = const_hex::encode_to_slice(bytes, to);
}

/// The sixteen digits of a number.
#[inline]
pub(crate) fn sixteen_digits(value: u64) -> [u8; 16] {
    let [high, low] = [value >> 32, value & 0xffff_ffff].map(eight_digits);
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

/// The digits of 32 bits, as the lanes of a 64-bit number.
#[inline(always)]
pub(crate) fn eight_digits(value: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let halves = (value << 16 | value) & 0x0000_ffff_0000_ffff;
    let bytes = (halves << 8 | halves) & 0x00ff_00ff_00ff_00ff;
    let nibbles = (bytes << 4 | bytes) & (15 * ONES);
    // 1 in the lanes of those above 9: adding 6 carries into their fifth bit.
    let letters = (nibbles + 6 * ONES) >> 4 & ONES;
    nibbles + u64::from(b'0') * ONES + letters * u64::from(b'a' - b'0' - 10)
}

/// Returns true if a byte of text needs no escape in a JSON string.
pub(crate) fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}
