//! The structures of a management datagram: the format of its class, and the attribute.
//!
//! Composed of the tables of the crates, each of which knows its classes and their attributes.

use std::borrow::Cow;

use ib_mad::{
    AttributeId, ClassTable, Description, MadHeader, Method, MgmtClass, RmppHeader, RmppType,
};
use ib_sa::{SaHeader, SaMad};
use ib_wire::table::Layout;

/// Length of every datagram.
pub const MAD_LEN: usize = ib_mad::Mad::LEN;

/// The offset of the records of subnet administration.
const SA_DATA: usize = SaMad::DATA_OFFSET;

/// The classes of all layers.
const CLASSES: &[&[ClassTable]] = &[
    ib_smp::CLASSES,
    ib_sa::CLASSES,
    ib_mad::CLASSES,
    ib_cm::CLASSES,
];

/// The table of each class, by the class's number.
static BY_CLASS: [Option<&ClassTable>; 256] = by_class();

#[allow(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where an index past the end is an error"
)]
const fn by_class() -> [Option<&'static ClassTable>; 256] {
    let mut by_class = [None; 256];
    let mut crates = CLASSES;
    while let [classes, after @ ..] = crates {
        let mut rest = *classes;
        while let [table, after @ ..] = rest {
            let entry = &mut by_class[table.class.bits() as usize];
            assert!(entry.is_none(), "a class has one table");
            *entry = Some(table);
            rest = after;
        }
        crates = after;
    }
    by_class
}

/// The table of a class, if there is one.
fn class_table(class: MgmtClass) -> Option<&'static ClassTable> {
    BY_CLASS.get(usize::from(class.bits())).copied().flatten()
}

/// The structures of a datagram with their offsets, the format of its class first. Of an answer with
/// a table every whole record is one.
///
/// Of a datagram that was cut short those that are whole. A [table](is_table) has its format however
/// short it is; [`filled_up`] has the bytes for it.
pub fn headers(datagram: &[u8]) -> impl Iterator<Item = (&'static Layout, usize)> + use<> {
    Structures::of(datagram)
}

/// Returns true if these are the headers and the table of a message of subnet administration that a kernel has
/// put together from its segments: they are as long as the table, shorter than a datagram perhaps.
pub fn is_table(datagram: &[u8]) -> bool {
    SaHeaders::of(datagram).is_some_and(|headers| headers.is_whole_table())
}

/// The bytes of a [table](is_table), with zeros up to the length of a datagram.
pub fn filled_up(datagram: &[u8]) -> Cow<'_, [u8]> {
    if datagram.len() >= MAD_LEN || !is_table(datagram) {
        return Cow::Borrowed(datagram);
    }
    let mut bytes = datagram.to_vec();
    bytes.resize(MAD_LEN, 0);
    Cow::Owned(bytes)
}

/// The headers before the data of subnet administration.
struct SaHeaders<'a> {
    common: &'a MadHeader,
    rmpp: &'a RmppHeader,
    sa: &'a SaHeader,
}

impl<'a> SaHeaders<'a> {
    /// `None` if this is another class, or not long enough.
    fn of(datagram: &'a [u8]) -> Option<Self> {
        let (common, rest) = MadHeader::parse(datagram, 0).ok()?;
        if common.mgmt_class() != MgmtClass::SUBN_ADM {
            return None;
        }
        let (rmpp, rest) = RmppHeader::parse(rest, MadHeader::LEN).ok()?;
        let (sa, _) = SaHeader::parse(rest, MadHeader::LEN + RmppHeader::LEN).ok()?;
        Some(Self { common, rmpp, sa })
    }

    fn is_table(&self) -> bool {
        matches!(
            self.common.method(),
            Method::GET_TABLE_RESP | Method::GET_MULTI_RESP
        )
    }

    /// Returns true if this is a packet of RMPP. Servers under ibsim, which passes none, set the flag all the same.
    fn is_packet(&self) -> bool {
        self.rmpp.active() && self.rmpp.rmpp_type() != RmppType::NONE
    }

    /// Returns true if a table has been put together from its packets.
    fn is_whole_table(&self) -> bool {
        self.is_table() && !self.is_packet()
    }

    /// The records of a datagram of `len` bytes.
    fn records(&self, layout: &'static Layout, len: usize) -> Records {
        let distance = usize::from(self.sa.attribute_offset()).saturating_mul(8);
        if !self.is_table() || distance < layout.len {
            // A request, an answer with one record, or one without a record that says so.
            return Records::one(layout, SA_DATA);
        }
        let room = len.saturating_sub(SA_DATA);
        let data = if !self.is_packet() {
            // Handed up by a kernel that has put the segments together.
            room
        } else if self.rmpp.rmpp_type() != RmppType::DATA || self.rmpp.data1() != 1 {
            // Control packets have no records, and in later segments records begin anywhere.
            return Records::NONE;
        } else if self.rmpp.last() {
            let length = usize::try_from(self.rmpp.data2()).unwrap_or(usize::MAX);
            room.min(length.saturating_sub(SaHeader::LEN))
        } else {
            room
        };
        // The last record may leave out the padding up to the distance.
        let whole = data
            .checked_sub(layout.len)
            .map_or(0, |rest| rest / distance + 1);
        Records {
            layout: Some(layout),
            next: SA_DATA,
            distance,
            left: whole,
        }
    }
}

/// The structures of a datagram.
struct Structures {
    /// The format, until it has been returned, or if there is none.
    format: Option<&'static Layout>,
    records: Records,
    /// Length of the datagram.
    len: usize,
}

impl Structures {
    const NONE: Self = Self {
        format: None,
        records: Records::NONE,
        len: 0,
    };

    fn of(datagram: &[u8]) -> Self {
        let Ok((header, _)) = MadHeader::parse(datagram, 0) else {
            return Self::NONE;
        };
        let class = header.mgmt_class();
        let Description { format, attribute } = match class_table(class) {
            Some(table) => table.describe(header, datagram),
            None => Description::of_unknown_class(class),
        };
        let headers = SaHeaders::of(datagram);
        let records = attribute.map_or(Records::NONE, |(layout, offset)| match &headers {
            Some(headers) if offset == SA_DATA => headers.records(layout, datagram.len()),
            _ => Records::one(layout, offset),
        });
        let is_whole =
            format.len <= datagram.len() || headers.is_some_and(|headers| headers.is_whole_table());
        Self {
            format: Some(format).filter(|_| is_whole),
            records,
            len: datagram.len(),
        }
    }
}

impl Iterator for Structures {
    type Item = (&'static Layout, usize);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(format) = self.format.take() {
            return Some((format, 0));
        }
        // Records ascend: after one that was cut there is none.
        let (layout, offset) = self.records.next()?;
        (offset.saturating_add(layout.len) <= self.len).then_some((layout, offset))
    }
}

/// Structures of one layout, one after the other.
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

/// The name of an attribute in its class, if it is known.
pub fn attribute_name(class: MgmtClass, id: AttributeId) -> Option<&'static str> {
    let attribute = class_table(class)?.attribute(id)?;
    Some(attribute.name)
}

/// Every structure that a packet or a datagram can contain.
pub fn layouts() -> impl Iterator<Item = &'static Layout> {
    ib_wire::LAYOUTS.iter().copied().chain(mad_layouts())
}

/// Every structure that a datagram can contain.
pub fn mad_layouts() -> impl Iterator<Item = &'static Layout> {
    let tables = [
        ib_mad::LAYOUTS,
        ib_cm::LAYOUTS,
        ib_smp::LAYOUTS,
        ib_sa::LAYOUTS,
    ];
    tables.into_iter().flatten().copied()
}
