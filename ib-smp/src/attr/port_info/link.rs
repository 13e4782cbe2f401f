//! Widths and speeds of a link as PortInfo has them: one value where a link runs, a set where it may.
//!
//! The trap: the speeds of three generations stand in three fields, and a link of a later one shows QDR
//! or nothing in the earlier fields.

use ib_wire::{code_points, flags_value};

code_points! {
    /// Width of a link in use: lanes in each direction.
    pub struct LinkWidth(u8) {
        X1  = 1 => "1x",
        X4  = 2 => "4x",
        X8  = 4 => "8x",
        X12 = 8 => "12x",
        /// Needs CapabilityMask2.IsLinkWidth2xSupported.
        X2  = 16 => "2x",
    }
}

impl LinkWidth {
    /// Lanes in each direction; `None` for a code without a meaning.
    #[must_use]
    pub const fn lanes(self) -> Option<u8> {
        match self {
            Self::X1 => Some(1),
            Self::X2 => Some(2),
            Self::X4 => Some(4),
            Self::X8 => Some(8),
            Self::X12 => Some(12),
            _ => None,
        }
    }
}

code_points! {
    /// Speed of a lane in use.
    pub struct LinkSpeed(u8) {
        /// An extended speed is in use: see [`LinkSpeedExt`].
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
    /// Extended speed of a lane in use.
    pub struct LinkSpeedExt(u8) {
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
    /// Extended speed of a lane in use, above those of [`LinkSpeedExt`].
    pub struct LinkSpeedExt2(u8) {
        NONE = 0 => "None",
        /// 212.5 Gb/s.
        XDR  = 1 => "XDR",
    }
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
