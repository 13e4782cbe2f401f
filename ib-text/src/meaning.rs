//! The meaning of the number in a field: the name of a code point, or the value with its unit.
//!
//! A table of structures and fields by their names in the specification. A name that several structures
//! have in one sense is in it once, without a structure.

use std::{borrow::Cow, time::Duration};

use ib_mad::{
    AttributeId, MadStatus, Method, MgmtClass, NoticeType, ProducerType, RmppStatus, RmppType,
    TrapNumber,
};
use ib_sa::Selector;
use ib_smp::{
    LinkDownDefaultState, LinkSpeedActive, LinkSpeedExtActive, LinkSpeedExtActive2,
    LinkWidthActive, MKeyProtect, PortPhysicalState, PortState, SmState, VlCap,
};
use ib_wire::{
    AethSyndromeClass, EtherType, FcpOp, GrhNxtHdr, LinkSpeed, Lnh, Mtu, NakCode, NodeType, OpCode,
    Rate, time::time_of_code,
};

use crate::dissect::attribute_name;

/// The meaning of a value; `None` if the number needs no explanation.
pub type Meaning = fn(u64) -> Option<Cow<'static, str>>;

/// The meaning of values of `field` in `structure`, by their names in the specification.
pub fn of(structure: &str, field: &str) -> Option<Meaning> {
    let row =
        |row: &&(&str, &str, Meaning)| row.1 == field && (row.0.is_empty() || row.0 == structure);
    TABLE.iter().find(row).map(|(_, _, meaning)| *meaning)
}

/// The name of an attribute in its class.
pub fn of_attribute(class: MgmtClass, value: u64) -> Option<&'static str> {
    attribute_name(class, AttributeId(u16::try_from(value).ok()?))
}

/// Declares a function that names the values of a code point's type.
macro_rules! named {
    ($($function:ident: $type:ident,)*) => {
        $(fn $function(value: u64) -> Option<Cow<'static, str>> {
            $type::from_bits(value.try_into().ok()?).name().map(Cow::Borrowed)
        })*
    };
}

named! {
    op_code: OpCode,
    lnh: Lnh,
    nxt_hdr: GrhNxtHdr,
    ether_type: EtherType,
    flow_control: FcpOp,
    mgmt_class: MgmtClass,
    method: Method,
    rmpp_type: RmppType,
    rmpp_status: RmppStatus,
    node_type: NodeType,
    port_state: PortState,
    physical_state: PortPhysicalState,
    down_state: LinkDownDefaultState,
    m_key_protect: MKeyProtect,
    vl_cap: VlCap,
    sm_state: SmState,
    notice_type: NoticeType,
    producer_type: ProducerType,
    trap_number: TrapNumber,
    selector: Selector,
    rate: Rate,
    width: LinkWidthActive,
}

const TABLE: &[(&str, &str, Meaning)] = &[
    ("LRH", "lnh", lnh),
    ("LRH", "pkt_len", words),
    ("GRH", "nxt_hdr", nxt_hdr),
    ("BTH", "op_code", op_code),
    ("AETH", "syndrome", syndrome),
    ("FlowControlPacket", "op", flow_control),
    ("", "ether_type", ether_type),
    ("", "mgmt_class", mgmt_class),
    ("", "method", method),
    ("", "status", status),
    ("", "rmpp_type", rmpp_type),
    ("", "rmpp_status", rmpp_status),
    ("", "node_type", node_type),
    ("", "producer_type", producer_type),
    ("", "trap_number", trap_number),
    ("Notice", "type", notice_type),
    ("NoticeSM", "type", notice_type),
    ("", "port_state", port_state),
    ("", "port_physical_state", physical_state),
    ("", "link_down_default_state", down_state),
    ("", "m_key_protect_bits", m_key_protect),
    ("", "m_key_lease_period", seconds),
    ("PortInfo", "link_width_active", width),
    ("PortInfo", "link_width_enabled", widths),
    ("PortInfo", "link_width_supported", widths),
    ("PortInfo", "link_speed_active", speed),
    ("PortInfo", "link_speed_enabled", speeds),
    ("PortInfo", "link_speed_supported", speeds),
    ("PortInfo", "link_speed_ext_active", extended_speed),
    ("PortInfo", "link_speed_ext_enabled", extended_speeds),
    ("PortInfo", "link_speed_ext_supported", extended_speeds),
    ("PortInfo", "link_speed_ext_active2", second_extended_speed),
    ("PortInfo", "link_speed_ext_enabled2", second_extended_speed),
    (
        "PortInfo",
        "link_speed_ext_supported2",
        second_extended_speed,
    ),
    ("", "lmc", lids),
    ("", "neighbor_mtu", mtu),
    ("", "mtu_cap", mtu),
    ("", "mtu", mtu),
    ("", "mtu_selector", selector),
    ("", "rate", rate),
    ("", "rate_selector", selector),
    ("", "packet_life_time", time),
    ("", "packet_life_time_selector", selector),
    ("", "vl_cap", vl_cap),
    ("", "operational_vls", vl_cap),
    ("PortInfo", "hoq_life", head_of_queue_life),
    ("", "subnet_timeout", time),
    ("", "resp_time_value", time),
    ("", "life_time_value", time),
    ("", "sm_state", sm_state),
];

fn owned(text: String) -> Option<Cow<'static, str>> {
    Some(Cow::Owned(text))
}

fn words(value: u64) -> Option<Cow<'static, str>> {
    owned(format!("{} bytes", value.saturating_mul(4)))
}

fn seconds(value: u64) -> Option<Cow<'static, str>> {
    match value {
        0 => Some("unlimited".into()),
        value => owned(format!("{value} s")),
    }
}

fn lids(value: u64) -> Option<Cow<'static, str>> {
    match value {
        0 => Some("1 LID".into()),
        1..=7 => owned(format!("{} LIDs", 1 << value)),
        _ => None,
    }
}

fn mtu(value: u64) -> Option<Cow<'static, str>> {
    let bytes = Mtu(value.try_into().ok()?).bytes()?;
    owned(format!("{bytes} bytes"))
}

/// The time of a code: 4.096 us * 2^n.
fn time(value: u64) -> Option<Cow<'static, str>> {
    let time = time_of_code(value.try_into().ok()?);
    owned(duration(time))
}

fn head_of_queue_life(value: u64) -> Option<Cow<'static, str>> {
    match value {
        20.. => Some("unlimited".into()),
        _ => time(value),
    }
}

/// Three digits and a unit.
fn duration(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        ..1e3 => format!("{micros:.3} us"),
        ..1e6 => format!("{:.3} ms", micros / 1e3),
        _ => format!("{:.3} s", micros / 1e6),
    }
}

/// Class and value of an acknowledgement.
fn syndrome(value: u64) -> Option<Cow<'static, str>> {
    let (class, low) = (value >> 5 & 3, value & 31);
    let class = AethSyndromeClass::from_bits(class as u8);
    let name = class.name()?;
    match class {
        AethSyndromeClass::NAK => match NakCode::from_bits(low as u8).name() {
            Some(code) => owned(format!("{name} {code}")),
            None => owned(format!("{name} {low}")),
        },
        AethSyndromeClass::RNR_NAK => owned(format!("{name}, timer {low}")),
        _ => Some(name.into()),
    }
}

/// The parts of a status that are not zero.
fn status(value: u64) -> Option<Cow<'static, str>> {
    let status = MadStatus(value.try_into().ok()?);
    if status.is_ok() {
        return Some("ok".into());
    }
    let mut parts = Vec::new();
    if status.is_busy() {
        parts.push("busy".to_owned());
    }
    if status.is_redirect() {
        parts.push("redirect".to_owned());
    }
    if status.code().bits() != 0 {
        parts.push(status.code().to_string());
    }
    if status.class_part() != 0 {
        parts.push(format!("of the class {:#04x}", status.class_part()));
    }
    owned(parts.join(", "))
}

/// The members of a set of values, each a bit.
fn members(value: u64, of_bit: impl Fn(u8) -> Option<String>) -> Option<Cow<'static, str>> {
    let bits = (0..8u8)
        .map(|bit| 1 << bit)
        .filter(|bit| value & u64::from(*bit) != 0);
    let names: Option<Vec<String>> = bits.map(of_bit).collect();
    let names = names.filter(|names| !names.is_empty())?;
    owned(names.join(" or "))
}

fn widths(value: u64) -> Option<Cow<'static, str>> {
    let name = |bit| LinkWidthActive(bit).name().map(str::to_owned);
    members(value, name)
}

/// The rate of a lane by the name of its speed.
fn lane_rate(name: &str) -> Option<String> {
    let speed: LinkSpeed = name.parse().ok()?;
    let rate = f64::from(speed.lane_mbps()) / 1e3;
    Some(format!("{rate} Gb/s"))
}

fn speed(value: u64) -> Option<Cow<'static, str>> {
    let speed = LinkSpeedActive(value.try_into().ok()?);
    let name = speed.name()?;
    Some(lane_rate(name).map_or(name.into(), Cow::Owned))
}

fn extended_speed(value: u64) -> Option<Cow<'static, str>> {
    let speed = LinkSpeedExtActive(value.try_into().ok()?);
    let name = speed.name()?;
    Some(lane_rate(name).map_or(name.into(), Cow::Owned))
}

fn second_extended_speed(value: u64) -> Option<Cow<'static, str>> {
    let speed = LinkSpeedExtActive2(value.try_into().ok()?);
    let name = speed.name()?;
    Some(lane_rate(name).map_or(name.into(), Cow::Owned))
}

fn speeds(value: u64) -> Option<Cow<'static, str>> {
    let rate = |bit| lane_rate(LinkSpeedActive(bit).name()?);
    members(value, rate)
}

fn extended_speeds(value: u64) -> Option<Cow<'static, str>> {
    let rate = |bit| lane_rate(LinkSpeedExtActive(bit).name()?);
    members(value, rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(structure: &str, field: &str, value: u64) -> Option<String> {
        of(structure, field)?(value).map(Cow::into_owned)
    }

    #[test]
    fn every_row_names_a_field_of_the_specification() {
        for (structure, field, _) in TABLE {
            let known = crate::dissect::layouts().any(|layout| {
                (structure.is_empty() || layout.name == *structure)
                    && layout.fields.iter().any(|known| known.name == *field)
            });
            assert!(known, "{structure}.{field}");
        }
    }

    #[test]
    fn values_read_as_in_the_specification() {
        for (structure, field, value, text) in [
            ("BTH", "op_code", 10, "RC RDMA WRITE Only"),
            ("PortInfo", "port_state", 4, "Active"),
            ("PortInfo", "link_speed_active", 1, "2.5 Gb/s"),
            ("PortInfo", "link_width_supported", 3, "1x or 4x"),
            ("PortInfo", "lmc", 2, "4 LIDs"),
            ("PortInfo", "subnet_timeout", 18, "1.074 s"),
            ("PathRecord", "rate", 3, "10 Gb/s"),
            ("PathRecord", "mtu", 4, "2048 bytes"),
            ("MADHeader", "method", 1, "Get"),
            ("MADHeader", "status", 0, "ok"),
            ("AETH", "syndrome", 0x60, "NAK PSNSequenceError"),
        ] {
            let found = meaning(structure, field, value);
            assert_eq!(found.as_deref(), Some(text), "{structure}.{field}");
        }
        assert_eq!(meaning("PortInfo", "port_state", 9), None);
        assert_eq!(meaning("PortInfo", "lid", 9), None);
        assert_eq!(of_attribute(MgmtClass::SUBN_LID, 0x15), Some("PortInfo"));
    }
}
