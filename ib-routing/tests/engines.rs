//! All routing engines over all fabrics: every route arrives, none loops, and what an engine promises
//! about deadlock holds.

use std::{fs, path::PathBuf};

use ib_routing::{
    Fabric, LidMap, LidOptions, RouteOptions, RoutingEngine, VerifyReport, format::ibnetdiscover,
    verify,
};

fn fabrics() -> impl Iterator<Item = (String, Fabric)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/fabrics");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "net"));
    files.sort();
    files.into_iter().map(|file| {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        (name, ibnetdiscover::read(&text).unwrap().fabric)
    })
}

fn route(engine: RoutingEngine, fabric: &Fabric) -> Result<VerifyReport, ib_routing::RouteError> {
    let lids = LidMap::assign(fabric, &LidOptions::default()).unwrap();
    let routes = engine.route(fabric, &lids, &RouteOptions::default())?;
    Ok(verify(fabric, &lids, &routes))
}

fn every_fabric_is_clean(engine: RoutingEngine) {
    for (name, fabric) in fabrics() {
        let report = route(engine, &fabric).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            (report.unreachable, report.loops),
            (0, 0),
            "{name}: {:?}",
            report.failures
        );
        assert!(report.deadlock_free, "{name}: {:?}", report.cycle);
        println!("{name}: {} VLs, load {}", report.vls, report.link_load.max);
    }
}

#[test]
fn dfsssp_is_clean_on_every_fabric() {
    every_fabric_is_clean(RoutingEngine::Dfsssp);
}

#[test]
fn sssp_reaches_every_lid_by_shortest_paths() {
    for (name, fabric) in fabrics() {
        let report = route(RoutingEngine::Sssp, &fabric).unwrap();
        let shortest = route(RoutingEngine::MinHop, &fabric).unwrap();
        assert_eq!((report.unreachable, report.loops), (0, 0), "{name}");
        assert!(
            (report.mean_hops - shortest.mean_hops).abs() < 1e-9,
            "{name}"
        );
    }
}
