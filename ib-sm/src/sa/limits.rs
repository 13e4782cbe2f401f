//! What links carry: MTU and rate of the weakest on a way (IBA vol. 1, 14.2.5.6).

use ib_smp::{LinkSpeed, LinkSpeedExt, LinkSpeedExt2, PortInfo};
use ib_wire::{Mtu, Rate};

/// The weakest link so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) mtu: Mtu,
    pub(super) rate: Rate,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            mtu: Mtu::MTU_4096,
            rate: Rate::GBPS_1200,
        }
    }
}

impl Limits {
    /// Takes a port on the way into account.
    pub(super) fn pass(&mut self, port: &PortInfo) {
        let mtu = port.mtu_cap().min(port.neighbor_mtu());
        if mtu != Mtu(0) {
            self.mtu = self.mtu.min(mtu);
        }
        let rate = rate(port);
        if rate.is_some_and(|rate| rate.cmp_rate(self.rate).is_some_and(|order| order.is_lt())) {
            self.rate = rate.unwrap_or(self.rate);
        }
    }
}

/// What a link carries: its lanes times their speed.
pub(super) fn rate(port: &PortInfo) -> Option<Rate> {
    let tenths = match (
        port.link_speed_ext_active2(),
        port.link_speed_ext_active(),
        port.link_speed_active(),
    ) {
        (LinkSpeedExt2::XDR, _, _) => 2000,
        (_, LinkSpeedExt::NDR, _) => 1000,
        (_, LinkSpeedExt::HDR, _) => 500,
        (_, LinkSpeedExt::EDR, _) => 250,
        (_, LinkSpeedExt::FDR, _) => 140,
        (_, _, LinkSpeed::QDR) => 100,
        (_, _, LinkSpeed::DDR) => 50,
        (_, _, LinkSpeed::SDR) => 25,
        _ => return None,
    };
    let lanes = u32::from(port.link_width_active().lanes()?);
    match lanes.saturating_mul(tenths) {
        25 => Some(Rate::GBPS_2_5),
        50 => Some(Rate::GBPS_5),
        100 => Some(Rate::GBPS_10),
        140 => Some(Rate::GBPS_14),
        200 => Some(Rate::GBPS_20),
        250 => Some(Rate::GBPS_25),
        280 => Some(Rate::GBPS_28),
        300 => Some(Rate::GBPS_30),
        400 => Some(Rate::GBPS_40),
        500 => Some(Rate::GBPS_50),
        560 => Some(Rate::GBPS_56),
        600 => Some(Rate::GBPS_60),
        800 => Some(Rate::GBPS_80),
        1000 => Some(Rate::GBPS_100),
        1120 => Some(Rate::GBPS_112),
        1200 => Some(Rate::GBPS_120),
        1680 => Some(Rate::GBPS_168),
        2000 => Some(Rate::GBPS_200),
        3000 => Some(Rate::GBPS_300),
        4000 => Some(Rate::GBPS_400),
        6000 => Some(Rate::GBPS_600),
        8000 => Some(Rate::GBPS_800),
        12000 => Some(Rate::GBPS_1200),
        _ => None,
    }
}
