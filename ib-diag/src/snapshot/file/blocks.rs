//! The attributes of a node as blocks: port, management class, attribute, modifier, bytes.

use alloc::vec::Vec;

use ib_mad::{
    Attribute, AttributeId, ClassPortInfo, MgmtClass, PortCounters, PortCountersExtended,
    PortExtendedSpeedsCounters,
};
use ib_smp::{
    LinearForwardingTable, MftModifier, MlnxExtPortInfo, MulticastForwardingTable, NodeDescription,
    PKeyModifier, PartitionKeyTable, PortInfo, SlToVlMappingTable, SlToVlModifier, SmInfo,
    SwitchInfo, VlArbitrationModifier, VlArbitrationTable,
};
use ib_wire::PortNum;

use super::super::{
    SnapshotError, SnapshotNode,
    binary::{Reader, Writer},
};

/// One attribute of a port.
pub(super) struct Block {
    port: PortNum,
    class: MgmtClass,
    attribute: AttributeId,
    modifier: u32,
    bytes: Vec<u8>,
}

impl Block {
    fn smp<T: Attribute>(port: PortNum, modifier: u32, bytes: &[u8]) -> Self {
        Self {
            port,
            class: MgmtClass::SUBN_LID,
            attribute: T::ID,
            modifier,
            bytes: bytes.into(),
        }
    }

    fn perf<T: Attribute>(port: PortNum, bytes: &[u8]) -> Self {
        Self {
            class: MgmtClass::PERF,
            ..Self::smp::<T>(port, 0, bytes)
        }
    }
}

/// All blocks of a node, in an order that depends only on the node's content.
pub(super) fn blocks(node: &SnapshotNode) -> Vec<Block> {
    let mut blocks = Vec::new();
    let own = PortNum::MANAGEMENT;
    if let Some(description) = &node.description {
        blocks.push(Block::smp::<NodeDescription>(
            own,
            0,
            description.as_bytes(),
        ));
    }
    if let Some(info) = &node.switch_info {
        blocks.push(Block::smp::<SwitchInfo>(own, 0, info.as_bytes()));
    }
    for (&number, block) in &node.lft {
        let modifier = u32::from(number);
        blocks.push(Block::smp::<LinearForwardingTable>(
            own,
            modifier,
            block.as_bytes(),
        ));
    }
    for (modifier, block) in &node.mft {
        let modifier = modifier.bits();
        blocks.push(Block::smp::<MulticastForwardingTable>(
            own,
            modifier,
            block.as_bytes(),
        ));
    }
    for (&(input, output), table) in &node.sl_to_vl {
        let modifier = SlToVlModifier::Pair { input, output }.bits();
        blocks.push(Block::smp::<SlToVlMappingTable>(
            output,
            modifier,
            table.as_bytes(),
        ));
    }
    for (number, port) in (0..=u8::MAX).map(PortNum).zip(&node.ports) {
        if let Some(info) = &port.info {
            blocks.push(Block::smp::<PortInfo>(number, 0, info.as_bytes()));
        }
        if let Some(info) = &port.vendor_speeds {
            blocks.push(Block::smp::<MlnxExtPortInfo>(number, 0, info.as_bytes()));
        }
        for (&half, table) in &port.vl_arbitration {
            let modifier = VlArbitrationModifier { half, port: number }.bits();
            blocks.push(Block::smp::<VlArbitrationTable>(
                number,
                modifier,
                table.as_bytes(),
            ));
        }
        for (&block, keys) in &port.p_keys {
            let modifier = PKeyModifier {
                port: number,
                block,
            }
            .bits();
            blocks.push(Block::smp::<PartitionKeyTable>(
                number,
                modifier,
                keys.as_bytes(),
            ));
        }
        if let Some(info) = &port.sm_info {
            blocks.push(Block::smp::<SmInfo>(number, 0, info.as_bytes()));
        }
        if let Some(info) = &port.perf_class_port_info {
            blocks.push(Block::perf::<ClassPortInfo>(number, info.as_bytes()));
        }
        let counters = &port.counters;
        if let Some(values) = &counters.classic {
            blocks.push(Block::perf::<PortCounters>(number, values.as_bytes()));
        }
        if let Some(values) = &counters.extended {
            blocks.push(Block::perf::<PortCountersExtended>(
                number,
                values.as_bytes(),
            ));
        }
        if let Some(values) = &counters.extended_speeds {
            blocks.push(Block::perf::<PortExtendedSpeedsCounters>(
                number,
                values.as_bytes(),
            ));
        }
    }
    blocks
}

pub(super) fn write_block(out: &mut Writer, block: Block) {
    out.u8(block.port.0);
    out.u8(block.class.0);
    out.u16(block.attribute.0);
    out.u32(block.modifier);
    out.list(block.bytes.iter(), |out, &byte| out.u8(byte));
}

/// Reads one block into its node.
pub(super) fn read_block(
    from: &mut Reader<'_>,
    node: &mut SnapshotNode,
) -> Result<(), SnapshotError> {
    let number = PortNum(from.u8("a block is cut")?);
    let class = MgmtClass(from.u8("a block is cut")?);
    let attribute = AttributeId(from.u16("a block is cut")?);
    let modifier = from.u32("a block is cut")?;
    let len = from.u32("a block is cut")?;
    let len = usize::try_from(len).map_err(|_| from.bad("a block is cut"))?;
    let bytes = from.take(len, "a block is cut")?;
    let bad = from.bad("a block that belongs to no attribute, port or modifier of its node");
    store(node, number, class, attribute, modifier, bytes).ok_or(bad)
}

/// Stores one block; `None` if a snapshot has no place for it.
fn store(
    node: &mut SnapshotNode,
    number: PortNum,
    class: MgmtClass,
    attribute: AttributeId,
    modifier: u32,
    bytes: &[u8],
) -> Option<()> {
    /// The structure, if the bytes have exactly its length.
    macro_rules! structure {
        ($type:ident) => {{
            let (structure, rest) = $type::parse(bytes, 0).ok()?;
            rest.is_empty().then_some(*structure)?
        }};
    }
    let port = node.ports.get_mut(usize::from(number.0))?;
    match (class, attribute) {
        (MgmtClass::SUBN_LID, NodeDescription::ID) => {
            node.description = Some(structure!(NodeDescription));
        }
        (MgmtClass::SUBN_LID, SwitchInfo::ID) => node.switch_info = Some(structure!(SwitchInfo)),
        (MgmtClass::SUBN_LID, LinearForwardingTable::ID) => {
            let block = u16::try_from(modifier).ok()?;
            node.lft.insert(block, structure!(LinearForwardingTable));
        }
        (MgmtClass::SUBN_LID, MulticastForwardingTable::ID) => {
            let modifier = MftModifier::from_bits(modifier);
            node.mft
                .insert(modifier, structure!(MulticastForwardingTable));
        }
        (MgmtClass::SUBN_LID, SlToVlMappingTable::ID) => {
            let Some(SlToVlModifier::Pair { input, output }) = SlToVlModifier::from_bits(modifier)
            else {
                return None;
            };
            node.sl_to_vl
                .insert((input, output), structure!(SlToVlMappingTable));
        }
        (MgmtClass::SUBN_LID, PortInfo::ID) => port.info = Some(structure!(PortInfo)),
        (MgmtClass::SUBN_LID, MlnxExtPortInfo::ID) => {
            port.vendor_speeds = Some(structure!(MlnxExtPortInfo));
        }
        (MgmtClass::SUBN_LID, VlArbitrationTable::ID) => {
            let half = VlArbitrationModifier::from_bits(modifier)?.half;
            port.vl_arbitration
                .insert(half, structure!(VlArbitrationTable));
        }
        (MgmtClass::SUBN_LID, PartitionKeyTable::ID) => {
            let block = PKeyModifier::from_bits(modifier)?.block;
            port.p_keys.insert(block, structure!(PartitionKeyTable));
        }
        (MgmtClass::SUBN_LID, SmInfo::ID) => port.sm_info = Some(structure!(SmInfo)),
        (MgmtClass::PERF, ClassPortInfo::ID) => {
            port.perf_class_port_info = Some(structure!(ClassPortInfo));
        }
        (MgmtClass::PERF, PortCounters::ID) => {
            port.counters.classic = Some(structure!(PortCounters));
        }
        (MgmtClass::PERF, PortCountersExtended::ID) => {
            port.counters.extended = Some(structure!(PortCountersExtended));
        }
        (MgmtClass::PERF, PortExtendedSpeedsCounters::ID) => {
            port.counters.extended_speeds = Some(structure!(PortExtendedSpeedsCounters));
        }
        _ => return None,
    }
    Some(())
}
