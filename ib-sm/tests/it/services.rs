//! Registrations with the subnet administrator: services, subscriptions, alias GUIDs; and path traces.

use std::time::Duration;

use ib_mad::{
    Attribute, ClassPortInfo, Engine as _, InformInfo, Input, Mad, MadAddress, MadStatus, Method,
    MgmtClass, Notice, SaStatus, TrapNumber,
};
use ib_routing::PortRef;
use ib_sa::{
    ComponentMask, GuidInfoComponents, GuidInfoRecord, InformInfoRecord, MultiPathCall,
    MultiPathComponents, MultiPathRecord, PathComponents, PathRecord, SaMad,
    ServiceComponents as S, ServiceRecord, TraceRecord,
};
use ib_sim::{Behaviour, Corruption};
use ib_sm::Event;
use ib_smp::{GuidInfo, SmpLidRouted};
use ib_testkit::lab::{Lab, client::Client};
use ib_transport::{Clock as _, MadTransport as _};
use ib_wire::{Gid, GidPrefix, Guid, Lid, PortNum, QKey, Sl};

fn own_gid(client: &Client) -> Gid {
    let guid = client
        .running
        .sim
        .with(|sim| sim.port(client.port).unwrap().guid());
    Gid::new(GidPrefix::DEFAULT, guid)
}

fn with_data(mut mad: SaMad, bytes: &[u8]) -> SaMad {
    let mut data = [0; 200];
    data[..bytes.len()].copy_from_slice(bytes);
    mad.set_data(&data);
    mad
}

#[test]
fn the_class_tells_what_it_can() {
    let mut client = Client::new("gen-ring-5");
    let answer = client.exchange(&SaMad::new(Method::GET, ClassPortInfo::ID));
    let (info, _) = ClassPortInfo::parse(answer.data(), 0).unwrap();
    assert_eq!((info.base_version(), info.class_version()), (1, 2));
    // IBA vol. 1, 13.4.8.1 and 15.2.4: the class's own capabilities are the bits from 8 on.
    assert_eq!(info.capability_mask().bits(), 0x2700);
}

#[test]
fn a_service_lives_as_long_as_its_lease() {
    let mut client = Client::new("gen-ring-5");
    let mut service = ServiceRecord::default();
    service
        .set_service_id(0x1000_0000_0000_0001)
        .set_service_gid(own_gid(&client))
        .set_service_key(&[7; 16])
        .set_service_lease(30);
    let name = S::SERVICE_ID | S::SERVICE_GID;
    let mask = (name | S::SERVICE_P_KEY | S::SERVICE_LEASE | S::SERVICE_KEY).into();
    client.set(&service, mask).unwrap();
    let found = client.get(&service, name.into()).unwrap();
    assert_eq!(found.service_id(), service.service_id());
    assert_eq!(found.service_key(), &[0; 16], "the key is its owner's");
    let mut stranger = service;
    stranger.set_service_key(&[8; 16]);
    let denied = client.set(&stranger, mask);
    assert_eq!(denied, Err(MadStatus::from_sa(SaStatus::REQ_DENIED)));

    client.running.run_for(Duration::from_secs(20));
    let later = client.get(&service, name.into()).unwrap();
    assert!(
        (9..=10).contains(&later.service_lease()),
        "{}",
        later.service_lease()
    );
    client.running.run_for(Duration::from_secs(11));
    let none = Err(MadStatus::from_sa(SaStatus::NO_RECORDS));
    assert_eq!(client.get(&service, name.into()), none);

    service.set_service_lease(u32::MAX);
    client.set(&service, mask).unwrap();
    client.running.run_for(Duration::from_secs(1000));
    client.delete(&service, name.into()).unwrap();
    assert_eq!(client.get(&service, name.into()), none);
}

/// A subscription to every trap of one number.
fn subscription(trap: TrapNumber, subscribe: u8) -> SaMad {
    let mut info = InformInfo::default();
    info.set_lid_range_begin(Lid::PERMISSIVE)
        .set_is_generic(1)
        .set_subscribe(subscribe)
        .set_type(0xffff)
        .set_trap_number(trap.0)
        .set_producer_type(0xff_ffff);
    with_data(SaMad::new(Method::SET, InformInfo::ID), info.as_bytes())
}

/// Receives the next Report and answers it.
fn report(client: &mut Client) -> Option<Notice> {
    let mad = client.receive()?;
    let (report, _) = SaMad::parse(&mad.bytes, 0).unwrap();
    assert_eq!(
        (report.method(), report.attribute_id()),
        (Method::REPORT, Notice::ID)
    );
    let (notice, _) = Notice::parse(report.data(), 0).unwrap();
    let notice = *notice;
    let mut answer = mad;
    answer.header_mut().set_method(Method::REPORT_RESP);
    client
        .transport
        .send(client.running.sim.now(), &answer)
        .unwrap();
    Some(notice)
}

#[test]
fn who_has_not_subscribed_cannot_end_it() {
    let mut client = Client::new("gen-ring-5");
    let trap = TrapNumber::GID_IN_SERVICE;
    let answers =
        [1, 0, 0].map(|subscribe| client.exchange(&subscription(trap, subscribe)).status());
    let invalid = MadStatus::from_sa(SaStatus::REQ_INVALID);
    assert_eq!(answers, [MadStatus::OK, MadStatus::OK, invalid]);
}

#[test]
fn subscribers_hear_of_ports_that_go_and_come() {
    let mut client = Client::new("gen-ring-5");
    for trap in [TrapNumber::GID_IN_SERVICE, TrapNumber::GID_OUT_OF_SERVICE] {
        let answer = client.exchange(&subscription(trap, 1));
        assert!(answer.status().is_ok());
    }
    let known = client.table(&InformInfoRecord::default(), ComponentMask(0));
    assert_eq!(known.len(), 2);
    assert_eq!(known[0].subscriber_gid(), own_gid(&client));

    let own = client
        .running
        .sm
        .subnet()
        .nodes()
        .next()
        .unwrap()
        .1
        .info()
        .node_guid();
    let (node, guid) = client.running.sim.with(|sim| {
        let (node, _) = sim
            .nodes()
            .iter_enumerated()
            .find(|(at, node)| !node.is_switch() && node.guid() != own && *at != client.port.node)
            .unwrap();
        (node, sim.end_ports(node).next().unwrap().guid())
    });
    client.running.sim.with(|sim| sim.power_off(node));
    client.running.resweep();
    let gone = report(&mut client).expect("a report");
    assert_eq!(gone.trap_number(), TrapNumber::GID_OUT_OF_SERVICE.0);
    let details = gone.data_details();
    assert_eq!(&details[6..22], &Gid::new(GidPrefix::DEFAULT, guid).0);
    let manager = client.running.sm.status().port_guid;
    assert_eq!(gone.issuer_lid(), client.administrator().lid);
    assert_eq!(gone.issuer_gid(), Gid::new(GidPrefix::DEFAULT, manager));

    client.running.sim.with(|sim| sim.power_on(node));
    client.running.run_for(Duration::from_millis(50));
    client.running.resweep();
    let back = report(&mut client).expect("a report");
    assert_eq!(back.trap_number(), TrapNumber::GID_IN_SERVICE.0);
    client.running.run_for(Duration::from_secs(5));
    assert!(
        client.receive().is_none(),
        "an answered report is not sent again"
    );

    client.exchange(&subscription(TrapNumber::GID_IN_SERVICE, 0));
    client.exchange(&subscription(TrapNumber::GID_OUT_OF_SERVICE, 0));
    client.running.sim.with(|sim| sim.power_off(node));
    client.running.resweep();
    assert!(client.receive().is_none(), "nobody subscribes any more");
}

/// A join that creates a group, and the components that it names.
fn new_group(port: Gid) -> (ib_sa::McMemberRecord, ib_sa::McMemberComponents) {
    let mut record = ib_sa::McMemberRecord::default();
    record
        .set_mgid(Gid(
            0xff15_a01c_0000_0000_0000_0000_0000_0009_u128.to_be_bytes()
        ))
        .set_port_gid(port)
        .set_p_key(ib_wire::PKey::DEFAULT_FULL)
        .set_join_state(ib_sa::JoinState::FULL_MEMBER);
    let all = ib_sa::McMemberComponents::all();
    let without = ib_sa::McMemberComponents::MTU
        | ib_sa::McMemberComponents::RATE
        | ib_sa::McMemberComponents::PACKET_LIFE_TIME
        | ib_sa::McMemberComponents::SCOPE;
    (record, all.difference(without))
}

#[test]
fn a_report_is_repeated_until_it_is_answered() {
    let mut client = Client::new("gen-ring-5");
    client.exchange(&subscription(TrapNumber::MC_GROUP_CREATED, 1));
    let (record, mask) = new_group(own_gid(&client));
    client.send(&SaMad::query(Method::SET, &record, mask));
    let mut methods = Vec::new();
    for _ in 0..4 {
        client.running.run_for(Duration::from_millis(250));
        while let Some(mad) = client.receive() {
            methods.push(mad.header().method());
        }
    }
    let reports = methods
        .iter()
        .filter(|&&method| method == Method::REPORT)
        .count();
    assert!((2..=4).contains(&reports), "{methods:?}");
}

#[test]
fn a_report_that_could_not_be_sent_is_sent_again_at_once() {
    let mut client = Client::new("gen-ring-5");
    client.exchange(&subscription(TrapNumber::MC_GROUP_CREATED, 1));
    let own = own_gid(&client);
    let (record, mask) = new_group(own);
    client.send(&SaMad::query(Method::SET, &record, mask));
    let is_report = |mad: &Mad| mad.header().method() == Method::REPORT;
    let received = std::iter::from_fn(|| client.receive()).find(is_report);
    assert!(received.is_some());
    let now = client.running.sim.now();
    let sent = client.running.transport.sent.iter().copied();
    let report = sent.rev().find(is_report).unwrap();
    let sm = &mut client.running.sm;
    assert_eq!(sm.poll_transmit(now), None);
    sm.handle_input(now, Input::SendFailed(&report));
    assert_eq!(sm.poll_transmit(now), Some(report));
}

#[test]
fn a_trace_names_every_node_on_the_way() {
    let mut client = Client::new("gen-torus-5x5");
    let own = client.lid();
    let master = client
        .running
        .sim
        .with(|sim| sim.port(client.port).unwrap().info().master_sm_lid());
    let mut template = PathRecord::default();
    template.set_slid(own).set_dlid(master);
    let mask = PathComponents::SLID | PathComponents::DLID;
    let mut request = SaMad::query(Method::GET_TRACE_TABLE, &template, mask);
    request.set_attribute_id(TraceRecord::ID);
    let hops = client.many::<TraceRecord>(&request);
    assert!(hops.len() >= 3, "{}", hops.len());
    let (first, last) = (hops.first().unwrap(), hops.last().unwrap());
    assert_eq!((first.entry_port().0, last.exit_port().0), (0, 0));
    // Each exit is cabled to the next entry.
    client.running.sim.with(|sim| {
        for pair in hops.windows(2) {
            let node = sim.find_guid(Guid(pair[0].node_id())).unwrap();
            let exit = ib_routing::PortRef {
                node,
                port: pair[0].exit_port(),
            };
            let peer = sim.peer(exit).unwrap();
            assert_eq!(sim.node(peer.node).unwrap().guid().0, pair[1].node_id());
            assert_eq!(peer.port, pair[1].entry_port());
        }
    });
}

/// The nodes on the path from the client to a LID.
fn hops(client: &mut Client, dlid: Lid) -> Vec<TraceRecord> {
    let mut template = PathRecord::default();
    template.set_slid(client.lid()).set_dlid(dlid);
    let mask = PathComponents::SLID | PathComponents::DLID;
    let mut request = SaMad::query(Method::GET_TRACE_TABLE, &template, mask);
    request.set_attribute_id(TraceRecord::ID);
    client.many::<TraceRecord>(&request)
}

#[test]
fn a_trace_from_a_port_to_itself_is_its_node_and_one_to_nobody_is_empty() {
    let mut client = Client::new("gen-ring-5");
    let own = client.lid();
    let itself = hops(&mut client, own);
    let guid = client.running.node(client.port.node, |node| node.guid());
    let nodes: Vec<u64> = itself.iter().map(TraceRecord::node_id).collect();
    assert_eq!(nodes, [guid.0]);
    assert_eq!((itself[0].entry_port().0, itself[0].exit_port().0), (0, 0));
    assert_eq!(hops(&mut client, Lid(0xbfff)), []);
}

#[test]
fn a_request_for_paths_between_sets_of_ports_has_both_sets_whole() {
    /// Bytes of a MultiPathRecord before its GIDs.
    const BEFORE_GIDS: usize = 24;
    let mut client = Client::new("gen-ring-5");
    let own = own_gid(&client);
    let mut status = |sources: u8, destinations: u8, mask: MultiPathComponents| {
        let mut record = MultiPathRecord::default();
        record.set_sgid_count(sources).set_dgid_count(destinations);
        let mut data = record.as_bytes()[..BEFORE_GIDS].to_vec();
        for _ in 0..sources.saturating_add(destinations).min(4) {
            data.extend(own.0);
        }
        let mut request = SaMad::new(Method::GET_MULTI, MultiPathRecord::ID);
        request.set_component_mask(mask.into());
        client.exchange(&with_data(request, &data)).status()
    };
    let (sources, destinations) = (
        MultiPathComponents::SGID_COUNT,
        MultiPathComponents::DGID_COUNT,
    );
    let both = sources | destinations;
    let insufficient = MadStatus::from_sa(SaStatus::REQ_INSUFFICIENT_COMPONENTS);
    assert_eq!(status(1, 1, sources), insufficient);
    assert_eq!(status(1, 1, destinations), insufficient);
    let invalid = MadStatus::from_sa(SaStatus::REQ_INVALID);
    assert_eq!(status(1, 0, both), invalid);
    assert_eq!(status(0, 1, both), invalid);
    // More GIDs than the datagram holds.
    assert_eq!(status(20, 20, both), invalid);
    assert_eq!(status(1, 1, both), MadStatus::OK);
}

#[test]
fn paths_between_sets_of_ports_come_as_one_table() {
    let mut client = Client::new("gen-ring-5");
    let gids: Vec<Gid> = client.running.sim.with(|sim| {
        let hosts = sim
            .nodes()
            .iter_enumerated()
            .filter(|(_, node)| !node.is_switch());
        let ports = hosts.filter_map(|(host, _)| sim.end_ports(host).next());
        ports
            .map(|port| Gid::new(GidPrefix::DEFAULT, port.guid()))
            .collect()
    });
    let mut record = MultiPathRecord::default();
    record.set_sgid_count(2).set_dgid_count(3);
    let mask = MultiPathComponents::SGID_COUNT | MultiPathComponents::DGID_COUNT;
    let (sources, destinations) = (&gids[..2], &gids[2..5]);
    let administrator = client.administrator();
    let call = MultiPathCall::get(administrator, &record, mask, sources, destinations);
    let paths = client.ask_client(call.unwrap());
    assert_eq!(paths.len(), 6);
    for path in paths {
        assert!(gids[..2].contains(&path.sgid()) && gids[2..5].contains(&path.dgid()));
    }
}

#[test]
fn alias_guids_are_handed_out_and_taken_back() {
    let mut client = Client::new("real-edr-102");
    let mut record = GuidInfoRecord::default();
    record.set_lid(client.lid()).set_block_num(0);
    let whole = (GuidInfoComponents::LID | GuidInfoComponents::BLOCK_NUM).into();
    let before = client.get(&record, whole);
    let Ok(before) = before else {
        panic!("no GUIDs: {before:?}");
    };
    let own = own_gid(&client).guid();
    assert_eq!(before.guid_info().guid_block(0), Some(own));
    let first =
        GuidInfoComponents::LID | GuidInfoComponents::BLOCK_NUM | GuidInfoComponents::GUID_BLOCK_0;
    let refused = client.set(&record, first.into());
    assert_eq!(
        refused,
        Err(MadStatus::from_sa(SaStatus::REQ_INVALID)),
        "it is the port's own"
    );
}

/// The first GUIDs that the client's port holds.
fn guids_held(client: &mut Client) -> GuidInfo {
    let mut mad = Mad::new(MadAddress::smi(client.lid()));
    let (smp, _) = SmpLidRouted::parse_mut(&mut mad.bytes, 0).unwrap();
    smp.set_base_version(1)
        .set_mgmt_class(MgmtClass::SUBN_LID)
        .set_class_version(1)
        .set_method(Method::GET)
        .set_attribute_id(GuidInfo::ID);
    client
        .transport
        .send(client.running.sim.now(), &mad)
        .unwrap();
    let answer = client.receive().unwrap();
    let (smp, _) = SmpLidRouted::parse(&answer.bytes, 0).unwrap();
    assert_eq!(smp.method(), Method::GET_RESP);
    GuidInfo::from_bytes(*smp.smp_data())
}

/// A record of the first block of the client's GUIDs, and the components that name its third GUID.
fn third_guid(client: &Client) -> (GuidInfoRecord, GuidInfoComponents) {
    let mut record = GuidInfoRecord::default();
    record.set_lid(client.lid()).set_block_num(0);
    let block = GuidInfoComponents::LID | GuidInfoComponents::BLOCK_NUM;
    (record, block | GuidInfoComponents::GUID_BLOCK_2)
}

/// Number of Sets of GUIDInfo that the manager has sent.
fn guid_infos_set(client: &Client) -> usize {
    let sets = client.running.transport.sent_with(Method::SET);
    let sets = sets.iter().filter(|set| set.attribute_id() == GuidInfo::ID);
    sets.count()
}

#[test]
fn a_port_holds_its_alias_guid_and_is_found_by_it() {
    let mut client = Client::new("real-edr-102");
    let (record, third) = third_guid(&client);
    let given = client.set(&record, third.into()).unwrap();
    let alias = given.guid_info().guid_block(2).unwrap();
    assert_ne!(alias, Guid::NONE, "the manager chooses one");
    client.running.run_for(Duration::from_millis(10));
    assert_eq!(guids_held(&mut client), *given.guid_info());
    assert_eq!(guid_infos_set(&client), 1);
    client.running.run_for(Duration::from_secs(5));
    assert_eq!(
        guid_infos_set(&client),
        1,
        "the port has confirmed its block"
    );
    let refused = |event: &Event| matches!(event, Event::Refused { .. });
    assert!(!client.running.events.iter().any(refused));

    let gid = Gid::new(GidPrefix::DEFAULT, alias);
    let mut path = PathRecord::default();
    path.set_sgid(own_gid(&client)).set_dgid(gid);
    let ends = (PathComponents::SGID | PathComponents::DGID).into();
    let found = client.get(&path, ends).unwrap();
    assert_eq!((found.dgid(), found.dlid()), (gid, client.lid()));

    client.delete(&record, third.into()).unwrap();
    client.running.run_for(Duration::from_millis(10));
    assert_eq!(guids_held(&mut client).guid_block(2), Some(Guid::NONE));
    let none = Err(MadStatus::from_sa(SaStatus::REQ_INVALID_GID));
    assert_eq!(client.get(&path, ends), none);
}

#[test]
fn the_gids_of_a_path_have_the_prefix_of_the_subnet_where_the_query_names_the_default_prefix() {
    let prefix = GidPrefix(0xfec0_0000_0000_0001);
    let lab = Lab::new("real-edr-102").config(|config| config.subnet_prefix = prefix);
    let mut client = Client::of(lab.up());
    let (record, third) = third_guid(&client);
    let given = client.set(&record, third.into()).unwrap();
    let alias = given.guid_info().guid_block(2).unwrap();
    let own = own_gid(&client).guid();
    for (source, destination) in [(own, alias), (alias, own)] {
        let mut path = PathRecord::default();
        path.set_sgid(Gid::new(GidPrefix::DEFAULT, source))
            .set_dgid(Gid::new(GidPrefix::DEFAULT, destination));
        let ends = PathComponents::SGID | PathComponents::DGID;
        let found = client.get(&path, ends.into()).unwrap();
        assert_eq!(found.sgid(), Gid::new(prefix, source));
        assert_eq!(found.dgid(), Gid::new(prefix, destination));
    }
}

#[test]
fn a_port_that_does_not_answer_gets_its_alias_guid_later() {
    let mut client = Client::new("real-edr-102");
    let (record, third) = third_guid(&client);
    let node = client.port.node;
    let behave = |client: &Client, behaviour| {
        let sim = &client.running.sim;
        sim.with(|sim| sim.set_behaviour(node, behaviour));
    };
    behave(&client, Behaviour::Silent);
    let given = client.set(&record, third.into()).unwrap();
    client.running.run_for(Duration::from_secs(5));
    behave(&client, Behaviour::Honest);
    client.running.resweep();
    client.running.run_for(Duration::from_secs(5));
    assert_eq!(guids_held(&mut client), *given.guid_info());
}

#[test]
fn alias_guids_that_a_port_refuses_are_not_sent_without_end() {
    let mut client = Client::new("real-edr-102");
    let (record, third) = third_guid(&client);
    let node = client.port.node;
    let sim = &client.running.sim;
    sim.with(|sim| sim.set_behaviour(node, Behaviour::Byzantine(Corruption::Status)));
    client.set(&record, third.into()).unwrap();
    client.running.run_for(Duration::from_secs(1));
    assert_eq!(guid_infos_set(&client), 1);
    let refused = |event: &&Event| matches!(event, Event::Refused { .. });
    assert_eq!(client.running.events.iter().filter(refused).count(), 1);
}

#[test]
fn the_trap_of_a_switch_reaches_who_subscribed_to_it() {
    let mut client = Client::new("gen-ring-5");
    let trap = TrapNumber::LINK_STATE_CHANGE;
    assert!(client.exchange(&subscription(trap, 1)).status().is_ok());
    let manager = client.running.transport.at.node;
    let (node, switch) = client.running.sim.with(|sim| {
        let hosts = sim.nodes().iter_enumerated();
        let mut hosts = hosts.filter(|(_, node)| !node.is_switch());
        let (node, _) = hosts
            .find(|(at, _)| *at != manager && *at != client.port.node)
            .unwrap();
        let port = sim.end_ports(node).find(|port| port.is_link_up()).unwrap();
        let peer = sim.peer(port.at()).unwrap();
        let port_0 = PortRef {
            port: PortNum(0),
            ..peer
        };
        let lid = sim.port(port_0).unwrap().info().lid();
        (node, (lid, sim.node(peer.node).unwrap().guid()))
    });
    client.running.sim.with(|sim| sim.power_off(node));
    let notice = report(&mut client).expect("a report");
    assert_eq!(notice.trap_number(), trap.0);
    assert_eq!(notice.issuer_lid(), switch.0);
    assert_eq!(notice.issuer_gid(), Gid::new(GidPrefix::DEFAULT, switch.1));
}

#[test]
fn the_manager_names_free_guids_of_its_range_in_turn() {
    use GuidInfoComponents as C;
    let lab = Lab::new("real-edr-102").config(|config| config.sm_assigned_guid = 0x5a);
    let mut client = Client::of(lab.up());
    let guid = |count: u64| Guid(0x5a00_0000_0000_0000 | count);
    let mut record = GuidInfoRecord::default();
    record.set_lid(client.lid()).set_block_num(0);
    let place = C::LID | C::BLOCK_NUM;
    let given = client.set(&record, (place | C::GUID_BLOCK_2 | C::GUID_BLOCK_3).into());
    let given = *given.unwrap().guid_info();
    assert_eq!(given.guid_block(2), Some(guid(1)));
    assert_eq!(given.guid_block(3), Some(guid(2)));
    // A host takes the next one by its own choice.
    let mut chosen = GuidInfo::default();
    chosen.set_guid_block(5, guid(3)).unwrap();
    let mut own_choice = record;
    own_choice.set_guid_info(&chosen);
    client
        .set(&own_choice, (place | C::GUID_BLOCK_5).into())
        .unwrap();
    let given = client.set(&record, (place | C::GUID_BLOCK_4).into());
    assert_eq!(given.unwrap().guid_info().guid_block(4), Some(guid(4)));
    // A GUID of two entries is refused, as is that of another port, and nothing changes.
    let other = client.administrator().lid;
    let taken = client.running.sm.lids().owner(other).unwrap().guid;
    for wanted in [guid(3), taken] {
        let mut twice = GuidInfo::default();
        twice.set_guid_block(6, wanted).unwrap();
        let mut request = record;
        request.set_guid_info(&twice);
        let refused = client.set(&request, (place | C::GUID_BLOCK_6).into());
        assert_eq!(refused, Err(MadStatus::from_sa(SaStatus::REQ_INVALID)));
    }
    // A GUID that a host deletes is free again, and an entry that is set to its own value stays as it is.
    client
        .delete(&record, (place | C::GUID_BLOCK_5).into())
        .unwrap();
    let mut again = GuidInfo::default();
    again.set_guid_block(6, guid(3)).unwrap();
    let mut request = record;
    request.set_guid_info(&again);
    for _ in 0..2 {
        let kept = client.set(&request, (place | C::GUID_BLOCK_6).into());
        assert_eq!(kept.unwrap().guid_info().guid_block(6), Some(guid(3)));
    }
    client.running.run_for(Duration::from_millis(10));
    let held = guids_held(&mut client);
    let held: Vec<Guid> = (1..8).map(|at| held.guid_block(at).unwrap()).collect();
    let none = Guid::NONE;
    assert_eq!(held, [none, guid(1), guid(2), guid(4), none, guid(3), none]);
    // Both the LID and the block are to be named.
    for some in [C::LID, C::BLOCK_NUM] {
        let refused = client.set(&record, (some | C::GUID_BLOCK_1).into());
        let few = MadStatus::from_sa(SaStatus::REQ_INSUFFICIENT_COMPONENTS);
        assert_eq!(refused, Err(few));
    }
}

#[test]
fn an_answer_goes_to_the_queue_pair_of_the_request_under_the_key_of_the_class() {
    let mut client = Client::new("gen-ring-5");
    let mut request = SaMad::new(Method::GET, ClassPortInfo::ID);
    request.set_transaction_id(ib_mad::TransactionId(9));
    let address = MadAddress {
        qpn: ib_wire::Qpn::try_new(0x77).unwrap(),
        qkey: QKey(0x1234),
        ..MadAddress::gsi(client.lid(), Sl::ZERO)
    };
    let mad = Mad {
        address,
        bytes: *request.as_bytes(),
    };
    let now = client.running.sim.now();
    let sm = &mut client.running.sm;
    sm.handle_input(now, Input::Mad(&mad));
    let answer = sm.poll_transmit(now).unwrap();
    assert_eq!(answer.header().method(), Method::GET_RESP);
    let expected = MadAddress {
        qkey: QKey::GSI,
        ..address
    };
    assert_eq!(answer.address, expected);
}
