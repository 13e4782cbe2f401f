//! Quality of service: which lane a service level takes, and how lanes share a link (IBA vol. 1, 7.6.9).
//!
//! The names and the text forms are those of OpenSM's options: `qos_vlarb_high 0:4,1:0` gives lane 0 four times 64
//! bytes before others get their turn, `qos_sl2vl 0,1,2,...` names a lane for each of the 16 service levels. Options
//! that are not set for a kind of port (`qos_ca_`, `qos_rtr_`, `qos_sw0_`, `qos_swe_`) come from the options for all
//! (`qos_`). Where the routes themselves need several lanes their SLtoVL tables win: a lane that is not theirs could
//! deadlock.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use ib_smp::{SlToVlMappingTable, VlArbitrationEntry, VlArbitrationHalf, VlArbitrationTable};
use ib_wire::Vl;

use super::{
    codec::{Codec, Describe, UNSET, narrow},
    table::{OptionGroup, OptionInfo, TakesEffect, row},
};

/// Entries of half an arbitration table.
const HALF: usize = 32;

/// The quality of service of all kinds of ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qos {
    /// Writes the tables (`qos`); else only where the routes need several lanes.
    pub enabled: bool,
    /// For ports of which nothing else is said.
    pub all: QosOptions,
    /// Ports of CAs.
    pub ca: QosOptions,
    /// Ports of routers.
    pub router: QosOptions,
    /// Enhanced ports 0 of switches.
    pub switch_port_0: QosOptions,
    /// External ports of switches.
    pub switch_external: QosOptions,
}

/// The kinds of ports that have options of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortKind {
    Ca,
    Router,
    SwitchPort0,
    SwitchExternal,
}

/// The quality of service of one kind of ports; `None` leaves it to the options for all, and there to the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QosOptions {
    /// Most data lanes to use: 1..=15.
    pub max_vls: Option<u8>,
    /// Units of 4 KB that the high table sends before the low one gets a packet through; 255 is no limit.
    pub high_limit: Option<u8>,
    /// Lane and weight, in units of 64 bytes, of each entry of the high table.
    pub vlarb_high: Option<Vec<(Vl, u8)>>,
    /// Lane and weight, in units of 64 bytes, of each entry of the low table.
    pub vlarb_low: Option<Vec<(Vl, u8)>>,
    /// The lane of each service level.
    pub sl2vl: Option<[Vl; 16]>,
}

impl Qos {
    /// Returns true if it is in effect and names lanes of service levels. Routes that need several lanes for themselves
    /// override them.
    #[must_use]
    pub fn chooses_lanes(&self) -> bool {
        let kinds = [
            &self.all,
            &self.ca,
            &self.router,
            &self.switch_port_0,
            &self.switch_external,
        ];
        self.enabled && kinds.iter().any(|options| options.sl2vl.is_some())
    }

    /// Most data lanes that ports of a kind use.
    pub(crate) fn max_vls(&self, kind: PortKind) -> u8 {
        self.pick(kind, |options| options.max_vls)
            .unwrap_or(15)
            .clamp(1, 15)
    }

    /// PortInfo.VLHighLimit.
    pub(crate) fn high_limit(&self, kind: PortKind) -> u8 {
        self.pick(kind, |options| options.high_limit).unwrap_or(0)
    }

    /// The lane of each service level: by default its own, and lane 7 for level 15.
    pub(crate) fn sl_to_vl(&self, kind: PortKind) -> SlToVlMappingTable {
        let lanes = self.pick(kind, |options| options.sl2vl);
        let mut table = SlToVlMappingTable::default();
        for (sl, lane) in lanes.unwrap_or_else(default_lanes).into_iter().enumerate() {
            let _ = table.set_sl_to_vl(sl, lane);
        }
        table
    }

    /// A half of the arbitration: by default lane 0 is in the high table, and the others share the low one.
    pub(crate) fn arbitration(
        &self,
        kind: PortKind,
        half: VlArbitrationHalf,
    ) -> VlArbitrationTable {
        let is_high = matches!(
            half,
            VlArbitrationHalf::HighFirst | VlArbitrationHalf::HighSecond
        );
        let is_second = matches!(
            half,
            VlArbitrationHalf::LowSecond | VlArbitrationHalf::HighSecond
        );
        let entries = self.pick(kind, |options| {
            let list = if is_high {
                &options.vlarb_high
            } else {
                &options.vlarb_low
            };
            list.clone()
        });
        let entries = entries.unwrap_or_else(|| {
            let default = |lane: u8| {
                let weight = if is_high == (lane == 0) { 4 } else { 0 };
                (Vl::from_low_bits(lane), weight)
            };
            (0..15).map(default).collect()
        });
        let max = self.max_vls(kind);
        let mut table = VlArbitrationTable::default();
        let skipped = if is_second { HALF } else { 0 };
        for (at, (lane, weight)) in entries.into_iter().skip(skipped).take(HALF).enumerate() {
            // A lane that is not used shares the turn of the one that its packets take.
            let lane = lane.bits().checked_rem(max).unwrap_or(0);
            let entry = VlArbitrationEntry::new(Vl::from_low_bits(lane), weight);
            let _ = table.set_vl_weight_block(at, &entry);
        }
        table
    }

    fn pick<T>(&self, kind: PortKind, of: impl Fn(&QosOptions) -> Option<T>) -> Option<T> {
        let own = match kind {
            PortKind::Ca => &self.ca,
            PortKind::Router => &self.router,
            PortKind::SwitchPort0 => &self.switch_port_0,
            PortKind::SwitchExternal => &self.switch_external,
        };
        of(own).or_else(|| of(&self.all))
    }
}

/// A number of data lanes; 0 leaves it to the options for all.
struct Lanes;
/// A limit of the high table; -1 leaves it to the options for all.
struct Limit;
/// `0:4,1:0`: lanes with their weights, as many as both halves of a table have.
struct Weights;
/// `0,1,2,...`: the lanes of the service levels from 0 on; 15 drops. Levels beyond a short list take lane 0, as in OpenSM.
struct LaneList;

impl Describe for Lanes {
    fn expected(&self) -> String {
        "a number from 0 to 15".into()
    }
}

impl Codec<Option<u8>> for Lanes {
    fn read(&self, text: &str) -> Option<Option<u8>> {
        narrow(text, 0, 15).map(|lanes: u8| (lanes != 0).then_some(lanes))
    }

    fn write(&self, value: &Option<u8>) -> String {
        value.unwrap_or(0).to_string()
    }
}

impl Describe for Limit {
    fn expected(&self) -> String {
        "a number from 0 to 255, or -1".into()
    }
}

impl Codec<Option<u8>> for Limit {
    fn read(&self, text: &str) -> Option<Option<u8>> {
        match text {
            "-1" => Some(None),
            _ => narrow(text, 0, 255).map(Some),
        }
    }

    fn write(&self, value: &Option<u8>) -> String {
        value.map_or_else(|| "-1".into(), |limit| limit.to_string())
    }
}

impl Describe for Weights {
    fn expected(&self) -> String {
        "up to 64 pairs LANE:WEIGHT with lanes 0 to 14, with commas between".into()
    }
}

impl Codec<Option<Vec<(Vl, u8)>>> for Weights {
    fn read(&self, text: &str) -> Option<Option<Vec<(Vl, u8)>>> {
        if text == UNSET {
            return Some(None);
        }
        let entries = text.split(',').map(|pair| {
            let (lane, weight) = pair.split_once(':')?;
            let lane = Vl::try_new(narrow(lane.trim(), 0, 14)?).ok()?;
            Some((lane, narrow(weight.trim(), 0, 255)?))
        });
        let entries: Vec<_> = entries.collect::<Option<_>>()?;
        (entries.len() <= 2 * HALF).then_some(Some(entries))
    }

    fn write(&self, value: &Option<Vec<(Vl, u8)>>) -> String {
        let Some(entries) = value else {
            return UNSET.into();
        };
        let pairs = entries.iter();
        let pairs: Vec<_> = pairs
            .map(|(lane, weight)| format!("{}:{weight}", lane.bits()))
            .collect();
        pairs.join(",")
    }
}

impl Describe for LaneList {
    fn expected(&self) -> String {
        "up to 16 lanes from 0 to 15, with commas between".into()
    }
}

impl Codec<Option<[Vl; 16]>> for LaneList {
    fn read(&self, text: &str) -> Option<Option<[Vl; 16]>> {
        if text == UNSET {
            return Some(None);
        }
        let mut lanes = [Vl::default(); 16];
        let mut places = lanes.iter_mut();
        // OpenSM's manual ends its example with a comma.
        for lane in text.trim_end_matches(',').split(',').map(str::trim) {
            *places.next()? = Vl::try_new(narrow(lane, 0, 15)?).ok()?;
        }
        Some(Some(lanes))
    }

    fn write(&self, value: &Option<[Vl; 16]>) -> String {
        let Some(lanes) = value else {
            return UNSET.into();
        };
        let lanes: Vec<_> = lanes.iter().map(|lane| lane.bits().to_string()).collect();
        lanes.join(",")
    }
}

/// The lane of each service level where nothing is said: its own, and lane 7 for level 15.
fn default_lanes() -> [Vl; 16] {
    core::array::from_fn(|sl| Vl::from_low_bits(if sl == 15 { 7 } else { sl as u8 }))
}

/// The five rows of one kind of ports.
macro_rules! qos_rows {
    ($($prefix:literal $what:literal $options:ident;)*) => {
        /// The keys of all kinds of ports.
        pub(super) static ROWS: &[OptionInfo] = &[$(
            row!(concat!("qos_", $prefix, "max_vls"), Qos,
                [concat!("Most data lanes to use: ", $what, ".")], Lanes, Live, qos.$options.max_vls),
            row!(concat!("qos_", $prefix, "high_limit"), Qos,
                [concat!("Units of 4 KB that the high table sends before the low one gets a packet through, 255 without limit: ", $what, ".")],
                Limit, Live, qos.$options.high_limit),
            row!(concat!("qos_", $prefix, "vlarb_high"), Qos,
                [concat!("Lanes of the high table with their weights in units of 64 bytes: ", $what, ".")],
                Weights, Live, qos.$options.vlarb_high),
            row!(concat!("qos_", $prefix, "vlarb_low"), Qos,
                [concat!("Lanes of the low table with their weights in units of 64 bytes: ", $what, ".")],
                Weights, Live, qos.$options.vlarb_low),
            row!(concat!("qos_", $prefix, "sl2vl"), Qos,
                [concat!("The lane of each service level from 0 on; levels beyond a short list take lane 0: ", $what, ".")],
                LaneList, Live, qos.$options.sl2vl),
        )*];
    };
}

qos_rows! {
    "" "ports of which nothing else is said" all;
    "ca_" "CA ports" ca;
    "rtr_" "router ports" router;
    "sw0_" "enhanced ports 0 of switches" switch_port_0;
    "swe_" "external ports of switches" switch_external;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_one(qos: &mut Qos, name: &str, value: &str) -> bool {
        let mut config = crate::SmConfig {
            qos: qos.clone(),
            ..crate::SmConfig::default()
        };
        let key = format!("qos_{name}");
        let row = ROWS.iter().find(|row| row.key() == key).unwrap();
        let read = (row.read)(&mut config, value);
        *qos = config.qos;
        read
    }

    fn set(lines: &[(&str, &str)]) -> Qos {
        let mut qos = Qos::default();
        for (name, value) in lines {
            assert!(set_one(&mut qos, name, value), "{name} {value}");
        }
        qos
    }

    #[test]
    fn the_defaults_are_those_of_opensm() {
        let qos = Qos::default();
        let table = qos.sl_to_vl(PortKind::Ca);
        let lanes = (0..16).map(|sl| table.sl_to_vl(sl).unwrap_or_default().bits());
        assert_eq!(
            lanes.collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 7]
        );
        let weight = |half, at: usize| {
            let table = qos.arbitration(PortKind::SwitchExternal, half);
            table
                .vl_weight_block(at)
                .map(|entry| (entry.vl().bits(), entry.weight()))
        };
        assert_eq!(weight(VlArbitrationHalf::HighFirst, 0), Some((0, 4)));
        assert_eq!(weight(VlArbitrationHalf::HighFirst, 1), Some((1, 0)));
        assert_eq!(weight(VlArbitrationHalf::LowFirst, 0), Some((0, 0)));
        assert_eq!(weight(VlArbitrationHalf::LowFirst, 14), Some((14, 4)));
    }

    #[test]
    fn a_kind_of_ports_has_its_own_and_else_what_all_have() {
        let qos = set(&[
            ("high_limit", "9"),
            ("ca_high_limit", "3"),
            ("max_vls", "4"),
        ]);
        assert_eq!(qos.high_limit(PortKind::Ca), 3);
        assert_eq!(qos.high_limit(PortKind::Router), 9);
        assert_eq!(qos.max_vls(PortKind::Ca), 4);
    }

    #[test]
    fn lanes_beyond_the_most_are_folded_and_long_lists_fill_both_halves() {
        let list: Vec<_> = (0..40)
            .map(|at| alloc::format!("{}:{at}", at % 15))
            .collect();
        let qos = set(&[("swe_vlarb_low", &list.join(",")), ("swe_max_vls", "2")]);
        let table = qos.arbitration(PortKind::SwitchExternal, VlArbitrationHalf::LowSecond);
        let entry = table.vl_weight_block(0).unwrap();
        assert_eq!((entry.vl().bits(), entry.weight()), (32 % 15 % 2, 32));
        assert_eq!(table.vl_weight_block(8).unwrap().weight(), 0);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for (name, value) in [
            ("sl2vl", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,16"),
            ("sl2vl", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,0"),
            ("sl2vl", "0,,2"),
            ("vlarb_high", "15:1"),
            ("vlarb_low", "0:256"),
            ("vlarb_low", "0"),
            ("max_vls", "16"),
        ] {
            assert!(!set_one(&mut Qos::default(), name, value), "{name} {value}");
        }
    }

    #[test]
    fn a_short_list_of_lanes_leaves_lane_0_to_the_other_levels() {
        // The example of opensm(8), with its comma at the end.
        let qos = set(&[("ca_sl2vl", "0,1,2,3,5,5,5,12,12,0,")]);
        let table = qos.sl_to_vl(PortKind::Ca);
        let lanes: Vec<_> = (0..16)
            .map(|sl| table.sl_to_vl(sl).unwrap().bits())
            .collect();
        assert_eq!(lanes, [0, 1, 2, 3, 5, 5, 5, 12, 12, 0, 0, 0, 0, 0, 0, 0]);
    }
}
