//! Asks the own node for its NodeInfo over ibsim's socket: `cargo run --example node_info -- SOCKET`.

use std::{env, error::Error, time::Duration};

use ib_mad::{AttributeId, Mad, MadAddress, MadHeader, Method, MgmtClass, TransactionId};
use ib_transport::{
    Clock, MadTransport, MonotonicClock, Received,
    ibsim::{IbsimOptions, IbsimPort},
};

fn main() -> Result<(), Box<dyn Error>> {
    let server = env::args().nth(1).unwrap_or_else(|| "sim".to_owned());
    let clock = MonotonicClock::start();
    let mut port = IbsimPort::attach(
        &IbsimOptions {
            server,
            ..IbsimOptions::default()
        },
        clock,
    )?;
    let mut request = Mad::new(MadAddress::DIRECTED);
    let (header, _) = MadHeader::parse_mut(&mut request.bytes, 0)?;
    header
        .set_base_version(1)
        .set_mgmt_class(MgmtClass::SUBN_DIRECTED)
        .set_class_version(1)
        .set_method(Method::GET)
        .set_transaction_id(TransactionId(1))
        .set_attribute_id(AttributeId(0x0011));
    // DrSLID and DrDLID permissive: a directed route from end to end, of no hops.
    if let Some(route) = request.bytes.get_mut(32..36) {
        route.fill(0xff);
    }
    port.send(&request)?;
    match port.recv(Some(clock.now() + Duration::from_secs(1)))? {
        Some(Received::Mad(answer)) => println!("{:?}", answer.header()),
        other => println!("no answer: {other:?}"),
    }
    Ok(())
}
