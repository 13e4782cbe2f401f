//! Queries to the subnet administrator about the fabric that its manager brought up.

use std::collections::{BTreeMap, BTreeSet};

use ib_mad::{Attribute as _, AttributeId, ClassPortInfo, MadStatus, Method, SaStatus};
use ib_routing::PortRef;
use ib_routing::engine;
use ib_sa::{
    ComponentMask, LinearForwardingTableRecord, LinkRecord, MulticastForwardingTableRecord,
    NodeComponents, NodeRecord, PathComponents, PathRecord, PortInfoComponents,
    PortInfoExtendedRecord, PortInfoRecord, RandomForwardingTableRecord, Record as _, SaMad,
    SmInfoRecord, SwitchInfoRecord, VlArbitrationTableComponents, VlArbitrationTableRecord,
};
use ib_smp::SmState;
use ib_testkit::fabrics::fabric;
use ib_testkit::lab::{Lab, client::Client};
use ib_wire::{Gid, GidPrefix, Lid, Lmc, PortNum, QKey, Qpn, Sl};

#[test]
fn a_table_of_all_nodes_has_each_end_port_once() {
    let mut client = Client::new("gen-ft-oversub2-144");
    let nodes = client.table(&NodeRecord::default(), ComponentMask(0));
    let lids = client.running.sm.lids();
    assert_eq!(nodes.len(), lids.destinations().len());
    for node in nodes {
        let owner = lids.owner(node.lid()).unwrap();
        assert_eq!(owner.guid, node.node_info().port_guid());
    }
    let ports = client.table(&PortInfoRecord::default(), ComponentMask(0));
    let summary = client.running.sm.summary();
    // Ports 0 and the ports without a link count as well.
    assert!(ports.len() > summary.ports.active);
}

#[test]
fn get_wants_exactly_one_record() {
    let mut client = Client::new("gen-ring-5");
    let mut template = NodeRecord::default();
    template.set_lid(client.lid());
    let found = client.get(&template, NodeComponents::LID.into()).unwrap();
    assert_eq!(found.lid(), client.lid());
    let all = client.get(&NodeRecord::default(), ComponentMask(0));
    assert_eq!(all, Err(MadStatus::from_sa(SaStatus::TOO_MANY_RECORDS)));
    template.set_lid(Lid(0xbfff));
    let none = client.get(&template, NodeComponents::LID.into());
    assert_eq!(none, Err(MadStatus::from_sa(SaStatus::NO_RECORDS)));
}

#[test]
fn a_record_without_a_layout_is_refused() {
    let mut client = Client::new("gen-ring-5");
    let hierarchy = AttributeId(0x003c);
    let answer = client.exchange(&SaMad::new(Method::GET, hierarchy));
    assert_eq!(answer.status(), MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
}

#[test]
fn records_that_no_device_has_are_a_table_of_none() {
    let mut client = Client::new("gen-ring-5");
    let all = ComponentMask(0);
    assert!(
        client
            .table(&RandomForwardingTableRecord::default(), all)
            .is_empty()
    );
    assert!(
        client
            .table(&PortInfoExtendedRecord::default(), all)
            .is_empty()
    );
    let one = client.get(&RandomForwardingTableRecord::default(), all);
    assert_eq!(one, Err(MadStatus::from_sa(SaStatus::NO_RECORDS)));
}

/// More nodes than fit in a table that is made in one go.
#[test]
fn a_long_table_is_whole() {
    let mut client = Client::new("gen-ft-oversub2-144");
    let lids = client.running.sm.lids();
    let lids: BTreeSet<Lid> = lids
        .destinations()
        .iter()
        .map(|end| end.range.base())
        .collect();
    assert!(lids.len() > 128);
    let all = client.table(&PathRecord::default(), ComponentMask(0));
    let pairs: BTreeSet<(Lid, Lid)> = all.iter().map(|path| (path.slid(), path.dlid())).collect();
    assert_eq!(
        (all.len(), pairs.len()),
        (lids.len().pow(2), lids.len().pow(2))
    );
    let mut template = PathRecord::default();
    template.set_slid(client.lid()).set_dlid(client.lid());
    for mask in [PathComponents::SLID, PathComponents::DLID] {
        let some = client.table(&template, mask.into());
        let expected = all
            .iter()
            .filter(|path| path.matches(&template, mask.into()));
        assert_eq!(some, expected.copied().collect::<Vec<_>>(), "{mask:?}");
    }
}

#[test]
fn a_path_has_the_mtu_and_rate_of_its_weakest_link() {
    let mut client = Client::new("real-sdr-2007-6");
    let own = client.lid();
    let mut template = PathRecord::default();
    template.set_slid(own);
    let paths = client.table(&template, PathComponents::SLID.into());
    let lids = client.running.sm.lids().destinations().len();
    assert_eq!(paths.len(), lids);
    for path in paths {
        assert_eq!(path.slid(), own);
        assert!(path.mtu().bytes().is_some(), "{path:?}");
        assert!(path.rate().rank().is_some(), "{path:?}");
        // The reverse path is as wide.
        let mut back = PathRecord::default();
        back.set_slid(path.dlid()).set_dlid(own);
        let back = client.get(&back, (PathComponents::SLID | PathComponents::DLID).into());
        let Ok(back) = back else {
            panic!("no way back from {}", path.dlid())
        };
        assert_eq!((back.sgid(), back.dgid()), (path.dgid(), path.sgid()));
    }
}

#[test]
fn a_port_answers_to_the_default_prefix_as_well() {
    let lab = |prefix| {
        let mut client = Client::new("gen-ring-5");
        let (sgid, dgid) = client.running.sim.with(|sim| {
            let own = sim.port(client.port).unwrap().guid();
            let any = sim
                .nodes()
                .iter_enumerated()
                .find(|(_, node)| !node.is_switch());
            let other = sim.end_ports(any.unwrap().0).next().unwrap().guid();
            (Gid::new(prefix, own), Gid::new(prefix, other))
        });
        let mut template = PathRecord::default();
        template.set_sgid(sgid).set_dgid(dgid);
        client.get(
            &template,
            (PathComponents::SGID | PathComponents::DGID).into(),
        )
    };
    assert!(lab(GidPrefix::DEFAULT).is_ok());
    let foreign = lab(GidPrefix(0xfec0_0000_0000_0000));
    assert_eq!(foreign, Err(MadStatus::from_sa(SaStatus::REQ_INVALID_GID)));
}

/// A query for the paths between the client and another host, and the components that it names.
fn between(client: &Client) -> (PathRecord, PathComponents) {
    let (sgid, dgid) = client.running.sim.with(|sim| {
        let own = sim.port(client.port).unwrap().guid();
        let mut nodes = sim.nodes().iter_enumerated();
        let (other, _) = nodes.find(|(_, node)| !node.is_switch()).unwrap();
        (own, sim.end_ports(other).next().unwrap().guid())
    });
    let gid = |guid| Gid::new(GidPrefix::DEFAULT, guid);
    let mut template = PathRecord::default();
    template.set_sgid(gid(sgid)).set_dgid(gid(dgid));
    (template, PathComponents::SGID | PathComponents::DGID)
}

#[test]
fn get_of_a_path_is_one_path_however_many_lids_its_ends_have() {
    let lmc = Lmc::try_new(2).unwrap();
    let running = Lab::new("gen-ring-5")
        .config(|config| config.lmc = lmc)
        .up();
    let mut client = Client::of(running);
    let (template, mask) = between(&client);
    let all = client.table(&template, mask.into());
    assert_eq!(all.len(), 4);
    assert_eq!(
        client.get(&template, mask.into()).as_ref(),
        all.first().ok_or(&MadStatus::OK)
    );
}

#[test]
fn a_path_on_another_service_level_is_there_where_routes_need_none_of_their_own() {
    let mut client = Client::of(Lab::new("gen-ft-48-broken10").routing(&engine::MINHOP).up());
    let (mut template, mask) = between(&client);
    let sl = Sl::try_new(3).unwrap();
    template.set_sl(sl);
    let path = client.get(&template, (mask | PathComponents::SL).into());
    assert_eq!(path.map(|path| path.sl()), Ok(sl));
}

#[test]
fn what_a_query_names_by_lid_or_guid_is_what_all_records_have_of_it() {
    let mut client = Client::new("gen-ring-5");
    let nodes = client.table(&NodeRecord::default(), ComponentMask(0));
    let ports = client.table(&PortInfoRecord::default(), ComponentMask(0));
    for node in &nodes {
        for mask in [
            NodeComponents::LID,
            NodeComponents::NODE_GUID,
            NodeComponents::PORT_GUID,
        ] {
            let like: Vec<NodeRecord> = nodes
                .iter()
                .filter(|other| other.matches(node, mask.into()))
                .copied()
                .collect();
            assert_eq!(client.table(node, mask.into()), like, "{mask:?}");
        }
        let mut template = PortInfoRecord::default();
        template.set_endport_lid(node.lid());
        let like: Vec<PortInfoRecord> = ports
            .iter()
            .filter(|port| port.endport_lid() == node.lid())
            .copied()
            .collect();
        let mask = PortInfoComponents::ENDPORT_LID.into();
        assert_eq!(client.table(&template, mask), like);
    }
    let mut nobody = nodes[0];
    nobody.set_lid(Lid(0xbfff));
    assert!(client.table(&nobody, NodeComponents::LID.into()).is_empty());
}

#[test]
fn port_0_of_a_switch_has_four_empty_arbitration_blocks() {
    let mut client = Client::new("gen-ring-5");
    let destinations = client.running.sm.lids().destinations().iter();
    let switches: Vec<Lid> = destinations
        .filter(|end| end.is_switch())
        .map(|end| end.range.base())
        .collect();
    for lid in switches {
        let mut template = VlArbitrationTableRecord::default();
        template.set_lid(lid);
        let mask =
            VlArbitrationTableComponents::LID | VlArbitrationTableComponents::OUTPUT_PORT_NUM;
        let blocks = client.table(&template, mask.into());
        let numbers: Vec<u8> = blocks.iter().map(|block| block.block_num()).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
    }
}

#[test]
fn the_port_number_of_a_ca_is_not_looked_at_in_arbitration_tables() {
    let mut client = Client::new("gen-ring-5");
    let blocks = |client: &mut Client, port| {
        let mut template = VlArbitrationTableRecord::default();
        template
            .set_lid(client.lid())
            .set_output_port_num(PortNum(port));
        let mask =
            VlArbitrationTableComponents::LID | VlArbitrationTableComponents::OUTPUT_PORT_NUM;
        client.table(&template, mask.into()).len()
    };
    let own = blocks(&mut client, 1);
    assert!(own > 0);
    assert_eq!(blocks(&mut client, 0), own);
}

#[test]
fn clients_are_sent_to_the_administrator_that_answers_instead() {
    const ELSEWHERE: Lid = Lid(2);
    let running = Lab::new("gen-ring-5")
        .config(|config| config.sa_redirect = Some(ELSEWHERE))
        .up();
    let mut client = Client::of(running);
    let request = SaMad::query(Method::GET_TABLE, &NodeRecord::default(), ComponentMask(0));
    client.send(&request);
    let answer = client.receive().unwrap();
    let (header, _) = SaMad::parse(&answer.bytes, 0).unwrap();
    assert_eq!(header.status(), MadStatus::REDIRECT);
    let address = ib_mad::redirect_address(&answer).unwrap();
    assert_eq!((address.lid, address.qpn), (ELSEWHERE, Qpn::GSI));
    assert_eq!(address.qkey, QKey::GSI);
    // The ClassPortInfo, which anyone may read, names the port too.
    let answer = client.exchange(&SaMad::new(Method::GET, ClassPortInfo::ID));
    let (info, _) = ClassPortInfo::parse(answer.data(), 0).unwrap();
    let gid = client.running.sim.with(|sim| {
        let mut ports = sim
            .nodes()
            .iter_enumerated()
            .flat_map(|(node, _)| sim.end_ports(node));
        ports
            .find(|port| port.info().lid() == ELSEWHERE)
            .unwrap()
            .guid()
    });
    assert_eq!(info.redirect_gid(), Gid::new(GidPrefix::DEFAULT, gid));
    assert_eq!(info.redirect_lid(), ELSEWHERE);
    assert!(answer.status().is_ok());
}

#[test]
fn the_port_that_answers_instead_is_answered_itself() {
    let mut client = Client::new("gen-ring-5");
    let own = client.lid();
    let running = Lab::new("gen-ring-5")
        .config(|config| config.sa_redirect = Some(own))
        .up();
    client = Client::of(running);
    assert_eq!(client.lid(), own);
    let nodes = client.table(&NodeRecord::default(), ComponentMask(0));
    let lids = client.running.sm.lids();
    assert_eq!(nodes.len(), lids.destinations().len());
}

/// Records about switches, cables, forwarding tables and managers are those of the simulated devices.
#[test]
fn records_say_what_the_devices_hold() {
    let mut client = Client::new("gen-ring-5");
    let all = ComponentMask(0);
    let switches = client.table(&SwitchInfoRecord::default(), all);
    let links = client.table(&LinkRecord::default(), all);
    let tables = client.table(&LinearForwardingTableRecord::default(), all);
    let groups = client.table(&MulticastForwardingTableRecord::default(), all);
    let managers = client.table(&SmInfoRecord::default(), all);
    let running = &client.running;
    let lid_of = |sim: &ib_sim::Sim, node, port| {
        let is_switch = sim.node(node).unwrap().is_switch();
        let port = if is_switch { PortNum(0) } else { port };
        sim.port(PortRef { node, port }).unwrap().info().lid()
    };
    let (lids, cables) = running.sim.with(|sim| {
        let mut lids = BTreeMap::new();
        let mut cables = BTreeSet::new();
        for (node, entry) in sim.nodes().iter_enumerated() {
            if entry.is_switch() {
                lids.insert(lid_of(sim, node, PortNum(0)), entry.guid());
            }
            for here in sim.ports_of(node).map(|port| port.at()) {
                if let Some(peer) = sim.peer(here) {
                    let from = (lid_of(sim, here.node, here.port), here.port);
                    let to = (lid_of(sim, peer.node, peer.port), peer.port);
                    cables.insert((from, to));
                }
            }
        }
        (lids, cables)
    });
    let listed: BTreeSet<Lid> = switches.iter().map(|record| record.lid()).collect();
    assert_eq!(listed, lids.keys().copied().collect());
    assert_eq!(switches.len(), lids.len());
    let listed = links.iter().map(|link| {
        let from = (link.from_lid(), link.from_port());
        (from, (link.to_lid(), link.to_port()))
    });
    assert_eq!(listed.collect::<BTreeSet<_>>(), cables);
    assert_eq!(links.len(), cables.len());

    let fabric = fabric("gen-ring-5");
    let (_, installed) = running.sim.with(|sim| sim.installed(&fabric));
    let mut blocks = BTreeSet::new();
    for table in &tables {
        let guid = lids[&table.lid()];
        let switch = fabric.switch_by_guid(guid).unwrap();
        let start = usize::from(table.block_num()) * 64;
        let row = installed.lft(switch);
        let row = row.get(start..).unwrap_or(&[]);
        let entries = table.linear_forwarding_table().as_bytes();
        for (entry, wanted) in entries.iter().zip(row) {
            assert_eq!(entry, wanted, "{:?}", table.lid());
        }
        blocks.insert((table.lid(), table.block_num()));
    }
    assert_eq!(blocks.len(), tables.len());
    assert!(lids.keys().all(|&lid| blocks.contains(&(lid, 0))));
    assert!(groups.iter().all(|group| lids.contains_key(&group.lid())));

    assert_eq!(managers.len(), 1);
    assert_eq!(managers[0].lid(), client.administrator().lid);
    let info = managers[0].sm_info();
    assert_eq!(info.guid(), client.running.sm.status().port_guid);
    assert_eq!(info.sm_state(), SmState::MASTER);
    assert_eq!(info.sm_key(), ib_mad::SmKey(0), "the key is a secret");
}

/// A table that is kept for the next client is the whole one, however a query for a part of it came before.
#[test]
fn a_part_of_a_table_is_not_taken_for_the_whole() {
    let mut client = Client::new("gen-ring-5");
    let mut one = NodeRecord::default();
    one.set_lid(client.lid());
    let by_lid = NodeComponents::LID.into();
    let all = client.running.sm.lids().destinations().len();
    for _ in 0..2 {
        assert_eq!(client.table(&one, by_lid).len(), 1);
        assert_eq!(client.table(&one, ComponentMask(0)).len(), all);
        assert_eq!(client.get(&one, by_lid).unwrap().lid(), client.lid());
        let many = client.get(&one, ComponentMask(0));
        assert_eq!(many, Err(MadStatus::from_sa(SaStatus::TOO_MANY_RECORDS)));
    }
}

#[test]
fn the_rate_of_a_path_is_that_of_its_links() {
    let mut client = Client::new("gen-ring-5");
    let (template, mask) = between(&client);
    let path = client.get(&template, mask.into()).unwrap();
    let subnet = client.running.sm.subnet();
    let rates = subnet
        .ports()
        .filter(|(at, _, port)| at.port.0 != 0 && port.is_up());
    let rates: BTreeSet<_> = rates.filter_map(|(_, _, port)| port.rate()).collect();
    assert_eq!(rates, BTreeSet::from([path.rate()]));
}

/// An answer to what is no request could be answered in turn, without end.
#[test]
fn what_is_no_request_is_not_answered() {
    let mut client = Client::new("gen-ring-5");
    let methods = [
        Method::GET_RESP,
        Method::DELETE_RESP,
        Method::REPORT_RESP,
        Method::SEND,
        Method::TRAP,
        Method::REPORT,
        Method::TRAP_REPRESS,
    ];
    for method in methods {
        let query = SaMad::query(method, &NodeRecord::default(), ComponentMask(0));
        client.send(&query);
        assert!(client.receive().is_none(), "{method:?}");
    }
    let unknown = SaMad::query(Method(0x5f), &NodeRecord::default(), ComponentMask(0));
    client.send(&unknown);
    let refusal = client.receive().expect("an unknown method is a request");
    assert!(!refusal.header().status().is_ok());
}
