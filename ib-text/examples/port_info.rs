//! Prints a management datagram for a person: names and units beside numbers.

use ib_mad::{Attribute as _, MadHeader, Method};
use ib_smp::{PortInfo, SmpLidRouted};
use ib_text::{Context, Line, ReadablePrinter, Terminal, dissect};

fn main() {
    let smp = SmpLidRouted::new(Method::GET, PortInfo::ID, 1);
    let datagram = smp.as_bytes();
    let class = MadHeader::parse(datagram, 0).map(|(header, _)| header.mgmt_class());
    let context = Context {
        class: class.ok(),
        ..Context::default()
    };
    let mut printer = ReadablePrinter::new(Terminal {
        width: Some(80),
        colour: false,
    });
    let mut line = Line::default();
    for (layout, offset) in dissect::headers(datagram) {
        let bytes = datagram.get(offset..).unwrap_or_default();
        printer.structure(&mut line, layout, bytes, context);
    }
    print!("{}", String::from_utf8_lossy(line.as_bytes()));
}
