//! Exercises the user MAD interface of the running kernel on the first port that has one.
//!
//! Two openings of the port talk to each other through QP1: registration, request and answer, time-out,
//! a long message by the kernel's RMPP, which the first read has no room for (ENOSPC), and, when the port
//! disappears, its removal. Prints one line a step.

use std::{error::Error, io::Write, path::PathBuf, time::Duration};

use ib_mad::{
    AttributeId, GrhAddress, Instant, MadAddress, MadHeader, Method, MgmtClass, TransactionId,
};
use ib_transport::{
    Clock, MonotonicClock, TransportError,
    umad::{AgentClass, Message, Rmpp, UmadOptions, UmadPort, Wanted, devices},
};
use ib_wire::{Lid, Sl};

/// A vendor class of range 2, which has RMPP.
const CLASS: MgmtClass = MgmtClass(0x32);
const OUI: u32 = 0x00_1405;
/// Bytes before the data of a vendor message: common header, RMPP header, OUI.
const HEADERS: usize = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let clock = MonotonicClock::start();
    let all = devices()?;
    let (device, port) = all
        .iter()
        .flat_map(|device| device.ports.iter().map(move |port| (device, port)))
        .find(|(_, port)| port.umad.is_some())
        .ok_or("no port with management datagrams")?;
    done(&format!(
        "found {}/{} ({})",
        device.name, port.number, port.link_layer
    ));

    let options = UmadOptions {
        wanted: Wanted {
            device: Some(device.name.clone()),
            ..Wanted::default()
        },
        timeout: Duration::from_millis(300),
        ..UmadOptions::default()
    };
    match UmadPort::open(&options, &AgentClass::SUBNET_MANAGER, clock) {
        Err(error @ TransportError::NoPort { .. }) => done(&format!("refused QP0: {error}")),
        other => return Err(format!("QP0 of an Ethernet port: {other:?}").into()),
    }

    let client = AgentClass {
        oui: OUI,
        rmpp: Rmpp::Kernel,
        ..AgentClass::client(CLASS, 1)
    };
    let server = AgentClass {
        methods: &[Method::GET],
        ..client
    };
    let mut asks = UmadPort::open(&options, &[client], clock)?;
    let mut answers = UmadPort::open(&options, &[server], clock)?;
    done("registered a client and a server");
    match UmadPort::open(&options, &[server], clock) {
        Err(error @ TransportError::Register { .. }) => done(&format!("refused: {error}")),
        other => return Err(format!("a second server: {other:?}").into()),
    }

    let own = MadAddress {
        grh: Some(GrhAddress {
            gid: port.gid.ok_or("the port has no GID")?,
            gid_index: 0,
            hop_limit: 64,
            traffic_class: 0,
            flow_label: 0,
        }),
        ..MadAddress::gsi(Lid::NONE, Sl::ZERO)
    };
    let soon = || Some(clock.now() + Duration::from_secs(3));

    asks.send_message(&own, &message(Method::GET, 1, 256 - HEADERS))?;
    let request = expect(&mut answers, soon())?;
    answers.send_message(&request.address, &reply(&request, 256 - HEADERS))?;
    let answer = expect(&mut asks, soon())?;
    if answer.bytes.len() != 256
        || MadHeader::parse(&answer.bytes, 0)?.0.transaction_id().low() != 1
    {
        return Err(format!("the answer is {answer:?}").into());
    }
    done("answered a request");

    asks.send_message(&own, &message(Method::GET, 2, 256 - HEADERS))?;
    expect(&mut answers, soon())?;
    let returned = expect(&mut asks, soon())?;
    if !returned.returned
        || MadHeader::parse(&returned.bytes, 0)?
            .0
            .transaction_id()
            .low()
            != 2
    {
        return Err(format!("the time-out brought {returned:?}").into());
    }
    done("got a request back that nobody answered");

    asks.send_message(&own, &message(Method::GET, 3, 256 - HEADERS))?;
    let request = expect(&mut answers, soon())?;
    let long = reply(&request, 1000);
    answers.send_message(&request.address, &long)?;
    let joined = expect(&mut asks, soon())?;
    if joined.bytes.get(HEADERS..) != long.get(HEADERS..) {
        return Err(format!("{} bytes of a long answer", joined.bytes.len()).into());
    }
    done(&format!(
        "joined a long answer of {} bytes",
        joined.bytes.len()
    ));

    done("ready for removal");
    match asks.recv_message(Some(clock.now() + Duration::from_secs(10))) {
        Err(error @ TransportError::Closed { .. }) => done(&format!("noticed: {error}")),
        other => return Err(format!("the removal brought {other:?}").into()),
    }
    Ok(())
}

fn done(step: &str) {
    println!("ok {step}");
    // The console of a machine that is about to be switched off.
    let _ = std::io::stdout().flush();
    if step == "ready for removal" {
        let _ = std::fs::write(PathBuf::from("/tmp/ready"), "");
    }
}

fn expect(port: &mut UmadPort, deadline: Option<Instant>) -> Result<Message, Box<dyn Error>> {
    Ok(port.recv_message(deadline)?.ok_or("nothing arrived")?)
}

/// A vendor message with `data_len` bytes of a pattern.
fn message(method: Method, transaction: u64, data_len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..HEADERS + data_len).map(|i| (i % 251) as u8).collect();
    bytes[..HEADERS].fill(0);
    let oui = OUI.to_be_bytes();
    bytes[36..HEADERS].copy_from_slice(&oui);
    if let Ok((header, _)) = MadHeader::parse_mut(&mut bytes, 0) {
        header
            .set_base_version(1)
            .set_mgmt_class(CLASS)
            .set_class_version(1)
            .set_method(method)
            .set_transaction_id(TransactionId(transaction))
            .set_attribute_id(AttributeId(0x10));
    }
    bytes
}

/// The answer to `request`, by RMPP where it is longer than one datagram.
fn reply(request: &Message, data_len: usize) -> Vec<u8> {
    let mut bytes = message(Method::GET_RESP, 0, data_len);
    // The transaction ID as the kernel numbered it.
    bytes[8..16].copy_from_slice(&request.bytes[8..16]);
    if bytes.len() > 256 {
        // RMPP version 1, a DATA segment, active.
        bytes[24..27].copy_from_slice(&[1, 1, 1]);
    }
    bytes
}
