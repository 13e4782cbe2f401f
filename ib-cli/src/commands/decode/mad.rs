//! One management datagram as text: the format of its class, then the attribute.

use ib_mad::MadHeader;
use ib_wire::Start;

use super::{Decoder, parts::Separator};
use crate::{
    dissect::{MAD_LEN, filled_up, headers},
    output::{
        fields::{FieldPrinter, Style},
        line::Line,
    },
};

/// Decodes management datagrams.
pub struct MadDecoder {
    style: Style,
    printer: FieldPrinter,
}

impl MadDecoder {
    /// A decoder that prints in `style`.
    pub fn new(style: Style) -> Self {
        Self {
            style,
            printer: FieldPrinter::new(style),
        }
    }
}

impl Decoder for MadDecoder {
    fn begin(&mut self) {
        self.printer.forget();
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
        for (layout, offset) in common.into_iter().chain(headers(case)) {
            let end = offset + layout.len;
            if let Some(bytes) = filled.get(offset..end) {
                separator.print(line);
                self.printer.header(line, layout, offset, bytes);
                decoded = decoded.max(end);
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
                if !rest.is_empty() {
                    line.display(format_args!("{:<8} {} bytes: ", "rest", rest.len()));
                    line.hex_bytes(rest);
                    line.byte(b'\n');
                }
                if !is_whole {
                    line.display(format_args!(
                        "{:<8} truncated: {}\n",
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
