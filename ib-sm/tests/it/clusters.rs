//! Logical clusters: one fabric under several managers, none of which addresses devices beyond its boundary.

use std::{collections::BTreeMap, time::Duration};

use ib_mad::{Attribute as _, Mad, MadAddress, MadStatus, Method};
use ib_routing::{
    Fabric, PortRef, VerifyReport,
    cluster::{self, ClusterConfig},
    engine,
};
use ib_sa::{JoinState, McMemberRecord, PathComponents, PathRecord, SaMad};
use ib_sm::Event;
use ib_smp::{DrPath, SmInfo, SmState, SmpDirected};
use ib_testkit::{
    fabrics::generated,
    lab::clusters::{Confined, divided},
};
use ib_transport::{Clock as _, MadTransport as _, Received};
use ib_wire::{
    Bth, Deth, Gid, GidPrefix, Grh, GrhNxtHdr, Guid, Lid, Lmc, Lrh, Mtu, OpCode, PKey,
    PacketBuilder, PortNum, QKey, Qpn, Sl, addr::LidRange,
};

const MCSM: &str = include_str!("../../../ib-routing/testdata/clusters/mcsm.conf");

fn mcsm() -> (Fabric, Vec<ClusterConfig>) {
    (generated("mcsm"), cluster::read(MCSM).unwrap())
}

/// Checks that every pair has a route in the switches' tables, and that no route loops.
#[track_caller]
fn reached(confined: &Confined) -> VerifyReport {
    let report = confined.judge();
    let broken = (report.unreachable, report.loops);
    assert_eq!(broken, (0, 0), "{:?}", report.failures);
    report
}

/// Checks that the routes are free of deadlocks too. No manager can promise this alone: it holds where each
/// cluster is a single switch.
#[track_caller]
fn verified(confined: &Confined) {
    let report = reached(confined);
    assert!(report.all_deadlock_free, "{:?}", report.cycle);
}

#[test]
fn three_managers_bring_three_clusters_up_and_the_union_holds() {
    let (fabric, configs) = mcsm();
    let confined = Confined::up(fabric, configs);
    verified(&confined);
    for ((sm, transport), config) in confined.managers.iter().zip(&confined.configs) {
        let mut own = sm.own_lids().destinations().iter();
        assert!(
            own.all(|port| config.first <= port.range.base() && port.range.last() <= config.last)
        );
        let counts = sm.summary().fabric;
        assert_eq!(
            (
                counts.switches,
                counts.cas,
                counts.routers,
                counts.links,
                counts.lids
            ),
            (1, 2, 0, 2, 3)
        );
        let sent = confined.sim.with(|sim| sim.smps_sent(transport.at));
        assert!(sent > 20, "{sent}");
    }
}

#[test]
fn each_cluster_is_routed_by_its_own_engine() {
    let fabric = generated("mesh:6x4,hosts=2");
    let mut configs = divided(&fabric, 3, 100);
    let engines = [&engine::UPDN, &engine::LASH, &engine::DOR];
    for (config, engine) in configs.iter_mut().zip(engines) {
        config.engines = [engine.clone()].into();
    }
    let confined = Confined::start(fabric, configs, BTreeMap::new(), |_, _| {});
    let mut confined = confined;
    confined.settle();
    let used: Vec<_> = confined
        .managers
        .iter()
        .map(|(sm, _)| sm.engine().unwrap())
        .collect();
    assert_eq!(used, ["updn", "lash", "dor"]);
    let report = confined.judge();
    assert_eq!(
        (report.unreachable, report.loops),
        (0, 0),
        "{:?}",
        report.failures
    );
}

const SECOND: Duration = Duration::from_secs(1);

/// Numbers of datagrams, other than answers, that each manager has sent.
fn requests(confined: &Confined) -> Vec<usize> {
    let managers = confined.managers.iter();
    managers
        .map(|(_, transport)| transport.num_requests())
        .collect()
}

fn hosts(fabric: &Fabric) -> Vec<PortRef> {
    let nodes = fabric.nodes().iter_enumerated();
    let ends = nodes.filter(|(_, node)| !node.type_.is_switch());
    ends.flat_map(|(node, entry)| {
        let linked = entry.end_ports().filter(|(_, port)| port.peer.is_some());
        linked.map(move |(port, _)| PortRef { node, port })
    })
    .collect()
}

/// A cable inside a cluster whose loss leaves its switches connected: between two switches, otherwise to a host
/// without a manager.
fn inner_cable(confined: &Confined, cluster: usize) -> PortRef {
    let fabric = &confined.fabric;
    let manager_ports: Vec<_> = confined
        .managers
        .iter()
        .map(|(_, transport)| transport.at.node)
        .collect();
    let inside = |node| confined.cluster_of(node) == Some(cluster);
    let mut links = fabric.links();
    let (one, _) = links
        .find(|(one, other)| {
            let both_inside = inside(one.node) && inside(other.node);
            both_inside
                && !manager_ports.contains(&one.node)
                && !manager_ports.contains(&other.node)
        })
        .unwrap();
    one
}

#[test]
fn a_failure_in_one_cluster_sends_no_mad_in_another() {
    let fabric = generated("mesh:6x4,hosts=2");
    let configs = divided(&fabric, 3, 100);
    let mut confined = Confined::up(fabric, configs);
    for cluster in 0..3 {
        let cable = inner_cable(&confined, cluster);
        for relink in [false, true] {
            confined.forget();
            confined.sim.with(|sim| match relink {
                false => sim.unlink(cable).unwrap(),
                true => assert!(sim.relink(cable).unwrap()),
            });
            confined.settle();
            for (other, count) in requests(&confined).into_iter().enumerate() {
                assert_eq!(
                    count > 0,
                    other == cluster,
                    "cluster {other} of a failure in {cluster}"
                );
            }
        }
    }
    reached(&confined);
}

#[test]
fn a_cluster_whose_manager_and_host_are_gone_leaves_the_others_as_they_were() {
    let (fabric, configs) = mcsm();
    let mut confined = Confined::up(fabric, configs);
    let tables = |confined: &Confined| {
        let routes = confined.managers.iter().map(|(sm, _)| sm.routes().cloned());
        routes.collect::<Vec<_>>()
    };
    let before = tables(&confined);
    confined.forget();
    let (_, transport) = confined.managers.remove(2);
    confined.configs.remove(2);
    confined.sim.with(|sim| sim.power_off(transport.at.node));
    confined.run_for(60 * SECOND);
    assert_eq!(requests(&confined), [0, 0]);
    assert_eq!(tables(&confined), before[..2]);
}

#[test]
fn managers_of_other_clusters_are_no_rivals() {
    let (fabric, configs) = mcsm();
    let confined = Confined::start(fabric, configs, BTreeMap::new(), |index, config| {
        config.sm_priority = index as u8;
        config.sweep_interval = Some(10 * SECOND);
        config.force_heavy_sweep = true;
    });
    let mut confined = confined;
    confined.settle();
    for (sm, transport) in &confined.managers {
        assert_eq!(sm.state(), SmState::MASTER);
        assert!(sm.status().others.is_empty());
        let polls = transport
            .sent
            .iter()
            .filter(|mad| mad.header().attribute_id() == SmInfo::ID);
        assert_eq!(polls.count(), 0);
    }
    verified(&confined);
}

/// Sends SMInfo along a directed route from the host with index `from` to the first manager; returns whether it
/// answers.
fn asks_the_first_manager(
    confined: &mut Confined,
    from: PortRef,
    method: Method,
    path: &[u8],
) -> bool {
    let ports: Vec<_> = path.iter().copied().map(PortNum).collect();
    let path = DrPath::try_new(&ports).unwrap();
    // The attribute modifier of a Set: DISABLE.
    let modifier = if method == Method::SET { 3 } else { 0 };
    let mut smp = SmpDirected::new(method, SmInfo::ID, modifier, &path);
    smp.set_transaction_id(ib_mad::TransactionId(0x7777));
    let mad = Mad {
        address: MadAddress::DIRECTED,
        bytes: *smp.as_bytes(),
    };
    let mut transport = confined.sim.attach(from).unwrap();
    transport.send(confined.sim.now(), &mad).unwrap();
    confined.forget();
    confined.run_for(Duration::from_millis(100));
    let mut answers = confined.managers[0].1.sent.iter();
    answers.any(|mad| mad.header().method() == Method::GET_RESP)
}

#[test]
fn sm_info_from_beyond_the_boundary_is_ignored() {
    let (fabric, configs) = mcsm();
    let mut confined = Confined::up(fabric, configs);
    let at = |guid: u64| PortRef {
        node: confined.fabric.node_by_guid(Guid(guid)).unwrap(),
        port: PortNum(1),
    };
    let (inside, outside) = (at(0x2c90_0000_1010), at(0x2c90_0000_1030));
    // The first manager sits at port 1 of the first switch.
    assert!(asks_the_first_manager(
        &mut confined,
        inside,
        Method::GET,
        &[1, 1]
    ));
    assert!(!asks_the_first_manager(
        &mut confined,
        outside,
        Method::GET,
        &[1, 23, 1]
    ));
    assert!(!asks_the_first_manager(
        &mut confined,
        outside,
        Method::SET,
        &[1, 24, 1]
    ));
    assert_eq!(confined.managers[0].0.state(), SmState::MASTER);
}

#[test]
fn two_managers_of_one_cluster_elect_a_master() {
    let (fabric, configs) = mcsm();
    let mut confined = Confined::start(fabric, configs, BTreeMap::new(), |_, config| {
        config.sweep_interval = Some(10 * SECOND);
    });
    // Another manager, on the second server of the first cluster.
    let at = PortRef {
        node: confined
            .fabric
            .node_by_guid(Guid(0x2c90_0000_1010))
            .unwrap(),
        port: PortNum(1),
    };
    confined.add(at, 0, |config| config.sm_priority = 5);
    confined.run_for(60 * SECOND);
    let states: Vec<_> = confined.managers.iter().map(|(sm, _)| sm.state()).collect();
    let (standby, master) = (SmState::STANDBY, SmState::MASTER);
    assert_eq!(states, [standby, master, master, master]);
    confined.assert_confined();
    verified(&confined);
}

#[test]
fn predefined_lids_are_the_same_every_time_and_others_are_reported() {
    let (fabric, configs) = mcsm();
    let ports = hosts(&fabric)
        .into_iter()
        .map(|at| fabric.port(at).unwrap().guid);
    let ports: Vec<Guid> = ports.collect();
    // All servers except the last; one LID is in the range of another cluster.
    let lids = [7, 900, 1700, 1050, 2999].map(Lid);
    let mut database: BTreeMap<Guid, Lid> = ports.iter().copied().zip(lids).collect();
    database.insert(Guid(0x77), Lid(1234));
    for _ in 0..3 {
        let mut confined =
            Confined::start(fabric.clone(), configs.clone(), database.clone(), |_, _| {});
        confined.settle();
        let (installed, _) = confined.installed();
        for (&guid, &lid) in ports.iter().zip(&lids) {
            assert_eq!(installed.owner(lid).unwrap().guid, guid);
        }
        let unknown = |events: &[Event]| -> Vec<Guid> {
            let all = events.iter().filter_map(|event| match event {
                Event::NoPredefinedLid { port_guid, .. } => Some(*port_guid),
                _ => None,
            });
            all.collect()
        };
        let reported: Vec<usize> = confined
            .events
            .iter()
            .map(|events| unknown(events).len())
            .collect();
        // The three switches, and the server that is not in the database.
        assert_eq!(reported, [1, 1, 2]);
        assert!(unknown(&confined.events[2]).contains(&ports[5]));
        let text = confined.events[2].iter().map(Event::to_string);
        assert_eq!(
            text.filter(|text| text.contains("has no predefined LID"))
                .count(),
            2
        );
        verified(&confined);
    }
}

#[test]
fn a_predefined_lid_of_another_clusters_range_is_not_given() {
    let (fabric, configs) = mcsm();
    let at = hosts(&fabric)[0];
    let guid = fabric.port(at).unwrap().guid;
    let database = BTreeMap::from([(guid, Lid(1500))]);
    let mut confined = Confined::start(fabric, configs, database, |_, _| {});
    confined.settle();
    verified(&confined);
    let given = confined.sim.with(|sim| sim.port(at).unwrap().info().lid());
    assert!(given <= Lid(999), "{given}");
}

/// An unreliable datagram of the default partition, from LID to LID.
fn datagram(slid: Lid, dlid: Lid, sl: Sl) -> Vec<u8> {
    let mut lrh = Lrh::default();
    lrh.set_slid(slid).set_dlid(dlid).set_sl(sl);
    let qp = match dlid.is_multicast() {
        true => Qpn::MULTICAST,
        false => Qpn::try_new(0x48).unwrap(),
    };
    let mut bth = Bth::default();
    bth.set_op_code(OpCode::UD_SEND_ONLY)
        .set_p_key(PKey::DEFAULT_FULL)
        .set_dest_qp(qp);
    let mut grh = Grh::default();
    grh.set_ip_ver(6)
        .set_nxt_hdr(GrhNxtHdr::IBA_TRANSPORT)
        .set_hop_lmt(1)
        .set_dgid(BROADCAST.parse().unwrap());
    let mut packet = match dlid.is_multicast() {
        true => PacketBuilder::global(lrh, grh, bth),
        false => PacketBuilder::local(lrh, bth),
    };
    let mut buffer = [0; 2048];
    let packet = packet.with(&Deth::default()).payload(&[0x5a; 64]);
    let len = packet.build(&mut buffer).unwrap();
    buffer[..len].to_vec()
}

const BROADCAST: &str = "ff12:401b:ffff::ffff:ffff";

fn lids_at(confined: &Confined, at: PortRef) -> LidRange {
    let info = confined.sim.with(|sim| *sim.port(at).unwrap().info());
    LidRange::try_new(info.lid(), info.lmc()).unwrap()
}

/// A packet from every host to every LID of every other one.
#[track_caller]
fn assert_delivered(confined: &Confined) {
    let ends = hosts(&confined.fabric);
    for &from in &ends {
        let (sm, _) = &confined.managers[confined.cluster_of(from.node).unwrap()];
        let slid = lids_at(confined, from).base();
        for &to in ends.iter().filter(|&&to| to != from) {
            for dlid in lids_at(confined, to).iter() {
                let packet = datagram(slid, dlid, sm.routes().unwrap().sl(slid, dlid));
                let trace = confined
                    .sim
                    .with(|sim| sim.trace_packet(from, &packet).unwrap());
                let got: Vec<_> = trace.delivered().collect();
                let lost: Vec<_> = trace.discarded().collect();
                assert_eq!(got, [to], "{slid} to {dlid}: {lost:?}");
            }
        }
    }
}

#[test]
fn data_packets_cross_all_boundaries() {
    let (triangle, configs) = mcsm();
    let chain = generated("mesh:6x2,hosts=2");
    let columns = divided(&chain, 3, 100);
    for (fabric, configs) in [(triangle, configs), (chain, columns)] {
        for lmc in [0, 1] {
            let mut configs = configs.clone();
            for config in &mut configs {
                config.lmc = Lmc::try_new(lmc).ok();
            }
            let mut confined = Confined::up(fabric.clone(), configs);
            reached(&confined);
            assert_delivered(&confined);
            // Again, after a cable between two clusters was lost.
            let place = confined.configs[0].boundary[0];
            let cable = PortRef {
                node: confined.fabric.node_by_guid(place.switch).unwrap(),
                port: place.port,
            };
            confined.sim.with(|sim| sim.unlink(cable).unwrap());
            confined.settle();
            assert_delivered(&confined);
            confined.sim.with(|sim| assert!(sim.relink(cable).unwrap()));
            confined.settle();
            reached(&confined);
            assert_delivered(&confined);
        }
    }
}

/// The answer of the administrator of a host's cluster to a request of the host.
fn ask_sa<R: ib_sa::Record>(
    confined: &mut Confined,
    from: PortRef,
    request: &SaMad,
) -> Result<R, MadStatus> {
    let sm = confined
        .sim
        .with(|sim| sim.port(from).unwrap().info().master_sm_lid());
    let mut request = *request;
    request.set_transaction_id(ib_mad::TransactionId(77));
    let mad = Mad {
        address: MadAddress::gsi(sm, Sl::ZERO),
        bytes: *request.as_bytes(),
    };
    let mut transport = confined.sim.attach(from).unwrap();
    transport.send(confined.sim.now(), &mad).unwrap();
    for _ in 0..100 {
        confined.run_for(Duration::from_micros(10));
        let now = confined.sim.now();
        if let Some(Received::Mad(mad)) = transport.recv(now).unwrap() {
            let (answer, _) = SaMad::parse(&mad.bytes, 0).unwrap();
            return match answer.status().is_ok() {
                true => Ok(*answer.single::<R>().unwrap()),
                false => Err(answer.status()),
            };
        }
    }
    panic!("no answer");
}

/// A host without a manager.
fn client(confined: &Confined, cluster: usize) -> PortRef {
    let manager_ports: Vec<_> = confined
        .managers
        .iter()
        .map(|(_, transport)| transport.at)
        .collect();
    let mut ends = hosts(&confined.fabric).into_iter();
    ends.find(|at| !manager_ports.contains(at) && confined.cluster_of(at.node) == Some(cluster))
        .unwrap()
}

#[test]
fn paths_to_other_clusters_are_answered_from_the_configuration() {
    let (fabric, configs) = mcsm();
    let ends = hosts(&fabric);
    let guid = |at: PortRef| fabric.port(at).unwrap().guid;
    let (known, unknown) = (guid(ends[4]), guid(ends[5]));
    let database = BTreeMap::from([(known, Lid(2222))]);
    let mut confined = Confined::start(fabric.clone(), configs, database, |_, _| {});
    confined.settle();
    let from = client(&confined, 0);
    let own = Gid::new(GidPrefix::DEFAULT, fabric.port(from).unwrap().guid);
    let mut ask = |to: Option<Gid>, dlid: Option<Lid>| {
        let mut template = PathRecord::default();
        let mut mask = PathComponents::SGID | PathComponents::NUMB_PATH;
        template.set_sgid(own).set_numb_path(1);
        if let Some(gid) = to {
            template.set_dgid(gid);
            mask |= PathComponents::DGID;
        }
        if let Some(lid) = dlid {
            template.set_dlid(lid);
            mask |= PathComponents::DLID;
        }
        let request = SaMad::query(Method::GET, &template, mask);
        ask_sa::<PathRecord>(&mut confined, from, &request)
    };
    let gid = |guid| Gid::new(GidPrefix::DEFAULT, guid);
    let path = ask(Some(gid(known)), None).unwrap();
    assert_eq!((path.dgid(), path.dlid()), (gid(known), Lid(2222)));
    assert_eq!((path.sgid(), path.p_key()), (own, PKey::DEFAULT_FULL));
    assert!(path.mtu() >= Mtu::MTU_2048 && path.rate() != ib_wire::Rate(0));
    assert_eq!(ask(None, Some(Lid(2222))).unwrap().dgid(), gid(known));
    assert_eq!(
        ask(Some(gid(known)), Some(Lid(2222))).unwrap().dlid(),
        Lid(2222)
    );
    // A LID of a range has a path, whether or not a port has it; a GID that the configuration does not contain
    // has none.
    assert_eq!(ask(None, Some(Lid(1001))).unwrap().dlid(), Lid(1001));
    assert!(ask(Some(gid(unknown)), None).is_err());
    assert!(ask(None, Some(Lid(3500))).is_err());
    assert!(ask(Some(gid(known)), Some(Lid(2223))).is_err());
    // The packet follows the path.
    let slid = lids_at(&confined, from).base();
    let packet = datagram(slid, Lid(2222), path.sl());
    let trace = confined
        .sim
        .with(|sim| sim.trace_packet(from, &packet).unwrap());
    assert_eq!(trace.delivered().collect::<Vec<_>>(), [ends[4]]);
}

/// Joins a host to a group; returns its multicast LID.
fn join(confined: &mut Confined, at: PortRef, mgid: &str) -> Lid {
    use ib_sa::McMemberComponents as C;
    let guid = confined.fabric.port(at).unwrap().guid;
    let mut member = McMemberRecord::default();
    member
        .set_mgid(mgid.parse().unwrap())
        .set_port_gid(Gid::new(GidPrefix::DEFAULT, guid))
        .set_join_state(JoinState::FULL_MEMBER)
        .set_p_key(PKey::DEFAULT_FULL)
        .set_q_key(QKey(0x0b1b));
    let create = C::Q_KEY | C::P_KEY | C::SL | C::FLOW_LABEL | C::TCLASS;
    let mask = C::MGID | C::PORT_GID | C::JOIN_STATE | create;
    let mask = match mgid == BROADCAST {
        true => C::MGID | C::PORT_GID | C::JOIN_STATE,
        false => mask,
    };
    let request = SaMad::query(Method::SET, &member, mask);
    let joined: McMemberRecord = ask_sa(confined, at, &request).unwrap();
    joined.mlid()
}

/// Checks that a packet of each member reaches every other member exactly once, and no other port.
#[track_caller]
fn assert_flooded(confined: &Confined, members: &[PortRef], mlid: Lid) {
    for &from in members {
        let packet = datagram(lids_at(confined, from).base(), mlid, Sl::ZERO);
        let trace = confined
            .sim
            .with(|sim| sim.trace_packet(from, &packet).unwrap());
        let mut got: Vec<_> = trace.delivered().collect();
        got.sort();
        let others = members.iter().copied().filter(|&member| member != from);
        assert_eq!(
            got,
            others.collect::<Vec<_>>(),
            "{:?}",
            trace.discarded().collect::<Vec<_>>()
        );
    }
}

#[test]
fn multicast_trees_are_joined_over_the_boundary() {
    let (triangle, configs) = mcsm();
    let chain = generated("mesh:6x2,hosts=2");
    let columns = divided(&chain, 3, 100);
    for (fabric, configs) in [(triangle, configs), (chain, columns)] {
        let mut confined = Confined::up(fabric, configs);
        // A manager receives the packets that arrive at its own port.
        let manager_ports: Vec<_> = confined
            .managers
            .iter()
            .map(|(_, transport)| transport.at)
            .collect();
        let mut members = hosts(&confined.fabric);
        members.retain(|at| !manager_ports.contains(at));
        members.sort();
        let mlids: Vec<Lid> = members
            .iter()
            .map(|&at| join(&mut confined, at, BROADCAST))
            .collect();
        assert!(mlids.iter().all(|&mlid| mlid == mlids[0]), "{mlids:?}");
        confined.settle();
        assert_flooded(&confined, &members, mlids[0]);
    }
}

#[test]
fn five_clusters_with_all_lids_of_the_subnet() {
    // A chain: the ends are reached through the three between them, over two cables each.
    let fabric = generated("mesh:10x2,hosts=1");
    let count = fabric.num_switches();
    let cluster_of = (0..count).map(|at| at * 5 / count).collect();
    let configs = cluster::plan(&fabric, &cluster_of);
    let confined = Confined::up(fabric, configs);
    reached(&confined);
    assert_delivered(&confined);
    // Every table forwards every LID of the other clusters' ranges.
    for ((sm, _), own) in confined.managers.iter().zip(&confined.configs) {
        let guid = sm.fabric().switch_guid(ib_routing::SwitchIdx(0));
        confined.sim.with(|sim| {
            let node = sim.node(sim.find_guid(guid).unwrap()).unwrap();
            let others = confined
                .configs
                .iter()
                .filter(|other| other.name != own.name);
            let mut lids = others.flat_map(|other| (other.first.0..=other.last.0).map(Lid));
            assert!(lids.all(|lid| {
                node.lft_port(lid)
                    .is_some_and(|port| port != PortNum::UNREACHABLE)
            }));
        });
    }
}

#[test]
fn a_manager_sits_on_a_switch_of_a_cluster_without_hosts() {
    let fabric = generated("ring:switches=6,hosts=1");
    let mut builder = fabric.to_builder();
    // The last two switches lose their hosts.
    for at in hosts(&fabric).into_iter().rev().take(2) {
        builder.remove_link(at);
    }
    let fabric = builder.build();
    let configs = divided(&fabric, 3, 50);
    let confined = Confined::up(fabric, configs);
    assert_eq!(confined.managers[2].1.at.port, PortNum::MANAGEMENT);
    let report = confined.judge();
    assert_eq!(
        (report.unreachable, report.loops),
        (0, 0),
        "{:?}",
        report.failures
    );
    assert_delivered(&confined);
}
