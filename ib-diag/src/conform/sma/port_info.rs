//! Values that a Set(PortInfo) may not carry: it is refused and changes nothing (IBA vol. 1, 14.2.5.6).

use ib_mad::MadStatus;
use ib_smp::{LinkDownDefaultState, LinkSpeeds, LinkWidths, VlCap};
use ib_wire::{Lid, Mtu};

use crate::conform::{
    Case,
    bench::{ensure, skip},
    case,
    ports::settable,
};

const PORT_INFO: &str = "IBA vol. 1, 14.2.5.6";

pub(super) const CASES: &[Case] = &[
    case(
        "sma-271",
        "A Set of LID 0 is refused with 0x001c and changes nothing",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.refused(at, |info| {
                info.set_lid(Lid::NONE);
            })
        },
    ),
    case(
        "sma-272",
        "A Set of a multicast LID is refused with 0x001c and changes nothing",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.refused(at, |info| {
                info.set_lid(Lid(0xc000));
            })
        },
    ),
    case(
        "sma-273",
        "A Set of LID 0xffff is refused with 0x001c and changes nothing",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.refused(at, |info| {
                info.set_lid(Lid::PERMISSIVE);
            })
        },
    ),
    case(
        "sma-274",
        "A Set of MasterSMLID 0 is refused with 0x001c and changes nothing",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.refused(at, |info| {
                info.set_master_sm_lid(Lid::NONE);
            })
        },
    ),
    case(
        "sma-275",
        "A Set of a multicast MasterSMLID is refused with 0x001c and changes nothing",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.refused(at, |info| {
                info.set_master_sm_lid(Lid(0xc000));
            })
        },
    ),
    case(
        "sma-276",
        "A Set of NeighborMTU 0 is refused with 0x001c and changes nothing",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.refused(at, |info| {
                info.set_neighbor_mtu(Mtu(0));
            })
        },
    ),
    case(
        "sma-277",
        "A Set of NeighborMTU 6 is refused with 0x001c and changes nothing",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.refused(at, |info| {
                info.set_neighbor_mtu(Mtu(6));
            })
        },
    ),
    case(
        "sma-278",
        "A Set of OperationalVLs 15 is refused with 0x001c and changes nothing",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.refused(at, |info| {
                info.set_operational_vls(VlCap(15));
            })
        },
    ),
    case(
        "sma-279",
        "A Set of LinkDownDefaultState 3 is refused with 0x001c and changes nothing",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            bench.refused(at, |info| {
                info.set_link_down_default_state(LinkDownDefaultState(3));
            })
        },
    ),
    case(
        "sma-280",
        "A Set of NeighborMTU 0 at a switch's external port is refused with 0x001c and changes nothing",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.switch;
            bench.refused(at, |info| {
                info.set_neighbor_mtu(Mtu(0));
            })
        },
    ),
    case(
        "sma-281",
        "A Set of OperationalVLs 15 at a switch's external port is refused with 0x001c and changes nothing",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.switch;
            bench.refused(at, |info| {
                info.set_operational_vls(VlCap(15));
            })
        },
    ),
    case(
        "sma-282",
        "A Set of a width that is not supported is refused with 0x001c",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            let supported = bench.port_info(at)?.link_width_supported();
            let Some(bit) = unsupported(supported.bits(), &[1, 2, 4, 8, 16]) else {
                return skip("every width is supported");
            };
            bench.with_port(at, |bench, before| {
                let mut wanted = settable(before);
                wanted.set_link_width_enabled(LinkWidths::from_bits_retain(bit));
                let (status, _) = bench.set(&at.path, at.modifier, &wanted)?;
                ensure!(
                    status == MadStatus::INVALID_FIELD_VALUE,
                    "status {status}, expected 0x001c"
                );
                Ok(())
            })
        },
    ),
    case(
        "sma-283",
        "A Set of a speed that is not supported is refused with 0x001c",
        PORT_INFO,
        |bench| {
            let at = bench.edge()?.ca;
            let supported = bench.port_info(at)?.link_speed_supported();
            let Some(bit) = unsupported(supported.bits(), &[1, 2, 4]) else {
                return skip("every speed is supported");
            };
            bench.with_port(at, |bench, before| {
                let mut wanted = settable(before);
                wanted.set_link_speed_enabled(LinkSpeeds::from_bits_retain(bit));
                let (status, _) = bench.set(&at.path, at.modifier, &wanted)?;
                ensure!(
                    status == MadStatus::INVALID_FIELD_VALUE,
                    "status {status}, expected 0x001c"
                );
                Ok(())
            })
        },
    ),
];

/// The first of these bits that is not supported.
fn unsupported(supported: u8, bits: &[u8]) -> Option<u8> {
    bits.iter().copied().find(|bit| supported & bit == 0)
}
