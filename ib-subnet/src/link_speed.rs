//! Width and speed of a link from the fields of PortInfo that say it.

use ib_routing::{LinkSpeed, LinkWidth};
use ib_smp::{CapabilityMask, CapabilityMask2, LinkSpeedsExt, PortInfo};

/// Active width; `None` for a value without a name.
#[must_use]
pub fn active_width(info: &PortInfo) -> Option<LinkWidth> {
    info.width()
}

/// Active speed of a lane; `None` for a value without a name.
///
/// `extended` says whether the extended fields mean something, which the CapabilityMask of the end port says
/// (of a switch that of port 0).
#[must_use]
pub fn active_speed(info: &PortInfo, extended: bool) -> Option<LinkSpeed> {
    if extended {
        info.speed()
    } else {
        info.link_speed_active().speed()
    }
}

/// The widest width that both ends of a link can do.
#[must_use]
pub fn supported_width(here: &PortInfo, there: &PortInfo) -> Option<LinkWidth> {
    here.widest_supported(there)
}

/// The highest speed of a lane that both ends of a link can do.
#[must_use]
pub fn supported_speed(here: &PortInfo, there: &PortInfo) -> Option<LinkSpeed> {
    here.fastest_supported(there)
}

/// Whether a device shows its speeds only with bit 31 of PortInfo's modifier: it knows NDR or XDR. Only the
/// capabilities of an end port count.
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
