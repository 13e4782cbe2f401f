//! OpenSM's own dumps of the dual star: each is read, and what we write of the same tables is the same
//! text.

use std::collections::BTreeMap;

use ib_routing::{
    Fabric, LidMap, LidOptions, RouteOptions, engine,
    format::{fdbs, guid2lid, ibnetdiscover, lfts, lid_matrix, subnet_list},
    verify,
};

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
