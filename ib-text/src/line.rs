//! Output under construction: bytes, numbers and hexadecimal text, as fast as memory.
//!
//! Tools print millions of short fields. Constant text is copied in blocks of a fixed size, which needs no call, and
//! numbers come out of tables.

use std::{
    fmt::{self, Write},
    ops::Range,
};

use crate::{Constant, Cursor, digits::hex_digits};

/// The line: the bytes written so far, and room after them.
#[derive(Debug, Default)]
pub struct Line {
    bytes: Vec<u8>,
    len: usize,
}

impl Line {
    /// The bytes written since [`clear`](Self::clear).
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// The number of bytes that have been written.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets what has been written.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Forgets what has been written after the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends the bytes at `range` of the line once more.
    #[inline]
    pub fn repeat(&mut self, range: Range<usize>) {
        if range.end > self.len || range.start > range.end {
            return;
        }
        let (at, len) = (self.len, range.len());
        self.slice(len);
        self.bytes.copy_within(range, at);
    }

    /// Room for `len` bytes after what is written, to be filled from its start; the caller reports with
    /// [`advance`](Self::advance) how much of it was used.
    #[inline]
    pub fn room(&mut self, len: usize) -> Cursor<'_> {
        if self.bytes.len() < self.len + len {
            self.grow(len);
        }
        Cursor::new(self.bytes.get_mut(self.len..).unwrap_or_default())
    }

    /// `len` bytes of the room are written.
    #[inline]
    pub fn advance(&mut self, len: usize) {
        self.len += len;
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let len = (self.bytes.len() + more).next_power_of_two().max(4096);
        self.bytes.resize(len, 0);
    }

    /// Appends text.
    #[inline]
    pub fn text(&mut self, text: &[u8]) {
        self.slice(text.len()).copy_from_slice(text);
    }

    /// Appends constant text.
    #[inline]
    pub fn constant(&mut self, text: &Constant) {
        let mut cursor = self.room(Cursor::STEP);
        cursor.constant(text);
        let len = cursor.len();
        self.advance(len);
    }

    /// Appends `len` bytes for the caller to write.
    #[inline]
    fn slice(&mut self, len: usize) -> &mut [u8] {
        if self.bytes.len() < self.len + len {
            self.grow(len);
        }
        let start = self.len;
        self.len += len;
        self.bytes.get_mut(start..self.len).unwrap_or_default()
    }

    /// Appends one byte.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.literal(&[byte]);
    }

    /// Appends text of a length that the compiler knows.
    #[inline]
    pub fn literal<const N: usize>(&mut self, text: &[u8; N]) {
        let room = self.bytes.get_mut(self.len..);
        match room.and_then(<[u8]>::first_chunk_mut) {
            Some(room) => {
                *room = *text;
                self.len += N;
            }
            None => self.text_without_room(text),
        }
    }

    #[cold]
    fn text_without_room(&mut self, text: &[u8]) {
        self.text(text);
    }

    /// Appends a decimal number.
    pub fn decimal(&mut self, value: u64) {
        let mut cursor = self.room(Cursor::DECIMAL);
        cursor.decimal(value);
        let len = cursor.len();
        self.advance(len);
    }

    /// Appends bytes in hexadecimal.
    pub fn hex_bytes(&mut self, bytes: &[u8]) {
        hex_digits(self.slice(bytes.len() * 2), bytes);
    }

    /// Appends what `value` displays.
    pub fn display(&mut self, value: impl fmt::Display) {
        // Writing to memory cannot fail.
        let _ = write!(self, "{value}");
    }

    /// Appends text as the inside of a JSON string.
    pub fn json_text(&mut self, text: &str) {
        let mut cursor = self.room(6 * text.len() + Cursor::STEP);
        cursor.json_text(text);
        let len = cursor.len();
        self.advance(len);
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use ib_wire::Gid;

    use super::*;

    fn hex(line: &mut Line, value: u64, digits: usize) {
        let mut cursor = line.room(16);
        cursor.hex(value, digits);
        let len = cursor.len();
        line.advance(len);
    }

    fn written(write: impl Fn(&mut Line)) -> String {
        let mut line = Line::default();
        line.text(b"|");
        write(&mut line);
        line.byte(b'|');
        String::from_utf8(line.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn numbers_print_as_the_standard_library_prints_them() {
        let edges =
            (0..2100).chain((0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, u64::MAX >> bit]));
        for value in edges.chain([999_999, 1_000_000, 1_000_007, 10_000_000_000]) {
            assert_eq!(written(|line| line.decimal(value)), format!("|{value}|"));
            assert_eq!(
                written(|line| hex(line, value, 16)),
                format!("|{value:016x}|")
            );
        }
        assert_eq!(written(|line| hex(line, 0x1_2345, 4)), "|2345|");
    }

    #[test]
    fn bytes_print_as_two_digits_each_at_any_length() {
        let bytes: Vec<u8> = (0..=255).chain(0..=255).collect();
        for len in [0, 1, 15, 16, 17, 31, 33, 300] {
            let expected: String = bytes[..len]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(
                written(|line| line.hex_bytes(&bytes[..len])),
                format!("|{expected}|")
            );
        }
    }

    #[test]
    fn gids_print_as_the_standard_library_prints_addresses() {
        // Every pattern of groups that are zero, and every number of digits in the others.
        for zeros in 0..=255u16 {
            for value in [1, 0x12, 0x123, 0x1234, 0xffff] {
                let group = |index: u16| if zeros >> index & 1 == 1 { 0 } else { value };
                let address = Ipv6Addr::from(std::array::from_fn::<u16, 8, _>(|i| group(i as u16)));
                let print = |line: &mut Line| {
                    let mut cursor = line.room(40);
                    cursor.gid(Gid(address.octets()));
                    let len = cursor.len();
                    line.advance(len);
                };
                assert_eq!(written(print), format!("|{address}|"));
            }
        }
    }

    #[test]
    fn constant_text_of_any_length_is_written_whole() {
        for len in [0, 1, 31, 32, 33, 64, 100] {
            let text: String = ('a'..='z').cycle().take(len).collect();
            let write =
                |line: &mut Line| Constant::blocks(&text).for_each(|block| line.constant(&block));
            assert_eq!(written(write), format!("|{text}|"));
        }
    }

    #[test]
    fn json_text_is_what_the_library_serializes() {
        let ascii: String = (0..128u8).map(char::from).collect();
        for text in ["", "\"", "a\"b", "é\u{fffd}😀\n", &ascii] {
            let json = written(|line| line.json_text(text));
            let json = format!("\"{}\"", json.trim_matches('|'));
            assert_eq!(json, serde_json::to_string(text).unwrap());
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped_one_by_one() {
        let expected = |bytes: &[u8]| -> String {
            let chunks = bytes.utf8_chunks().map(|chunk| {
                let text = serde_json::to_string(chunk.valid()).unwrap();
                let text = text[1..text.len() - 1].to_owned();
                let bytes = chunk.invalid().iter();
                text + &bytes
                    .map(|byte| format!("\\\\x{byte:02x}"))
                    .collect::<String>()
            });
            chunks.collect()
        };
        // Every pair of bytes, alone and inside what may be longer characters.
        for first in 0..=255 {
            for second in 0..=255 {
                for bytes in [
                    &[first, second][..],
                    &[b'a', first, second, 0x80, b'b'],
                    &[0xf0, first, second, 0xbf, 0x80],
                    &[0xe2, first, second],
                ] {
                    let print = |line: &mut Line| {
                        let mut cursor = line.room(6 * bytes.len() + Cursor::STEP);
                        cursor.json_bytes(bytes);
                        let len = cursor.len();
                        line.advance(len);
                    };
                    assert_eq!(written(print), format!("|{}|", expected(bytes)));
                }
            }
        }
    }
}
