//! Reconcile: compares the content of the devices with the desired content and orders the changes in stages.
//!
//! A stage is a set of changes that may be made in parallel. The order of the stages keeps the subnet safe at
//! every moment: tables are in place before ports carry traffic, and a table's top covers its entries before they
//! are written. [`steps`] lists the differences. [`desired`] gives the whole content of one block, so a change
//! can be printed, counted, sent, compared with the answer and tried again. Large tables are never built as a
//! whole: each block is taken from the routes when it is needed.

mod steps;
pub(crate) mod tables;

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};

use ib_mad::{Attribute, AttributeId};
use ib_routing::PortPairs;
use ib_smp::{
    LinearForwardingTable, MftModifier, MlnxExtPortInfo, MulticastForwardingTable, PKeyModifier,
    PartitionKeyTable, PortInfo, PortState, SlToVlMappingTable, SlToVlModifier, SwitchInfo,
    VlArbitrationHalf, VlArbitrationModifier, VlArbitrationTable,
};
use ib_subnet::{
    Block, NodeId, PortAt, PortId, SubnetNode, SubnetPort, SubnetSwitch, arbitration_block,
};
use ib_wire::{Guid, PortNum, table::padded};

pub(crate) use self::steps::{Step, Steps};
use crate::policy::{
    Situation, lanes, links, multicast, partitions,
    partitions::TableFull,
    settled,
    switches::{self, Tops},
};

/// One stage of the changes of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// SLtoVL tables of pairs of ports that the next entries in use join: those of the stage [`Detour`](Self::Detour)
    /// or [`Heal`](Self::Heal).
    LanesAhead,
    /// Entries of forwarding tables that a failure broke, led over neighbours until there are new routes.
    Detour,
    /// LIDs and limits of ports that are reached without a link: the manager's own port, and ports 0 of switches.
    Addresses,
    /// The tops of the linear forwarding tables are raised.
    RaiseTops,
    /// Entries of forwarding tables that a failure broke, written by the new routes. After them, the bits that announce
    /// port changes are cleared.
    Heal,
    /// SLtoVL and VL arbitration tables.
    Lanes,
    /// Multicast forwarding tables.
    Multicast,
    /// P_Key tables.
    Partitions,
    /// Settings of ports, and their state Armed.
    Arm,
    /// The port state Active.
    Activate,
    /// Working entries that are to lead elsewhere, in an order in which no packet loops.
    Move,
    /// All other blocks of the linear forwarding tables that differ. While no table carries traffic, for example
    /// when a subnet comes up, all of them are written before anything else.
    Tables,
    /// The tops of the forwarding tables are lowered.
    LowerTops,
    /// SLtoVL tables of pairs of ports that trees of multicast groups join, after hosts joined or left groups.
    GroupLanes,
    /// Multicast forwarding tables, after hosts joined or left groups.
    Groups,
    /// The tops of the multicast forwarding tables after that.
    GroupTops,
    /// Alias GUIDs that hosts asked for.
    AliasGuids,
    /// Reads of SLtoVL and VL arbitration tables that a query named and that were not known. Nothing is written.
    LaneTables,
}

/// One change of the content of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The port, by its node's GUID.
    pub at: PortAt,
    /// The attribute.
    pub attribute_id: AttributeId,
    /// The attribute modifier.
    pub attribute_modifier: u32,
    /// The present content; `None` if it is unknown.
    pub from: Option<[u8; 64]>,
    /// The desired content, as it is sent.
    pub to: [u8; 64],
    /// The stage in which the change is made.
    pub stage: Stage,
}

/// A problem that a stage found: content that cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unwritable {
    /// The port whose P_Key table has too few entries.
    pub(crate) at: PortId,
}

/// The steps of a stage: the differences between observed and desired content. The stages that change forwarding
/// entries in use are in [`tables`].
pub(crate) fn steps(at: Situation<'_>, stage: Stage, unwritable: &mut Vec<Unwritable>) -> Steps {
    let listed = match stage {
        Stage::Addresses => addresses(at),
        Stage::RaiseTops | Stage::Heal | Stage::LowerTops | Stage::GroupTops => tops(at, stage),
        Stage::Tables => return tables::remaining(at),
        Stage::Lanes => lanes(at),
        Stage::GroupLanes if lanes::are_managed(at) => group_lanes(at),
        Stage::Multicast => multicast(at),
        Stage::Groups => groups(at),
        Stage::Partitions => partitions(at, unwritable),
        Stage::Arm => {
            let mut steps = vendor_speeds(at);
            steps.append(&mut ports(at, |port| links::arming(at, port).is_some()));
            steps
        }
        Stage::Activate => ports(at, |port| links::is_ready(at, port)),
        Stage::LanesAhead
        | Stage::GroupLanes
        | Stage::Detour
        | Stage::Move
        | Stage::AliasGuids
        | Stage::LaneTables => VecDeque::new(),
    };
    listed.into()
}

/// The data of a block's Set in a stage; `None` if the Set is not needed any more.
pub(crate) fn desired(at: Situation<'_>, stage: Stage, block: Block) -> Option<[u8; 64]> {
    match block.attribute {
        SwitchInfo::ID => {
            let node = block.port.node;
            let mut info = switches::switch_info(at, node, tops_of(stage))?;
            let known = at.subnet().switch(node)?.info()?;
            // Writing the bit back clears it; a change after the Set shows in the next light sweep.
            info.set_port_state_change(known.port_state_change());
            Some(padded(info.as_bytes()))
        }
        PortInfo::ID => {
            let state = port_state(at, stage, block.port)?;
            Some(padded(links::set(at, block.port, state)?.as_bytes()))
        }
        MlnxExtPortInfo::ID => Some(padded(links::vendor_speeds(at, block.port)?.as_bytes())),
        LinearForwardingTable::ID => tables::routed_block(at, block.port.node, low_half(block)),
        MulticastForwardingTable::ID => {
            multicast::block(at, block.port.node, MftModifier::from_bits(block.modifier))
        }
        PartitionKeyTable::ID => {
            let number = PKeyModifier::from_bits(block.modifier)?.block;
            let table = partitions::table(at, block.port).ok()??;
            Some(partitions::block(&table, number))
        }
        SlToVlMappingTable::ID => {
            let modifier = SlToVlModifier::from_bits(block.modifier)?;
            Some(padded(
                lanes::sl_to_vl(at, block.port, modifier)?.as_bytes(),
            ))
        }
        VlArbitrationTable::ID => {
            let half = VlArbitrationModifier::from_bits(block.modifier)?.half;
            Some(*lanes::arbitration(at, block.port, half).as_bytes())
        }
        _ => None,
    }
}

/// Returns true if a device did what a Set requested, by the data of the Set and of its answer. Fields that a device
/// may choose itself are not compared.
pub(crate) fn is_done(attribute: AttributeId, sent: &[u8; 64], answer: &[u8; 64]) -> bool {
    match attribute {
        PortInfo::ID => {
            let [sent, answer] = [sent, answer].map(|data| PortInfo::from_bytes(*data));
            links::has_reached(sent.port_state(), &answer)
        }
        SwitchInfo::ID => match (SwitchInfo::parse(sent, 0), SwitchInfo::parse(answer, 0)) {
            (Ok((sent, _)), Ok((answer, _))) => sent.linear_fdb_top() == answer.linear_fdb_top(),
            _ => false,
        },
        LinearForwardingTable::ID | MulticastForwardingTable::ID | PartitionKeyTable::ID => {
            sent == answer
        }
        _ => true,
    }
}

/// The state that a Set of PortInfo takes a port into.
fn port_state(at: Situation<'_>, stage: Stage, port: PortId) -> Option<PortState> {
    match stage {
        Stage::Arm => links::arming(at, port),
        Stage::Activate => Some(PortState::ACTIVE),
        _ => Some(PortState::NO_CHANGE),
    }
}

const fn tops_of(stage: Stage) -> Tops {
    match stage {
        Stage::LowerTops | Stage::GroupTops => Tops::Lower,
        _ => Tops::Raise,
    }
}

fn addresses(at: Situation<'_>) -> VecDeque<Step> {
    let switches = at.subnet().switches();
    let mut ports: Vec<PortId> = switches.map(|(node, _)| PortId::management(node)).collect();
    if let Some(own) = at.subnet().own_port()
        && !ports.contains(&own)
    {
        ports.push(own);
    }
    let changed = ports.into_iter().filter(|&port| {
        let known = at.subnet().port(port).and_then(|port| port.info());
        links::settings(at, port).is_some_and(|target| known != Some(&target))
    });
    changed.map(port_info_step).collect()
}

/// The switches whose SwitchInfo differs. The bit that announces port changes differs if it is set; it is cleared once
/// the entries are healed that these changes broke, because healing would have to wait for the answer.
fn tops(at: Situation<'_>, stage: Stage) -> VecDeque<Step> {
    let changed = at.subnet().switches().filter(|&(node, switch)| {
        let Some(mut known) = switch.info().copied() else {
            return false;
        };
        if stage == Stage::RaiseTops {
            known.set_port_state_change(false);
        }
        let target = switches::switch_info(at, node, tops_of(stage));
        target.is_some_and(|target| target != known)
    });
    let blocks = changed.map(|(node, _)| Block {
        port: PortId::management(node),
        attribute: SwitchInfo::ID,
        modifier: 0,
    });
    blocks.map(Step::Set).collect()
}

fn ports(at: Situation<'_>, needs: impl Fn(PortId) -> bool) -> VecDeque<Step> {
    let known = settled::changed(at).filter(|(_, record)| record.info().is_some());
    let changed = known.filter(|&(port, _)| needs(port));
    changed.map(|(port, _)| port_info_step(port)).collect()
}

fn vendor_speeds(at: Situation<'_>) -> VecDeque<Step> {
    let ports = settled::changed(at);
    let changed = ports.filter(|&(port, _)| links::vendor_speeds(at, port).is_some());
    let blocks = changed.map(|(port, _)| Block {
        port,
        attribute: MlnxExtPortInfo::ID,
        modifier: port.port.0.into(),
    });
    blocks.map(Step::Set).collect()
}

fn port_info_step(port: PortId) -> Step {
    Step::Set(Block {
        port,
        attribute: PortInfo::ID,
        modifier: port.port.0.into(),
    })
}

fn multicast(at: Situation<'_>) -> VecDeque<Step> {
    let switches = at.subnet().switches();
    let steps = switches
        .flat_map(|(node, switch)| multicast_of(at, node, switch, multicast::blocks(at, node)));
    steps.collect()
}

/// The multicast tables that the last change of groups concerns: those of the switches whose trees changed.
fn groups(at: Situation<'_>) -> VecDeque<Step> {
    let regroup = at.plan().regroup();
    let of_changed = |(guid, blocks): (&Guid, &BTreeSet<u16>)| {
        let node = at.subnet().find(*guid)?;
        let numbers = blocks.difference(regroup.new_blocks()).copied();
        let blocks = multicast::positions(at, node, numbers);
        Some(multicast_of(at, node, at.subnet().switch(node)?, blocks))
    };
    let changed = regroup.switches().iter().filter_map(of_changed);
    let mut steps: VecDeque<Step> = changed.flatten().collect();
    if !regroup.new_blocks().is_empty() {
        let numbers = || regroup.new_blocks().iter().copied();
        for (node, switch) in at.subnet().switches() {
            let blocks = multicast::positions(at, node, numbers());
            steps.extend(multicast_of(at, node, switch, blocks));
        }
    }
    steps
}

/// The blocks of a switch's multicast table that differ.
fn multicast_of(
    at: Situation<'_>,
    node: NodeId,
    switch: &SubnetSwitch,
    blocks: Vec<MftModifier>,
) -> impl Iterator<Item = Step> {
    blocks.into_iter().filter_map(move |modifier| {
        let block = Block {
            port: PortId::management(node),
            attribute: MulticastForwardingTable::ID,
            modifier: modifier.bits(),
        };
        let wanted = multicast::block(at, node, modifier)?;
        match switch.mft().get(&modifier) {
            Some(known) => (*known != wanted).then_some(Step::Set(block)),
            // A switch that was just started has empty tables.
            None if switch.is_fresh() => (wanted != [0; 64]).then_some(Step::Set(block)),
            None => Some(Step::Read(block)),
        }
    })
}

fn partitions(at: Situation<'_>, unwritable: &mut Vec<Unwritable>) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    for (port, record) in settled::changed(at) {
        if p_keys(at, port, record, &mut steps).is_err() {
            unwritable.push(Unwritable { at: port });
        }
    }
    steps
}

/// The blocks of a port's P_Key table that differ.
fn p_keys(
    at: Situation<'_>,
    port: PortId,
    record: &SubnetPort,
    steps: &mut VecDeque<Step>,
) -> Result<(), TableFull> {
    let Some(table) = partitions::table(at, port)? else {
        return Ok(());
    };
    for number in 0..partitions::num_blocks(&table) {
        let wanted = partitions::block(&table, number);
        if partitions::holds(at, port, number, &wanted) {
            continue;
        }
        let block = Block {
            port,
            attribute: PartitionKeyTable::ID,
            modifier: partitions::modifier(at, port, number).bits(),
        };
        let is_unknown = record.p_key_table().block(number).is_none();
        steps.push_back(match is_unknown && record.was_active() {
            // A previous manager has configured the port, so its content is read first.
            true => Step::Read(block),
            false => Step::Set(block),
        });
    }
    Ok(())
}

fn lanes(at: Situation<'_>) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    if !lanes::are_managed(at) {
        return steps;
    }
    let Some(pairs) = lanes::joined(at) else {
        return steps;
    };
    for (id, node) in at.subnet().nodes() {
        sl_to_vl(at, id, node, &pairs, true, &mut steps);
    }
    for (port, ..) in at.subnet().ports() {
        let is_linked = port.port != PortNum::MANAGEMENT && at.is_linked(port);
        if is_linked || lanes::is_managed_port_0(at, port) {
            for half in lanes::arbitration_halves(at, port) {
                arbitration(at, port, half, &mut steps);
            }
        }
    }
    steps
}

/// The SLtoVL tables of the switches whose trees the last change of groups concerns.
fn group_lanes(at: Situation<'_>) -> VecDeque<Step> {
    let changed = at.plan().regroup().switches().keys();
    let nodes: Vec<NodeId> = changed.filter_map(|&guid| at.subnet().find(guid)).collect();
    match lanes::joined_by_trees(at, &nodes) {
        Some(pairs) => sl_to_vl_ahead(at, &pairs, nodes),
        None => VecDeque::new(),
    }
}

/// The SLtoVL tables of these switches, for these pairs of ports and for packets that the switches themselves send.
/// Nothing is read first, because no packet has passed these pairs yet.
pub(crate) fn sl_to_vl_ahead(
    at: Situation<'_>,
    pairs: &PortPairs<'_>,
    switches: impl IntoIterator<Item = NodeId>,
) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    for id in switches {
        if let Some(node) = at.subnet().node(id) {
            sl_to_vl(at, id, node, pairs, false, &mut steps);
        }
    }
    steps
}

/// The SLtoVL tables of a node that differ: one write for each, or one for many that are to be equal where the
/// switch takes that. `reads` says whether tables that a previous manager may have written are read first.
fn sl_to_vl(
    at: Situation<'_>,
    id: NodeId,
    node: &SubnetNode,
    pairs: &PortPairs<'_>,
    reads: bool,
    steps: &mut VecDeque<Step>,
) {
    let ports = node
        .ports()
        .map(|(port, record)| (PortId { node: id, port }, record));
    let managed = ports.filter(|&(port, _)| {
        let is_linked = port.port != PortNum::MANAGEMENT && at.is_linked(port);
        is_linked || lanes::is_managed_port_0(at, port)
    });
    let mut outputs: Vec<Output> = managed
        .map(|(port, record)| {
            let tables = lanes::sl_to_vl_of(at, port, pairs);
            Output::compare(at, port, &tables, reads && record.was_active(), steps)
        })
        .collect();
    if outputs.iter().all(|output| output.changed.is_empty()) {
        return;
    }
    // Before other changes are written, `pairs` lacks some of the pairs that packets pass.
    if !reads && let Some(switch) = node.switch() {
        for Output { port, common, .. } in &mut outputs {
            *common = common.filter(|common| suits_known(switch.sl_to_vl(), port.port, common));
        }
    }
    let optimized = lanes::has_optimized_programming(at, id);
    let num_changed = outputs
        .iter()
        .filter(|output| !output.changed.is_empty())
        .count();
    let common = outputs.first().and_then(|output| output.common);
    if let Some(common) = common
        && optimized
        && num_changed > 1
        && outputs.iter().all(|output| output.common == Some(common))
        && lanes::suits_port_0(at, id, &common)
        && let Some(first) = outputs.first()
    {
        let block = sl_to_vl_block(first.port, SlToVlModifier::All);
        return steps.push_back(Step::Set(block));
    }
    for Output {
        port,
        changed,
        common,
    } in outputs
    {
        if changed.len() > 1 && optimized && common.is_some() {
            let all = SlToVlModifier::AllInputs { output: port.port };
            steps.push_back(Step::Set(sl_to_vl_block(port, all)));
        } else {
            let blocks = changed
                .into_iter()
                .map(|modifier| sl_to_vl_block(port, modifier));
            steps.extend(blocks.map(Step::Set));
        }
    }
}

/// Returns true if one write of a table for all inputs of an output port replaces no other table that the switch is known
/// to have: packets may pass pairs of ports whose tables are not examined.
fn suits_known(
    known: &BTreeMap<(PortNum, PortNum), SlToVlMappingTable>,
    output: PortNum,
    common: &SlToVlMappingTable,
) -> bool {
    let mut of_output = known.iter().filter(|((_, to), _)| *to == output);
    of_output.all(|(_, table)| table == common)
}

/// The SLtoVL tables for packets that leave by one port.
struct Output {
    port: PortId,
    /// The tables that are to be written.
    changed: Vec<SlToVlModifier>,
    /// The content that all tables of this port are to have; `None` if they differ.
    common: Option<SlToVlMappingTable>,
}

impl Output {
    fn compare(
        at: Situation<'_>,
        port: PortId,
        tables: &[(SlToVlModifier, SlToVlMappingTable)],
        reads: bool,
        steps: &mut VecDeque<Step>,
    ) -> Self {
        let mut changed = Vec::new();
        for (modifier, table) in tables {
            let block = sl_to_vl_block(port, *modifier);
            match at.subnet().block(block) {
                Some(known) if padded(table.as_bytes()) == known => {}
                None if reads => steps.push_back(Step::Read(block)),
                _ => changed.push(*modifier),
            }
        }
        let common = tables.first().map(|&(_, table)| table);
        let common = common.filter(|common| tables.iter().all(|(_, table)| table == common));
        Self {
            port,
            changed,
            common,
        }
    }
}

fn sl_to_vl_block(port: PortId, modifier: SlToVlModifier) -> Block {
    Block {
        port,
        attribute: SlToVlMappingTable::ID,
        modifier: modifier.bits(),
    }
}

fn arbitration(
    at: Situation<'_>,
    port: PortId,
    half: VlArbitrationHalf,
    steps: &mut VecDeque<Step>,
) {
    let modifier = VlArbitrationModifier {
        half,
        port: port.port,
    };
    let block = Block {
        port,
        attribute: VlArbitrationTable::ID,
        modifier: modifier.bits(),
    };
    let record = at.subnet().port(port);
    let known = record.and_then(|record| record.vl_arbitration().block(arbitration_block(half)));
    let wanted = lanes::arbitration(at, port, half);
    match known {
        Some(known) if known == wanted.as_bytes() => {}
        None if record.is_some_and(|record| record.was_active()) => {
            steps.push_back(Step::Read(block));
        }
        _ => steps.push_back(Step::Set(block)),
    }
}

/// The block number of a switch's linear table that a [`Block`] addresses.
#[allow(
    clippy::cast_possible_truncation,
    reason = "block numbers of linear tables have 16 bits"
)]
const fn low_half(block: Block) -> u16 {
    block.modifier as u16
}

/// The block of a switch's linear forwarding table with this number.
pub(crate) fn lft_block(node: NodeId, number: u16) -> Block {
    Block {
        port: PortId::management(node),
        attribute: LinearForwardingTable::ID,
        modifier: number.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_table_for_all_inputs_is_not_written_over_another_one_that_is_in_use() {
        let [legal, illegal] = [0x01, 0x23].map(|byte| SlToVlMappingTable::from_bytes([byte; 8]));
        let pair = |input, output| (PortNum(input), PortNum(output));
        let mut known = BTreeMap::from([(pair(0, 3), legal), (pair(1, 3), legal)]);
        assert!(suits_known(&known, PortNum(3), &legal));
        // The same switch has another table for another output.
        known.insert(pair(1, 4), illegal);
        assert!(suits_known(&known, PortNum(3), &legal));
        // Routes pass from port 5 to port 3 on other lanes.
        known.insert(pair(5, 3), illegal);
        assert!(!suits_known(&known, PortNum(3), &legal));
        assert!(suits_known(&known, PortNum(2), &legal));
    }

    #[test]
    fn a_set_is_done_if_the_answer_shows_what_it_was_to_achieve() {
        let port = |state| {
            let mut info = PortInfo::default();
            info.set_port_state(state);
            padded(info.as_bytes())
        };
        let arm = port(PortState::ARMED);
        assert!(is_done(PortInfo::ID, &arm, &arm));
        // A data packet has made it Active meanwhile.
        assert!(is_done(PortInfo::ID, &arm, &port(PortState::ACTIVE)));
        assert!(!is_done(PortInfo::ID, &arm, &port(PortState::INITIALIZE)));
        let activate = port(PortState::ACTIVE);
        assert!(is_done(PortInfo::ID, &activate, &activate));
        assert!(!is_done(PortInfo::ID, &activate, &arm));
        let no_change = port(PortState::NO_CHANGE);
        assert!(is_done(PortInfo::ID, &no_change, &port(PortState::DOWN)));

        let top = |lid| {
            let mut info = SwitchInfo::default();
            info.set_linear_fdb_top(ib_wire::Lid(lid));
            padded(info.as_bytes())
        };
        assert!(is_done(SwitchInfo::ID, &top(9), &top(9)));
        assert!(!is_done(SwitchInfo::ID, &top(9), &top(8)));
        // Only the top of the linear table counts.
        let mut other = top(9);
        other[20] ^= 0xff;
        assert!(is_done(SwitchInfo::ID, &top(9), &other));

        for table in [
            LinearForwardingTable::ID,
            MulticastForwardingTable::ID,
            PartitionKeyTable::ID,
        ] {
            assert!(is_done(table, &[5; 64], &[5; 64]));
            let mut other = [5; 64];
            other[63] = 6;
            assert!(!is_done(table, &[5; 64], &other));
        }
        assert!(is_done(SlToVlMappingTable::ID, &[5; 64], &[6; 64]));
    }
}
