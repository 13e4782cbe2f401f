//! Options of the congestion control manager, which works beside the subnet manager on the same port.
//!
//! Pitfall: an option of a service level has the level in front of its value and may occur once for each level.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use ib_mad::CcKey;
use ib_wire::{Sl, addr};

use super::{
    codec::{Codec, Describe, Flag, Hex, HexDigits, Int, UNSET, Wide, narrow},
    table::{OptionGroup, OptionInfo, TakesEffect, row},
};

/// Entries that a congestion control table has at most, as in OpenSM.
const MAX_ENTRIES: usize = 128;

/// Congestion settings of switches and CAs. Sources: IBA vol. 1, A10.4.3, and OpenSM's template.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CongestionOptions {
    /// Configures congestion control (`congestion_control`).
    pub enabled: bool,
    /// Key that requests carry; it is not written to devices; 0 is none (`cc_key`).
    pub key: CcKey,
    /// Requests in flight, 1 to 65,535 (`cc_max_outstanding_mads`).
    pub max_in_flight: u16,
    /// Settings of switches.
    pub switch: SwitchCongestion,
    /// Settings of CAs.
    pub ca: CaCongestion,
    /// Delays between packets by index (`cc_cct`); at most 128.
    pub table: Vec<Delay>,
}

impl Default for CongestionOptions {
    fn default() -> Self {
        Self {
            enabled: false,
            key: CcKey(0),
            max_in_flight: 500,
            switch: SwitchCongestion::default(),
            ca: CaCongestion::default(),
            table: Vec::new(),
        }
    }
}

/// Rules by which switches mark packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwitchCongestion {
    /// Which of the settings count, a bit each: 0 victim mask, 1 credit mask, 2 threshold and packet size, 3 credit starvation, 4
    /// marking rate (`cc_sw_cong_setting_control_map`).
    pub control_map: u32,
    /// Ports that mark packets of victims as well; bit 0 of the last byte is port 0 (`cc_sw_cong_setting_victim_mask`).
    pub victim_mask: PortMask,
    /// Ports to which credit starvation applies (`cc_sw_cong_setting_credit_mask`).
    pub credit_mask: PortMask,
    /// Threshold of congestion, 0 to 15: 0 detects none, 15 detects it at the smallest backlog (`cc_sw_cong_setting_threshold`).
    pub threshold: u8,
    /// Packets shorter than this many credits of 64 bytes are not marked (`cc_sw_cong_setting_packet_size`).
    pub packet_size: u8,
    /// Threshold of credit starvation, 0 to 15: a higher value detects it earlier (`cc_sw_cong_setting_credit_starvation_threshold`).
    pub credit_starvation_threshold: u8,
    /// Time after which starved credits return (`cc_sw_cong_setting_credit_starvation_return_delay`).
    pub return_delay: Delay,
    /// Mean number of packets between two marks (`cc_sw_cong_setting_marking_rate`).
    pub marking_rate: u16,
}

/// The reaction of CAs to notifications of congestion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CaCongestion {
    /// Bit 0: by service level and port; else by queue pair (`cc_ca_cong_setting_port_control`).
    pub port_control: u16,
    /// Service levels that are configured, a bit each (`cc_ca_cong_setting_control_map`).
    pub control_map: u16,
    /// The settings of each service level.
    pub levels: [LevelCongestion; 16],
}

/// The reaction of CAs to notifications of congestion on one service level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelCongestion {
    /// Time after which the index falls by one, in units of 1.024 us (`cc_ca_cong_setting_ccti_timer`).
    pub timer: u16,
    /// By how much a notification raises the index (`cc_ca_cong_setting_ccti_increase`).
    pub increase: u8,
    /// Index at which an event is logged (`cc_ca_cong_setting_trigger_threshold`).
    pub trigger_threshold: u8,
    /// Lowest index (`cc_ca_cong_setting_ccti_min`).
    pub min: u8,
}

/// A delay between packets: `multiplier` shifted right by `shift`, in times of one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// 0 to 3.
    pub shift: u8,
    /// 0 to 16,383.
    pub multiplier: u16,
}

/// A bit for each port of a switch, as in the datagram: bit 0 of the last byte is port 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortMask(pub [u8; 32]);

/// Bits for ports in hexadecimal.
struct Mask;

/// A delay as `shift:multiplier`.
struct DelayPair;

/// Delays as `shift:multiplier,shift:multiplier`.
struct DelayList;

impl Describe for Mask {
    fn expected(&self) -> String {
        "up to 64 hexadecimal digits, as 0x1e".into()
    }
}

impl Codec<PortMask> for Mask {
    fn read(&self, text: &str) -> Option<PortMask> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        if digits.is_empty() || digits.len() > 64 {
            return None;
        }
        let mut mask = PortMask::default();
        for (position, digit) in digits.bytes().rev().enumerate() {
            let value = u8::try_from(char::from(digit).to_digit(16)?).ok()?;
            let byte = mask.0.iter_mut().nth_back(position / 2)?;
            *byte |= if position % 2 == 0 { value } else { value << 4 };
        }
        Some(mask)
    }

    fn write(&self, value: &PortMask) -> String {
        let digits: String = value.0.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("0x{digits}")
    }
}

impl Describe for DelayPair {
    fn expected(&self) -> String {
        "shift:multiplier, 0:0 to 3:16383".into()
    }
}

impl Codec<Delay> for DelayPair {
    fn read(&self, text: &str) -> Option<Delay> {
        let (shift, multiplier) = text.trim().split_once(':')?;
        Some(Delay {
            shift: narrow(shift.trim(), 0, 3)?,
            multiplier: narrow(multiplier.trim(), 0, 0x3fff)?,
        })
    }

    fn write(&self, value: &Delay) -> String {
        format!("{}:{}", value.shift, value.multiplier)
    }
}

impl Describe for DelayList {
    fn expected(&self) -> String {
        format!("up to {MAX_ENTRIES} of shift:multiplier, separated by commas, or {UNSET}")
    }
}

impl Codec<Vec<Delay>> for DelayList {
    fn read(&self, text: &str) -> Option<Vec<Delay>> {
        if text == UNSET {
            return Some(Vec::new());
        }
        let entries: Option<Vec<Delay>> =
            text.split(',').map(|text| DelayPair.read(text)).collect();
        entries.filter(|entries| entries.len() <= MAX_ENTRIES)
    }

    fn write(&self, value: &Vec<Delay>) -> String {
        if value.is_empty() {
            return UNSET.into();
        }
        let entries: Vec<String> = value.iter().map(|delay| DelayPair.write(delay)).collect();
        entries.join(",")
    }
}

/// Reads `LEVEL VALUE`.
fn of_level<T: TryFrom<u64>>(text: &str, max: u64) -> Option<(Sl, T)> {
    let (level, value) = text.split_once(char::is_whitespace)?;
    let level = Sl::try_new(narrow(level, 0, 15)?).ok()?;
    Some((level, T::try_from(addr::number(value.trim(), max)?).ok()?))
}

/// One row whose value stands once for each service level. It is written for level 0, and for each level that differs
/// from 0.
macro_rules! level_row {
    ($key:literal, $doc:literal, $max:literal, $field:ident) => {
        OptionInfo {
            key: $key,
            group: OptionGroup::Congestion,
            doc: &[$doc],
            expected: || format!("a service level and a number from 0 to {}", $max),
            change: TakesEffect::Live,
            refusal: None,
            read: |config, text| {
                let entry = of_level(text, $max);
                let level = entry.and_then(|(level, value)| {
                    let levels = &mut config.congestion.ca.levels;
                    Some((levels.get_mut(usize::from(level.bits()))?, value))
                });
                level.is_some_and(|(level, value)| {
                    level.$field = value;
                    true
                })
            },
            write: |config| {
                let levels = (0u8..).zip(&config.congestion.ca.levels);
                let set = levels.filter(|(level, entry)| *level == 0 || entry.$field != 0);
                let lines: Vec<String> = set
                    .map(|(level, entry)| level.to_string() + " " + &entry.$field.to_string())
                    .collect();
                lines.join("\n")
            },
            copy: |to, from| {
                let levels = to.congestion.ca.levels.iter_mut();
                for (to, from) in levels.zip(&from.congestion.ca.levels) {
                    to.$field = from.$field;
                }
            },
        }
    };
}

/// Their rows.
pub(super) static ROWS: &[OptionInfo] = &[
    row!(
        "congestion_control",
        Congestion,
        ["Tells switches when to mark packets, and CAs how to slow down."],
        Flag,
        Live,
        congestion.enabled
    ),
    row!(
        "cc_key",
        Congestion,
        ["Key that requests of congestion control carry; devices keep the key that they have."],
        Wide,
        Live,
        congestion.key
    ),
    row!(
        "cc_max_outstanding_mads",
        Congestion,
        ["Requests of congestion control in flight."],
        Int(1, 0xffff),
        Live,
        congestion.max_in_flight
    ),
    row!(
        "cc_sw_cong_setting_control_map",
        Congestion,
        [
            "Which settings of switches count, a sum of bits: 1 victim mask, 2 credit mask, 4 threshold and packet size, 8 credit starvation, 16 marking rate."
        ],
        HexDigits(0x1f, 1),
        Live,
        congestion.switch.control_map
    ),
    row!(
        "cc_sw_cong_setting_victim_mask",
        Congestion,
        ["Ports of switches that mark packets of victims of congestion too; bit 0 is port 0."],
        Mask,
        Live,
        congestion.switch.victim_mask
    ),
    row!(
        "cc_sw_cong_setting_credit_mask",
        Congestion,
        ["Ports of switches to which credit starvation applies; bit 0 is port 0."],
        Mask,
        Live,
        congestion.switch.credit_mask
    ),
    row!(
        "cc_sw_cong_setting_threshold",
        Congestion,
        ["How early switches mark packets: 0 never, 15 at the least backlog."],
        Hex(0, 15),
        Live,
        congestion.switch.threshold
    ),
    row!(
        "cc_sw_cong_setting_packet_size",
        Congestion,
        ["Shortest packet that is marked, in credits of 64 bytes."],
        Int(0, 255),
        Live,
        congestion.switch.packet_size
    ),
    row!(
        "cc_sw_cong_setting_credit_starvation_threshold",
        Congestion,
        ["How early switches detect credit starvation: 0 never, 15 first."],
        Hex(0, 15),
        Live,
        congestion.switch.credit_starvation_threshold
    ),
    row!(
        "cc_sw_cong_setting_credit_starvation_return_delay",
        Congestion,
        ["Delay until starved credits return."],
        DelayPair,
        Live,
        congestion.switch.return_delay
    ),
    row!(
        "cc_sw_cong_setting_marking_rate",
        Congestion,
        ["Mean number of packets between two marks."],
        Int(0, 0xffff),
        Live,
        congestion.switch.marking_rate
    ),
    row!(
        "cc_ca_cong_setting_port_control",
        Congestion,
        ["1: CAs slow down by service level; 0: by queue pair."],
        HexDigits(0xffff, 4),
        Live,
        congestion.ca.port_control
    ),
    row!(
        "cc_ca_cong_setting_control_map",
        Congestion,
        ["Service levels of CAs that are configured, a bit each."],
        HexDigits(0xffff, 4),
        Live,
        congestion.ca.control_map
    ),
    level_row!(
        "cc_ca_cong_setting_ccti_timer",
        "Time after which the index of a service level falls by one, in units of 1.024 us. A line for each level.",
        0xffff,
        timer
    ),
    level_row!(
        "cc_ca_cong_setting_ccti_increase",
        "By how much a notification raises the index of a service level. A line for each level.",
        0xff,
        increase
    ),
    level_row!(
        "cc_ca_cong_setting_trigger_threshold",
        "Index at which a CA logs an event of a service level. A line for each level.",
        0xff,
        trigger_threshold
    ),
    level_row!(
        "cc_ca_cong_setting_ccti_min",
        "Lowest index of a service level. A line for each level.",
        0xff,
        min
    ),
    row!(
        "cc_cct",
        Congestion,
        ["Congestion control table: the delays between packets by index."],
        DelayList,
        Live,
        congestion.table
    ),
];
