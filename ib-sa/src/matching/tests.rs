use std::vec::Vec;

use ib_smp::CapabilityMask;
use ib_wire::{Gid, Guid, Lid, Mtu, Rate};

use super::*;
use crate::{
    GuidInfoComponents, GuidInfoRecord, McMemberComponents, McMemberRecord, MultiPathComponents,
    MultiPathRecord, NodeComponents, NodeRecord, PathComponents, PathRecord, PortInfoComponents,
    PortInfoRecord,
};

#[test]
fn an_empty_mask_matches_every_record() {
    let record = PathRecord::from_bytes([0xff; 64]);
    assert!(record.matches(&PathRecord::default(), ComponentMask::ALL_RECORDS));
}

#[test]
fn every_component_compares_its_own_bits_and_no_others() {
    fn check<R: Record>() {
        let step = if cfg!(miri) { 211 } else { 1 };
        let mut base = R::new_zeroed();
        for selector in R::Components::TABLE.iter().filter(|it| is_selector(it)) {
            // Exactly: the upper of its two bits.
            let bit = selector.bit_offset;
            base.as_mut_bytes()[bit / 8] |= 0x80 >> (bit % 8);
        }
        let selectors = |it: &Component| is_selector(it).then_some(1 << it.bit);
        let selectors: u64 = R::Components::TABLE.iter().filter_map(selectors).sum();
        let is_of_selector = |bit| {
            let mut all = R::Components::TABLE.iter().filter(|it| is_selector(it));
            all.any(|it| (it.bit_offset..it.bit_offset + it.bits).contains(&bit))
        };
        for component in R::Components::TABLE {
            if is_selector(component) {
                continue;
            }
            let mask = ComponentMask(1 << component.bit | selectors);
            for bit in (0..size_of::<R>() * 8).step_by(step) {
                if is_of_selector(bit) {
                    continue;
                }
                let mut other = base;
                other.as_mut_bytes()[bit / 8] ^= 0x80 >> (bit % 8);
                let inside =
                    (component.bit_offset..component.bit_offset + component.bits).contains(&bit);
                assert_eq!(other.matches(&base, mask), !inside, "{}", component.name);
                assert_eq!(base.matches(&other, mask), !inside, "{}", component.name);
            }
        }
    }
    check::<NodeRecord>();
    check::<PortInfoRecord>();
    check::<PathRecord>();
    check::<McMemberRecord>();
    check::<MultiPathRecord>();
    check::<GuidInfoRecord>();
    check::<crate::ServiceRecord>();
    check::<crate::InformInfoRecord>();
    check::<crate::SwitchInfoRecord>();
    check::<crate::PKeyTableRecord>();
}

#[test]
fn components_of_embedded_attributes_and_arrays_have_their_place() {
    let mut record = NodeRecord::default();
    let mut info = *record.node_info();
    info.set_node_guid(Guid(0x55));
    record.set_node_info(&info);
    let mask = NodeComponents::NODE_GUID.into();
    assert!(record.matches(&record, mask));
    assert!(!record.matches(&NodeRecord::default(), mask));
    let mut record = GuidInfoRecord::default();
    let mut guids = *record.guid_info();
    guids.set_guid_block(3, Guid(9));
    record.set_guid_info(&guids);
    let wanted = GuidInfoRecord::default();
    assert!(!record.matches(&wanted, GuidInfoComponents::GUID_BLOCK_3.into()));
    assert!(record.matches(&wanted, GuidInfoComponents::GUID_BLOCK_4.into()));
}

fn group(mtu: Mtu, rate: Rate, packet_life_time: u8) -> McMemberRecord {
    let mut record = McMemberRecord::default();
    record
        .set_mtu_selector(Selector::EXACTLY)
        .set_mtu(mtu)
        .set_rate_selector(Selector::EXACTLY)
        .set_rate(rate)
        .set_packet_life_time_selector(Selector::EXACTLY)
        .set_packet_life_time(packet_life_time);
    record
}

#[test]
fn selectors_say_how_the_value_behind_them_is_meant() {
    let found = group(Mtu::MTU_2048, Rate::GBPS_40, 18);
    let both = McMemberComponents::MTU_SELECTOR | McMemberComponents::MTU;
    let accepted = |selector, mtu| {
        let mut template = McMemberRecord::default();
        template.set_mtu_selector(selector).set_mtu(mtu);
        found.matches(&template, both.into())
    };
    let mtus = [Mtu::MTU_1024, Mtu::MTU_2048, Mtu::MTU_4096];
    assert_eq!(
        mtus.map(|mtu| accepted(Selector::GREATER_THAN, mtu)),
        [true, false, false]
    );
    assert_eq!(
        mtus.map(|mtu| accepted(Selector::LESS_THAN, mtu)),
        [false, false, true]
    );
    assert_eq!(
        mtus.map(|mtu| accepted(Selector::EXACTLY, mtu)),
        [false, true, false]
    );
    assert_eq!(
        mtus.map(|mtu| accepted(Selector::LARGEST_AVAILABLE, mtu)),
        [true; 3]
    );
}

#[test]
fn rates_compare_by_speed_and_not_by_code() {
    // Code 5 is 5 Gb/s, slower than code 3; code 15 is 25 Gb/s, faster than the 30 of code 4.
    for (found, wanted, greater) in [
        (Rate::GBPS_10, Rate::GBPS_5, true),
        (Rate::GBPS_5, Rate::GBPS_10, false),
        (Rate::GBPS_25, Rate::GBPS_30, true),
        (Rate::GBPS_30, Rate::GBPS_25, false),
        (Rate(1), Rate::GBPS_10, false),
        (Rate::GBPS_10, Rate(63), false),
    ] {
        let mut template = PathRecord::default();
        template
            .set_rate_selector(Selector::GREATER_THAN)
            .set_rate(wanted);
        let mut record = PathRecord::default();
        record.set_rate(found);
        let both = PathComponents::RATE_SELECTOR | PathComponents::RATE;
        assert_eq!(
            record.matches(&template, both.into()),
            greater,
            "{found} > {wanted}"
        );
    }
}

#[test]
fn a_selector_and_its_value_count_only_together() {
    let found = group(Mtu::MTU_2048, Rate::GBPS_40, 18);
    let mut template = McMemberRecord::default();
    template
        .set_mtu_selector(Selector::GREATER_THAN)
        .set_mtu(Mtu::MTU_4096);
    assert!(found.matches(&template, McMemberComponents::MTU_SELECTOR.into()));
    // Nor does it count for the next value that has none.
    template.set_tclass(1);
    let mask = McMemberComponents::MTU_SELECTOR | McMemberComponents::TCLASS;
    assert!(!found.matches(&template, mask.into()));
    for value in [
        McMemberComponents::MTU,
        McMemberComponents::RATE,
        McMemberComponents::PACKET_LIFE_TIME,
    ] {
        assert!(found.matches(&template, value.into()), "{value:?}");
    }
    let mut template = PathRecord::default();
    template
        .set_mtu(Mtu::MTU_4096)
        .set_rate(Rate::GBPS_10)
        .set_packet_life_time(1);
    for value in [
        PathComponents::MTU,
        PathComponents::RATE,
        PathComponents::PACKET_LIFE_TIME,
    ] {
        let path = PathRecord::default();
        assert!(path.matches(&template, value.into()), "{value:?}");
    }
}

#[test]
fn the_independence_selector_is_a_value_of_its_own() {
    let mut template = MultiPathRecord::default();
    template.set_independence_selector(1);
    let mask = MultiPathComponents::INDEPENDENCE_SELECTOR.into();
    assert!(!MultiPathRecord::default().matches(&template, mask));
}

#[test]
fn the_two_components_of_a_service_id_are_apart() {
    let mut record = PathRecord::default();
    record.set_service_id(0x1000_0000_0000_0002);
    let mut template = PathRecord::default();
    template.set_service_id(0x1000_0000_0000_0003);
    assert!(record.matches(&template, PathComponents::SERVICE_ID_8MSB.into()));
    assert!(!record.matches(&template, PathComponents::SERVICE_ID_56LSB.into()));
    record.set_sgid(Gid([1; 16]));
    assert!(!record.matches(&template, PathComponents::SGID.into()));
}

#[test]
fn capability_masks_match_bit_by_bit_where_the_modifier_says_so() {
    let with = |mask| {
        let mut record = PortInfoRecord::default();
        let mut info = *record.port_info();
        info.set_capability_mask(mask);
        *record.set_port_info(&info)
    };
    let found = with(CapabilityMask::IS_SM | CapabilityMask::IS_TRAP_SUPPORTED);
    let wanted = with(CapabilityMask::IS_SM);
    let mask = PortInfoComponents::CAPABILITY_MASK.into();
    assert!(!found.matches_query(&wanted, mask, 0));
    assert!(found.matches_query(&wanted, mask, PortInfoRecord::MATCH_CAPABILITY_MASK));
    assert!(!wanted.matches_query(&found, mask, PortInfoRecord::MATCH_CAPABILITY_MASK));
    assert!(wanted.matches_query(
        &found,
        ComponentMask(0),
        PortInfoRecord::MATCH_CAPABILITY_MASK
    ));
}

#[test]
fn a_path_gives_what_its_selector_asks_for_or_nothing() {
    use Selector as S;
    let (m1, m2, m4) = (Mtu::MTU_1024, Mtu::MTU_2048, Mtu::MTU_4096);
    assert_eq!(S::GREATER_THAN.choose_mtu(m1, m2), Some(m2));
    assert_eq!(S::GREATER_THAN.choose_mtu(m2, m2), None);
    assert_eq!(S::LESS_THAN.choose_mtu(m4, m4), Some(m2));
    assert_eq!(S::LESS_THAN.choose_mtu(m4, m1), Some(m1));
    assert_eq!(S::LESS_THAN.choose_mtu(Mtu::MTU_256, m4), None);
    assert_eq!(S::EXACTLY.choose_mtu(m1, m4), Some(m1));
    assert_eq!(S::EXACTLY.choose_mtu(m4, m1), None);
    assert_eq!(S::EXACTLY.choose_mtu(Mtu(0), m4), None);
    assert_eq!(S::LARGEST_AVAILABLE.choose_mtu(m1, m4), Some(m4));
    let (r10, r30, r25) = (Rate::GBPS_10, Rate::GBPS_30, Rate::GBPS_25);
    assert_eq!(S::GREATER_THAN.choose_rate(r30, r25), Some(r25));
    assert_eq!(S::GREATER_THAN.choose_rate(r25, r30), None);
    assert_eq!(S::LESS_THAN.choose_rate(r25, r25), Some(r30));
    assert_eq!(S::LESS_THAN.choose_rate(r25, r10), Some(r10));
    assert_eq!(S::LESS_THAN.choose_rate(Rate::GBPS_2_5, r10), None);
    assert_eq!(S::EXACTLY.choose_rate(r10, r25), Some(r10));
    assert_eq!(S::EXACTLY.choose_rate(r25, r10), None);
    assert_eq!(S::EXACTLY.choose_rate(Rate(63), r10), None);
    let lives: Vec<_> = [
        S::LESS_THAN,
        S::EXACTLY,
        S::GREATER_THAN,
        S::LARGEST_AVAILABLE,
    ]
    .into_iter()
    .flat_map(|s| [17, 18, 19].map(|wanted| s.choose_packet_life_time(wanted, 18)))
    .collect();
    let (none, l) = (None, Some);
    assert_eq!(
        lives,
        [
            none,
            none,
            l(18),
            none,
            l(18),
            l(19),
            l(18),
            l(19),
            l(20),
            l(18),
            l(18),
            l(18)
        ]
    );
    assert_eq!(S::GREATER_THAN.choose_packet_life_time(63, 18), None);
}

#[test]
fn lids_choose_records() {
    let mut record = NodeRecord::default();
    record.set_lid(Lid(7));
    assert!(record.matches(&record, NodeComponents::LID.into()));
    assert!(!record.matches(&NodeRecord::default(), NodeComponents::LID.into()));
}

/// Every selector with every wanted and every available value of six bits.
fn choices() -> impl Iterator<Item = (Selector, u8, u8)> {
    let selectors = (0..4).map(Selector);
    selectors.flat_map(|selector| {
        (0..64).flat_map(move |wanted| (0..64).map(move |available| (selector, wanted, available)))
    })
}

/// Returns true if `value` is what a selector asks for; the best is asked for by none.
fn asked_for(selector: Selector, value: Option<Ordering>) -> bool {
    value.is_some_and(|order| selector.accepts(order))
}

#[test]
fn a_choice_is_what_was_asked_for_and_is_missing_only_where_there_is_none() {
    for (selector, wanted, available) in choices() {
        let (mtu, most) = (Mtu(wanted), Mtu(available));
        if most.bytes().is_some() {
            let fits = |mtu_: &Mtu| *mtu_ <= most && selector.accepts(mtu_.cmp(&mtu));
            let known = Mtu::NAMED.iter().map(|(mtu, _)| mtu);
            match selector.choose_mtu(mtu, most) {
                Some(chosen) => assert!(chosen.bytes().is_some() && fits(&chosen)),
                None => assert!(!known.clone().any(fits), "{selector} {wanted} {available}"),
            }
        }
        let (rate, most) = (Rate(wanted), Rate(available));
        if most.rank().is_some() && rate.rank().is_some() {
            let fits = |rate_: &Rate| {
                rate_.rank() <= most.rank() && asked_for(selector, rate_.cmp_rate(rate))
            };
            match selector.choose_rate(rate, most) {
                Some(chosen) => assert!(chosen.rank().is_some() && fits(&chosen)),
                None => assert!(!Rate::ORDER.iter().any(fits), "{selector} {rate} {most}"),
            }
        }
        let fits = |time: &u8| *time >= available && selector.accepts(time.cmp(&wanted));
        match selector.choose_packet_life_time(wanted, available) {
            Some(chosen) => assert!(chosen < 64 && fits(&chosen)),
            None => assert!(
                !(0..64).any(|time| fits(&time)),
                "{selector} {wanted} {available}"
            ),
        }
    }
}
