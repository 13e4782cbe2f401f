//! Bytes as rows of hexadecimal digits and of text.

use super::Terminal;
use crate::{Line, digits::hex_digits};

/// Bytes in a row of a dump.
const ROW: usize = 16;

/// Appends a dump of bytes under a name, if there are any: offset, 16 bytes in hexadecimal, and as text.
pub fn dump(terminal: Terminal, line: &mut Line, name: &str, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    terminal.name(line, name);
    line.byte(b' ');
    line.decimal(bytes.len() as u64);
    line.text(b" bytes\n");
    for (row, bytes) in bytes.chunks(ROW).enumerate() {
        let offset = row * ROW;
        line.text(b"  ");
        match u16::try_from(offset) {
            Ok(offset) => line.hex_bytes(&offset.to_be_bytes()),
            Err(_) => line.display(format_args!("{offset:x}")),
        }
        let mut text = [b' '; ROW_TEXT];
        let len = row_text(&mut text, bytes);
        line.text(text.get(..len).unwrap_or_default());
    }
}

/// Columns of a byte: a blank and two digits.
const BYTE: usize = 3;
/// Columns before the text: every second group of eight bytes is one further to the right.
const BEFORE_TEXT: usize = 1 + BYTE * ROW + 1 + 2;
const ROW_TEXT: usize = BEFORE_TEXT + ROW + 1;

/// Writes what follows the offset of a row into blanks; returns its length.
fn row_text(to: &mut [u8; ROW_TEXT], bytes: &[u8]) -> usize {
    let mut digits = [0; 2 * ROW];
    let digits = digits.get_mut(..2 * bytes.len()).unwrap_or_default();
    hex_digits(digits, bytes);
    let (hex, text) = to.split_at_mut(BEFORE_TEXT);
    let (left, right) = hex.split_at_mut(1 + BYTE * ROW / 2);
    let halves = [left, right].map(|half| half.get_mut(1..).unwrap_or_default());
    let columns = halves
        .into_iter()
        .flat_map(|half| half.as_chunks_mut::<BYTE>().0);
    for ([_, high, low], digits) in columns.zip(digits.as_chunks::<2>().0) {
        [*high, *low] = *digits;
    }
    for (to, &byte) in text.iter_mut().zip(bytes) {
        *to = if matches!(byte, 0x20..=0x7e) {
            byte
        } else {
            b'.'
        };
    }
    if let Some(end) = text.get_mut(bytes.len()) {
        *end = b'\n';
    }
    BEFORE_TEXT + bytes.len() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_shows_every_byte_twice() {
        let mut line = Line::default();
        dump(
            Terminal::PLAIN,
            &mut line,
            "payload",
            b"\x00InfiniBand over RoCE\xff",
        );
        assert_eq!(
            String::from_utf8_lossy(line.as_bytes()),
            "payload   22 bytes\n  \
             0000  00 49 6e 66 69 6e 69 42  61 6e 64 20 6f 76 65 72  .InfiniBand over\n  \
             0010  20 52 6f 43 45 ff                                  RoCE.\n"
        );
    }

    #[test]
    fn a_row_of_any_length_and_offset_is_as_wide_as_the_others() {
        let bytes: Vec<u8> = (0..=255).cycle().take(0x1_0000 + 40).collect();
        let mut line = Line::default();
        dump(Terminal::PLAIN, &mut line, "payload", &bytes);
        let text = String::from_utf8(line.as_bytes().to_vec()).unwrap();
        for (row, bytes) in bytes.chunks(16).enumerate() {
            let hex = bytes.iter().enumerate().map(|(index, byte)| {
                let gap = if index == 8 { " " } else { "" };
                format!("{gap} {byte:02x}")
            });
            let ascii = |&byte: &u8| match byte {
                0x20..=0x7e => char::from(byte),
                _ => '.',
            };
            let expected = format!(
                "  {:04x} {:<49}  {}",
                row * 16,
                hex.collect::<String>(),
                bytes.iter().map(ascii).collect::<String>()
            );
            assert_eq!(text.lines().nth(row + 1), Some(expected.as_str()));
        }
    }
}
