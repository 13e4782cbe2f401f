//! Width and speed of a link from the fields of PortInfo that say it.

use ib_routing::{LinkSpeed, LinkWidth};
use ib_smp::{
    CapabilityMask, CapabilityMask2, LinkSpeeds, LinkSpeedsExt, LinkSpeedsExt2, LinkWidths,
    PortInfo,
};

/// Active width; `None` for a value without a name.
#[must_use]
pub fn active_width(info: &PortInfo) -> Option<LinkWidth> {
    LinkWidth::from_lanes(info.link_width_active().lanes()?)
}

/// Active speed of a lane; `None` for a value without a name.
///
/// `extended` says whether the extended fields mean something, which the CapabilityMask of the end port says
/// (of a switch that of port 0).
#[must_use]
pub fn active_speed(info: &PortInfo, extended: bool) -> Option<LinkSpeed> {
    use ib_smp::{LinkSpeed as Basic, LinkSpeedExt as Extended, LinkSpeedExt2 as Extended2};
    if extended {
        if info.link_speed_ext_active2() == Extended2::XDR {
            return Some(LinkSpeed::Xdr);
        }
        match info.link_speed_ext_active() {
            Extended::FDR => return Some(LinkSpeed::Fdr),
            Extended::EDR => return Some(LinkSpeed::Edr),
            Extended::HDR => return Some(LinkSpeed::Hdr),
            Extended::NDR => return Some(LinkSpeed::Ndr),
            _ => {}
        }
    }
    match info.link_speed_active() {
        Basic::SDR => Some(LinkSpeed::Sdr),
        Basic::DDR => Some(LinkSpeed::Ddr),
        Basic::QDR => Some(LinkSpeed::Qdr),
        _ => None,
    }
}

/// The widest width that both ends of a link can do.
#[must_use]
pub fn supported_width(here: &PortInfo, there: &PortInfo) -> Option<LinkWidth> {
    let both = here.link_width_supported() & there.link_width_supported();
    let lanes = [
        (LinkWidths::X12, 12),
        (LinkWidths::X8, 8),
        (LinkWidths::X4, 4),
        (LinkWidths::X2, 2),
        (LinkWidths::X1, 1),
    ];
    let best = lanes.iter().find(|(flag, _)| both.contains(*flag))?;
    LinkWidth::from_lanes(best.1)
}

/// The highest speed of a lane that both ends of a link can do.
#[must_use]
pub fn supported_speed(here: &PortInfo, there: &PortInfo) -> Option<LinkSpeed> {
    let both2 = here.link_speed_ext_supported2() & there.link_speed_ext_supported2();
    if both2.contains(LinkSpeedsExt2::XDR) {
        return Some(LinkSpeed::Xdr);
    }
    let both = here.link_speed_ext_supported() & there.link_speed_ext_supported();
    let extended = [
        (LinkSpeedsExt::NDR, LinkSpeed::Ndr),
        (LinkSpeedsExt::HDR, LinkSpeed::Hdr),
        (LinkSpeedsExt::EDR, LinkSpeed::Edr),
        (LinkSpeedsExt::FDR, LinkSpeed::Fdr),
    ];
    let extended = extended.iter().find(|(flag, _)| both.contains(*flag));
    if let Some(&(_, speed)) = extended {
        return Some(speed);
    }
    let both = here.link_speed_supported() & there.link_speed_supported();
    let basic = [
        (LinkSpeeds::QDR, LinkSpeed::Qdr),
        (LinkSpeeds::DDR, LinkSpeed::Ddr),
        (LinkSpeeds::SDR, LinkSpeed::Sdr),
    ];
    let basic = basic.iter().find(|(flag, _)| both.contains(*flag));
    basic.map(|&(_, speed)| speed)
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
