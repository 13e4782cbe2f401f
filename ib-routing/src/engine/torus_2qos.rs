//! Torus-2QoS (`torus-2QoS`): dimension order on 2D and 3D tori and meshes, with two levels of QoS.
//!
//! Needs the configuration of OpenSM's engine, which names the radices and seeds the directions. A packet
//! moves along x, then y, then z. Its SL has a bit for each dateline that its path crosses, and the SLtoVL
//! tables, which depend on input and output port, make that one lane bit: 2 lanes a level on a whole torus.
//! Packets go round a broken ring in the other direction. Next to a failed switch a path turns early; the
//! turn back into dimension order, which the order forbids, takes a second pair of lanes. SLs do not change
//! with failures. Opposite switches of a ring use the same half in both directions, so replies can keep the
//! SL. Time O(LIDs * switches). Source: torus-2QoS(8) and torus-2QoS.conf(5) of OpenSM.

mod config;
mod coordinates;
mod search;
mod torus;

use alloc::{format, vec, vec::Vec};

use ib_wire::{PortNum, Sl, Vl};

use self::{
    config::Config,
    coordinates::{AXES, Coordinates},
    search::find_places,
    torus::{Direction, Torus, direction},
};
use crate::{
    algo::parallel,
    engine::{self, Guarantees, RoutingEngine},
    error::{RouteError, TopologyError},
    fabric::Fabric,
    index::{Idx, SwitchIdx},
    lid::{Destination, LidMap},
    options::RouteOptions,
    routes::{Routes, SlTable},
    vl::{SlToVl, VlMap},
};

/// Name of the engine, also in errors.
const NAME: &str = "torus-2QoS";

/// Checks the text of a torus-2QoS.conf without a fabric.
///
/// # Errors
/// The first line that is not as a configuration's, or no line that names the radices.
pub fn check_config(text: &str) -> Result<(), TopologyError> {
    Config::parse(text).map(drop)
}

/// The engine `torus-2QoS`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Torus2Qos;

impl RoutingEngine for Torus2Qos {
    fn name(&self) -> &'static str {
        NAME
    }

    fn guarantees(&self, _: &RouteOptions) -> Guarantees {
        Guarantees {
            deadlock_free: true,
            ..Guarantees::NONE
        }
    }

    /// Routes a torus or a mesh in dimension order.
    ///
    /// # Errors
    /// [`RouteError::BadOption`] if `options.torus_config` is missing or wrong, [`RouteError::Topology`] if
    /// a switch has no place in the torus or a ring is broken into pieces, [`RouteError::TooFewVls`] below
    /// two lanes, or four where a switch has failed.
    fn route(
        &self,
        fabric: &Fabric,
        lids: &LidMap,
        options: &RouteOptions,
    ) -> Result<Routes, RouteError> {
        let Some(text) = &options.torus_config else {
            let what = "torus_config is missing, expected the text of a torus-2QoS.conf".into();
            return Err(RouteError::BadOption { engine: NAME, what });
        };
        let config = Config::parse(text).map_err(|error| RouteError::BadOption {
            engine: NAME,
            what: format!("torus_config, {error}"),
        })?;
        let torus = find_places(fabric, &config)?;
        let needed = if torus.has_failed_switch() { 4 } else { 2 };
        let available = options.vls();
        if available < needed {
            return Err(RouteError::TooFewVls {
                engine: NAME,
                available,
                needed: needed.into(),
            });
        }
        let mut routes = Routes::new_on(options.threads, &engine::TORUS_2QOS, fabric, lids);
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
        let mut targets: Vec<Target> = Vec::new();
        for switch in fabric.switches().indices() {
            let mut ends: Vec<&Destination> = lids.at_switch(switch).collect();
            ends.sort_by_key(|end| port_rank(end.exit));
            let lids = ends.iter().flat_map(|end| end.range.iter());
            targets.push(Target {
                switch,
                columns: table.columns_of(&torus.coordinates_of(switch)),
                lids: lids.map(|lid| usize::from(lid.0)).collect(),
            });
        }
        // Row by row: what a switch sends where is written in the order of memory.
        let row_len = routes.row_len();
        let rows = fabric.switches().indices().zip(sls.chunks_mut(row_len));
        let mut lft_rows: Vec<LftRow<'_>> = rows
            .map(|(switch, sls)| LftRow {
                switch,
                sls,
                cut_off: None,
            })
            .collect();
        parallel::rows(
            options.threads,
            &mut lft_rows,
            routes.rows_mut(),
            row_len,
            |lft_row, lft| lft_row.fill(&table, &targets, lft),
        );
        let cut_off = lft_rows
            .iter()
            .find_map(|lft_row| Some((lft_row.switch, lft_row.cut_off?)));
        if let Some((switch, target)) = cut_off {
            return Err(torus.broken_ring(fabric, switch, target));
        }
        routes.set_lanes(
            SlTable::BySwitch(sls),
            vl_map(fabric, &torus, available),
            needed,
        );
        Ok(routes)
    }
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

/// A switch and the LIDs there.
struct Target {
    switch: SwitchIdx,
    /// Its coordinates as columns of the [`HopTable`].
    columns: [usize; AXES],
    lids: Vec<usize>,
}

/// The forwarding table of one switch, while it is filled.
struct LftRow<'a> {
    switch: SwitchIdx,
    sls: &'a mut [Sl],
    /// A target that no path leads to.
    cut_off: Option<SwitchIdx>,
}

impl LftRow<'_> {
    fn fill(&mut self, table: &HopTable, targets: &[Target], lft: &mut [u8]) {
        let (hops, ports) = table.of(self.switch);
        for target in targets.iter().filter(|target| target.switch != self.switch) {
            let Some((direction, sl)) = HopTable::next(hops, &target.columns) else {
                self.cut_off = Some(target.switch);
                return;
            };
            let ports = ports.get(direction).map_or(&[][..], Vec::as_slice);
            let mut turns = ports.iter().cycle();
            for &lid in &target.lids {
                if let (Some(entry), Some(level)) = (lft.get_mut(lid), self.sls.get_mut(lid)) {
                    let port = match ports {
                        [only] => Some(only),
                        _ => turns.next(),
                    };
                    (*entry, *level) = (port.map_or(PortNum::UNREACHABLE.0, |port| port.0), sl);
                }
            }
        }
    }
}

/// A switch's action for packets that have to move along one axis to one coordinate.
#[derive(Clone, Copy, Debug, Default)]
enum Move {
    /// Nothing: it is there, or the switch there has failed and is next to this one, so that another
    /// axis comes first.
    #[default]
    Pass,
    /// Take this direction.
    Take(Direction),
    /// No path leads there.
    Broken,
}

/// A move, and the bit of the service level if it crosses the dateline.
#[derive(Clone, Copy, Debug, Default)]
struct Hop {
    taken: Move,
    crossed: u8,
}

/// The hops of all switches, by axis and coordinate.
struct HopTable {
    /// By switch, then by column: the coordinates of x, of y, of z.
    hops: Vec<Hop>,
    /// Ports of parallel links, by switch and direction.
    ports: Vec<[Vec<PortNum>; 2 * AXES]>,
    /// The first column of each axis.
    start: [usize; AXES],
    /// Number of columns.
    columns: usize,
}

impl HopTable {
    fn new(torus: &Torus, fabric: &Fabric) -> Self {
        let mut start = [0; AXES];
        let mut columns = 0;
        for (axis, start) in start.iter_mut().enumerate() {
            *start = columns;
            columns += usize::from(torus.radix(axis).size());
        }
        let (mut hops, mut ports) = (Vec::new(), Vec::new());
        for switch in fabric.switches().indices() {
            let from = torus.coordinates_of(switch);
            for axis in 0..AXES {
                let radix = torus.radix(axis);
                hops.extend((0..radix.size()).map(|to| {
                    let up = radix.shorter_is_up(from.get(axis), to);
                    let crosses = up.is_some_and(|up| up != (to > from.get(axis)));
                    Hop {
                        taken: torus.hop(&from, axis, to),
                        crossed: u8::from(crosses) << axis,
                    }
                }));
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
            start,
            columns,
        }
    }

    fn columns_of(&self, place: &Coordinates) -> [usize; AXES] {
        core::array::from_fn(|axis| {
            let start = self.start.get(axis).copied().unwrap_or(0);
            start + usize::from(place.get(axis))
        })
    }

    /// The hops of a switch, by column, and its ports, by direction.
    fn of(&self, switch: SwitchIdx) -> (&[Hop], &[Vec<PortNum>]) {
        let row = switch.at() * self.columns..(switch.at() + 1) * self.columns;
        let ports = self.ports.get(switch.at()).map_or(&[][..], |ports| ports);
        (self.hops.get(row).unwrap_or_default(), ports)
    }

    /// The direction towards a place, and the service level; `None` where a ring on the path is broken.
    #[inline]
    fn next(hops: &[Hop], columns: &[usize; AXES]) -> Option<(usize, Sl)> {
        let (mut taken, mut sl) = (Move::Pass, 0);
        for &column in columns {
            let hop = hops.get(column)?;
            sl |= hop.crossed;
            if let Move::Pass = taken {
                taken = hop.taken;
            }
        }
        match taken {
            Move::Take(direction) => {
                Some((usize::from(direction), Sl::try_new(sl).unwrap_or_default()))
            }
            Move::Pass | Move::Broken => None,
        }
    }
}

impl Torus {
    /// Next move of packets at `from` towards coordinate `to` of one axis.
    fn hop(&self, from: &Coordinates, axis: usize, to: u16) -> Move {
        if from.get(axis) == to {
            return Move::Pass;
        }
        let take = |up| Move::Take(direction(axis, up));
        if let Some(up) = self.open_way(from, axis, to) {
            return take(up);
        }
        if self.switch_at(&from.with(axis, to)).is_some() {
            return Move::Broken;
        }
        match self.way_to_neighbour(from, axis, to) {
            Some(up) if self.radix(axis).step(from.get(axis), up) == to => Move::Pass,
            Some(up) => take(up),
            None => Move::Broken,
        }
    }

    /// The error for two switches that no path in dimension order joins.
    fn broken_ring(&self, fabric: &Fabric, switch: SwitchIdx, target: SwitchIdx) -> RouteError {
        RouteError::Topology {
            engine: NAME,
            switch: fabric.switch_guid(switch),
            what: format!(
                "a ring on its path to switch {} is broken on both sides",
                fabric.switch_guid(target),
            ),
        }
    }

    /// The direction along one ring by which every link and switch up to `to` is there: the shorter
    /// one if it can be.
    fn open_way(&self, from: &Coordinates, axis: usize, to: u16) -> Option<bool> {
        let up = self.radix(axis).shorter_is_up(from.get(axis), to)?;
        [up, !up]
            .into_iter()
            .find(|&up| self.is_open(from, axis, to, up))
    }

    /// As [`Torus::open_way`], where `to` itself is missing and its neighbour will do.
    fn way_to_neighbour(&self, from: &Coordinates, axis: usize, to: u16) -> Option<bool> {
        let radix = self.radix(axis);
        let up = radix.shorter_is_up(from.get(axis), to)?;
        [up, !up].into_iter().find(|&up| {
            radix.allows(from.get(axis), to, up)
                && self.is_open(from, axis, radix.step(to, !up), up)
        })
    }

    fn is_open(&self, from: &Coordinates, axis: usize, to: u16, up: bool) -> bool {
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
