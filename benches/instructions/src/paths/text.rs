//! One packet as text, as `ib decode` prints it.

use std::hint::black_box;

use ib_mad::{Attribute, Method};
use ib_smp::{PortInfo, SmpLidRouted};
use ib_text::{
    Columns, Context, FieldName, FieldPrinter, Line, ReadablePrinter, Style, Terminal, dissect,
    dump,
};
use ib_wire::{Packet, Start};

use super::{Error, Path, Work, ensure, packet::rocev2};

pub(super) const PATHS: &[Path] = &[
    Path {
        name: "text-fields",
        prepare: chosen_fields,
    },
    Path {
        name: "text-json",
        prepare: json,
    },
    Path {
        name: "text-packet",
        prepare: readable_packet,
    },
    Path {
        name: "text-mad",
        prepare: readable_mad,
    },
];

/// Prints three fields of a packet.
fn chosen_fields() -> Result<Work, Error> {
    let names = ["BTH.op_code", "BTH.dest_qp", "BTH.psn"];
    let find = |name| FieldName::find(name, &[ib_wire::LAYOUTS]);
    let fields: Result<Vec<_>, _> = names.into_iter().map(find).collect();
    let fields = fields.map_err(|error| error.to_string())?;
    let mut columns = Columns::new(Style::Plain, &fields);
    print(rocev2()?, move |packet, line| {
        columns.clear();
        for header in packet.headers() {
            columns.see(header.layout, header.offset);
        }
        columns.print(line, packet.bytes());
    })
}

/// Prints every field of a packet as JSON.
fn json() -> Result<Work, Error> {
    let mut printer = FieldPrinter::new(Style::Json);
    print(rocev2()?, move |packet, line| {
        printer.forget();
        for header in packet.headers() {
            let bytes = packet.bytes().get(header.offset..).unwrap_or_default();
            printer.header(line, header.layout, header.offset, bytes);
        }
        line.hex_bytes(packet.payload());
    })
}

/// Prints every field of a packet, and its payload, for a person.
fn readable_packet() -> Result<Work, Error> {
    let mut printer = ReadablePrinter::new(Terminal::PLAIN);
    print(rocev2()?, move |packet, line| {
        printer.forget();
        for header in packet.headers() {
            let bytes = packet.bytes().get(header.offset..).unwrap_or_default();
            printer.structure(line, header.layout, bytes, Context::default());
        }
        dump(Terminal::PLAIN, line, "payload", packet.payload());
    })
}

/// Prints every field of a datagram with PortInfo for a person.
fn readable_mad() -> Result<Work, Error> {
    let mut smp = SmpLidRouted::new(Method::GET_RESP, PortInfo::ID, 1);
    let info = PortInfo::from_bytes(std::array::from_fn(|at| (at * 31) as u8));
    smp.set_attribute(&info);
    let mut printer = ReadablePrinter::new(Terminal::PLAIN);
    print(smp.as_bytes().to_vec(), move |packet, line| {
        printer.forget();
        let datagram = packet.bytes();
        for (layout, offset) in dissect::headers(datagram) {
            let bytes = datagram.get(offset..).unwrap_or_default();
            printer.structure(line, layout, bytes, Context::default());
        }
    })
}

/// Prints the packet 16 times.
fn print(
    bytes: Vec<u8>,
    mut print: impl FnMut(&Packet<&[u8]>, &mut Line) + 'static,
) -> Result<Work, Error> {
    let mut line = Line::default();
    Ok(Box::new(move || {
        line.clear();
        for _ in 0..16 {
            let packet = Packet::parse_as(Start::Ethernet, black_box(bytes.as_slice()));
            print(&packet, &mut line);
        }
        ensure(!black_box(&line).is_empty(), "nothing was printed")
    }))
}
