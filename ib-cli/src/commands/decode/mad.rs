//! One management datagram as text: the format of its class, then the attribute.

use ib_mad::MadHeader;
use ib_wire::{Start, table::Layout};

use super::{Decoder, parts::Separator};
use ib_text::{
    Context, FieldPrinter, Line, ReadablePrinter, Style, Terminal,
    dissect::{MAD_LEN, filled_up, headers},
    dump,
};

/// Decodes management datagrams.
pub struct MadDecoder {
    style: Style,
    json: FieldPrinter,
    text: ReadablePrinter,
}

impl MadDecoder {
    /// A decoder that prints in `style`.
    pub fn new(style: Style, terminal: Terminal) -> Self {
        Self {
            style,
            json: FieldPrinter::new(Style::Json),
            text: ReadablePrinter::new(terminal),
        }
    }
}

/// Prints structures of a datagram for a person: the bytes of a data field in which another structure begins are
/// left out. Returns where the last one ends.
pub fn print_structures(
    printer: &mut ReadablePrinter,
    line: &mut Line,
    datagram: &[u8],
    structures: impl Iterator<Item = (&'static Layout, usize)>,
) -> usize {
    let header = MadHeader::parse(datagram, 0).ok();
    let class = header.map(|(header, _)| header.mgmt_class());
    let mut structures = structures.peekable();
    let mut end = 0;
    while let Some((layout, offset)) = structures.next() {
        let next = structures.peek().map(|(_, next)| *next);
        let context = Context {
            class,
            followed_at: next.and_then(|next| next.checked_sub(offset)),
        };
        if let Some(bytes) = datagram.get(offset..offset + layout.len) {
            printer.structure(line, layout, bytes, context);
            end = end.max(offset + layout.len);
        }
    }
    end
}

impl Decoder for MadDecoder {
    fn begin(&mut self) {
        self.json.forget();
        self.text.forget();
    }

    fn decode(&mut self, _start: Start, case: &[u8], line: &mut Line) -> bool {
        let filled = filled_up(case);
        let is_whole = filled.len() >= MAD_LEN;
        match self.style {
            Style::Json => self.json(case, &filled, line),
            Style::Plain => {
                let structures = cut_header(&filled).into_iter().chain(headers(case));
                let decoded = print_structures(&mut self.text, line, &filled, structures);
                let rest = case.get(decoded..).unwrap_or_default();
                dump(self.text.terminal(), line, "rest", rest);
                if !is_whole {
                    let (word, what) = ("error", short(case.len()));
                    line.display(format_args!("{word:<9} truncated: {what}\n"));
                }
                line.byte(b'\n');
            }
        }
        is_whole
    }
}

impl MadDecoder {
    /// The document of a datagram; `filled` is the datagram with the bytes that a table lacks.
    fn json(&mut self, case: &[u8], filled: &[u8], line: &mut Line) {
        line.literal(b"{\"headers\":[");
        let mut separator = Separator::new();
        let mut decoded = 0;
        let mut print = |(layout, offset): (&'static Layout, usize)| {
            let end = offset + layout.len;
            if let Some(bytes) = filled.get(offset..end) {
                separator.print(line);
                self.json.header(line, layout, offset, bytes);
                decoded = decoded.max(end);
            }
        };
        if let Some(structure) = cut_header(filled) {
            print(structure);
        }
        for structure in headers(case) {
            print(structure);
        }
        let is_whole = filled.len() >= MAD_LEN;
        let payload = case.get(decoded..).unwrap_or_default();
        let mut cursor = line.room(2 * payload.len() + JSON_END);
        cursor.literal(b"],\"payload\":\"");
        if !payload.is_empty() {
            cursor.hex_bytes(payload);
        }
        cursor.literal(b"\"");
        if filled.len() > case.len() {
            cursor.literal(b",\"length\":");
            cursor.decimal(case.len() as u64);
        }
        cursor.literal(b",\"icrc\":null,\"vcrc\":null,\"error\":");
        if is_whole {
            cursor.literal(b"null}\n");
        }
        let len = cursor.len();
        line.advance(len);
        if !is_whole {
            json_truncated(line, decoded, case.len());
        }
    }
}

/// Room for the end of a document, without the digits of the payload and the error.
const JSON_END: usize = 128;

/// Appends the error of a datagram of `len` bytes and the end of its document.
fn json_truncated(line: &mut Line, offset: usize, len: usize) {
    line.literal(b"{\"kind\":\"truncated\",\"offset\":");
    line.decimal(offset as u64);
    line.literal(b",\"message\":\"");
    line.display(short(len));
    line.literal(b"\"}}\n");
}

/// The header that all datagrams have, of one that is cut short inside its format.
fn cut_header(datagram: &[u8]) -> Option<(&'static Layout, usize)> {
    let is_cut = (MadHeader::LEN..MAD_LEN).contains(&datagram.len());
    is_cut.then_some((MadHeader::LAYOUT, 0))
}

fn short(len: usize) -> impl std::fmt::Display {
    format!("{len} bytes, expected {MAD_LEN}")
}
