//! Notations of values for a person: numbers, addresses, routes, bytes and text.

use ib_wire::{
    Gid,
    table::{Field, FieldKind, load_bits},
};

use crate::{Constant, Cursor, Line, escape::is_plain};

/// Fields whose numbers are written in hexadecimal: keys and masks.
const HEXADECIMAL: [&str; 8] = [
    "p_key",
    "p_key_block",
    "port_mask_block",
    "q_key",
    "r_key",
    "capability_mask",
    "capability_mask2",
    "ether_type",
];

/// Returns true if the numbers of a field are written in hexadecimal, each of so many bits.
pub(super) fn is_hexadecimal(name: &str, bits: usize) -> bool {
    bits > 32 || HEXADECIMAL.contains(&name)
}

/// The notation of a value that is no number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Gid,
    /// An address of IPv4 or Ethernet; bytes, if the length is another.
    Address,
    /// The ports of a directed route.
    Route,
    Bytes,
    Text,
    Array {
        element_bits: usize,
        element: FieldKind,
        /// True if elements that are numbers are written in hexadecimal.
        is_hexadecimal: bool,
    },
}

impl Form {
    /// The notation of a field.
    pub(super) fn of(field: &Field) -> Self {
        match (field.kind, field.name) {
            (FieldKind::Gid, _) => Self::Gid,
            (FieldKind::Bytes, "src" | "dst") => Self::Address,
            (FieldKind::Bytes, "initial_path" | "return_path") => Self::Route,
            // Numbers have their own notation, and structures have been taken apart.
            (FieldKind::Bytes | FieldKind::Uint | FieldKind::Struct(_), _) => Self::Bytes,
            (FieldKind::Text, _) => Self::Text,
            (
                FieldKind::Array {
                    element_bits,
                    element,
                },
                name,
            ) => Self::Array {
                element_bits,
                element: *element,
                is_hexadecimal: is_hexadecimal(name, element_bits),
            },
        }
    }

    /// Appends the value of a field, which has these bytes.
    pub(super) fn print(self, line: &mut Line, bytes: &[u8]) {
        match self {
            Self::Gid => gid(line, bytes),
            Self::Address => address(line, bytes),
            Self::Route => directed_route(line, bytes),
            Self::Bytes => octets(line, bytes),
            Self::Text => text(line, bytes),
            Self::Array {
                element_bits,
                element,
                is_hexadecimal,
            } => array(line, bytes, element_bits, element, is_hexadecimal),
        }
    }
}

/// Appends the elements of an array, which begins and ends with a byte.
fn array(
    line: &mut Line,
    bytes: &[u8],
    element_bits: usize,
    element: FieldKind,
    is_hexadecimal: bool,
) {
    for index in 0..(8 * bytes.len()).checked_div(element_bits).unwrap_or(0) {
        if index > 0 {
            line.byte(b' ');
        }
        let from = index * element_bits;
        let number = || load_bits(bytes, from, element_bits).unwrap_or(0);
        let octets = || {
            let octets = bytes.get(from / 8..from / 8 + element_bits / 8);
            octets.unwrap_or_default()
        };
        match element {
            FieldKind::Uint if is_hexadecimal => hexadecimal(line, number(), element_bits),
            FieldKind::Uint => line.decimal(number()),
            FieldKind::Gid => gid(line, octets()),
            FieldKind::Text => text(line, octets()),
            _ => line.hex_bytes(octets()),
        }
    }
}

/// Appends as many digits as the bits have.
fn hexadecimal(line: &mut Line, value: u64, bits: usize) {
    let mut cursor = line.room(2 + 16);
    cursor.text(b"0x");
    cursor.hex(value, bits.div_ceil(4));
    let len = cursor.len();
    line.advance(len);
}

fn gid(line: &mut Line, bytes: &[u8]) {
    if let Some(bytes) = bytes.first_chunk() {
        let mut cursor = line.room(40);
        cursor.gid(Gid(*bytes));
        let len = cursor.len();
        line.advance(len);
    }
}

/// Zero bytes that are written out; more are counted.
const LONGEST_ZEROS: usize = 8;

fn octets(line: &mut Line, bytes: &[u8]) {
    if bytes.len() > LONGEST_ZEROS && bytes.iter().all(|&byte| byte == 0) {
        line.decimal(bytes.len() as u64);
        line.text(b" zero bytes");
    } else {
        line.hex_bytes(bytes);
    }
}

/// Appends an address as it is usually written.
fn address(line: &mut Line, bytes: &[u8]) {
    match bytes.len() {
        4 => decimals(line, bytes, b'.'),
        6 => {
            for (index, byte) in bytes.iter().enumerate() {
                if index > 0 {
                    line.byte(b':');
                }
                line.hex_bytes(&[*byte]);
            }
        }
        _ => octets(line, bytes),
    }
}

/// Appends the ports of a directed route as far as they are not zero, as `0,1,4`.
fn directed_route(line: &mut Line, bytes: &[u8]) {
    let len = bytes.iter().rposition(|&byte| byte != 0).unwrap_or(0) + 1;
    decimals(line, bytes.get(..len).unwrap_or(bytes), b',');
}

fn decimals(line: &mut Line, bytes: &[u8], separator: u8) {
    let Some((&last, before)) = bytes.split_last() else {
        return;
    };
    // Three digits and a separator each.
    let mut cursor = line.room(4 * before.len() + Cursor::STEP);
    cursor.list(before, separator);
    cursor.small(&Constant::EMPTY, last);
    let len = cursor.len();
    line.advance(len);
}

/// Appends text up to the first NUL as a string of Rust.
fn text(line: &mut Line, bytes: &[u8]) {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    line.byte(b'"');
    for chunk in text.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find(|character| !is_printed(character)) {
            let (before, from) = rest.split_at(at);
            line.text(before.as_bytes());
            let mut characters = from.chars();
            if let Some(character) = characters.next() {
                line.display(character.escape_debug());
            }
            rest = characters.as_str();
        }
        line.text(rest.as_bytes());
        if !chunk.invalid().is_empty() {
            line.text("\u{fffd}".as_bytes());
        }
    }
    line.byte(b'"');
}

/// Returns true for characters of ASCII that are printed as they are. `escape_debug` looks the others up.
fn is_printed(character: char) -> bool {
    let byte = u8::try_from(character).unwrap_or(0);
    is_plain(byte) && byte < 0x7f
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_begin_and_end_with_a_byte() {
        for layout in crate::dissect::layouts() {
            for field in layout.fields {
                let is_aligned = field.bit_offset % 8 == 0 && field.bits % 8 == 0;
                let is_array = matches!(field.kind, FieldKind::Array { .. });
                assert!(!is_array || is_aligned, "{}.{}", layout.name, field.name);
            }
        }
    }

    #[test]
    fn text_is_printed_as_the_standard_library_prints_a_string() {
        let ascii: Vec<u8> = (1..=255).collect();
        let texts = [
            b"switch 'a'".as_slice(),
            b"",
            "\"q\" é\u{301}\u{200b}\u{fffd}😀\\".as_bytes(),
            b"\xe2\x82 cut \xf0\x9f\x98",
            &ascii,
        ];
        for bytes in texts {
            let mut line = Line::default();
            text(&mut line, bytes);
            let expected = format!("{:?}", String::from_utf8_lossy(bytes));
            assert_eq!(String::from_utf8_lossy(line.as_bytes()), expected);
        }
    }
}
