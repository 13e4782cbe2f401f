//! Performance management: the counters of every port, and the agent that shows and clears them (IBA vol. 1, 16.1).
//!
//! A counter is kept once, in 64 bits, under its name in the specification's tables; the attributes are windows on it: the
//! same count appears in PortCounters, stopped at all ones, and in PortCountersExtended. Every packet counts, SMPs
//! too, because PortXmitData is for all lanes. A link of this fabric has no credits and no error correction: counters of
//! those keep the value that was written to them.

use std::sync::LazyLock;

use ib_mad::{
    Attribute, AttributeId, ClassCapabilities, ClassPortInfo, MadStatus, Method, PerfAttribute,
    PerfCapabilities, PerfCapabilities2, PerformanceMad, PortCounters, PortCountersExtended,
    PortExtendedSpeedsCounters, PortSamplesControl, PortSamplesResult, PortSamplesResultExtended,
    extended_speeds_select,
};
use ib_routing::{NodeIdx, PortRef};
use ib_wire::table::{FieldKind, Layout, load_bits, padded, store_bits};
use ib_wire::{OpCode, PortNum};

use crate::frame::FrameIdx;
use crate::node::PortIdx;
use crate::options::DeviceProfile;
use crate::sim::Sim;

/// PortSelect of all ports of a switch together.
const ALL_PORTS: u8 = 255;

/// Attributes from here on belong to vendors; these agents have none.
const FIRST_OF_VENDORS: AttributeId = AttributeId(0xff00);

/// One counter as an attribute shows it.
struct Window {
    name: &'static str,
    index: u8,
    bit_offset: usize,
    bits: usize,
    /// Its bit in CounterSelect, or in CounterSelect2 from 16 on where that is an attribute's second mask.
    select: u32,
}

/// The counters that an attribute shows; `None` if it shows none of them.
fn windows(id: AttributeId) -> Option<(&'static Layout, &'static [Window])> {
    /// The attributes with counters. They follow from the layouts, and a scan of all ports asks for one of them
    /// thousands of times.
    static ALL: LazyLock<Vec<(AttributeId, &'static Layout, Vec<Window>)>> = LazyLock::new(|| {
        let ids = PerfAttribute::ATTRIBUTES.iter().map(|entry| entry.id);
        ids.filter_map(|id| find_windows(id).map(|(layout, windows)| (id, layout, windows)))
            .collect()
    });
    let (_, layout, windows) = ALL.iter().find(|(known, _, _)| *known == id)?;
    Some((layout, windows))
}

fn find_windows(id: AttributeId) -> Option<(&'static Layout, Vec<Window>)> {
    let samples = [
        PortSamplesControl::ID,
        PortSamplesResult::ID,
        PortSamplesResultExtended::ID,
        ClassPortInfo::ID,
    ];
    if samples.contains(&id) || id >= FIRST_OF_VENDORS {
        return None;
    }
    let entry = PerfAttribute::ATTRIBUTES
        .iter()
        .find(|entry| entry.id == id)?;
    let layout = entry.layout?;
    let counters = layout.fields.iter().filter(|field| {
        let name = field.name;
        !(field.is_reserved()
            || name.starts_with("counter_select")
            || matches!(name, "port_select" | "op_code"))
    });
    let mut found = Vec::new();
    for field in counters {
        let (count, bits) = match field.kind {
            FieldKind::Uint => (1, field.bits),
            FieldKind::Array { element_bits, .. } => {
                (field.bits.checked_div(element_bits)?, element_bits)
            }
            _ => continue,
        };
        for index in 0..u8::try_from(count).ok()? {
            let ordinal = u32::try_from(found.len()).ok()?;
            found.push(Window {
                name: field.name,
                index,
                bit_offset: usize::from(index)
                    .checked_mul(bits)?
                    .checked_add(field.bit_offset)?,
                bits,
                select: select_bit(id, field.name, ordinal),
            });
        }
    }
    Some((layout, found))
}

/// The bit that selects a counter: its place among the counters, with the exceptions of two attributes.
fn select_bit(id: AttributeId, name: &str, ordinal: u32) -> u32 {
    match (id, name) {
        // CounterSelect2 of PortCounters.
        (PortCounters::ID, "port_xmit_wait") => 16,
        (PortCounters::ID, "qp1_dropped") => 17,
        // Counters after it in the layout are before it in CounterSelect.
        (PortCounters::ID, _) if ordinal > 11 => ordinal.saturating_sub(1),
        (PortExtendedSpeedsCounters::ID, _) => {
            extended_speeds_select(name).map_or(u32::MAX, u64::trailing_zeros)
        }
        // CounterSelect of PortCountersExtended has 8 bits, CounterSelect2 has the others.
        (PortCountersExtended::ID, _) if ordinal > 7 => ordinal.saturating_add(8),
        _ => ordinal,
    }
}

impl Sim {
    /// Sets a counter by the name of its attribute and field, spelled as in the specification or as ibsim's console
    /// does, cut at the counter's width, and gives the value that it has now; `None` if there is no such. A counter of one
    /// lane has the lane's number after its name: `PortVLOpPackets3`.
    pub fn set_counter(
        &mut self,
        port: PortRef,
        attribute: &str,
        field: &str,
        value: u64,
    ) -> Option<u64> {
        let index = self.port_idx(port)?;
        let attribute = plain(attribute);
        let mut entries = PerfAttribute::ATTRIBUTES.iter();
        let entry = entries.find(|entry| {
            let name = plain(entry.name);
            name == attribute || name.strip_prefix("port") == Some(&attribute)
        })?;
        let (_, windows) = windows(entry.id)?;
        let wanted = plain(field);
        let window = windows.iter().find(|window| {
            let name = plain(window.name);
            // A counter of one lane has the lane's number after its name.
            wanted == name || wanted == format!("{name}{}", window.index)
        })?;
        let value = value.min(all_ones(window.bits));
        let counters = &mut self.ports[index].counters;
        counters.set(window.name, window.index, value);
        Some(value)
    }

    /// Turns the request in `frame` into its response; `false` if there is none.
    pub(crate) fn answer_perf(&mut self, end_port: PortIdx, frame: FrameIdx) -> bool {
        let Ok((mad, _)) = PerformanceMad::parse(&self.frames[frame].bytes, 0) else {
            return false;
        };
        let (method, id, mut data) = (mad.method(), mad.attribute_id(), *mad.data());
        let modifier = mad.attribute_modifier();
        let node = self.ports[end_port].node;
        let right_version = mad.base_version() == 1 && mad.class_version() == 1;
        let status = match method {
            _ if !right_version => MadStatus::BAD_VERSION,
            Method::GET | Method::SET => {
                let set = method == Method::SET;
                let sampled = self.samples_attribute(node, id, modifier, set, &mut data);
                sampled.unwrap_or_else(|| self.perf_attribute(node, id, set, &mut data))
            }
            _ => MadStatus::UNSUPPORTED_METHOD,
        };
        let Ok((mad, _)) = PerformanceMad::parse_mut(&mut self.frames[frame].bytes, 0) else {
            return false;
        };
        mad.set_method(Method::GET_RESP)
            .set_status(status)
            .set_data(&data);
        true
    }

    fn perf_attribute(
        &mut self,
        node: NodeIdx,
        id: AttributeId,
        set: bool,
        data: &mut [u8; 192],
    ) -> MadStatus {
        let switch = self.nodes[node].is_switch;
        if id == ClassPortInfo::ID && !set {
            *data = padded(class_port_info(switch, self.options.profile).as_bytes());
            return MadStatus::OK;
        }
        let Some((layout, windows)) = windows(id) else {
            return MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE;
        };
        // PortSelect is the second byte of every attribute with counters.
        let select = data.get(1).copied().unwrap_or(0);
        let ports = match select {
            ALL_PORTS if switch => self.external_ports(node).collect(),
            0 if !switch => Vec::new(),
            _ => Vec::from_iter(self.nodes[node].port_idx(PortNum(select))),
        };
        if ports.is_empty() {
            return MadStatus::INVALID_FIELD_VALUE;
        }
        let by_operation = layout.field("op_code").is_some();
        if set {
            for &port in &ports {
                self.write_counters(port, layout, windows, data);
                if by_operation {
                    let op_code = OpCode(data.first().copied().unwrap_or(0));
                    self.ports[port].counters.set_operation(id, op_code);
                }
            }
        }
        // OpCode is the first byte of the attributes that have it.
        if by_operation && let (Some(first), Some(&port)) = (data.first_mut(), ports.first()) {
            *first = self.ports[port].counters.operation(id).0;
        }
        data.iter_mut().skip(layout.len).for_each(|byte| *byte = 0);
        for window in windows {
            let all = ports.iter().map(|&port| {
                let counters = &self.ports[port].counters;
                counters.get(window.name, window.index)
            });
            let sum = all
                .fold(0u64, u64::saturating_add)
                .min(all_ones(window.bits));
            // The window is inside the layout, and the layout inside the data.
            let _ = store_bits(data, window.bit_offset, window.bits, sum);
        }
        MadStatus::OK
    }

    /// Writes the counters that CounterSelect names.
    fn write_counters(
        &mut self,
        port: PortIdx,
        layout: &Layout,
        windows: &[Window],
        data: &[u8; 192],
    ) {
        let field = |name| {
            let field = layout.field(name)?;
            load_bits(data, field.bit_offset, field.bits)
        };
        let first = field("counter_select").unwrap_or(0);
        // The second mask follows the 16 bits of the first; an attribute with a longer first mask has no second.
        let selected = field("counter_select2").unwrap_or(0) << 16 | first;
        for window in windows {
            let named = selected
                .checked_shr(window.select)
                .is_some_and(|bits| bits & 1 == 1);
            if named && let Some(value) = load_bits(data, window.bit_offset, window.bits) {
                let counters = &mut self.ports[port].counters;
                counters.set(window.name, window.index, value);
            }
        }
    }
}

fn class_port_info(switch: bool, profile: DeviceProfile) -> ClassPortInfo {
    let mut can = PerfCapabilities::IS_EXTENDED_WIDTH_SUPPORTED
        | PerfCapabilities::PORT_COUNTERS_XMIT_WAIT_SUPPORTED;
    can.set(PerfCapabilities::ALL_PORT_SELECT, switch);
    let mut can2 = PerfCapabilities2::empty();
    if profile == DeviceProfile::Specified {
        // ibsim shows the counters and does not say so.
        can |= PerfCapabilities::IS_QP1_DROPPED_SUPPORTED
            | PerfCapabilities::IS_CAPABILITY_MASK2_SUPPORTED;
        can2 |= PerfCapabilities2::IS_ADDITIONAL_PORT_COUNTERS_EXTENDED_SUPPORTED;
    }
    let mut info = ClassPortInfo::default();
    info.set_base_version(1)
        .set_class_version(1)
        .set_capability_mask(ClassCapabilities::from_bits_retain(can.bits()))
        .set_capability_mask2(can2.bits());
    info
}

/// A name without what spellings differ in.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| *c != '_');
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

const fn all_ones(bits: usize) -> u64 {
    if bits >= 64 {
        u64::MAX
    } else {
        (1u64 << bits).wrapping_sub(1)
    }
}
