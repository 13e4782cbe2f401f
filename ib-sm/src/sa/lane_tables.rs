//! SLtoVL and VL arbitration tables that a query names and that the manager does not know (IBA vol. 1, 14.2.5.8 and
//! 14.2.5.9).
//!
//! While routes use one lane and quality of service is off, the manager has no need of these tables, and reading all of
//! them costs more than everything else that a sweep reads. So they are read when a query asks for them. The query waits
//! until then, and is answered from the observed subnet, where the tables stay known until their port restarts.

use alloc::{
    collections::{BTreeSet, VecDeque},
    vec::Vec,
};

use ib_mad::{Attribute as _, Mad, Method};
use ib_sa::{
    ComponentMask, SlToVlMappingTableComponents, SlToVlMappingTableRecord,
    VlArbitrationTableComponents, VlArbitrationTableRecord,
};
use ib_smp::{SlToVlMappingTable, SlToVlModifier, VlArbitrationModifier, VlArbitrationTable};
use ib_subnet::{Block, PortId, Subnet, SubnetNode};
use ib_wire::{Lid, PortNum};

use super::{RequestContext, View, records, requests::NODES_AT_ONCE, scope::QueryScope};
use crate::policy::lanes;

/// Maximum number of tables that are to be read. Requests that need more are answered with BUSY; a retry finds those
/// known that were read meanwhile.
const MAX_UNREAD: usize = 1 << 16;
/// Maximum number of requests that wait for tables. Beyond it requests are answered with BUSY.
const MAX_WAITING: usize = 256;
/// Number of tables that are read before a sweep that is due may begin.
const PART: usize = 128;

/// The tables that are to be read, and the requests that wait for them.
#[derive(Debug, Default)]
pub(crate) struct LaneTables {
    unread: BTreeSet<Block>,
    /// The part of the tables that is being read.
    reading: Vec<Block>,
    /// Tables that a device did not give. They are asked for again after the next sweep.
    missing: BTreeSet<Block>,
    waiting: VecDeque<Mad>,
}

impl LaneTables {
    /// The tables that a request names and that can be read but are not known. A request for those of all nodes of a
    /// large subnet names none: it is answered with what is known.
    pub(super) fn unknown(&self, context: RequestContext<'_>) -> BTreeSet<Block> {
        let RequestContext { request, view, .. } = context;
        if !matches!(request.method(), Method::GET | Method::GET_TABLE) {
            return BTreeSet::new();
        }
        let mask = request.component_mask();
        let named: Vec<Block> = match request.attribute_id() {
            SlToVlMappingTableRecord::ID => match request.template::<SlToVlMappingTableRecord>() {
                Ok(template) => sl_to_vl(view, template, mask),
                Err(_) => Vec::new(),
            },
            VlArbitrationTableRecord::ID => match request.template::<VlArbitrationTableRecord>() {
                Ok(template) => arbitration(view, template, mask),
                Err(_) => Vec::new(),
            },
            _ => Vec::new(),
        };
        let unknown = named.into_iter().filter(|&block| {
            let is_silent = |node: &SubnetNode| node.is_silent();
            view.subnet.block(block).is_none()
                && !self.missing.contains(&block)
                && !view.subnet.node(block.port.node).is_none_or(is_silent)
        });
        unknown.collect()
    }

    /// Has tables read for a request, which waits for them. Returns false if too many wait already.
    pub(super) fn read_for(&mut self, request: &Mad, unknown: BTreeSet<Block>) -> bool {
        let room = MAX_UNREAD.saturating_sub(self.unread.len());
        let has_room = unknown.len() <= room && self.waiting.len() < MAX_WAITING;
        self.unread.extend(unknown.into_iter().take(room));
        // A requester that lost patience sends the same request again.
        if has_room && !self.waiting.contains(request) {
            self.waiting.push_back(*request);
        }
        has_room
    }

    /// The next tables to read.
    pub(crate) fn take_part(&mut self) -> Vec<Block> {
        if self.unread.is_empty() && self.reading.is_empty() {
            return Vec::new();
        }
        // A sweep cut off the reading of the last part.
        self.unread.extend(core::mem::take(&mut self.reading));
        let next = core::iter::from_fn(|| self.unread.pop_first());
        self.reading.extend(next.take(PART));
        self.reading.clone()
    }

    /// Ends the reading of a part. Returns the requests whose tables have all been read.
    pub(super) fn end_part(&mut self, subnet: &Subnet) -> VecDeque<Mad> {
        let read = core::mem::take(&mut self.reading).into_iter();
        self.missing
            .extend(read.filter(|&block| subnet.block(block).is_none()));
        match self.unread.is_empty() {
            true => core::mem::take(&mut self.waiting),
            false => VecDeque::new(),
        }
    }

    /// Has tables that devices did not give asked for again.
    pub(super) fn forget_missing(&mut self) {
        self.missing.clear();
    }
}

/// The nodes that a request with this LID names; `None` if it names all nodes of a large subnet.
fn scope(view: View<'_>, lid: Lid, mask: ComponentMask) -> Option<QueryScope<'_>> {
    let scope = QueryScope::of(view, lid, mask);
    let is_too_large = scope == QueryScope::All && view.subnet.nodes().count() > NODES_AT_ONCE;
    (!is_too_large).then_some(scope)
}

fn sl_to_vl(
    view: View<'_>,
    template: &SlToVlMappingTableRecord,
    mask: ComponentMask,
) -> Vec<Block> {
    let given = SlToVlMappingTableComponents::from_bits_retain(mask.0);
    let (input, output) = (template.input_port_num(), template.output_port_num());
    let wanted_input =
        |port| !given.contains(SlToVlMappingTableComponents::INPUT_PORT_NUM) || port == input;
    let wanted_output =
        |port| !given.contains(SlToVlMappingTableComponents::OUTPUT_PORT_NUM) || port == output;
    let Some(scope) = scope(view, template.lid(), mask) else {
        return Vec::new();
    };
    let mut blocks = Vec::new();
    for (at, node, _) in records::may_access_end_ports(view, scope) {
        let mut add = |port, input, output| {
            blocks.push(Block {
                port: PortId { port, ..at },
                attribute: SlToVlMappingTable::ID,
                modifier: SlToVlModifier::Pair { input, output }.bits(),
            });
        };
        let Some(switch) = node.switch() else {
            add(at.port, PortNum(0), PortNum(0));
            continue;
        };
        let enhanced = switch.info().is_some_and(|info| info.enhanced_port0());
        let ports = || node.ports().map(|(port, _)| port);
        let outputs = ports().filter(|&port| port != PortNum::MANAGEMENT || enhanced);
        for output in outputs.filter(|&port| wanted_output(port)) {
            for input in ports().filter(|&port| wanted_input(port)) {
                add(output, input, output);
            }
        }
    }
    blocks
}

fn arbitration(
    view: View<'_>,
    template: &VlArbitrationTableRecord,
    mask: ComponentMask,
) -> Vec<Block> {
    let given = VlArbitrationTableComponents::from_bits_retain(mask.0);
    let Some(scope) = scope(view, template.lid(), mask) else {
        return Vec::new();
    };
    let mut blocks = Vec::new();
    // Port 0 of a switch has no lanes to arbitrate.
    let ports = records::all_ports(view, scope).filter(|(at, ..)| at.port != PortNum::MANAGEMENT);
    for (at, _, entry) in ports {
        let is_switch = view.subnet.switch(at.node).is_some();
        let names_port = is_switch && given.contains(VlArbitrationTableComponents::OUTPUT_PORT_NUM);
        if names_port && template.output_port_num() != at.port {
            continue;
        }
        let port = if is_switch { at.port } else { PortNum(0) };
        let halves = entry.info().into_iter().flat_map(lanes::halves_with_room);
        blocks.extend(halves.map(|half| Block {
            port: at,
            attribute: VlArbitrationTable::ID,
            modifier: VlArbitrationModifier { half, port }.bits(),
        }));
    }
    blocks
}
