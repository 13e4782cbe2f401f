//! Torus-2QoS (`torus-2QoS`): dimension order on 2D and 3D tori and meshes, with two levels of QoS.
//!
//! Needs the configuration of OpenSM's engine, which names the radices and seeds the directions. A
//! packet moves along x, then y, then z. Its SL says which datelines its path crosses, and the SLtoVL
//! tables, which depend on input and output port, make that one lane bit: 2 lanes a level on a whole
//! torus. Broken rings are passed the long way round. Next to a failed switch a path turns early; the
//! turn back into dimension order, which the order forbids, takes a second pair of lanes. SLs do not
//! change with failures. Opposite switches of a ring use the same half both ways, so replies can keep
//! the SL. Time O(LIDs * switches). Source: torus-2QoS(8) and torus-2QoS.conf(5) of OpenSM.

mod config;
mod place;

use alloc::{format, vec, vec::Vec};

use ib_wire::{PortNum, Sl, Vl};

use self::{
    config::Config,
    place::{AXES, Place, Torus},
};
use crate::{
    RoutingEngine,
    error::RouteError,
    fabric::Fabric,
    index::{ChannelIdx, Idx, SwitchIdx},
    lid::LidMap,
    options::RouteOptions,
    routes::{Routes, SlTable},
    vl::{SlToVl, VlMap},
};

const ENGINE: RoutingEngine = RoutingEngine::Torus2Qos;

/// # Errors
/// [`RouteError::BadOption`] if `options.torus_config` is missing or wrong, [`RouteError::Topology`] if
/// a switch has no place in the torus or a ring is broken into pieces, [`RouteError::TooFewVls`] below
/// two lanes, or four where a switch has failed.
pub fn route(fabric: &Fabric, lids: &LidMap, options: &RouteOptions) -> Result<Routes, RouteError> {
    let Some(text) = &options.torus_config else {
        let what = "torus_config is missing, expected the text of a torus-2QoS.conf".into();
        return Err(RouteError::BadOption {
            engine: ENGINE,
            what,
        });
    };
    let config = Config::parse(text).map_err(|what| RouteError::BadOption {
        engine: ENGINE,
        what,
    })?;
    let torus = Torus::place(fabric, &config)?;
    let needed = if torus.has_failed_switch() { 4 } else { 2 };
    let available = options.vls();
    if available < needed {
        return Err(RouteError::TooFewVls {
            engine: ENGINE,
            available,
            needed: needed.into(),
        });
    }
    let mut routes = Routes::new(ENGINE, fabric, lids);
    routes.set_exits(lids);
    let mut sls = vec![Sl::ZERO; routes.row_len() * fabric.num_switches()];
    let port_rank = |port: PortNum| {
        let listed = config
            .port_order
            .iter()
            .position(|&listed| listed == port.0);
        (listed.unwrap_or(config.port_order.len()), port)
    };
    for target in fabric.switches().indices() {
        let mut ends: Vec<_> = lids.at_switch(target).collect();
        ends.sort_by_key(|end| port_rank(end.exit));
        for switch in fabric
            .switches()
            .indices()
            .filter(|&switch| switch != target)
        {
            if !torus.same_part(switch, target) {
                continue;
            }
            let channels = torus.next(fabric, switch, target)?;
            let sl = torus.service_level(switch, target);
            let mut turn = 0;
            for end in &ends {
                for lid in end.range.iter() {
                    let channel = channels.get(turn % channels.len().max(1));
                    if let Some(channel) = channel.and_then(|&at| fabric.channels().find(at)) {
                        routes.set_port(switch, lid, channel.port);
                    }
                    if let Some(entry) =
                        sls.get_mut(switch.at() * routes.row_len() + usize::from(lid.0))
                    {
                        *entry = sl;
                    }
                    turn += 1;
                }
            }
        }
    }
    routes.set_lanes(
        SlTable::BySwitch(sls),
        vl_map(fabric, &torus, available),
        needed,
    );
    Ok(routes)
}

/// The SLtoVL tables: bit 0 is the dateline bit of the output's axis, bit 1 a turn against the order
/// of dimensions, bit 2 the QoS level, if there are eight lanes.
fn vl_map(fabric: &Fabric, torus: &Torus, available: u8) -> VlMap {
    let table = |lane: &dyn Fn(u8) -> u8| -> SlToVl {
        core::array::from_fn(|sl| Vl::try_new(lane(sl as u8)).unwrap_or_default())
    };
    let level = |sl: u8| if available >= 8 { sl >> 3 } else { 0 };
    let mut map = VlMap::per_port(fabric, table(&level));
    for switch in fabric.switches().indices() {
        for (out, channel) in fabric.channels_from(switch) {
            let Some(axis) = torus.axis(out) else {
                continue;
            };
            for (input, _) in fabric.switch(switch).ports() {
                let from = fabric
                    .channel_at(switch, input)
                    .and_then(|input| torus.axis(input));
                let against = from.is_some_and(|from| from > axis) && available >= 4;
                let lane = |sl: u8| level(sl) << 2 | u8::from(against) << 1 | (sl >> axis & 1);
                map.set(switch, input, channel.port, table(&lane));
            }
        }
    }
    map
}

impl Torus {
    /// The parallel channels that `switch` may take towards `target`.
    ///
    /// # Errors
    /// [`RouteError::Topology`] if a ring on the way is broken on both sides.
    fn next(
        &self,
        fabric: &Fabric,
        switch: SwitchIdx,
        target: SwitchIdx,
    ) -> Result<&[ChannelIdx], RouteError> {
        let (from, to) = (self.place_of(switch), self.place_of(target));
        let differing = (0..AXES).filter(|&axis| from.get(axis) != to.get(axis));
        for axis in differing {
            if let Some(up) = self.open_way(&from, axis, to.get(axis)) {
                return Ok(self.link(switch, axis, up));
            }
            // The ring's switch in the target's column has failed: turn early, next to it.
            if self.switch_at(&from.with(axis, to.get(axis))).is_none()
                && let Some(up) = self.way_to_neighbour(&from, axis, to.get(axis))
            {
                let next_to_it = self.radix(axis).step(from.get(axis), up) == to.get(axis);
                if !next_to_it {
                    return Ok(self.link(switch, axis, up));
                }
                continue;
            }
            return Err(RouteError::Topology {
                engine: ENGINE,
                switch: fabric.switch_guid(switch),
                what: format!(
                    "its {} ring is broken on both sides of the way to switch {}",
                    ["x", "y", "z"].get(axis).unwrap_or(&"?"),
                    fabric.switch_guid(target),
                ),
            });
        }
        Ok(&[])
    }

    /// The direction along one ring by which every link and switch up to `to` is there: the shorter
    /// one if it can be.
    fn open_way(&self, from: &Place, axis: usize, to: u16) -> Option<bool> {
        let up = self.radix(axis).shorter_is_up(from.get(axis), to)?;
        [up, !up]
            .into_iter()
            .find(|&up| self.is_open(from, axis, to, up))
    }

    /// As [`Torus::open_way`], where `to` itself is missing and its neighbour will do.
    fn way_to_neighbour(&self, from: &Place, axis: usize, to: u16) -> Option<bool> {
        let radix = self.radix(axis);
        let up = radix.shorter_is_up(from.get(axis), to)?;
        [up, !up].into_iter().find(|&up| {
            radix.allows(from.get(axis), to, up)
                && self.is_open(from, axis, radix.step(to, !up), up)
        })
    }

    fn is_open(&self, from: &Place, axis: usize, to: u16, up: bool) -> bool {
        let radix = self.radix(axis);
        if !radix.allows(from.get(axis), to, up) {
            return from.get(axis) == to;
        }
        let mut at = *from;
        for _ in 0..radix.size() {
            if at.get(axis) == to {
                return true;
            }
            let Some(switch) = self.switch_at(&at) else {
                return false;
            };
            if self.link(switch, axis, up).is_empty() {
                return false;
            }
            at = at.with(axis, radix.step(at.get(axis), up));
        }
        false
    }

    /// The datelines that the path crosses on a whole torus, a bit each.
    fn service_level(&self, switch: SwitchIdx, target: SwitchIdx) -> Sl {
        let (from, to) = (self.place_of(switch), self.place_of(target));
        let crossed = (0..AXES).filter(|&axis| {
            let (from, to) = (from.get(axis), to.get(axis));
            self.radix(axis)
                .shorter_is_up(from, to)
                .is_some_and(|up| up != (to > from))
        });
        Sl::try_new(crossed.fold(0, |sl, axis| sl | 1 << axis)).unwrap_or_default()
    }
}
