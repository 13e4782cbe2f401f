//! The requests of a discovery: how many are on the wire, and what becomes of those without an answer.

use std::{collections::BTreeMap, ops::ControlFlow};

use ib_mad::{Attribute, InFlight, Instant, Mad, TransactionId};
use ib_sim::{Sim, SimOptions, SimTransport};
use ib_smp::{DrPath, NodeInfo, PortInfo, SmpDirected};
use ib_subnet::{Discovered, Discovery, DiscoveryConfig, DiscoveryEvent, SilentPort};
use ib_testkit::fabrics::fabric;
use ib_transport::{MadTransport, Received, TransportError, drive};
use ib_wire::Guid;

use crate::lab::walked_line;

/// Counts the requests on the wire by the device that they go to, and loses the answers that a test names.
struct Watched {
    inner: SimTransport,
    on_the_wire: BTreeMap<TransactionId, DrPath>,
    /// Most requests to one device at a time, and to all.
    most: (usize, usize),
    loses: fn(&SmpDirected) -> bool,
}

impl MadTransport for Watched {
    type Error = TransportError;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), TransportError> {
        let (smp, _) = SmpDirected::parse(&mad.bytes, 0).unwrap();
        let path = smp.path().unwrap();
        // NodeInfo is asked of devices that are not known yet.
        if smp.attribute_id() != NodeInfo::ID {
            self.on_the_wire.insert(smp.transaction_id(), path);
        }
        let to_this = self.on_the_wire.values().filter(|&&other| other == path);
        let (device, all) = (to_this.count(), self.on_the_wire.len());
        self.most = (self.most.0.max(device), self.most.1.max(all));
        self.inner.send(now, mad)
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, TransportError> {
        let received = self.inner.recv(now)?;
        let Some(Received::Mad(mad)) = received else {
            return Ok(received);
        };
        let (smp, _) = SmpDirected::parse(&mad.bytes, 0).unwrap();
        self.on_the_wire.remove(&smp.transaction_id());
        match (self.loses)(smp) {
            true => self.recv(now),
            false => Ok(received),
        }
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, TransportError> {
        self.inner.wait(now, until)
    }
}

fn discover(
    config: DiscoveryConfig,
    loses: fn(&SmpDirected) -> bool,
) -> (Discovered, Vec<DiscoveryEvent>, (usize, usize)) {
    let fabric = fabric("gen-line-2");
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let mut transport = Watched {
        inner: sim.attach(fabric.first_host().unwrap()).unwrap(),
        on_the_wire: BTreeMap::new(),
        most: (0, 0),
        loses,
    };
    let mut discovery = Discovery::new(config);
    assert!(!discovery.is_done());
    let mut events = Vec::new();
    let done = drive(&mut discovery, &mut transport, &sim, |discovery, event| {
        let done = event == DiscoveryEvent::Done;
        assert_eq!(discovery.is_done(), done || discovery.is_done());
        events.push(event);
        match done {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    assert_eq!(done.unwrap(), Some(()));
    assert!(discovery.is_done());
    assert!(discovery.subnet().own_port().is_some());
    (discovery.finish(), events, transport.most)
}

#[test]
fn one_device_gets_as_many_requests_at_a_time_as_it_may() {
    let mut config = DiscoveryConfig::default();
    config.window.in_flight = InFlight::Fixed(64);
    config.window.per_destination = 2;
    let (found, events, (device, all)) = discover(config, |_| false);
    assert_eq!(found.fabric.nodes().len(), 8);
    assert_eq!(device, 2);
    // Those to other devices do not wait for it.
    assert!(all > 2, "{all}");
    let found = events.iter().filter_map(|event| match event {
        DiscoveryEvent::NodeFound { node_guid, hops } => Some((*node_guid, *hops)),
        _ => None,
    });
    let found: BTreeMap<Guid, u8> = found.collect();
    assert_eq!(found.len(), 8);
    assert_eq!(found[&Guid(0x0010_0000_0000_0000)], 0);
    assert_eq!(found[&Guid(0x0010_0000_0000_0050)], 3);
}

#[test]
fn a_device_that_answered_once_is_listed_by_its_guid() {
    let guid = Guid(0x0010_0000_0000_0041);
    let (found, events, _) = discover(DiscoveryConfig::default(), |smp| {
        let path = smp.path().unwrap();
        path.to_string() == "0,1,1,4" && smp.attribute_id() != NodeInfo::ID
    });
    let silent = SilentPort {
        path: "0,1,1,4".parse().unwrap(),
        node_guid: Some(Guid(guid.0 - 1)),
    };
    assert_eq!(found.silent, std::slice::from_ref(&silent));
    assert!(events.contains(&DiscoveryEvent::Silent(silent)));
    assert_eq!(found.fabric.nodes().len(), 8);
    let (found, _, _) = discover(DiscoveryConfig::default(), |smp| {
        smp.attribute_id() == PortInfo::ID && smp.path().unwrap().to_string() == "0,1,1"
    });
    assert_eq!(found.silent[0].node_guid, Some(Guid(0x0020_0000_0000_0100)));
    assert_eq!(found.fabric.nodes().len(), 5, "nothing beyond it is found");
}

#[test]
fn looks_at_nodes_are_counted() {
    let lab = walked_line();
    let before = lab.subnet.looks();
    assert!(
        lab.subnet
            .node(lab.subnet.own_port().unwrap().node)
            .is_some()
    );
    assert_eq!(lab.subnet.looks(), before + 1);
    assert_eq!(lab.subnet.nodes().count(), 8);
    assert_eq!(lab.subnet.looks(), before + 9);
    assert_eq!(lab.subnet.clone().looks(), before + 9);
}
