//! Asks a node for its NodeInfo along a directed route.
//!
//! `node_info` uses the first InfiniBand port of this machine, `node_info sim:NAME` a port of a
//! simulator; further arguments are the output port of each hop.

use std::{env, error::Error, time::Duration};

use ib_mad::{Attribute, Method, TransactionId};
use ib_smp::{DrPath, NodeInfo, SmAttribute, Smp, SmpDirected};
use ib_transport::{
    AnyPort, Clock, MadTransport, MonotonicClock, PortOptions, Received, receive, umad::AgentClass,
};
use ib_wire::PortNum;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1).peekable();
    let options = PortOptions {
        device: arguments.next_if(|argument| argument.starts_with("sim:")),
        ..PortOptions::default()
    };
    let mut port = AnyPort::open(&options, &AgentClass::DIAGNOSTICS)?;

    let hops: Vec<PortNum> = arguments.map(|hop| hop.parse()).collect::<Result<_, _>>()?;
    let path = DrPath::try_new(&hops).ok_or("more than 63 hops")?;
    let request = SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path)
        .set_transaction_id(TransactionId(1))
        .to_mad();
    let clock = MonotonicClock::start();
    let now = clock.now();
    port.send(now, &request)?;

    match receive(&mut port, &clock, Some(now + Duration::from_secs(1)))?.1 {
        Some(Received::Mad(answer)) => {
            let smp = Smp::parse(&answer.bytes).ok_or("not an SMP")?;
            if let SmAttribute::NodeInfo(info) = smp.attribute() {
                println!("{info:#?}");
            }
            Ok(())
        }
        Some(Received::Returned(_)) => Err("no way there".into()),
        None => Err("no answer within a second".into()),
    }
}
