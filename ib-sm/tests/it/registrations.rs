//! Registrations of hosts outlive the administrator: memberships, services, subscriptions, alias GUIDs.

use std::time::Duration;

use ib_mad::{Attribute, InformInfo, Method};
use ib_sa::{
    GuidInfoComponents, GuidInfoRecord, JoinState, McMemberComponents, McMemberRecord, SaMad,
    ServiceComponents, ServiceRecord,
};
use ib_sm::{Registrations, SmConfig};
use ib_smp::{PortInfo, SmpDirected};
use ib_testkit::lab::{Lab, client::Client};
use ib_transport::Clock;
use ib_wire::{Gid, GidPrefix, Guid, Lid, PKey, QKey};

const GROUP: u128 = 0xff12_1234_ffff_0000_0000_0000_0000_0042;

/// Time of day, in seconds, at which a file is written.
const WRITTEN: u64 = 1_700_000_000;

fn own_gid(client: &Client) -> Gid {
    let guid = client
        .running
        .sim
        .with(|sim| sim.port(client.port).unwrap().guid());
    Gid::new(GidPrefix::DEFAULT, guid)
}

fn join(client: &mut Client) -> McMemberRecord {
    use McMemberComponents as C;
    let mut record = McMemberRecord::default();
    record
        .set_mgid(Gid(GROUP.to_be_bytes()))
        .set_port_gid(own_gid(client))
        .set_join_state(JoinState::FULL_MEMBER)
        .set_p_key(PKey::DEFAULT_FULL)
        .set_q_key(QKey(0x1234))
        .set_flow_label(0x4_5678);
    let needed = C::Q_KEY | C::P_KEY | C::SL | C::FLOW_LABEL | C::TCLASS;
    let mask = C::MGID | C::PORT_GID | C::JOIN_STATE | needed;
    client.set(&record, mask.into()).unwrap()
}

fn subscribe(client: &mut Client) {
    let mut info = InformInfo::default();
    info.set_lid_range_begin(Lid::PERMISSIVE)
        .set_is_generic(1)
        .set_subscribe(1)
        .set_type(0xffff)
        .set_trap_number(65)
        .set_producer_type(0xff_ffff);
    let mut request = SaMad::new(Method::SET, InformInfo::ID);
    let mut data = [0; 200];
    data[..36].copy_from_slice(info.as_bytes());
    request.set_data(&data);
    assert!(client.exchange(&request).status().is_ok());
}

fn offer(client: &mut Client, lease: u32) {
    use ServiceComponents as C;
    let mut record = ServiceRecord::default();
    record
        .set_service_id(0x1000_0000_0000_0001)
        .set_service_gid(own_gid(client))
        .set_service_p_key(PKey::DEFAULT_FULL)
        .set_service_lease(lease)
        .set_service_key(&[7; 16])
        .set_service_name(&ib_wire::table::Text::new("it's a 'name' with blanks"));
    record.set_service_data8(15, 0xab).unwrap();
    record.set_service_data16(7, 0xabcd).unwrap();
    record.set_service_data32(0, 0x1234_5678).unwrap();
    record.set_service_data64(1, 0x1122_3344_5566_7788).unwrap();
    let mask = C::SERVICE_ID | C::SERVICE_GID | C::SERVICE_P_KEY | C::SERVICE_LEASE;
    client.set(&record, mask.into()).unwrap();
}

fn ask_for_alias(client: &mut Client) {
    use GuidInfoComponents as C;
    let mut record = GuidInfoRecord::default();
    let mut guids = *record.guid_info();
    guids.set_guid_block(1, Guid(0xa11a5)).unwrap();
    record.set_lid(client.lid()).set_guid_info(&guids);
    let mask = C::LID | C::BLOCK_NUM | C::GUID_BLOCK_1;
    client.set(&record, mask.into()).unwrap();
}

/// A host that has made every kind of registration.
fn registered() -> Client {
    let mut client = Client::of(Lab::new("gen-ring-5").up());
    join(&mut client);
    subscribe(&mut client);
    offer(&mut client, 1000);
    ask_for_alias(&mut client);
    client.running.run_for(Duration::from_millis(10));
    client
}

fn kept(client: &Client) -> Registrations {
    let now = client.running.sim.now();
    client.running.sm.registrations(now)
}

fn restart(client: &mut Client, registrations: Registrations) {
    restart_as(client, registrations, false);
}

fn restart_as(client: &mut Client, registrations: Registrations, drop_event_subscriptions: bool) {
    let config = SmConfig {
        drop_event_subscriptions,
        registrations,
        sweep_interval: None,
        first_transaction_id: ib_mad::TransactionId(0x10_0000),
        ..SmConfig::default()
    };
    client.running.restart(config);
    client.running.run_until_up();
    client.running.run_for(Duration::from_millis(10));
}

/// Number of ports whose hosts were asked to register again.
fn asked_to_register(client: &Client) -> usize {
    let sent = client.running.transport.sent.iter();
    let sets = sent.filter(|mad| {
        let header = mad.header();
        header.method() == Method::SET && header.attribute_id() == PortInfo::ID
    });
    sets.filter(|mad| {
        let (smp, _) = SmpDirected::parse(&mad.bytes, 0).unwrap();
        PortInfo::from_bytes(*smp.smp_data()).client_reregister()
    })
    .count()
}

#[test]
fn what_is_written_is_read_again() {
    let client = registered();
    let before = kept(&client);
    // IPoIB's broadcast group exists as well, without members.
    assert_eq!(before.groups.len(), 2);
    let members = before.groups.iter().map(|group| group.members.len());
    assert_eq!(members.sum::<usize>(), 1);
    assert_eq!(before.subscriptions.len(), 1);
    assert_eq!(before.services.len(), 1);
    assert_eq!(before.guids.len(), 1);
    let text = before.to_text(WRITTEN);
    assert_eq!(Registrations::parse(&text, WRITTEN), Ok(before), "{text}");
}

#[test]
fn leases_run_on_while_there_is_no_manager() {
    let text = kept(&registered()).to_text(WRITTEN);
    let later = Registrations::parse(&text, WRITTEN + 400).unwrap();
    let lease = later.services[0].service_lease();
    assert!((590..=600).contains(&lease), "{lease}");
    let much_later = Registrations::parse(&text, WRITTEN + 1000).unwrap();
    assert!(much_later.services.is_empty());
}

#[test]
fn a_restarted_administrator_keeps_registrations_and_requests_no_reregistration() {
    let mut client = registered();
    let before = kept(&client);
    restart(&mut client, before.clone());
    let after = kept(&client);
    assert_eq!(after.groups, before.groups);
    assert_eq!(after.subscriptions, before.subscriptions);
    assert_eq!(after.guids, before.guids);
    assert_eq!(after.services.len(), 1);
    assert_eq!(asked_to_register(&client), 0);
    // Without the file every host is asked.
    restart(&mut client, Registrations::default());
    assert!(asked_to_register(&client) > 0);
    assert_eq!(client.running.sm.status().registered.memberships, 0);
}

#[test]
fn memberships_of_ports_that_are_gone_are_dropped_and_the_rest_as_the_options_say() {
    for (drop, left) in [(true, 0), (false, 1)] {
        let mut client = registered();
        let before = kept(&client);
        let port = client.port;
        client.running.sim.with(|sim| sim.unlink(port).unwrap());
        restart_as(&mut client, before, drop);
        let registered = client.running.sm.status().registered;
        assert_eq!(registered.memberships, 0);
        assert_eq!(
            (registered.services, registered.subscriptions),
            (left, left)
        );
    }
}

/// The format of OpenSM 3.3.23.
const OPENSM: &str = "\
GUIDInfo Record: base_guid=0x0002c90300000001 lid=0x0003 block_num=0x0 guid0=0x0002c90300000001 guid1=0x0000000000000000 guid2=0x0000000000000000 guid3=0x0000000000000000 guid4=0x0000000000000000 guid5=0x0000000000000000 guid6=0x0000000000000000 guid7=0x0000000000000000

MC Group 0xc000  (well known): mgid=0xff12401bffff0000:0x00000000ffffffff port_gid=0x0000000000000000:0x0000000000000000 qkey=0x00000b1b mlid=0xc000 mtu=0x84 tclass=0x00 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x00000000 scope_state=0x21 proxy_join=0x0

mcm_port: port_gid=0xfe80000000000000:0x0002c90300000001 scope_state=0x21 proxy_join=0x0

InformInfo Record: subscriber_gid=0xfe80000000000000:0x0002c90300000001 subscriber_enum=0x2 InformInfo: gid=0x0000000000000000:0x0000000000000000 lid_range_begin=0xffff lid_range_end=0x0 is_generic=0x1 subscribe=0x1 trap_type=0x3 trap_num=0x41 qpn_resp_time_val=0x113 node_type=0x000004 rep_addr: lid=0x0003 path_bits=0x00 static_rate=0x00 remote_qp=0x00000001 remote_qkey=0x80010000 pkey_ix=0x0000 sl=0x00

Service Record: id=0x0000000000000123 gid=0xfe80000000000000:0x0002c90300000001 pkey=0xffff lease=0xffffffff key=0x0000000000000000:0x0000000000000000 name='test' data8=0x0000000000000000:0x0000000000000001 data16=0x0000000000000000:0x0000000000000002 data32=0x0000000000000000:0x0000000000000003 data64=0x0000000000000000:0x0000000000000004 modified_time=0x6553f100 lease_period=0xffffffff

";

#[test]
fn a_dump_of_opensm_is_read() {
    let read = Registrations::parse(OPENSM, WRITTEN).unwrap();
    let [group] = read.groups.as_slice() else {
        panic!("{read:?}")
    };
    assert!(group.well_known);
    assert_eq!(group.group.mlid(), Lid(0xc000));
    assert_eq!(group.group.q_key(), QKey(0xb1b));
    assert_eq!(group.group.mtu().0, 4);
    assert_eq!(
        group.members[0].port_gid().guid(),
        Guid(0x0002_c903_0000_0001)
    );
    assert_eq!(group.members[0].join_state(), JoinState::FULL_MEMBER);
    assert_eq!(read.subscriptions[0].address.lid, Lid(3));
    assert_eq!(read.services[0].service_data64(1), Some(4));
    // The text is the same except for the time of day.
    assert_eq!(read.to_text(0x6553_f100), OPENSM);
}

#[test]
fn a_line_that_lacks_something_is_named() {
    for (from, to) in [
        (" mlid=0xc000", " mlid=0x0001"),
        (" qkey=0x", " key=0x"),
        ("name='test'", "name='test"),
        ("remote_qp=0x00000001", "remote_qp=one"),
        ("guid7=0x", "guid8=0x"),
    ] {
        let broken = OPENSM.replace(from, to);
        let error = Registrations::parse(&broken, WRITTEN).unwrap_err();
        let line = broken.lines().position(|line| line.contains(to)).unwrap() + 1;
        assert_eq!(error.line, line, "{from}: {error}");
    }
    let lonely = "mcm_port: port_gid=0x1:0x2 scope_state=0x21 proxy_join=0x0\n";
    assert_eq!(Registrations::parse(lonely, WRITTEN).unwrap_err().line, 1);
}

/// A host of the manager writes its file when the version has changed.
#[test]
fn the_version_grows_with_each_kind_of_registration_and_with_nothing_else() {
    let mut client = Client::of(Lab::new("gen-ring-5").up());
    let steps: [fn(&mut Client); 4] = [
        |client| _ = join(client),
        subscribe,
        |client| offer(client, 1000),
        ask_for_alias,
    ];
    let mut before = client.running.sm.registrations_version();
    for (number, step) in steps.into_iter().enumerate() {
        step(&mut client);
        let after = client.running.sm.registrations_version();
        assert!(after > before, "{number}: {after}");
        client.table(&McMemberRecord::default(), ib_sa::ComponentMask(0));
        assert_eq!(client.running.sm.registrations_version(), after);
        before = after;
    }
}

/// A host whose link was down meanwhile may have lost what it had registered, or been restarted.
#[test]
fn a_host_whose_port_is_not_active_is_asked_to_register_again() {
    let mut client = registered();
    let kept = kept(&client);
    let port = client.port;
    client.running.sim.with(|sim| {
        sim.unlink(port).unwrap();
        assert!(sim.relink(port).unwrap());
    });
    let trained = client.running.sim.now() + Duration::from_millis(100);
    client.running.sim.advance(trained);
    restart(&mut client, kept);
    assert_eq!(asked_to_register(&client), 1);
}
