//! Which structures a management datagram holds: the format of its class, and the attribute.
//!
//! Composed of the tables of the crates: each knows its classes and their attributes.

use ib_mad::{Attribute, AttributeId, MgmtClass};
use ib_wire::table::Layout;

/// Length of every datagram.
pub const MAD_LEN: usize = ib_mad::Mad::LEN;

/// The structures of a datagram with their offsets, the format of its class first.
///
/// A datagram that was cut short yields structures that end past it.
pub fn headers(datagram: &[u8]) -> impl Iterator<Item = (&'static Layout, usize)> {
    let format = format(datagram);
    let attribute = match (format, datagram.get(16..18)) {
        (Some(_), Some(&[high, low])) => subn(AttributeId(u16::from_be_bytes([high, low]))),
        _ => None,
    };
    let format = format.map(|layout| (layout, 0));
    format
        .into_iter()
        .chain(attribute.map(|layout| (layout, 64)))
}

fn format(datagram: &[u8]) -> Option<&'static Layout> {
    match MgmtClass(*datagram.get(1)?) {
        MgmtClass::SUBN_LID => Some(ib_smp::SmpLidRouted::LAYOUT),
        MgmtClass::SUBN_DIRECTED => Some(ib_smp::SmpDirected::LAYOUT),
        _ => None,
    }
}

macro_rules! attributes {
    ($($function:ident: $($crate_:ident::$type:ident),*;)*) => {$(
        fn $function(id: AttributeId) -> Option<&'static Layout> {
            match id {
                $(<$crate_::$type as Attribute>::ID => Some($crate_::$type::LAYOUT),)*
                _ => None,
            }
        }
    )*};
}

attributes! {
    subn: ib_smp::NodeDescription, ib_smp::NodeInfo, ib_smp::SwitchInfo, ib_smp::GuidInfo,
        ib_smp::PortInfo, ib_smp::PartitionKeyTable, ib_smp::SlToVlMappingTable,
        ib_smp::VlArbitrationTable, ib_smp::LinearForwardingTable, ib_smp::RandomForwardingTable,
        ib_smp::MulticastForwardingTable, ib_smp::HierarchyInfo, ib_smp::SmInfo, ib_smp::VendorDiag,
        ib_smp::LedInfo, ib_smp::PortInfoExtended, ib_smp::MlnxExtPortInfo;
}

/// Every structure that can stand in a packet or a datagram.
pub fn layouts() -> impl Iterator<Item = &'static Layout> {
    const SUBN: &[&Layout] = &[ib_smp::SmpLidRouted::LAYOUT, ib_smp::SmpDirected::LAYOUT];
    let attributes = (0..=u16::MAX).filter_map(|id| subn(AttributeId(id)));
    ib_wire::LAYOUTS
        .iter()
        .chain(SUBN)
        .copied()
        .chain(attributes)
}
