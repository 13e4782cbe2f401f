//! Addresses and keys: their parts, and their text forms.

use std::{fmt::Debug, str::FromStr, string::ToString};

use super::*;

/// A printed value reads back, in decimal and in hexadecimal digits.
fn reads_back<T: FromStr<Err: Debug> + ToString + PartialEq + Debug>(value: T, hex: &str) {
    assert_eq!(value.to_string().parse::<T>().unwrap(), value);
    assert_eq!(hex.parse::<T>().unwrap(), value);
}

#[test]
fn every_number_reads_back_from_its_text() {
    reads_back(Lid(0xc001), "0xc001");
    reads_back(PKey(0x7fff), "0x7fff");
    reads_back(QKey::GSI, "0x80010000");
    reads_back(GidPrefix::DEFAULT, "0xfe80000000000000");
    reads_back(Qpn::MULTICAST, "0xffffff");
    reads_back(Psn::new(0xabcdef), "0xabcdef");
    reads_back(PortNum(36), "0x24");
    reads_back(Sl::from_low_bits(15), "0xf");
    reads_back(Vl::MANAGEMENT, "0xf");
    reads_back(Lmc::MAX, "0x7");
}

#[test]
fn text_that_is_no_number_of_the_range_is_an_error() {
    for text in [
        "", "0x", "-1", "+1", " 1", "1 ", "+0x1", "0x+1", "0x-1", "0x 1", "1_0", "x",
    ] {
        assert!(text.parse::<Lid>().is_err(), "{text:?}");
    }
    assert!("65536".parse::<Lid>().is_err());
    assert!("0x1000000".parse::<Qpn>().is_err());
    assert!("16".parse::<Sl>().is_err());
    let error = "8".parse::<Lmc>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "not a Lmc, expected a number of at most 7"
    );
}

#[test]
fn a_guid_is_up_to_16_digits_or_four_groups_of_four() {
    let guid = Guid(0x0002_c903_00a1_b2c3);
    reads_back(guid, "0x0002c90300a1b2c3");
    reads_back(guid, "2C90300a1b2c3");
    reads_back(guid, "0002:c903:00a1:b2c3");
    for text in [
        "",
        "0x",
        "0002:c903:00a1",
        "0002:c903:00a1:b2c3:0",
        "00021:c90:300a1:b2c",
        "00021:c903:0a1:b2c3",
        "0x10002c90300a1b2c3",
        "guid",
    ] {
        assert!(text.parse::<Guid>().is_err(), "{text:?}");
    }
}

#[test]
fn limited_members_talk_to_full_members_only() {
    let (full, limited) = (PKey(0x8001), PKey(0x0001));
    for (a, b, passes) in [
        (full, full, true),
        (full, limited, true),
        (limited, full, true),
        (limited, limited, false),
        (full, PKey(0x8002), false),
        (PKey(0x8000), PKey(0x8000), false),
        (PKey::DEFAULT_FULL, PKey::DEFAULT_LIMITED, true),
    ] {
        assert_eq!(a.matches(b), passes, "{a} {b}");
    }
}

#[test]
fn a_port_owns_the_lids_from_its_base_on() {
    let lmc = |bits| Lmc::try_new(bits).unwrap();
    let range = LidRange::try_new(Lid(16), lmc(2)).unwrap();
    assert_eq!(range.iter().collect::<Vec<_>>(), [16, 17, 18, 19].map(Lid));
    for lid in 0..=u16::MAX {
        assert_eq!(range.contains(Lid(lid)), (16..20).contains(&lid));
    }
    assert_eq!(lmc(7).lid_count(), 128);
    for (base, bits) in [(0, 0), (17, 1), (0xbfff, 1), (0xc000, 0), (0xffff, 0)] {
        assert!(LidRange::try_new(Lid(base), lmc(bits)).is_err(), "{base}");
    }
    assert!(LidRange::try_new(Lid(0xbf80), Lmc::MAX).is_ok());
    assert!(Lmc::try_new(8).is_err());
}

#[test]
fn a_gid_says_how_far_it_reaches() {
    let gid = |text: &str| text.parse::<Gid>().unwrap();
    for (text, is_local) in [
        ("fe80::2:c903:a1:b2c3", true),
        ("fec0::1", false),
        ("2001:db8::1", false),
        ("ff12:401b::1", true),
        ("ff0e::1", false),
    ] {
        assert_eq!(gid(text).is_link_local(), is_local, "{text}");
    }
    let group = gid("ff12:401b:ffff::16").multicast().unwrap();
    assert_eq!(
        (group.flags(), group.scope()),
        (1, MulticastScope::LINK_LOCAL)
    );
    assert_eq!(Gid::from(group), gid("ff12:401b:ffff::16"));
    let port = Gid::new(GidPrefix::DEFAULT, Guid(7));
    assert_eq!(
        (port, port.guid(), port.prefix()),
        (gid("fe80::7"), Guid(7), GidPrefix::DEFAULT)
    );
    assert_eq!(port.multicast(), None);
}

#[test]
fn sequence_numbers_compare_across_their_end() {
    let last = Psn::new(0xff_ffff);
    assert_eq!(last.add(2), Psn::new(1));
    assert_eq!(Psn::new(1).since(last), 2);
    assert_eq!(last.since(Psn::new(1)), -2);
    assert_eq!(Psn::new(0x80_0000).since(Psn::new(0)), -0x80_0000);
    assert_eq!(Psn::new(0x7f_ffff).since(Psn::new(0)), 0x7f_ffff);
}

#[cfg(feature = "serde")]
#[test]
fn structures_and_values_read_back_from_json() {
    use crate::{Bth, Grh, OpCode};

    let grh = Grh::from_bytes(core::array::from_fn(|index| index as u8 ^ 0x5a));
    let json = serde_json::to_string(&grh).unwrap();
    assert_eq!(serde_json::from_str::<Grh>(&json).unwrap(), grh);
    let bth: Bth = serde_json::from_str(r#"{"op_code": 4, "psn": 9}"#).unwrap();
    assert_eq!(
        (bth.op_code(), bth.psn()),
        (OpCode::RC_SEND_ONLY, Psn::new(9))
    );
    let values = (
        Lid(7),
        Guid(1),
        Gid::new(GidPrefix::DEFAULT, Guid(2)),
        Sl::from_low_bits(3),
    );
    let json = serde_json::to_string(&values).unwrap();
    assert_eq!(json, r#"[7,"0x0000000000000001","fe80::2",3]"#);
    let read: (Lid, Guid, Gid, Sl) = serde_json::from_str(&json).unwrap();
    assert_eq!(read, values);
    assert!(serde_json::from_str::<Sl>("16").is_err());
    assert!(serde_json::from_str::<Lid>("65536").is_err());
    assert!(serde_json::from_str::<Gid>(r#""gid""#).is_err());
}
