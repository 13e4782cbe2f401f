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
    /// The form that is expected, in words.
    pub expected: &'static str,
}

/// The number that a text spells, as options and files of the field have it: decimal digits, or `0x`
/// and hexadecimal ones. `None` for a sign, a space, no digits, or more than `max`.
///
/// ```
/// use ib_wire::addr::number;
/// assert_eq!(number("0xBFFF", 0xffff), Some(49151));
/// assert_eq!(number("49151", 0xffff), Some(49151));
/// assert_eq!(number("+7", 0xffff), None);
/// assert_eq!(number("65536", 0xffff), None);
/// ```
#[must_use]
pub fn number(text: &str, max: u64) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => of_digits(digits, 16, max),
        None => of_digits(text, 10, max),
    }
}

/// The number that a text spells in hexadecimal digits, with `0x` before them or not: how the field's tools
/// print GUIDs, and files of tables their entries. `None` as of [`number`].
///
/// ```
/// use ib_wire::addr::hexadecimal;
/// assert_eq!(hexadecimal("0xff", 0xff), Some(255));
/// assert_eq!(hexadecimal("ff", 0xff), Some(255));
/// assert_eq!(hexadecimal("+f", 0xff), None);
/// assert_eq!(hexadecimal("0x+f", 0xff), None);
/// assert_eq!(hexadecimal("100", 0xff), None);
/// ```
#[must_use]
pub fn hexadecimal(text: &str, max: u64) -> Option<u64> {
    let bare = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    of_digits(bare.unwrap_or(text), 16, max)
}

/// Digits and nothing else: the standard library's readers take a sign.
fn of_digits(digits: &str, radix: u32, max: u64) -> Option<u64> {
    let are_digits = digits.chars().all(|digit| digit.is_digit(radix));
    let value = u64::from_str_radix(digits, radix).ok();
    value.filter(|&value| are_digits && value <= max)
}

/// Declares that a newtype over an integer is a field's value, `serde` number, arbitrary, and read from
/// text: what `Display` prints, in decimal digits or `0x` and hexadecimal ones.
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

        impl core::str::FromStr for $name {
            type Err = crate::addr::BadAddress;

            /// Reads decimal digits, or `0x` and hexadecimal ones; a number that does not fit is none.
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                const MOST: $int = $mask;
                match crate::addr::number(text, MOST.into()) {
                    Some(number) => Ok(Self(number as $int)),
                    None => Err(crate::addr::BadAddress {
                        name: stringify!($name),
                        expected: concat!("a number of at most ", stringify!($mask)),
                    }),
                }
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serde::Serialize::serialize(&self.0, serializer)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let number: $int = serde::Deserialize::deserialize(deserializer)?;
                if (0..=$mask).contains(&number) {
                    Ok(Self(number))
                } else {
                    let found = serde::de::Unexpected::Unsigned(number.into());
                    let expected = concat!("a number of at most ", stringify!($mask));
                    Err(serde::de::Error::invalid_value(found, &expected))
                }
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

/// Declares that a type is read by `serde` from the text that it prints.
#[cfg(feature = "serde")]
macro_rules! text_value {
    ($name:ident) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;

                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        f.write_str(concat!("the text of a ", stringify!($name)))
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}
#[cfg(feature = "serde")]
use text_value;

#[cfg(test)]
mod tests;
