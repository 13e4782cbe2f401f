//! The fields of PortCountersExtended and PortCounters that hold each counter.
//!
//! The compiler joins the two layouts by the names of their fields: to look up the names takes longer than to read the
//! counters of a port.

use ib_mad::{PortCounters, PortCountersExtended};
use ib_wire::{const_str::ends_with, table::Field};

/// A counter, and the fields that hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The name of both fields.
    pub(super) name: &'static str,
    /// The field of PortCountersExtended, if that has one.
    pub(super) wide: Option<&'static Field>,
    /// The field of PortCounters, if that has one.
    pub(super) narrow: Option<&'static Field>,
}

/// All counters: those of PortCountersExtended in its order, and then those that only PortCounters has, in its order.
pub(super) fn sources() -> &'static [Source] {
    let (sources, count) = &SOURCES;
    sources.get(..*count).unwrap_or_default()
}

const WIDE: &[Field] = PortCountersExtended::LAYOUT.fields;
const NARROW: &[Field] = PortCounters::LAYOUT.fields;

/// Number of fields of both attributes.
const FIELDS: usize = WIDE.len().saturating_add(NARROW.len());

/// The counters, and how many there are.
static SOURCES: ([Source; FIELDS], usize) = join();

const fn join() -> ([Source; FIELDS], usize) {
    let none = Source {
        name: "",
        wide: None,
        narrow: None,
    };
    let mut sources = [none; FIELDS];
    let (mut free, mut count) = (sources.as_mut_slice(), 0_usize);
    let (mut wide, mut narrow) = (WIDE, NARROW);
    loop {
        let field = if let [field, rest @ ..] = wide {
            wide = rest;
            field
        } else if let [field, rest @ ..] = narrow {
            narrow = rest;
            // It is listed already if the wide attribute has it.
            if PortCountersExtended::LAYOUT.field(field.name).is_some() {
                continue;
            }
            field
        } else {
            return (sources, count);
        };
        if !is_counter(field) {
            continue;
        }
        if let [place, rest @ ..] = free {
            *place = Source {
                name: field.name,
                wide: PortCountersExtended::LAYOUT.field(field.name),
                narrow: PortCounters::LAYOUT.field(field.name),
            };
            (free, count) = (rest, count.saturating_add(1));
        }
    }
}

/// Returns true if a field is a counter: it is neither reserved nor one of those that select counters.
const fn is_counter(field: &Field) -> bool {
    let selects = ends_with(field.name, "_select") || ends_with(field.name, "_select2");
    !field.is_reserved() && !selects
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// The same as a search by name finds.
    #[test]
    fn each_counter_has_the_fields_with_its_name() {
        let is_counter = |field: &&Field| !field.is_reserved() && !field.name.contains("_select");
        let mut names: Vec<&str> = Vec::new();
        for field in WIDE.iter().chain(NARROW).filter(is_counter) {
            if !names.contains(&field.name) {
                names.push(field.name);
            }
        }
        let found: Vec<&str> = sources().iter().map(|source| source.name).collect();
        assert_eq!(found, names);
        for source in sources() {
            let named = |field: &&Field| field.name == source.name;
            let found = (WIDE.iter().find(named), NARROW.iter().find(named));
            assert_eq!((source.wide, source.narrow), found);
        }
    }
}
