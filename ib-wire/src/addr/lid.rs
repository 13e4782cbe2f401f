//! Local identifiers: the addresses inside a subnet (IBA vol. 1, 4.1.3).

use core::fmt;

use super::{OutOfRange, number_value};

/// Local identifier of an end port or a multicast group; the subnet manager assigns it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lid(pub u16);

impl Lid {
    /// 0: no LID has been assigned.
    pub const NONE: Self = Self(0);
    /// Lowest unicast LID.
    pub const UNICAST_MIN: Self = Self(0x0001);
    /// Highest unicast LID.
    pub const UNICAST_MAX: Self = Self(0xbfff);
    /// Lowest multicast LID.
    pub const MULTICAST_MIN: Self = Self(0xc000);
    /// Highest multicast LID.
    pub const MULTICAST_MAX: Self = Self(0xfffe);
    /// 0xFFFF: whichever port receives the packet; directed-route SMPs use it.
    pub const PERMISSIVE: Self = Self(0xffff);

    /// Returns true if this is the LID of an end port: 0x0001..=0xBFFF.
    #[inline]
    #[must_use]
    pub const fn is_unicast(self) -> bool {
        matches!(self.0, 0x0001..=0xbfff)
    }

    /// Returns true if this is the LID of a multicast group: 0xC000..=0xFFFE.
    #[inline]
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        matches!(self.0, 0xc000..=0xfffe)
    }

    /// Returns true if this is 0xFFFF.
    #[inline]
    #[must_use]
    pub const fn is_permissive(self) -> bool {
        self.0 == Self::PERMISSIVE.0
    }
}

impl fmt::Display for Lid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Lid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lid({:#06x})", self.0)
    }
}

number_value!(Lid(u16), u16::MAX);

/// LID mask control: a port with LMC n owns 2^n consecutive LIDs; 0..=7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lmc(u8);

impl Lmc {
    /// One LID.
    pub const ZERO: Self = Self(0);
    /// 128 LIDs.
    pub const MAX: Self = Self(7);

    /// The LMC `bits`.
    ///
    /// # Errors
    /// [`OutOfRange`] above 7.
    pub const fn try_new(bits: u8) -> Result<Self, OutOfRange> {
        match bits {
            0..=7 => Ok(Self(bits)),
            _ => Err(OutOfRange {
                name: "LMC",
                found: bits as u64,
                expected: "0..=7",
            }),
        }
    }

    /// The three bits on the wire.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Number of LIDs that a port with this LMC owns: 1..=128.
    #[inline]
    #[must_use]
    pub const fn lid_count(self) -> u16 {
        1 << self.0
    }

    /// The low bits of a LID that choose the path.
    #[inline]
    #[must_use]
    pub const fn path_bits(self) -> u16 {
        !(u16::MAX << self.0)
    }
}

impl fmt::Display for Lmc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

number_value!(Lmc(u8), 7);

/// The LIDs of one port: 2^LMC of them from its base LID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LidRange {
    base: Lid,
    lmc: Lmc,
}

impl LidRange {
    /// The LIDs of a port with this base LID and LMC.
    ///
    /// # Errors
    /// [`OutOfRange`] if `base` is no multiple of 2^LMC or one of the LIDs is not unicast.
    pub const fn try_new(base: Lid, lmc: Lmc) -> Result<Self, OutOfRange> {
        let last = base.0 | lmc.path_bits();
        if base.0 & lmc.path_bits() == 0 && base.is_unicast() && Lid(last).is_unicast() {
            Ok(Self { base, lmc })
        } else {
            Err(OutOfRange {
                name: "base LID",
                found: base.0 as u64,
                expected: "a multiple of 2^LMC whose LIDs are all unicast",
            })
        }
    }

    /// The base LID: the lowest.
    #[must_use]
    pub const fn base(self) -> Lid {
        self.base
    }

    /// LMC of the range: it has 2^LMC LIDs.
    #[must_use]
    pub const fn lmc(self) -> Lmc {
        self.lmc
    }

    /// The highest LID.
    #[must_use]
    pub const fn last(self) -> Lid {
        Lid(self.base.0 | self.lmc.path_bits())
    }

    /// Returns true if `lid` is one of them.
    #[must_use]
    pub const fn contains(self, lid: Lid) -> bool {
        lid.0 & !self.lmc.path_bits() == self.base.0
    }

    /// All of them, the base LID first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Lid> + Clone {
        (self.base.0..=self.last().0).map(Lid)
    }
}
