//! `ib query` follows the redirection of an administrator to another port, end to end on a served fabric.

use std::{
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use ib_mad::{Mad, MadAddress, MadStatus, MgmtClass, TransactionId};
use ib_transport::{
    Clock as _, MadTransport as _, MonotonicClock, Received,
    ibsim::{IbsimOptions, IbsimPort},
    receive,
};
use ib_wire::{Lid, Sl};

use crate::control::{Running, is_up};

/// The administrator at the other port: it passes each request on to the master, which answers only this port itself.
fn pass_on(mut port: IbsimPort, master: Lid, passed: &AtomicU64, ends: &AtomicBool) {
    let clock = MonotonicClock::start();
    let mut open: Vec<(u64, Mad)> = Vec::new();
    let mut next = 1;
    while !ends.load(Ordering::Relaxed) {
        let until = clock.now() + Duration::from_millis(20);
        let Ok((now, Some(Received::Mad(mut mad)))) = receive(&mut port, &clock, Some(until))
        else {
            continue;
        };
        if mad.header().mgmt_class() != MgmtClass::SUBN_ADM {
            continue;
        }
        let id = mad.header().transaction_id();
        // The simulator marks the upper 16 bits of a request with its sender.
        let is_answer_to = |open: &(u64, Mad)| open.0 == id.0 & 0xffff_ffff_ffff;
        if !mad.header().method().is_response() {
            open.push((next, mad));
            mad.address = MadAddress::gsi(master, Sl::ZERO);
            mad.header_mut().set_transaction_id(TransactionId(next));
            next += 1;
        } else if let Some(at) = open.iter().position(is_answer_to) {
            assert_eq!(mad.header().status(), MadStatus::OK);
            let (_, request) = open.swap_remove(at);
            mad.address = request.address;
            let id = request.header().transaction_id();
            mad.header_mut().set_transaction_id(id);
            passed.fetch_add(1, Ordering::Relaxed);
        } else {
            continue;
        }
        port.send(now, &mad).unwrap();
    }
}

#[test]
fn a_query_goes_to_the_port_that_the_administrator_names() {
    /// A host that asks, and the one that answers instead of the manager, which sits on the first switch.
    const ASKS: &str = "H-0010000000000010";
    const ANSWERS: &str = "H-0010000000000030";
    const LID_OF_ANSWERS: &str = "5";
    let running = Running::start("redirects", &["--sa-redirect", LID_OF_ANSWERS], &[]);
    running.wait_for("up", is_up);
    let owner = running.ask(&format!("querylid {LID_OF_ANSWERS}"));
    assert_eq!(owner["node_guid"], "0x0010000000000030");
    let query = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ib"));
        command.args(["query", "--json", "--node", ASKS, "--device"]);
        command.arg(running.device()).args(["sa"]).args(words);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
        (output.status.code(), answer)
    };
    // Nobody answers there yet, so the request is redirected and gets lost.
    let (code, nothing) = query(&["PathRecord", "slid=3", "dlid=1"]);
    assert_eq!(code, Some(1), "{nothing}");

    let port = IbsimPort::attach(&IbsimOptions {
        server: running.server().to_owned(),
        node: ANSWERS.to_owned(),
        // A client that announces a manager gets requests.
        announce_sm: true,
    });
    let port = port.unwrap();
    let (passed, ends) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let administrator = {
        let (passed, ends) = (Arc::clone(&passed), Arc::clone(&ends));
        std::thread::spawn(move || pass_on(port, Lid(1), &passed, &ends))
    };
    let (code, found) = query(&["PathRecord", "slid=3", "dlid=1"]);
    assert_eq!(code, Some(0), "{found}");
    assert_eq!(found[0]["fields"]["dlid"], 1, "{found}");
    assert!(passed.load(Ordering::Relaxed) > 0);
    // The ClassPortInfo comes from the manager itself, and names the port.
    let before = passed.load(Ordering::Relaxed);
    let (_, info) = query(&["ClassPortInfo"]);
    assert_eq!(info[0]["fields"]["redirect_lid"], 5, "{info}");
    assert_eq!(passed.load(Ordering::Relaxed), before);
    ends.store(true, Ordering::Relaxed);
    administrator.join().unwrap();
}
