//! Bytes as rows of hexadecimal digits and of text.

use super::Terminal;
use crate::{Line, digits::two_digits};

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
    let (rows, rest) = bytes.as_chunks();
    for (index, bytes) in rows.iter().enumerate() {
        row(line, index * ROW, bytes, ROW);
    }
    if !rest.is_empty() {
        let mut filled_up = [0; ROW];
        for (to, byte) in filled_up.iter_mut().zip(rest) {
            *to = *byte;
        }
        row(line, rows.len() * ROW, &filled_up, rest.len());
    }
}

/// Columns of a byte: a blank and two digits.
const BYTE: usize = 3;
/// Bytes of a group: the groups are one blank further apart than the bytes.
const GROUP: usize = ROW / 2;
/// Room that a row may touch: the offset between blanks, the groups, the text and the end of the line.
const ROW_TEXT: usize = 2 + 16 + 2 * (1 + BYTE * GROUP) + 2 + ROW + 1;

/// Appends a row with the first `len` of the bytes.
#[inline(always)]
fn row(line: &mut Line, offset: usize, bytes: &[u8; ROW], len: usize) {
    let mut cursor = line.room(ROW_TEXT);
    cursor.block(b"  ", 2);
    match u16::try_from(offset) {
        Ok(offset) => {
            let [high, low] = offset.to_be_bytes().map(two_digits);
            cursor.block(&[high[0], high[1], low[0], low[1]], 4);
        }
        Err(_) => cursor.aside(|cursor| cursor.display(format_args!("{offset:x}"))),
    }
    for (group, bytes) in bytes.as_chunks().0.iter().enumerate() {
        let bytes: &[u8; GROUP] = bytes;
        let columns: [[u8; BYTE]; GROUP] = std::array::from_fn(|index| match bytes.get(index) {
            Some(&byte) if group * GROUP + index < len => {
                let [high, low] = two_digits(byte);
                [b' ', high, low]
            }
            _ => [b' '; BYTE],
        });
        cursor.block(b" ", 1);
        cursor.text(columns.as_flattened());
    }
    cursor.block(b"  ", 2);
    cursor.block(&bytes.map(printable), len);
    cursor.block(b"\n", 1);
    let len = cursor.len();
    line.advance(len);
}

/// The byte as it is printed as text.
fn printable(byte: u8) -> u8 {
    match byte {
        0x20..=0x7e => byte,
        _ => b'.',
    }
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
