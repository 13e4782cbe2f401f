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

pub(super) const CASES: &[Case] = &[
    case(
        "sma-284",
        "LinkWidthEnabled 0 leaves the widths",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_link_width_enabled(LinkWidths::empty());
                },
                |before, after| {
                    let _ = before;
                    before.link_width_enabled() == after.link_width_enabled()
                },
            )
        },
    ),
    case(
        "sma-285",
        "LinkSpeedEnabled 0 leaves the speeds",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_link_speed_enabled(LinkSpeeds::empty());
                },
                |before, after| {
                    let _ = before;
                    before.link_speed_enabled() == after.link_speed_enabled()
                },
            )
        },
    ),
    case(
        "sma-286",
        "LinkWidthEnabled 255 enables what is supported",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_link_width_enabled(LinkWidths::SET_TO_SUPPORTED);
                },
                |before, after| {
                    let _ = before;
                    after.link_width_enabled() == after.link_width_supported()
                },
            )
        },
    ),
    case(
        "sma-287",
        "LinkSpeedEnabled 15 enables what is supported",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_link_speed_enabled(LinkSpeeds::SET_TO_SUPPORTED);
                },
                |before, after| {
                    let _ = before;
                    after.link_speed_enabled() == after.link_speed_supported()
                },
            )
        },
    ),
    case(
        "sma-288",
        "OperationalVLs 0 leaves the lanes",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_operational_vls(VlCap(0));
                },
                |before, after| {
                    let _ = before;
                    before.operational_vls() == after.operational_vls()
                },
            )
        },
    ),
    case(
        "sma-289",
        "LinkDownDefaultState is kept as written",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_link_down_default_state(LinkDownDefaultState::SLEEP);
                },
                |before, after| {
                    let _ = before;
                    after.link_down_default_state() == LinkDownDefaultState::SLEEP
                },
            )
        },
    ),
    case(
        "sma-290",
        "LinkDownDefaultState 0 leaves it",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_link_down_default_state(LinkDownDefaultState::NO_CHANGE);
                },
                |before, after| {
                    let _ = before;
                    before.link_down_default_state() == after.link_down_default_state()
                },
            )
        },
    ),
    case(
        "sma-291",
        "GidPrefix is kept as written",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_gid_prefix(ib_wire::GidPrefix(0xfec0_0000_0000_1234));
                },
                |before, after| {
                    let _ = before;
                    after.gid_prefix() == ib_wire::GidPrefix(0xfec0_0000_0000_1234)
                },
            )
        },
    ),
    case(
        "sma-292",
        "MasterSMLID is kept as written",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_master_sm_lid(Lid(0x1234));
                },
                |before, after| {
                    let _ = before;
                    after.master_sm_lid() == Lid(0x1234)
                },
            )
        },
    ),
    case(
        "sma-293",
        "MasterSMSL is kept as written",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_master_sm_sl(ib_wire::Sl::from_low_bits(5));
                },
                |before, after| {
                    let _ = before;
                    after.master_sm_sl() == ib_wire::Sl::from_low_bits(5)
                },
            )
        },
    ),
    case(
        "sma-294",
        "SubnetTimeOut is kept as written",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_subnet_timeout(19);
                },
                |before, after| {
                    let _ = before;
                    after.subnet_timeout() == 19
                },
            )
        },
    ),
    case(
        "sma-295",
        "M_KeyLeasePeriod is kept as written",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_m_key_lease_period(77);
                },
                |before, after| {
                    let _ = before;
                    after.m_key_lease_period() == 77
                },
            )
        },
    ),
    case(
        "sma-296",
        "LimitOfHighPriority is kept as written",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_vl_high_limit(9);
                },
                |before, after| {
                    let _ = before;
                    after.vl_high_limit() == 9
                },
            )
        },
    ),
    case(
        "sma-297",
        "LocalPhyErrors and OverrunErrors are kept as written",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_local_phy_errors(3).set_overrun_errors(5);
                },
                |before, after| {
                    let _ = before;
                    (after.local_phy_errors(), after.overrun_errors()) == (3, 5)
                },
            )
        },
    ),
    case(
        "sma-298",
        "HOQLife of a switch's external port is kept as written",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.switch;
            bench.taken(
                at,
                |info| {
                    info.set_hoq_life(11);
                },
                |before, after| {
                    let _ = before;
                    after.hoq_life() == 11
                },
            )
        },
    ),
    case(
        "sma-299",
        "VLStallCount of a switch's external port is kept as written",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.switch;
            bench.taken(
                at,
                |info| {
                    info.set_vl_stall_count(3);
                },
                |before, after| {
                    let _ = before;
                    after.vl_stall_count() == 3
                },
            )
        },
    ),
    case(
        "sma-300",
        "NeighborMTU is kept as written",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_neighbor_mtu(Mtu(2));
                },
                |before, after| {
                    let _ = before;
                    after.neighbor_mtu() == Mtu(2)
                },
            )
        },
    ),
    case(
        "sma-301",
        "What is supported stays as it was",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_link_width_supported(LinkWidths::empty())
                        .set_link_speed_supported(LinkSpeeds::empty());
                },
                |before, after| {
                    let _ = before;
                    before.link_width_supported() == after.link_width_supported()
                        && before.link_speed_supported() == after.link_speed_supported()
                },
            )
        },
    ),
    case(
        "sma-302",
        "MTUCap and VLCap stay as they were",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_mtu_cap(Mtu(1)).set_vl_cap(VlCap(5));
                },
                |before, after| {
                    let _ = before;
                    before.mtu_cap() == after.mtu_cap() && before.vl_cap() == after.vl_cap()
                },
            )
        },
    ),
    case(
        "sma-303",
        "CapabilityMask stays as it was",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_capability_mask(CapabilityMask::empty());
                },
                |before, after| {
                    let _ = before;
                    before.capability_mask() == after.capability_mask()
                },
            )
        },
    ),
    case(
        "sma-304",
        "GUIDCap and RespTimeValue stay as they were",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_guid_cap(0).set_resp_time_value(0);
                },
                |before, after| {
                    let _ = before;
                    before.guid_cap() == after.guid_cap()
                        && before.resp_time_value() == after.resp_time_value()
                },
            )
        },
    ),
    case(
        "sma-305",
        "The widths and speeds in use stay as they were",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    info.set_link_width_active(LinkWidthActive::default())
                        .set_link_speed_active(LinkSpeedActive::default());
                },
                |before, after| {
                    let _ = before;
                    before.link_width_active() == after.link_width_active()
                        && before.link_speed_active() == after.link_speed_active()
                },
            )
        },
    ),
    case(
        "sma-306",
        "A Set of what was read leaves the port as it was",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.taken(
                at,
                |info| {
                    let _ = info;
                },
                |before, after| {
                    let _ = before;
                    same_but_counters(before, after)
                },
            )
        },
    ),
    case(
        "sma-307",
        "A Set of what was read leaves a switch's external port as it was",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.switch;
            bench.taken(
                at,
                |info| {
                    let _ = info;
                },
                |before, after| {
                    let _ = before;
                    same_but_counters(before, after)
                },
            )
        },
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
