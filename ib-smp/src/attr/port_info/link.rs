//! Widths and speeds of a link as PortInfo has them: one value where a link runs, a set where it may.
//!
//! Pitfall: the speeds of three generations have a field each. [`PortInfo::speed`] reads all three,
//! [`PortInfo::set_speed`] writes them.

use ib_wire::{LinkSpeed, LinkWidth, Rate, code_points, flags_value};

use super::PortInfo;

code_points! {
    /// Width of a link in use as PortInfo spells it; [`width`](Self::width) gives the lanes.
    pub struct LinkWidthActive(u8) {
        X1  = 1 => "1x",
        X4  = 2 => "4x",
        X8  = 4 => "8x",
        X12 = 8 => "12x",
        /// Needs CapabilityMask2.IsLinkWidth2xSupported.
        X2  = 16 => "2x",
    }
}

code_points! {
    /// Speed of a lane in use, up to QDR. Source: `enums.csv`, enum `LINK_SPEED_ACTIVE`.
    ///
    /// Beside an extended speed devices show QDR here, so that a manager that does not know the
    /// extended fields reads a speed; the specification has [`EXTENDED`](Self::EXTENDED) for it.
    pub struct LinkSpeedActive(u8) {
        /// An extended speed is in use: see [`LinkSpeedExtActive`].
        EXTENDED = 0 => "Extended",
        /// 2.5 Gb/s.
        SDR      = 1 => "SDR",
        /// 5 Gb/s.
        DDR      = 2 => "DDR",
        /// 10 Gb/s.
        QDR      = 4 => "QDR",
    }
}

code_points! {
    /// Extended speed of a lane in use, FDR to NDR.
    pub struct LinkSpeedExtActive(u8) {
        /// The speed in use is not an extended one.
        NONE = 0 => "None",
        /// 14.0625 Gb/s.
        FDR  = 1 => "FDR",
        /// 25.78125 Gb/s.
        EDR  = 2 => "EDR",
        /// 53.125 Gb/s.
        HDR  = 4 => "HDR",
        /// 106.25 Gb/s.
        NDR  = 8 => "NDR",
    }
}

code_points! {
    /// Extended speed of a lane in use, above those of [`LinkSpeedExtActive`].
    pub struct LinkSpeedExtActive2(u8) {
        NONE = 0 => "None",
        /// 212.5 Gb/s.
        XDR  = 1 => "XDR",
    }
}

/// A width and its code, the widest last. A set of widths has the bits of its codes.
const WIDTHS: [(LinkWidth, LinkWidthActive); 5] = [
    (LinkWidth::X1, LinkWidthActive::X1),
    (LinkWidth::X2, LinkWidthActive::X2),
    (LinkWidth::X4, LinkWidthActive::X4),
    (LinkWidth::X8, LinkWidthActive::X8),
    (LinkWidth::X12, LinkWidthActive::X12),
];

/// The codes of a speed in the three fields of PortInfo. A set of speeds has the bits of its codes.
struct SpeedCodes {
    speed: LinkSpeed,
    basic: LinkSpeedActive,
    ext: LinkSpeedExtActive,
    ext2: LinkSpeedExtActive2,
}

const fn codes(speed: LinkSpeed, basic: LinkSpeedActive, ext: LinkSpeedExtActive) -> SpeedCodes {
    let ext2 = LinkSpeedExtActive2::NONE;
    SpeedCodes {
        speed,
        basic,
        ext,
        ext2,
    }
}

/// Every speed that PortInfo can spell, the slowest first.
const SPEEDS: [SpeedCodes; 8] = {
    use {LinkSpeedActive as Basic, LinkSpeedExtActive as Ext};
    [
        codes(LinkSpeed::Sdr, Basic::SDR, Ext::NONE),
        codes(LinkSpeed::Ddr, Basic::DDR, Ext::NONE),
        codes(LinkSpeed::Qdr, Basic::QDR, Ext::NONE),
        codes(LinkSpeed::Fdr, Basic::QDR, Ext::FDR),
        codes(LinkSpeed::Edr, Basic::QDR, Ext::EDR),
        codes(LinkSpeed::Hdr, Basic::QDR, Ext::HDR),
        codes(LinkSpeed::Ndr, Basic::QDR, Ext::NDR),
        SpeedCodes {
            speed: LinkSpeed::Xdr,
            basic: Basic::QDR,
            ext: Ext::NONE,
            ext2: LinkSpeedExtActive2::XDR,
        },
    ]
};

impl SpeedCodes {
    /// Returns true if the field that distinguishes this speed from the slower ones has a bit of it.
    const fn is_in(&self, basic: u8, ext: u8, ext2: u8) -> bool {
        if self.ext2.0 != 0 {
            ext2 & self.ext2.0 != 0
        } else if self.ext.0 != 0 {
            ext & self.ext.0 != 0
        } else {
            basic & self.basic.0 != 0
        }
    }
}

impl LinkWidthActive {
    /// The width; `None` for a code without a meaning.
    #[must_use]
    pub fn width(self) -> Option<LinkWidth> {
        let named = WIDTHS.iter().find(|(_, code)| *code == self)?;
        Some(named.0)
    }
}

impl From<LinkWidth> for LinkWidthActive {
    fn from(width: LinkWidth) -> Self {
        let named = WIDTHS.iter().find(|(of, _)| *of == width);
        named.map_or(Self(0), |(_, code)| *code)
    }
}

impl LinkSpeedActive {
    /// The speed, where this field alone says it: SDR, DDR or QDR.
    #[must_use]
    pub const fn speed(self) -> Option<LinkSpeed> {
        match self {
            Self::SDR => Some(LinkSpeed::Sdr),
            Self::DDR => Some(LinkSpeed::Ddr),
            Self::QDR => Some(LinkSpeed::Qdr),
            _ => None,
        }
    }
}

impl PortInfo {
    /// Width in use; `None` for a code without a meaning.
    #[must_use]
    pub fn width(&self) -> Option<LinkWidth> {
        self.link_width_active().width()
    }

    /// Sets the width in use.
    pub fn set_width(&mut self, width: LinkWidth) -> &mut Self {
        self.set_link_width_active(width.into())
    }

    /// Speed in use, by the first of the three fields that has one: `link_speed_ext_active2`,
    /// `link_speed_ext_active`, `link_speed_active`. `None` if none has a code with a meaning.
    ///
    /// The extended fields mean nothing on a port that does not know them
    /// ([`CapabilityMask::IS_EXTENDED_SPEEDS_SUPPORTED`](super::CapabilityMask)): there ask
    /// [`LinkSpeedActive::speed`]. FDR10 shows as QDR.
    ///
    /// ```
    /// use ib_smp::PortInfo;
    /// use ib_wire::{LinkSpeed, LinkWidth, Rate};
    ///
    /// let mut info = PortInfo::default();
    /// info.set_speed(LinkSpeed::Hdr).set_width(LinkWidth::X4);
    /// assert_eq!(info.speed(), Some(LinkSpeed::Hdr));
    /// assert_eq!(info.rate(), Some(Rate::GBPS_200));
    /// ```
    #[must_use]
    pub fn speed(&self) -> Option<LinkSpeed> {
        let (ext, ext2) = (self.link_speed_ext_active(), self.link_speed_ext_active2());
        let extended = SPEEDS.iter().rev().find(|codes| match codes.ext2.0 {
            0 => codes.ext.0 != 0 && codes.ext == ext,
            _ => codes.ext2 == ext2,
        });
        match extended {
            Some(codes) => Some(codes.speed),
            None => self.link_speed_active().speed(),
        }
    }

    /// Sets the speed in use, in all three fields. Beside an extended speed `link_speed_active` is QDR,
    /// as devices show it; FDR10 is QDR.
    pub fn set_speed(&mut self, speed: LinkSpeed) -> &mut Self {
        let slower = SPEEDS.iter().rev().find(|codes| codes.speed <= speed);
        if let Some(codes) = slower {
            self.set_link_speed_active(codes.basic)
                .set_link_speed_ext_active(codes.ext)
                .set_link_speed_ext_active2(codes.ext2);
        }
        self
    }

    /// Rate of the link in use; `None` where [`speed`](Self::speed) or [`width`](Self::width) is.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        Rate::of_link(self.speed()?, self.width()?)
    }

    /// The widest link that both ends can do, whether or not they may.
    #[must_use]
    pub fn widest_supported(&self, peer: &Self) -> Option<LinkWidth> {
        (self.link_width_supported() & peer.link_width_supported()).widest()
    }

    /// The widest link that both ends may use.
    #[must_use]
    pub fn widest_enabled(&self, peer: &Self) -> Option<LinkWidth> {
        (self.link_width_enabled() & peer.link_width_enabled()).widest()
    }

    /// The highest speed that both ends may use.
    #[must_use]
    pub fn fastest_enabled(&self, peer: &Self) -> Option<LinkSpeed> {
        fastest(
            self.link_speed_enabled() & peer.link_speed_enabled(),
            self.link_speed_ext_enabled() & peer.link_speed_ext_enabled(),
            self.link_speed_ext_enabled2() & peer.link_speed_ext_enabled2(),
        )
    }

    /// The highest speed that both ends can do, whether or not they may.
    #[must_use]
    pub fn fastest_supported(&self, peer: &Self) -> Option<LinkSpeed> {
        fastest(
            self.link_speed_supported() & peer.link_speed_supported(),
            self.link_speed_ext_supported() & peer.link_speed_ext_supported(),
            self.link_speed_ext_supported2() & peer.link_speed_ext_supported2(),
        )
    }
}

/// The highest speed of three sets.
pub(crate) fn fastest(
    basic: LinkSpeeds,
    ext: LinkSpeedsExt,
    ext2: LinkSpeedsExt2,
) -> Option<LinkSpeed> {
    let (basic, ext, ext2) = (basic.bits(), ext.bits(), ext2.bits());
    let highest = SPEEDS.iter().rfind(|codes| codes.is_in(basic, ext, ext2))?;
    Some(highest.speed)
}

bitflags::bitflags! {
    /// Widths that a port can do or may use. In a Set of what it may use 0 leaves it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct LinkWidths: u8 {
        /// One lane.
        const X1 = 1;
        /// Four lanes.
        const X4 = 2;
        /// Eight lanes.
        const X8 = 4;
        /// Twelve lanes.
        const X12 = 8;
        /// Two lanes.
        const X2 = 16;
    }
}

impl LinkWidths {
    /// The widest of the set; `None` if it has no width.
    #[must_use]
    pub fn widest(self) -> Option<LinkWidth> {
        let widest = WIDTHS.iter().rfind(|(_, code)| self.bits() & code.0 != 0)?;
        Some(widest.0)
    }

    /// In a Set: all that the port can do.
    pub const SET_TO_SUPPORTED: Self = Self::from_bits_retain(255);
}

bitflags::bitflags! {
    /// Speeds that a port can do or may use. In a Set of what it may use 0 leaves it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct LinkSpeeds: u8 {
        /// 2.5 Gb/s per lane.
        const SDR = 1;
        /// 5 Gb/s per lane.
        const DDR = 2;
        /// 10 Gb/s per lane.
        const QDR = 4;
    }
}

impl LinkSpeeds {
    /// In a Set: all that the port can do.
    pub const SET_TO_SUPPORTED: Self = Self::from_bits_retain(15);
}

bitflags::bitflags! {
    /// Extended speeds that a port can do or may use. In a Set of what it may use 0 leaves it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct LinkSpeedsExt: u8 {
        /// 14.0625 Gb/s per lane.
        const FDR = 1;
        /// 25.78125 Gb/s per lane.
        const EDR = 2;
        /// 53.125 Gb/s per lane.
        const HDR = 4;
        /// 106.25 Gb/s per lane.
        const NDR = 8;
    }
}

impl LinkSpeedsExt {
    /// None of them may be used.
    pub const DISABLED: Self = Self::from_bits_retain(30);
    /// In a Set: all that the port can do.
    pub const SET_TO_SUPPORTED: Self = Self::from_bits_retain(31);
}

bitflags::bitflags! {
    /// Extended speeds above those of [`LinkSpeedsExt`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct LinkSpeedsExt2: u8 {
        /// 212.5 Gb/s per lane.
        const XDR = 1;
    }
}

impl LinkSpeedsExt2 {
    /// In a Set: all that the port can do.
    pub const SET_TO_SUPPORTED: Self = Self::from_bits_retain(7);
}

flags_value!(
    LinkWidths: u8,
    LinkSpeeds: u8,
    LinkSpeedsExt: u8,
    LinkSpeedsExt2: u8,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_speed_reads_back_but_fdr10_which_is_qdr() {
        for (speed, _) in LinkSpeed::ALL {
            let mut info = PortInfo::default();
            info.set_speed(speed);
            let shown = match speed {
                LinkSpeed::Fdr10 => LinkSpeed::Qdr,
                speed => speed,
            };
            assert_eq!(info.speed(), Some(shown), "{speed}");
            assert_eq!(
                info.link_speed_active().speed(),
                Some(shown.min(LinkSpeed::Qdr))
            );
        }
    }

    #[test]
    fn an_extended_code_without_a_meaning_leaves_the_basic_speed() {
        let mut info = PortInfo::default();
        info.set_link_speed_active(LinkSpeedActive::DDR)
            .set_link_speed_ext_active(LinkSpeedExtActive(3))
            .set_link_speed_ext_active2(LinkSpeedExtActive2(2));
        assert_eq!(info.speed(), Some(LinkSpeed::Ddr));
        info.set_link_speed_active(LinkSpeedActive::EXTENDED);
        assert_eq!((info.speed(), info.rate()), (None, None));
    }

    #[test]
    fn every_width_reads_back() {
        for lanes in [1, 2, 4, 8, 12] {
            let width = LinkWidth::from_lanes(lanes).unwrap();
            let mut info = PortInfo::default();
            assert_eq!(info.set_width(width).width(), Some(width));
        }
        assert_eq!(LinkWidthActive(3).width(), None);
    }

    #[test]
    fn two_ends_agree_on_the_best_that_both_can_do() {
        let (mut a, mut b) = (PortInfo::default(), PortInfo::default());
        assert_eq!(
            (a.widest_supported(&b), a.fastest_supported(&b)),
            (None, None)
        );
        a.set_link_width_supported(LinkWidths::all())
            .set_link_speed_supported(LinkSpeeds::all())
            .set_link_speed_ext_supported(LinkSpeedsExt::all())
            .set_link_speed_ext_supported2(LinkSpeedsExt2::XDR);
        b.set_link_width_supported(LinkWidths::X1 | LinkWidths::X2)
            .set_link_speed_supported(LinkSpeeds::SDR | LinkSpeeds::DDR);
        assert_eq!(a.widest_supported(&b), Some(LinkWidth::X2));
        assert_eq!(a.fastest_supported(&b), Some(LinkSpeed::Ddr));
        b.set_link_speed_ext_supported(LinkSpeedsExt::FDR | LinkSpeedsExt::EDR);
        assert_eq!(b.fastest_supported(&a), Some(LinkSpeed::Edr));
        b.set_link_speed_ext_supported2(LinkSpeedsExt2::XDR);
        assert_eq!(a.fastest_supported(&b), Some(LinkSpeed::Xdr));
    }
}
