//! The fields of PortCountersExtended and PortCounters that hold each counter.
//!
//! The compiler joins the two layouts by the names of their fields: to look up the names takes longer than to read the
//! counters of a port.

use ib_mad::{PortCounters, PortCountersExtended};
use ib_wire::table::Field;

/// A counter, and the fields that hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The name of both fields.
    pub(super) name: &'static str,
    /// The field of PortCountersExtended, if that has one.
    pub(super) wide: Option<Field>,
    /// The field of PortCounters, if that has one.
    pub(super) narrow: Option<Field>,
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
        let source = if let [field, rest @ ..] = wide {
            wide = rest;
            Source {
                name: field.name,
                wide: Some(*field),
                narrow: find(NARROW, field.name),
            }
        } else if let [field, rest @ ..] = narrow {
            narrow = rest;
            // It is listed already if the wide attribute has it.
            if find(WIDE, field.name).is_some() {
                continue;
            }
            Source {
                name: field.name,
                wide: None,
                narrow: Some(*field),
            }
        } else {
            return (sources, count);
        };
        if !is_counter(source.name) {
            continue;
        }
        if let [place, rest @ ..] = free {
            *place = source;
            (free, count) = (rest, count.saturating_add(1));
        }
    }
}

/// Returns true if the field of this name is a counter: it is neither reserved nor one of those that select counters.
const fn is_counter(name: &str) -> bool {
    let name = name.as_bytes();
    let is_reserved = starts_with(name, b"resv") || starts_with(name, b"reserved");
    !is_reserved && !ends_with(name, b"_select") && !ends_with(name, b"_select2")
}

/// The field with this name.
const fn find(mut fields: &[Field], name: &str) -> Option<Field> {
    while let [field, rest @ ..] = fields {
        if is_same(field.name.as_bytes(), name.as_bytes()) {
            return Some(*field);
        }
        fields = rest;
    }
    None
}

/// As `==`, which constants cannot call.
const fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && starts_with(one, other)
}

/// As the method of slices, which constants cannot call.
const fn starts_with(mut text: &[u8], mut start: &[u8]) -> bool {
    while let [wanted, others @ ..] = start {
        match text {
            [first, rest @ ..] if *first == *wanted => (text, start) = (rest, others),
            _ => return false,
        }
    }
    true
}

/// As the method of slices, which constants cannot call.
const fn ends_with(mut text: &[u8], end: &[u8]) -> bool {
    while let [_, rest @ ..] = text {
        if is_same(text, end) {
            return true;
        }
        text = rest;
    }
    end.is_empty()
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
            let wide = PortCountersExtended::LAYOUT.field(source.name);
            let narrow = PortCounters::LAYOUT.field(source.name);
            assert_eq!(
                (source.wide.as_ref(), source.narrow.as_ref()),
                (wide, narrow)
            );
        }
    }
}
