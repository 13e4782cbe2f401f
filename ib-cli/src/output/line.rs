//! A line of output under construction: bytes, numbers and hexadecimal text, as fast as memory.
//!
//! `ib decode` prints millions of short fields. Constant text is copied in blocks of a fixed size,
//! which needs no call, and numbers come out of tables.

use std::{
    fmt::{self, Write},
    ops::Range,
};

use ib_wire::Gid;

/// Bytes copied at once for constant text.
const BLOCK: usize = 32;

/// Text of constant length that is copied in blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    first: [u8; BLOCK],
    /// Length of the first block's text.
    len: u8,
    /// What does not fit the first block.
    rest: Option<Box<str>>,
}

impl Constant {
    /// The text `text`.
    pub fn new(text: &str) -> Self {
        let mut first = [0; BLOCK];
        for (to, byte) in first.iter_mut().zip(text.bytes()) {
            *to = byte;
        }
        let rest = text.get(BLOCK..).filter(|rest| !rest.is_empty());
        Self {
            first,
            len: text.len().min(BLOCK) as u8,
            rest: rest.map(Into::into),
        }
    }

    /// Room that writing it may touch.
    pub fn touched(&self) -> usize {
        BLOCK + self.rest.as_deref().map_or(0, str::len)
    }
}

/// The line: what has been written, and room behind it.
#[derive(Debug, Default)]
pub struct Line {
    bytes: Vec<u8>,
    len: usize,
}

impl Line {
    /// What has been written since [`clear`](Self::clear).
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// How much has been written.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Forgets what has been written.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends again what stands at `range` of what has been written.
    #[inline]
    pub fn repeat(&mut self, range: Range<usize>) {
        if range.end > self.len || range.start > range.end {
            return;
        }
        let (at, len) = (self.len, range.len());
        self.slice(len);
        self.bytes.copy_within(range, at);
    }

    /// Room for `len` bytes behind what is written, to be filled from its start; the caller says with
    /// [`advance`](Self::advance) how much of it was.
    #[inline]
    pub fn room(&mut self, len: usize) -> Pen<'_> {
        if self.bytes.len() < self.len + len {
            self.grow(len);
        }
        Pen {
            room: self.bytes.get_mut(self.len..).unwrap_or_default(),
            len: 0,
        }
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
        let mut pen = self.room(text.touched());
        pen.constant(text);
        let len = pen.len();
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
        self.text(&[byte]);
    }

    /// Appends a decimal number.
    pub fn decimal(&mut self, value: u64) {
        let mut pen = self.room(Pen::DECIMAL);
        pen.decimal(value);
        let len = pen.len();
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
        let mut pen = self.room(6 * text.len());
        pen.json_text(text);
        let len = pen.len();
        self.advance(len);
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text.as_bytes());
        Ok(())
    }
}

/// Writes into room that was made before: what does not fit is lost, so the room must do.
///
/// It keeps its place in a register where a [`Line`] would keep it in memory: nothing that is called out
/// of line is given the pen itself, but one of its own, [`aside`](Self::aside).
#[derive(Debug)]
pub struct Pen<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl Pen<'_> {
    /// Room that a decimal number may touch.
    pub const DECIMAL: usize = 28;

    /// How much has been written.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Writes `N` bytes, of which `len` count.
    #[inline(always)]
    fn block<const N: usize>(&mut self, block: &[u8; N], len: usize) {
        let room = self.room.get_mut(self.len..);
        if let Some(room) = room.and_then(|room| room.first_chunk_mut()) {
            *room = *block;
        }
        self.len += len;
    }

    /// Writes constant text.
    #[inline(always)]
    pub fn constant(&mut self, text: &Constant) {
        self.block(&text.first, text.len.into());
        if let Some(rest) = &text.rest {
            self.aside(|pen| pen.rest(rest));
        }
    }

    /// Goes on where `write` stops.
    #[inline(always)]
    pub fn aside(&mut self, write: impl FnOnce(&mut Pen<'_>)) {
        let mut pen = Pen {
            room: self.room.get_mut(self.len..).unwrap_or_default(),
            len: 0,
        };
        write(&mut pen);
        self.len += pen.len;
    }

    #[inline(never)]
    fn rest(&mut self, rest: &str) {
        self.text(rest.as_bytes());
    }

    /// Writes a decimal number of 32 bits.
    #[inline(always)]
    pub fn decimal32(&mut self, value: u32) {
        if value < 1000 {
            return self.small(value as usize);
        }
        let (high, low) = (value / 1000, value % 1000);
        if high < 1000 {
            self.small(high as usize);
        } else {
            self.aside(|pen| pen.millions(high));
        }
        self.three_digits(low as usize);
    }

    /// Writes the thousands of a number from a million on.
    #[inline(never)]
    fn millions(&mut self, thousands: u32) {
        let (high, low) = (thousands / 1000, thousands % 1000);
        if high < 1000 {
            self.small(high as usize);
        } else {
            self.small((high / 1000) as usize);
            self.three_digits((high % 1000) as usize);
        }
        self.three_digits(low as usize);
    }

    /// Writes a decimal number.
    pub fn decimal(&mut self, value: u64) {
        if value < 1000 {
            self.small(value as usize);
        } else if value < 1_000_000 {
            self.small((value / 1000) as usize);
            self.three_digits((value % 1000) as usize);
        } else {
            self.large(value);
        }
    }

    /// Writes a number below 1000. The fourth byte of its entry, the length, is overwritten next.
    #[inline(always)]
    fn small(&mut self, value: usize) {
        let entry = SMALL.get(value).copied().unwrap_or_default();
        self.block(&entry, u32::from_le_bytes(entry) as usize >> 24);
    }

    /// Writes a number below 1000 with leading zeros.
    #[inline(always)]
    fn three_digits(&mut self, value: usize) {
        let entry = PADDED.get(value).copied().unwrap_or_default();
        self.block(&entry, 3);
    }

    #[inline(never)]
    fn large(&mut self, value: u64) {
        let (high, low) = (value / 1_000_000, value % 1_000_000);
        if high < 1000 {
            self.small(high as usize);
        } else {
            let (top, middle) = (high / 1_000_000, high % 1_000_000);
            if top > 0 {
                self.large_top(top);
                self.three_digits((middle / 1000) as usize);
            } else {
                self.small((middle / 1000) as usize);
            }
            self.three_digits((middle % 1000) as usize);
        }
        self.three_digits((low / 1000) as usize);
        self.three_digits((low % 1000) as usize);
    }

    /// The digits before the last twelve, of numbers above 10^12.
    fn large_top(&mut self, top: u64) {
        let (millions, thousands, ones) = (top / 1_000_000, top / 1000 % 1000, top % 1000);
        if millions > 0 {
            self.small(millions as usize);
            self.three_digits(thousands as usize);
            self.three_digits(ones as usize);
        } else if thousands > 0 {
            self.small(thousands as usize);
            self.three_digits(ones as usize);
        } else {
            self.small(ones as usize);
        }
    }

    /// Writes text.
    pub fn text(&mut self, text: &[u8]) {
        let room = self.room.get_mut(self.len..);
        if let Some(room) = room.and_then(|room| room.get_mut(..text.len())) {
            room.copy_from_slice(text);
        }
        self.len += text.len();
    }

    /// Writes what `value` displays.
    pub fn display(&mut self, value: impl fmt::Display) {
        // Writing to memory cannot fail.
        let _ = write!(self, "{value}");
    }

    /// Writes a GID as the standard library writes an IPv6 address: 39 characters at most.
    pub fn gid(&mut self, gid: Gid) {
        let (groups, _) = gid.0.as_chunks::<2>();
        let mut zeros = longest_zeros(groups);
        if matches!(gid.0, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ..]) {
            // An IPv4 address behind a prefix of its own has dots in it.
            return self.display(gid);
        }
        if zeros.len() < 2 {
            zeros = usize::MAX..usize::MAX;
        }
        for (index, &group) in groups.iter().enumerate() {
            if index == zeros.start {
                self.text(b"::");
            } else if !zeros.contains(&index) {
                if index > 0 && index != zeros.end {
                    self.text(b":");
                }
                self.short_hex(u16::from_be_bytes(group));
            }
        }
    }

    /// Writes hexadecimal digits without leading zeros.
    fn short_hex(&mut self, value: u16) {
        let [_, _, _, _, a, b, c, d] = eight_digits(value.into()).to_be_bytes();
        match value {
            0x1000.. => self.block(&[a, b, c, d], 4),
            0x100.. => self.block(&[b, c, d], 3),
            0x10.. => self.block(&[c, d], 2),
            _ => self.block(&[d], 1),
        }
    }

    /// Writes bytes of text as the inside of a JSON string, those that are no UTF-8 as `\xff`.
    pub fn json_bytes(&mut self, bytes: &[u8]) {
        if bytes.iter().all(|&byte| is_plain(byte) && byte < 0x80) {
            return self.text(bytes);
        }
        for chunk in bytes.utf8_chunks() {
            self.json_text(chunk.valid());
            for &byte in chunk.invalid() {
                self.text(b"\\\\x");
                self.hex(byte.into(), 2);
            }
        }
    }

    /// Writes text as the inside of a JSON string: up to six bytes for one.
    pub fn json_text(&mut self, text: &str) {
        if text.bytes().all(is_plain) {
            return self.text(text.as_bytes());
        }
        // Writing to memory cannot fail.
        let quoted = serde_json::to_string(text).unwrap_or_default();
        let inside = quoted.get(1..quoted.len() - 1).unwrap_or_default();
        self.text(inside.as_bytes());
    }

    /// Writes the low `digits` hexadecimal digits of `value`: 16 at most.
    #[inline]
    pub fn hex(&mut self, value: u64, digits: usize) {
        let all = sixteen_digits(value);
        let few = all.len().saturating_sub(digits);
        self.text(all.get(few..).unwrap_or_default());
    }

    /// Writes the eight bytes of a number in hexadecimal.
    #[inline(always)]
    pub fn hex64(&mut self, value: u64) {
        self.block(&sixteen_digits(value), 16);
    }

    /// Writes bytes in hexadecimal.
    #[inline]
    pub fn hex_bytes(&mut self, bytes: &[u8]) {
        let len = bytes.len() * 2;
        let room = self.room.get_mut(self.len..);
        let room = room.and_then(|room| room.get_mut(..len));
        hex_digits(room.unwrap_or_default(), bytes);
        self.len += len;
    }
}

impl Write for Pen<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text.as_bytes());
        Ok(())
    }
}

/// Whether a byte of text stands in a JSON string as it is.
fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

/// The longest run of groups that are zero; the first one of equal length.
fn longest_zeros(groups: &[[u8; 2]]) -> Range<usize> {
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
static SMALL: [[u8; 4]; 1000] = digits(false);

/// Digits of 0..=999 with leading zeros.
static PADDED: [[u8; 4]; 1000] = digits(true);

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
fn hex_digits(to: &mut [u8], bytes: &[u8]) {
    let _ = const_hex::encode_to_slice(bytes, to);
}

/// The sixteen digits of a number.
#[inline]
fn sixteen_digits(value: u64) -> [u8; 16] {
    let [high, low] = [value >> 32, value & 0xffff_ffff].map(eight_digits);
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

/// The digits of 32 bits, as the lanes of a 64-bit number.
#[inline(always)]
fn eight_digits(value: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let halves = (value << 16 | value) & 0x0000_ffff_0000_ffff;
    let bytes = (halves << 8 | halves) & 0x00ff_00ff_00ff_00ff;
    let nibbles = (bytes << 4 | bytes) & (15 * ONES);
    // 1 in the lanes of those above 9: adding 6 carries into their fifth bit.
    let letters = (nibbles + 6 * ONES) >> 4 & ONES;
    nibbles + u64::from(b'0') * ONES + letters * u64::from(b'a' - b'0' - 10)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    fn hex(line: &mut Line, value: u64, digits: usize) {
        let mut pen = line.room(16);
        pen.hex(value, digits);
        let len = pen.len();
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
                    let mut pen = line.room(40);
                    pen.gid(Gid(address.octets()));
                    let len = pen.len();
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
            let constant = Constant::new(&text);
            let write = |line: &mut Line| {
                let mut pen = line.room(constant.touched());
                pen.constant(&constant);
                let len = pen.len();
                line.advance(len);
            };
            assert_eq!(written(write), format!("|{text}|"));
        }
    }

    #[test]
    fn json_text_reads_back() {
        let text = "a\"b\\c\n\r\t\u{1}\u{1f}é\u{fffd}😀";
        let json = format!(
            "\"{}\"",
            written(|line| line.json_text(text)).trim_matches('|')
        );
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
