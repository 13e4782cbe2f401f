//! Datagrams of any content.

use alloc::{format, vec};

use ib_wire::table::{Layout, load_bits, store_bits};

use crate::{
    CLASSES, CongestionControlMad, LAYOUTS, Mad, MadAddress, MadHeader, Message, describe,
    redirect_address,
};

/// Any 256 bytes open as a typed message, which prints and is the same bytes; what a table says of
/// them lies inside them.
pub fn any_datagram_is_its_typed_message(bytes: &[u8]) {
    let mut mad = Mad::new(MadAddress::DIRECTED);
    for (to, from) in mad.bytes.iter_mut().zip(bytes) {
        *to = *from;
    }
    let message = Message::parse(&mad.bytes);
    assert_eq!(message.as_bytes(), &mad.bytes);
    assert!(!format!("{message:?} {mad:?}").is_empty());
    let (header, _) = MadHeader::parse(&mad.bytes, 0).unwrap();
    let described = describe(&[CLASSES], header, &mad.bytes);
    assert_eq!(described.format.len, Mad::LEN);
    if let Some((layout, at)) = described.attribute {
        assert!(at + layout.len <= Mad::LEN);
    }
    let _ = redirect_address(&mad);
    let _ = mad.rmpp();
    let _ = CongestionControlMad::from_bytes(mad.bytes).log();
}

/// Reading each field of a structure and writing it elsewhere copies the whole structure.
pub fn fields_cover_every_bit(bytes: &[u8]) {
    for layout in LAYOUTS {
        let mut from = vec![0; layout.len];
        for (to, byte) in from.iter_mut().zip(bytes.iter().cycle()) {
            *to = *byte;
        }
        let mut copy = vec![0xa5; layout.len];
        copy_fields(layout, &from, &mut copy);
        assert_eq!(copy, from, "{}", layout.name);
    }
}

fn copy_fields(layout: &Layout, from: &[u8], to: &mut [u8]) {
    for field in layout.fields {
        let mut at = field.bit_offset;
        let end = at + field.bits;
        while at < end {
            let bits = (end - at).min(56);
            store_bits(to, at, bits, load_bits(from, at, bits).unwrap()).unwrap();
            at += bits;
        }
    }
}
