//! The text before, between and after the headers of a packet in the output.

use ib_wire::{CrcCheck, Fault, Faults};

use ib_text::{Cursor, Line};

/// The commas between the headers of a JSON document.
pub struct Separator {
    first: bool,
}

impl Separator {
    /// The separator before the first header, which has none.
    pub fn new() -> Self {
        Self { first: true }
    }

    /// Separates the next header from the one before.
    pub fn print(&mut self, line: &mut Line) {
        if !self.first {
            line.byte(b',');
        }
        self.first = false;
    }
}

/// Room for the text of a CRC of up to four bytes.
pub const JSON_CRC: usize = 64;

/// Writes a CRC, or null.
pub fn json_crc<const N: usize>(cursor: &mut Cursor<'_>, crc: Option<&CrcCheck<N>>) {
    let Some(crc) = crc else {
        return cursor.literal(b"null");
    };
    cursor.literal(b"{\"found\":\"0x");
    cursor.hex_array(&crc.found);
    cursor.literal(b"\",\"computed\":\"0x");
    cursor.hex_array(&crc.computed);
    if crc.is_ok() {
        cursor.literal(b"\",\"ok\":true}");
    } else {
        cursor.literal(b"\",\"ok\":false}");
    }
}

/// Appends what is wrong, or null.
pub fn json_error(line: &mut Line, fault: Option<&Fault>) {
    let Some(fault) = fault else {
        return line.text(b"null");
    };
    line.text(b"{\"kind\":\"");
    line.text(fault.kind.word().as_bytes());
    line.text(b"\",\"offset\":");
    line.decimal(fault.at.offset as u64);
    line.text(b",\"message\":\"");
    line.json_text(&fault.to_string());
    line.text(b"\"}");
}

/// Appends a line of bytes, if there are any; `name` is filled to the width of the headers' names.
pub fn plain_bytes(line: &mut Line, name: &str, bytes: &[u8]) {
    if !bytes.is_empty() {
        line.text(name.as_bytes());
        line.decimal(bytes.len() as u64);
        line.text(b" bytes: ");
        line.hex_bytes(bytes);
        line.byte(b'\n');
    }
}

/// Appends a line of a CRC, if there is one.
pub fn plain_crc<const N: usize>(line: &mut Line, name: &str, crc: Option<&CrcCheck<N>>) {
    let Some(crc) = crc else { return };
    line.text(name.as_bytes());
    line.text(b"0x");
    line.hex_bytes(&crc.found);
    if crc.is_ok() {
        line.text(b" ok\n");
    } else {
        line.text(b" wrong, expected 0x");
        line.hex_bytes(&crc.computed);
        line.byte(b'\n');
    }
}

/// Appends a line for each thing that is wrong.
pub fn plain_faults(line: &mut Line, faults: &Faults) {
    for fault in faults.iter() {
        let word = if fault.kind.is_note() {
            "note"
        } else {
            "error"
        };
        line.display(format_args!("{word:<9} {}: {fault}\n", fault.kind));
    }
}
