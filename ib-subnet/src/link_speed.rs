//! The active speed of a link, which depends on a bit in the PortInfo of another port.

use ib_routing::LinkSpeed;
use ib_smp::{CapabilityMask, CapabilityMask2, LinkSpeedsExt, PortInfo};

/// The active speed of a lane; `None` for an undefined value.
///
/// `extended` is whether the port supports extended speeds. This is a bit of the CapabilityMask of the end port,
/// which on a switch is port 0. Without it the extended fields have no meaning.
#[must_use]
pub fn active_speed(info: &PortInfo, extended: bool) -> Option<LinkSpeed> {
    if extended {
        info.speed()
    } else {
        info.link_speed_active().speed()
    }
}

/// Returns true if a device shows its speeds only with bit 31 of PortInfo's modifier, because it supports NDR or XDR.
/// The capabilities count only at an end port.
pub(crate) fn has_speeds_beyond_hdr(info: &PortInfo, is_end_port: bool) -> bool {
    let announced = is_end_port
        && info
            .capability_mask()
            .contains(CapabilityMask::IS_CAPABILITY_MASK2_SUPPORTED)
        && info
            .capability_mask2()
            .contains(CapabilityMask2::IS_LINK_SPEED_NDR_SUPPORTED);
    announced || info.link_speed_ext_supported().contains(LinkSpeedsExt::NDR)
}
