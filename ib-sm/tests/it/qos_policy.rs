//! A QoS policy: the service level of a path depends on the requester and on the request.

use ib_routing::{SharedEngine, engine};
use ib_sa::{PathComponents, PathRecord};
use ib_sm::QosPolicy;
use ib_testkit::lab::{Lab, client::Client};
use ib_wire::{Mtu, PKey, Sl};

const POLICY: &str = "
    port-groups
        port-group
            name: Switches
            node-type: SWITCH
        end-port-group
    end-port-groups
    qos-levels
        qos-level
            name: Slow
            sl: 5
            mtu-limit: 3
            packet-life: 4
        end-qos-level
    end-qos-levels
    qos-match-rules
        qos-match-rule
            destination: Switches
            qos-level-name: Slow
        end-qos-match-rule
        qos-match-rule
            qos-class: 7-9
            qos-level-name: Slow
        end-qos-match-rule
    end-qos-match-rules
    qos-ulps
        default                  : 1
        sdp, port-num 1000-2000  : 2
        ipoib                    : 3
    end-qos-ulps";

fn client(policy: &str, qos: bool, engine: &SharedEngine) -> Client {
    let lab = Lab::new("gen-ring-5").config(|config| {
        config.routing_engines = vec![engine.clone()];
        config.allow_deadlock = true;
        config.qos.enabled = qos;
        config.qos_policy = QosPolicy::parse(policy).unwrap();
    });
    Client::of(lab.up())
}

/// The path from the client to the first port of a type, with the query adapted by `change`.
fn path(
    client: &mut Client,
    to_switch: bool,
    mask: PathComponents,
    change: impl FnOnce(&mut PathRecord),
) -> PathRecord {
    let lids = client.running.sm.lids();
    let ends = lids.destinations().iter();
    let own = client.lid();
    let mut ends = ends.filter(|end| end.is_switch() == to_switch && !end.range.contains(own));
    let dlid = ends.next().unwrap().range.base();
    let mut template = PathRecord::default();
    template.set_slid(own).set_dlid(dlid);
    change(&mut template);
    let mask = mask | PathComponents::SLID | PathComponents::DLID;
    client.get(&template, mask.into()).unwrap()
}

fn sl(level: u8) -> Sl {
    Sl::try_new(level).unwrap()
}

#[test]
fn the_first_rule_that_fits_decides() {
    use PathComponents as C;
    let mut client = client(POLICY, true, &engine::MINHOP);
    let any = path(&mut client, false, C::empty(), |_| {});
    assert_eq!(any.sl(), sl(1));
    let to_switch = path(&mut client, true, C::empty(), |_| {});
    assert_eq!((to_switch.sl(), to_switch.mtu()), (sl(5), Mtu::MTU_1024));
    assert_eq!(to_switch.packet_life_time(), 4);
    let class = path(&mut client, false, C::QOS_CLASS, |path| {
        path.set_qos_class(8);
    });
    assert_eq!((class.sl(), class.qos_class()), (sl(5), 8));
    let service = C::SERVICE_ID_8MSB | C::SERVICE_ID_56LSB;
    for (port, expected) in [(999, 1), (1000, 2), (2000, 2), (2001, 1)] {
        let sdp = path(&mut client, false, service, |path| {
            path.set_service_id(0x1_0000 + port);
        });
        assert_eq!(sdp.sl(), sl(expected), "port {port}");
    }
    // The service ID has two components, and counts if the request names both.
    for part in [C::empty(), C::SERVICE_ID_8MSB, C::SERVICE_ID_56LSB] {
        let unnamed = path(&mut client, false, part, |path| {
            path.set_service_id(0x1_0000 + 1000);
        });
        assert_eq!(unnamed.sl(), sl(1), "{part:?}");
    }
    let ipoib = path(&mut client, false, C::P_KEY, |path| {
        path.set_p_key(PKey::DEFAULT_FULL);
    });
    assert_eq!(ipoib.sl(), sl(3));
}

#[test]
fn a_group_of_the_managers_port_has_no_other_members() {
    let policy = "port-groups\nport-group\nname: Manager\nnode-type: SELF\nend-port-group\n\
        end-port-groups\nqos-levels\nqos-level\nname: Direct\nsl: 6\nend-qos-level\nend-qos-levels\n\
        qos-match-rules\nqos-match-rule\ndestination: Manager\nqos-level-name: Direct\n\
        end-qos-match-rule\nend-qos-match-rules";
    let mut client = client(policy, true, &engine::MINHOP);
    let (own, manager) = (client.lid(), client.administrator().lid);
    let lids = client.running.sm.lids();
    let ends: Vec<_> = lids.destinations().iter().copied().collect();
    let hosts = ends
        .iter()
        .filter(|end| !end.is_switch() && !end.range.contains(own));
    for end in hosts {
        let dlid = end.range.base();
        let mut template = PathRecord::default();
        template.set_slid(own).set_dlid(dlid);
        let found = client.get(
            &template,
            (PathComponents::SLID | PathComponents::DLID).into(),
        );
        let expected = if dlid == manager { 6 } else { 0 };
        assert_eq!(found.unwrap().sl(), sl(expected), "{dlid}");
    }
}

#[test]
fn a_policy_needs_qos() {
    let mut client = client(POLICY, false, &engine::MINHOP);
    let path = path(&mut client, true, PathComponents::empty(), |_| {});
    assert_eq!((path.sl(), path.mtu()), (Sl::ZERO, Mtu::MTU_4096));
}

#[test]
fn levels_that_keep_packets_from_deadlocks_stay() {
    let policy = "qos-ulps\ndefault : 7\nend-qos-ulps";
    let mut client = client(policy, true, &engine::DFSSSP);
    let path = path(&mut client, false, PathComponents::empty(), |_| {});
    let routes = client.running.sm.routes().unwrap();
    assert_eq!(path.sl(), routes.sl(path.slid(), path.dlid()));
}

/// A level for ports of a partition, whose paths are in another one.
const PARTITIONED: &str = "
    port-groups
        port-group
            name: Lab
            partition: lab
        end-port-group
    end-port-groups
    qos-levels
        qos-level
            name: L
            sl: 4
            rate-limit: 2
            pkey: 0x20
        end-qos-level
    end-qos-levels
    qos-match-rules
        qos-match-rule
            source: Lab
            qos-level-name: L
        end-qos-match-rule
    end-qos-match-rules";

#[test]
fn a_group_of_a_partition_has_its_members_and_a_level_chooses_among_their_partitions() {
    use PathComponents as C;
    let own = Client::new("gen-ring-5");
    let own = own
        .running
        .sim
        .with(|sim| sim.port(own.port).unwrap().guid());
    for (members, fits) in [("ALL=full".to_owned(), true), ("SELF=full".into(), false)] {
        let rules = format!(
            "Default=0x7fff : ALL=full;\nlab=0x10 : {members};\n\
             work=0x20 : ALL=full;\nother=0x30 : {own}=full;"
        );
        let lab = Lab::new("gen-ring-5").config(|config| {
            config.partitions = ib_sm::Partitions::parse(&rules).unwrap();
            config.routing_engines = vec![engine::MINHOP.clone()];
            config.allow_deadlock = true;
            config.qos.enabled = true;
            config.qos_policy = QosPolicy::parse(PARTITIONED).unwrap();
        });
        let mut client = Client::of(lab.up());
        let any = path(&mut client, false, C::empty(), |_| {});
        let expected = match fits {
            true => (sl(4), PKey(0x8020), ib_wire::Rate::GBPS_2_5),
            false => (Sl::ZERO, PKey::DEFAULT_FULL, any.rate()),
        };
        assert_eq!((any.sl(), any.p_key(), any.rate()), expected);
        assert_eq!(any.rate() == ib_wire::Rate::GBPS_2_5, fits);
        // A request that names a partition of the level gets it; of another one there is no path.
        let named = path(&mut client, false, C::P_KEY, |path| {
            path.set_p_key(PKey(0x8020));
        });
        assert_eq!((named.sl(), named.p_key()), (expected.0, PKey(0x8020)));
        let own = client.lid();
        let lids = client.running.sm.lids();
        let mut ends = lids.destinations().iter();
        let other = ends.find(|end| !end.is_switch() && !end.range.contains(own));
        let mut template = PathRecord::default();
        template
            .set_slid(own)
            .set_dlid(other.unwrap().range.base())
            .set_p_key(PKey(0x8010));
        let found = client.table(&template, (C::SLID | C::DLID | C::P_KEY).into());
        assert_eq!(
            found,
            [],
            "the level excludes it, or the other end is not in it"
        );
    }
}
