//! PathRecord: how two ports reach each other along the tables that are installed
//! (IBA vol. 1, 15.2.5.16 and 15.4.1).
//!
//! The path is walked port by port: MTU and rate are those of its weakest link. A query that names
//! neither end is answered as far as [`MAX_PATHS`] go.

use alloc::vec::Vec;

use ib_mad::SaStatus;
use ib_sa::{ComponentMask, PathComponents, PathRecord};
use ib_smp::{LinkSpeed, LinkSpeedExt, LinkSpeedExt2, PortInfo};
use ib_wire::{Gid, GidPrefix, Lid, Mtu, PKey, PortNum, Rate, addr::LidRange};

use super::{View, records::end_ports};
use crate::subnet::{Node, PortRef};

/// Paths that a table may have.
pub(super) const MAX_PATHS: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
struct End<'a> {
    at: PortRef,
    node: &'a Node,
    lids: LidRange,
}

/// The paths that a query asks for.
///
/// # Errors
/// The status of the answer, where there are too many, or the GIDs are nobody's.
pub(super) fn paths(
    view: View<'_>,
    template: &PathRecord,
    mask: ComponentMask,
) -> Result<Vec<PathRecord>, SaStatus> {
    let has = |component: PathComponents| mask.0 & component.bits() != 0;
    let sgid = has(PathComponents::SGID).then(|| template.sgid());
    let slid = has(PathComponents::SLID).then(|| template.slid());
    let dgid = has(PathComponents::DGID).then(|| template.dgid());
    let dlid = has(PathComponents::DLID).then(|| template.dlid());
    let sources = ends(view, sgid, slid);
    let destinations = ends(view, dgid, dlid);
    let missing = |gid: Option<Gid>, ends: &[End<'_>]| gid.is_some() && ends.is_empty();
    if missing(sgid, &sources) || missing(dgid, &destinations) {
        return Err(SaStatus::REQ_INVALID_GID);
    }
    if sources.len().saturating_mul(destinations.len()) > MAX_PATHS {
        return Err(SaStatus::NO_RESOURCES);
    }
    let mut found = Vec::new();
    for &source in &sources {
        for &destination in &destinations {
            let slid = slid.unwrap_or(source.lids.base());
            let dlid = dlid.unwrap_or(destination.lids.base());
            let path = path(view, source, destination, slid, dlid);
            found.extend(path.and_then(|path| asked_for(path, template, mask)));
        }
    }
    Ok(found)
}

/// End ports by GID and LID, where they are given. Every port answers to the default prefix too.
fn ends(view: View<'_>, gid: Option<Gid>, lid: Option<Lid>) -> Vec<End<'_>> {
    let all = end_ports(view).map(|(at, node, lids)| End { at, node, lids });
    all.filter(|end| {
        let guid = end.node.port(end.at.port).map(|port| port.guid);
        let named = gid.is_none_or(|gid| {
            let prefixes = [view.config.subnet_prefix, GidPrefix::DEFAULT];
            prefixes.contains(&gid.prefix()) && guid == Some(gid.guid())
        });
        let owned = |lid: Lid| lid >= end.lids.base() && lid <= end.lids.last();
        named && lid.is_none_or(owned)
    })
    .collect()
}

/// The path as it is, before anything is asked of it.
fn path(
    view: View<'_>,
    source: End<'_>,
    destination: End<'_>,
    slid: Lid,
    dlid: Lid,
) -> Option<PathRecord> {
    let routes = view.plan.routes.as_ref()?;
    let same = source.at == destination.at;
    let mut limits = Limits::default();
    let mut here = source.at;
    if !same {
        // Leave the source: a CA by its cable, a switch by its table.
        if !source.node.is_switch() {
            limits.pass(view.subnet.port(here)?.info.as_ref()?);
            here = view.subnet.port(here)?.peer?;
        }
        let mut hops = 0u8;
        while here.node != destination.at.node {
            let node = view.subnet.node(here.node)?;
            let switch = node.switch.as_ref()?.routed?;
            if here.port != PortNum(0) {
                limits.pass(node.port(here.port)?.info.as_ref()?);
            }
            let exit = PortRef {
                node: here.node,
                port: routes.port(switch, dlid),
            };
            let exit = view.subnet.port(exit)?;
            limits.pass(exit.info.as_ref()?);
            here = exit.peer?;
            hops = hops.checked_add(1).filter(|&hops| hops <= 64)?;
        }
        limits.pass(view.subnet.port(here)?.info.as_ref()?);
    } else {
        limits.pass(view.subnet.port(here)?.info.as_ref()?);
    }
    let gid = |end: End<'_>| {
        let guid = end.node.port(end.at.port)?.guid;
        Some(Gid::new(view.config.subnet_prefix, guid))
    };
    let mut record = PathRecord::default();
    record
        .set_sgid(gid(source)?)
        .set_dgid(gid(destination)?)
        .set_slid(slid)
        .set_dlid(dlid)
        .set_reversible(true)
        .set_p_key(PKey(0xffff))
        .set_sl(routes.sl(slid, dlid))
        .set_mtu_selector(ib_sa::Selector::EXACTLY)
        .set_mtu(limits.mtu)
        .set_rate_selector(ib_sa::Selector::EXACTLY)
        .set_rate(limits.rate)
        .set_packet_life_time_selector(ib_sa::Selector::EXACTLY)
        .set_packet_life_time(if same {
            0
        } else {
            view.config.packet_life_time
        });
    Some(record)
}

/// Fits a path to what a query asks of MTU, rate and lifetime; `None` if it cannot.
fn asked_for(
    mut path: PathRecord,
    template: &PathRecord,
    mask: ComponentMask,
) -> Option<PathRecord> {
    use PathComponents as C;
    let has = |component: C| mask.0 & component.bits() != 0;
    if has(C::MTU_SELECTOR) && has(C::MTU) {
        path.set_mtu(
            template
                .mtu_selector()
                .choose_mtu(template.mtu(), path.mtu())?,
        );
    }
    if has(C::RATE_SELECTOR) && has(C::RATE) {
        path.set_rate(
            template
                .rate_selector()
                .choose_rate(template.rate(), path.rate())?,
        );
    }
    if has(C::PACKET_LIFE_TIME_SELECTOR) && has(C::PACKET_LIFE_TIME) {
        let selector = template.packet_life_time_selector();
        let (wanted, found) = (template.packet_life_time(), path.packet_life_time());
        path.set_packet_life_time(selector.choose_packet_life_time(wanted, found)?);
    }
    // There is one partition, and every port is a full member of it.
    if has(C::P_KEY) && template.p_key().0 & 0x7fff != 0x7fff {
        return None;
    }
    if has(C::SL) && template.sl() != path.sl() {
        return None;
    }
    Some(path)
}

/// The weakest link so far.
#[derive(Clone, Copy, Debug)]
struct Limits {
    mtu: Mtu,
    rate: Rate,
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
    fn pass(&mut self, port: &PortInfo) {
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
fn rate(port: &PortInfo) -> Option<Rate> {
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
