//! Asks a node for its NodeInfo along a directed route.
//!
//! `node_info` uses the first InfiniBand port of this machine, `node_info sim:NAME` a port of a
//! simulator; further arguments are the output port of each hop.

use std::{env, error::Error, time::Duration};

use ib_mad::{Attribute, Mad, MadAddress, Method, MgmtClass, TransactionId};
use ib_smp::{NodeInfo, SmpDirected};
use ib_transport::{
    Clock, MadTransport, MonotonicClock, Received,
    ibsim::{IbsimOptions, IbsimPort},
    umad::{AgentClass, UmadOptions, UmadPort},
};
use ib_wire::Lid;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1).peekable();
    let clock = MonotonicClock::start();
    let simulator = arguments.next_if(|argument| argument.starts_with("sim:"));
    let mut port: Box<dyn MadTransport> = match simulator {
        Some(device) => {
            let server = device.trim_start_matches("sim:").to_owned();
            let options = IbsimOptions {
                server,
                ..IbsimOptions::default()
            };
            Box::new(IbsimPort::attach(&options, clock)?)
        }
        None => Box::new(UmadPort::open(
            &UmadOptions::default(),
            &AgentClass::DIAGNOSTICS,
            clock,
        )?),
    };

    let mut path = [0; 64];
    let mut hop_count = 0;
    for (hop, argument) in path.iter_mut().skip(1).zip(arguments) {
        *hop = argument.parse()?;
        hop_count += 1;
    }
    let mut request = Mad::new(MadAddress::DIRECTED);
    let (smp, _) = SmpDirected::parse_mut(&mut request.bytes, 0)?;
    smp.set_base_version(1)
        .set_mgmt_class(MgmtClass::SUBN_DIRECTED)
        .set_class_version(1)
        .set_method(Method::GET)
        .set_transaction_id(TransactionId(1))
        .set_attribute_id(NodeInfo::ID)
        .set_hop_count(hop_count)
        .set_initial_path(&path)
        .set_dr_slid(Lid::PERMISSIVE)
        .set_dr_dlid(Lid::PERMISSIVE);
    port.send(&request)?;

    match port.recv(Some(clock.now() + Duration::from_secs(1)))? {
        Some(Received::Mad(answer)) => {
            let (smp, _) = SmpDirected::parse(&answer.bytes, 0)?;
            println!("{:#?}", NodeInfo::parse(smp.smp_data(), 64)?.0);
            Ok(())
        }
        Some(Received::Returned(_)) => Err("no way there".into()),
        None => Err("no answer within a second".into()),
    }
}
