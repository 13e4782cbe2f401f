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
    index::{Idx, SwitchIdx},
    lid::{Destination, LidMap},
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
    let table = HopTable::new(&torus, fabric);
    // Row by row: what a switch sends where is written in the order of memory.
    let targets: Vec<(SwitchIdx, Vec<usize>)> = fabric
        .switches()
        .indices()
        .map(|target| {
            let mut ends: Vec<&Destination> = lids.at_switch(target).collect();
            ends.sort_by_key(|end| port_rank(end.exit));
            let lids = ends.iter().flat_map(|end| end.range.iter());
            (target, lids.map(|lid| usize::from(lid.0)).collect())
        })
        .collect();
    for switch in fabric.switches().indices() {
        let from = torus.place_of(switch);
        let row_start = switch.at() * routes.row_len();
        let row = routes.lft_mut(switch);
        let sl_row = sls
            .get_mut(row_start..row_start + row.len())
            .unwrap_or_default();
        for (target, lids) in targets.iter().filter(|(target, _)| *target != switch) {
            let (ports, sl) = table
                .next(&torus, switch, &from, &torus.place_of(*target))
                .ok_or_else(|| torus.broken_ring(fabric, switch, *target))?;
            for (&lid, port) in lids.iter().zip(ports.iter().cycle()) {
                if let (Some(entry), Some(level)) = (row.get_mut(lid), sl_row.get_mut(lid)) {
                    (*entry, *level) = (port.0, sl);
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
    let by_turn: [[SlToVl; AXES]; 2] = core::array::from_fn(|against| {
        core::array::from_fn(|axis| {
            table(&|sl| level(sl) << 2 | (against as u8) << 1 | (sl >> axis & 1))
        })
    });
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
                let tables = by_turn.get(usize::from(against));
                if let Some(table) = tables.and_then(|tables| tables.get(usize::from(axis))) {
                    map.set(switch, input, channel.port, *table);
                }
            }
        }
    }
    map
}

/// What a switch does with packets that have to move along one axis to one coordinate.
#[derive(Clone, Copy, Debug, Default)]
enum Hop {
    /// Nothing: it is there.
    #[default]
    There,
    /// Take this direction.
    Take(bool),
    /// The switch there has failed and is next to this one: another axis comes first.
    TurnEarly,
    /// No way leads there.
    Broken,
}

/// The hops of all switches, by axis and coordinate, and the datelines that they cross.
struct HopTable {
    /// By switch, then by axis, then by coordinate.
    hops: Vec<Hop>,
    /// Ports of parallel links, by switch and direction.
    ports: Vec<[Vec<PortNum>; 2 * AXES]>,
    /// Per axis: bit of the service level by both coordinates.
    crossed: [Vec<u8>; AXES],
    /// Where an axis begins among a switch's hops; the last is their number.
    start: [usize; AXES + 1],
}

impl HopTable {
    fn new(torus: &Torus, fabric: &Fabric) -> Self {
        let mut start = [0; AXES + 1];
        let mut end = 0;
        for (axis, start) in start.iter_mut().enumerate() {
            *start = end;
            end += usize::from(torus.radix(axis).size());
        }
        let crossed = core::array::from_fn(|axis| {
            let radix = torus.radix(axis);
            let all = || 0..radix.size();
            let bit = |(from, to): (u16, u16)| {
                let up = radix.shorter_is_up(from, to);
                u8::from(up.is_some_and(|up| up != (to > from))) << axis
            };
            all()
                .flat_map(|from| all().map(move |to| (from, to)))
                .map(bit)
                .collect()
        });
        let (mut hops, mut ports) = (Vec::new(), Vec::new());
        for switch in fabric.switches().indices() {
            let from = torus.place_of(switch);
            for axis in 0..AXES {
                hops.extend((0..torus.radix(axis).size()).map(|to| torus.hop(&from, axis, to)));
            }
            ports.push(core::array::from_fn(|at| {
                let channels = torus.link(switch, at / 2, at % 2 == 0).iter();
                channels
                    .map(|&channel| fabric.channel(channel).port)
                    .collect()
            }));
        }
        Self {
            hops,
            ports,
            crossed,
            start,
        }
    }

    /// The ports towards a place, and the service level; `None` where a ring on the way is broken.
    #[inline]
    fn next(
        &self,
        torus: &Torus,
        switch: SwitchIdx,
        from: &Place,
        to: &Place,
    ) -> Option<(&[PortNum], Sl)> {
        let all = self.start.last().copied().unwrap_or(0);
        let (mut taken, mut sl) = (None, 0);
        for (axis, (&start, crossed)) in self.start.iter().zip(&self.crossed).enumerate() {
            let (here, there) = (usize::from(from.get(axis)), usize::from(to.get(axis)));
            let size = usize::from(torus.radix(axis).size());
            sl |= crossed.get(here * size + there).copied().unwrap_or(0);
            let hop = self.hops.get(switch.at() * all + start + there);
            match hop.copied().unwrap_or_default() {
                Hop::Take(up) if taken.is_none() => taken = Some(axis * 2 + usize::from(!up)),
                Hop::Broken if taken.is_none() => return None,
                _ => {}
            }
        }
        let ports = self.ports.get(switch.at())?.get(taken?)?;
        Some((ports, Sl::try_new(sl).unwrap_or_default()))
    }
}

impl Torus {
    /// What a switch at `from` does to get to coordinate `to` of one axis.
    fn hop(&self, from: &Place, axis: usize, to: u16) -> Hop {
        if from.get(axis) == to {
            return Hop::There;
        }
        if let Some(up) = self.open_way(from, axis, to) {
            return Hop::Take(up);
        }
        if self.switch_at(&from.with(axis, to)).is_some() {
            return Hop::Broken;
        }
        match self.way_to_neighbour(from, axis, to) {
            Some(up) if self.radix(axis).step(from.get(axis), up) == to => Hop::TurnEarly,
            Some(up) => Hop::Take(up),
            None => Hop::Broken,
        }
    }

    /// The error for two switches that no way in dimension order joins.
    fn broken_ring(&self, fabric: &Fabric, switch: SwitchIdx, target: SwitchIdx) -> RouteError {
        RouteError::Topology {
            engine: ENGINE,
            switch: fabric.switch_guid(switch),
            what: format!(
                "a ring on its way to switch {} is broken on both sides",
                fabric.switch_guid(target),
            ),
        }
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
}
