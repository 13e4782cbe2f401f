//! Writes numbers, addresses and text into room that was made before.

use std::fmt::{self, Write};

use ib_wire::Gid;

use crate::{
    Constant,
    digits::{PADDED, SMALL, eight_digits, hex_digits, is_plain, longest_zeros, sixteen_digits},
};

/// Writes into room that was made before: what does not fit is lost, so the room must do.
///
/// It keeps its place in a register where a `Line` would keep it in memory: nothing that is called out
/// of line is given the cursor itself, but one of its own, [`aside`](Self::aside).
#[derive(Debug)]
pub struct Cursor<'a> {
    room: &'a mut [u8],
    len: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `room`. Text that does not fit is lost.
    #[inline(always)]
    pub fn new(room: &'a mut [u8]) -> Self {
        Self { room, len: 0 }
    }

    /// Returns true if nothing has been written.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Room that a decimal number may touch.
    pub const DECIMAL: usize = 28;

    /// The number of bytes that have been written.
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
            self.aside(|cursor| cursor.rest(rest));
        }
    }

    /// Goes on where `write` stops.
    #[inline(always)]
    pub fn aside(&mut self, write: impl FnOnce(&mut Cursor<'_>)) {
        let mut cursor = Cursor {
            room: self.room.get_mut(self.len..).unwrap_or_default(),
            len: 0,
        };
        write(&mut cursor);
        self.len += cursor.len;
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
            self.aside(|cursor| cursor.millions(high));
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
            // An IPv4 address after a prefix of its own has dots in it.
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

impl Write for Cursor<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text.as_bytes());
        Ok(())
    }
}
