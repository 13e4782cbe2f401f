//! Exercises the user MAD interface of the running kernel on the first port that has one.
//!
//! Two openings of the port talk to each other through QP1: registration, request and answer, many of them
//! without an allocation, time-out, a long message by the kernel's RMPP, reads that have no room for it, and,
//! when the port disappears, its removal. Prints one line a step.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    error::Error,
    fs::File,
    io::{Read, Write},
    os::fd::AsFd,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use ib_mad::{
    AttributeId, GrhAddress, Instant, Mad, MadAddress, MadHeader, Method, MgmtClass, TransactionId,
};
use ib_transport::{
    Clock, MadTransport, MonotonicClock, Received, TransportError, receive,
    umad::{AgentClass, PortSelector, RmppSide, UmadMessage, UmadOptions, UmadPort, devices},
};
use ib_wire::{Lid, Sl};

/// A vendor class of range 2, which has RMPP.
const CLASS: MgmtClass = MgmtClass(0x32);
const OUI: u32 = 0x00_1405;
/// Bytes before the data of a vendor message: common header, RMPP header, OUI.
const HEADERS: usize = 40;

/// The system's allocator, with a count of what is asked of it.
struct Counting(AtomicUsize);

// SAFETY: every call is the system allocator's own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps this trait's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from `alloc`, which is the system's.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting(AtomicUsize::new(0));

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
        wanted: PortSelector {
            device: Some(device.name.clone()),
            ..PortSelector::default()
        },
        timeout: Duration::from_millis(300),
        ..UmadOptions::default()
    };
    match UmadPort::open(&options, &AgentClass::SUBNET_MANAGER) {
        Err(error @ TransportError::NoPort { .. }) => done(&format!("refused QP0: {error}")),
        other => return Err(format!("QP0 of an Ethernet port: {other:?}").into()),
    }

    let client = AgentClass {
        oui: OUI,
        rmpp: RmppSide::Kernel,
        ..AgentClass::client(CLASS, 1)
    };
    let server = AgentClass {
        methods: &[Method::GET],
        ..client
    };
    let mut asks = UmadPort::open(&options, &[client])?;
    let mut answers = UmadPort::open(&options, &[server])?;
    done("registered a client and a server");
    match UmadPort::open(&options, &[server]) {
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

    asks.send_message(&own, &message(Method::GET, 1, 256 - HEADERS))?;
    let request = expect(&mut answers, &clock)?;
    answers.send_message(&request.address, &reply(&request, 256 - HEADERS))?;
    let answer = expect(&mut asks, &clock)?;
    if answer.bytes.len() != 256
        || MadHeader::parse(&answer.bytes, 0)?.0.transaction_id().low() != 1
    {
        return Err(format!("the answer is {answer:?}").into());
    }
    done("answered a request");

    let before = ALLOCATOR.0.load(Ordering::Relaxed);
    for transaction in 100..200 {
        exchange(&mut asks, &mut answers, own, transaction, &clock)?;
    }
    match ALLOCATOR.0.load(Ordering::Relaxed) - before {
        0 => done("exchanged 100 requests and answers without an allocation"),
        count => return Err(format!("{count} allocations in 100 exchanges").into()),
    }

    asks.send_message(&own, &message(Method::GET, 2, 256 - HEADERS))?;
    expect(&mut answers, &clock)?;
    let returned = expect(&mut asks, &clock)?;
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
    let request = expect(&mut answers, &clock)?;
    let long = reply(&request, 1000);
    answers.send_message(&request.address, &long)?;
    read_without_room(&asks, HEADERS + 1000)?;
    let joined = expect(&mut asks, &clock)?;
    if joined.bytes.get(HEADERS..) != long.get(HEADERS..) {
        return Err(format!("{} bytes of a long answer", joined.bytes.len()).into());
    }
    done(&format!(
        "joined a long answer of {} bytes",
        joined.bytes.len()
    ));

    done("ready for removal");
    match next_message(&mut asks, &clock, clock.now() + Duration::from_secs(10)) {
        Err(error @ TransportError::Closed { .. }) => done(&format!("noticed: {error}")),
        other => return Err(format!("the removal brought {other:?}").into()),
    }
    Ok(())
}

/// One request and its answer, each in a datagram.
fn exchange(
    asks: &mut UmadPort,
    answers: &mut UmadPort,
    address: MadAddress,
    transaction: u64,
    clock: &MonotonicClock,
) -> Result<(), TransportError> {
    let deadline = Some(clock.now() + Duration::from_secs(3));
    let mut mad = Mad::new(address);
    header(mad.header_mut(), Method::GET, transaction);
    mad.bytes[36..HEADERS].copy_from_slice(&OUI.to_be_bytes());
    asks.send(clock.now(), &mad)?;
    let answered = match receive(answers, clock, deadline)?.1 {
        Some(Received::Mad(mut request)) => {
            request.header_mut().set_method(Method::GET_RESP);
            answers.send(clock.now(), &request)?;
            receive(asks, clock, deadline)?.1
        }
        other => other,
    };
    match answered {
        Some(Received::Mad(answer))
            if answer.header().transaction_id().low() == transaction as u32 =>
        {
            Ok(())
        }
        _ => Err(TransportError::Unreachable {
            reason: "no answer",
        }),
    }
}

/// Reads a queued message of `length` bytes into buffers that are too short for it, by the file itself: the
/// kernel says how long it is (ENOSPC) or that not even its first segment has room (EINVAL), and keeps it.
fn read_without_room(port: &UmadPort, length: usize) -> Result<(), Box<dyn Error>> {
    const USER_HEADER: usize = 64;
    let mut file = File::from(port.as_fd().try_clone_to_owned()?);
    let mut outcome = |room: usize| {
        let mut buffer = vec![0xa5; room];
        for _ in 0..300 {
            match file.read(&mut buffer) {
                Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {
                    thread::sleep(Duration::from_millis(10));
                }
                Err(error) => return Ok((error.raw_os_error(), buffer)),
                Ok(n) => return Err(format!("a read of {n} bytes into {room}")),
            }
        }
        Err("nothing arrived".to_owned())
    };
    let needed = USER_HEADER + length;
    // All but one byte; the first segment alone; that again.
    for room in [needed - 1, USER_HEADER + 256, USER_HEADER + 256] {
        let (error, buffer) = outcome(room)?;
        let says = u32::from_ne_bytes(buffer[16..20].try_into()?) as usize;
        let first = MadHeader::parse(&buffer[USER_HEADER..], 0)?.0;
        if error != Some(libc::ENOSPC) || says != needed || first.mgmt_class() != CLASS {
            return Err(format!("{room} bytes of room for {needed}: {error:?}, {says}").into());
        }
    }
    let (error, _) = outcome(USER_HEADER + 255)?;
    if error != Some(libc::EINVAL) {
        return Err(format!("no room for a segment: {error:?}").into());
    }
    done(&format!(
        "was told of {needed} bytes three times where there was no room (ENOSPC)"
    ));
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

fn expect(port: &mut UmadPort, clock: &MonotonicClock) -> Result<UmadMessage, Box<dyn Error>> {
    let deadline = clock.now() + Duration::from_secs(3);
    Ok(next_message(port, clock, deadline)?.ok_or("nothing arrived")?)
}

/// The next message of any length until `deadline`.
fn next_message(
    port: &mut UmadPort,
    clock: &MonotonicClock,
    deadline: Instant,
) -> Result<Option<UmadMessage>, TransportError> {
    loop {
        if let Some(message) = port.recv_message()? {
            return Ok(Some(message));
        }
        let now = clock.now();
        if now >= deadline {
            return Ok(None);
        }
        port.wait(now, Some(deadline))?;
    }
}

/// A vendor message with `data_len` bytes of a pattern.
fn message(method: Method, transaction: u64, data_len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..HEADERS + data_len).map(|i| (i % 251) as u8).collect();
    bytes[..HEADERS].fill(0);
    let oui = OUI.to_be_bytes();
    bytes[36..HEADERS].copy_from_slice(&oui);
    if let Ok((head, _)) = MadHeader::parse_mut(&mut bytes, 0) {
        header(head, method, transaction);
    }
    bytes
}

fn header(header: &mut MadHeader, method: Method, transaction: u64) {
    header
        .set_base_version(1)
        .set_mgmt_class(CLASS)
        .set_class_version(1)
        .set_method(method)
        .set_transaction_id(TransactionId(transaction))
        .set_attribute_id(AttributeId(0x10));
}

/// The answer to `request`, by RMPP where it is longer than one datagram.
fn reply(request: &UmadMessage, data_len: usize) -> Vec<u8> {
    let mut bytes = message(Method::GET_RESP, 0, data_len);
    // The transaction ID as the kernel numbered it.
    bytes[8..16].copy_from_slice(&request.bytes[8..16]);
    if bytes.len() > 256 {
        // RMPP version 1, a DATA segment, active.
        bytes[24..27].copy_from_slice(&[1, 1, 1]);
    }
    bytes
}
