//! One packet as text: its headers, payload and CRCs, and what is wrong with it.

use ib_wire::{CrcCheck, Packet, Qpn, Start, Transport};

use super::{
    Decoder,
    mad::print_structures,
    parts::{JSON_CRC, Separator, json_crc, json_error, plain_bytes, plain_crc, plain_faults},
};
use ib_text::{
    Context, FieldPrinter, Line, ReadablePrinter, Style, Terminal,
    dissect::{self, MAD_LEN},
    dump,
};

/// Decodes packets.
pub struct PacketDecoder {
    style: Style,
    json: FieldPrinter,
    text: ReadablePrinter,
}

impl PacketDecoder {
    /// A decoder that prints in `style`.
    pub fn new(style: Style, terminal: Terminal) -> Self {
        Self {
            style,
            json: FieldPrinter::new(Style::Json),
            text: ReadablePrinter::new(terminal),
        }
    }

    /// The headers of the packet, then those of the datagram in it, as JSON.
    fn json_headers(&mut self, packet: &Packet<&[u8]>, line: &mut Line) {
        let mut separator = Separator::new();
        for header in packet.headers() {
            separator.print(line);
            self.json
                .header(line, header.layout, header.offset, header.bytes);
        }
        let Some(datagram) = carried_mad(packet) else {
            return;
        };
        let at = packet.payload_offset();
        for (layout, offset) in dissect::headers(datagram) {
            if let Some(bytes) = datagram.get(offset..offset + layout.len) {
                separator.print(line);
                self.json.header(line, layout, at + offset, bytes);
            }
        }
    }

    /// The headers of the packet, then the datagram in it or its payload, for a person.
    fn text(&mut self, packet: &Packet<&[u8]>, line: &mut Line) {
        for header in packet.headers() {
            let bytes = packet.bytes().get(header.offset..).unwrap_or_default();
            self.text
                .structure(line, header.layout, bytes, Context::default());
        }
        match carried_mad(packet) {
            Some(datagram) => {
                print_structures(&mut self.text, line, datagram, dissect::headers(datagram));
            }
            None => dump(self.text.terminal(), line, "payload", packet.payload()),
        }
    }
}

/// The datagram in a packet to a management queue pair, of the length that all have.
pub fn carried_mad<'a>(packet: &'a Packet<&[u8]>) -> Option<&'a [u8]> {
    let bth = packet.bth()?;
    let payload = packet.payload();
    let is_mad = bth.op_code().transport() == Transport::UD
        && matches!(bth.dest_qp(), Qpn::SMI | Qpn::GSI)
        && payload.len() == MAD_LEN;
    is_mad.then_some(payload)
}

impl Decoder for PacketDecoder {
    fn begin(&mut self) {
        self.json.forget();
        self.text.forget();
    }

    fn decode(&mut self, start: Start, case: &[u8], line: &mut Line) -> bool {
        let packet = Packet::parse_as(start, case);
        let tail = Tail::new(&packet);
        match self.style {
            Style::Json => {
                let error = packet.error_with(tail.icrc, tail.vcrc);
                line.literal(b"{\"headers\":[");
                self.json_headers(&packet, line);
                tail.json(packet.payload(), line);
                line.literal(b",\"error\":");
                json_error(line, error.as_ref());
                line.literal(b"}\n");
                error.is_none()
            }
            Style::Plain => {
                let faults = packet.validate_with(tail.icrc, tail.vcrc);
                self.text(&packet, line);
                plain_bytes(line, "pad       ", tail.pad);
                plain_crc(line, "icrc      ", tail.icrc.as_ref());
                plain_crc(line, "vcrc      ", tail.vcrc.as_ref());
                plain_bytes(line, "trailer   ", tail.trailer);
                plain_faults(line, &faults);
                line.byte(b'\n');
                faults.error().is_none()
            }
        }
    }
}

/// Everything after the payload, down to the last byte: `encode --raw` puts it back.
struct Tail<'a> {
    pad: &'a [u8],
    icrc: Option<CrcCheck<4>>,
    vcrc: Option<CrcCheck<2>>,
    trailer: &'a [u8],
}

impl<'a> Tail<'a> {
    fn new(packet: &'a Packet<&[u8]>) -> Self {
        let (icrc, vcrc) = (packet.icrc(), packet.vcrc());
        let bytes = packet.bytes();
        let payload_end = packet.payload_offset() + packet.payload().len();
        let crcs = icrc.map_or(0, |crc| crc.found.len()) + vcrc.map_or(0, |crc| crc.found.len());
        // Without a CRC the end of the pad is unknown: the rest is printed as bytes.
        let pad_end = match crcs {
            0 => payload_end + packet.pad().len(),
            crcs => bytes.len() - packet.trailer().len() - crcs,
        };
        Self {
            pad: bytes.get(payload_end..pad_end).unwrap_or_default(),
            icrc,
            vcrc,
            trailer: bytes.get(pad_end + crcs..).unwrap_or_default(),
        }
    }

    /// The payload, and what comes after it, as JSON.
    fn json(&self, payload: &[u8], line: &mut Line) {
        /// Room for the names.
        const NAMES: usize = 64;
        let bytes = payload.len() + self.pad.len() + self.trailer.len();
        let mut cursor = line.room(NAMES + 2 * bytes + 2 * JSON_CRC);
        cursor.literal(b"],\"payload\":\"");
        cursor.hex_bytes(payload);
        if !self.pad.is_empty() {
            cursor.literal(b"\",\"pad\":\"");
            cursor.hex_bytes(self.pad);
        }
        if !self.trailer.is_empty() {
            cursor.literal(b"\",\"trailer\":\"");
            cursor.hex_bytes(self.trailer);
        }
        cursor.literal(b"\",\"icrc\":");
        json_crc(&mut cursor, self.icrc.as_ref());
        cursor.literal(b",\"vcrc\":");
        json_crc(&mut cursor, self.vcrc.as_ref());
        let len = cursor.len();
        line.advance(len);
    }
}
