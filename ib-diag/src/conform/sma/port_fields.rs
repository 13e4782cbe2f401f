//! Fields that a Set(PortInfo) changes, and fields that it leaves (IBA vol. 1, 14.2.5.6).

use ib_smp::{
    CapabilityMask, LinkDownDefaultState, LinkSpeedActive, LinkSpeeds, LinkWidthActive, LinkWidths,
    VlCap,
};
use ib_wire::{Lid, Mtu};

use crate::conform::{
    Case,
    bench::{ensure, skip},
    case,
    ports::{same_but_counters, settable},
};

const PORT_INFO: &str = "IBA vol. 1, 14.2.5.6";

/// A case in which a Set writes fields of a port, of a CA (`ca`) or of the switch before it (`switch`): what it sets of the
/// fields that were read, and what must hold of the fields before and after.
macro_rules! fields {
    (
        $id:literal, $title:literal, $end:ident,
        |$info:ident| $set:expr, |$before:pat_param, $after:ident| $holds:expr $(,)?
    ) => {
        case($id, $title, PORT_INFO, |bench| {
            let at = bench.edge()?.$end;
            bench.taken(
                at,
                |$info| {
                    $set;
                },
                |$before, $after| $holds,
            )
        })
    };
}

pub(super) const CASES: &[Case] = &[
    fields!(
        "sma-284",
        "LinkWidthEnabled 0 leaves the widths",
        ca,
        |info| info.set_link_width_enabled(LinkWidths::empty()),
        |before, after| before.link_width_enabled() == after.link_width_enabled(),
    ),
    fields!(
        "sma-285",
        "LinkSpeedEnabled 0 leaves the speeds",
        ca,
        |info| info.set_link_speed_enabled(LinkSpeeds::empty()),
        |before, after| before.link_speed_enabled() == after.link_speed_enabled(),
    ),
    fields!(
        "sma-286",
        "LinkWidthEnabled 255 enables what is supported",
        ca,
        |info| info.set_link_width_enabled(LinkWidths::SET_TO_SUPPORTED),
        |_, after| after.link_width_enabled() == after.link_width_supported(),
    ),
    fields!(
        "sma-287",
        "LinkSpeedEnabled 15 enables what is supported",
        ca,
        |info| info.set_link_speed_enabled(LinkSpeeds::SET_TO_SUPPORTED),
        |_, after| after.link_speed_enabled() == after.link_speed_supported(),
    ),
    fields!(
        "sma-288",
        "OperationalVLs 0 leaves the lanes",
        ca,
        |info| info.set_operational_vls(VlCap(0)),
        |before, after| before.operational_vls() == after.operational_vls(),
    ),
    fields!(
        "sma-289",
        "LinkDownDefaultState is kept as written",
        ca,
        |info| info.set_link_down_default_state(LinkDownDefaultState::SLEEP),
        |_, after| after.link_down_default_state() == LinkDownDefaultState::SLEEP,
    ),
    fields!(
        "sma-290",
        "LinkDownDefaultState 0 leaves it",
        ca,
        |info| info.set_link_down_default_state(LinkDownDefaultState::NO_CHANGE),
        |before, after| before.link_down_default_state() == after.link_down_default_state(),
    ),
    fields!(
        "sma-291",
        "GidPrefix is kept as written",
        ca,
        |info| info.set_gid_prefix(ib_wire::GidPrefix(0xfec0_0000_0000_1234)),
        |_, after| after.gid_prefix() == ib_wire::GidPrefix(0xfec0_0000_0000_1234),
    ),
    fields!(
        "sma-292",
        "MasterSMLID is kept as written",
        ca,
        |info| info.set_master_sm_lid(Lid(0x1234)),
        |_, after| after.master_sm_lid() == Lid(0x1234),
    ),
    fields!(
        "sma-293",
        "MasterSMSL is kept as written",
        ca,
        |info| info.set_master_sm_sl(ib_wire::Sl::from_low_bits(5)),
        |_, after| after.master_sm_sl() == ib_wire::Sl::from_low_bits(5),
    ),
    fields!(
        "sma-294",
        "SubnetTimeOut is kept as written",
        ca,
        |info| info.set_subnet_timeout(19),
        |_, after| after.subnet_timeout() == 19,
    ),
    fields!(
        "sma-295",
        "M_KeyLeasePeriod is kept as written",
        ca,
        |info| info.set_m_key_lease_period(77),
        |_, after| after.m_key_lease_period() == 77,
    ),
    fields!(
        "sma-296",
        "LimitOfHighPriority is kept as written",
        ca,
        |info| info.set_vl_high_limit(9),
        |_, after| after.vl_high_limit() == 9,
    ),
    fields!(
        "sma-297",
        "LocalPhyErrors and OverrunErrors are kept as written",
        ca,
        |info| info.set_local_phy_errors(3).set_overrun_errors(5),
        |_, after| (after.local_phy_errors(), after.overrun_errors()) == (3, 5),
    ),
    fields!(
        "sma-298",
        "HOQLife of a switch's external port is kept as written",
        switch,
        |info| info.set_hoq_life(11),
        |_, after| after.hoq_life() == 11,
    ),
    fields!(
        "sma-299",
        "VLStallCount of a switch's external port is kept as written",
        switch,
        |info| info.set_vl_stall_count(3),
        |_, after| after.vl_stall_count() == 3,
    ),
    fields!(
        "sma-300",
        "NeighborMTU is kept as written",
        ca,
        |info| info.set_neighbor_mtu(Mtu(2)),
        |_, after| after.neighbor_mtu() == Mtu(2),
    ),
    fields!(
        "sma-301",
        "What is supported stays as it was",
        ca,
        |info| info
            .set_link_width_supported(LinkWidths::empty())
            .set_link_speed_supported(LinkSpeeds::empty()),
        |before, after| before.link_width_supported() == after.link_width_supported()
            && before.link_speed_supported() == after.link_speed_supported(),
    ),
    fields!(
        "sma-302",
        "MTUCap and VLCap stay as they were",
        ca,
        |info| info.set_mtu_cap(Mtu(1)).set_vl_cap(VlCap(5)),
        |before, after| before.mtu_cap() == after.mtu_cap() && before.vl_cap() == after.vl_cap(),
    ),
    fields!(
        "sma-303",
        "CapabilityMask stays as it was",
        ca,
        |info| info.set_capability_mask(CapabilityMask::empty()),
        |before, after| before.capability_mask() == after.capability_mask(),
    ),
    fields!(
        "sma-304",
        "GUIDCap and RespTimeValue stay as they were",
        ca,
        |info| info.set_guid_cap(0).set_resp_time_value(0),
        |before, after| before.guid_cap() == after.guid_cap()
            && before.resp_time_value() == after.resp_time_value(),
    ),
    fields!(
        "sma-305",
        "The widths and speeds in use stay as they were",
        ca,
        |info| info
            .set_link_width_active(LinkWidthActive::default())
            .set_link_speed_active(LinkSpeedActive::default()),
        |before, after| before.link_width_active() == after.link_width_active()
            && before.link_speed_active() == after.link_speed_active(),
    ),
    fields!(
        "sma-306",
        "A Set of what was read leaves the port as it was",
        ca,
        |_info| {},
        |before, after| same_but_counters(before, after),
    ),
    fields!(
        "sma-307",
        "A Set of what was read leaves a switch's external port as it was",
        switch,
        |_info| {},
        |before, after| same_but_counters(before, after),
    ),
    case(
        "sma-308",
        "An answer shows ClientReregister as it was written",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.with_port(at, |bench, before| {
                if !before
                    .capability_mask()
                    .contains(CapabilityMask::IS_CLIENT_REREGISTRATION_SUPPORTED)
                {
                    return skip("the port does not support ClientReregister");
                }
                let mut wanted = settable(before);
                wanted.set_client_reregister(true);
                let answer = bench.put(&at.path, at.modifier, &wanted)?;
                ensure!(answer.client_reregister(), "the answer shows 0");
                Ok(())
            })
        },
    ),
];
