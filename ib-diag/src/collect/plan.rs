//! The order in which a subnet is read: a pure function of what has been read so far.

use alloc::{collections::BTreeMap, vec::Vec};

use ib_mad::{
    Attribute, AttributeId, ClassPortInfo, PerfCapabilities, PortCounters, PortCountersExtended,
};
use ib_routing::{NodeIdx, PortRef, index::Idx};
use ib_smp::{
    CapabilityMask, DrPath, LinearForwardingTable, MftModifier, MulticastForwardingTable,
    NodeDescription, NodeInfo, PKeyModifier, PartitionKeyTable, PortInfo, PortInfoModifier,
    SlToVlMappingTable, SlToVlModifier, SmInfo, VlArbitrationHalf, VlArbitrationModifier,
    VlArbitrationTable, VlCap,
};
use ib_subnet::{NodeId, PortId, Subnet, SubnetNode};
use ib_wire::{Lid, PortNum};

use super::{CounterScope, LaneTables, agents::Agent};
use crate::{
    counters::CounterReadings,
    snapshot::{Contents, SilentDevice, Snapshot, SnapshotNode},
};

/// A Get of one attribute of a port, or of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Get {
    pub(super) port: PortRef,
    pub(super) what: What,
}

/// The attribute, and the parts of its modifier that do not follow from the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// NodeInfo of the unknown device at the other end of the port's cable.
    Behind,
    /// If `extended`, bit 31 of the modifier is set, and the answer shows speeds beyond HDR.
    PortInfo {
        extended: bool,
    },
    Lft(u16),
    Mft(MftModifier),
    /// The SLtoVL table from this input port to the port.
    SlToVl {
        input: PortNum,
    },
    PKeys(u16),
    VlArbitration(VlArbitrationHalf),
    SmInfo,
    PerfClassPortInfo,
    /// PortCounters of all ports of a switch together, or of a port of another device: has it counted an error?
    ErrorSum,
    PortCounters,
    PortCountersExtended,
}

impl What {
    /// Returns true if the attribute belongs to performance management.
    pub(super) const fn is_perf(self) -> bool {
        matches!(
            self,
            Self::PerfClassPortInfo
                | Self::ErrorSum
                | Self::PortCounters
                | Self::PortCountersExtended
        )
    }

    /// The attribute and its modifier, for a port of a switch or of another node.
    pub(super) fn attribute(self, port: PortNum, is_switch: bool) -> (AttributeId, u32) {
        // A CA has an agent at each port: a table read there belongs to the port of arrival.
        let own = match is_switch {
            true => port,
            false => PortNum(0),
        };
        match self {
            Self::Behind => (NodeInfo::ID, 0),
            Self::PortInfo { extended } => {
                let modifier = PortInfoModifier {
                    port,
                    extended_speeds: extended,
                };
                (PortInfo::ID, modifier.bits())
            }
            Self::Lft(block) => (LinearForwardingTable::ID, block.into()),
            Self::Mft(modifier) => (MulticastForwardingTable::ID, modifier.bits()),
            Self::SlToVl { input } => {
                let modifier = SlToVlModifier::Pair { input, output: own };
                (SlToVlMappingTable::ID, modifier.bits())
            }
            Self::PKeys(block) => (
                PartitionKeyTable::ID,
                PKeyModifier { port: own, block }.bits(),
            ),
            Self::VlArbitration(half) => {
                let modifier = VlArbitrationModifier { half, port: own };
                (VlArbitrationTable::ID, modifier.bits())
            }
            Self::SmInfo => (SmInfo::ID, 0),
            Self::PerfClassPortInfo => (ClassPortInfo::ID, 0),
            Self::PortCounters | Self::ErrorSum => (PortCounters::ID, 0),
            Self::PortCountersExtended => (PortCountersExtended::ID, 0),
        }
    }
}

/// Copies the result of a walk to the snapshot, with the nodes in the order of their GUIDs.
pub(super) fn lay_out(snapshot: &mut Snapshot, subnet: &Subnet) {
    let mut order: Vec<(NodeId, &SubnetNode)> = subnet.nodes().collect();
    order.sort_by_key(|(_, node)| node.info().node_guid());
    let numbers = order.iter().map(|(id, _)| id.index());
    let last = numbers.max().unwrap_or(0);
    let mut places = alloc::vec![None; last.saturating_add(1)];
    for (place, (id, _)) in order.iter().enumerate() {
        if let Some(of_node) = places.get_mut(id.index()) {
            *of_node = Some(NodeIdx::new(place));
        }
    }
    let place = |at: PortId| {
        let node = places.get(at.node.index()).copied().flatten()?;
        let port = at.port;
        Some(PortRef { node, port })
    };
    snapshot.own_port = subnet.own_port().and_then(place);
    for (_, observed) in order {
        let mut node = SnapshotNode::new(*observed.info(), observed.path());
        let description = *observed.description();
        node.description = (description != NodeDescription::default()).then_some(description);
        node.switch_info = observed.switch().and_then(|switch| switch.info().copied());
        for (number, observed) in observed.ports() {
            let Some(port) = node.ports.get_mut(usize::from(number.0)) else {
                continue;
            };
            port.guid = observed.guid();
            port.info = observed.info().copied();
            if let Some(info) = &mut port.info {
                leave_out_key(info);
            }
            port.is_fdr10 = observed.is_fdr10();
            port.vendor_speeds = observed.vendor_speeds().copied();
            port.peer = observed.peer().and_then(place);
        }
        snapshot.nodes.push(node);
    }
}

/// Clears the M_Key, because a snapshot is a file that people pass on.
pub(super) fn leave_out_key(info: &mut PortInfo) {
    info.set_m_key(ib_wire::MKey(0));
}

/// The agents for subnet management, and the requests to each of them after the walk.
pub(super) fn gets_after_walk(
    snapshot: &Snapshot,
    subnet: &Subnet,
    contents: Contents,
    lanes: LaneTables,
) -> Vec<(Agent, Vec<Get>)> {
    let mut agents = Vec::new();
    for (index, node) in snapshot.nodes.iter_enumerated() {
        let is_silent = |silent: &SilentDevice| silent.node_guid == Some(node.guid());
        if snapshot.silent.iter().any(is_silent) {
            continue;
        }
        let observed = subnet.find(node.guid()).and_then(|id| subnet.node(id));
        let extended = observed.is_some_and(SubnetNode::shows_all_speeds);
        let own = |port| PortRef { node: index, port };
        if node.is_switch() {
            let at = own(PortNum::MANAGEMENT);
            let mut gets = match contents.contains(Contents::FORWARDING) {
                true => tables(node, at),
                false => Vec::new(),
            };
            for (number, _) in node.ports() {
                gets.extend(gets_of_port(node, own(number), contents, lanes));
            }
            agents.push((Agent::Smi(at, node.path), gets));
            continue;
        }
        // Each port of a CA has an agent of its own. The first agent also describes the ports that the walk did not
        // reach.
        let mut not_reached = Vec::new();
        let mut of_node = Vec::new();
        for (number, port) in node.ports() {
            let at = own(number);
            let path = path_to(snapshot, at);
            if let (Some(path), true) = (path, port.info.is_some()) {
                of_node.push((
                    Agent::Smi(at, path),
                    gets_of_port(node, at, contents, lanes),
                ));
            } else if port.info.is_none() {
                let what = What::PortInfo { extended };
                not_reached.push(Get { port: at, what });
            }
        }
        if let Some((_, gets)) = of_node.first_mut() {
            gets.extend(not_reached);
        }
        agents.extend(of_node);
    }
    agents
}

/// The directed route that ends at a port of a CA or router.
fn path_to(snapshot: &Snapshot, port: PortRef) -> Option<DrPath> {
    if snapshot.own_port == Some(port) {
        return Some(DrPath::OWN_NODE);
    }
    let peer = snapshot.port(port)?.peer?;
    let in_front = snapshot.node(peer.node)?;
    if in_front.is_switch() || snapshot.own_port == Some(peer) {
        return in_front.path.then(peer.port);
    }
    None
}

/// The forwarding tables of a switch, as far as they are in use.
fn tables(node: &SnapshotNode, port: PortRef) -> Vec<Get> {
    let Some(info) = node.switch_info else {
        return Vec::new();
    };
    let top = info.linear_fdb_top().min(Lid::UNICAST_MAX);
    let (last, _) = LinearForwardingTable::block_of(top);
    let has_lft = info.linear_fdb_cap() > 0;
    let blocks = (0..=last).filter(|_| has_lft).map(What::Lft);
    // A top of 0 means that the field is not used; a top below the first multicast LID means that there is no entry.
    let in_use = match info.multicast_fdb_top() {
        Lid::NONE => info.multicast_fdb_cap(),
        top if top.is_multicast() => {
            let used = top.0.saturating_sub(Lid::MULTICAST_MIN.0).saturating_add(1);
            used.min(info.multicast_fdb_cap())
        }
        _ => 0,
    };
    let groups = in_use.div_ceil(MulticastForwardingTable::ENTRIES);
    let positions = node.info.num_ports() / MulticastForwardingTable::PORTS;
    let modifiers = (0..groups).flat_map(move |block| {
        (0..=positions).map(move |position| What::Mft(MftModifier { position, block }))
    });
    let all = blocks.chain(modifiers);
    all.map(|what| Get { port, what }).collect()
}

/// The tables of a port whose PortInfo is known.
fn gets_of_port(
    node: &SnapshotNode,
    at: PortRef,
    contents: Contents,
    lanes: LaneTables,
) -> Vec<Get> {
    let mut gets = Vec::new();
    let get = |port, what| Get {
        port: PortRef { port, ..at },
        what,
    };
    let Some((port, info)) = node.port(at.port).and_then(|port| Some((port, port.info?))) else {
        return gets;
    };
    let is_switch = node.is_switch();
    let is_end_port = node.managing_port(at.port) == at.port;
    if !is_end_port && !port.is_link_up() {
        return gets;
    }
    if contents.contains(Contents::P_KEYS) {
        let entries = match is_end_port {
            true => node.info.partition_cap(),
            false => node
                .switch_info
                .map_or(0, |info| info.partition_enforcement_cap()),
        };
        let blocks = entries.div_ceil(PartitionKeyTable::ENTRIES);
        gets.extend((0..blocks).map(|block| get(at.port, What::PKeys(block))));
    }
    let is_sm = info.capability_mask().contains(CapabilityMask::IS_SM)
        && !info
            .capability_mask()
            .contains(CapabilityMask::IS_SM_DISABLED);
    if is_end_port && is_sm && contents.contains(Contents::SM_INFO) {
        gets.push(get(at.port, What::SmInfo));
    }
    if contents.contains(Contents::QOS) && has_lanes(node, at.port) {
        let inputs = node.ports().filter(|(number, port)| {
            !is_switch || *number == PortNum::MANAGEMENT || port.peer.is_some()
        });
        match is_switch {
            // They follow when it is known which pairs of ports the routes join.
            true if lanes == LaneTables::Routed => {}
            true => gets.extend(inputs.map(|(input, _)| get(at.port, What::SlToVl { input }))),
            false => gets.push(get(at.port, What::SlToVl { input: PortNum(0) })),
        }
        let halves = [
            (
                VlArbitrationHalf::LowFirst,
                info.vl_arbitration_low_cap() > 0,
            ),
            (
                VlArbitrationHalf::LowSecond,
                info.vl_arbitration_low_cap() > 32,
            ),
            (
                VlArbitrationHalf::HighFirst,
                info.vl_arbitration_high_cap() > 0,
            ),
            (
                VlArbitrationHalf::HighSecond,
                info.vl_arbitration_high_cap() > 32,
            ),
        ];
        let halves = halves.into_iter().filter(|(_, has)| *has);
        gets.extend(halves.map(|(half, _)| get(at.port, What::VlArbitration(half))));
    }
    gets
}

/// Returns true if a port has SLtoVL tables: it has several lanes, and is no port 0 of a switch.
fn has_lanes(node: &SnapshotNode, port: PortNum) -> bool {
    let info = node.port(port).and_then(|port| port.info);
    let is_end_of_switch = node.is_switch() && port == PortNum::MANAGEMENT;
    info.is_some_and(|info| info.vl_cap() != VlCap::VL0) && !is_end_of_switch
}

/// By switch, the requests for the SLtoVL tables of the pairs of ports that packets pass by the forwarding tables,
/// multicast packets included.
pub(super) fn lanes_of_routes(snapshot: &Snapshot) -> BTreeMap<NodeIdx, Vec<Get>> {
    let fabric = snapshot.fabric();
    let pairs = snapshot.port_pairs(&fabric);
    let mut requests: BTreeMap<NodeIdx, Vec<Get>> = BTreeMap::new();
    for (switch, input, output) in pairs.iter() {
        let Some(&index) = fabric.switches().find(switch) else {
            continue;
        };
        let node = snapshot.node(index);
        if node.is_some_and(|node| has_lanes(node, output)) {
            let port = PortRef {
                node: index,
                port: output,
            };
            let what = What::SlToVl { input };
            requests.entry(index).or_default().push(Get { port, what });
        }
    }
    requests
}

/// The directed route through a port whose link is up and whose other end the walk could not place. As a rule, the
/// device there claims the GUID of another one.
pub(super) fn unknown_behind(snapshot: &Snapshot, at: PortRef) -> Option<DrPath> {
    let node = snapshot.node(at.node)?;
    let port = node.port(at.port)?;
    let is_external = node.is_switch() && at.port != PortNum::MANAGEMENT;
    if !is_external || !port.is_link_up() || port.peer.is_some() {
        return None;
    }
    let path = node.path.then(at.port)?;
    let is_silent = snapshot.silent.iter().any(|silent| silent.path == path);
    (!is_silent).then_some(path)
}

/// The ports whose counters are read through the agent at a port.
pub(super) fn ports_of(snapshot: &Snapshot, at: PortRef) -> impl Iterator<Item = PortRef> + use<> {
    let numbers = snapshot.node(at.node).map(|node| match node.is_switch() {
        true => {
            let external = node.ports.len().saturating_sub(1);
            1..=u8::try_from(external).unwrap_or(u8::MAX)
        }
        false => at.port.0..=at.port.0,
    });
    let numbers = numbers.into_iter().flatten().map(PortNum);
    numbers.map(move |port| PortRef { port, ..at })
}

/// PortSelect of all ports of a switch together.
pub(super) const ALL_PORTS: u8 = 255;

/// ClassPortInfo of the agent for performance management at a port, if it was read before.
pub(super) fn known_class_port_info(snapshot: &Snapshot, at: PortRef) -> Option<ClassPortInfo> {
    let first = ports_of(snapshot, at).next()?;
    snapshot.port(first)?.perf_class_port_info
}

/// The first requests for counters to an agent whose ClassPortInfo is known.
pub(super) fn first_counter_gets(
    snapshot: &Snapshot,
    at: PortRef,
    info: &ClassPortInfo,
    scope: CounterScope,
) -> Vec<Get> {
    if scope == CounterScope::Errors && sums_ports(at, info) {
        let what = What::ErrorSum;
        return Vec::from([Get { port: at, what }]);
    }
    counter_gets(snapshot, at, info)
}

/// Returns true if the agent at a port is that of a switch, and announces that PortSelect 255 selects all its ports.
fn sums_ports(at: PortRef, info: &ClassPortInfo) -> bool {
    let can = PerfCapabilities::from_bits_retain(info.capability_mask().bits());
    at.port == PortNum::MANAGEMENT && can.contains(PerfCapabilities::ALL_PORT_SELECT)
}

/// The requests that follow from the counters of all ports of a switch together, or of a port of another device: none if
/// no error has been counted.
pub(super) fn gets_after_sum(
    snapshot: &Snapshot,
    at: PortRef,
    counters: &PortCounters,
) -> Vec<Get> {
    let sum = CounterReadings {
        classic: Some(*counters),
        ..CounterReadings::default()
    };
    if sum.values(None).errors() == 0 {
        return Vec::new();
    }
    match known_class_port_info(snapshot, at) {
        Some(info) => counter_gets(snapshot, at, &info),
        None => Vec::from([Get {
            port: at,
            what: What::PerfClassPortInfo,
        }]),
    }
}

/// The requests for counters that are sent to an agent.
pub(super) fn counter_gets(snapshot: &Snapshot, at: PortRef, info: &ClassPortInfo) -> Vec<Get> {
    let can = PerfCapabilities::from_bits_retain(info.capability_mask().bits());
    let wide = PerfCapabilities::IS_EXTENDED_WIDTH_SUPPORTED
        | PerfCapabilities::IS_EXTENDED_WIDTH_SUPPORTED_NO_IETF;
    let has_wide = can.intersects(wide);
    let has_all = has_wide && CounterReadings::extended_has_errors(info);
    let mut gets = Vec::new();
    for port in ports_of(snapshot, at) {
        if has_wide {
            let what = What::PortCountersExtended;
            gets.push(Get { port, what });
        }
        // PortCounters has no counter that a complete PortCountersExtended lacks.
        if !has_all {
            let what = What::PortCounters;
            gets.push(Get { port, what });
        }
    }
    gets
}
