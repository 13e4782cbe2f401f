//! One change of a fabric after the other: what was foreseen, what was repaired, and the way to it.

use alloc::vec::Vec;

use arbitrary::Unstructured;
use ib_wire::{Lmc, random::SplitMix64};

use super::{apart, damaged, random_fabric};
use crate::{
    LidMap, LidOptions, RouteOptions, engine,
    repair::{RoutesInUse, repair},
    update::{check, transition, transition::Safety},
    verify::verify_on,
    whatif::{self, Loss},
};

/// Losses that are foreseen before each change: each is computed twice.
const LOSSES: usize = 4;

/// Whatever fails or is cabled anew, one change after the other: what-if foresees for a loss what recomputing finds;
/// the repaired routes reach what cables join, without a loop, and deadlock only where the routes of the engine may;
/// and the plan from the old routes to the new ones passes the simulation that knows nothing of it.
pub fn any_changes_are_followed(bytes: &[u8]) {
    let mut input = Unstructured::new(bytes);
    let mut next = |below: usize| usize::from(input.arbitrary::<u8>().unwrap_or(0)) % below.max(1);
    let engines = [
        &engine::MINHOP,
        &engine::UPDN,
        &engine::SSSP,
        &engine::DFSSSP,
        &engine::LASH,
        &engine::NUE,
    ];
    let (engine, lmc, changes) = (engines[next(6)], next(2) as u8, 1 + next(4));
    let (stride, mut random) = (1 + next(7), SplitMix64::new(next(256) as u64));
    let mut fabric = random_fabric(&mut input);
    let lid_options = LidOptions {
        lmc: Lmc::try_new(lmc).expect("an LMC"),
        ..LidOptions::default()
    };
    let mut lids = LidMap::assign(&fabric, &lid_options).expect("few ports");
    let options = RouteOptions {
        threads: 1,
        ..RouteOptions::default()
    };
    // Engines with layers may need more lanes than there are.
    let Ok(mut routes) = engine.route(&fabric, &lids, &options) else {
        return;
    };
    for _ in 0..changes {
        let all = whatif::links(&fabric, true).chain(whatif::switches(&fabric));
        let losses: Vec<Loss> = all.step_by(stride).take(LOSSES).collect();
        let foreseen = whatif::fail_each(&fabric, &lids, &options, &routes, &losses, &|| {});
        for (outcome, &loss) in foreseen.iter().zip(&losses) {
            let recomputed = whatif::fail(&fabric, &lids, &options, &routes, loss);
            assert_eq!(*outcome, recomputed, "{engine} {loss:?}");
        }
        let changed = damaged(&fabric, 1, &mut random);
        let ranges = lids.destinations().iter();
        let left = LidMap::of_ranges(&changed, ranges.map(|port| (port.end, port.range)));
        let installed = RoutesInUse {
            fabric: &fabric,
            lids: &lids,
            routes: &routes,
        };
        let Ok(repaired) = repair(installed, &changed, &left, &options, 0) else {
            return;
        };
        let was = verify_on(1, &fabric, &lids, &routes);
        let is = verify_on(1, &changed, &left, &repaired.routes);
        assert_eq!(
            (is.unreachable, is.loops),
            (apart(&changed, &left), 0),
            "{engine}"
        );
        assert!(
            is.deadlock_free || !was.deadlock_free || !engine.guarantees(&options).deadlock_free,
            "{engine}: {:?}",
            is.cycle
        );
        let plan = transition::plan(&changed, &left, &repaired.before, &repaired.routes);
        let simulated = check::simulate(&changed, &left, &repaired.before, &repaired.routes, &plan);
        assert_eq!(simulated, Ok(()), "{engine}");
        if let Safety::AnyOrder(order) = &plan.safety {
            let (old, new) = (&repaired.before, &repaired.routes);
            assert!(
                check::holds(&changed, &left, old, new, &plan, order),
                "{engine}"
            );
        }
        (fabric, lids, routes) = (changed, left, repaired.routes);
    }
}
