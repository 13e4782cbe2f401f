//! One link packet as text: the credits of a virtual lane, which have no LRH and a CRC of their own.

use ib_wire::{FlowControlPacket, Start};

use super::{
    Decoder,
    parts::{JSON_CRC, json_crc, json_error, plain_bytes, plain_crc, plain_faults},
};
use ib_text::{Context, FieldPrinter, Line, ReadablePrinter, Style, Terminal, dump};

/// Decodes flow control packets.
pub struct LinkDecoder {
    style: Style,
    json: FieldPrinter,
    text: ReadablePrinter,
}

impl LinkDecoder {
    /// A decoder that prints in `style`.
    pub fn new(style: Style, terminal: Terminal) -> Self {
        Self {
            style,
            json: FieldPrinter::new(Style::Json),
            text: ReadablePrinter::new(terminal),
        }
    }
}

impl Decoder for LinkDecoder {
    fn begin(&mut self) {
        self.json.forget();
        self.text.forget();
    }

    fn decode(&mut self, _start: Start, case: &[u8], line: &mut Line) -> bool {
        // The bytes of a packet that was cut short are printed as a payload.
        let (packet, payload, trailer) = match FlowControlPacket::parse(case, 0) {
            Ok((packet, trailer)) => (Some(packet), &[][..], trailer),
            Err(_) => (None, case, &[][..]),
        };
        let lpcrc = packet.map(FlowControlPacket::crc_check);
        let faults = FlowControlPacket::validate_bytes(case);
        let error = faults.error();
        match self.style {
            Style::Json => {
                line.text(b"{\"headers\":[");
                if packet.is_some() {
                    self.json.header(line, FlowControlPacket::LAYOUT, 0, case);
                }
                line.text(b"],\"payload\":\"");
                line.hex_bytes(payload);
                line.byte(b'"');
                if !trailer.is_empty() {
                    line.text(b",\"trailer\":\"");
                    line.hex_bytes(trailer);
                    line.byte(b'"');
                }
                line.text(b",\"icrc\":null,\"vcrc\":null,\"lpcrc\":");
                let mut cursor = line.room(JSON_CRC);
                json_crc(&mut cursor, lpcrc.as_ref());
                let len = cursor.len();
                line.advance(len);
                line.text(b",\"error\":");
                json_error(line, error);
                line.text(b"}\n");
            }
            Style::Plain => {
                if packet.is_some() {
                    let layout = FlowControlPacket::LAYOUT;
                    self.text.structure(line, layout, case, Context::default());
                }
                dump(self.text.terminal(), line, "payload", payload);
                plain_crc(line, "lpcrc     ", lpcrc.as_ref());
                plain_bytes(line, "trailer   ", trailer);
                plain_faults(line, &faults);
                line.byte(b'\n');
            }
        }
        error.is_none()
    }
}
