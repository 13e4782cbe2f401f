//! Quality of service: which lane a service level takes, and how lanes share a link (IBA vol. 1, 7.6.9).
//!
//! The names and the text forms are those of OpenSM's options: `qos_vlarb_high 0:4,1:0` gives lane 0 four times 64 bytes
//! before others get their turn, `qos_sl2vl 0,1,2,...` names a lane for each of the 16 service levels. What a kind of port
//! (`qos_ca_`, `qos_rtr_`, `qos_sw0_`, `qos_swe_`) does not say comes from the options for all (`qos_`). Where the
//! routes themselves need several lanes their SLtoVL tables win: a lane that is not theirs could deadlock.

use alloc::vec::Vec;

use ib_smp::{SlToVlMappingTable, VlArbitrationEntry, VlArbitrationHalf, VlArbitrationTable};
use ib_wire::{Vl, addr};

use super::{SetError, narrow};

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
    /// The same of the low table.
    pub vlarb_low: Option<Vec<(Vl, u8)>>,
    /// The lane of each service level.
    pub sl2vl: Option<[Vl; 16]>,
}

impl Qos {
    /// Takes in an option of OpenSM whose key begins with `qos_`; `name` is the rest.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), SetError> {
        let kinds = [
            ("ca_", &mut self.ca),
            ("rtr_", &mut self.router),
            ("sw0_", &mut self.switch_port_0),
            ("swe_", &mut self.switch_external),
        ];
        let own = kinds
            .into_iter()
            .find_map(|(prefix, options)| Some((options, name.strip_prefix(prefix)?)));
        let (options, name) = own.unwrap_or((&mut self.all, name));
        options.set(name, value)
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
        for sl in 0..16u8 {
            let default = Vl::from_low_bits(if sl == 15 { 7 } else { sl });
            let written = lanes.and_then(|lanes| lanes.get(usize::from(sl)).copied());
            let _ = table.set_sl_to_vl(sl.into(), written.unwrap_or(default));
        }
        table
    }

    /// A half of the arbitration: by default lane 0 stands in the high table, the others share the low one.
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

impl QosOptions {
    fn set(&mut self, name: &str, value: &str) -> Result<(), SetError> {
        // What OpenSM's template says of options that nobody has set.
        let unset = value == "(null)";
        match name {
            "max_vls" => {
                let lanes = narrow(value, 15u8)?;
                self.max_vls = (lanes != 0).then_some(lanes);
            }
            "high_limit" if value == "-1" => self.high_limit = None,
            "high_limit" => self.high_limit = Some(narrow(value, u8::MAX)?),
            "vlarb_high" => self.vlarb_high = (!unset).then(|| weights(value)).transpose()?,
            "vlarb_low" => self.vlarb_low = (!unset).then(|| weights(value)).transpose()?,
            "sl2vl" => self.sl2vl = (!unset).then(|| lanes(value)).transpose()?,
            _ => return Err(SetError::UnknownKey),
        }
        Ok(())
    }
}

/// `0:4,1:0`: lanes with their weights, as many as both halves of a table have.
fn weights(value: &str) -> Result<Vec<(Vl, u8)>, SetError> {
    let bad = SetError::BadValue {
        expected: "up to 64 pairs LANE:WEIGHT with lanes 0 to 14, with commas between",
    };
    let entries = value.split(',').map(|pair| {
        let (lane, weight) = pair.split_once(':')?;
        let lane = addr::number(lane.trim(), 14)?;
        let weight = addr::number(weight.trim(), u8::MAX.into())?;
        Some((Vl::try_new(lane as u8).ok()?, weight as u8))
    });
    let entries: Option<Vec<_>> = entries.collect();
    match entries {
        Some(entries) if entries.len() <= 2 * HALF => Ok(entries),
        _ => Err(bad),
    }
}

/// `0,1,2,...`: 16 lanes; 15 drops.
fn lanes(value: &str) -> Result<[Vl; 16], SetError> {
    let lanes = value.split(',').map(|lane| {
        let lane = addr::number(lane.trim(), 15)?;
        Vl::try_new(lane as u8).ok()
    });
    let lanes: Option<Vec<_>> = lanes.collect();
    lanes
        .and_then(|lanes| lanes.try_into().ok())
        .ok_or(SetError::BadValue {
            expected: "16 lanes from 0 to 15, with commas between",
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(lines: &[(&str, &str)]) -> Qos {
        let mut qos = Qos::default();
        for (name, value) in lines {
            assert!(qos.set(name, value).is_ok(), "{name} {value}");
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
            ("sl2vl", "0,1,2"),
            ("sl2vl", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,16"),
            ("vlarb_high", "15:1"),
            ("vlarb_low", "0:256"),
            ("vlarb_low", "0"),
            ("max_vls", "16"),
        ] {
            let refused = Qos::default().set(name, value);
            assert!(
                matches!(refused, Err(SetError::BadValue { .. })),
                "{name} {value}"
            );
        }
        let unknown = Qos::default().set("xyz_max_vls", "1");
        assert!(matches!(unknown, Err(SetError::UnknownKey)));
    }
}
