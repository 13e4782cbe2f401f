//! Datagrams for the fuzzers and property tests of other crates (feature `arbitrary`).
//!
//! [`ValidMad`] is a datagram that an agent of its class accepts: versions, method and attribute are consistent, and
//! the data are arbitrary. [`FaultyMad`] has one fault in its header, and names it:
//! [`header_fault`] finds it.
//!
//! ```
//! use arbitrary::{Arbitrary, Unstructured};
//! use ib_mad::{CLASSES, StatusCode, MadHeader, generate::{FaultyMad, ValidMad}, header_fault};
//! let input = [7; 500]; // the fuzzer's
//! let valid = ValidMad::arbitrary(&mut Unstructured::new(&input))?;
//! assert_eq!(header_fault(&[CLASSES], &valid.header()), StatusCode::OK);
//!
//! let faulty = FaultyMad::arbitrary(&mut Unstructured::new(&input))?;
//! assert_eq!(header_fault(&[CLASSES], &faulty.header()), faulty.fault);
//! # Ok::<(), arbitrary::Error>(())
//! ```

use alloc::vec::Vec;

use arbitrary::{Arbitrary, Error, Result, Unstructured};

use crate::{
    AttributeId, CLASSES, ClassTable, Mad, MadAddress, MadHeader, MadStatus, Method, MgmtClass,
    RmppData, RmppType, StatusCode, TransactionId, header_fault,
};

/// A class's method and attribute, as in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadKind {
    /// Management class.
    pub class: MgmtClass,
    /// Method.
    pub method: Method,
    /// Attribute.
    pub attribute: AttributeId,
}

/// Every class, method and attribute that these tables allow.
pub(crate) fn valid_kinds(tables: &[&[ClassTable]]) -> Vec<MadKind> {
    let mut kinds = Vec::new();
    for table in tables.iter().copied().flatten() {
        for entry in table.attributes {
            kinds.extend(entry.methods.iter().map(|&method| MadKind {
                class: table.class,
                method,
                attribute: entry.id,
            }));
        }
    }
    kinds
}

/// A datagram without a fault: its class, method and attribute are in the tables, and the data are arbitrary.
///
/// In a class with RMPP it is a transfer of one segment if the method has many segments, and otherwise no transfer. A
/// directed-route SMP is at the start of a route between permissive LIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidMad {
    /// The datagram.
    pub bytes: [u8; Mad::LEN],
}

impl ValidMad {
    /// The common header.
    #[must_use]
    pub fn header(&self) -> MadHeader {
        header(&self.bytes)
    }

    pub(crate) fn of(u: &mut Unstructured<'_>, kind: MadKind) -> Result<Self> {
        let mut bytes = [0; Mad::LEN];
        u.fill_buffer(&mut bytes)?;
        let is_directed = kind.class == MgmtClass::SUBN_DIRECTED;
        let is_response = kind.method.is_response();
        let hops: u8 = if is_directed {
            u.int_in_range(0..=63)?
        } else {
            0
        };
        let pointer = match is_directed && is_response {
            true => hops.saturating_add(1),
            false => 0,
        };
        let noise = header(&bytes);
        let mut mad = Mad::new(MadAddress::DIRECTED);
        mad.bytes = bytes;
        *mad.header_mut() = MadHeader::default();
        mad.header_mut()
            .set_base_version(1)
            .set_mgmt_class(kind.class)
            .set_class_version(kind.class.version())
            .set_method(kind.method)
            // A response of a directed route has the bit of its direction.
            .set_status(MadStatus(u16::from(is_directed && is_response) << 15))
            // Hop pointer and hop count: at the start of the route, in either direction.
            .set_class_specific(u16::from(pointer) << 8 | u16::from(hops))
            .set_transaction_id(TransactionId(noise.transaction_id().0.max(1)))
            .set_attribute_id(kind.attribute)
            .set_attribute_modifier(noise.attribute_modifier());
        if let Some(lids) = mad.bytes.get_mut(32..36).filter(|_| is_directed) {
            lids.fill(0xff);
        }
        if kind.class.has_rmpp_header()
            && let Some(rmpp) = mad.bytes.get_mut(MadHeader::LEN..)
            && let Ok((rmpp, _)) = RmppData::parse_mut(rmpp, MadHeader::LEN)
        {
            *rmpp = RmppData::default();
            if has_many_segments(kind.method) {
                rmpp.set_rmpp_version(1)
                    .set_rmpp_type(RmppType::DATA)
                    .set_first(true)
                    .set_last(true)
                    .set_active(true)
                    .set_segment_number(1)
                    // The length of everything after the RMPP header.
                    .set_payload_length(220);
            }
        }
        Ok(Self { bytes: mad.bytes })
    }
}

impl<'a> Arbitrary<'a> for ValidMad {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let kind = *u.choose(&valid_kinds(&[CLASSES]))?;
        Self::of(u, kind)
    }
}

/// A datagram with one named fault in its header; see [`header_fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultyMad {
    /// The fault: one of [`FaultyMad::FAULTS`].
    pub fault: StatusCode,
    /// The datagram.
    pub bytes: [u8; Mad::LEN],
}

impl FaultyMad {
    /// Faults that a header can have.
    pub const FAULTS: &'static [StatusCode] = &[
        StatusCode::BAD_VERSION,
        StatusCode::UNSUPPORTED_METHOD,
        StatusCode::UNSUPPORTED_METHOD_ATTRIBUTE,
    ];

    /// The common header.
    #[must_use]
    pub fn header(&self) -> MadHeader {
        header(&self.bytes)
    }

    pub(crate) fn of(
        u: &mut Unstructured<'_>,
        tables: &[&[ClassTable]],
        kind: MadKind,
        fault: StatusCode,
    ) -> Result<Self> {
        let mut mad = Mad::new(MadAddress::DIRECTED);
        mad.bytes = ValidMad::of(u, kind)?.bytes;
        let header = mad.header_mut();
        match fault {
            StatusCode::BAD_VERSION if u.arbitrary()? => {
                header.set_class_version(kind.class.version() ^ u.int_in_range(1..=u8::MAX)?);
            }
            StatusCode::BAD_VERSION => {
                header.set_base_version(1 ^ u.int_in_range(1..=u8::MAX)?);
            }
            StatusCode::UNSUPPORTED_METHOD => {
                let with = |method| *header.clone().set_method(Method(method));
                let is_wrong = |&method: &u8| header_fault(tables, &with(method)) == fault;
                let methods: Vec<u8> = (0..=u8::MAX).filter(is_wrong).collect();
                header.set_method(Method(*u.choose(&methods)?));
            }
            _ => {
                // An attribute that no class has, or one that does not have this method, if there is one.
                let known = tables.iter().copied().flatten();
                let known = known.filter(|table| table.class == kind.class);
                let known = known.flat_map(|table| table.attributes);
                let near: Vec<AttributeId> = known
                    .filter(|entry| !entry.methods.contains(&kind.method))
                    .map(|entry| entry.id)
                    .collect();
                let any = AttributeId(u.int_in_range(0x8000..=u16::MAX)?);
                let other = if u.arbitrary()? {
                    any
                } else {
                    near.first().copied().unwrap_or(any)
                };
                header.set_attribute_id(other);
            }
        }
        // A vendor's attribute may have the number that was drawn.
        if header_fault(tables, header) != fault {
            return Err(Error::IncorrectFormat);
        }
        Ok(Self {
            fault,
            bytes: mad.bytes,
        })
    }
}

impl<'a> Arbitrary<'a> for FaultyMad {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let kind = *u.choose(&valid_kinds(&[CLASSES]))?;
        let fault = *u.choose(Self::FAULTS)?;
        Self::of(u, &[CLASSES], kind, fault)
    }
}

/// Returns true if datagrams of this method are segments of a transfer.
fn has_many_segments(method: Method) -> bool {
    matches!(
        method,
        Method::GET_TABLE_RESP | Method::GET_MULTI | Method::GET_MULTI_RESP
    )
}

fn header(bytes: &[u8; Mad::LEN]) -> MadHeader {
    let mut mad = Mad::new(MadAddress::DIRECTED);
    mad.bytes = *bytes;
    mad.header()
}
