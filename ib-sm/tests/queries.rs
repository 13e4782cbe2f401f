//! Questions to the subnet administrator, over the fabric that its manager brought up.

mod lab;

use std::time::Duration;

use ib_mad::{Mad, MadAddress, MadStatus, Method, RmppConfig, RmppReceiver, SaStatus};
use ib_routing::PortRef;
use ib_sa::{
    ComponentMask, NodeComponents, NodeRecord, PathComponents, PathRecord, PortInfoRecord, Record,
    Records, SaMad, ServiceRecord,
};
use ib_sim::SimTransport;
use ib_transport::{Clock, MadTransport, Received};
use ib_wire::{Gid, GidPrefix, Lid, Sl};
use lab::{Lab, Running};

struct Client {
    running: Running,
    port: PortRef,
    transport: SimTransport,
}

impl Client {
    /// A host of the fabric that is not the manager's.
    fn new(name: &str) -> Self {
        let running = Lab::new(name).up();
        let port = running.sim.with(|sim| {
            let hosts = sim
                .nodes()
                .iter_enumerated()
                .filter(|(_, node)| !node.is_switch());
            let (host, _) = hosts.max_by_key(|(index, _)| *index).unwrap();
            sim.end_ports(host)
                .find(|port| port.is_link_up())
                .unwrap()
                .at()
        });
        let transport = running.sim.attach(port).unwrap();
        Self {
            running,
            port,
            transport,
        }
    }

    fn lid(&self) -> Lid {
        self.running
            .sim
            .with(|sim| sim.port(self.port).unwrap().info().lid())
    }

    fn send(&mut self, request: &SaMad) {
        let sm = self
            .running
            .sim
            .with(|sim| sim.port(self.port).unwrap().info().master_sm_lid());
        self.transport
            .send(&Mad {
                address: MadAddress::gsi(sm, Sl::ZERO),
                bytes: *request.as_bytes(),
            })
            .unwrap();
    }

    fn receive(&mut self) -> Option<Mad> {
        for _ in 0..1000 {
            self.running.run_for(Duration::from_micros(10));
            let now = self.running.clock.now();
            if let Some(Received::Mad(mad)) = self.transport.recv(Some(now)).unwrap() {
                return Some(mad);
            }
        }
        None
    }

    fn get<R: Record>(&mut self, template: &R, mask: ComponentMask) -> Result<R, MadStatus> {
        let mut request = SaMad::query(Method::GET, template, mask);
        request.set_transaction_id(ib_mad::TransactionId(77));
        self.send(&request);
        let answer = self.receive().expect("an answer");
        let (answer, _) = SaMad::parse(&answer.bytes, 0).unwrap();
        assert_eq!(answer.method(), Method::GET_RESP);
        assert_eq!(answer.transaction_id().low(), 77);
        assert_eq!(answer.sm_key(), 0);
        if answer.status().is_ok() {
            Ok(*answer.single::<R>().unwrap())
        } else {
            Err(answer.status())
        }
    }

    fn table<R: Record>(&mut self, template: &R, mask: ComponentMask) -> Vec<R> {
        self.send(&SaMad::query(Method::GET_TABLE, template, mask));
        let first = self.receive().expect("a first segment");
        let mut receiver = RmppReceiver::new(RmppConfig::default(), &first).unwrap();
        let mut mad = first;
        loop {
            let now = self.running.clock.now();
            let message = receiver.handle_mad(now, &mad);
            while let Some(ack) = receiver.poll_transmit() {
                self.transport.send(&ack).unwrap();
            }
            if let Some(message) = message {
                let (headers, _) = SaMad::parse(&message.first.bytes, 0).unwrap();
                assert_eq!(headers.method(), Method::GET_TABLE_RESP);
                let records = Records::new(&message.data, headers.attribute_offset()).unwrap();
                return records.copied().collect();
            }
            mad = self.receive().expect("the next segment");
        }
    }
}

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
fn a_record_that_is_not_kept_is_refused() {
    let mut client = Client::new("gen-ring-5");
    let answer = client.get(&ServiceRecord::default(), ComponentMask(0));
    assert_eq!(answer, Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE));
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
        // The way back is as wide.
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
