//! Registrations of hosts outlive the master: three managers on one fabric, and 1,000 memberships.

use std::{collections::BTreeSet, time::Duration};

use ib_mad::{Mad, MadAddress, Method};
use ib_routing::PortRef;
use ib_sa::{
    JoinState, McMemberComponents, McMemberRecord, SaMad, ServiceComponents, ServiceRecord,
};
use ib_sim::SimTransport;
use ib_smp::SmState;
use ib_testkit::lab::managers::Managers;
use ib_transport::{Clock as _, MadTransport as _, Received};
use ib_wire::{Gid, GidPrefix, PKey, QKey, Sl};

const SECOND: Duration = Duration::from_secs(1);
const STANDBY: SmState = SmState::STANDBY;
const MASTER: SmState = SmState::MASTER;

/// Three managers, the highest of which is the master, and a host that registers for all.
struct Scene {
    managers: Managers,
    at: [PortRef; 3],
    client: (PortRef, SimTransport),
    ports: Vec<Gid>,
}

impl Scene {
    fn new() -> Self {
        let (mut managers, ports) = Managers::new("gen-ft-48-broken10");
        let at = [ports[3], ports[10], ports[20]];
        let gids = managers.sim.with(|sim| {
            let guid = |port: &PortRef| sim.port(*port).unwrap().guid();
            let gids = ports
                .iter()
                .map(|port| Gid::new(GidPrefix::DEFAULT, guid(port)));
            gids.collect()
        });
        for (port, priority) in at.into_iter().zip([1, 5, 3]) {
            managers.start(port, priority);
        }
        managers.run_for(60 * SECOND);
        assert_eq!(managers.states(), [STANDBY, MASTER, STANDBY]);
        let client = (ports[30], managers.sim.attach(ports[30]).unwrap());
        Self {
            managers,
            at,
            client,
            ports: gids,
        }
    }

    /// Sends requests of the client, several at a time, and counts those that succeed.
    fn ask(&mut self, requests: &[SaMad]) -> usize {
        let mut done = 0;
        for (number, chunk) in requests.chunks(32).enumerate() {
            let sm = self.managers.sim.with(|sim| {
                let port = sim.port(self.client.0).unwrap();
                port.info().master_sm_lid()
            });
            for (at, request) in chunk.iter().enumerate() {
                let mut request = *request;
                let id = number as u64 * 32 + at as u64 + 1;
                request.set_transaction_id(ib_mad::TransactionId(id));
                let mad = Mad {
                    address: MadAddress::gsi(sm, Sl::ZERO),
                    bytes: *request.as_bytes(),
                };
                self.client.1.send(self.managers.sim.now(), &mad).unwrap();
            }
            self.managers.run_for(Duration::from_millis(20));
            let now = self.managers.sim.with(|sim| sim.now());
            while let Some(Received::Mad(mad)) = self.client.1.recv(now).unwrap() {
                let header = mad.header();
                done += usize::from(header.method().is_response() && header.status().is_ok());
            }
        }
        done
    }

    fn join(&mut self, groups: std::ops::Range<u32>) -> usize {
        use McMemberComponents as C;
        let needed = C::Q_KEY | C::P_KEY | C::SL | C::FLOW_LABEL | C::TCLASS;
        let mask = C::MGID | C::PORT_GID | C::JOIN_STATE | needed;
        let ports = self.ports.clone();
        let requests: Vec<_> = groups
            .flat_map(|group| ports.iter().map(move |&port| (group, port)))
            .map(|(group, port)| {
                let mgid: u128 = 0xff12_1234_0000_0000_0000_0000_0000_0000 | u128::from(group);
                let mut record = McMemberRecord::default();
                record
                    .set_mgid(Gid(mgid.to_be_bytes()))
                    .set_port_gid(port)
                    .set_join_state(JoinState::FULL_MEMBER)
                    .set_p_key(PKey::DEFAULT_FULL)
                    .set_q_key(QKey(0x1234));
                SaMad::query(Method::SET, &record, mask)
            })
            .collect();
        self.ask(&requests)
    }

    fn offer(&mut self) -> usize {
        use ServiceComponents as C;
        let port = self.ports[30];
        let requests: Vec<_> = (1..=4)
            .map(|id| {
                let mut record = ServiceRecord::default();
                record
                    .set_service_id(id)
                    .set_service_gid(port)
                    .set_service_p_key(PKey::DEFAULT_FULL)
                    .set_service_lease(3600);
                let mask = C::SERVICE_ID | C::SERVICE_GID | C::SERVICE_P_KEY | C::SERVICE_LEASE;
                SaMad::query(Method::SET, &record, mask)
            })
            .collect();
        self.ask(&requests)
    }

    /// The memberships that a manager keeps, as (group, LID, port), and the client's services.
    fn kept(&self, manager: usize) -> (BTreeSet<(Gid, u16, Gid)>, usize) {
        let now = self.managers.sim.with(|sim| sim.now());
        let kept = self.managers.hosts[manager].sm.registrations(now);
        let members = kept.groups.iter().flat_map(|group| {
            let (mgid, mlid) = (group.group.mgid(), group.group.mlid().0);
            let ports = group.members.iter();
            ports.map(move |member| (mgid, mlid, member.port_gid()))
        });
        // Standby managers register a service too.
        let services = kept
            .services
            .iter()
            .filter(|service| service.service_gid() == self.ports[30]);
        (members.collect(), services.count())
    }

    /// Switches with an entry for a multicast LID.
    fn trees(&self) -> usize {
        self.managers.sim.with(|sim| {
            let switches = sim.nodes().iter().filter(|node| node.is_switch());
            let lids = 0xc000..0xc040;
            switches
                .flat_map(|node| lids.clone().map(move |lid| (node, lid)))
                .filter(|(node, lid)| node.mft_ports(ib_wire::Lid(*lid)).next().is_some())
                .count()
        })
    }
}

#[test]
fn the_death_of_the_master_loses_no_membership_and_no_service() {
    let mut scene = Scene::new();
    assert_eq!(scene.join(0..21), 21 * 48);
    assert_eq!(scene.offer(), 4);
    scene.managers.run_for(2 * SECOND);
    let (members, services) = scene.kept(1);
    assert_eq!((members.len(), services), (21 * 48, 4));
    let trees = scene.trees();
    let port = scene.at[1];
    scene.managers.die(1, port);
    scene.managers.run_for(120 * SECOND);
    assert_eq!(scene.managers.hosts[2].sm.state(), MASTER);
    assert!(scene.managers.hosts[2].sm.is_up());
    // No host has registered again: simulated hosts never do.
    assert_eq!(scene.kept(2), (members, 4));
    assert_eq!(scene.trees(), trees);
    // The new master replicates to the remaining standby, which may be next.
    assert_eq!(scene.join(21..22), 48);
    scene.managers.run_for(2 * SECOND);
    let port = scene.at[2];
    scene.managers.die(2, port);
    scene.managers.run_for(120 * SECOND);
    assert_eq!(scene.managers.hosts[0].sm.state(), MASTER);
    let (members, services) = scene.kept(0);
    assert_eq!((members.len(), services), (22 * 48, 4));
}

#[test]
fn a_handover_loses_nothing_that_was_registered_a_moment_before() {
    let mut scene = Scene::new();
    assert_eq!(scene.join(0..20), 20 * 48);
    scene.managers.run_for(2 * SECOND);
    // These are newer than the last message to the standby.
    assert_eq!(scene.join(20..21), 48);
    let now = scene.managers.sim.with(|sim| sim.now());
    scene.managers.hosts[2].sm.set_priority(now, 9);
    scene.managers.hosts[1].sm.resweep(now);
    scene.managers.run_for(60 * SECOND);
    assert_eq!(scene.managers.states(), [STANDBY, STANDBY, MASTER]);
    assert!(scene.managers.hosts[2].sm.is_up());
    assert_eq!(scene.kept(2).0.len(), 21 * 48);
    assert_eq!(scene.kept(1).0.len(), 0);
}
