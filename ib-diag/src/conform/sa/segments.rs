//! The receiver's side of a transfer, packet by packet, as a case plays it (IBA vol. 1, 13.6).

use alloc::vec::Vec;
use core::time::Duration;

use ib_mad::{Mad, Method, MgmtClass, RmppHeader, RmppStatus, RmppType, TransactionId};
use ib_sa::{ComponentMask, PortInfoRecord, SaMad};

use crate::conform::bench::{Bench, Outcome, Stop, ensure, fail, skip};

/// Why a case of a table is skipped at a peer whose answer is cut after one datagram.
pub(super) const NO_SEGMENTS: &str =
    "the peer leaves segments to a layer below, which makes none here";

/// Requests the table of all ports, runs the body with the first segment, and ends the transfer.
pub(super) fn transfer(
    bench: &mut Bench<'_>,
    body: impl FnOnce(&mut Bench<'_>, TransactionId, &Mad) -> Outcome,
) -> Outcome {
    let request = SaMad::query(
        Method::GET_TABLE,
        &PortInfoRecord::default(),
        ComponentMask(0),
    );
    let (id, first) = begin(bench, &request)?;
    if rmpp(&first)?.last() {
        ack(bench, &first, 1, 1)?;
        return skip("the table of all ports is one segment");
    }
    let outcome = body(bench, id, &first);
    control(
        bench,
        &first,
        RmppType::ABORT,
        RmppStatus::UNSPECIFIED,
        0,
        0,
    )?;
    outcome
}

/// Sends a request, and waits for the first segment of its answer.
pub(super) fn begin(bench: &mut Bench<'_>, request: &SaMad) -> Result<(TransactionId, Mad), Stop> {
    let mut mad = bench.sa_mad(request)?;
    let id = bench.transaction();
    mad.header_mut().set_transaction_id(id);
    bench.send(&mad)?;
    let deadline = bench.after(bench.options.timeout.saturating_mul(2));
    let answer = bench.wait(deadline, |mad| {
        let header = mad.header();
        header.mgmt_class() == MgmtClass::SUBN_ADM
            && header.method().is_response()
            && header.transaction_id().low() == id.low()
    })?;
    let Some(first) = answer else {
        return fail("no answer to a GetTable");
    };
    let status = first.header().status();
    ensure!(status.is_ok(), "status {status}");
    let header = rmpp(&first)?;
    if header.rmpp_type() == RmppType::NONE || header.data1() == 0 {
        return skip(NO_SEGMENTS);
    }
    Ok((id, first))
}

/// Receives the whole answer, with acknowledgements that announce this window.
pub(super) fn whole(bench: &mut Bench<'_>, window: u32) -> Result<Vec<Mad>, Stop> {
    let request = SaMad::query(
        Method::GET_TABLE,
        &PortInfoRecord::default(),
        ComponentMask(0),
    );
    let (id, first) = begin(bench, &request)?;
    let mut segments = alloc::vec![first];
    let mut last = rmpp(&first)?.last();
    let mut open = 1u32.saturating_add(window);
    ack(bench, &first, 1, open)?;
    while !last {
        let expected = u32::try_from(segments.len())
            .unwrap_or(u32::MAX)
            .saturating_add(1);
        let deadline = bench.after(Duration::from_secs(8));
        let next = bench.wait(deadline, |mad| {
            is_segment(mad, id) && number(mad) == expected
        })?;
        let Some(next) = next else {
            return fail(alloc::format!("segment {expected} does not come"));
        };
        last = rmpp(&next)?.last();
        if last || expected == open {
            open = open.saturating_add(window);
            ack(bench, &first, expected, open)?;
        }
        segments.push(next);
        ensure!(segments.len() < 100_000, "the table does not end");
    }
    Ok(segments)
}

/// The packets of a transfer that arrive within a time.
pub(super) fn collect(
    bench: &mut Bench<'_>,
    id: TransactionId,
    time: Duration,
) -> Result<Vec<Mad>, Stop> {
    let deadline = bench.after(time);
    let mut seen = Vec::new();
    while let Some(mad) = bench.wait(deadline, |mad| is_segment(mad, id))? {
        seen.push(mad);
    }
    Ok(seen)
}

pub(super) fn is_segment(mad: &Mad, id: TransactionId) -> bool {
    is_of(mad, id) && rmpp(mad).is_ok_and(|rmpp| rmpp.rmpp_type() == RmppType::DATA)
}

pub(super) fn is_of(mad: &Mad, id: TransactionId) -> bool {
    let header = mad.header();
    header.mgmt_class() == MgmtClass::SUBN_ADM && header.transaction_id().low() == id.low()
}

pub(super) fn number(mad: &Mad) -> u32 {
    rmpp(mad).map_or(0, |rmpp| rmpp.data1())
}

pub(super) fn rmpp(mad: &Mad) -> Result<&RmppHeader, Stop> {
    match RmppHeader::parse(mad.bytes.get(24..).unwrap_or_default(), 24) {
        Ok((header, _)) => Ok(header),
        Err(_) => fail("no RMPP header"),
    }
}

pub(super) fn ack(bench: &mut Bench<'_>, of: &Mad, segment: u32, window_last: u32) -> Outcome {
    control(
        bench,
        of,
        RmppType::ACK,
        RmppStatus::NORMAL,
        segment,
        window_last,
    )
}

/// Sends a control packet of a transfer: it goes from the receiver of the data to the sender.
pub(super) fn control(
    bench: &mut Bench<'_>,
    of: &Mad,
    kind: RmppType,
    status: RmppStatus,
    data1: u32,
    data2: u32,
) -> Outcome {
    let mad = packet(bench, of, kind, status, data1, data2)?;
    bench.send(&mad)
}

pub(super) fn packet(
    bench: &mut Bench<'_>,
    of: &Mad,
    kind: RmppType,
    status: RmppStatus,
    data1: u32,
    data2: u32,
) -> Result<Mad, Stop> {
    let mut mad = Mad::new(bench.administrator()?);
    let header = of.header();
    *mad.header_mut() = header;
    mad.header_mut()
        .set_method(Method(header.method().0 & 0x7f));
    if let Some(bytes) = mad.bytes.get_mut(24..)
        && let Ok((rmpp, _)) = RmppHeader::parse_mut(bytes, 24)
    {
        rmpp.set_rmpp_version(1)
            .set_rmpp_type(kind)
            .set_active(true)
            .set_rmpp_status(status)
            .set_data1(data1)
            .set_data2(data2);
    }
    Ok(mad)
}
