use alloc::{collections::BTreeMap, string::ToString, vec::Vec};

use ib_wire::{Guid, Lid, Lmc, PortNum, Sl};

use super::*;
use crate::{
    Fabric, LidMap, LidOptions, RouteOptions, Routes, SlTable, VlMap, engine, generate::FabricSpec,
    verify,
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
    let routes = engine::MINHOP.route(&fabric, &lids, &RouteOptions::default());
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
fn an_entry_beyond_the_highest_lid_is_named_with_its_line() {
    let (fabric, ..) = routed("thesis", 0);
    let text = "Unicast lids [0-8] of switch Lid 2 guid 0xf2 ('a'):\n0x0001 003 # Channel Adapter portguid 0x2021: 'b'\n0x4000 003\n0x4001 003\n";
    let tables = lfts::read(text, &fabric).expect("tables");
    let lines: Vec<usize> = tables.warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(lines, [3]);
}

#[test]
fn a_port_that_the_fabric_lacks_is_named_with_its_line() {
    let (fabric, ..) = routed("thesis", 0);
    let text = "Unicast lids [0-8] of switch Lid 2 guid 0xf2 ('a'):\n0x0001 003 # Channel Adapter portguid 0x77: 'b'\n";
    let tables = lfts::read(text, &fabric).expect("tables");
    let lines: Vec<usize> = tables.warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(lines, [2]);
    let text = text.replace("0x77", "0x2021")
        + "0x0003 003 # Channel Adapter portguid 0x2021: 'b'\n0x0004 003 # Channel Adapter portguid 0x2021: 'b'\n";
    assert_eq!(
        lfts::read(&text, &fabric).expect_err("3 to 4").line,
        Some(3)
    );
}

#[test]
fn lanes_of_no_switch_are_an_error() {
    let (fabric, ..) = routed("thesis", 0);
    for text in ["", "# nothing\n", "0 1 2 3\n"] {
        assert_eq!(sl2vl::read(text, &fabric).expect_err(text).line, Some(1));
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
    assert_eq!(
        sls::read(&text, &lids, &mut again).expect("what we wrote"),
        []
    );
    assert_eq!(sls::write(&lids, &again), text);
    let tables = sl2vl::write(&fabric, &lids, &routes);
    let (map, warnings) = sl2vl::read(&tables, &fabric).expect("what we wrote");
    assert_eq!(warnings, []);
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
fn service_levels_of_strangers_and_sources_without_a_line_are_named() {
    let (_, lids, mut routes) = routed("torus:3x3,hosts=1", 0);
    let written = sls::write(&lids, &routes);
    let mut lines: Vec<&str> = written.lines().collect();
    assert_eq!(lines.pop().map(|line| line.starts_with("P ")), Some(true));
    let strange = lines
        .iter()
        .position(|line| line.starts_with("P "))
        .expect("a P line");
    let source = lines[strange].replacen("P ", "P 4", 1);
    lines[strange] = &source;
    let host = lines[0].replacen("H 0", "H f", 1);
    lines[0] = &host;
    let warnings = sls::read(&lines.join("\n"), &lids, &mut routes).expect("levels");
    let named: Vec<usize> = warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(named, [1, strange + 1, lines.len()]);
    assert!(
        warnings[2].what.contains("and 1 more"),
        "{}",
        warnings[2].what
    );
}

#[test]
fn lanes_of_strangers_and_cas_that_differ_are_named() {
    let (fabric, ..) = routed("thesis", 0);
    let row = |ports: &str, vl: &str| format!("{ports} :{}\n", format!(" {vl}").repeat(16));
    let text = [
        "Switch 0xf2, base LID 2\n".to_owned(),
        row("1 2", "0"),
        row("1 200", "0"),
        "Switch 0x77, base LID 2\n".to_owned(),
        row("1 2", "0"),
        "Channel Adapter 0x1, base LID 7\n".to_owned(),
        row("0 0", "3"),
        "Channel Adapter 0x2, base LID 8\n".to_owned(),
        row("0 0", "3"),
        row("0 0", "4"),
    ];
    let (map, warnings) = sl2vl::read(&text.concat(), &fabric).expect("tables");
    let lines: Vec<usize> = warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(lines, [3, 4, 10]);
    assert!(map.injection().iter().all(|vl| vl.bits() == 3));
}

#[test]
fn the_lid_database_keeps_what_was_assigned() {
    let (fabric, lids, _) = routed("torus:3x3,hosts=2", 2);
    let database =
        guid2lid::read(&guid2lid::write(&lids, &BTreeMap::new())).expect("what we wrote");
    let lmc = Lmc::try_new(2).expect("an LMC");
    let options = LidOptions {
        lmc,
        database,
        ..LidOptions::default()
    };
    let again = LidMap::assign(&fabric, &options).expect("LIDs");
    assert_eq!(again.destinations(), lids.destinations());
    assert!(guid2lid::read("0x10 0x5\n").is_err());
    let mut remembered = options.database.clone();
    remembered.insert(Guid(0x77), Lid(0x1234));
    let text = guid2lid::write(&lids, &remembered);
    assert_eq!(guid2lid::read(&text).expect("what we wrote"), remembered);
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
fn the_lid_matrix_routes_as_its_hops_say() {
    for (spec, lmc) in [
        ("thesis", 0),
        ("torus:3x3,hosts=2", 1),
        ("fat-tree:radix=8,levels=2", 0),
    ] {
        let (fabric, lids, routes) = routed(spec, lmc);
        let text = lid_matrix::write(&fabric, &lids);
        let (matrix, warnings) = lid_matrix::read(&text, &fabric).expect("what we wrote");
        assert_eq!(warnings, []);
        let options = RouteOptions {
            lid_matrix: Some(matrix),
            ..RouteOptions::default()
        };
        let by_hops = engine::FILE
            .route(&fabric, &lids, &options)
            .expect("routes");
        let (one, other) = (
            verify(&fabric, &lids, &routes),
            verify(&fabric, &lids, &by_hops),
        );
        assert_eq!((other.unreachable, other.loops), (0, 0));
        assert_eq!(
            (one.max_hops, one.mean_hops),
            (other.max_hops, other.mean_hops),
            "{spec}"
        );
    }
}

#[test]
fn hops_of_a_file_count_more_than_those_of_the_cables() {
    // On a ring of four, switch 0 shall reach switch 1 the longer way round: by port 3, not by port 2.
    let (fabric, lids, routes) = routed("ring:switches=4,hosts=1", 0);
    let [from, to] = [0, 1].map(crate::SwitchIdx);
    let own = |at| lids.switch_port(at).expect("a LID").range.base();
    let short = routes.port(from, own(to));
    let other = fabric
        .channels_from(from)
        .map(|(_, channel)| channel.port)
        .find(|&port| port != short);
    let other = other.expect("another way");
    let hops: String = (0..=3)
        .map(|port| if port == other.0 { " 01" } else { " 05" })
        .collect();
    let text = alloc::format!(
        "Switch: guid {}\n0x{:04x}:{hops} # longer\n",
        fabric.switch_guid(from),
        own(to).0
    );
    let (matrix, _) = lid_matrix::read(&text, &fabric).expect("a matrix");
    let options = RouteOptions {
        lid_matrix: Some(matrix),
        ..RouteOptions::default()
    };
    let routes = engine::FILE
        .route(&fabric, &lids, &options)
        .expect("routes");
    assert_eq!(routes.port(from, own(to)), other);
    for (text, line) in [
        ("", 1),
        ("0x0001: 00\n", 1),
        ("Switch: guid\n", 1),
        ("Switch: guid 0x20\n0x0001 00\n", 2),
        ("Switch: guid 0x20\n\n0x0001: 100\n", 3),
        ("Switch: guid 0x20\n0x10001: 00\n", 2),
    ] {
        assert_eq!(
            lid_matrix::read(text, &fabric).expect_err(text).line,
            Some(line),
            "{text}"
        );
    }
}

#[test]
fn the_subnet_list_is_the_fabric() {
    for spec in ["thesis", "torus:3x3,hosts=2", "mcsm"] {
        let (fabric, lids, _) = routed(spec, 0);
        let text = subnet_list::write(&fabric, &lids);
        let again = subnet_list::read(&text).expect("what we wrote");
        assert_eq!(again.nodes().len(), fabric.nodes().len());
        assert_eq!(again.num_links(), fabric.num_links());
        for node in fabric.nodes().iter() {
            let found = again.node(again.node_by_guid(node.guid).expect("the node"));
            assert_eq!(
                (found.type_, found.num_ports(), &found.description),
                (node.type_, node.num_ports(), &node.description)
            );
            let links = |node: &crate::Node| {
                node.ports()
                    .filter(|(_, port)| port.peer.is_some())
                    .map(|(num, port)| (num, port.width, port.speed))
                    .collect::<Vec<_>>()
            };
            assert_eq!(links(found), links(node));
        }
        let lids_again = LidMap::of_fabric(&again);
        assert_eq!(
            subnet_list::write(&again, &lids_again),
            subnet_list::write(&again, &lids)
        );
    }
    // As OpenSM prints it: the manager's node, the far end's device shifted, a speed it does not know.
    let line = "{ CA-SM Ports:02 SystemGUID:0000000000000013 NodeGUID:0000000000000010 PortGUID:0000000000000011 VenID:0002C9 DevID:1017 Rev:00000000 {a {b} LID: c} LID:000A PN:01 } { SW Ports:18 SystemGUID:0000000000000020 NodeGUID:0000000000000020 PortGUID:0000000000000020 VenID:000002C9 DevID:CB200000 Rev:000000A1 {sw} LID:0002 PN:0C } PHY=4x LOG=ACT SPD=??\n";
    let fabric = subnet_list::read(line).expect("a link");
    let switch = fabric.switch(crate::SwitchIdx(0));
    assert_eq!((switch.num_ports(), switch.device_id), (24, 0xcb20));
    let host = fabric.nodes().iter().next().expect("the host");
    assert_eq!(
        (
            &*host.description,
            host.port(PortNum(1)).map(|port| port.lid.0)
        ),
        ("a {b} LID: c", Some(10))
    );
    for (text, line) in [
        ("", 1),
        ("\n\nnothing\n", 3),
        (&line.replace("PN:0C", "PN:19")[..], 1),
        (&line.replace("PN:01", "PN:FFF")[..], 1),
    ] {
        assert_eq!(
            subnet_list::read(text).expect_err(text).line,
            Some(line),
            "{text}"
        );
    }
}

#[test]
fn tables_with_hops_are_tables() {
    let (fabric, lids, routes) = routed("thesis", 0);
    let text = fdbs::write(&fabric, &lids, &routes);
    assert_eq!(text.matches(": yes\n").count(), 5 * 12);
    let tables = lfts::read(&text, &fabric).expect("what we wrote");
    assert_eq!(tables.warnings, []);
    for switch in fabric.switches().indices() {
        for destination in lids.destinations().iter() {
            let lid = destination.range.base();
            assert_eq!(tables.routes.port(switch, lid), routes.port(switch, lid));
        }
    }
    let mut longer = routes.clone();
    let (switch, host) = (
        crate::SwitchIdx(2),
        lids.destinations()
            .iter()
            .find(|port| port.switch == Some(crate::SwitchIdx(3)) && !port.is_switch())
            .expect("a host"),
    );
    longer.set_port(switch, host.range.base(), PortNum(200));
    assert!(fdbs::write(&fabric, &lids, &longer).contains("200  : HOPS UNKNOWN\n"));
}

#[test]
fn multicast_tables_come_back_from_their_dump() {
    let mut ports = crate::mcast::PortSet::default();
    for port in [0, 1, 21, 254] {
        ports.insert(PortNum(port));
    }
    let table = [(ib_wire::Guid(0x20), ports)].into();
    let groups: mcfdbs::MulticastTables = [(ib_wire::Lid(0xc000), table)].into();
    let text = mcfdbs::write(&groups);
    assert_eq!(
        text,
        "\nSwitch 0x0000000000000020\nLID    : Out Port(s)\n0xC000 : 0x000  0x001  0x015  0x0FE \n"
    );
    assert_eq!(mcfdbs::read(&text), Ok(groups));
    for (text, line) in [
        ("0xC000 : 0x001\n", 1),
        ("Switch x\n", 1),
        ("Switch 0x20\n0xBFFF : 0x001\n", 2),
        ("Switch 0x20\n0xC000 : 0x100\n", 2),
    ] {
        assert_eq!(
            mcfdbs::read(text).expect_err(text).line,
            Some(line),
            "{text}"
        );
    }
}

#[test]
fn pictures_show_what_no_cable_joins() {
    let text = "Switch 2 \"<a&b>\"\n\nSwitch 2 \"s\"\n[1] \"h\"[1]\n\nCa 1 \"h\"\n[1] \"s\"[1]\n\nCa 1 \"i\"\n[1] \"j\"[1]\n\nCa 1 \"j\"\n[1] \"i\"[1]\n";
    let fabric = ibnetdiscover::read(text).expect("a fabric").fabric;
    let picture = svg::write(&fabric, &[]);
    assert_eq!(picture.matches("<title>").count(), fabric.nodes().len());
    assert_eq!(picture.matches("<path").count(), fabric.num_links());
    assert!(picture.contains("(&lt;a&amp;b>)"), "{picture}");
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

#[test]
fn a_sign_is_no_part_of_a_number() {
    use port_lists::{read_hop_weights, read_port_order, read_ports};

    let (fabric, lids, mut routes) = routed("thesis", 0);
    let matrix = |text: &str| {
        let mut nodes = fabric.nodes().iter();
        let switch = nodes.find(|node| node.type_.is_switch());
        let guid = switch.expect("a switch").guid;
        lid_matrix::read(&alloc::format!("Switch: guid {guid}\n{text}\n"), &fabric).is_ok()
    };
    assert!(matrix("0x0001: 01 ff") && !matrix("0x0001: +1 ff") && !matrix("0x+001: 01 ff"));
    let list = subnet_list::write(&fabric, &lids);
    assert!(subnet_list::read(&list).is_ok());
    for field in ["Ports:", "NodeGUID:", "VenID:", "DevID:", "LID:", "PN:"] {
        let signed = list.replacen(field, &alloc::format!("{field}+"), 1);
        assert_ne!(signed, list, "{field}");
        assert!(subnet_list::read(&signed).is_err(), "{field}");
    }
    assert!(read_port_order("0x1 2 3").is_ok() && read_port_order("0x1 +2 3").is_err());
    assert!(read_ports("0x1 2").is_ok() && read_ports("0x1 +2").is_err());
    assert!(read_hop_weights("0x1 2 3").is_ok() && read_hop_weights("0x1 2 +3").is_err());
    let sls_text = sls::write(&lids, &routes);
    let signed = sls_text.replacen("P ", "P +", 1);
    assert!(sls::read(&sls_text, &lids, &mut routes).is_ok());
    assert!(sls::read(&signed, &lids, &mut routes).is_err());
    for (name, guid) in [("H-0010000000000010", true), ("H-+010000000000010", false)] {
        let text = alloc::format!("Switch 2 \"S-0000000000000001\"\n[1] \"{name}\"[1]\n");
        let read = ibnetdiscover::read(&text);
        let named = read.is_ok_and(|topology| {
            let nodes = topology.fabric.nodes();
            nodes
                .iter()
                .any(|node| node.guid == Guid(0x0010_0000_0000_0010))
        });
        assert!(!named || guid, "{name}");
    }
    assert!(ibnetdiscover::read("switchguid=0x+1\nSwitch 1 \"S-0000000000000001\"\n").is_err());
}
