//! A host that sends requests to the subnet administrator.

use std::{fmt, time::Duration};

use ib_mad::{
    ClientConfig, ClientEvent, Engine, Input, Mad, MadAddress, MadStatus, Method, Request,
};
use ib_routing::PortRef;
use ib_sa::{ComponentMask, Record, SaMad, TableCall};
use ib_sim::SimTransport;
use ib_transport::{Clock, MadTransport, Received};
use ib_wire::{Lid, Sl};

use super::{Lab, Running};

/// A host, other than the manager's, of a fabric that is up.
pub struct Client {
    /// The fabric, with its manager.
    pub running: Running,
    /// The host's port.
    pub port: PortRef,
    /// The transport of that port.
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

    /// The LID of the port.
    pub fn lid(&self) -> Lid {
        self.running
            .sim
            .with(|sim| sim.port(self.port).unwrap().info().lid())
    }

    /// The address of the administrator, as the port's PortInfo gives it.
    pub fn administrator(&self) -> MadAddress {
        let sim = &self.running.sim;
        let sm = sim.with(|sim| sim.port(self.port).unwrap().info().master_sm_lid());
        MadAddress::gsi(sm, Sl::ZERO)
    }

    /// Sends a request to the administrator.
    pub fn send(&mut self, request: &SaMad) {
        let mad = Mad {
            address: self.administrator(),
            bytes: *request.as_bytes(),
        };
        let now = self.running.sim.now();
        self.transport.send(now, &mad).unwrap();
    }

    /// The next datagram, within 10 ms of virtual time.
    pub fn receive(&mut self) -> Option<Mad> {
        for _ in 0..1000 {
            self.running.run_for(Duration::from_micros(10));
            let now = self.running.sim.now();
            if let Some(Received::Mad(mad)) = self.transport.recv(now).unwrap() {
                return Some(mad);
            }
        }
        None
    }

    /// Gets one record.
    pub fn get<R: Record>(&mut self, template: &R, mask: ComponentMask) -> Result<R, MadStatus> {
        self.ask(Method::GET, template, mask)
    }

    /// Sets one record.
    pub fn set<R: Record>(&mut self, template: &R, mask: ComponentMask) -> Result<R, MadStatus> {
        self.ask(Method::SET, template, mask)
    }

    /// Deletes one record.
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
            Method::GET_MULTI => Method::GET_MULTI_RESP,
            _ => Method::GET_RESP,
        };
        assert_eq!(answer.method(), expected);
        assert_eq!(answer.transaction_id().low(), 77);
        assert_eq!(answer.sm_key(), ib_mad::SmKey(0));
        *answer
    }

    /// Gets all records that match.
    pub fn table<R: Record>(&mut self, template: &R, mask: ComponentMask) -> Vec<R> {
        self.ask_client(TableCall::get(self.administrator(), template, mask))
    }

    /// Sends a request unchanged and returns the table that answers it.
    pub fn many<R: Record>(&mut self, request: &SaMad) -> Vec<R> {
        let mut call = TableCall::get(self.administrator(), &R::new_zeroed(), ComponentMask(0));
        call.request = *request;
        self.ask_client(call)
    }

    /// Sends a request with a client of its own, which handles transfers of many segments in both directions.
    pub fn ask_client<R: Request>(&mut self, request: R) -> R::Output
    where
        R::Error: fmt::Debug,
    {
        let mut client = ib_mad::Client::new(ClientConfig::default());
        assert!(client.ask(request).is_ok());
        loop {
            let now = self.running.sim.now();
            while let Some(mad) = client.poll_transmit(now) {
                self.transport.send(now, &mad).unwrap();
            }
            if let Some(ClientEvent::Ended { outcome, .. }) = client.poll_event() {
                return outcome.unwrap();
            }
            let mad = self.receive().expect("an answer");
            client.handle_input(self.running.sim.now(), Input::Mad(&mad));
        }
    }
}
