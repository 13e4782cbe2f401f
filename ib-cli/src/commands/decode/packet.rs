//! One packet as text: its headers, payload and CRCs, and what is wrong with it.

use ib_wire::{CrcCheck, Fault, Packet, Qpn, Start, Transport};

use super::Decoder;
use crate::{
    dissect::{self, MAD_LEN},
    output::{
        fields::{FieldPrinter, Style},
        line::Line,
    },
};

/// Decodes packets.
pub struct PacketDecoder {
    style: Style,
    printer: FieldPrinter,
}

impl PacketDecoder {
    /// A decoder that prints in `style`.
    pub fn new(style: Style) -> Self {
        Self {
            style,
            printer: FieldPrinter::new(style),
        }
    }

    /// The headers of the packet, then those of the datagram in it.
    fn headers(&mut self, packet: &Packet<&[u8]>, line: &mut Line) {
        let mut separator = Separator::new(self.style);
        for header in packet.headers() {
            separator.print(line);
            let bytes = packet.bytes().get(header.offset..);
            self.printer.header(
                line,
                header.layout,
                header.offset,
                bytes.unwrap_or_default(),
            );
        }
        if !carries_mad(packet) {
            return;
        }
        let (at, datagram) = (packet.payload_offset(), packet.payload());
        for (layout, offset) in dissect::headers(datagram) {
            if let Some(bytes) = datagram.get(offset..offset + layout.len) {
                separator.print(line);
                self.printer.header(line, layout, at + offset, bytes);
            }
        }
    }
}

/// A datagram to a management queue pair, of the length that all have.
fn carries_mad(packet: &Packet<&[u8]>) -> bool {
    let Some(bth) = packet.bth() else {
        return false;
    };
    bth.op_code().transport() == Transport::UD
        && matches!(bth.dest_qp(), Qpn::SMI | Qpn::GSI)
        && packet.payload().len() == MAD_LEN
}

impl Decoder for PacketDecoder {
    fn decode(&mut self, start: Start, case: &[u8], line: &mut Line) -> bool {
        let packet = Packet::parse_as(start, case);
        let faults = packet.validate();
        let error = faults.error();
        let tail = Tail::new(&packet);
        match self.style {
            Style::Json => {
                line.text(b"{\"headers\":[");
                self.headers(&packet, line);
                line.text(b"],\"payload\":\"");
                line.hex_bytes(packet.payload());
                line.byte(b'"');
                for (name, bytes) in [("pad", tail.pad), ("trailer", tail.trailer)] {
                    if !bytes.is_empty() {
                        line.text(b",\"");
                        line.text(name.as_bytes());
                        line.text(b"\":\"");
                        line.hex_bytes(bytes);
                        line.byte(b'"');
                    }
                }
                line.text(b",\"icrc\":");
                json_crc(line, tail.icrc.as_ref());
                line.text(b",\"vcrc\":");
                json_crc(line, tail.vcrc.as_ref());
                line.text(b",\"error\":");
                json_error(line, error);
                line.text(b"}\n");
            }
            Style::Plain => {
                self.headers(&packet, line);
                plain_bytes(line, "payload", packet.payload());
                plain_bytes(line, "pad", tail.pad);
                plain_crc(line, "icrc", tail.icrc.as_ref());
                plain_crc(line, "vcrc", tail.vcrc.as_ref());
                plain_bytes(line, "trailer", tail.trailer);
                for fault in faults.iter() {
                    let word = if fault.kind.is_note() {
                        "note"
                    } else {
                        "error"
                    };
                    line.display(format_args!("{word:<8} {}: {fault}\n", fault.kind));
                }
                line.byte(b'\n');
            }
        }
        error.is_none()
    }
}

/// What stands between the headers' texts.
pub struct Separator {
    style: Style,
    first: bool,
}

impl Separator {
    /// The separator of `style`.
    pub fn new(style: Style) -> Self {
        Self { style, first: true }
    }

    /// Separates the next header from the one before.
    pub fn print(&mut self, line: &mut Line) {
        if self.style == Style::Json && !self.first {
            line.byte(b',');
        }
        self.first = false;
    }
}

/// Everything behind the payload, down to the last byte: `encode --raw` puts it back.
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
        // Without a CRC nothing says where the pad ends: the rest belongs to nobody.
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
}

fn json_crc<const N: usize>(line: &mut Line, crc: Option<&CrcCheck<N>>) {
    let Some(crc) = crc else {
        return line.text(b"null");
    };
    line.text(b"{\"found\":\"0x");
    line.hex_bytes(&crc.found);
    line.text(b"\",\"computed\":\"0x");
    line.hex_bytes(&crc.computed);
    line.text(b"\",\"ok\":");
    line.display(crc.is_ok());
    line.byte(b'}');
}

fn json_error(line: &mut Line, fault: Option<&Fault>) {
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

fn plain_bytes(line: &mut Line, name: &str, bytes: &[u8]) {
    if !bytes.is_empty() {
        line.display(format_args!("{name:<8} {} bytes: ", bytes.len()));
        line.hex_bytes(bytes);
        line.byte(b'\n');
    }
}

fn plain_crc<const N: usize>(line: &mut Line, name: &str, crc: Option<&CrcCheck<N>>) {
    let Some(crc) = crc else { return };
    line.display(format_args!("{name:<8} 0x"));
    line.hex_bytes(&crc.found);
    if crc.is_ok() {
        line.text(b" ok\n");
    } else {
        line.text(b" wrong, expected 0x");
        line.hex_bytes(&crc.computed);
        line.byte(b'\n');
    }
}
