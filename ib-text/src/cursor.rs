//! Writes numbers, addresses and text into room that was made before.

use std::fmt::{self, Write};

use ib_wire::Gid;

use crate::{
    Constant,
    constant::{BLOCK, Label},
    digits::{
        self, DIGITS, Digits, SMALL_BITS, hex_digits, longest_zeros, sixteen_digits, two_digits,
    },
    escape,
};

/// A block of constant text and the digits after it.
const STEP: usize = BLOCK + DIGITS;

/// Writes into room that was made before: what does not fit is lost with all that follows, so the room must do.
///
/// It keeps its place in a register where a `Line` would keep it in memory: nothing that is called out
/// of line is given the cursor itself, but one of its own, [`aside`](Self::aside).
#[derive(Debug)]
pub struct Cursor<'a> {
    /// The room that is left.
    room: &'a mut [u8],
    /// Length of all room.
    all: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `room`. Text that does not fit is lost.
    #[inline(always)]
    pub fn new(room: &'a mut [u8]) -> Self {
        Self {
            all: room.len(),
            room,
        }
    }

    /// Returns true if nothing has been written.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Room that a decimal number may touch.
    pub const DECIMAL: usize = 24;

    /// Room that constant text and digits after it may touch.
    pub const STEP: usize = STEP;

    /// The number of bytes that have been written.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.all.saturating_sub(self.room.len())
    }

    /// `len` bytes of the room are written.
    #[inline(always)]
    fn advance(&mut self, len: usize) {
        let room = std::mem::take(&mut self.room);
        self.room = room.get_mut(len..).unwrap_or_default();
    }

    /// Writes `N` bytes, of which `len` count.
    #[inline(always)]
    pub(crate) fn block<const N: usize>(&mut self, block: &[u8; N], len: usize) {
        let Some(room) = self.room.first_chunk_mut() else {
            return self.advance(usize::MAX);
        };
        *room = *block;
        self.advance(len.min(N));
    }

    /// Writes digits.
    #[inline(always)]
    fn digits<const N: usize>(&mut self, digits: Digits<N>) {
        self.block(&digits.bytes, digits.len);
    }

    /// Writes constant text.
    #[inline(always)]
    pub fn constant(&mut self, text: &Constant) {
        self.label(text);
    }

    /// Writes the text before a value.
    #[inline(always)]
    pub(crate) fn label(&mut self, text: &impl Label) {
        let Some(room) = self.room.first_chunk_mut() else {
            return self.advance(usize::MAX);
        };
        text.write(room);
        self.advance(text.len());
    }

    /// Writes constant text and the digits after it that `write` writes: that there is room is checked once.
    #[inline(always)]
    pub(crate) fn labelled(
        &mut self,
        text: &impl Label,
        write: impl FnOnce(&mut [u8; DIGITS]) -> usize,
    ) {
        let Some(room) = self.room.first_chunk_mut::<STEP>() else {
            return self.advance(usize::MAX);
        };
        if let Some(room) = room.first_chunk_mut() {
            text.write(room);
        }
        let room = room.get_mut(text.len()..);
        let room = room.and_then(|room| room.first_chunk_mut());
        let digits = room.map_or(0, write).min(DIGITS);
        self.advance(text.len() + digits);
    }

    /// Writes constant text and a decimal number after it.
    #[inline(always)]
    pub(crate) fn small(&mut self, before: &impl Label, value: u8) {
        self.labelled(before, |room| digits::small(value.into()).write(room));
    }

    /// Writes constant text and a decimal number after it.
    #[inline(always)]
    pub(crate) fn short(&mut self, before: &impl Label, value: u16) {
        self.labelled(before, |room| digits::short(room, value));
    }

    /// Writes constant text and a decimal number after it.
    #[inline(always)]
    pub(crate) fn long<L: Label>(&mut self, before: &L, value: u32) {
        let decimal = match L::IS_CODE {
            true => digits::decimal_apart,
            false => digits::decimal,
        };
        self.labelled(before, |room| decimal(room, value));
    }

    /// Writes constant text and the hexadecimal digits of eight bytes after it.
    #[inline(always)]
    pub(crate) fn octets(&mut self, before: &impl Label, bytes: &[u8; 8]) {
        self.labelled(before, |room| sixteen_digits(room, bytes));
    }

    /// Writes decimal numbers of eight bits, each with `separator` after it.
    #[inline(always)]
    pub(crate) fn list(&mut self, numbers: &[u8], separator: u8) {
        for &number in numbers {
            let digits = digits::small(number.into());
            let Some(room) = self.room.first_chunk_mut() else {
                return self.advance(usize::MAX);
            };
            *room = digits.bytes;
            if let Some(after) = room.get_mut(digits.len) {
                *after = separator;
            }
            self.advance(digits.len + 1);
        }
    }

    /// Goes on where `write`, which returns how many bytes it has written, stops.
    #[inline(always)]
    pub(crate) fn apart(&mut self, write: impl FnOnce(&mut [u8]) -> usize) {
        let len = write(self.room);
        self.advance(len);
    }

    /// Goes on where `write` stops.
    #[inline(always)]
    pub fn aside(&mut self, write: impl FnOnce(&mut Cursor<'_>)) {
        let mut cursor = Cursor::new(self.room);
        write(&mut cursor);
        let len = cursor.len();
        self.advance(len);
    }

    /// Writes a decimal number of 32 bits.
    #[inline(always)]
    pub fn decimal32(&mut self, value: u32) {
        let mut all = [0; DIGITS];
        let len = digits::decimal(&mut all, value);
        self.block(&all, len);
    }

    /// Writes a decimal number: 20 digits at most.
    pub fn decimal(&mut self, value: u64) {
        const EIGHT: u64 = 100_000_000;
        if value < 1 << SMALL_BITS {
            self.digits(digits::small(value as u32));
        } else if let Ok(value) = u32::try_from(value) {
            self.decimal32(value);
        } else {
            self.decimal(value / EIGHT);
            self.block(&digits::padded((value % EIGHT) as u32), 8);
        }
    }

    /// Writes text of a length that the compiler knows.
    #[inline(always)]
    pub fn literal<const N: usize>(&mut self, text: &[u8; N]) {
        self.block(text, N);
    }

    /// Writes text.
    pub fn text(&mut self, text: &[u8]) {
        if let Some(room) = self.room.get_mut(..text.len()) {
            room.copy_from_slice(text);
        }
        self.advance(text.len());
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
        let [high, low] = value.to_be_bytes();
        let ([a, b], [c, d]) = (two_digits(high), two_digits(low));
        match value {
            0x1000.. => self.block(&[a, b, c, d], 4),
            0x100.. => self.block(&[b, c, d], 3),
            0x10.. => self.block(&[c, d], 2),
            _ => self.block(&[d], 1),
        }
    }

    /// Writes bytes of text as the inside of a JSON string, those that are no UTF-8 as `\xff`: up to six bytes for one.
    pub fn json_bytes(&mut self, bytes: &[u8]) {
        if bytes
            .iter()
            .all(|&byte| byte.is_ascii() && escape::is_plain(byte))
        {
            return self.text(bytes);
        }
        self.aside(|cursor| {
            let mut rest = bytes;
            while let Some((&byte, after)) = rest.split_first() {
                if escape::may_begin_character(byte, after) {
                    cursor.aside(|cursor| rest = cursor.json_character(rest));
                } else {
                    cursor.digits(escape::of_byte(byte));
                    rest = after;
                }
            }
        });
    }

    /// Writes the first character of `bytes`, which takes several; or the bytes that look like the start of one.
    /// Returns the bytes after it.
    fn json_character<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        /// Most bytes of a character.
        const LONGEST: usize = 4;
        let first = bytes.get(..LONGEST).unwrap_or(bytes);
        let Some(chunk) = first.utf8_chunks().next() else {
            return &[];
        };
        let len = match chunk.valid().chars().next() {
            Some(character) => {
                let len = character.len_utf8();
                self.text(bytes.get(..len).unwrap_or_default());
                len
            }
            None => {
                let invalid = chunk.invalid();
                for &byte in invalid {
                    self.digits(escape::of_byte(byte));
                }
                invalid.len()
            }
        };
        bytes.get(len..).unwrap_or_default()
    }

    /// Writes text as the inside of a JSON string: up to six bytes for one.
    pub fn json_text(&mut self, text: &str) {
        self.json_bytes(text.as_bytes());
    }

    /// Writes the low `digits` hexadecimal digits of `value`: 16 at most.
    #[inline]
    pub fn hex(&mut self, value: u64, digits: usize) {
        let mut all = [0; DIGITS];
        sixteen_digits(&mut all, &value.to_be_bytes());
        let few = all.len().saturating_sub(digits);
        self.text(all.get(few..).unwrap_or_default());
    }

    /// Writes a few bytes in hexadecimal.
    #[inline(always)]
    pub fn hex_array<const N: usize>(&mut self, bytes: &[u8; N]) {
        for &byte in bytes {
            self.literal(&two_digits(byte));
        }
    }

    /// Writes bytes in hexadecimal.
    #[inline(always)]
    pub fn hex_bytes(&mut self, bytes: &[u8]) {
        let len = bytes.len() * 2;
        hex_digits(self.room.get_mut(..len).unwrap_or_default(), bytes);
        self.advance(len);
    }
}

impl Write for Cursor<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text.as_bytes());
        Ok(())
    }
}
