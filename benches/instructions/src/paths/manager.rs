//! A manager on a simulated fabric: bring-up, walks, and answers of the subnet administrator.

use std::{ops::ControlFlow, time::Duration};

use ib_mad::{
    Attribute, Engine, Input, Instant, Mad, MadAddress, Method, RmppConfig, RmppReceiver,
    TransactionId,
};
use ib_routing::Fabric;
use ib_sa::{NodeComponents, NodeRecord, PathComponents, PathRecord, SaMad};
use ib_sim::{Sim, SimOptions};
use ib_sm::{Event, SmConfig, SubnetManager};
use ib_smp::{DrPath, NodeInfo, SmpDirected};
use ib_subnet::{Discovery, DiscoveryConfig, DiscoveryEvent};
use ib_testkit::fabrics::generated;
use ib_transport::{Clock, MadTransport, Received, drive, receive};
use ib_wire::{Gid, GidPrefix, Lid, PortNum, Sl};

use super::{Error, Path, Work, ensure, routing::FAT_TREE};

pub(super) const PATHS: &[Path] = &[
    Path {
        name: "sim-get-nodeinfo",
        prepare: get_node_info,
    },
    Path {
        name: "discovery",
        prepare: discover,
    },
    Path {
        name: "bring-up",
        prepare: bring_up,
    },
    Path {
        name: "sa-path-record",
        prepare: path_records,
    },
    Path {
        name: "sa-node-table",
        prepare: node_table,
    },
];

/// The simulator answers 64 Get(NodeInfo) of the switch next to the host.
fn get_node_info() -> Result<Work, Error> {
    let fabric = generated(FAT_TREE);
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let mut transport = sim.attach(fabric.first_host().ok_or("no host")?)?;
    let path = DrPath::try_new(&[PortNum(1)]).unwrap_or_default();
    let mut mad = Mad::new(MadAddress::DIRECTED);
    mad.bytes = *SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path).as_bytes();
    Ok(Box::new(move || {
        for _ in 0..64 {
            transport.send(sim.now(), &mad)?;
            let received = receive(&mut transport, &sim, None)?.1;
            let is_answer = matches!(received, Some(Received::Mad(_)));
            ensure(is_answer, "no answer")?;
        }
        Ok(())
    }))
}

/// Reads all nodes and cables, the simulator included.
fn discover() -> Result<Work, Error> {
    let fabric = generated(FAT_TREE);
    let host = fabric.first_host().ok_or("no host")?;
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let mut transport = sim.attach(host)?;
    Ok(Box::new(move || {
        let mut discovery = Discovery::new(DiscoveryConfig::default());
        drive(
            &mut discovery,
            &mut transport,
            &sim,
            |_, event| match event {
                DiscoveryEvent::Done => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            },
        )?;
        let found = discovery.finish().fabric;
        let same = found.num_switches() == fabric.num_switches();
        ensure(same, "a switch was not found")
    }))
}

/// A manager in a subnet that is up.
fn manager(fabric: &Fabric) -> Result<SubnetManager, Error> {
    let sim = Sim::new(fabric, SimOptions::default()).share();
    let mut transport = sim.attach(fabric.first_host().ok_or("no host")?)?;
    let config = SmConfig {
        sweep_interval: None,
        ..SmConfig::default()
    };
    let mut sm = SubnetManager::new(config, sim.now());
    let up = drive(&mut sm, &mut transport, &sim, |_, event| match event {
        Event::SubnetUp(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })?;
    ensure(up.is_some(), "the subnet did not come up")?;
    // Once the subnet is up, the manager shares the tables of switches with the routes, a few at each call.
    let now = sim.now();
    while sm.poll_timeout().is_some_and(|due| due <= now) {
        sm.handle_timeout(now);
    }
    Ok(sm)
}

/// Brings the subnet up, the simulator included.
fn bring_up() -> Result<Work, Error> {
    let fabric = generated(FAT_TREE);
    Ok(Box::new(move || manager(&fabric).map(drop)))
}

/// An administrator that a host asks one question after the other.
struct Administrator {
    sm: SubnetManager,
    now: Instant,
    transaction: u64,
}

impl Administrator {
    /// Timers beyond this number belong to requests without an answer.
    const SOON: Duration = Duration::from_micros(1);

    fn new(fabric: &Fabric) -> Result<Self, Error> {
        Ok(Self {
            sm: manager(fabric)?,
            // Long after the end of the bring-up.
            now: Instant::from_nanos(1 << 40),
            transaction: 0,
        })
    }

    fn ask(&mut self, from: Lid, mut request: SaMad) {
        self.transaction += 1;
        request.set_transaction_id(TransactionId(self.transaction));
        let mut mad = Mad::new(MadAddress::gsi(from, Sl::ZERO));
        mad.bytes = *request.as_bytes();
        self.sm.handle_input(self.now, Input::Mad(&mad));
    }

    /// The next datagram that it sends. Of many requests, and of the parts of a table, it looks for input in between.
    fn next_sent(&mut self) -> Option<Mad> {
        loop {
            if let Some(sent) = self.sm.poll_transmit(self.now) {
                return Some(sent);
            }
            let latest = self.now.saturating_add(Self::SOON);
            self.now = self.sm.poll_timeout().filter(|&due| due <= latest)?;
            self.sm.handle_timeout(self.now);
        }
    }
}

/// The administrator answers 32 requests of hosts for the path to another.
fn path_records() -> Result<Work, Error> {
    let mut administrator = Administrator::new(&generated(FAT_TREE))?;
    let ends = administrator.sm.lids().destinations().iter();
    let hosts: Vec<_> = ends.filter(|end| !end.is_switch()).cloned().collect();
    Ok(Box::new(move || {
        for pair in hosts.windows(2).take(32) {
            let [from, to] = pair else { continue };
            let gid = |guid| Gid::new(GidPrefix::DEFAULT, guid);
            let mut template = PathRecord::default();
            template.set_sgid(gid(from.guid)).set_dgid(gid(to.guid));
            let mask = PathComponents::SGID | PathComponents::DGID;
            let request = SaMad::query(Method::GET, &template, mask);
            administrator.ask(from.range.base(), request);
            let answer = administrator.next_sent().ok_or("no answer")?;
            let (answer, _) = SaMad::parse(&answer.bytes, 0)?;
            let path = answer.single::<PathRecord>()?;
            ensure(path.dlid() == to.range.base(), "another path")?;
        }
        Ok(())
    }))
}

/// The administrator sends a host the NodeRecords of the whole subnet.
fn node_table() -> Result<Work, Error> {
    let mut administrator = Administrator::new(&generated(FAT_TREE))?;
    let ends = administrator.sm.lids().destinations();
    let from = ends.iter().last().ok_or("no port")?.range.base();
    let records = ends.len();
    // All nodes have this version. A table without a component is kept: a second request would not make it.
    let mut template = NodeRecord::default();
    let mut info = template.node_info().to_owned();
    info.set_base_version(1);
    template.set_node_info(&info);
    Ok(Box::new(move || {
        let mask = NodeComponents::BASE_VERSION;
        let request = SaMad::query(Method::GET_TABLE, &template, mask);
        administrator.ask(from, request);
        let (mut receiver, mut table) = (None, None);
        while let Some(segment) = administrator.next_sent() {
            let receiver = match &mut receiver {
                Some(receiver) => receiver,
                none => none.insert(RmppReceiver::new(RmppConfig::default(), &segment)?),
            };
            table = table.or(receiver.handle_mad(administrator.now, &segment));
            if let Some(answer) = receiver.poll_transmit() {
                let input = Input::Mad(&answer);
                administrator.sm.handle_input(administrator.now, input);
            }
        }
        let table = table.ok_or("no table")?;
        ensure(
            table.data.len() >= records * NodeRecord::LEN,
            "a record is missing",
        )
    }))
}
