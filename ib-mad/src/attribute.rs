//! Attributes: what a management datagram gets or sets (IBA vol. 1, 13.4.8).

use core::fmt;

use ib_wire::table::{FieldValue, Layout};
use zerocopy::{Immutable, IntoBytes};

use crate::MgmtClass;

/// Number of an attribute; its meaning depends on the management class.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttributeId(pub u16);

impl fmt::Display for AttributeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl fmt::Debug for AttributeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AttributeId({:#06x})", self.0)
    }
}

impl FieldValue for AttributeId {
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self(bits as u16)
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0.into()
    }
}

/// A structure that is the data of a management datagram.
pub trait Attribute: Sized {
    /// The attribute's number in its class.
    const ID: AttributeId;
    /// Name, length and fields.
    const LAYOUT: &'static Layout;

    /// First byte of the structure in a datagram of `class`.
    #[must_use]
    fn offset(class: MgmtClass) -> usize {
        class.data_offset()
    }

    /// Returns true if these values can be of this structure, where two structures share a number.
    #[must_use]
    fn is_plausible(&self) -> bool {
        true
    }
}

/// Writes `value` where a datagram of `class` has its attribute; the data after it become zero.
#[doc(hidden)]
pub fn write_attribute<T>(bytes: &mut [u8; 256], class: MgmtClass, value: &T)
where
    T: Attribute + IntoBytes + Immutable,
{
    let data = bytes.get_mut(T::offset(class)..class.data_end());
    fill_with(data.unwrap_or_default(), value.as_bytes());
}

/// Copies `from` to the front of `to`, as far as it has room, and sets the rest to zero.
pub(crate) fn fill_with(to: &mut [u8], from: &[u8]) {
    let len = from.len().min(to.len());
    let (front, rest) = to.split_at_mut(len);
    front.copy_from_slice(from.get(..len).unwrap_or_default());
    rest.fill(0);
}
