//! Forwarding, partition, lane and GUID tables.

use super::*;

#[test]
fn the_linear_table_takes_memory_up_to_the_last_block_in_use() {
    let mut sma = switch();
    let empty = [255; 64];
    assert_eq!(get(&mut sma, LinearForwardingTable::ID, 15), Ok(empty));
    set(&mut sma, LinearForwardingTable::ID, 15, &empty).unwrap();
    assert_eq!(sma.switch().unwrap().lft().count(), 0);
    assert_eq!(
        set(&mut sma, LinearForwardingTable::ID, 1, &[4; 64]),
        Ok([4; 64])
    );
    assert_eq!(sma.switch().unwrap().lft().count(), 128);
    // Nothing above the top is forwarded.
    assert_eq!(sma.switch().unwrap().unicast_port(Lid(64)), None);
    let mut info = *sma.switch().unwrap().info();
    info.set_linear_fdb_top(Lid(100));
    set(&mut sma, SwitchInfo::ID, 0, info.as_bytes()).unwrap();
    let tables = sma.switch().unwrap();
    assert_eq!(tables.unicast_port(Lid(64)), Some(PortNum(4)));
    assert_eq!(tables.unicast_port(Lid(63)), None);
    assert_eq!(tables.unicast_port(Lid(101)), None);
    let invalid = Err(MadStatus::INVALID_FIELD_VALUE);
    assert_eq!(get(&mut sma, LinearForwardingTable::ID, 16), invalid);
    assert_eq!(get(&mut sma, LinearForwardingTable::ID, u32::MAX), invalid);
    info.set_linear_fdb_top(Lid(1024));
    assert_eq!(set(&mut sma, SwitchInfo::ID, 0, info.as_bytes()), invalid);
}

#[test]
fn a_block_shares_only_memory_of_the_same_content() {
    let mut sma = switch();
    set(&mut sma, LinearForwardingTable::ID, 1, &[4; 64]).unwrap();
    let other = Arc::new(LinearForwardingTable::from_bytes([5; 64]));
    sma.share_lft_block(1, |_| Arc::clone(&other));
    assert_eq!(get(&mut sma, LinearForwardingTable::ID, 1), Ok([4; 64]));
    let equal = Arc::new(LinearForwardingTable::from_bytes([4; 64]));
    sma.share_lft_block(1, |_| Arc::clone(&equal));
    assert_eq!(
        (Arc::strong_count(&other), Arc::strong_count(&equal)),
        (1, 2)
    );
    // A write to one table leaves the others that hold the block as they are.
    set(&mut sma, LinearForwardingTable::ID, 1, &[6; 64]).unwrap();
    assert_eq!(get(&mut sma, LinearForwardingTable::ID, 1), Ok([6; 64]));
    assert_eq!((equal.as_bytes(), Arc::strong_count(&equal)), (&[4; 64], 1));
    // Blocks that drop everything, or that do not exist, take no memory.
    for number in [0, 16, u32::MAX] {
        sma.share_lft_block(number, |block| panic!("{block:?}"));
    }
}

#[test]
fn multicast_masks_name_ports_by_position() {
    let mut sma = switch();
    let mut block = MulticastForwardingTable::default();
    block.set_port_mask_block(2, 0x8001);
    let at = |position, block| MftModifier { position, block }.bits();
    let id = MulticastForwardingTable::ID;
    set(&mut sma, id, at(0, 1), block.as_bytes()).unwrap();
    block.set_port_mask_block(2, 0x0010);
    set(&mut sma, id, at(1, 1), block.as_bytes()).unwrap();
    let tables = sma.switch().unwrap();
    let ports: Vec<u8> = tables
        .multicast_ports(Lid(0xc022))
        .map(|port| port.0)
        .collect();
    assert_eq!(ports, [0, 15, 20]);
    assert_eq!(tables.multicast_ports(Lid(0xc023)).count(), 0);
    assert_eq!(tables.multicast_ports(Lid(0x22)).count(), 0);
    for bad in [at(2, 0), at(0, 8)] {
        assert_eq!(get(&mut sma, id, bad), Err(MadStatus::INVALID_FIELD_VALUE));
    }
}

#[test]
fn p_keys_fill_the_table_and_no_more() {
    let mut sma = ca();
    let id = PartitionKeyTable::ID;
    let port = |sma: &Sma| sma.port(PortNum(1)).unwrap().p_keys().collect::<Vec<_>>();
    assert_eq!(port(&sma), [PKey::DEFAULT_FULL]);
    let mut block = PartitionKeyTable::default();
    for index in 0..32 {
        block.set_p_key_block(index, PKey(0x8100 + index as u16));
    }
    // 40 entries: the second block has 8.
    let shown = set(&mut sma, id, 1, block.as_bytes()).unwrap();
    let shown = PartitionKeyTable::from_bytes(shown);
    assert_eq!(shown.p_key_block(7), Some(PKey(0x8107)));
    assert_eq!(shown.p_key_block(8), Some(PKey(0)));
    assert_eq!(port(&sma).len(), 9);
    assert_eq!(sma.port(PortNum(1)).unwrap().p_key(0), PKey::DEFAULT_FULL);
    assert_eq!(get(&mut sma, id, 2), Err(MadStatus::INVALID_FIELD_VALUE));
    let mut sma = switch();
    assert_eq!(sma.port(PortNum(5)).unwrap().p_keys().count(), 0);
    let modifier = PKeyModifier {
        port: PortNum(5),
        block: 0,
    };
    set(&mut sma, id, modifier.bits(), block.as_bytes()).unwrap();
    assert_eq!(sma.port(PortNum(5)).unwrap().p_keys().count(), 8);
    assert_eq!(sma.port(PortNum(6)).unwrap().p_keys().count(), 0);
}

#[test]
fn sl_to_vl_is_written_one_by_one_or_many_at_once() {
    let mut sma = switch();
    let id = SlToVlMappingTable::ID;
    let vl = |sma: &Sma, input, output| {
        let tables = sma.switch().unwrap();
        tables
            .vl(PortNum(input), PortNum(output), Sl::from_low_bits(3))
            .bits()
    };
    assert_eq!(vl(&sma, 1, 2), 3);
    let table = |vl: u8| [vl << 4 | vl; 8];
    let (input, output) = (PortNum(1), PortNum(2));
    let pair = SlToVlModifier::Pair { input, output };
    set(&mut sma, id, pair.bits(), &table(1)).unwrap();
    assert_eq!([vl(&sma, 1, 2), vl(&sma, 2, 1), vl(&sma, 1, 3)], [1, 3, 3]);
    set(
        &mut sma,
        id,
        SlToVlModifier::AllInputs { output }.bits(),
        &table(2),
    )
    .unwrap();
    assert_eq!([vl(&sma, 0, 2), vl(&sma, 20, 2), vl(&sma, 1, 3)], [2, 2, 3]);
    set(
        &mut sma,
        id,
        SlToVlModifier::AllOutputs { input }.bits(),
        &table(4),
    )
    .unwrap();
    assert_eq!([vl(&sma, 1, 0), vl(&sma, 1, 20), vl(&sma, 2, 2)], [4, 4, 2]);
    set(&mut sma, id, SlToVlModifier::All.bits(), &table(5)).unwrap();
    assert_eq!([vl(&sma, 1, 2), vl(&sma, 20, 20)], [5, 5]);
    let output = PortNum(21);
    let past = SlToVlModifier::Pair { input, output }.bits();
    assert_eq!(get(&mut sma, id, past), Err(MadStatus::INVALID_FIELD_VALUE));
    let mut sma = ca();
    set(&mut sma, id, 0, &table(6)).unwrap();
    let port = sma.port(PortNum(1)).unwrap();
    assert_eq!(port.vl(Sl::from_low_bits(3)).bits(), 6);
}

#[test]
fn arbitration_tables_have_the_halves_that_the_port_says() {
    let mut sma = ca();
    let id = VlArbitrationTable::ID;
    let at = |half| {
        let port = PortNum(0);
        VlArbitrationModifier { half, port }.bits()
    };
    let mut table = VlArbitrationTable::default();
    table.set_vl_weight_block(0, &VlArbitrationEntry::new(Vl::ZERO, 4));
    let half = VlArbitrationHalf::HighSecond;
    assert_eq!(
        set(&mut sma, id, at(half), table.as_bytes()),
        Ok(*table.as_bytes())
    );
    assert_eq!(sma.port(PortNum(1)).unwrap().vl_arbitration(half), table);
    let low = |sma: &Sma| {
        let port = sma.port(PortNum(1)).unwrap();
        port.vl_arbitration(VlArbitrationHalf::LowFirst)
    };
    assert_eq!(low(&sma), low(&ca()), "the other halves stay");
    let past = at(VlArbitrationHalf::LowSecond);
    assert_eq!(get(&mut sma, id, past), Err(MadStatus::INVALID_FIELD_VALUE));
    assert_eq!(
        get(&mut sma, id, 5 << 16),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
}

#[test]
fn the_first_guid_is_the_ports_own() {
    let mut sma = ca();
    let mut block = GuidInfo::default();
    for index in 0..8 {
        block.set_guid_block(index, Guid(0xa0 + index as u64));
    }
    let shown = GuidInfo::from_bytes(set(&mut sma, GuidInfo::ID, 0, block.as_bytes()).unwrap());
    assert_eq!(shown.guid_block(0), Some(Guid(0x11)));
    assert_eq!(shown.guid_block(7), Some(Guid(0xa7)));
    let shown = GuidInfo::from_bytes(set(&mut sma, GuidInfo::ID, 1, block.as_bytes()).unwrap());
    assert_eq!(shown.guid_block(0), Some(Guid(0xa0)));
    assert_eq!(shown.guid_block(1), Some(Guid::NONE), "GUIDCap is 9");
    assert_eq!(
        get(&mut sma, GuidInfo::ID, 2),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
}

#[test]
fn blocks_of_a_random_table_end_at_its_capacity() {
    let mut sma = switch();
    assert_eq!(
        get(&mut sma, RandomForwardingTable::ID, 0),
        Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE)
    );
    let mut info = SwitchInfo::default();
    info.set_random_fdb_cap(32);
    let mut port0 = port_info();
    port0.set_port_state(PortState::ACTIVE);
    let mut sma = Sma::new_switch(
        node_info(NodeType::SWITCH),
        NodeDescription::default(),
        info,
        SmaPort::new(port0, Guid(0x10)),
        [SmaPort::new(port_info(), Guid::NONE)],
    );
    let mut entry = LidPortBlock::default();
    entry.set_lid(Lid(9)).set_valid(true).set_port(PortNum(1));
    let mut block = RandomForwardingTable::default();
    block.set_lid_port_block(15, &entry);
    set(
        &mut sma,
        RandomForwardingTable::ID,
        1,
        &block.as_bytes()[..],
    )
    .unwrap();
    let held = |sma: &mut Sma, modifier| get(sma, RandomForwardingTable::ID, modifier);
    assert_eq!(held(&mut sma, 0), Ok([0; 64]));
    assert_eq!(held(&mut sma, 1), Ok(*block.as_bytes()));
    for beyond in [2, 0x1000, u32::MAX] {
        assert_eq!(held(&mut sma, beyond), Err(MadStatus::INVALID_FIELD_VALUE));
    }
}

#[test]
fn the_top_itself_is_forwarded_and_the_last_block_can_be_cleared() {
    let mut sma = switch();
    let id = LinearForwardingTable::ID;
    set(&mut sma, id, 1, &[4; 64]).unwrap();
    let mut info = *sma.switch().unwrap().info();
    info.set_linear_fdb_top(Lid(100));
    set(&mut sma, SwitchInfo::ID, 0, info.as_bytes()).unwrap();
    assert_eq!(
        sma.switch().unwrap().unicast_port(Lid(100)),
        Some(PortNum(4))
    );
    assert_eq!(set(&mut sma, id, 1, &[255; 64]), Ok([255; 64]));
    assert_eq!(sma.switch().unwrap().unicast_port(Lid(100)), None);
}

#[test]
fn no_block_of_the_linear_table_is_for_multicast_lids() {
    let mut info = SwitchInfo::default();
    info.set_linear_fdb_cap(u16::MAX);
    let mut sma = Sma::new_switch(
        node_info(NodeType::SWITCH),
        NodeDescription::default(),
        info,
        SmaPort::new(port_info(), Guid(0x10)),
        [SmaPort::new(port_info(), Guid::NONE)],
    );
    let id = LinearForwardingTable::ID;
    assert!(get(&mut sma, id, 767).is_ok());
    assert_eq!(get(&mut sma, id, 768), Err(MadStatus::INVALID_FIELD_VALUE));
}

#[test]
fn values_of_switch_info_are_checked() {
    let mut sma = switch();
    let invalid = Err(MadStatus::INVALID_FIELD_VALUE);
    let before = *sma.switch().unwrap().info();
    let mut set_info = |edit: fn(&mut SwitchInfo)| {
        let mut info = before;
        edit(&mut info);
        set(&mut sma, SwitchInfo::ID, 0, info.as_bytes()).map(|_| ())
    };
    type Case = (bool, fn(&mut SwitchInfo));
    let cases: [Case; 9] = [
        (true, |info| _ = info.set_multicast_fdb_top(Lid(0))),
        (true, |info| _ = info.set_multicast_fdb_top(Lid(0xbfff))),
        (true, |info| _ = info.set_multicast_fdb_top(Lid(0xc0ff))),
        (false, |info| _ = info.set_multicast_fdb_top(Lid(0xc100))),
        (false, |info| _ = info.set_multicast_fdb_top(Lid(0xbffe))),
        (true, |info| _ = info.set_default_port(PortNum(20))),
        (true, |info| _ = info.set_default_port(PortNum(255))),
        (false, |info| _ = info.set_default_port(PortNum(21))),
        (false, |info| {
            _ = info.set_default_multicast_primary_port(PortNum(21));
        }),
    ];
    for (index, (is_legal, edit)) in cases.into_iter().enumerate() {
        let expected = if is_legal {
            Ok(())
        } else {
            invalid.map(|_: ()| ())
        };
        assert_eq!(set_info(edit), expected, "{index}");
    }
}

#[test]
fn a_switch_without_optimised_forms_takes_pairs_alone() {
    let mut info = SwitchInfo::default();
    info.set_linear_fdb_cap(64);
    let ports = (0..2).map(|_| SmaPort::new(port_info(), Guid::NONE));
    let mut sma = Sma::new_switch(
        node_info(NodeType::SWITCH),
        NodeDescription::default(),
        info,
        SmaPort::new(port_info(), Guid(0x10)),
        ports,
    );
    let (input, output) = (PortNum(1), PortNum(2));
    let id = SlToVlMappingTable::ID;
    let pair = SlToVlModifier::Pair { input, output }.bits();
    assert!(set(&mut sma, id, pair, &[0x11; 8]).is_ok());
    for optimised in [
        SlToVlModifier::AllInputs { output },
        SlToVlModifier::AllOutputs { input },
        SlToVlModifier::All,
    ] {
        let done = set(&mut sma, id, optimised.bits(), &[0x11; 8]);
        assert_eq!(done, Err(MadStatus::INVALID_FIELD_VALUE), "{optimised:?}");
    }
}

#[test]
fn arbitration_tables_have_the_halves_that_their_capacities_fill() {
    use VlArbitrationHalf as H;
    for (low, high, expected) in [
        (0, 0, [false, false, false, false]),
        (1, 32, [true, false, true, false]),
        (32, 33, [true, false, true, true]),
        (33, 0, [true, true, false, false]),
        (64, 64, [true, true, true, true]),
    ] {
        let mut sma = ca();
        let info = sma.port_info_mut(PortNum(1)).unwrap();
        info.set_vl_arbitration_low_cap(low)
            .set_vl_arbitration_high_cap(high);
        let halves = [H::LowFirst, H::LowSecond, H::HighFirst, H::HighSecond];
        let port = PortNum(0);
        let answered = halves.map(|half| {
            let modifier = VlArbitrationModifier { half, port };
            get(&mut sma, VlArbitrationTable::ID, modifier.bits()).is_ok()
        });
        assert_eq!(answered, expected, "{low} {high}");
    }
}

#[test]
fn arbitration_begins_with_lane_0_before_the_others() {
    let sma = ca();
    let port = sma.port(PortNum(1)).unwrap();
    let weights = |half| -> Vec<(u8, u8)> {
        let table = port.vl_arbitration(half);
        let entries = (0..16).filter_map(|at| table.vl_weight_block(at));
        entries
            .map(|entry| (entry.vl().bits(), entry.weight()))
            .collect()
    };
    let (low, high) = (
        weights(VlArbitrationHalf::LowFirst),
        weights(VlArbitrationHalf::HighFirst),
    );
    assert_eq!((low[0], high[0]), ((0, 0), (0, 4)));
    for vl in 1..15 {
        assert_eq!(
            (low[usize::from(vl)], high[usize::from(vl)]),
            ((vl, 4), (vl, 0))
        );
    }
    assert_eq!((low[15], high[15]), ((0, 0), (0, 0)));
}

#[test]
fn keys_of_port_0_are_as_many_as_the_node_holds() {
    let mut sma = switch();
    let id = PartitionKeyTable::ID;
    let at = |port, block| {
        let port = PortNum(port);
        PKeyModifier { port, block }.bits()
    };
    // The node holds 40 keys, an external port 8.
    assert!(get(&mut sma, id, at(0, 1)).is_ok());
    assert!(get(&mut sma, id, at(5, 0)).is_ok());
    for beyond in [at(0, 2), at(5, 1)] {
        assert_eq!(
            get(&mut sma, id, beyond),
            Err(MadStatus::INVALID_FIELD_VALUE)
        );
    }
}

#[test]
fn the_guids_of_a_port_end_at_its_capacity() {
    let mut sma = ca();
    for (capacity, answered) in [(8, [true, false]), (9, [true, true]), (0, [false, false])] {
        sma.port_info_mut(PortNum(1))
            .unwrap()
            .set_guid_cap(capacity);
        let blocks = [0, 1].map(|block| get(&mut sma, GuidInfo::ID, block).is_ok());
        assert_eq!(blocks, answered, "{capacity}");
    }
}

#[test]
fn a_request_by_one_port_of_an_adapter_names_the_other() {
    let mut sma = ca();
    for (number, lid) in [(1, 5), (2, 9)] {
        let info = sma.port_info_mut(PortNum(number)).unwrap();
        info.set_lid(Lid(lid));
    }
    for (modifier, lid) in [(0, 5), (1, 5), (2, 9)] {
        let info = PortInfo::from_bytes(get(&mut sma, PortInfo::ID, modifier).unwrap());
        assert_eq!(info.lid(), Lid(lid), "{modifier}");
    }
    assert_eq!(
        get(&mut sma, PortInfo::ID, 3),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
}

#[test]
fn attributes_that_a_port_does_not_announce_are_unsupported() {
    let mut sma = ca();
    let unsupported = Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    assert_eq!(get(&mut sma, HierarchyInfo::ID, 0), unsupported);
    assert_eq!(set(&mut sma, NoticeSm::ID, 0, &[0; 64]), unsupported);
    assert_eq!(get(&mut sma, NoticeSm::ID, 0), unsupported);
    assert!(get(&mut sma, VendorDiag::ID, 0).is_ok());
    assert_eq!(
        get(&mut sma, VendorDiag::ID, 1),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
    let info = sma.port_info_mut(PortNum(1)).unwrap();
    info.set_capability_mask(CapabilityMask::IS_HIERARCHY_INFO_SUPPORTED);
    assert_eq!(get(&mut sma, HierarchyInfo::ID, 1), Ok([0; 64]));
    assert_eq!(set(&mut sma, HierarchyInfo::ID, 1, &[3; 64]), Ok([3; 64]));
    assert_eq!(get(&mut sma, HierarchyInfo::ID, 1), Ok([3; 64]));
    assert_eq!(get(&mut sma, HierarchyInfo::ID, 2), Ok([0; 64]));
}

#[test]
fn a_router_shows_the_subnets_that_it_joins() {
    let mut sma = ca();
    let unsupported = Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    for id in [
        RouterInfo::ID,
        NextHopTable::ID,
        AdjacentSiteLocalSubnetsTable::ID,
    ] {
        assert_eq!(get(&mut sma, id, 0), unsupported);
    }
    let adjacent = |number: u16| {
        let mut record = AdjacentSiteLocalSubnetRecord::default();
        record
            .set_subnet_prefix(number)
            .set_p_key(PKey::DEFAULT_FULL)
            .set_master_sm_lid(Lid(number + 1));
        record
    };
    let adjacent: Vec<_> = (0..9).map(adjacent).collect();
    let mut far = NextHopRecord::default();
    far.set_subnet_prefix(GidPrefix(0xfec0_0000_0000_0042));
    let mut sma = ca().with_router_tables(RouterTables::new(&adjacent, &[far]));
    let info = RouterInfo::from_bytes(get(&mut sma, RouterInfo::ID, 0).unwrap());
    let adjacent_table = (
        info.adjacent_subnets_table_cap(),
        info.adjacent_subnets_table_top(),
    );
    assert_eq!(adjacent_table, (9, 8));
    assert_eq!(
        (info.next_hop_table_cap(), info.next_hop_table_top()),
        (1, 0)
    );
    let id = AdjacentSiteLocalSubnetsTable::ID;
    let last = AdjacentSiteLocalSubnetsTable::from_bytes(get(&mut sma, id, 1).unwrap());
    assert_eq!(last.records(0), Some(&adjacent[8]));
    assert_eq!(
        last.records(1),
        Some(&AdjacentSiteLocalSubnetRecord::default())
    );
    let prefix = last.records(0).unwrap().gid_prefix();
    assert_eq!(prefix, GidPrefix(0xfec0_0000_0000_0008));
    let invalid = Err(MadStatus::INVALID_FIELD_VALUE);
    assert_eq!(get(&mut sma, id, 2), invalid);
    assert_eq!(get(&mut sma, RouterInfo::ID, 1), invalid);
    let next = NextHopTable::from_bytes(get(&mut sma, NextHopTable::ID, 0).unwrap());
    assert_eq!(next.records(0), Some(&far));
    assert_eq!(set(&mut sma, id, 0, &[0; 64]), unsupported);
}
