//! Which structures a management datagram holds: the format of its class, and the attribute.
//!
//! Composed of the tables of the crates, each of which knows its classes and their attributes.

use ib_mad::{ClassTable, Description, MadHeader, Method, RmppType, describe};
use ib_sa::SaMad;
use ib_wire::table::{FieldValue as _, Layout};

/// Length of every datagram.
pub const MAD_LEN: usize = ib_mad::Mad::LEN;

/// Where the records of subnet administration start.
const SA_DATA: usize = 56;

/// The classes of all layers.
const CLASSES: &[&[ClassTable]] = &[ib_smp::CLASSES, ib_sa::CLASSES, ib_mad::CLASSES];

/// The structures of a datagram with their offsets, the format of its class first. Of an answer with
/// a table every whole record is one.
///
/// Of a datagram that was cut short those that are whole.
pub fn headers(datagram: &[u8]) -> impl Iterator<Item = (&'static Layout, usize)> {
    let description = MadHeader::parse(datagram, 0)
        .ok()
        .map(|(header, _)| describe(CLASSES, header, datagram));
    let format = description.map(|Description { format, .. }| (format, 0));
    let attribute = description.and_then(|description| description.attribute);
    let records = attribute.map_or(Records::NONE, |(layout, offset)| {
        let is_sa =
            offset == SA_DATA && description.is_some_and(|d| d.format.name == SaMad::LAYOUT.name);
        match SaMad::parse(datagram, 0) {
            Ok((mad, _)) if is_sa => Records::of(mad, layout, datagram.len()),
            _ => Records::one(layout, offset),
        }
    });
    let whole = move |&(layout, offset): &(&'static Layout, usize)| {
        offset.saturating_add(layout.len) <= datagram.len()
    };
    format.into_iter().chain(records).filter(whole)
}

/// Structures of one layout, one behind the other.
struct Records {
    layout: Option<&'static Layout>,
    next: usize,
    distance: usize,
    left: usize,
}

impl Records {
    const NONE: Self = Self {
        layout: None,
        next: 0,
        distance: 0,
        left: 0,
    };

    fn one(layout: &'static Layout, offset: usize) -> Self {
        Self {
            layout: Some(layout),
            next: offset,
            distance: 0,
            left: 1,
        }
    }

    /// The records of a datagram of subnet administration of `len` bytes.
    fn of(mad: &SaMad, layout: &'static Layout, len: usize) -> Self {
        /// What the payload length of a segment counts beside its data.
        const SA_HEADER: usize = 20;
        let distance = usize::from(mad.attribute_offset()).saturating_mul(8);
        let is_table = matches!(
            mad.method(),
            Method::GET_TABLE_RESP | Method::GET_MULTI_RESP
        );
        if !is_table || distance < layout.len {
            // A request, an answer with one record, or one without a record that says so.
            return Self::one(layout, SA_DATA);
        }
        let room = len.saturating_sub(SA_DATA);
        let data = if !mad.active() {
            // Handed up by a kernel that has put the segments together.
            room
        } else if mad.rmpp_type().to_bits() != RmppType::DATA.to_bits() || mad.data1() != 1 {
            // Control packets have no records, and in later segments records begin anywhere.
            return Self::NONE;
        } else if mad.last() {
            let length = usize::try_from(mad.data2()).unwrap_or(usize::MAX);
            room.min(length.saturating_sub(SA_HEADER))
        } else {
            room
        };
        // The last record may leave out the padding up to the distance.
        let whole = data
            .checked_sub(layout.len)
            .map_or(0, |rest| rest / distance + 1);
        Self {
            layout: Some(layout),
            next: SA_DATA,
            distance,
            left: whole,
        }
    }
}

impl Iterator for Records {
    type Item = (&'static Layout, usize);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let offset = self.next;
        self.next = self.next.saturating_add(self.distance);
        Some((self.layout?, offset))
    }
}

/// Every structure that can stand in a packet or a datagram.
pub fn layouts() -> impl Iterator<Item = &'static Layout> {
    ib_wire::LAYOUTS.iter().copied().chain(mad_layouts())
}

/// Every structure that can stand in a datagram.
pub fn mad_layouts() -> impl Iterator<Item = &'static Layout> {
    let tables = [ib_mad::LAYOUTS, ib_smp::LAYOUTS, ib_sa::LAYOUTS];
    tables.into_iter().flatten().copied()
}
