//! A host that asks the subnet administrator.

use std::time::Duration;

use ib_mad::{
    Engine, Mad, MadAddress, MadStatus, Method, Rmpp, RmppConfig, RmppEvent, RmppReceiver,
};
use ib_routing::PortRef;
use ib_sa::{ComponentMask, Record, Records, SaMad};
use ib_sim::SimTransport;
use ib_transport::{Clock, MadTransport, Received};
use ib_wire::{Lid, Sl};

use super::{Lab, Running};

pub struct Client {
    pub running: Running,
    pub port: PortRef,
    pub transport: SimTransport,
}

impl Client {
    /// A host of the fabric that is not the manager's.
    pub fn new(name: &str) -> Self {
        Self::of(Lab::new(name).up())
    }

    /// A host of a fabric that is up.
    pub fn of(running: Running) -> Self {
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

    pub fn lid(&self) -> Lid {
        self.running
            .sim
            .with(|sim| sim.port(self.port).unwrap().info().lid())
    }

    pub fn send(&mut self, request: &SaMad) {
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

    pub fn receive(&mut self) -> Option<Mad> {
        for _ in 0..1000 {
            self.running.run_for(Duration::from_micros(10));
            let now = self.running.clock.now();
            if let Some(Received::Mad(mad)) = self.transport.recv(Some(now)).unwrap() {
                return Some(mad);
            }
        }
        None
    }

    pub fn get<R: Record>(&mut self, template: &R, mask: ComponentMask) -> Result<R, MadStatus> {
        self.ask(Method::GET, template, mask)
    }

    pub fn set<R: Record>(&mut self, template: &R, mask: ComponentMask) -> Result<R, MadStatus> {
        self.ask(Method::SET, template, mask)
    }

    pub fn delete<R: Record>(&mut self, template: &R, mask: ComponentMask) -> Result<R, MadStatus> {
        self.ask(Method::DELETE, template, mask)
    }

    /// Asks for one record.
    fn ask<R: Record>(
        &mut self,
        method: Method,
        template: &R,
        mask: ComponentMask,
    ) -> Result<R, MadStatus> {
        let answer = self.exchange(&SaMad::query(method, template, mask));
        if answer.status().is_ok() {
            Ok(*answer.single::<R>().unwrap())
        } else {
            Err(answer.status())
        }
    }

    /// Sends a request and waits for its answer of one datagram.
    pub fn exchange(&mut self, request: &SaMad) -> SaMad {
        let mut request = *request;
        request.set_transaction_id(ib_mad::TransactionId(77));
        self.send(&request);
        let answer = self.receive().expect("an answer");
        let (answer, _) = SaMad::parse(&answer.bytes, 0).unwrap();
        let expected = match request.method() {
            Method::DELETE => Method::DELETE_RESP,
            _ => Method::GET_RESP,
        };
        assert_eq!(answer.method(), expected);
        assert_eq!(answer.transaction_id().low(), 77);
        assert_eq!(answer.sm_key(), ib_mad::SmKey(0));
        *answer
    }

    pub fn table<R: Record>(&mut self, template: &R, mask: ComponentMask) -> Vec<R> {
        self.many(&SaMad::query(Method::GET_TABLE, template, mask))
    }

    /// Sends a request and puts the table together that answers it.
    pub fn many<R: Record>(&mut self, request: &SaMad) -> Vec<R> {
        self.send(request);
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

    /// Sends a request of many segments and puts the table together that answers it.
    pub fn multi<R: Record>(&mut self, template: &Mad, data: bytes::Bytes) -> Vec<R> {
        let sm = self
            .running
            .sim
            .with(|sim| sim.port(self.port).unwrap().info().master_sm_lid());
        let mut rmpp = Rmpp::new(RmppConfig::default());
        let template = Mad {
            address: MadAddress::gsi(sm, Sl::ZERO),
            ..*template
        };
        let now = self.running.clock.now();
        rmpp.send(now, &template, data).unwrap();
        for _ in 0..1000 {
            let now = self.running.clock.now();
            while let Some(mad) = rmpp.poll_transmit(now) {
                self.transport.send(&mad).unwrap();
            }
            while let Some(event) = rmpp.poll_event() {
                if let RmppEvent::Received(message) = event {
                    let (headers, _) = SaMad::parse(&message.first.bytes, 0).unwrap();
                    assert_eq!(headers.method(), Method::GET_MULTI_RESP);
                    let records = Records::new(&message.data, headers.attribute_offset()).unwrap();
                    return records.copied().collect();
                }
            }
            if let Some(mad) = self.receive() {
                assert!(rmpp.handle_mad(self.running.clock.now(), &mad), "{mad:?}");
            }
        }
        panic!("no table came");
    }
}
