//! Globally unique identifiers (EUI-64) of nodes, ports and systems.

use core::{fmt, str::FromStr};

use super::BadAddress;

/// EUI-64 of a node, a port or a system; the manufacturer assigns it. Zero means none.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub u64);

impl Guid {
    /// Zero: none.
    pub const NONE: Self = Self(0);
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guid({:#018x})", self.0)
    }
}

impl FromStr for Guid {
    type Err = BadAddress;

    /// Reads hexadecimal digits with or without `0x`, or the four groups that sysfs prints
    /// (`0002:c903:00a1:b2c3`).
    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let bad = BadAddress {
            name: "GUID",
            expected: "up to 16 hexadecimal digits, or four groups of four",
        };
        let text = text.strip_prefix("0x").unwrap_or(text);
        let digits = text.bytes().filter(|&byte| byte != b':');
        let whole = match text.split(':').count() {
            1 => matches!(digits.clone().count(), 1..=16),
            4 => text.split(':').all(|group| group.len() == 4),
            _ => false,
        };
        let value = digits.into_iter().try_fold(0u64, |value, byte| {
            let digit = char::from(byte).to_digit(16)?;
            Some(value << 4 | u64::from(digit))
        });
        value.filter(|_| whole).map(Self).ok_or(bad)
    }
}

#[cfg(feature = "serde")]
super::text_value!(Guid);

#[cfg(feature = "serde")]
impl serde::Serialize for Guid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl crate::table::FieldValue for Guid {
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0
    }
}

#[cfg(feature = "arbitrary")]
impl<'a> arbitrary::Arbitrary<'a> for Guid {
    fn arbitrary(u: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self(u.arbitrary()?))
    }
}
