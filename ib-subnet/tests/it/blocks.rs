//! Attribute blocks: what is recorded, read back and made unknown.

use ib_mad::{Attribute, AttributeId};
use ib_smp::{
    LinearForwardingTable, MftModifier, MlnxExtPortInfo, MulticastForwardingTable, NodeDescription,
    PKeyModifier, PartitionKeyTable, PortInfo, SlToVlMappingTable, SlToVlModifier, SwitchInfo,
    VendorLinkSpeeds, VlArbitrationHalf, VlArbitrationModifier, VlArbitrationTable,
};
use ib_subnet::{Block, KnownTable, PortId, Subnet, arbitration_block};
use ib_wire::{Lid, PKey, PortNum, table::padded};

use crate::lab::walked_line;

fn block(port: PortId, attribute: AttributeId, modifier: u32) -> Block {
    Block {
        port,
        attribute,
        modifier,
    }
}

fn pair(input: u8, output: u8) -> u32 {
    let (input, output) = (PortNum(input), PortNum(output));
    SlToVlModifier::Pair { input, output }.bits()
}

fn half(half: VlArbitrationHalf, port: u8) -> u32 {
    let port = PortNum(port);
    VlArbitrationModifier { half, port }.bits()
}

const HALVES: [VlArbitrationHalf; 4] = [
    VlArbitrationHalf::LowFirst,
    VlArbitrationHalf::LowSecond,
    VlArbitrationHalf::HighFirst,
    VlArbitrationHalf::HighSecond,
];

/// Blocks of tables that no walk reads by itself.
fn table_blocks(switch: PortId, output: PortId, host: PortId) -> Vec<Block> {
    let keys = |port, block| PKeyModifier {
        port: PortNum(port),
        block,
    };
    let mft = MftModifier {
        position: 1,
        block: 3,
    };
    let mut blocks = vec![
        block(switch, LinearForwardingTable::ID, 0x0102),
        block(switch, LinearForwardingTable::ID, 2),
        block(switch, MulticastForwardingTable::ID, mft.bits()),
        block(host, PartitionKeyTable::ID, keys(0, 1).bits()),
        block(output, PartitionKeyTable::ID, keys(3, 0).bits()),
        block(output, SlToVlMappingTable::ID, pair(1, 3)),
        block(output, SlToVlMappingTable::ID, pair(2, 3)),
        block(host, SlToVlMappingTable::ID, pair(0, 0)),
    ];
    for of in HALVES {
        blocks.push(block(output, VlArbitrationTable::ID, half(of, 3)));
        blocks.push(block(host, VlArbitrationTable::ID, half(of, 0)));
    }
    blocks
}

/// Data that differ from block to block.
fn data(of: Block, index: usize) -> [u8; 64] {
    let mut bytes = [0x40 + u8::try_from(index).unwrap(); 64];
    if of.attribute == SlToVlMappingTable::ID {
        bytes[SlToVlMappingTable::LEN..].fill(0);
    }
    bytes
}

#[test]
fn a_block_of_a_table_is_what_was_recorded_until_it_is_forgotten() {
    let mut lab = walked_line();
    let switch = lab.port("t0", 0);
    let (output, host) = (lab.port("t0", 3), lab.port("host00001 HCA-1", 1));
    let blocks = table_blocks(switch, output, host);
    let subnet = &mut lab.subnet;
    for &of in &blocks {
        assert_eq!(subnet.block(of), None, "{of:?}");
    }
    for (index, &of) in blocks.iter().enumerate() {
        subnet.record(of, &data(of, index));
    }
    for (index, &of) in blocks.iter().enumerate() {
        assert_eq!(subnet.block(of), Some(data(of, index)), "{of:?}");
    }
    for (index, &of) in blocks.iter().enumerate() {
        subnet.forget(of);
        assert_eq!(subnet.block(of), None, "{of:?}");
        // All tables of an output port are forgotten at once, as a Set may have written them all.
        let gone = |other: &Block| of.attribute == SlToVlMappingTable::ID && other.port == of.port;
        for (later, &other) in blocks.iter().enumerate().skip(index + 1) {
            if gone(&other) {
                subnet.record(other, &data(other, later));
            }
            assert_eq!(subnet.block(other), Some(data(other, later)), "{other:?}");
        }
    }
}

#[test]
fn attributes_of_a_port_are_replaced_and_never_forgotten() {
    let mut lab = walked_line();
    let (switch, port) = (lab.port("t0", 0), lab.port("t0", 3));
    let mut switch_info = SwitchInfo::default();
    switch_info.set_linear_fdb_top(Lid(77));
    let mut port_info = PortInfo::default();
    port_info.set_lid(Lid(78)).set_client_reregister(true);
    let mut kept = port_info;
    // Devices return the bit as it was written.
    kept.set_client_reregister(false);
    let mut vendor = MlnxExtPortInfo::default();
    vendor.set_link_speed_active(VendorLinkSpeeds::FDR10);
    let cases = [
        (
            block(switch, SwitchInfo::ID, 0),
            padded(switch_info.as_bytes()),
            padded(switch_info.as_bytes()),
        ),
        (
            block(port, PortInfo::ID, 3),
            *port_info.as_bytes(),
            *kept.as_bytes(),
        ),
        (
            block(port, MlnxExtPortInfo::ID, 3),
            *vendor.as_bytes(),
            *vendor.as_bytes(),
        ),
    ];
    for (of, data, expected) in cases {
        assert_ne!(lab.subnet.block(of), Some(expected), "{of:?}");
        lab.subnet.record(of, &data);
        assert_eq!(lab.subnet.block(of), Some(expected), "{of:?}");
        lab.subnet.forget(of);
        assert_eq!(lab.subnet.block(of), Some(expected), "{of:?}");
    }
    assert!(lab.record("t0", 3).is_fdr10());
    vendor.set_link_speed_active(VendorLinkSpeeds::empty());
    let of = block(port, MlnxExtPortInfo::ID, 3);
    lab.subnet.record(of, vendor.as_bytes());
    assert!(!lab.record("t0", 3).is_fdr10());
    let other = block(switch, NodeDescription::ID, 0);
    lab.subnet.record(other, &[1; 64]);
    assert_eq!(lab.subnet.block(other), None);
}

fn input_tables(subnet: &Subnet, output: PortId) -> Vec<Option<[u8; 64]>> {
    (0..=5)
        .map(|input| {
            let modifier = pair(input, output.port.0);
            subnet.block(block(output, SlToVlMappingTable::ID, modifier))
        })
        .collect()
}

#[test]
fn optimised_writes_of_sl_to_vl_tables_count_for_all_that_they_write() {
    let mut lab = walked_line();
    let (third, fourth) = (lab.port("t0", 3), lab.port("t0", 4));
    let subnet = &mut lab.subnet;
    let table = |byte| {
        let mut bytes = [byte; 64];
        bytes[SlToVlMappingTable::LEN..].fill(0);
        bytes
    };
    let output = PortNum(3);
    let inputs = SlToVlModifier::AllInputs { output }.bits();
    let to_third = block(third, SlToVlMappingTable::ID, inputs);
    let all = block(third, SlToVlMappingTable::ID, SlToVlModifier::All.bits());
    assert_eq!(subnet.block(all), None);

    subnet.record(to_third, &table(1));
    assert_eq!(subnet.block(to_third), Some(table(1)));
    assert_eq!(input_tables(subnet, third), [Some(table(1)); 6]);
    assert_eq!(input_tables(subnet, fourth), [None; 6]);

    subnet.record(all, &table(2));
    assert_eq!(subnet.block(all), Some(table(2)));
    for output in [third, fourth] {
        assert_eq!(input_tables(subnet, output), [Some(table(2)); 6]);
    }
    let node = lab.subnet.switch(third.node).unwrap();
    assert_eq!(node.sl_to_vl().len(), 36);

    lab.subnet.forget(to_third);
    assert_eq!(input_tables(&lab.subnet, third), [None; 6]);
    assert_eq!(input_tables(&lab.subnet, fourth), [Some(table(2)); 6]);
    lab.subnet.forget(all);
    assert_eq!(input_tables(&lab.subnet, fourth), [None; 6]);
    // From one input to all outputs is a form that no manager of ours writes.
    let input = PortNum(1);
    let outputs = SlToVlModifier::AllOutputs { input }.bits();
    let outputs = block(third, SlToVlMappingTable::ID, outputs);
    lab.subnet.record(outputs, &table(3));
    assert_eq!(lab.subnet.block(outputs), None);
}

#[test]
fn the_halves_of_an_arbitration_table_are_four_blocks() {
    assert_eq!(HALVES.map(arbitration_block), [0, 1, 2, 3]);
}

#[test]
fn an_unwritten_block_of_a_multicast_table_is_empty_until_a_write_was_lost() {
    let mut lab = walked_line();
    let switch = lab.port("t0", 0);
    let fresh = |subnet: &Subnet| subnet.switch(switch.node).unwrap().is_fresh();
    assert!(fresh(&lab.subnet));
    let of = block(switch, MulticastForwardingTable::ID, 0);
    lab.subnet.record(of, &[1; 64]);
    assert!(fresh(&lab.subnet));
    assert_eq!(lab.subnet.switch(switch.node).unwrap().mft().len(), 1);
    lab.subnet.forget(of);
    assert!(!fresh(&lab.subnet));
    assert!(lab.subnet.switch(switch.node).unwrap().mft().is_empty());
}

#[test]
fn an_unknown_block_is_not_a_block_of_zeros() {
    let mut table = KnownTable::default();
    assert!(table.is_empty());
    table.set(3, [0; 64]);
    table.set(1, [7; 64]);
    assert!(!table.is_empty());
    assert_eq!(table.block(3), Some(&[0; 64]));
    assert_eq!(table.block(1), Some(&[7; 64]));
    assert_eq!(table.block(0), None);
    assert_eq!(table.block(4), None);
    let known: Vec<_> = table.blocks().collect();
    assert_eq!(known, [(1, &[7; 64]), (3, &[0; 64])]);
    table.forget(3);
    table.forget(9);
    assert_eq!(table.block(3), None);
    table.forget(1);
    assert!(table.is_empty());
}

#[test]
fn a_table_that_was_never_read_holds_the_default_key() {
    let mut lab = walked_line();
    let (here, there) = (
        lab.port("host00001 HCA-1", 1),
        lab.port("host00002 HCA-1", 1),
    );
    let keys = |port, keys: &[u16]| {
        let mut table = PartitionKeyTable::default();
        for (index, &key) in keys.iter().enumerate() {
            table.set_p_key_block(index, PKey(key));
        }
        (block(port, PartitionKeyTable::ID, 0), *table.as_bytes())
    };
    let of = |lab: &crate::lab::Lab, port| -> Vec<PKey> {
        lab.subnet.port(port).unwrap().p_keys().collect()
    };
    assert_eq!(of(&lab, here), [PKey::DEFAULT_FULL]);
    let (at, table) = keys(here, &[0x8001, 0x0000, 0x8000, 0x0002, 0x7fff]);
    lab.subnet.record(at, &table);
    assert_eq!(of(&lab, here), [PKey(0x8001), PKey(2), PKey(0x7fff)]);
    let (at, table) = keys(there, &[0x0003, 0x8002, 0x0001]);
    lab.subnet.record(at, &table);
    let (here, there) = (
        lab.subnet.port(here).unwrap(),
        lab.subnet.port(there).unwrap(),
    );
    assert!(here.has_p_key(PKey(0x8002)) && here.has_p_key(PKey(1)));
    assert!(!here.has_p_key(PKey(3)) && !here.has_p_key(PKey(0x8003)));
    // The membership is that of the port that is asked.
    assert_eq!(here.shared_p_key(there, None), Some(PKey(0x8001)));
    assert_eq!(here.shared_p_key(there, Some(PKey(0x8002))), Some(PKey(2)));
    assert_eq!(there.shared_p_key(here, None), Some(PKey(0x8002)));
    assert_eq!(there.shared_p_key(here, Some(PKey(3))), None);
    // Two limited members cannot talk to each other.
    assert_eq!(
        here.shared_p_key(here, Some(PKey(1))),
        Some(PKey(0x8001)),
        "a full member to itself"
    );
    assert_eq!(here.shared_p_key(here, Some(PKey(2))), None);
}
