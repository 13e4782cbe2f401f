//! Chosen fields only, of packets, link packets and management datagrams: the option `--fields`.

use ib_mad::MadHeader;
use ib_wire::{FlowControlPacket, Packet, Start, table::Layout};

use super::{Decoder, packet::carried_mad};
use crate::error::CliError;
use ib_text::{
    Columns, FieldName, Line, Style,
    dissect::{self, MAD_LEN},
};

/// Prints the same fields of every packet.
pub struct PacketColumns {
    columns: Columns,
    depth: Depth,
}

/// Prints the same fields of every flow control packet.
pub struct LinkColumns {
    columns: Columns,
}

/// Prints the same fields of every management datagram.
pub struct MadColumns {
    columns: Columns,
    depth: Depth,
}

/// The depth of the fields in a management datagram: the search for structures ends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    /// No field is one of a datagram.
    Outside,
    /// Those of the header that all datagrams begin with.
    Header,
    /// Those of the class's format and of attributes.
    Attribute,
}

/// The header that all datagrams begin with, whatever the format of their class is called.
const MAD_HEADER: &[&Layout] = &[MadHeader::LAYOUT];

impl PacketColumns {
    /// Columns of the fields `names`.
    pub fn new(style: Style, names: &[String]) -> Result<Self, CliError> {
        let datagrams: Vec<_> = dissect::mad_layouts().collect();
        let fields = find(names, &[ib_wire::LAYOUTS, MAD_HEADER, &datagrams])?;
        Ok(Self {
            columns: Columns::new(style, &fields),
            depth: Depth::of(&fields),
        })
    }
}

impl LinkColumns {
    /// Columns of the fields `names`.
    pub fn new(style: Style, names: &[String]) -> Result<Self, CliError> {
        let fields = find(names, &[&[FlowControlPacket::LAYOUT]])?;
        Ok(Self {
            columns: Columns::new(style, &fields),
        })
    }
}

impl MadColumns {
    /// Columns of the fields `names`.
    pub fn new(style: Style, names: &[String]) -> Result<Self, CliError> {
        let datagrams: Vec<_> = dissect::mad_layouts().collect();
        let fields = find(names, &[MAD_HEADER, &datagrams])?;
        Ok(Self {
            columns: Columns::new(style, &fields),
            depth: Depth::of(&fields),
        })
    }
}

impl Depth {
    fn of(fields: &[FieldName]) -> Self {
        let is_one_of = |layouts: &[&Layout], field: &FieldName| {
            let mut layouts = layouts.iter();
            layouts.any(|layout| layout.name == field.layout.name)
        };
        let depth = |field: &FieldName| match field {
            field if is_one_of(ib_wire::LAYOUTS, field) => Self::Outside,
            field if is_one_of(MAD_HEADER, field) => Self::Header,
            _ => Self::Attribute,
        };
        fields.iter().map(depth).max().unwrap_or(Self::Outside)
    }
}

fn find(names: &[String], scopes: &[&[&'static Layout]]) -> Result<Vec<FieldName>, CliError> {
    let found = names.iter().map(|name| FieldName::find(name, scopes));
    let found: Result<_, _> = found.collect();
    found.map_err(|error| CliError::at("--fields", error))
}

/// Notes the structures down to `depth` of the datagram, which starts at `at`.
#[inline]
fn see_mad(columns: &mut Columns, depth: Depth, datagram: &[u8], at: usize) {
    if datagram.len() >= MadHeader::LEN {
        columns.see(MadHeader::LAYOUT, at);
    }
    if depth != Depth::Attribute {
        return;
    }
    for (layout, offset) in dissect::headers(datagram) {
        columns.see(layout, at + offset);
    }
}

impl Decoder for PacketColumns {
    fn begin(&mut self) {}

    fn decode(&mut self, start: Start, case: &[u8], line: &mut Line) -> bool {
        let packet = Packet::parse_as(start, case);
        self.columns.clear();
        for header in packet.headers() {
            self.columns.see(header.layout, header.offset);
        }
        if self.depth != Depth::Outside
            && let Some(datagram) = carried_mad(&packet)
        {
            see_mad(
                &mut self.columns,
                self.depth,
                datagram,
                packet.payload_offset(),
            );
        }
        self.columns.print(line, case);
        true
    }
}

impl Decoder for LinkColumns {
    fn begin(&mut self) {}

    fn decode(&mut self, _start: Start, case: &[u8], line: &mut Line) -> bool {
        self.columns.clear();
        let is_whole = case.len() >= FlowControlPacket::LEN;
        if is_whole {
            self.columns.see(FlowControlPacket::LAYOUT, 0);
        }
        self.columns.print(line, case);
        is_whole
    }
}

impl Decoder for MadColumns {
    fn begin(&mut self) {}

    fn decode(&mut self, _start: Start, case: &[u8], line: &mut Line) -> bool {
        self.columns.clear();
        see_mad(&mut self.columns, self.depth, case, 0);
        let filled = dissect::filled_up(case);
        self.columns.print(line, &filled);
        filled.len() >= MAD_LEN
    }
}
