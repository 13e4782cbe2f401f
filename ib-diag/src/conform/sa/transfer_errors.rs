//! RMPP: packets that violate the protocol of a transfer, and the data sender's answers (IBA vol. 1, 13.6).

use core::time::Duration;

use ib_mad::{Mad, MadAddress, Method, RmppHeader, RmppStatus, RmppType, TransactionId};
use ib_sa::SaMad;

use super::segments::{collect, control, is_of, is_segment, packet, rmpp, transfer};
use crate::conform::{
    Case,
    bench::{Bench, Outcome, Stop, ensure, fail},
    case,
};

const STATUS: &str = "IBA vol. 1, 13.6.2.1 and 13.6.2.4 (RMPPStatus)";

pub(super) const CASES: &[Case] = &[
    case("sa-331", "ABORT ends a transfer", STATUS, |bench| {
        transfer(bench, |bench, id, first| {
            control(bench, first, RmppType::ABORT, RmppStatus::UNSPECIFIED, 0, 0)?;
            no_more(bench, id)
        })
    }),
    case(
        "sa-332",
        "STOP with status 1 ends a transfer",
        STATUS,
        |bench| {
            transfer(bench, |bench, id, first| {
                control(
                    bench,
                    first,
                    RmppType::STOP,
                    RmppStatus::RESOURCES_EXHAUSTED,
                    0,
                    0,
                )?;
                no_more(bench, id)
            })
        },
    ),
    case(
        "sa-333",
        "An ABORT is not answered by an ABORT",
        STATUS,
        |bench| {
            transfer(bench, |bench, id, first| {
                control(bench, first, RmppType::ABORT, RmppStatus::UNSPECIFIED, 0, 0)?;
                let deadline = bench.after(Duration::from_secs(1));
                let answer = bench.wait(deadline, |mad| is_abort(mad, id))?;
                ensure!(answer.is_none(), "an ABORT");
                Ok(())
            })
        },
    ),
    case(
        "sa-334",
        "An acknowledgement of another RMPP version is answered by ABORT 125",
        STATUS,
        |bench| {
            aborts(
                bench,
                |rmpp| {
                    rmpp.set_rmpp_version(2);
                },
                RmppStatus::UNSUPPORTED_VERSION,
            )
        },
    ),
    case(
        "sa-335",
        "A packet of an unknown RMPP type is answered by ABORT 121",
        STATUS,
        |bench| {
            aborts(
                bench,
                |rmpp| {
                    rmpp.set_rmpp_type(RmppType(7));
                },
                RmppStatus::BAD_RMPP_TYPE,
            )
        },
    ),
    case(
        "sa-336",
        "An acknowledgement with a status is answered by ABORT 124",
        STATUS,
        |bench| {
            aborts(
                bench,
                |rmpp| {
                    rmpp.set_rmpp_status(RmppStatus(5));
                },
                RmppStatus::ILLEGAL_STATUS,
            )
        },
    ),
    case(
        "sa-337",
        "NewWindowLast below the segment number is answered by ABORT 122",
        STATUS,
        |bench| {
            aborts(
                bench,
                |rmpp| {
                    rmpp.set_data1(1).set_data2(0);
                },
                RmppStatus::NEW_WINDOW_LAST_TOO_SMALL,
            )
        },
    ),
    case(
        "sa-338",
        "An acknowledgement of a segment that was not sent is answered by ABORT 123",
        STATUS,
        |bench| {
            aborts(
                bench,
                |rmpp| {
                    rmpp.set_data1(50_000).set_data2(60_000);
                },
                RmppStatus::SEGMENT_NUMBER_TOO_BIG,
            )
        },
    ),
    case(
        "sa-339",
        "STOP with another status than 1 is answered by ABORT 124",
        STATUS,
        |bench| {
            aborts(
                bench,
                |rmpp| {
                    rmpp.set_rmpp_type(RmppType::STOP)
                        .set_rmpp_status(RmppStatus(5));
                },
                RmppStatus::ILLEGAL_STATUS,
            )
        },
    ),
    case(
        "sa-340",
        "An acknowledgement of a transfer that is not there brings no segment",
        STATUS,
        |bench| {
            transfer(bench, |bench, _, first| {
                let id = bench.transaction();
                let mut stray = packet(bench, first, RmppType::ACK, RmppStatus::NORMAL, 1, 9)?;
                stray.header_mut().set_transaction_id(id);
                bench.send(&stray)?;
                let seen = collect(bench, id, Duration::from_millis(500))?;
                ensure!(seen.is_empty(), "{} segments", seen.len());
                Ok(())
            })
        },
    ),
    case(
        "sa-341",
        "A second segment without a first is not answered",
        "IBA vol. 1, 13.6",
        |bench| {
            // A peer that leaves segments to a layer below is not tested.
            transfer(bench, |_, _, _| Ok(()))?;
            let to: MadAddress = bench.administrator()?;
            let id = bench.transaction();
            let mut request = SaMad::new(Method::GET_MULTI, ib_mad::AttributeId(0x003a));
            request
                .set_rmpp_version(1)
                .set_rmpp_type(RmppType::DATA)
                .set_active(true)
                .set_data1(2)
                .set_transaction_id(id);
            bench.send(&request.to(to))?;
            let deadline = bench.after(bench.options.timeout);
            let answer = bench.wait(deadline, |mad| is_of(mad, id))?;
            ensure!(
                answer.is_none(),
                "an answer with status {}",
                answer.map_or_else(Default::default, |mad| mad.header().status())
            );
            Ok(())
        },
    ),
];

fn is_abort(mad: &Mad, id: TransactionId) -> bool {
    is_of(mad, id) && rmpp(mad).is_ok_and(|rmpp| rmpp.rmpp_type() == RmppType::ABORT)
}

fn no_more(bench: &mut Bench<'_>, id: TransactionId) -> Outcome {
    let deadline = bench.after(Duration::from_secs(4));
    let segment = bench.wait(deadline, |mad| is_segment(mad, id))?;
    ensure!(segment.is_none(), "a segment comes after it");
    Ok(())
}

/// A corrupted acknowledgement must be answered by an ABORT with the status.
fn aborts(bench: &mut Bench<'_>, spoil: fn(&mut RmppHeader), expected: RmppStatus) -> Outcome {
    let request = SaMad::query(
        Method::GET_TABLE,
        &ib_sa::PortInfoRecord::default(),
        ib_sa::ComponentMask(0),
    );
    let (id, first) = super::segments::begin(bench, &request)?;
    let mut mad = packet(bench, &first, RmppType::ACK, RmppStatus::NORMAL, 1, 2)?;
    if let Some(bytes) = mad.bytes.get_mut(24..)
        && let Ok((rmpp, _)) = RmppHeader::parse_mut(bytes, 24)
    {
        spoil(rmpp);
    }
    bench.send(&mad)?;
    let deadline = bench.after(Duration::from_secs(1));
    let answer = bench.wait(deadline, |mad| is_abort(mad, id))?;
    let status: Result<RmppStatus, Stop> = match &answer {
        Some(abort) => rmpp(abort).map(|rmpp| rmpp.rmpp_status()),
        None => {
            control(
                bench,
                &first,
                RmppType::ABORT,
                RmppStatus::UNSPECIFIED,
                0,
                0,
            )?;
            fail("no ABORT within 1 s")
        }
    };
    let status = status?;
    ensure!(
        status == expected,
        "ABORT {}, expected {}",
        status.0,
        expected.0
    );
    Ok(())
}
