//! Port numbers, service levels and virtual lanes.

use core::fmt;

use super::{OutOfRange, number_value};

/// Number of a port on its node: 1..=254; 0 is a switch's management port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortNum(pub u8);

impl PortNum {
    /// Port 0: the place of a switch's own agents.
    pub const MANAGEMENT: Self = Self(0);
    /// 255 in a linear forwarding table: packets to this LID are dropped.
    pub const UNREACHABLE: Self = Self(255);
}

impl fmt::Display for PortNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

number_value!(PortNum(u8), u8::MAX);

macro_rules! nibble {
    ($(#[$meta:meta])* $name:ident, $text:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u8);

        impl $name {
            #[doc = concat!("The ", $text, " `bits`.")]
            ///
            /// # Errors
            /// [`OutOfRange`] above 15.
            pub const fn try_new(bits: u8) -> Result<Self, OutOfRange> {
                match bits {
                    0..=15 => Ok(Self(bits)),
                    _ => Err(OutOfRange {
                        name: $text,
                        found: bits as u64,
                        expected: "0..=15",
                    }),
                }
            }

            /// The low four bits of `bits`.
            #[inline]
            #[must_use]
            pub const fn from_low_bits(bits: u8) -> Self {
                Self(bits & 15)
            }

            /// The four bits on the wire.
            #[inline]
            #[must_use]
            pub const fn bits(self) -> u8 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        number_value!($name(u8), 15);
    };
}

nibble! {
    /// Service level of a packet: 0..=15; each hop maps it to a virtual lane.
    Sl, "service level"
}

nibble! {
    /// Virtual lane of a link: 0..=14 for data, 15 for subnet management.
    Vl, "virtual lane"
}

impl Sl {
    /// Service level 0.
    pub const ZERO: Self = Self(0);
}

impl Vl {
    /// Virtual lane 0.
    pub const ZERO: Self = Self(0);
    /// VL15: subnet management packets; no flow control.
    pub const MANAGEMENT: Self = Self(15);
}
