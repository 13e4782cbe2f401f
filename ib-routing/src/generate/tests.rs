use super::*;
use crate::{LidMap, LidOptions, RouteOptions, engine, error::TopologyErrorKind, verify};
use alloc::{collections::BTreeSet, format, string::ToString};

fn build(spec: &str) -> Fabric {
    let parsed: FabricSpec = spec.parse().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(parsed.to_string().parse(), Ok(parsed.clone()));
    parsed.build().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn each_generator_makes_the_numbers_of_its_topology() {
    for (spec, switches, hosts, links) in [
        ("fat-tree:radix=8,levels=2", 12, 32, 64),
        ("fat-tree:radix=36,levels=2,parallel=2", 27, 324, 648),
        ("fat-tree:radix=24,levels=3", 720, 3456, 10368),
        ("fat-tree:radix=18,levels=2,oversub=2", 24, 216, 324),
        ("fat-tree:radix=8,levels=1", 1, 8, 8),
        ("torus:4x4x4", 64, 64, 256),
        ("torus:8x8x8,hosts=2", 512, 1024, 2560),
        ("torus:2x3", 6, 6, 15),
        ("mesh:6x4,hosts=2", 24, 48, 86),
        ("hypercube:dim=4", 16, 16, 48),
        ("dragonfly:a=8,p=4,h=4", 264, 1056, 2508),
        ("dragonfly:a=4,p=2,h=2", 36, 72, 162),
        ("jellyfish:switches=30,degree=5,hosts=2,seed=3", 30, 60, 135),
        ("ring:switches=5,hosts=1", 5, 5, 10),
        ("random:switches=20,links=40,hosts=2,seed=7", 20, 40, 80),
        ("thesis", 5, 7, 19),
        ("mcsm", 3, 6, 12),
    ] {
        let fabric = build(spec);
        let nodes = fabric.nodes().len() - fabric.num_switches();
        assert_eq!(
            (fabric.num_switches(), nodes, fabric.num_links()),
            (switches, hosts, links),
            "{spec}"
        );
        let lids = LidMap::assign(&fabric, &LidOptions::default()).expect("LIDs");
        let routes = engine::MINHOP.route(&fabric, &lids, &RouteOptions::default());
        let report = verify(&fabric, &lids, &routes.expect("routes"));
        assert_eq!((report.unreachable, report.loops), (0, 0), "{spec}");
    }
}

#[test]
fn a_dragonfly_with_fewer_groups_uses_its_spare_cables() {
    let fabric = build("dragonfly:a=4,p=1,h=2,g=3");
    assert_eq!(fabric.num_links(), 12 + 3 * 6 + 12);
}

#[test]
fn a_jellyfish_of_any_degree_is_found() {
    for (switches, degree) in [(50, 20), (60, 45), (31, 30), (30, 15)] {
        let fabric = build(&format!(
            "jellyfish:switches={switches},degree={degree},hosts=0,seed=2"
        ));
        let mut neighbors = fabric.switches().indices().map(|switch| {
            let all = fabric.channels_from(switch).map(|(_, channel)| channel.to);
            all.collect::<BTreeSet<_>>().len()
        });
        assert!(
            neighbors.all(|count| count == degree),
            "{switches} {degree}"
        );
        assert!(fabric.parts().iter().all(|&part| part == 0));
    }
}

#[test]
fn the_thesis_is_the_fixture() {
    let text = include_str!("../../testdata/fabrics/seed-dualstar.net");
    let fixture = ibnetdiscover::read(text).expect("the fixture").fabric;
    assert_eq!(
        ibnetdiscover::write(&build("thesis"), None),
        ibnetdiscover::write(&fixture, None)
    );
}

#[test]
fn numbers_that_cannot_be_built_are_errors() {
    for spec in [
        "",
        "thesis:now",
        "cube:dim=3",
        "torus:",
        "torus:0x3",
        "torus:4xfour",
        "torus:4x4,hosts=-1",
        "fat-tree:radix=8",
        "fat-tree:radix=8,levels=2,levels=3",
        "fat-tree:radix=0,levels=2",
        "fat-tree:radix=8,levels=2,parallel=3",
        "fat-tree:radix=254,levels=8",
        "hypercube:dim=40",
        "dragonfly:a=4,p=2,h=2,g=10",
        "jellyfish:switches=5,degree=5,hosts=1,seed=1",
        "jellyfish:switches=5,degree=3,hosts=1,seed=1",
        "ring:switches=0,hosts=1",
        "ring:switches=3,hosts=300",
        "random:switches=9,links=3,hosts=1,seed=1",
        "torus:4000000000x4000000000x4000000000",
        "ring:switches=4,hosts=4000000000",
    ] {
        let result = spec.parse::<FabricSpec>().and_then(|spec| spec.build());
        let kind = result.expect_err(spec).kind;
        assert!(
            matches!(kind, TopologyErrorKind::BadSpec { .. }),
            "{spec}: {kind}"
        );
    }
}

#[test]
fn removing_links_takes_that_share_of_the_switch_links() {
    let fabric = build("torus:4x4x4");
    let broken = remove_links(&fabric, 10.0, 1);
    assert_eq!(fabric.num_links() - broken.num_links(), 19);
    let again = remove_links(&fabric, 10.0, 1);
    assert_eq!(
        ibnetdiscover::write(&again, None),
        ibnetdiscover::write(&broken, None)
    );
    let other = remove_links(&fabric, 10.0, 2);
    assert_ne!(
        ibnetdiscover::write(&other, None),
        ibnetdiscover::write(&broken, None)
    );
}
