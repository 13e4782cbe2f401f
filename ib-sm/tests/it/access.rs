//! Records that a requester may access: all of them with the administrator's key, otherwise its own and those of
//! ports that share a partition with it.

use std::time::Duration;

use ib_mad::{Attribute as _, InformInfo, MadStatus, Method, SaStatus, SmKey};
use ib_sa::{
    ComponentMask, InformInfoRecord, MultiPathCall, MultiPathComponents, MultiPathRecord,
    NodeRecord, PKeyTableRecord, PathComponents, PathRecord, SaMad, ServiceAssociationComponents,
    ServiceAssociationRecord, ServiceComponents, ServiceRecord,
};
use ib_sm::Partitions;
use ib_testkit::lab::{Lab, client::Client};
use ib_wire::{Gid, GidPrefix, Guid, Lid, table::Text};

const INVALID: MadStatus = MadStatus::from_sa(SaStatus::REQ_INVALID);

/// GUIDs and ports of the hosts: the manager's is first, the client's is last.
fn hosts(client: &Client) -> Vec<(ib_routing::PortRef, Guid)> {
    client.running.sim.with(|sim| {
        let nodes = sim.nodes().iter_enumerated();
        let hosts = nodes.filter(|(_, node)| !node.is_switch());
        let ports = hosts.flat_map(|(host, _)| sim.end_ports(host));
        ports.map(|port| (port.at(), port.guid())).collect()
    })
}

fn query(sm_key: u64) -> SaMad {
    let mut request = SaMad::query(Method::GET_TABLE, &NodeRecord::default(), ComponentMask(0));
    request.set_sm_key(SmKey(sm_key));
    request
}

#[test]
fn a_request_with_a_wrong_key_is_dropped() {
    let running = Lab::new("gen-ring-5")
        .config(|config| config.sa_key = SmKey(7))
        .up();
    let mut client = Client::of(running);
    let all = client.table(&NodeRecord::default(), ComponentMask(0)).len();
    assert_eq!(client.many::<NodeRecord>(&query(7)).len(), all);
    // The managers' SM_Key does not open the administrator.
    for wrong in [1, 8] {
        client.send(&query(wrong));
        assert_eq!(client.receive(), None, "key {wrong}");
    }
}

#[test]
fn p_key_tables_are_for_trusted_requesters_only() {
    let mut client = Client::new("gen-ring-5");
    let refused = client.get(&PKeyTableRecord::default(), ComponentMask(0));
    assert_eq!(refused, Err(INVALID));
    let mut request = SaMad::query(
        Method::GET_TABLE,
        &PKeyTableRecord::default(),
        ComponentMask(0),
    );
    request.set_sm_key(SmKey(1));
    assert!(!client.many::<PKeyTableRecord>(&request).is_empty());
}

#[test]
fn a_host_sees_its_own_subscriptions_only() {
    let mut client = Client::new("gen-ring-5");
    let mut info = InformInfo::default();
    info.set_lid_range_begin(Lid::PERMISSIVE)
        .set_is_generic(1)
        .set_subscribe(1)
        .set_type(0xffff)
        .set_trap_number(64)
        .set_producer_type(0xff_ffff);
    let mut data = [0; 200];
    data[..InformInfo::LEN].copy_from_slice(info.as_bytes());
    let mut subscribe = SaMad::new(Method::SET, InformInfo::ID);
    subscribe.set_data(&data);
    assert!(client.exchange(&subscribe).status().is_ok());
    let own = client.table(&InformInfoRecord::default(), ComponentMask(0));
    assert_eq!(own.len(), 1);

    let (other, _) = hosts(&client)[1];
    client.transport = client.running.sim.attach(other).unwrap();
    client.port = other;
    assert_eq!(
        client.table(&InformInfoRecord::default(), ComponentMask(0)),
        []
    );
    let mut request = SaMad::query(
        Method::GET_TABLE,
        &InformInfoRecord::default(),
        ComponentMask(0),
    );
    request.set_sm_key(SmKey(1));
    assert_eq!(client.many::<InformInfoRecord>(&request), own);
}

#[test]
fn paths_between_partitions_of_others_are_not_given_by_any_record() {
    let plain = Client::new("gen-ring-5");
    let guids: Vec<Guid> = hosts(&plain).into_iter().map(|(_, guid)| guid).collect();
    let (a, b) = (guids[1], guids[2]);
    let rules =
        format!("Default=0x7fff : ALL=limited, SELF=full;\nlab=0x10, defmember=full : {a}, {b};");
    let partitions = Partitions::parse(&rules).unwrap();
    let running = Lab::new("gen-ring-5")
        .config(|config| config.partitions = partitions)
        .up();
    let mut client = Client::of(running);
    let gids = [a, b].map(|guid| Gid::new(GidPrefix::DEFAULT, guid));

    let mut path = PathRecord::default();
    path.set_sgid(gids[0]).set_dgid(gids[1]);
    let mask = PathComponents::SGID | PathComponents::DGID;
    assert_eq!(client.table(&path, mask.into()), []);
    let counts = MultiPathComponents::SGID_COUNT | MultiPathComponents::DGID_COUNT;
    let mut record = MultiPathRecord::default();
    record.set_sgid_count(1).set_dgid_count(1);
    let administrator = client.administrator();
    let call = MultiPathCall::get(administrator, &record, counts, &gids[..1], &gids[1..]);
    let mut call = call.unwrap();
    assert_eq!(client.ask_client(call.clone()), []);
    call.request.set_sm_key(SmKey(1));
    // A request with the same transaction ID is recognized for some time.
    client.running.run_for(Duration::from_secs(20));
    assert_eq!(client.ask_client(call).len(), 1);
}

#[test]
fn a_service_association_is_given_to_who_shows_its_key() {
    let mut client = Client::new("gen-ring-5");
    let own = Gid::new(GidPrefix::DEFAULT, hosts(&client).last().unwrap().1);
    let mut service = ServiceRecord::default();
    service
        .set_service_id(5)
        .set_service_gid(own)
        .set_service_key(&[7; 16])
        .set_service_name(&Text::new("disk"));
    let mask = ServiceComponents::SERVICE_ID
        | ServiceComponents::SERVICE_GID
        | ServiceComponents::SERVICE_KEY
        | ServiceComponents::SERVICE_NAME;
    client.set(&service, mask.into()).unwrap();

    let all = ComponentMask(0);
    assert_eq!(client.table(&ServiceAssociationRecord::default(), all), []);
    let mut template = ServiceAssociationRecord::default();
    template.set_service_key(&[7; 16]);
    let key = ServiceAssociationComponents::SERVICE_KEY.into();
    let found = client.get(&template, key).unwrap();
    assert_eq!(found.service_name().to_str(), Some("disk"));
    template.set_service_key(&[8; 16]);
    let none = client.get(&template, key);
    assert_eq!(none, Err(MadStatus::from_sa(SaStatus::NO_RECORDS)));
    let mut request = SaMad::query(Method::GET_TABLE, &template, all);
    request.set_sm_key(SmKey(1));
    assert_eq!(client.many::<ServiceAssociationRecord>(&request), [found]);
}

/// The number of records that a request from this LID gets; `None` without an answer.
fn nodes_for(client: &mut Client, lid: Lid, sm_key: u64) -> Option<usize> {
    use ib_mad::{Engine as _, Input, Mad, MadAddress};
    use ib_transport::Clock as _;
    let mut template = NodeRecord::default();
    template.set_lid(client.lid());
    let mut request = SaMad::query(Method::GET, &template, ib_sa::NodeComponents::LID);
    request.set_sm_key(SmKey(sm_key));
    let mad = Mad {
        address: MadAddress::gsi(lid, ib_wire::Sl::ZERO),
        bytes: *request.as_bytes(),
    };
    let now = client.running.sim.now();
    client.running.sm.handle_input(now, Input::Mad(&mad));
    let answer = client.running.sm.poll_transmit(now)?;
    Some(usize::from(answer.header().status().is_ok()))
}

#[test]
fn a_sender_that_is_no_port_of_the_subnet_sees_nothing_without_the_key() {
    let mut client = Client::new("gen-ring-5");
    let own = client.lid();
    for (lid, key, expected) in [
        (own, 0, Some(1)),
        (Lid(0xbff0), 0, Some(0)),
        (Lid(0xbff0), 1, Some(1)),
        (own, 1, Some(1)),
        (own, 9, None),
        (Lid(0xbff0), 9, None),
    ] {
        let found = nodes_for(&mut client, lid, key);
        assert_eq!(found, expected, "from {lid} with key {key}");
    }
}
