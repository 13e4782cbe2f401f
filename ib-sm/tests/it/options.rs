//! Options of OpenSM's configuration file that affect the manager's writes or answers, one test for each.

use std::time::Duration;

use ib_mad::{
    Engine, InformInfo, Input, Mad, MadAddress, MadStatus, Method, TransactionId, TrapNumber,
};
use ib_routing::{Fabric, LinkSpeed, LinkWidth, engine, format::lfts};
use ib_sa::{
    ComponentMask, InformInfoRecord, JoinState, McMemberComponents, McMemberRecord, NodeRecord,
    PathComponents, PathRecord, SaMad, Selector,
};
use ib_sm::{QosPolicy, SmConfig};
use ib_smp::{LinkWidths, NodeType, VendorLinkSpeeds, VlArbitrationHalf};
use ib_testkit::lab::{Lab, Running, client::Client};
use ib_transport::Clock as _;
use ib_wire::{Gid, GidPrefix, Lid, Mtu, PKey, PortNum, QKey, Rate, Sl};

fn fabric(name: &str) -> Fabric {
    Lab::new(name).fabric
}

/// The path from the client to the first other CA.
fn path(client: &mut Client, change: impl FnOnce(&mut PathRecord) -> PathComponents) -> PathRecord {
    paths(client, change).remove(0)
}

fn paths(
    client: &mut Client,
    change: impl FnOnce(&mut PathRecord) -> PathComponents,
) -> Vec<PathRecord> {
    let own = client.lid();
    let lids = client.running.sm.lids();
    let mut ends = lids.destinations().iter();
    let other = ends.find(|end| !end.is_switch() && !end.range.contains(own));
    let own_gid = client.running.sim.with(|sim| {
        let port = sim.port(client.port).unwrap();
        Gid::new(GidPrefix::DEFAULT, port.guid())
    });
    let mut template = PathRecord::default();
    template
        .set_sgid(own_gid)
        .set_dgid(Gid::new(GidPrefix::DEFAULT, other.unwrap().guid));
    let mask = PathComponents::SGID | PathComponents::DGID | change(&mut template);
    client.table(&template, mask.into())
}

fn any(_: &mut PathRecord) -> PathComponents {
    PathComponents::empty()
}

#[test]
fn more_requests_are_in_flight_while_devices_do_not_answer() {
    let bring_up = |text: &str| {
        let (wished, _) = SmConfig::parse(text).unwrap();
        let lab = Lab::new("gen-ft-oversub2-144").config(|config| {
            config.max_wire_smps = 1;
            config.max_wire_smps2 = wished.max_wire_smps2;
            config.max_smps_timeout = wished.max_smps_timeout;
        });
        let hosts = lab
            .fabric
            .nodes()
            .iter()
            .filter(|node| !node.type_.is_switch());
        // The manager sits on the first one.
        let hosts: Vec<_> = hosts
            .skip(1)
            .take(10)
            .map(|node| node.name.clone())
            .collect();
        let mut running = lab.start();
        running.sim.with(|sim| {
            for name in hosts {
                let node = sim.find(&name).unwrap();
                sim.set_behaviour(node, ib_sim::Behaviour::Silent);
            }
        });
        running.run_until_up();
        running.sim.now().since(ib_mad::Instant::ZERO)
    };
    // Ten devices one after the other, each 800 ms; and all at a time after 1 ms each.
    let alone = bring_up("max_wire_smps2 1\nmax_smps_timeout 1000\n");
    assert!(alone > Duration::from_secs(8), "{alone:?}");
    let together = bring_up("max_wire_smps2 32\nmax_smps_timeout 1000\n");
    assert!(together < alone / 3, "{together:?}, and {alone:?} without");
}

#[test]
fn rates_that_old_hosts_do_not_know_are_lowered() {
    let mut fast = fabric("gen-ring-5").to_builder();
    let ends: Vec<_> = fabric("gen-ring-5").links().collect();
    for (a, b) in ends {
        for end in [a, b] {
            let port = fast.port_mut(end).unwrap();
            (port.width, port.speed) = (Some(LinkWidth::X4), Some(LinkSpeed::Ndr));
        }
    }
    let fast = fast.build();
    for (text, expected) in [
        ("max_rate_enum 0", Rate::GBPS_400),
        ("max_rate_enum 18", Rate::GBPS_300),
        ("use_original_extended_sa_rates_only TRUE", Rate::GBPS_300),
        ("max_rate_enum 10", Rate::GBPS_120),
    ] {
        let mut client = Client::of(
            Lab::of(fast.clone())
                .config(|config| assert!(config.apply(text).unwrap().is_empty()))
                .up(),
        );
        assert_eq!(path(&mut client, any).rate(), expected, "{text}");
    }
}

#[test]
fn a_path_to_an_infinihost_has_1024_bytes_unless_more_is_asked_for() {
    for (quirks, expected) in [(false, Mtu::MTU_4096), (true, Mtu::MTU_1024)] {
        let mut client = Client::of(
            Lab::new("real-sdr-2007-6")
                .config(|config| config.enable_quirks = quirks)
                .up(),
        );
        assert_eq!(path(&mut client, any).mtu(), expected);
        let exact = path(&mut client, |path| {
            path.set_mtu_selector(Selector::EXACTLY)
                .set_mtu(Mtu::MTU_2048);
            PathComponents::MTU_SELECTOR | PathComponents::MTU
        });
        assert_eq!(exact.mtu(), Mtu::MTU_2048);
    }
}

/// A solicited-node group of the default partition.
fn solicited_node(node: u32) -> Gid {
    let prefix: u128 = 0xff12_601b_ffff_0000_0000_0001_ff00_0000;
    Gid((prefix | u128::from(node)).to_be_bytes())
}

fn join(client: &mut Client, mgid: Gid, port: Gid) -> Lid {
    use McMemberComponents as C;
    let record = membership(mgid, port);
    let needed = C::Q_KEY | C::P_KEY | C::SL | C::FLOW_LABEL | C::TCLASS;
    let mask = C::MGID | C::PORT_GID | C::JOIN_STATE | needed;
    client.set(&record, mask.into()).unwrap().mlid()
}

fn membership(mgid: Gid, port: Gid) -> McMemberRecord {
    let mut record = McMemberRecord::default();
    record
        .set_mgid(mgid)
        .set_port_gid(port)
        .set_join_state(JoinState::FULL_MEMBER)
        .set_p_key(PKey::DEFAULT_FULL)
        .set_q_key(QKey(0x0b1b));
    record
}

fn ca_gids(client: &Client) -> Vec<Gid> {
    let lids = client.running.sm.lids();
    let cas = lids.destinations().iter().filter(|end| !end.is_switch());
    cas.map(|end| Gid::new(GidPrefix::DEFAULT, end.guid))
        .collect()
}

/// Switches that have an entry for a multicast LID.
fn switches_with(client: &Client, mlid: Lid) -> usize {
    client.running.sim.with(|sim| {
        let switches = sim.nodes().iter().filter(|node| node.is_switch());
        switches
            .filter(|node| node.mft_ports(mlid).next().is_some())
            .count()
    })
}

#[test]
fn solicited_node_groups_of_a_partition_share_a_multicast_lid() {
    let mut client = Client::of(
        Lab::new("gen-torus-5x5")
            .config(|config| config.consolidate_ipv6_snm_req = true)
            .up(),
    );
    let ports = ca_gids(&client);
    let mlids: Vec<_> = (0u32..)
        .zip(ports.iter().step_by(4).take(6))
        .map(|(node, &port)| join(&mut client, solicited_node(node), port))
        .collect();
    assert!(mlids.iter().all(|mlid| *mlid == mlids[0]), "{mlids:?}");
    // A similar MGID outside the solicited-node groups has a LID of its own.
    let other = Gid((solicited_node(0).bits() ^ 1 << 60).to_be_bytes());
    assert_ne!(join(&mut client, other, ports[0]), mlids[0]);
    client.running.run_for(Duration::from_millis(100));
    let all = switches_with(&client, mlids[0]);
    assert!(all >= 6, "one tree joins the members of all groups: {all}");
    // The groups end one by one; the LID and its tree stay for those that are left.
    for (node, &port) in (0u32..).zip(ports.iter().step_by(4).take(5)) {
        use McMemberComponents as C;
        let record = membership(solicited_node(node), port);
        let mask = C::MGID | C::PORT_GID | C::JOIN_STATE;
        client.delete(&record, mask.into()).unwrap();
    }
    client.running.run_for(Duration::from_millis(100));
    assert_eq!(switches_with(&client, mlids[0]), 1);
    assert_eq!(join(&mut client, solicited_node(77), ports[7]), mlids[0]);
}

#[test]
fn solicited_node_groups_have_a_multicast_lid_each_by_default() {
    let mut client = Client::new("gen-ring-5");
    let ports = ca_gids(&client);
    let one = join(&mut client, solicited_node(1), ports[0]);
    assert_ne!(join(&mut client, solicited_node(2), ports[0]), one);
}

fn subscribe(client: &mut Client) {
    let mut info = InformInfo::default();
    info.set_lid_range_begin(Lid::PERMISSIVE)
        .set_is_generic(1)
        .set_subscribe(1)
        .set_type(0xffff)
        .set_trap_number(TrapNumber::GID_IN_SERVICE.0)
        .set_producer_type(0xff_ffff);
    let mut request = SaMad::new(Method::SET, <InformInfo as ib_mad::Attribute>::ID);
    let mut data = [0; 200];
    data[..info.as_bytes().len()].copy_from_slice(info.as_bytes());
    request.set_data(&data);
    assert!(client.exchange(&request).status().is_ok());
}

#[test]
fn subscriptions_wait_for_their_port_unless_they_are_to_be_dropped() {
    for (drop, expected) in [(false, 1), (true, 0)] {
        let mut client = Client::of(
            Lab::new("gen-ring-5")
                .config(|config| config.drop_event_subscriptions = drop)
                .up(),
        );
        subscribe(&mut client);
        let port = client.port;
        client.running.sim.with(|sim| sim.power_off(port.node));
        client.running.resweep();
        client.running.sim.with(|sim| sim.power_on(port.node));
        client.running.run_for(Duration::from_millis(50));
        client.running.resweep();
        let known = client.table(&InformInfoRecord::default(), ComponentMask(0));
        assert_eq!(known.len(), expected, "drop {drop}");
    }
}

#[test]
fn a_request_that_has_waited_too_long_is_answered_with_busy() {
    let mut running = Lab::new("gen-ring-5")
        .config(|config| config.max_msg_fifo_timeout = Duration::from_secs(1))
        .up();
    for (wait, expected) in [(0, MadStatus::OK), (2, MadStatus::BUSY)] {
        let now = running.sim.now();
        let lid = running
            .sm
            .lids()
            .destinations()
            .iter()
            .next()
            .unwrap()
            .range
            .base();
        let mut record = NodeRecord::default();
        record.set_lid(lid);
        let mut request = SaMad::query(Method::GET, &record, ib_sa::NodeComponents::LID);
        request.set_transaction_id(TransactionId(wait + 1));
        let mad = Mad {
            address: MadAddress::gsi(lid, Sl::ZERO),
            bytes: *request.as_bytes(),
        };
        running.sm.handle_input(now, Input::Mad(&mad));
        let later = now.saturating_add(Duration::from_secs(wait));
        let answer = running.sm.poll_transmit(later).expect("an answer");
        assert_eq!(answer.header().status(), expected, "after {wait} s");
    }
}

#[test]
fn a_level_of_the_qos_policy_limits_partition_and_path_bits() {
    let policy = "qos-levels\nqos-level\nname: L\nsl: 0\npath-bits: 1, 3\npkey: 0x7fff\n\
        end-qos-level\nqos-level\nname: None\nsl: 0\npkey: 0x123\nend-qos-level\nend-qos-levels\n\
        qos-match-rules\nqos-match-rule\nqos-class: 5\nqos-level-name: None\nend-qos-match-rule\n\
        qos-match-rule\nqos-class: 6\nqos-level-name: L\nend-qos-match-rule\nend-qos-match-rules";
    let mut client = Client::of(
        Lab::new("gen-ring-5")
            .routing(&engine::MINHOP)
            .config(|config| {
                config.lmc = ib_wire::Lmc::try_new(2).unwrap();
                config.qos.enabled = true;
                config.qos_policy = QosPolicy::parse(policy).unwrap();
            })
            .up(),
    );
    let base = client.lid();
    assert_eq!(paths(&mut client, any).len(), 4);
    let mut of_class = |class| {
        let found = paths(&mut client, |path| {
            path.set_qos_class(class);
            PathComponents::QOS_CLASS
        });
        let offsets = found.iter().map(|path| path.slid().0 - base.0);
        offsets.collect::<Vec<_>>()
    };
    assert_eq!(of_class(6), [1, 3]);
    // No port is in that partition.
    assert!(of_class(5).is_empty());
}

#[test]
fn the_engine_file_loads_tables_and_hops_that_the_configuration_names() {
    let lab = Lab::new("gen-ring-5").routing(&engine::UPDN).up();
    let text = lfts::write(lab.sm.fabric(), lab.sm.lids(), lab.sm.routes().unwrap());
    let loaded = Lab::new("gen-ring-5")
        .routing(&engine::FILE)
        .config(|config| {
            config.no_fallback = true;
            config.route_tables.lfts = Some(text.clone());
        })
        .up();
    assert_eq!(loaded.sm.engine(), Some("file"));
    let written = lfts::write(
        loaded.sm.fabric(),
        loaded.sm.lids(),
        loaded.sm.routes().unwrap(),
    );
    assert_eq!(written, text);
    // Hops alone are enough; with neither file the engine cannot route.
    let hops = ib_routing::format::lid_matrix::write(lab.sm.fabric(), lab.sm.lids());
    let by_hops = Lab::new("gen-ring-5")
        .routing(&engine::FILE)
        .config(|config| {
            config.no_fallback = true;
            config.route_tables.lid_matrix = Some(hops);
        })
        .up();
    assert_eq!(by_hops.sm.engine(), Some("file"));
    let fallen_back = Lab::new("gen-ring-5").routing(&engine::FILE).up();
    assert_eq!(fallen_back.sm.engine(), Some("minhop"));
}

fn fdr10_ring() -> Fabric {
    let ring = fabric("gen-ring-5");
    let mut builder = ring.to_builder();
    for (a, b) in ring.links() {
        for end in [a, b] {
            let port = builder.port_mut(end).unwrap();
            (port.width, port.speed) = (Some(LinkWidth::X4), Some(LinkSpeed::Fdr10));
            let node = builder.node_mut(end.node).unwrap();
            // SwitchX and ConnectX-3.
            (node.vendor_id, node.device_id) = (
                0x2c9,
                if node.type_.is_switch() {
                    0xc738
                } else {
                    0x1003
                },
            );
        }
    }
    builder.build()
}

#[test]
fn fdr10_is_disabled_or_left_enabled_as_the_configuration_says() {
    for (fdr10, expected) in [
        (0, VendorLinkSpeeds::FDR10),
        (1, VendorLinkSpeeds::FDR10),
        (2, VendorLinkSpeeds::empty()),
    ] {
        let mut running = Lab::of(fdr10_ring())
            .config(|config| config.fdr10 = fdr10)
            .up();
        let enabled = |running: &Running| {
            running.sim.with(|sim| {
                let nodes: Vec<_> = sim.nodes().indices().collect();
                let ports = nodes.into_iter().flat_map(|node| sim.ports_of(node));
                let linked = ports.filter(|port| port.is_link_up() && port.at().port != PortNum(0));
                let enabled = linked.map(|port| port.sma().mlnx().link_speed_enabled());
                enabled.collect::<Vec<_>>()
            })
        };
        let found = enabled(&running);
        assert!(!found.is_empty());
        assert!(
            found.iter().all(|&one| one == expected),
            "{fdr10}: {found:?}"
        );
        running.resweep();
        let sets = running.transport.sent_with(Method::SET);
        assert!(sets.is_empty(), "{fdr10}: {sets:?}");
        // Another manager enables it again.
        let mut config = running.sm.config().clone();
        config.fdr10 = 1;
        running.restart(config);
        running.run_until_up();
        let found = enabled(&running);
        assert!(found.iter().all(|&one| one == VendorLinkSpeeds::FDR10));
    }
}

#[test]
fn an_enhanced_port_0_gets_the_tables_of_its_kind() {
    let ring = fabric("gen-ring-5");
    let mut builder = ring.to_builder();
    let switches: Vec<_> = ring.switches().iter().copied().collect();
    let (enhanced, base) = (switches[0], switches[1]);
    builder.node_mut(enhanced).unwrap().enhanced_port_0 = true;
    let text = "qos TRUE\nqos_sw0_high_limit 11\nqos_sw0_vlarb_low 1:77\n\
        qos_sw0_sl2vl 2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2\nqos_sw0_max_vls 4\n";
    let (wished, _) = SmConfig::parse(text).unwrap();
    let mut running = Lab::of(builder.build())
        .routing(&engine::MINHOP)
        .config(|config| config.qos = wished.qos.clone())
        .up();
    let port_0 = |running: &Running, node| {
        running.sim.with(|sim| {
            let at = ib_routing::PortRef {
                node,
                port: PortNum(0),
            };
            let port = sim.port(at).unwrap();
            let low = port.sma().vl_arbitration(VlArbitrationHalf::LowFirst);
            let entry = low.vl_weight_block(0).unwrap();
            (
                port.info().vl_high_limit(),
                entry.vl().bits(),
                entry.weight(),
            )
        })
    };
    assert_eq!(port_0(&running, enhanced), (11, 1, 77));
    assert_eq!(port_0(&running, base).0, 0);
    assert_ne!(port_0(&running, base).1, 1);
    let lane = running.sim.with(|sim| {
        let node = sim.node(enhanced).unwrap();
        node.vl(PortNum(0), PortNum(0), Sl::ZERO).bits()
    });
    assert_eq!(lane, 2);
    running.resweep();
    let sets = running.transport.sent_with(Method::SET);
    assert!(sets.is_empty(), "{sets:?}");
}

#[test]
fn a_link_that_came_up_narrower_than_it_may_be_is_routed_around() {
    let ring = fabric("gen-ring-5");
    let between = |(a, b): &(ib_routing::PortRef, ib_routing::PortRef)| {
        [a, b]
            .iter()
            .all(|end| ring.node(end.node).type_ == NodeType::SWITCH)
    };
    let (slow, _) = ring.links().find(between).unwrap();
    let mut builder = ring.to_builder();
    for (a, b) in ring.links() {
        for end in [a, b] {
            builder.port_mut(end).unwrap().width = Some(LinkWidth::X4);
        }
    }
    builder.port_mut(slow).unwrap().width = Some(LinkWidth::X1);
    let used = |avoid: bool| {
        let mut running = Lab::of(builder.clone().build())
            .routing(&engine::UPDN)
            .config(|config| {
                config.avoid_throttled_links = avoid;
                // From then on both ends of the narrow link may use a greater width, but they do not.
                config.forced_links.width = Some(LinkWidths::X1 | LinkWidths::X4);
            })
            .up();
        running.sm.reroute(running.sim.now());
        running.resweep();
        assert_eq!(running.sm.report().unwrap().unreachable, 0);
        let lids: Vec<_> = running
            .sm
            .lids()
            .destinations()
            .iter()
            .map(|end| end.range.base())
            .collect();
        running.sim.with(|sim| {
            let node = sim.node(slow.node).unwrap();
            lids.iter()
                .filter(|&&lid| node.lft_port(lid) == Some(slow.port))
                .count()
        })
    };
    assert!(used(false) > 0);
    assert_eq!(used(true), 0);
}

#[test]
fn old_spellings_are_read() {
    let (config, ignored) = SmConfig::parse("dimn_ports_file /etc/ports\n").unwrap();
    assert!(ignored.is_empty(), "{ignored:?}");
    let file = config.files.port_search_ordering_file;
    assert_eq!(file.as_deref(), Some("/etc/ports"));
    let text = "port_search_ordering_file /etc/ports\ndimn_ports_file (null)\n";
    let (config, _) = SmConfig::parse(text).unwrap();
    assert!(config.files.port_search_ordering_file.is_some());
}
