//! Widths and speeds that the operator holds links to, by OpenSM's options.
//!
//! Codes are those of PortInfo's Enabled fields. The highest code means all that a port supports; 0 leaves the port as
//! it is.

use alloc::string::{String, ToString as _};

use ib_smp::{LinkSpeeds, LinkSpeedsExt, LinkWidths, PortInfo};

use super::codec::{Codec, Describe, narrow};

/// Widths and speeds that links may use; `None` leaves the ports as they are, `SET_TO_SUPPORTED` is all that a port supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForcedLinks {
    /// Widths (`force_link_width`).
    pub width: Option<LinkWidths>,
    /// Speeds up to QDR (`force_link_speed`).
    pub speed: Option<LinkSpeeds>,
    /// Speeds above QDR (`force_link_speed_ext`; 30 turns them off).
    pub speed_ext: Option<LinkSpeedsExt>,
}

/// Codes of `force_link_width`.
pub(super) struct WidthCodes;
/// Codes of `force_link_speed`.
pub(super) struct SpeedCodes;
/// Codes of `force_link_speed_ext`.
pub(super) struct SpeedExtCodes;

macro_rules! codes {
    ($($codec:ident: $type:ident, $max:literal;)*) => {$(
        impl Describe for $codec {
            fn expected(&self) -> String {
                concat!("a number from 0 to ", stringify!($max)).into()
            }
        }

        impl Codec<Option<$type>> for $codec {
            fn read(&self, text: &str) -> Option<Option<$type>> {
                let code: u8 = narrow(text, 0, $max)?;
                Some((code != 0).then(|| $type::from_bits_retain(code)))
            }

            fn write(&self, value: &Option<$type>) -> String {
                value.map_or(0, |codes| codes.bits()).to_string()
            }
        }
    )*};
}

codes! {
    WidthCodes: LinkWidths, 255;
    SpeedCodes: LinkSpeeds, 15;
    SpeedExtCodes: LinkSpeedsExt, 31;
}

impl ForcedLinks {
    /// Puts the limits into PortInfo as far as the port supports them. A port that supports none of the chosen values
    /// keeps its own: a link that is slower or faster than wanted is better than none.
    pub(crate) fn apply(&self, info: &mut PortInfo) {
        if let Some(width) = self.width.map(|width| width & info.link_width_supported())
            && !width.is_empty()
        {
            info.set_link_width_enabled(width);
        }
        if let Some(speed) = self.speed.map(|speed| speed & info.link_speed_supported())
            && !speed.is_empty()
        {
            info.set_link_speed_enabled(speed);
        }
        let supported = info.link_speed_ext_supported();
        match self.speed_ext {
            Some(LinkSpeedsExt::DISABLED) if !supported.is_empty() => {
                info.set_link_speed_ext_enabled(LinkSpeedsExt::DISABLED);
            }
            Some(speed) if speed.intersects(supported) => {
                info.set_link_speed_ext_enabled(speed & supported);
            }
            _ => {}
        }
    }
}
