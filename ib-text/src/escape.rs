//! Bytes of text inside a JSON string, from a table.

use crate::digits::{Digits, hexadecimal};

/// Size of an entry: up to six bytes of text, and the length in the last one.
const ENTRY: usize = 8;

/// The text of each byte that is a character or part of none, its length in the highest byte.
static ESCAPED: [u64; 256] = escaped();

#[allow(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an index past the end is an error"
)]
const fn escaped() -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = u64::from_le_bytes(escape(byte as u8));
        byte += 1;
    }
    table
}

const fn escape(byte: u8) -> [u8; ENTRY] {
    let letter = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        0..0x20 => {
            let [high, low] = hexadecimal(byte);
            return [b'\\', b'u', b'0', b'0', high, low, 0, 6];
        }
        0x20..0x80 => return [byte, 0, 0, 0, 0, 0, 0, 1],
        _ => {
            let [high, low] = hexadecimal(byte);
            return [b'\\', b'\\', b'x', high, low, 0, 0, 5];
        }
    };
    [b'\\', letter, 0, 0, 0, 0, 0, 2]
}

/// Returns true if a byte of text needs no escape in a JSON string.
#[inline(always)]
pub(crate) fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

/// Returns true if a byte begins a character of several bytes, by its value and by the byte after it.
#[inline(always)]
pub(crate) fn may_begin_character(byte: u8, after: &[u8]) -> bool {
    matches!(byte, 0xc2..0xf5) && matches!(after, [0x80..0xc0, ..])
}

/// The text of a byte that is a character or part of none.
#[inline(always)]
pub(crate) fn of_byte(byte: u8) -> Digits<ENTRY> {
    let entry = ESCAPED.get(usize::from(byte)).copied().unwrap_or_default();
    Digits {
        bytes: entry.to_le_bytes(),
        len: (entry >> 56) as usize % ENTRY,
    }
}
