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
        let mut separator = Separator::new(self.style);
        if self.style == Style::Json {
            line.text(b"{\"headers\":[");
        }
        let filled = filled_up(case);
        let mut decoded = 0;
        // Of a datagram that is cut short inside its format, the header that all have.
        let is_cut = (MadHeader::LEN..MAD_LEN).contains(&filled.len());
        let common = is_cut.then_some((MadHeader::LAYOUT, 0));
        let structures = common.into_iter().chain(headers(case));
        if self.style == Style::Plain {
            decoded = print_structures(&mut self.text, line, &filled, structures);
        } else {
            for (layout, offset) in structures {
                let end = offset + layout.len;
                if let Some(bytes) = filled.get(offset..end) {
                    separator.print(line);
                    self.json.header(line, layout, offset, bytes);
                    decoded = decoded.max(end);
                }
            }
        }
        let is_table = filled.len() > case.len();
        let rest = case.get(decoded..).unwrap_or_default();
        let is_whole = filled.len() >= MAD_LEN;
        match self.style {
            Style::Json => {
                line.text(b"],\"payload\":\"");
                line.hex_bytes(rest);
                line.byte(b'"');
                if is_table {
                    line.text(b",\"length\":");
                    line.decimal(case.len() as u64);
                }
                line.text(b",\"icrc\":null,\"vcrc\":null,\"error\":");
                if is_whole {
                    line.text(b"null}\n");
                } else {
                    line.text(b"{\"kind\":\"truncated\",\"offset\":");
                    line.decimal(decoded as u64);
                    line.text(b",\"message\":\"");
                    line.display(short(case.len()));
                    line.text(b"\"}}\n");
                }
            }
            Style::Plain => {
                dump(self.text.terminal(), line, "rest", rest);
                if !is_whole {
                    line.display(format_args!(
                        "{:<9} truncated: {}\n",
                        "error",
                        short(case.len())
                    ));
                }
                line.byte(b'\n');
            }
        }
        is_whole
    }
}

fn short(len: usize) -> impl std::fmt::Display {
    format!("{len} bytes, expected {MAD_LEN}")
}
