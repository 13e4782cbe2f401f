//! Width and speed of links (IBA vol. 1, PortInfo), by the names that tools print.

use core::{fmt, str::FromStr};

/// Lanes of a link: 1, 2, 4, 8 or 12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkWidth(u8);

impl LinkWidth {
    /// One lane.
    pub const X1: Self = Self(1);
    /// Two lanes.
    pub const X2: Self = Self(2);
    /// Four lanes, the usual cable.
    pub const X4: Self = Self(4);
    /// Eight lanes.
    pub const X8: Self = Self(8);
    /// Twelve lanes.
    pub const X12: Self = Self(12);

    /// The width of so many lanes, if links have it.
    #[must_use]
    pub const fn from_lanes(lanes: u8) -> Option<Self> {
        match lanes {
            1 | 2 | 4 | 8 | 12 => Some(Self(lanes)),
            _ => None,
        }
    }

    /// Number of lanes.
    #[must_use]
    pub const fn lanes(self) -> u8 {
        self.0
    }
}

impl fmt::Display for LinkWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x", self.0)
    }
}

/// Signalling rate of a lane, by the name that tools print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LinkSpeed {
    /// 2.5 Gbit/s.
    Sdr,
    /// 5 Gbit/s.
    Ddr,
    /// 10 Gbit/s.
    Qdr,
    /// 10.3125 Gbit/s, a vendor's speed with the coding of FDR.
    Fdr10,
    /// 14.0625 Gbit/s.
    Fdr,
    /// 25.78125 Gbit/s.
    Edr,
    /// 53.125 Gbit/s.
    Hdr,
    /// 106.25 Gbit/s.
    Ndr,
    /// 212.5 Gbit/s.
    Xdr,
}

impl LinkSpeed {
    /// All speeds with their names, the slowest first.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Sdr, "SDR"),
        (Self::Ddr, "DDR"),
        (Self::Qdr, "QDR"),
        (Self::Fdr10, "FDR10"),
        (Self::Fdr, "FDR"),
        (Self::Edr, "EDR"),
        (Self::Hdr, "HDR"),
        (Self::Ndr, "NDR"),
        (Self::Xdr, "XDR"),
    ];

    /// Signalling rate of one lane in Mbit/s, rounded down.
    #[must_use]
    pub const fn lane_mbps(self) -> u32 {
        match self {
            Self::Sdr => 2_500,
            Self::Ddr => 5_000,
            Self::Qdr => 10_000,
            Self::Fdr10 => 10_312,
            Self::Fdr => 14_062,
            Self::Edr => 25_781,
            Self::Hdr => 53_125,
            Self::Ndr => 106_250,
            Self::Xdr => 212_500,
        }
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL
            .iter()
            .find(|(speed, _)| speed == self)
            .map_or("?", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for LinkSpeed {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(speed, _)| *speed)
            .ok_or(())
    }
}
