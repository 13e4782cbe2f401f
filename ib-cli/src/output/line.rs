//! A line of output under construction: bytes, numbers and hexadecimal text, as fast as memory.
//!
//! `ib decode` prints millions of short fields. Constant text is copied in blocks of a fixed size,
//! which needs no call, and numbers come out of tables.

/// Bytes copied at once for constant text.
const BLOCK: usize = 32;

/// Text of constant length that is copied in blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    first: [u8; BLOCK],
    /// Length of the whole text.
    len: usize,
    /// What does not fit the first block.
    rest: Box<[u8]>,
}

impl Constant {
    /// The text `text`.
    pub fn new(text: &str) -> Self {
        let mut first = [0; BLOCK];
        let mut bytes = text.bytes();
        for (to, byte) in first.iter_mut().zip(bytes.by_ref()) {
            *to = byte;
        }
        // `zip` takes a byte more than it uses when the block is full: count instead.
        let rest = text.as_bytes().get(BLOCK..).unwrap_or_default().into();
        Self {
            first,
            len: text.len(),
            rest,
        }
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

    /// Forgets what has been written.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// `N` bytes of room behind what is written.
    #[inline(always)]
    fn room<const N: usize>(&mut self) -> &mut [u8; N] {
        if self.bytes.len() < self.len + N {
            self.grow(N);
        }
        match self
            .bytes
            .get_mut(self.len..)
            .and_then(|rest| rest.first_chunk_mut())
        {
            Some(room) => room,
            // `grow` leaves more room than was asked for.
            None => unreachable!("a line has room after it has grown"),
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let len = (self.bytes.len() + more).next_power_of_two().max(4096);
        self.bytes.resize(len, 0);
    }

    /// Appends constant text.
    #[inline(always)]
    pub fn constant(&mut self, text: &Constant) {
        *self.room() = text.first;
        if text.rest.is_empty() {
            self.len += text.len;
        } else {
            self.len += BLOCK;
            self.text(&text.rest);
        }
    }

    /// Appends text.
    #[inline]
    pub fn text(&mut self, text: &[u8]) {
        self.slice(text.len()).copy_from_slice(text);
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
        *self.room() = [byte];
        self.len += 1;
    }

    /// Appends a decimal number.
    #[inline(always)]
    pub fn decimal(&mut self, value: u64) {
        if value < 1000 {
            self.small(value as usize);
        } else {
            self.large(value);
        }
    }

    /// Appends a number below 1000.
    #[inline(always)]
    fn small(&mut self, value: usize) {
        let entry = SMALL.get(value).copied().unwrap_or_default();
        let [digits @ .., len] = entry;
        let [a, b, c] = digits;
        *self.room() = [a, b, c, 0];
        self.len += usize::from(len);
    }

    fn large(&mut self, mut value: u64) {
        let mut groups = [0u16; 7];
        let mut count = 0;
        for group in &mut groups {
            *group = (value % 1000) as u16;
            value /= 1000;
            count += 1;
            if value == 0 {
                break;
            }
        }
        let mut groups = groups.iter().take(count).rev();
        if let Some(&first) = groups.next() {
            self.small(first.into());
        }
        for &group in groups {
            let digits = [group / 100, group / 10 % 10, group % 10];
            *self.room() = digits.map(|digit| b'0' + digit as u8);
            self.len += 3;
        }
    }

    /// Appends the low `digits` hexadecimal digits of `value`: 16 at most.
    #[inline]
    pub fn hex(&mut self, value: u64, digits: usize) {
        let mut all = [0; 16];
        hex_digits(&mut all, &value.to_be_bytes());
        self.text(
            all.get(16usize.saturating_sub(digits)..)
                .unwrap_or_default(),
        );
    }

    /// Appends bytes in hexadecimal.
    pub fn hex_bytes(&mut self, bytes: &[u8]) {
        hex_digits(self.slice(bytes.len() * 2), bytes);
    }

    /// Appends what `value` displays.
    pub fn display(&mut self, value: impl std::fmt::Display) {
        use std::fmt::Write as _;
        // Writing to memory cannot fail.
        let _ = write!(Sink(self), "{value}");
    }

    /// Appends text as the inside of a JSON string.
    pub fn json_text(&mut self, text: &str) {
        let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
        if text.bytes().all(plain) {
            return self.text(text.as_bytes());
        }
        // Writing to memory cannot fail.
        let quoted = serde_json::to_string(text).unwrap_or_default();
        let inside = quoted.get(1..quoted.len() - 1).unwrap_or_default();
        self.text(inside.as_bytes());
    }
}

struct Sink<'a>(&'a mut Line);

impl std::fmt::Write for Sink<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.text(text.as_bytes());
        Ok(())
    }
}

/// Digits of 0..=999 without leading zeros, and how many there are.
static SMALL: [[u8; 4]; 1000] = {
    let mut table = [[0; 4]; 1000];
    let mut value = 0;
    while value < 1000 {
        let (a, b, c) = (
            b'0' + (value / 100) as u8,
            b'0' + (value / 10 % 10) as u8,
            b'0' + (value % 10) as u8,
        );
        table[value] = match value {
            0..10 => [c, 0, 0, 1],
            10..100 => [b, c, 0, 2],
            _ => [a, b, c, 3],
        };
        value += 1;
    }
    table
};

/// Two digits a byte, for as many bytes as `to` has room for.
#[inline]
fn hex_digits(to: &mut [u8], bytes: &[u8]) {
    // Blocks of a fixed size become vector instructions.
    const WIDE: usize = 16;
    let (blocks, rest) = bytes.as_chunks::<WIDE>();
    let (to_blocks, to_rest) = to.split_at_mut((blocks.len() * WIDE * 2).min(to.len()));
    for (to, block) in to_blocks
        .as_chunks_mut::<{ WIDE * 2 }>()
        .0
        .iter_mut()
        .zip(blocks)
    {
        for (to, &byte) in to.as_chunks_mut::<2>().0.iter_mut().zip(block) {
            *to = [hex_digit(byte >> 4), hex_digit(byte & 15)];
        }
    }
    for (to, &byte) in to_rest.as_chunks_mut::<2>().0.iter_mut().zip(rest) {
        *to = [hex_digit(byte >> 4), hex_digit(byte & 15)];
    }
}

#[inline(always)]
fn hex_digit(nibble: u8) -> u8 {
    let letter = b'a' - b'0' - 10;
    b'0' + nibble + if nibble > 9 { letter } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                written(|line| line.hex(value, 16)),
                format!("|{value:016x}|")
            );
        }
        assert_eq!(written(|line| line.hex(0x1_2345, 4)), "|2345|");
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
    fn constant_text_of_any_length_is_written_whole() {
        for len in [0, 1, 31, 32, 33, 64, 100] {
            let text: String = ('a'..='z').cycle().take(len).collect();
            let constant = Constant::new(&text);
            assert_eq!(
                written(|line| line.constant(&constant)),
                format!("|{text}|")
            );
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
