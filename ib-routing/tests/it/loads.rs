//! The busiest link under our tables beside OpenSM's for the same engine, where it routed with it.

use ib_routing::{LidMap, LidOptions, RouteOptions, SharedEngine, verify};
use ib_testkit::fabrics::fabric;

/// `fixture,engine,...`: the highest load under OpenSM's tables; empty where it fell back to another
/// engine, or routed no deadlock-free tables to be held against.
const LOADS: &str = include_str!("../../testdata/opensm/loads.csv");

#[test]
fn no_link_carries_more_than_opensms_busiest() {
    let mut lines = LOADS.lines();
    let engines: Vec<SharedEngine> = lines
        .next()
        .unwrap()
        .split(',')
        .skip(1)
        .map(|name| name.parse().unwrap())
        .collect();
    let mut held = 0;
    for line in lines {
        let (name, loads) = line.split_once(',').unwrap();
        let fabric = fabric(name);
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        for (engine, load) in engines.iter().zip(loads.split(',')) {
            let Ok(theirs) = load.parse::<u64>() else {
                continue;
            };
            let routes = engine
                .route(&fabric, &lids, &RouteOptions::default())
                .unwrap();
            let report = verify(&fabric, &lids, &routes);
            let ours = report.link_load.max;
            assert!(ours <= theirs, "{engine} {name}: {ours}, OpenSM {theirs}");
            held += 1;
        }
    }
    assert!(held > 50, "{held}");
}
