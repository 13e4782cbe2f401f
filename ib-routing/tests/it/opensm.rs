//! OpenSM's own dumps of the dual star: each is read, and what we write of the same tables is the same
//! text.

use std::collections::BTreeMap;

use ib_routing::{
    Fabric, LidMap, LidOptions, RouteOptions, Routes, engine,
    format::{fdbs, guid2lid, ibnetdiscover, lfts, lid_matrix, subnet_list},
    generate::FabricSpec,
    verify,
};
use ib_wire::{Guid, PortNum};

const FABRIC: &str = include_str!("../../testdata/fabrics/seed-dualstar.net");
const LFTS: &str = include_str!("../../testdata/opensm/opensm-lfts.dump");
const FDBS: &str = include_str!("../../testdata/opensm/opensm.fdbs");
const MATRIX: &str = include_str!("../../testdata/opensm/opensm-lid-matrix.dump");
const SUBNET: &str = include_str!("../../testdata/opensm/opensm-subnet.lst");
const GUID2LID: &str = include_str!("../../testdata/opensm/guid2lid");

/// The fabric with the LIDs that OpenSM gave.
fn fabric() -> (Fabric, LidMap) {
    let fabric = ibnetdiscover::read(FABRIC).unwrap().fabric;
    let options = LidOptions {
        database: guid2lid::read(GUID2LID).unwrap(),
        ..LidOptions::default()
    };
    let lids = LidMap::assign(&fabric, &options).unwrap();
    (fabric, lids)
}

#[test]
fn lids_are_those_of_guid2lid_and_of_the_tables() {
    let (fabric, lids) = fabric();
    let tables = lfts::read(LFTS, &fabric).unwrap();
    assert_eq!(tables.lids.destinations(), lids.destinations());
    let mut sorted: Vec<&str> = GUID2LID.lines().filter(|line| !line.is_empty()).collect();
    sorted.sort_by_key(|line| line.split(' ').nth(1).map(ToOwned::to_owned));
    assert_eq!(
        guid2lid::write(&lids, &BTreeMap::new()),
        sorted.join("\n\n") + "\n\n"
    );
}

#[test]
fn tables_with_hops_are_the_same_text() {
    let (fabric, lids) = fabric();
    let tables = lfts::read(LFTS, &fabric).unwrap();
    assert_eq!(lfts::write(&fabric, &lids, &tables.routes), LFTS);
    assert_eq!(fdbs::write(&fabric, &lids, &tables.routes), FDBS);
    let by_hops = lfts::read(FDBS, &fabric).unwrap();
    assert_eq!(fdbs::write(&fabric, &lids, &by_hops.routes), FDBS);
}

#[test]
fn the_lid_matrix_is_the_same_text_and_routes_as_short() {
    let (fabric, lids) = fabric();
    assert_eq!(lid_matrix::write(&fabric, &lids), MATRIX);
    let (matrix, warnings) = lid_matrix::read(MATRIX, &fabric).unwrap();
    assert_eq!(warnings, []);
    let options = RouteOptions {
        lid_matrix: Some(matrix),
        ..RouteOptions::default()
    };
    let routes = engine::FILE.route(&fabric, &lids, &options).unwrap();
    let report = verify(&fabric, &lids, &routes);
    let theirs = verify(&fabric, &lids, &lfts::read(LFTS, &fabric).unwrap().routes);
    assert_eq!((report.unreachable, report.loops), (0, 0));
    assert_eq!(report.mean_hops, theirs.mean_hops);
}

#[test]
fn the_subnet_list_names_every_link() {
    let (fabric, _) = fabric();
    let listed = subnet_list::read(SUBNET).unwrap();
    let links = |fabric: &Fabric| {
        let end = |end: ib_routing::PortRef| (fabric.node(end.node).guid, end.port);
        let mut links: Vec<_> = fabric
            .links()
            .map(|(one, other)| (end(one).min(end(other)), end(one).max(end(other))))
            .collect();
        links.sort();
        links
    };
    assert_eq!(links(&listed), links(&fabric));
    // But for what a topology file does not know (the manager's node, revisions, OpenSM's shifted
    // device), our list of their list is their list.
    let lids = LidMap::of_fabric(&listed);
    let plain = |text: &str| {
        let mut lines: Vec<String> = text
            .replace("-SM", "")
            .split_inclusive('}')
            .map(|part| match part.split_once(" DevID") {
                Some((head, tail)) => {
                    let (_, tail) = tail.split_once(" {").unwrap();
                    let (head, vendor) = head.split_once(" VenID:").unwrap();
                    format!("{head} {} {{{tail}", vendor.trim_start_matches('0'))
                }
                None => part.to_owned(),
            })
            .collect::<String>()
            .lines()
            .map(ToOwned::to_owned)
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(plain(&subnet_list::write(&listed, &lids)), plain(SUBNET));
}

/// OpenSM's tables under `guid_routing_order_no_scatter`, and the ports of `guid_routing_order_file`.
const NO_SCATTER: &str = include_str!("../../testdata/opensm/no-scatter.net");
const NO_SCATTER_LFTS: &str = include_str!("../../testdata/opensm/no-scatter-lfts.dump");
const LISTED: [u64; 6] = [0x291, 0x221, 0x2b1, 0x241, 0x271, 0x201];

#[test]
fn listed_ports_are_routed_first_and_without_scattering_as_opensm_does() {
    let fabric = ibnetdiscover::read(NO_SCATTER).unwrap().fabric;
    let theirs = lfts::read(NO_SCATTER_LFTS, &fabric).unwrap();
    let (theirs, lids) = (theirs.routes, theirs.lids);
    let near = fabric.switch_by_guid(Guid(1)).unwrap();
    let lid_of = |guid: u64| {
        let mut ends = lids.destinations().iter();
        ends.find(|end| end.guid == Guid(guid))
            .unwrap()
            .range
            .base()
    };
    let ports = |routes: &Routes| LISTED.map(|guid| routes.port(near, lid_of(guid)));
    let mut is_scattered = false;
    for engine in [&engine::MINHOP, &engine::UPDN, &engine::DNUP] {
        for seed in 0..8 {
            let mut options = RouteOptions {
                scatter_ports: Some(seed),
                guid_routing_order: LISTED.map(Guid).to_vec(),
                guid_routing_order_no_scatter: true,
                roots: vec![Guid(2)],
                ..RouteOptions::default()
            };
            let ours = engine.route(&fabric, &lids, &options).unwrap();
            assert_eq!(ports(&ours), ports(&theirs), "{engine}, seed {seed}");
            // The others fill up what the listed ones leave: three CAs on each cable.
            let mut count = BTreeMap::new();
            for host in 0..12 {
                *count
                    .entry(ours.port(near, lid_of(0x201 + 16 * host)))
                    .or_insert(0) += 1;
            }
            assert_eq!(count, (1..=4).map(|port| (PortNum(port), 3)).collect());
            assert!(verify(&fabric, &lids, &ours).is_clean());
            options.guid_routing_order_no_scatter = false;
            let scattered = engine.route(&fabric, &lids, &options).unwrap();
            is_scattered |= ports(&scattered) != ports(&theirs);
        }
    }
    assert!(is_scattered);
}

#[test]
fn nue_counts_routes_to_switches_if_it_shall() {
    let spec: FabricSpec = "fat-tree:radix=8,levels=2".parse().unwrap();
    let fabric = spec.build().unwrap();
    let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
    // The most routes from leaf switches on one channel, those to switches included.
    let busiest = |nue_include_switches, nue_max_num_vls| {
        let options = RouteOptions {
            nue_include_switches,
            nue_max_num_vls,
            ..RouteOptions::default()
        };
        let routes = engine::NUE.route(&fabric, &lids, &options).unwrap();
        assert!(verify(&fabric, &lids, &routes).is_clean());
        let mut count = BTreeMap::<_, u32>::new();
        let leaves = fabric.switches().indices();
        let leaves = leaves.filter(|&leaf| lids.at_switch(leaf).any(|end| !end.is_switch()));
        for leaf in leaves {
            for end in lids.destinations().iter() {
                for (switch, port) in routes.path(&fabric, leaf, end.range.base()) {
                    *count.entry((switch, port)).or_default() += 1;
                }
            }
        }
        count.values().copied().max().unwrap()
    };
    for vls in [1, 4] {
        assert!(busiest(true, vls) < busiest(false, vls), "{vls} lanes");
    }
}
