//! Cost of a transaction: a million requests, 32 on the wire at a time, each answered.

use std::{hint::black_box, time};

use ib_mad::{
    Engine, InFlight, Instant, Mad, MadAddress, MadMatch, Method, MgmtClass, TransactionWindow,
    WindowConfig,
};
use ib_wire::Lid;

const TRANSACTIONS: u32 = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut window = TransactionWindow::new(WindowConfig {
        in_flight: InFlight::Fixed(32),
        per_destination: 4,
        max_requests: 256,
        ..WindowConfig::default()
    });
    let mut mad = Mad::new(MadAddress::DIRECTED);
    mad.header_mut()
        .set_base_version(1)
        .set_class_version(1)
        .set_mgmt_class(MgmtClass::SUBN_LID)
        .set_method(Method::GET);
    let start = time::Instant::now();
    let (mut asked, mut answered) = (0, 0u32);
    let mut wire = Vec::new();
    while answered < TRANSACTIONS {
        let now = Instant::from_nanos(u64::from(answered) * 100);
        while asked < TRANSACTIONS && window.room() > 0 {
            mad.address.lid = Lid((asked % 1000) as u16 + 1);
            window.request(&mad, asked)?;
            asked += 1;
        }
        while let Some(sent) = window.poll_transmit(now) {
            wire.push(sent);
        }
        for mut answer in wire.drain(..) {
            answer.header_mut().set_method(Method::GET_RESP);
            if let MadMatch::Answer(answer) = window.handle_mad(now, &answer) {
                black_box(answer.context);
                answered += 1;
            }
        }
        window.handle_timeout(now);
    }
    let each = start.elapsed() / TRANSACTIONS;
    println!(
        "{each:?} a transaction, queued, sent, answered; {:?}",
        window.counters()
    );
    Ok(())
}
