//! LIDs and LMC of a port (IBA vol. 1, 14.2.5.6).

use ib_smp::SwitchInfo;
use ib_wire::{Lid, Lmc};

use crate::conform::{
    Case,
    bench::{Bench, Outcome, ensure, skip},
    case,
    ports::settable,
};

const SOURCE: &str = "IBA vol. 1, 14.2.5.6 (LID, LMC)";

pub(super) const CASES: &[Case] = &[
    case(
        "sma-321",
        "The lowest unicast LID is taken",
        SOURCE,
        |bench| takes(bench, Lid(1), 0),
    ),
    case(
        "sma-322",
        "The highest unicast LID is taken",
        SOURCE,
        |bench| takes(bench, Lid(0xbfff), 0),
    ),
    case(
        "sma-323",
        "LMC 1 with an even LID is taken",
        SOURCE,
        |bench| takes(bench, Lid(0x1000), 1),
    ),
    case(
        "sma-324",
        "LMC 7 with a LID that is a multiple of 128 is taken",
        SOURCE,
        |bench| takes(bench, Lid(0x1080), 7),
    ),
    case(
        "sma-325",
        "LMC 7 in the last LIDs of the unicast range is taken",
        SOURCE,
        |bench| takes(bench, Lid(0xbf80), 7),
    ),
    case(
        "sma-326",
        "The LMC of a base switch port 0 stays 0",
        SOURCE,
        |bench| {
            let at = bench.port_0()?;
            if bench.get::<SwitchInfo>(&at.path, 0)?.enhanced_port0() {
                return skip("the switch has an enhanced port 0");
            }
            bench.with_port(at, |bench, before| {
                let mut wanted = settable(before);
                wanted.set_lid(Lid(0x1000)).set_lmc(lmc(1));
                bench.set(&at.path, at.modifier, &wanted)?;
                let lmc = bench.port_info(at)?.lmc();
                ensure!(lmc == Lmc::ZERO, "LMC {}", lmc.bits());
                Ok(())
            })
        },
    ),
    case(
        "sma-327",
        "A switch's port 0 takes a LID",
        SOURCE,
        |bench| {
            let at = bench.port_0()?;
            bench.taken(
                at,
                |info| {
                    info.set_lid(Lid(0x2345));
                },
                |_, after| after.lid() == Lid(0x2345),
            )
        },
    ),
    case(
        "sma-328",
        "A Set of LID 0 at a switch's port 0 is refused with 0x001c",
        SOURCE,
        |bench| {
            let at = bench.port_0()?;
            bench.refused(at, |info| {
                info.set_lid(Lid::NONE);
            })
        },
    ),
    case(
        "sma-329",
        "LIDs that the LMC leads out of the unicast range are not taken",
        SOURCE,
        |bench| {
            let at = bench.edge()?.ca;
            bench.with_port(at, |bench, before| {
                let mut wanted = settable(before);
                wanted.set_lid(Lid(0xc000)).set_lmc(lmc(7));
                bench.set(&at.path, at.modifier, &wanted)?;
                let after = bench.port_info(at)?;
                ensure!(after.lid() == before.lid(), "LID {}", after.lid());
                Ok(())
            })
        },
    ),
];

fn takes(bench: &mut Bench<'_>, lid: Lid, bits: u8) -> Outcome {
    let at = bench.edge()?.ca;
    let lmc = lmc(bits);
    bench.with_port(at, |bench, before| {
        let mut wanted = settable(before);
        wanted.set_lid(lid).set_lmc(lmc);
        let answer = bench.put(&at.path, at.modifier, &wanted)?;
        let after = bench.port_info(at)?;
        for info in [answer, after] {
            let now = (info.lid(), info.lmc());
            ensure!(now == (lid, lmc), "LID {} and LMC {}", now.0, now.1.bits());
        }
        Ok(())
    })
}

fn lmc(bits: u8) -> Lmc {
    Lmc::try_new(bits).unwrap_or(Lmc::ZERO)
}
