//! An opened port with a socket in place of the kernel's file: datagrams keep their bounds there, too.

use std::{
    os::unix::net::UnixDatagram,
    sync::{Arc, atomic::AtomicBool},
    thread,
};

use ib_mad::TransactionId;
use ib_wire::{Lid, Sl};

use super::*;
use crate::{Clock as _, MonotonicClock, receive};

/// A port whose files are sockets, and their other ends.
fn port(is_split: bool) -> (UmadPort, UnixDatagram, Option<UnixDatagram>) {
    let pair = |classes: &[(MgmtClass, u32)]| {
        let (ours, kernel) = UnixDatagram::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        kernel
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        (Node::ready(ours.into(), classes), kernel)
    };
    let smps = [(MgmtClass::SUBN_DIRECTED, 1), (MgmtClass::SUBN_LID, 2)];
    let gmps = [(MgmtClass::PERF, 3)];
    let (node, kernel, gsi, gsi_kernel) = if is_split {
        let (node, kernel) = pair(&smps);
        let (gsi, gsi_kernel) = pair(&gmps);
        (node, kernel, Some(gsi), Some(gsi_kernel))
    } else {
        let (node, kernel) = pair(&[&smps[..], &gmps].concat());
        (node, kernel, None, None)
    };
    let port = UmadPort {
        device: "mlx5_0".to_owned(),
        is_simulator: false,
        port: DevicePort {
            number: 1,
            umad: Some(0),
            link_layer: LinkLayer::InfiniBand,
            state: Some(4),
            phys_state: Some(5),
            lid: None,
            lmc: None,
            sm_lid: None,
            sm_sl: None,
            gid: None,
            cap_mask: None,
            rate: None,
            p_keys: Vec::new(),
        },
        node,
        gsi,
        issm: None,
        timeout_ms: 190,
        buffer: vec![0; BUFFER_LEN],
    };
    (port, kernel, gsi_kernel)
}

/// The next datagram, whenever it arrives.
fn next(port: &mut UmadPort) -> Option<Received> {
    let (_, received) = receive(port, &MonotonicClock::start(), None).unwrap();
    received
}

fn request(class: MgmtClass, method: Method) -> Mad {
    let mut mad = Mad::new(MadAddress::gsi(Lid(5), Sl::ZERO));
    mad.header_mut()
        .set_base_version(1)
        .set_mgmt_class(class)
        .set_class_version(1)
        .set_method(method)
        .set_transaction_id(TransactionId(0x1234));
    mad
}

/// Datagrams that the port wrote: agent, time-out, datagram.
fn written(kernel: &UnixDatagram) -> (u32, u32, Vec<u8>) {
    let mut buffer = [0; 1024];
    let n = kernel.recv(&mut buffer).unwrap();
    let word = |at: usize| u32::from_ne_bytes(*buffer[at..].first_chunk().unwrap());
    (word(0), word(8), buffer[64..n].to_vec())
}

/// A datagram as the kernel hands it up.
fn handed_up(status: u32, mad: &Mad) -> Vec<u8> {
    let mut header = UserMadHeader::to(&mad.address, 1);
    header.status = status;
    let mut message = zerocopy::IntoBytes::as_bytes(&header).to_vec();
    message.extend_from_slice(&mad.bytes);
    message
}

#[test]
fn requests_wait_for_answers_and_what_has_none_does_not() {
    let (mut port, kernel, _) = port(false);
    let waits = [
        (Method::GET, 190),
        (Method::SET, 190),
        (Method::GET_TABLE, 190),
        (Method::DELETE, 190),
        (Method::GET_RESP, 0),
        (Method(0x92), 0),
        (Method::SEND, 0),
        (Method::TRAP, 0),
        (Method::TRAP_REPRESS, 0),
    ];
    for (method, timeout_ms) in waits {
        let mad = request(MgmtClass::PERF, method);
        port.send(Instant::ZERO, &mad).unwrap();
        let expected = (3, timeout_ms, mad.bytes.to_vec());
        assert_eq!(written(&kernel), expected, "{method}");
    }
}

#[test]
fn a_class_that_is_not_registered_has_no_way_out() {
    let (mut port, _kernel, _) = port(false);
    let error = port.send(Instant::ZERO, &request(MgmtClass::SUBN_ADM, Method::GET));
    assert!(
        matches!(error, Err(TransportError::Unreachable { reason }) if reason.contains("no agent")),
        "{error:?}"
    );
    let error = port.send_message(&MadAddress::DIRECTED, &[1; 20]);
    assert!(
        matches!(error, Err(TransportError::Unreachable { reason }) if reason.contains("header")),
        "{error:?}"
    );
}

#[test]
fn a_split_port_sends_by_the_file_that_has_the_class_and_reads_both() {
    let (mut port, smi, gsi) = port(true);
    let gsi = gsi.unwrap();
    let smp = request(MgmtClass::SUBN_LID, Method::GET);
    let gmp = request(MgmtClass::PERF, Method::GET);
    port.send(Instant::ZERO, &gmp).unwrap();
    port.send(Instant::ZERO, &smp).unwrap();
    assert_eq!(written(&smi).0, 2);
    assert_eq!(written(&gsi).0, 3);
    assert_eq!(port.files().count(), 2);

    for kernel in [&gsi, &smi] {
        kernel.send(&handed_up(0, &gmp)).unwrap();
        assert_eq!(next(&mut port), Some(Received::Mad(gmp)));
    }
    // While it waits, either file wakes it.
    for kernel in [smi, gsi] {
        let late = handed_up(0, &gmp);
        let sender = thread::spawn(move || {
            thread::sleep(Duration::from_millis(30));
            kernel.send(&late).unwrap();
            kernel
        });
        assert_eq!(next(&mut port), Some(Received::Mad(gmp)));
        drop(sender.join().unwrap());
    }
}

#[test]
fn nothing_is_there_at_the_deadline_and_a_past_one_asks_for_what_is_there() {
    let (mut port, kernel, _) = port(false);
    let clock = MonotonicClock::start();
    let begin = clock.now();
    let deadline = begin + Duration::from_millis(20);
    let nothing = receive(&mut port, &clock, Some(deadline)).unwrap();
    assert_eq!(nothing, (deadline, None));
    assert!(clock.now() >= deadline);
    let mad = request(MgmtClass::PERF, Method::GET_RESP);
    kernel.send(&handed_up(0, &mad)).unwrap();
    let late = receive(&mut port, &clock, Some(deadline)).unwrap();
    assert_eq!(late, (deadline, Some(Received::Mad(mad))));
    assert_eq!(port.recv(deadline).unwrap(), None);
}

#[test]
fn a_request_that_nobody_answered_is_returned() {
    let (mut port, kernel, _) = port(false);
    let mad = request(MgmtClass::PERF, Method::GET);
    // The kernel gives back the header alone.
    let mut back = handed_up(libc::ETIMEDOUT as u32, &mad);
    back.truncate(UserMadHeader::LEN + MadHeader::LEN);
    kernel.send(&back).unwrap();
    let Some(Received::Returned(returned)) = next(&mut port) else {
        panic!("a request is returned")
    };
    assert_eq!(returned.header(), mad.header());
    assert_eq!(returned.bytes[MadHeader::LEN..], [0; 256 - MadHeader::LEN]);

    kernel.send(&back).unwrap();
    let message = port.recv_message().unwrap().unwrap();
    assert!(message.returned && message.bytes == mad.bytes[..MadHeader::LEN]);
}

#[test]
fn the_buffer_of_a_port_stays_where_it_is() {
    let (mut port, kernel, _) = port(false);
    let place = port.buffer.as_ptr();
    let mad = request(MgmtClass::PERF, Method::GET_RESP);
    for _ in 0..100 {
        port.send(Instant::ZERO, &mad).unwrap();
        written(&kernel);
        kernel.send(&handed_up(0, &mad)).unwrap();
        assert_eq!(next(&mut port), Some(Received::Mad(mad)));
    }
    assert_eq!(port.buffer.as_ptr(), place);
}

#[test]
fn a_loop_of_ones_own_polls_the_file() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let (port, kernel, _) = port(false);
    let readable = |port: &UmadPort| {
        let mut files = [PollFd::new(port, PollFlags::IN)];
        poll(&mut files, Some(&Timespec::default())).unwrap() == 1
    };
    assert!(!readable(&port));
    let mad = request(MgmtClass::PERF, Method::GET_RESP);
    kernel.send(&handed_up(0, &mad)).unwrap();
    assert!(readable(&port));
}

#[test]
fn a_signal_ends_no_wait() {
    use nix::sys::{
        pthread::{pthread_kill, pthread_self},
        signal::Signal,
    };

    let (mut port, kernel, _) = port(false);
    let came = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(Signal::SIGUSR1 as i32, came.clone()).unwrap();
    let waiting = pthread_self();
    let mad = request(MgmtClass::PERF, Method::GET_RESP);
    let late = handed_up(0, &mad);
    let sender = thread::spawn(move || {
        for _ in 0..5 {
            thread::sleep(Duration::from_millis(10));
            pthread_kill(waiting, Signal::SIGUSR1).unwrap();
        }
        thread::sleep(Duration::from_millis(10));
        kernel.send(&late).unwrap();
    });
    assert_eq!(next(&mut port), Some(Received::Mad(mad)));
    assert!(came.load(std::sync::atomic::Ordering::SeqCst));
    sender.join().unwrap();
}

#[test]
fn the_kernel_waits_a_bit_less_than_the_engine() {
    for (engine, kernel) in [(200, 190), (1_000, 950), (50, 40), (5, 1), (0, 1)] {
        let below = UmadOptions::below(Duration::from_millis(engine));
        assert_eq!(below, Duration::from_millis(kernel), "{engine} ms");
    }
    assert_eq!(UmadOptions::default().timeout.as_millis(), 190);
}
