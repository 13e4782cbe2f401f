use super::*;

crate::wire_struct! {
    /// Every kind of row.
    pub struct Sample("Sample", 35 bytes) {
        /// A bit.
        flag, set_flag: bool = 0, 1;
        /// Three bits.
        type_, set_type: u8 = 1, 3;
        /// Spans two bytes.
        middle, set_middle: u16 = 4, 12;
        /// 24 bits.
        wide, set_wide: u32 = 16, 24;
        /// Nibbles.
        nibbles, set_nibbles: [u8; 4] = 40, 16;
        /// Bytes.
        raw, set_raw: [bytes; 2] = 56, 16;
        /// Text.
        text, set_text: [text; 4] = 72, 32;
        /// GID.
        gid, set_gid: Gid = 104, 128;
        /// Inner.
        inner, set_inner: Inner = 232, 24;
        /// Inners.
        inners, set_inners: [Inner; 1] = 256, 24;
    }
}

crate::wire_struct! {
    /// Three bytes: no power of two.
    pub struct Inner("Inner", 3 bytes) {
        /// Ten bits over two bytes.
        a, set_a: u16 = 0, 10;
        /// Fourteen bits.
        b, set_b: u16 = 10, 14;
    }
}

use crate::Gid;

#[test]
fn fields_cover_the_structure_without_gap() {
    for layout in [
        Sample::LAYOUT,
        Inner::LAYOUT,
        crate::Lrh::LAYOUT,
        crate::Bth::LAYOUT,
    ] {
        let mut next = 0;
        for field in layout.fields {
            assert_eq!(field.bit_offset, next, "{}.{}", layout.name, field.name);
            next += field.bits;
        }
        assert_eq!(next, layout.len * 8, "{}", layout.name);
    }
}

#[test]
fn setting_a_field_changes_its_bits_only() {
    for background in [0x00, 0xa5, 0xff] {
        let mut sample = Sample::from_bytes([background; 35]);
        sample
            .set_flag(true)
            .set_type(5)
            .set_middle(0xabc)
            .set_wide(0x123456);
        sample.set_nibbles(2, 7).unwrap();
        sample.set_raw(&[1, 2]).set_text(&Text::new("abcdef"));
        let gid = "ff12:401b:ffff::1".parse().unwrap();
        let mut inner = Inner::default();
        inner.set_a(0x3ff).set_b(1);
        sample.set_gid(gid).set_inner(&inner);
        assert_eq!(
            (sample.flag(), sample.type_(), sample.middle()),
            (true, 5, 0xabc)
        );
        assert_eq!((sample.wide(), sample.nibbles(2)), (0x123456, Some(7)));
        assert_eq!(sample.nibbles(1), Some(background & 15));
        assert_eq!(sample.nibbles(4), None);
        assert_eq!(
            (sample.raw(), sample.text().to_string().as_str()),
            (&[1, 2], "abcd")
        );
        assert_eq!((sample.gid(), sample.inner()), (gid, &inner));
        assert_eq!(
            sample.inners(0).map(Inner::as_bytes),
            Some(&[background; 3])
        );
    }
}

#[test]
fn typed_and_untyped_access_agree() {
    let bytes: [u8; 35] = core::array::from_fn(|i| (i * 37 + 11) as u8);
    let sample = Sample::from_bytes(bytes);
    let load = |name| {
        let field = Sample::LAYOUT.field(name).unwrap();
        load_bits(&bytes, field.bit_offset, field.bits).unwrap()
    };
    assert_eq!(load("type"), u64::from(sample.type_()));
    assert_eq!(load("middle"), u64::from(sample.middle()));
    assert_eq!(load("wide"), u64::from(sample.wide()));
}

#[test]
fn a_short_buffer_is_truncated_at_its_place() {
    let error = Sample::parse(&[0; 34], 8).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Sample at byte 8: 35 bytes needed, 34 left"
    );
}

#[test]
fn untyped_access_past_the_end_is_none() {
    assert_eq!(load_bits(&[0; 4], 25, 8), None);
    assert_eq!(load_bits(&[0; 4], usize::MAX, 8), None);
    assert_eq!(load_bits(&[0; 16], 0, 65), None);
    let mut bytes = [0xa5; 4];
    assert_eq!(store_bits(&mut bytes, 25, 8, 0), None);
    assert_eq!(bytes, [0xa5; 4]);
}

#[test]
fn debug_says_of_a_secret_only_how_long_it_is() {
    crate::wire_struct! {
        /// A key among others.
        pub struct Guarded("Guarded", 9 bytes) {
            id, set_id: u8 = 0, 8;
            key, set_key: [secret; 4] = 8, 32;
            word, set_word: [secret_text; 4] = 40, 32;
        }
    }
    let mut guarded = Guarded::default();
    assert_eq!(
        alloc::format!("{guarded:?}"),
        "Guarded { id: 0, key: (4 zeros), word: (4 zeros) }"
    );
    guarded.set_key(&[0, 90, 0, 0]).set_word(&Text::new("open"));
    assert_eq!(
        alloc::format!("{guarded:?}"),
        "Guarded { id: 0, key: (4 bytes), word: (4 bytes) }"
    );
    assert_eq!(guarded.key(), &[0, 90, 0, 0]);
    assert_eq!(guarded.word().to_string(), "open");
    assert_eq!(Guarded::FIELDS[1].kind, FieldKind::Bytes);
    assert_eq!(Guarded::FIELDS[2].kind, FieldKind::Text);
}
