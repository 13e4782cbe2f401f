//! Counters that have reached all ones: they stay there, and what they would have counted is lost until
//! a Set clears them.

use core::fmt;

use ib_wire::table::{Field, FieldKind, load_bits};
use zerocopy::{Immutable, IntoBytes};

use super::{
    PortCounters, PortCountersCong, PortCountersExtended, PortExtendedSpeedsCounters,
    PortExtendedSpeedsCountersRsFec, PortFlowCtlCounters, PortOpRcvCounters, PortRcvConCtrl,
    PortRcvDataSl, PortRcvErrorDetails, PortSlRcvBecn, PortSlRcvFecn, PortVlOpData,
    PortVlOpPackets, PortVlXmitFlowCtlUpdateErrors, PortVlXmitTimeCong, PortVlXmitWaitCounters,
    PortXmitConCtrl, PortXmitDataSl, PortXmitDiscardDetails, SwPortVlCongestion, is_counter, ones,
};
use crate::Attribute;

/// A counter of an attribute: a field, or one element of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CounterName {
    /// Name of the field in the specification's tables.
    pub field: &'static str,
    /// The index of the element, where there is one for each lane or level.
    pub element: Option<usize>,
}

impl fmt::Display for CounterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field)?;
        match self.element {
            Some(element) => write!(f, "[{element}]"),
            None => Ok(()),
        }
    }
}

/// An attribute of performance management that counts.
///
/// ```
/// use ib_mad::{Counters, PortCounters};
///
/// let mut counters = PortCounters::default();
/// counters.set_link_downed_counter(255).set_symbol_error_counter(255);
/// let saturated: Vec<String> = counters.saturated().map(|name| name.to_string()).collect();
/// assert_eq!(saturated, ["link_downed_counter"]);
/// ```
pub trait Counters: Attribute + IntoBytes + Immutable {
    /// The counters that have reached all ones, so that their true values are unknown.
    fn saturated(&self) -> impl Iterator<Item = CounterName> {
        let counters = Self::LAYOUT.fields.iter().flat_map(elements);
        counters.filter_map(|(name, bit_offset, bits)| {
            let value = load_bits(self.as_bytes(), bit_offset, bits)?;
            (value == ones(bits)?).then_some(name)
        })
    }

    /// Returns true if the counter `field` has reached all ones, or an element of it has; `None` if it is no
    /// counter of this attribute.
    fn is_saturated(&self, field: &str) -> Option<bool> {
        let counter = Self::LAYOUT.field(field)?;
        is_counter(counter.name).then(|| self.saturated().any(|name| name.field == counter.name))
    }
}

/// The counters of a field, with place and width; none if it counts nothing.
fn elements(field: &'static Field) -> impl Iterator<Item = (CounterName, usize, usize)> {
    let (is_array, width) = match field.kind {
        FieldKind::Array { element_bits, .. } => (true, element_bits),
        _ => (false, field.bits),
    };
    let count = match is_counter(field.name) {
        true => field.bits.checked_div(width).unwrap_or(0),
        false => 0,
    };
    (0..count).map(move |index| {
        let name = CounterName {
            field: field.name,
            element: is_array.then_some(index),
        };
        let before = index.saturating_mul(width);
        (name, field.bit_offset.saturating_add(before), width)
    })
}

macro_rules! counters {
    ($($type:ident)*) => {$(
        impl Counters for $type {}
    )*};
}

counters! {
    PortCounters PortRcvErrorDetails PortXmitDiscardDetails PortOpRcvCounters PortFlowCtlCounters
    PortVlOpPackets PortVlOpData PortVlXmitFlowCtlUpdateErrors PortVlXmitWaitCounters
    PortCountersExtended PortExtendedSpeedsCounters PortExtendedSpeedsCountersRsFec
    SwPortVlCongestion PortRcvConCtrl PortSlRcvFecn PortSlRcvBecn PortXmitConCtrl
    PortVlXmitTimeCong PortXmitDataSl PortRcvDataSl PortCountersCong
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{string::ToString, vec::Vec};

    use zerocopy::{FromBytes, KnownLayout};

    use super::*;
    use crate::LAYOUTS;

    /// Number of counters that an attribute has: all are saturated where all bits are set, fewer where the
    /// last bit of each byte is missing.
    fn check<T: Counters + FromBytes + KnownLayout>() -> usize {
        let attribute = <T as Attribute>::LAYOUT.name;
        let full = T::read_from_bytes(&[0xff; 256][..size_of::<T>()]).unwrap();
        let names: Vec<_> = full.saturated().collect();
        assert!(!names.is_empty(), "{attribute}");
        let even = T::read_from_bytes(&[0xfe; 256][..size_of::<T>()]).unwrap();
        assert!(even.saturated().count() < names.len(), "{attribute}");
        let none = T::read_from_bytes(&[0x00; 256][..size_of::<T>()]).unwrap();
        assert_eq!(none.saturated().count(), 0);
        for name in &names {
            assert_eq!(full.is_saturated(name.field), Some(true), "{name}");
            assert_eq!(none.is_saturated(name.field), Some(false), "{name}");
        }
        for other in [
            "port_select",
            "counter_select",
            "op_code",
            "reserved1",
            "no_field",
        ] {
            assert_eq!(full.is_saturated(other), None, "{attribute} {other}");
        }
        names.len()
    }

    #[test]
    fn every_counter_of_every_attribute_says_that_it_is_saturated() {
        macro_rules! check {
            ($($type:ident: $count:literal)*) => {{
                $(assert_eq!(check::<$type>(), $count, stringify!($type));)*
                [$($type::LAYOUT.name),*]
            }};
        }
        let checked = check!(
            PortCounters: 18 PortRcvErrorDetails: 6 PortXmitDiscardDetails: 4 PortOpRcvCounters: 2
            PortFlowCtlCounters: 2 PortVlOpPackets: 16 PortVlOpData: 16
            PortVlXmitFlowCtlUpdateErrors: 16 PortVlXmitWaitCounters: 16 PortCountersExtended: 22
            PortExtendedSpeedsCounters: 38 PortExtendedSpeedsCountersRsFec: 17
            SwPortVlCongestion: 16 PortRcvConCtrl: 2 PortSlRcvFecn: 16 PortSlRcvBecn: 16
            PortXmitConCtrl: 1 PortVlXmitTimeCong: 15 PortXmitDataSl: 16 PortRcvDataSl: 16
            PortCountersCong: 18
        );
        let counts = |layout: &&&ib_wire::table::Layout| {
            let of_a_port = ["Port", "SwPort"]
                .iter()
                .any(|start| layout.name.starts_with(start));
            of_a_port && !layout.name.starts_with("PortSamples")
        };
        assert_eq!(checked.len(), LAYOUTS.iter().filter(counts).count());
    }

    #[test]
    fn an_element_is_named_by_its_place() {
        let mut packets = PortVlOpPackets::default();
        packets.set_port_vl_op_packets(3, 0xffff);
        packets.set_port_vl_op_packets(4, 0xfffe);
        let names: Vec<_> = packets.saturated().map(|name| name.to_string()).collect();
        assert_eq!(names, ["port_vl_op_packets[3]"]);
    }
}
