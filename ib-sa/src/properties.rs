//! Facts that hold for every input: called by the property tests and the fuzz targets alike.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a property fails by panicking"
)]

use alloc::{format, vec::Vec};

use crate::{
    CLASSES, ComponentMask, McMemberRecord, MultiPathQuery, NodeRecord, PathRecord, PortInfoRecord,
    Record, Records, SaAttribute, SaMad, ServiceRecord, pack_multi_path, pack_table,
};

/// Any 256 bytes open as an SA datagram, which prints, is the same bytes, and whose attribute lies
/// inside it.
pub fn any_datagram_is_its_bytes(bytes: &[u8]) {
    let mut datagram = [0; 256];
    for (to, from) in datagram.iter_mut().zip(bytes) {
        *to = *from;
    }
    let (mad, rest) = SaMad::parse(&datagram, 0).unwrap();
    assert_eq!((mad.as_bytes(), rest.len()), (&datagram, 0));
    let typed = SaAttribute::parse(mad.attribute_id(), &datagram);
    assert!(!format!("{mad:?} {typed:?}").is_empty());
    assert_eq!(
        matches!(typed, SaAttribute::Other(..)),
        CLASSES[0]
            .attribute(mad.attribute_id())
            .is_none_or(|entry| entry.layout.is_none())
    );
}

/// Any bytes at any offset are a table that ends, and its records pack to a table of the same records.
pub fn any_table_packs_again(bytes: &[u8]) {
    fn check<R: Record + PartialEq + core::fmt::Debug>(data: &[u8], attribute_offset: u16) {
        let Ok(records) = Records::<R>::new(data, attribute_offset) else {
            assert!(usize::from(attribute_offset) * 8 < size_of::<R>());
            return;
        };
        let (least, most) = records.size_hint();
        let records: Vec<R> = records.copied().collect();
        assert!(least <= records.len() && most.is_some_and(|most| records.len() <= most));
        let table = pack_table(records.iter().copied());
        let again = Records::<R>::new(&table.data, table.attribute_offset).unwrap();
        assert_eq!(again.copied().collect::<Vec<R>>(), records);
    }
    let Some((&[offset, kind], data)) = bytes.split_first_chunk() else {
        return;
    };
    let offset = u16::from(offset % 40);
    match kind % 4 {
        0 => check::<NodeRecord>(data, offset),
        1 => check::<PathRecord>(data, offset),
        2 => check::<ServiceRecord>(data, offset),
        _ => check::<McMemberRecord>(data, offset),
    }
    if let Ok(query) = MultiPathQuery::parse(data) {
        let (sources, destinations): (Vec<_>, Vec<_>) =
            (query.sources().collect(), query.destinations().collect());
        let packed = pack_multi_path(query.record, &sources, &destinations).unwrap();
        assert_eq!(packed, data[..packed.len()]);
    }
}

/// More components in the mask match fewer records, and a record matches itself wherever no selector
/// asks for more or less than it has.
pub fn a_larger_mask_matches_less(bytes: &[u8]) {
    fn check<R: Record>(masks: [u64; 2], data: &[u8]) {
        let Ok((record, rest)) = R::ref_from_prefix(data) else {
            return;
        };
        let Ok((template, _)) = R::ref_from_prefix(rest) else {
            return;
        };
        let small = ComponentMask(masks[0] & masks[1]);
        let large = ComponentMask(masks[0]);
        // Without selectors, which turn the meaning of what follows them.
        let plain = |mask: ComponentMask| {
            let selectors = <R::Components as crate::ComponentSet>::TABLE
                .iter()
                .filter(|component| component.name.ends_with("_selector"));
            ComponentMask(selectors.fold(mask.0, |mask, selector| mask & !(1 << selector.bit)))
        };
        let (small, large) = (plain(small), plain(large));
        assert!(!record.matches(template, large) || record.matches(template, small));
        assert!(record.matches(record, large));
    }
    let Some((masks, data)) = bytes.split_first_chunk::<17>() else {
        return;
    };
    let mask = |at: usize| u64::from_be_bytes(*masks[at..].first_chunk().unwrap());
    let two = [mask(0), mask(8)];
    match masks[16] % 3 {
        0 => check::<PathRecord>(two, data),
        1 => check::<McMemberRecord>(two, data),
        _ => check::<PortInfoRecord>(two, data),
    }
}
