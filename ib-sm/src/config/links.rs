//! Widths and speeds that the operator holds links to, by OpenSM's options.
//!
//! Codes are those of PortInfo's Enabled fields. The highest code leaves a link all that it can do, which is what
//! it has from the start; 0 leaves it as it is.

use ib_smp::{LinkSpeeds, LinkSpeedsExt, LinkWidths, PortInfo};

/// What links may use; `None` leaves the ports as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForcedLinks {
    /// Widths (`force_link_width`).
    pub width: Option<LinkWidths>,
    /// Speeds up to QDR (`force_link_speed`).
    pub speed: Option<LinkSpeeds>,
    /// Speeds above QDR (`force_link_speed_ext`; 30 turns them off).
    pub speed_ext: Option<LinkSpeedsExt>,
}

impl ForcedLinks {
    pub(super) fn set_width(&mut self, code: u8) {
        self.width =
            chosen(code, LinkWidths::SET_TO_SUPPORTED.bits()).map(LinkWidths::from_bits_retain);
    }

    pub(super) fn set_speed(&mut self, code: u8) {
        self.speed =
            chosen(code, LinkSpeeds::SET_TO_SUPPORTED.bits()).map(LinkSpeeds::from_bits_retain);
    }

    pub(super) fn set_speed_ext(&mut self, code: u8) {
        let all = LinkSpeedsExt::SET_TO_SUPPORTED.bits();
        self.speed_ext = chosen(code, all).map(LinkSpeedsExt::from_bits_retain);
    }

    /// Puts into PortInfo what its port may use of this. Where the port can do nothing of what is chosen it keeps
    /// what it has: a link that is slower or faster than wanted is better than none.
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

/// A code that says something else than to use all, or to leave it.
fn chosen(code: u8, all: u8) -> Option<u8> {
    (code != 0 && code != all).then_some(code)
}
