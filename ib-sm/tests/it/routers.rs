//! Paths to other subnets, through a router.

use ib_mad::{MadStatus, SaStatus};
use ib_routing::{FabricBuilder, NewNode, NodeType, PortRef};
use ib_sa::{PathComponents, PathRecord};
use ib_sm::{PrefixRoute, PrefixRoutes, SmConfig};
use ib_testkit::lab::{Lab, client::Client};
use ib_wire::{Gid, GidPrefix, Guid, PortNum};

/// The router; the simulator gives its port the next GUID.
const ROUTER: Guid = Guid(0x30);
const ELSEWHERE: GidPrefix = GidPrefix(0xfec0_0000_0000_0007);

/// A switch with two hosts and a router.
fn lab() -> Lab {
    let mut builder = FabricBuilder::new();
    let mut add = |type_, guid, num_ports| {
        let node = NewNode {
            type_,
            guid: Guid(guid),
            num_ports,
            ..NewNode::default()
        };
        builder.add_node(node).unwrap()
    };
    let switch = add(NodeType::SWITCH, 1, 4);
    let others = [
        add(NodeType::CA, 0x10, 1),
        add(NodeType::ROUTER, ROUTER.0, 1),
        add(NodeType::CA, 0x20, 1),
    ];
    for (port, node) in (1..).zip(others) {
        let at = |node, port| PortRef {
            node,
            port: PortNum(port),
        };
        builder.add_link(at(switch, port), at(node, 1)).unwrap();
    }
    Lab::of(builder.build())
}

fn ask(client: &mut Client, prefix: GidPrefix) -> Result<PathRecord, MadStatus> {
    let own = client
        .running
        .sim
        .with(|sim| sim.port(client.port).unwrap().guid());
    let mut template = PathRecord::default();
    template
        .set_sgid(Gid::new(GidPrefix::DEFAULT, own))
        .set_dgid(Gid::new(prefix, Guid(0xabc)));
    client.get(
        &template,
        (PathComponents::SGID | PathComponents::DGID).into(),
    )
}

#[test]
fn a_path_to_another_subnet_leads_to_its_router() {
    for guid in [Some(Guid(ROUTER.0 + 1)), None] {
        let running = lab()
            .config(|config| {
                let of = |prefix, guid| PrefixRoute { prefix, guid };
                let nobody = of(Some(ELSEWHERE), Some(Guid(0xdead)));
                config.prefix_routes = PrefixRoutes(vec![nobody, of(Some(ELSEWHERE), guid)]);
            })
            .up();
        let mut client = Client::of(running);
        let path = ask(&mut client, ELSEWHERE).unwrap();
        let lids = client.running.sm.lids();
        let owner = lids.owner(path.dlid()).unwrap();
        let router = client.running.sm.fabric().node(owner.end.node);
        assert_eq!(router.guid, ROUTER);
        assert_eq!(path.dgid(), Gid::new(ELSEWHERE, Guid(0xabc)));
        assert_eq!(path.hop_limit(), u8::MAX);
        let unknown = ask(&mut client, GidPrefix(0xfec0_0000_0000_0008));
        let status = MadStatus::from_sa(SaStatus::REQ_INVALID_GID);
        assert_eq!(unknown, Err(status));
    }
}

#[test]
fn the_port_of_a_router_has_the_high_limit_of_its_kind() {
    let text = "qos TRUE\nqos_rtr_high_limit 13\nqos_ca_high_limit 3\nqos_swe_high_limit 5\n";
    let (wished, unknown) = SmConfig::parse(text).unwrap();
    assert!(unknown.is_empty());
    let running = lab().config(|config| config.qos = wished.qos.clone()).up();
    let limit = running.sim.with(|sim| {
        let router = sim.find_guid(ROUTER).unwrap();
        sim.end_ports(router).next().unwrap().info().vl_high_limit()
    });
    assert_eq!(limit, 13);
}
