//! Width and speed of a link, and the rate that both make (IBA vol. 1, 14.2.5.6 and 15.2.5.16).

use core::{fmt, str::FromStr};

use crate::{Rate, table::UnknownName};

/// Lanes of a link: 1, 2, 4, 8 or 12. Widths compare by their lanes.
///
/// PortInfo has its own code for each width: `ib_smp::LinkWidthActive`.
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

/// Signalling rate of a lane, by the name that tools print. Speeds compare by their rates.
///
/// PortInfo spreads a speed over three fields: `ib_smp::PortInfo::speed` reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LinkSpeed {
    /// 2.5 Gb/s.
    Sdr,
    /// 5 Gb/s.
    Ddr,
    /// 10 Gb/s.
    Qdr,
    /// 10.3125 Gb/s, a vendor's speed with the coding of FDR. PortInfo shows it as QDR.
    Fdr10,
    /// 14.0625 Gb/s.
    Fdr,
    /// 25.78125 Gb/s.
    Edr,
    /// 53.125 Gb/s.
    Hdr,
    /// 106.25 Gb/s.
    Ndr,
    /// 212.5 Gb/s.
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

    /// Signalling rate of one lane in Mb/s, rounded down.
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

    /// Nominal rate of one lane in units of 0.1 Gb/s, from which the codes of [`Rate`] are named.
    const fn nominal_lane_tenths(self) -> u16 {
        match self {
            Self::Sdr => 25,
            Self::Ddr => 50,
            // SA records have no rate of FDR10: it counts as QDR.
            Self::Qdr | Self::Fdr10 => 100,
            Self::Fdr => 140,
            Self::Edr => 250,
            Self::Hdr => 500,
            Self::Ndr => 1_000,
            Self::Xdr => 2_000,
        }
    }
}

impl fmt::Display for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL
            .iter()
            .find(|(speed, _)| speed == self)
            .map_or("?", |(_, name)| name);
        f.pad(name)
    }
}

impl FromStr for LinkSpeed {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(speed, _)| *speed)
            .ok_or(UnknownName("LinkSpeed"))
    }
}

impl Rate {
    /// Rate of a link: its lanes times the nominal rate of one.
    ///
    /// `None` for a pair that has no code, as 8 lanes of XDR.
    /// Source: IBA vol. 1, 15.2.5.16; `enums.csv`, enum `RATE`.
    ///
    /// ```
    /// use ib_wire::{LinkSpeed, LinkWidth, Rate};
    ///
    /// assert_eq!(Rate::of_link(LinkSpeed::Hdr, LinkWidth::X4), Some(Rate::GBPS_200));
    /// ```
    #[must_use]
    pub fn of_link(speed: LinkSpeed, width: LinkWidth) -> Option<Self> {
        let lanes = u16::from(width.lanes());
        let tenths = speed.nominal_lane_tenths().checked_mul(lanes)?;
        Self::ORDER
            .into_iter()
            .find(|rate| rate.tenths_of_gbps() == Some(tenths))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rate_is_the_rate_of_a_link() {
        let widths = [1, 2, 4, 8, 12].map(|lanes| LinkWidth::from_lanes(lanes).unwrap());
        let links = LinkSpeed::ALL.map(|(speed, _)| widths.map(|width| (speed, width)));
        let rates = links
            .as_flattened()
            .iter()
            .filter_map(|&(speed, width)| Rate::of_link(speed, width));
        let rates: std::collections::BTreeSet<Rate> = rates.collect();
        assert_eq!(rates.len(), Rate::ORDER.len(), "{rates:?}");
    }

    #[test]
    fn rates_of_links_are_those_that_tools_print() {
        for (speed, width, rate) in [
            (LinkSpeed::Sdr, LinkWidth::X1, Some(Rate::GBPS_2_5)),
            (LinkSpeed::Qdr, LinkWidth::X4, Some(Rate::GBPS_40)),
            (LinkSpeed::Fdr10, LinkWidth::X4, Some(Rate::GBPS_40)),
            (LinkSpeed::Fdr, LinkWidth::X4, Some(Rate::GBPS_56)),
            (LinkSpeed::Edr, LinkWidth::X12, Some(Rate::GBPS_300)),
            (LinkSpeed::Ndr, LinkWidth::X2, Some(Rate::GBPS_200)),
            (LinkSpeed::Xdr, LinkWidth::X4, Some(Rate::GBPS_800)),
            (LinkSpeed::Xdr, LinkWidth::X8, None),
            (LinkSpeed::Xdr, LinkWidth::X12, None),
        ] {
            assert_eq!(Rate::of_link(speed, width), rate, "{width} {speed}");
        }
    }

    #[test]
    fn speeds_read_back_as_printed() {
        for (speed, name) in LinkSpeed::ALL {
            assert_eq!(name.parse(), Ok(speed));
            assert_eq!(speed.to_string(), name);
        }
        assert!("ZDR".parse::<LinkSpeed>().is_err());
    }
}
