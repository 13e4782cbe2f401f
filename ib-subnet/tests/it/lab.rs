//! A subnet whose walks run on a simulated fabric, one read after the other, with answers that a test may change.

use std::time::Duration;

use ib_mad::{Attribute, AttributeId, Mad, MadAddress, TransactionId};
use ib_routing::{Fabric, PortRef};
use ib_sim::{SharedSim, Sim, SimOptions, SimTransport};
use ib_smp::{PortInfo, PortState, SmpDirected};
use ib_subnet::{
    NodeId, PortId, Read, ReadTarget, Subnet, SubnetPort, Walk, WalkFinding, WalkOptions,
    WalkOutcome,
};
use ib_testkit::fabrics::fabric;
use ib_transport::{Clock, MadTransport, Received};
use ib_wire::PortNum;

/// Changes the answer to a read; false: the answer is lost.
pub(crate) type Edit = Box<dyn FnMut(Read, &mut SmpDirected) -> bool>;

pub(crate) struct Lab {
    pub(crate) sim: SharedSim,
    transport: SimTransport,
    pub(crate) subnet: Subnet,
    pub(crate) options: WalkOptions,
    /// The reads of the last walk with their datagrams.
    pub(crate) asked: Vec<(Read, Mad)>,
    edits: Vec<Edit>,
    next_id: u64,
}

/// Result of a walk.
pub(crate) struct Walked {
    pub(crate) outcome: WalkOutcome,
    pub(crate) findings: Vec<WalkFinding>,
}

/// The two switches `t0` and `t1` with three hosts each; port 1 of `t0` leads to port 2 of `t1`. The asker is the host on
/// port 3 of `t0`.
pub(crate) fn line() -> Lab {
    Lab::new(&fabric("gen-line-2"), SimOptions::default())
}

/// [`line`] after a walk of everything.
pub(crate) fn walked_line() -> Lab {
    let mut lab = line();
    lab.everything();
    lab
}

/// [`line`] after a walk of everything that saw all links Active, as a manager leaves them.
pub(crate) fn active_line() -> Lab {
    let mut lab = line();
    lab.edit(all_active);
    lab.everything();
    lab
}

/// Shows a link in Initialize as Active.
pub(crate) fn all_active(_: Read, smp: &mut SmpDirected) -> bool {
    change(smp, |info: &mut PortInfo| {
        if info.port_state() == PortState::INITIALIZE {
            info.set_port_state(PortState::ACTIVE);
        }
    });
    true
}

/// Changes the attribute in an answer, if it is this one.
pub(crate) fn change<T>(smp: &mut SmpDirected, edit: impl FnOnce(&mut T))
where
    T: Attribute + Default + zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable,
{
    if smp.attribute_id() == T::ID {
        let (mut value, _) = T::read_from_prefix(smp.smp_data()).unwrap();
        edit(&mut value);
        smp.set_attribute(&value);
    }
}

impl Lab {
    pub(crate) fn new(fabric: &Fabric, options: SimOptions) -> Self {
        let sim = Sim::new(fabric, options).share();
        let transport = sim.attach(fabric.first_host().unwrap()).unwrap();
        Self {
            sim,
            transport,
            subnet: Subnet::default(),
            options: WalkOptions::default(),
            asked: Vec::new(),
            edits: Vec::new(),
            next_id: 1,
        }
    }

    /// Changes all answers from now on.
    pub(crate) fn edit(&mut self, edit: impl FnMut(Read, &mut SmpDirected) -> bool + 'static) {
        self.edits.push(Box::new(edit));
    }

    /// Ends all changes of answers.
    pub(crate) fn honest(&mut self) {
        self.edits.clear();
    }

    pub(crate) fn everything(&mut self) -> Walked {
        let walk = Walk::everything(&mut self.subnet, self.options.clone());
        self.run(walk)
    }

    pub(crate) fn ports(&mut self, marked: &[PortId]) -> Walked {
        let marked = marked.iter().copied();
        let walk = Walk::ports(&mut self.subnet, marked, self.options.clone());
        self.run(walk)
    }

    pub(crate) fn changes(&mut self, managers: &[PortId]) -> Walked {
        let walk = Walk::changes(&mut self.subnet, managers, self.options.clone());
        self.run(walk)
    }

    pub(crate) fn run(&mut self, mut walk: Walk) -> Walked {
        self.asked.clear();
        let mut findings = Vec::new();
        while let Some((read, mad)) = walk.next_read(&self.subnet) {
            self.asked.push((read, mad));
            match self.answer(read, mad) {
                Some(answer) => walk.handle_answer(&mut self.subnet, read, &answer),
                None => walk.handle_failure(&mut self.subnet, read),
            }
            let _ = walk.refresh_paths(&mut self.subnet);
            findings.extend(std::iter::from_fn(|| walk.poll_finding()));
            assert!(self.asked.len() < 5_000, "an endless walk");
        }
        findings.extend(std::iter::from_fn(|| walk.poll_finding()));
        Walked {
            outcome: walk.finish(&mut self.subnet),
            findings,
        }
    }

    fn answer(&mut self, read: Read, mut mad: Mad) -> Option<Mad> {
        let id = TransactionId(self.next_id);
        self.next_id += 1;
        mad.header_mut().set_transaction_id(id);
        self.transport.send(self.sim.now(), &mad).unwrap();
        let until = self.sim.now() + Duration::from_millis(100);
        loop {
            match self.transport.recv(self.sim.now()).unwrap() {
                Some(Received::Mad(mut answer)) if answer.header().transaction_id() == id => {
                    let (smp, _) = SmpDirected::parse_mut(&mut answer.bytes, 0).unwrap();
                    let arrives = self.edits.iter_mut().all(|edit| edit(read, smp));
                    return arrives.then_some(answer);
                }
                Some(_) => {}
                None if self.sim.now() >= until => return None,
                None => {
                    self.transport.wait(self.sim.now(), Some(until)).unwrap();
                }
            }
        }
    }

    /// Lets the links train.
    pub(crate) fn settle(&mut self) {
        self.sim.advance(self.sim.now() + Duration::from_secs(1));
    }

    /// The place of a port in the simulated fabric.
    pub(crate) fn real(&self, name: &str, port: u8) -> PortRef {
        let node = self.sim.with(|sim| sim.find(name)).unwrap();
        PortRef {
            node,
            port: PortNum(port),
        }
    }

    pub(crate) fn node(&self, name: &str) -> NodeId {
        self.find(name).expect(name)
    }

    /// The node of this name, if the subnet has it.
    pub(crate) fn find(&self, name: &str) -> Option<NodeId> {
        let guid = self.sim.with(|sim| {
            let node = sim.find(name).expect(name);
            sim.node(node).unwrap().guid()
        });
        self.subnet.find(guid)
    }

    pub(crate) fn port(&self, name: &str, port: u8) -> PortId {
        PortId {
            node: self.node(name),
            port: PortNum(port),
        }
    }

    pub(crate) fn record(&self, name: &str, port: u8) -> &SubnetPort {
        self.subnet.port(self.port(name, port)).unwrap()
    }

    /// Targets and modifiers of the reads of one attribute in the last walk.
    pub(crate) fn reads(&self, attribute: AttributeId) -> Vec<(ReadTarget, u32)> {
        let reads = self.asked.iter().map(|(read, _)| read);
        let reads = reads.filter(|read| read.attribute == attribute);
        reads.map(|read| (read.target, read.modifier)).collect()
    }

    /// The SMPs of the last walk to the agent of a port.
    pub(crate) fn sent_to(&self, target: ReadTarget) -> Vec<(SmpDirected, MadAddress)> {
        let sent = self.asked.iter().filter(|(read, _)| read.target == target);
        sent.map(|(_, mad)| {
            let (smp, _) = SmpDirected::parse(&mad.bytes, 0).unwrap();
            (*smp, mad.address)
        })
        .collect()
    }
}
