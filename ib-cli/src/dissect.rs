//! Which structures a management datagram holds: the format of its class, and the attribute.
//!
//! Composed of the tables of the crates, each of which knows its classes and their attributes.

use ib_mad::{
    Attribute, AttributeEntry, ClassTable, Description, InformInfo, MadHeader, Method, MgmtClass,
    Notice, NoticeSm, RmppType, describe,
};
use ib_sa::SaMad;
use ib_wire::table::{FieldValue as _, Layout};

/// Length of every datagram.
pub const MAD_LEN: usize = ib_mad::Mad::LEN;

/// Where the data of a subnet management packet starts.
const SMP_DATA: usize = 64;
/// Where the records of subnet administration start.
const SA_DATA: usize = 56;

macro_rules! entries {
    ($offset:ident: $($type:ty = $name:literal $(($id:literal))?),* $(,)?) => {
        &[$(AttributeEntry {
            id: entries!(@id $type $(, $id)?),
            name: $name,
            layout: Some(<$type>::LAYOUT),
            offset: $offset,
            methods: &[],
        }),*]
    };
    (@id $type:ty) => { <$type as Attribute>::ID };
    (@id $type:ty, $id:literal) => { ib_mad::AttributeId($id) };
}

const SUBN: &[AttributeEntry] = entries! { SMP_DATA:
    NoticeSm = "Notice" (0x0002),
    ib_smp::NodeDescription = "NodeDescription",
    ib_smp::NodeInfo = "NodeInfo",
    ib_smp::SwitchInfo = "SwitchInfo",
    ib_smp::GuidInfo = "GUIDInfo",
    ib_smp::PortInfo = "PortInfo",
    ib_smp::PartitionKeyTable = "P_KeyTable",
    ib_smp::SlToVlMappingTable = "SLtoVLMappingTable",
    ib_smp::VlArbitrationTable = "VLArbitrationTable",
    ib_smp::LinearForwardingTable = "LinearForwardingTable",
    ib_smp::RandomForwardingTable = "RandomForwardingTable",
    ib_smp::MulticastForwardingTable = "MulticastForwardingTable",
    ib_smp::HierarchyInfo = "HierarchyInfo",
    ib_smp::SmInfo = "SMInfo",
    ib_smp::VendorDiag = "VendorDiag",
    ib_smp::LedInfo = "LedInfo",
    ib_smp::PortInfoExtended = "PortInfoExtended",
    ib_smp::MlnxExtPortInfo = "MlnxExtPortInfo",
};

const SUBN_ADM: &[AttributeEntry] = entries! { SA_DATA:
    ib_mad::ClassPortInfo = "ClassPortInfo" (0x0001),
    Notice = "Notice" (0x0002),
    InformInfo = "InformInfo" (0x0003),
    ib_sa::NodeRecord = "NodeRecord",
    ib_sa::PortInfoRecord = "PortInfoRecord",
    ib_sa::SlToVlMappingTableRecord = "SLtoVLMappingTableRecord",
    ib_sa::SwitchInfoRecord = "SwitchInfoRecord",
    ib_sa::LinearForwardingTableRecord = "LinearForwardingTableRecord",
    ib_sa::RandomForwardingTableRecord = "RandomForwardingTableRecord",
    ib_sa::MulticastForwardingTableRecord = "MulticastForwardingTableRecord",
    ib_sa::SmInfoRecord = "SMInfoRecord",
    ib_sa::PortInfoExtendedRecord = "PortInfoExtendedRecord",
    ib_sa::LinkRecord = "LinkRecord",
    ib_sa::GuidInfoRecord = "GUIDInfoRecord",
    ib_sa::ServiceRecord = "ServiceRecord",
    ib_sa::PKeyTableRecord = "P_KeyTableRecord",
    ib_sa::PathRecord = "PathRecord",
    ib_sa::VlArbitrationTableRecord = "VLArbitrationTableRecord",
    ib_sa::McMemberRecord = "MCMemberRecord",
    ib_sa::TraceRecord = "TraceRecord",
    ib_sa::MultiPathRecord = "MultiPathRecord",
    ib_sa::ServiceAssociationRecord = "ServiceAssociationRecord",
};

const CLASSES: &[ClassTable] = &[
    ClassTable {
        class: MgmtClass::SUBN_LID,
        format: ib_smp::SmpLidRouted::LAYOUT,
        attributes: SUBN,
    },
    ClassTable {
        class: MgmtClass::SUBN_DIRECTED,
        format: ib_smp::SmpDirected::LAYOUT,
        attributes: SUBN,
    },
    ClassTable {
        class: MgmtClass::SUBN_ADM,
        format: SaMad::LAYOUT,
        attributes: SUBN_ADM,
    },
];

/// The structures of a datagram with their offsets, the format of its class first. Of an answer with
/// a table every whole record is one.
///
/// Of a datagram that was cut short those that are whole.
pub fn headers(datagram: &[u8]) -> impl Iterator<Item = (&'static Layout, usize)> {
    let description = MadHeader::parse(datagram, 0)
        .ok()
        .map(|(header, _)| describe(&[CLASSES, ib_mad::CLASSES], header, datagram));
    let format = description.map(|Description { format, .. }| (format, 0));
    let attribute = description.and_then(|description| description.attribute);
    let records = attribute.map_or(Records::NONE, |(layout, offset)| {
        let is_sa = offset == SA_DATA && description.is_some_and(|d| d.format == SaMad::LAYOUT);
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
    let formats = CLASSES.iter().map(|table| table.format);
    let attributes = [SUBN, SUBN_ADM].into_iter().flatten();
    ib_wire::LAYOUTS
        .iter()
        .chain(ib_mad::LAYOUTS)
        .copied()
        .chain(formats)
        .chain(attributes.filter_map(|entry| entry.layout))
}
