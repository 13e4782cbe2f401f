//! Addresses, keys and other small values of the wire.

mod gid;
mod guid;
mod lid;
mod pkey;
mod port;
mod psn;
mod qpn;

pub use gid::{Gid, GidPrefix, MulticastGid, MulticastScope, UnicastGid};
pub use guid::Guid;
pub use lid::{Lid, LidRange, Lmc};
pub use pkey::{MKey, PKey, PKeyMembership, PKeyParts, QKey};
pub use port::{PortNum, Sl, Vl};
pub use psn::Psn;
pub use qpn::Qpn;

/// A value does not fit the bits that the wire has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {found:#x} is out of range, expected {expected}")]
pub struct OutOfRange {
    /// The type whose range was left.
    pub name: &'static str,
    /// The value found.
    pub found: u64,
    /// The legal range, in words.
    pub expected: &'static str,
}

/// Text does not spell an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a {name}, expected {expected}")]
pub struct BadAddress {
    /// The type that was to be read.
    pub name: &'static str,
    /// What would have been right, in words.
    pub expected: &'static str,
}

/// Declares that a newtype over an integer is a field's value, `serde` number and arbitrary.
macro_rules! number_value {
    ($name:ident($int:ident), $mask:expr) => {
        impl crate::table::FieldValue for $name {
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                Self(bits as $int & $mask)
            }

            #[inline(always)]
            fn to_bits(self) -> u64 {
                self.0.into()
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(&self.0, serializer)
            }
        }

        #[cfg(feature = "arbitrary")]
        impl<'a> arbitrary::Arbitrary<'a> for $name {
            fn arbitrary(u: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
                let bits: $int = u.arbitrary()?;
                Ok(Self(bits & $mask))
            }
        }
    };
}
use number_value;
