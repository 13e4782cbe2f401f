use alloc::{string::ToString, vec::Vec};

use ib_wire::{Lmc, PortNum, Sl};

use super::*;
use crate::{
    Fabric, LidMap, LidOptions, RouteOptions, Routes, RoutingEngine, SlTable, VlMap,
    generate::FabricSpec, verify,
};

fn routed(spec: &str, lmc: u8) -> (Fabric, LidMap, Routes) {
    let fabric = spec
        .parse::<FabricSpec>()
        .and_then(|spec| spec.build())
        .expect("a fabric");
    let lmc = Lmc::try_new(lmc).expect("an LMC");
    let lids = LidMap::assign(
        &fabric,
        &LidOptions {
            lmc,
            ..LidOptions::default()
        },
    )
    .expect("LIDs");
    let routes = RoutingEngine::MinHop.route(&fabric, &lids, &RouteOptions::default());
    (fabric, lids, routes.expect("routes"))
}

#[test]
fn tables_come_back_from_their_dump() {
    for (spec, lmc) in [
        ("thesis", 0),
        ("torus:3x3,hosts=2", 2),
        ("fat-tree:radix=8,levels=2", 1),
    ] {
        let (fabric, lids, routes) = routed(spec, lmc);
        let text = lfts::write(&fabric, &lids, &routes);
        let tables = lfts::read(&text, &fabric).expect("what we wrote");
        assert_eq!(tables.warnings, [], "{spec}");
        assert_eq!(tables.lids.destinations(), lids.destinations(), "{spec}");
        assert_eq!(
            verify(&fabric, &tables.lids, &tables.routes),
            verify(&fabric, &lids, &routes)
        );
        assert_eq!(lfts::write(&fabric, &tables.lids, &tables.routes), text);
    }
}

#[test]
fn what_ibroute_prints_is_read_too() {
    let (fabric, lids, routes) = routed("thesis", 0);
    let text = lfts::write(&fabric, &lids, &routes);
    let text: String = text
        .lines()
        .map(|line| match line.split_once(" # ") {
            Some((entry, owner)) => alloc::format!("{entry} : ({owner})\n"),
            None => {
                line.replace("[0-", "[0x0-0x")
                    .replace("lids dumped", "valid lids dumped ")
                    + "\n"
            }
        })
        .collect();
    let tables = lfts::read(&text, &fabric).expect("tables");
    assert_eq!(
        lfts::write(&fabric, &tables.lids, &tables.routes),
        lfts::write(&fabric, &lids, &routes)
    );
}

#[test]
fn tables_that_are_none_are_errors_with_their_line() {
    let (fabric, ..) = routed("thesis", 0);
    for (text, line) in [
        ("", 1),
        ("nothing here\n", 1),
        ("Unicast lids of nobody\n", 1),
        ("0x0001 003\n", 1),
        (
            "Unicast lids [0-8] of switch Lid 2 guid 0xf2 ('a'):\n0x0001 many\n",
            2,
        ),
        (
            "Unicast lids [0-8] of switch Lid 2 guid 0xf2 ('a'):\n0x12345 001\n",
            2,
        ),
        (
            "Unicast lids [0-8] of switch Lid 2 guid 0xf2 ('a'):\n0x0001 300\n",
            2,
        ),
    ] {
        assert_eq!(
            lfts::read(text, &fabric).expect_err(text).line,
            Some(line),
            "{text}"
        );
    }
}

#[test]
fn service_levels_and_lanes_come_back() {
    let (fabric, lids, mut routes) = routed("torus:3x3,hosts=2", 1);
    let sls =
        (0..routes.row_len() * routes.num_switches()).map(|at| Sl::from_low_bits(at as u8 % 5));
    let mut map = VlMap::per_port(&fabric, *VlMap::identity(2).injection());
    let table = *VlMap::identity(3).injection();
    map.set(crate::SwitchIdx(4), PortNum(1), PortNum(2), table);
    routes.set_lanes(SlTable::BySwitch(sls.collect()), map, 5);
    let text = sls::write(&lids, &routes);
    let mut again = routes.clone();
    again.set_lanes(SlTable::Uniform(Sl::ZERO), VlMap::default(), 1);
    sls::read(&text, &mut again).expect("what we wrote");
    assert_eq!(sls::write(&lids, &again), text);
    let tables = sl2vl::write(&fabric, &lids, &routes);
    let map = sl2vl::read(&tables, &fabric).expect("what we wrote");
    let sls = again.sls().clone();
    again.set_lanes(sls, map, 5);
    assert_eq!(sl2vl::write(&fabric, &lids, &again), tables);
    let (one, other) = (
        verify(&fabric, &lids, &routes),
        verify(&fabric, &lids, &again),
    );
    assert_eq!((one.dependencies, one.vls), (other.dependencies, other.vls));
}

#[test]
fn the_lid_database_keeps_what_was_assigned() {
    let (fabric, lids, _) = routed("torus:3x3,hosts=2", 2);
    let database = guid2lid::read(&guid2lid::write(&lids)).expect("what we wrote");
    let lmc = Lmc::try_new(2).expect("an LMC");
    let options = LidOptions {
        lmc,
        database,
        ..LidOptions::default()
    };
    let again = LidMap::assign(&fabric, &options).expect("LIDs");
    assert_eq!(again.destinations(), lids.destinations());
    assert!(guid2lid::read("0x10 0x5\n").is_err());
}

#[test]
fn lists_say_which_line_is_wrong() {
    assert_eq!(
        guid_list::read("# roots\n0x20\n 21 # two\n").map(|list| list.len()),
        Ok(2)
    );
    assert_eq!(
        guid_list::read("0x20\nroot\n").expect_err("no GUID").line,
        Some(2)
    );
    assert_eq!(
        guid_list::read_ids("0x20 7\n").map(|ids| ids.into_values().collect::<Vec<_>>()),
        Ok([7].to_vec())
    );
    assert!(port_lists::read_hop_weights("0x20 1 2\n0x20 2\n").is_err());
    assert_eq!(
        port_lists::read_port_order("0x20 3 1 2\n").map(|order| order.len()),
        Ok(1)
    );
    assert_eq!(
        port_lists::read_ports("0x20 300\n")
            .expect_err("no port")
            .line,
        Some(1)
    );
}

#[test]
fn pictures_name_every_node_and_cable() {
    let (fabric, lids, _) = routed("thesis", 0);
    let graph = dot::write(&fabric);
    assert_eq!(graph.matches(" -- ").count(), fabric.num_links());
    let picture = svg::write(&fabric, &[]);
    assert_eq!(picture.matches("<path").count(), fabric.num_links());
    assert_eq!(picture.matches("<title>").count(), fabric.nodes().len());
    assert_eq!(
        subnet_list::write(&fabric, &lids).lines().count(),
        2 * fabric.num_links()
    );
    let matrix = lid_matrix::write(&fabric, &lids);
    assert!(
        matrix.contains("0x0001: 00") || matrix.contains(": 00 "),
        "{}",
        matrix.to_string()
    );
}
