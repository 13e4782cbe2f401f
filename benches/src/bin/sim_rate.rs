//! SMPs a second that the simulator carries: Get(NodeInfo) of the node at distance 1, 32 in
//! flight.

use std::error::Error;
use std::time::Instant;

use ib_mad::{Attribute, Mad, MadAddress, Method};
use ib_routing::{FabricBuilder, NewNode, NodeType, PortRef};
use ib_sim::{Sim, SimOptions};
use ib_smp::{DrPath, NodeInfo, SmpDirected};
use ib_transport::{Clock as _, MadTransport, Received, receive};
use ib_wire::{Guid, PortNum};

fn main() -> Result<(), Box<dyn Error>> {
    let mut builder = FabricBuilder::new();
    let host = builder.add_node(NewNode {
        guid: Guid(0x10),
        num_ports: 1,
        ..NewNode::default()
    })?;
    let switch = builder.add_node(NewNode {
        type_: NodeType::SWITCH,
        guid: Guid(0x20),
        num_ports: 36,
        ..NewNode::default()
    })?;
    let (port, far) = (PortNum(1), PortNum(9));
    let port = PortRef { node: host, port };
    builder.add_link(
        port,
        PortRef {
            node: switch,
            port: far,
        },
    )?;
    let sim = Sim::new(&builder.build(), SimOptions::default()).share();
    let mut transport = sim.attach(port)?;

    let path = DrPath::try_new(&[PortNum(1)]).unwrap_or_default();
    let mut mad = Mad::new(MadAddress::DIRECTED);
    mad.bytes = *SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path).as_bytes();
    const COUNT: u32 = 2_000_000;
    let start = Instant::now();
    for _ in 0..32 {
        transport.send(sim.now(), &mad)?;
    }
    let mut answered = 0;
    while let Some(Received::Mad(_)) = receive(&mut transport, &sim, None)?.1 {
        answered += 1;
        if answered + 32 <= COUNT {
            transport.send(sim.now(), &mad)?;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{:.0} SMPs/s", f64::from(answered) / seconds);
    Ok(())
}
