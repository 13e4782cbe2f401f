//! Digits of numbers from tables and by arithmetic on the lanes of a register.
//!
//! Numbers of a capture have any length, which a processor cannot predict. So no branch depends on how many digits
//! a number has: all of them are computed, and the number of those that count is returned beside them.

use std::ops::Range;

/// The digits of a number: the first `len` bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digits<const N: usize> {
    pub(crate) bytes: [u8; N],
    pub(crate) len: usize,
}

/// Most digits of a number that is written at once.
pub(crate) const DIGITS: usize = 16;

impl<const N: usize> Digits<N> {
    /// Writes the digits; returns how many there are.
    #[inline(always)]
    pub(crate) fn write(self, room: &mut [u8; DIGITS]) -> usize {
        if let Some(room) = room.first_chunk_mut() {
            *room = self.bytes;
        }
        self.len
    }
}

/// A byte in each lane of a register.
const ONES: u64 = u64::MAX / 255;
/// The digit 0 in each lane.
const ZEROS: u64 = ONES * b'0' as u64;
/// The least number with nine digits.
const NINE_DIGITS: u32 = 100_000_000;

/// The digits of small numbers, as [`few_digits`] gives them.
static SMALL: [[u8; 4]; 1 << SMALL_BITS] = small_digits();

#[allow(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an index past the end is an error"
)]
const fn small_digits() -> [[u8; 4]; 1 << SMALL_BITS] {
    let mut table = [[0; 4]; 1 << SMALL_BITS];
    let mut value = 0;
    while value < table.len() {
        table[value] = few_digits(value);
        value += 1;
    }
    table
}

/// The digits of a number below 1000, and how many they are in the top two bits of the last byte.
const fn few_digits(value: usize) -> [u8; 4] {
    let (a, b, c) = (
        b'0' + (value / 100) as u8,
        b'0' + (value / 10 % 10) as u8,
        b'0' + (value % 10) as u8,
    );
    match value {
        0..10 => [c, 0, 0, 1 << 6],
        10..100 => [b, c, 0, 2 << 6],
        _ => [a, b, c, 3 << 6],
    }
}

/// Bits of the numbers that [`small`] takes.
pub(crate) const SMALL_BITS: usize = 9;

/// The decimal digits of the low nine bits of a number. The last byte is of no matter.
#[inline(always)]
pub(crate) fn small(value: u32) -> Digits<4> {
    let index = value as usize % (1 << SMALL_BITS);
    let bytes = SMALL.get(index).copied().unwrap_or_default();
    Digits {
        bytes,
        len: (u32::from_le_bytes(bytes) >> 30) as usize,
    }
}

/// The digits of the hundreds of numbers of 16 bits, as [`few_digits`] gives them; none of zero.
static HUNDREDS: [[u8; 4]; 656] = hundreds();

#[allow(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an index past the end is an error"
)]
const fn hundreds() -> [[u8; 4]; 656] {
    let mut table = [[0; 4]; 656];
    let mut value = 1;
    while value < table.len() {
        table[value] = few_digits(value);
        value += 1;
    }
    table
}

/// The two digits of the numbers below 100, first with leading zeros and then without.
static LAST_TWO: [[u8; 2]; 200] = last_two_digits();

#[allow(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an index past the end is an error"
)]
const fn last_two_digits() -> [[u8; 2]; 200] {
    let mut table = [[0; 2]; 200];
    let mut value = 0;
    while value < 100 {
        let (tens, ones) = (b'0' + (value / 10) as u8, b'0' + (value % 10) as u8);
        table[value] = [tens, ones];
        table[100 + value] = if value < 10 { [ones, 0] } else { [tens, ones] };
        value += 1;
    }
    table
}

/// Writes the decimal digits of a number of 16 bits; returns how many there are.
#[inline(always)]
pub(crate) fn short(room: &mut [u8; DIGITS], value: u16) -> usize {
    let value = u32::from(value);
    let (hundreds, rest) = (value / 100, value % 100);
    let first = HUNDREDS.get(hundreds as usize).copied();
    let first = first.unwrap_or_default();
    let before = (u32::from_le_bytes(first) >> 30) as usize;
    // Without hundreds, there is no leading zero.
    let last = if value < 100 { 100 + value } else { rest };
    let last = LAST_TWO.get(last as usize).copied().unwrap_or_default();
    put(room, 0, first);
    put(room, before, last) - usize::from(value < 10)
}

/// Writes the decimal digits of a number of 32 bits; returns how many there are.
#[inline(always)]
pub(crate) fn decimal(room: &mut [u8; DIGITS], value: u32) -> usize {
    if value < NINE_DIGITS {
        let lanes = eight_decimals(value);
        // The lowest lane has the first digit. The highest one counts even if it is zero.
        let leading = (lanes | 1 << 63).trailing_zeros() / 8;
        let digits = (lanes + ZEROS) >> (8 * leading);
        return put(room, 0, digits.to_le_bytes()) - leading as usize;
    }
    let high = small(value / NINE_DIGITS);
    put(room, 0, high.bytes);
    put(room, high.len, padded(value % NINE_DIGITS))
}

/// As [`decimal`], not inlined.
#[inline(never)]
pub(crate) fn decimal_apart(room: &mut [u8; DIGITS], value: u32) -> usize {
    decimal(room, value)
}

/// Writes digits after the first `before`, of which there are at most three; returns where they end.
#[inline(always)]
fn put<const N: usize>(room: &mut [u8; DIGITS], before: usize, digits: [u8; N]) -> usize {
    let room = room.get_mut(before..).and_then(<[u8]>::first_chunk_mut);
    if let Some(room) = room {
        *room = digits;
    }
    before + N
}

/// The eight decimal digits of a number below 10^8, with leading zeros.
#[inline(always)]
pub(crate) fn padded(value: u32) -> [u8; 8] {
    (eight_decimals(value) + ZEROS).to_le_bytes()
}

/// The values of the eight decimal digits of a number below 10^8, the first one in the lowest lane.
#[inline(always)]
fn eight_decimals(value: u32) -> u64 {
    // Each step halves the lanes; the products by reciprocals are exact for lanes as small as these.
    let value = u64::from(value);
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | (fours - 100 * hundreds) << 16;
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (twos - 10 * tens) << 8
}

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

/// The two hexadecimal digits of each byte.
static HEXADECIMAL: [[u8; 2]; 256] = hexadecimal_digits();

#[allow(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an index past the end is an error"
)]
const fn hexadecimal_digits() -> [[u8; 2]; 256] {
    let mut table = [[0; 2]; 256];
    let mut value = 0;
    while value < 256 {
        table[value] = hexadecimal(value as u8);
        value += 1;
    }
    table
}

/// The two hexadecimal digits of a byte, for tables.
pub(crate) const fn hexadecimal(byte: u8) -> [u8; 2] {
    const fn digit(value: u8) -> u8 {
        match value {
            0..10 => b'0' + value,
            _ => b'a' - 10 + value,
        }
    }
    [digit(byte >> 4), digit(byte & 15)]
}

/// The two hexadecimal digits of a byte.
#[inline(always)]
pub(crate) fn two_digits(byte: u8) -> [u8; 2] {
    HEXADECIMAL
        .get(usize::from(byte))
        .copied()
        .unwrap_or_default()
}

/// Bytes from which on it pays to encode them with vectors.
const VECTOR: usize = 16;

/// Two digits a byte; nothing where the room is not just what they fill.
#[inline(never)]
pub(crate) fn hex_digits(to: &mut [u8], bytes: &[u8]) {
    if bytes.len() >= VECTOR {
        let _ = const_hex::encode_to_slice(bytes, to);
    } else if to.len() == 2 * bytes.len() {
        for (to, &byte) in to.as_chunks_mut().0.iter_mut().zip(bytes) {
            *to = two_digits(byte);
        }
    }
}

/// Writes the sixteen hexadecimal digits of eight bytes; returns how many there are.
#[inline(always)]
pub(crate) fn sixteen_digits(room: &mut [u8; DIGITS], bytes: &[u8; 8]) -> usize {
    // All bytes are read before the first digit is written: the compiler need not know that they are apart.
    let mut digits = [0; 8];
    for (digits, &byte) in digits.iter_mut().zip(bytes) {
        *digits = digits_by_arithmetic(byte);
    }
    let (pairs, _) = room.as_chunks_mut();
    for (pair, digits) in pairs.iter_mut().zip(digits) {
        *pair = digits.to_le_bytes();
    }
    DIGITS
}

/// The two hexadecimal digits of a byte, without a table: the compiler makes one sequence of vector instructions of
/// neighbours.
#[inline(always)]
fn digits_by_arithmetic(byte: u8) -> u16 {
    const LETTER: u16 = (b'a' - b'9' - 1) as u16;
    let byte = u16::from(byte);
    let nibbles = (byte >> 4 | byte << 8) & 0x0f0f;
    let letters = (nibbles + 0x0606) >> 4 & 0x0101;
    nibbles + 0x3030 + letters * LETTER
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<const N: usize>(digits: Digits<N>) -> String {
        String::from_utf8_lossy(&digits.bytes[..digits.len]).into_owned()
    }

    #[test]
    fn numbers_have_the_digits_that_the_standard_library_prints() {
        let powers = (0..10).map(|power| 10u32.pow(power));
        let edges = powers.flat_map(|power| [power - 1, power, power + 1]);
        // Every number of four digits in either half of eight, and the neighbours of every length.
        let halves = (0..10_000).flat_map(|four| [four, four * 10_000, 99_990_000 + four]);
        for value in edges.chain(halves).chain([u32::MAX]) {
            let mut room = [0; DIGITS];
            let len = decimal(&mut room, value);
            assert_eq!(&room[..len], value.to_string().as_bytes());
            let low = value % NINE_DIGITS;
            assert_eq!(padded(low), format!("{low:08}").as_bytes());
            if let Ok(value) = u16::try_from(value) {
                let len = short(&mut room, value);
                assert_eq!(&room[..len], value.to_string().as_bytes());
            }
            if value < 1 << SMALL_BITS {
                assert_eq!(text(small(value)), value.to_string());
            }
        }
    }
}
