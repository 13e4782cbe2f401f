//! The tables of the code against the tables of the specification, both ways.

use ib_smp::*;
use ib_wire::properties::structs_of;

use ib_testkit::spec::mad::*;

#[test]
fn every_layout_agrees_with_its_rows() {
    layouts_agree(LAYOUTS);
}

#[test]
fn both_forms_of_an_smp_carry_every_attribute() {
    assert_eq!(CLASSES.len(), 2);
    for class in CLASSES {
        class_agrees("Subn", class, LAYOUTS);
    }
}

#[test]
fn every_smp_format_has_a_layout() {
    for name in structs_of(HEADERS) {
        let here = LAYOUTS.iter().any(|layout| layout.name == name);
        assert_eq!(here, name.starts_with("SMP"), "{name}");
    }
}

#[test]
fn code_points_agree_with_the_enums() {
    code_points_agree!(
        "DR_DIRECTION": DrDirection,
        "LINK_DOWN_DEFAULT_STATE": LinkDownDefaultState,
        "LINK_SPEED_ACTIVE": LinkSpeedActive,
        "LINK_SPEED_EXT2_ACTIVE": LinkSpeedExtActive2,
        "LINK_SPEED_EXT_ACTIVE": LinkSpeedExtActive,
        "LINK_WIDTH": LinkWidthActive,
        "M_KEY_PROTECT": MKeyProtect,
        "MLNX_CABLE_STATUS": MlnxCableStatus,
        "MLNX_SEMAPHORE_OP": MlnxSemaphoreOp,
        "NODE_TYPE": NodeType,
        "PORT_PHYS_STATE": PortPhysicalState,
        "PORT_STATE": PortState,
        "SMINFO_ATTR_MOD": SmControl,
        "SM_STATE": SmState,
        "VL_CAP": VlCap,
    );
}

#[test]
fn flags_agree_with_the_masks() {
    masks_agree!(
        "PortInfo.CapabilityMask": CapabilityMask,
        "PortInfo.CapabilityMask2": CapabilityMask2,
        "PortInfoExtended.CapabilityMask": ExtendedCapabilityMask,
    );
}

#[test]
fn sets_of_widths_and_speeds_agree_with_the_enums() {
    macro_rules! check {
        ($($enum:literal: $type:ident),* $(,)?) => {$(
            for (bits, name) in enumerated($enum) {
                let flag = $type::from_bits_retain(bits as u8);
                let ours: Vec<_> = flag.iter_names().map(|(name, _)| name.to_owned()).collect();
                let name = match name.strip_suffix('x') {
                    Some(lanes) => format!("X{lanes}"),
                    None => name.to_owned(),
                };
                match name.as_str() {
                    "NoChange" => assert!(flag.is_empty()),
                    "SetToSupported" => assert_eq!(flag, $type::SET_TO_SUPPORTED),
                    "Disabled" => assert_eq!(bits, 30),
                    _ => assert_eq!(ours, [name], $enum),
                }
            }
        )*};
    }
    check!(
        "LINK_WIDTH_SUPPORTED_BITS": LinkWidths,
        "LINK_WIDTH_ENABLED_BITS": LinkWidths,
        "LINK_SPEED_SUPPORTED_BITS": LinkSpeeds,
        "LINK_SPEED_ENABLED_BITS": LinkSpeeds,
        "LINK_SPEED_EXT_SUPPORTED_BITS": LinkSpeedsExt,
        "LINK_SPEED_EXT_ENABLED_BITS": LinkSpeedsExt,
    );
    assert_eq!(enumerated("LINK_SPEED_FDR10_BITS"), [(1, "FDR10")]);
    assert_eq!(VendorLinkSpeeds::FDR10.bits(), 1);
}

#[test]
fn modifiers_survive_their_bits() {
    use ib_wire::PortNum;
    for bits in (0..=0xff).map(|low| low << 24 | low << 12 | low) {
        let mft = MftModifier::from_bits(bits);
        assert_eq!(MftModifier::from_bits(mft.bits()), mft);
        if let Some(modifier) = PKeyModifier::from_bits(bits) {
            assert_eq!(modifier.bits(), bits);
        }
        if let Some(modifier) = PortInfoModifier::from_bits(bits) {
            assert_eq!(modifier.bits(), bits);
        }
    }
    for (bits, position, block) in [(0x2000_0005, 2, 5), (0xf000_01ff, 15, 511)] {
        assert_eq!(MftModifier { position, block }.bits(), bits);
    }
    let (input, output) = (PortNum(3), PortNum(7));
    for (modifier, bits) in [
        (SlToVlModifier::Pair { input, output }, 0x0307),
        (SlToVlModifier::AllInputs { output }, 0x2_0007),
        (SlToVlModifier::AllOutputs { input }, 0x1_0300),
        (SlToVlModifier::All, 0x3_0000),
    ] {
        assert_eq!(modifier.bits(), bits);
        assert_eq!(SlToVlModifier::from_bits(bits), Some(modifier));
    }
    assert_eq!(SlToVlModifier::from_bits(0x4_0000), None);
    let half = VlArbitrationHalf::HighFirst;
    let modifier = VlArbitrationModifier { half, port: output };
    assert_eq!(modifier.bits(), 0x3_0007);
    for bits in [0, 0x5_0000, 0x1_0100] {
        assert_eq!(VlArbitrationModifier::from_bits(bits), None);
    }
    let p_key = PKeyModifier {
        port: output,
        block: 1,
    };
    assert_eq!(p_key.bits(), 0x7_0001);
    let extended = PortInfoModifier {
        port: output,
        extended_speeds: true,
    };
    assert_eq!(extended.bits(), 0x8000_0007);
    assert_eq!(PortInfoModifier::from_bits(0x100), None);
}
