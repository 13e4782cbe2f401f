//! Packets and datagrams for property tests, with or without one fault that they name.
//!
//! The datagrams are of every class that the family knows: subnet management and administration, the
//! general classes, communication management.

use ib_mad::{ClassTable, strategy};
pub use ib_mad::{
    generate::{FaultyMad, ValidMad},
    strategy::{FaultyMads, ValidMads},
};
pub use ib_wire::{
    generate::{FaultyPacket, ValidPacket},
    strategy::{FaultyPackets, ValidPackets, faulty_packet, valid_packet},
};

/// Every class of the family.
pub const TABLES: &[&[ClassTable]] = &[
    ib_smp::CLASSES,
    ib_sa::CLASSES,
    ib_mad::CLASSES,
    ib_cm::CLASSES,
];

/// Datagrams without fault, of any class, method and attribute.
#[must_use]
pub fn valid_mad() -> ValidMads {
    strategy::valid_mad(TABLES)
}

/// Datagrams with one fault in their header, which they name.
#[must_use]
pub fn faulty_mad() -> FaultyMads {
    strategy::faulty_mad(TABLES)
}
