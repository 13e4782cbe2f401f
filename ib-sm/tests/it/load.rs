//! Many requests at once: a requester does not wait for the flood of another, and each request is answered.

use std::time::Duration;

use ib_mad::{
    Engine, Input, Mad, MadAddress, MadStatus, Method, RmppConfig, SaStatus, SmKey, TransactionId,
};
use ib_sa::{
    ComponentMask, JoinState, McMemberComponents, McMemberRecord, NodeComponents, NodeRecord,
    PathComponents, PathRecord, SaMad,
};
use ib_testkit::{
    fabrics::generated,
    lab::{Lab, Running, client::Client},
};
use ib_transport::Clock as _;
use ib_wire::{Gid, GidPrefix, Guid, Lid, PKey, Sl};

/// LIDs and GUIDs of the hosts; the manager's is first.
fn hosts(running: &Running) -> Vec<(Lid, Guid)> {
    let ends = running.sm.lids().destinations().iter();
    let hosts = ends.filter(|end| !end.is_switch());
    hosts.map(|end| (end.range.base(), end.guid)).collect()
}

/// Gives the manager a request from `lid`, in transaction `id`.
fn send(running: &mut Running, lid: Lid, id: u64, request: &SaMad) {
    let mut request = *request;
    request.set_transaction_id(TransactionId(id));
    let mut mad = Mad::new(MadAddress::gsi(lid, Sl::ZERO));
    mad.bytes = *request.as_bytes();
    let now = running.sim.now();
    running.sm.handle_input(now, Input::Mad(&mad));
}

/// All datagrams that the manager sends now, before it waits for anything except its next turn.
fn sent(running: &mut Running) -> Vec<Mad> {
    let mut now = running.sim.now();
    let soon = now + Duration::from_micros(10);
    let mut sent = Vec::new();
    loop {
        sent.extend(std::iter::from_fn(|| running.sm.poll_transmit(now)));
        match running.sm.poll_timeout().filter(|&at| at <= soon) {
            Some(at) => {
                now = now.max(at);
                running.sm.handle_timeout(now);
            }
            None => return sent,
        }
    }
}

fn table<R: ib_sa::Record + Default>() -> SaMad {
    SaMad::query(Method::GET_TABLE, &R::default(), ComponentMask(0))
}

#[test]
fn a_request_behind_a_flood_of_tables_is_answered_first() {
    let mut running = Lab::new("gen-ft-oversub2-144").up();
    let hosts = hosts(&running);
    let (flood, other) = (hosts[1].0, hosts[2].0);
    for id in 0..200 {
        send(&mut running, flood, id, &table::<PathRecord>());
    }
    let mut get = NodeRecord::default();
    get.set_lid(other);
    let get = SaMad::query(Method::GET, &get, ib_sa::NodeComponents::LID);
    send(&mut running, other, 1, &get);
    let now = running.sim.now();
    for turn in 0..10 {
        if let Some(mad) = running.sm.poll_transmit(now) {
            // All paths are 30,000 records: no such table is sent before the answer.
            assert_eq!(mad.address.lid, other);
            assert!(turn < 2, "{turn} turns");
            return;
        }
        running.sm.handle_timeout(now + Duration::from_nanos(turn));
    }
    panic!("no answer");
}

/// The requester to which the manager sends first, if one asks for all nodes and then another one for its own.
fn first_served(running: &mut Running, id: u64) -> Lid {
    let hosts = hosts(running);
    let (many, one) = (hosts[1].0, hosts[2].0);
    let mut get = NodeRecord::default();
    get.set_lid(one);
    let get = SaMad::query(Method::GET, &get, NodeComponents::LID);
    send(running, many, id, &table::<NodeRecord>());
    send(running, one, id, &get);
    let sent = sent(running);
    assert!(sent.iter().any(|mad| mad.address.lid == many));
    assert!(sent.iter().any(|mad| mad.address.lid == one));
    sent[0].address.lid
}

#[test]
fn a_table_of_more_than_128_nodes_lets_other_requests_pass_until_it_is_known() {
    for (spec, passes) in [
        ("ring:switches=64,hosts=1", false),
        ("ring:switches=43,hosts=2", true),
    ] {
        let mut running = Lab::of(generated(spec)).up();
        running.run_for(Duration::from_millis(1));
        let hosts = hosts(&running);
        let (many, one) = (hosts[1].0, hosts[2].0);
        let first = if passes { one } else { many };
        assert_eq!(first_served(&mut running, 1), first, "{spec}");
        // A table that was made is kept, so it takes no longer than any other answer.
        assert_eq!(first_served(&mut running, 2), many, "{spec}");
    }
}

#[test]
fn get_finds_the_one_node_that_fits_among_many() {
    let mut client = Client::of(Lab::of(generated("ring:switches=43,hosts=2")).up());
    let nodes = client.table(&NodeRecord::default(), ComponentMask(0));
    assert_eq!(nodes.len(), 129);
    let mask = NodeComponents::NODE_STRING;
    for node in [nodes.first().unwrap(), nodes.last().unwrap()] {
        assert_eq!(client.get(node, mask.into()).as_ref(), Ok(node));
    }
}

#[test]
fn more_than_65536_paths_are_refused() {
    const ALL: PathComponents = PathComponents::empty();
    let too_many = MadStatus::from_sa(SaStatus::TOO_MANY_RECORDS);
    let no_resources = MadStatus::from_sa(SaStatus::NO_RESOURCES);
    // The switches have an end port each as well, so there are 256 end ports, and 260. A long table takes several turns, in
    // the first of which nothing is sent.
    for (spec, get, table) in [
        ("ring:switches=4,hosts=63", too_many, None),
        ("ring:switches=4,hosts=64", no_resources, Some(no_resources)),
    ] {
        let mut running = Lab::of(generated(spec)).up();
        let own = hosts(&running)[1].0;
        let request = |method, mask: PathComponents| {
            let mut template = PathRecord::default();
            template.set_slid(own).set_dlid(own);
            SaMad::query(method, &template, mask)
        };
        for (id, method, mask, expected) in [
            (1, Method::GET, ALL, get),
            (2, Method::GET_TABLE, PathComponents::SLID, MadStatus::OK),
            (3, Method::GET_TABLE, PathComponents::DLID, MadStatus::OK),
        ] {
            send(&mut running, own, id, &request(method, mask));
            let answer = sent(&mut running)[0];
            assert_eq!(answer.header().status(), expected, "{spec}: {mask:?}");
        }
        send(&mut running, own, 4, &request(Method::GET_TABLE, ALL));
        let answer = running.sm.poll_transmit(running.sim.now());
        assert_eq!(answer.map(|mad| mad.header().status()), table, "{spec}");
    }
}

#[test]
fn a_request_waits_for_one_turn_of_a_flood_and_no_longer() {
    // The queue reads 256 datagrams in a row at most, and serves 64 in a turn.
    const MOST_READ: usize = 256;
    const MOST_SERVED: usize = 64;
    let mut running = Lab::new("gen-ring-5").up();
    let hosts = hosts(&running);
    let (flood, other) = (hosts[1].0, hosts[2].0);
    let mut get = NodeRecord::default();
    get.set_lid(other);
    let get = SaMad::query(Method::GET, &get, ib_sa::NodeComponents::LID);
    let now = running.sim.now();
    // Since the other host asked: datagrams of the flood that were read, and answers to it.
    let mut waits: Option<(usize, usize)> = None;
    let (mut answered, mut longest) = (0, (0, 0));
    for id in 0..20_000 {
        // Input never ends, so the loop that drives the manager reads on and never waits for a timer.
        send(&mut running, flood, id, &get);
        if let Some((read, _)) = &mut waits {
            *read += 1;
        } else if id % 300 == 7 {
            send(&mut running, other, id, &get);
            waits = Some((0, 0));
        }
        while let Some(mad) = running.sm.poll_transmit(now) {
            if mad.address.lid != other {
                let is_answer = mad.header().status().is_ok();
                if let Some((_, served)) = waits.as_mut().filter(|_| is_answer) {
                    *served += 1;
                }
            } else if let Some((read, served)) = waits.take() {
                assert!(mad.header().status().is_ok());
                assert!(
                    read <= MOST_READ && served <= MOST_SERVED,
                    "{read}, {served}"
                );
                longest = longest.max((read, served));
                answered += 1;
            }
        }
    }
    assert!(answered >= 60, "{answered} answers");
    // The test is of no use if no request ever waits.
    assert!(longest.0 > 0, "{longest:?}");
}

#[test]
fn every_request_is_answered_or_refused_as_busy() {
    let mut running = Lab::new("gen-ring-5").up();
    let hosts = hosts(&running);
    let mut get = NodeRecord::default();
    get.set_lid(hosts[1].0);
    let get = SaMad::query(Method::GET, &get, ib_sa::NodeComponents::LID);
    for id in 0..3000 {
        send(&mut running, hosts[1].0, id, &get);
    }
    send(&mut running, hosts[2].0, 1, &get);
    let sent = sent(&mut running);
    let status = |mad: &Mad| mad.header().status();
    let others: Vec<_> = sent
        .iter()
        .filter(|mad| mad.address.lid == hosts[2].0)
        .collect();
    assert_eq!(others.len(), 1);
    assert_eq!(status(others[0]), MadStatus::OK);
    let busy = sent
        .iter()
        .filter(|mad| status(mad) == MadStatus::BUSY)
        .count();
    assert_eq!(sent.len(), 3001);
    assert!((1..2500).contains(&busy), "{busy} of 3000 are refused");
}

#[test]
fn tables_that_are_not_acknowledged_lock_nobody_out() {
    for peers_acknowledge in [true, false] {
        let running = Lab::new("gen-ring-5").config(|config| {
            config.rmpp = RmppConfig {
                peers_acknowledge,
                ..config.rmpp
            };
        });
        let mut running = running.up();
        let hosts = hosts(&running);
        for id in 0..600 {
            let (flood, _) = hosts[1 + id as usize % 3];
            send(&mut running, flood, id, &table::<NodeRecord>());
        }
        let flood = sent(&mut running);
        let busy = |mad: &&Mad| mad.header().status() == MadStatus::BUSY;
        assert_eq!(flood.iter().filter(busy).count(), 0, "{peers_acknowledge}");
        send(&mut running, hosts[4].0, 1, &table::<NodeRecord>());
        let answer = sent(&mut running);
        let to_other: Vec<_> = answer
            .iter()
            .filter(|mad| mad.address.lid == hosts[4].0)
            .collect();
        assert_eq!(to_other.len(), 1);
        assert!(
            to_other[0].rmpp().is_some(),
            "{peers_acknowledge}: it is a table"
        );
    }
}

#[test]
fn a_table_that_was_kept_ends_with_a_change_of_the_subnet() {
    let mut client = Client::new("gen-ft-oversub2-144");
    let all = ComponentMask(0);
    let nodes = client.table(&NodeRecord::default(), all);
    assert_eq!(client.table(&NodeRecord::default(), all), nodes);
    let gone = client.running.sim.with(|sim| {
        let hosts = sim.nodes().iter_enumerated();
        let mut hosts = hosts.filter(|(_, node)| !node.is_switch()).skip(1);
        let (host, _) = hosts.next().unwrap();
        sim.end_ports(host).next().unwrap().at()
    });
    client.running.sim.with(|sim| sim.unlink(gone).unwrap());
    client.running.run_for(Duration::from_secs(2));
    assert_eq!(
        client.table(&NodeRecord::default(), all).len(),
        nodes.len() - 1
    );
    client.running.sim.with(|sim| sim.relink(gone).unwrap());
    client.running.run_for(Duration::from_secs(2));
    assert_eq!(client.table(&NodeRecord::default(), all), nodes);
}

#[test]
fn one_host_cannot_take_the_multicast_lids_of_all() {
    let mut running = Lab::new("gen-ring-5").up();
    let hosts = hosts(&running);
    let mut create = |sm_key: u64, host: (Lid, Guid), number: u64| {
        let mut record = McMemberRecord::default();
        record
            .set_mgid(Gid(
                (0xff15_a01c_u128 << 96 | u128::from(number)).to_be_bytes()
            ))
            .set_port_gid(Gid::new(GidPrefix::DEFAULT, host.1))
            .set_p_key(PKey::DEFAULT_FULL)
            .set_join_state(JoinState::FULL_MEMBER);
        use McMemberComponents as C;
        let defaults = C::MTU | C::RATE | C::PACKET_LIFE_TIME | C::SCOPE | C::MLID;
        let selectors = C::MTU_SELECTOR | C::RATE_SELECTOR | C::PACKET_LIFE_TIME_SELECTOR;
        let mask = C::all() - defaults - selectors;
        let mut join = SaMad::query(Method::SET, &record, mask);
        join.set_sm_key(SmKey(sm_key));
        send(&mut running, host.0, number, &join);
        let answers = sent(&mut running);
        let answer = answers.iter().find(|mad| mad.address.lid == host.0);
        answer.expect("an answer").header().status()
    };
    let created = (0..20_000).find(|&number| !create(0, hosts[1], number).is_ok());
    let created = created.expect("a limit");
    assert!(created >= 64, "{created}");
    let refused = MadStatus::from_sa(SaStatus::NO_RESOURCES);
    assert_eq!(create(0, hosts[1], created), refused);
    assert!(create(0, hosts[2], created).is_ok());
    assert!(
        create(0, hosts[1], created).is_ok(),
        "a join creates nothing"
    );
    // A requester with the administrator's key has no limit.
    assert!(create(1, hosts[1], created + 1).is_ok());
}
