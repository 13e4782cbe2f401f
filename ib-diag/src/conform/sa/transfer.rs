//! RMPP: tables of many segments, windows, and repetition by the sender (IBA vol. 1, 13.6).

use alloc::vec::Vec;
use core::time::Duration;

use ib_mad::{Mad, Method, RmppStatus, RmppType};
use ib_sa::{NodeComponents, NodeRecord, PortInfoRecord, SaMad};
use ib_wire::Lid;

use super::segments::{ack, begin, collect, is_segment, number, rmpp, transfer, whole};
use crate::conform::{
    Case,
    bench::{Bench, Stop, ensure, fail, skip},
    case,
};

const HEADER: &str = "IBA vol. 1, 13.6.2.1 and 13.6.2.2";
const WINDOW: &str = "IBA vol. 1, 13.6.2.3";
const RETRY: &str = "IBA vol. 1, 13.6";

pub(super) const CASES: &[Case] = &[
    case(
        "sa-301",
        "The first segment has number 1, First and Active",
        HEADER,
        |bench| {
            transfer(bench, |_, _, first| {
                let rmpp = rmpp(first)?;
                ensure!(rmpp.data1() == 1, "segment {}", rmpp.data1());
                ensure!(
                    rmpp.active() && rmpp.first(),
                    "flags Active {}, First {}",
                    rmpp.active(),
                    rmpp.first()
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-302",
        "A segment has RMPP version 1, type DATA and status 0",
        HEADER,
        |bench| {
            transfer(bench, |_, _, first| {
                let rmpp = rmpp(first)?;
                ensure!(rmpp.rmpp_version() == 1, "version {}", rmpp.rmpp_version());
                ensure!(
                    rmpp.rmpp_type() == RmppType::DATA,
                    "type {}",
                    rmpp.rmpp_type()
                );
                ensure!(
                    rmpp.rmpp_status() == RmppStatus::NORMAL,
                    "status {}",
                    rmpp.rmpp_status()
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-303",
        "A segment has method GetTableResp and the transaction of the request",
        HEADER,
        |bench| {
            transfer(bench, |_, id, first| {
                let header = first.header();
                ensure!(
                    header.method() == Method::GET_TABLE_RESP,
                    "method {}",
                    header.method()
                );
                ensure!(
                    header.transaction_id().low() == id.low(),
                    "another transaction"
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-304",
        "The second segment waits for the acknowledgement of the first",
        WINDOW,
        |bench| {
            transfer(bench, |bench, id, _| {
                let deadline = bench.after(Duration::from_millis(300));
                let early = bench.wait(deadline, |mad| is_segment(mad, id) && number(mad) > 1)?;
                ensure!(
                    early.is_none(),
                    "segment {} without an acknowledgement",
                    early.as_ref().map_or(0, number)
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-305",
        "An acknowledgement lets the sender send up to NewWindowLast, and no further",
        WINDOW,
        |bench| {
            transfer(bench, |bench, id, first| {
                ack(bench, first, 1, 3)?;
                let seen = collect(bench, id, Duration::from_millis(300))?;
                let numbers: Vec<u32> = seen
                    .iter()
                    .map(number)
                    .filter(|number| *number > 1)
                    .collect();
                ensure!(
                    numbers.contains(&2) && numbers.contains(&3),
                    "segments {numbers:?}, expected 2 and 3"
                );
                ensure!(
                    numbers.iter().all(|number| *number <= 3),
                    "segments {numbers:?} past the window"
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-306",
        "Segments are numbered one after the other; only the first has First and only the last has Last",
        HEADER,
        |bench| {
            let segments = whole(bench, 64)?;
            let count = segments.len();
            for (at, mad) in segments.iter().enumerate() {
                let header = rmpp(mad)?;
                ensure!(
                    usize::try_from(header.data1()) == Ok(at.saturating_add(1)),
                    "segment {}",
                    header.data1()
                );
                ensure!(
                    header.first() == (at == 0),
                    "First in segment {}",
                    header.data1()
                );
                ensure!(
                    header.last() == (at.saturating_add(1) == count),
                    "Last in segment {}",
                    header.data1()
                );
            }
            Ok(())
        },
    ),
    case(
        "sa-307",
        "All segments have the class, the attribute and the transaction of the first",
        HEADER,
        |bench| {
            let segments = whole(bench, 64)?;
            let of = |mad: &Mad| {
                let header = mad.header();
                (
                    header.mgmt_class(),
                    header.attribute_id(),
                    header.transaction_id().low(),
                    header.method(),
                )
            };
            let first = segments.first().map(of);
            ensure!(
                segments.iter().all(|mad| Some(of(mad)) == first),
                "another header"
            );
            Ok(())
        },
    ),
    case(
        "sa-308",
        "PayloadLength of the first segment is that of all, class headers counted",
        HEADER,
        |bench| {
            let segments = whole(bench, 64)?;
            let (Some(first), Some(last)) = (segments.first(), segments.last()) else {
                return fail("no segment");
            };
            let between = u32::try_from(segments.len())
                .unwrap_or(0)
                .saturating_sub(1)
                .saturating_mul(220);
            let (all, rest) = (rmpp(first)?.data2(), rmpp(last)?.data2());
            ensure!(
                all == 0 || all == between.saturating_add(rest),
                "PayloadLength {all}, expected {between} + {rest}"
            );
            Ok(())
        },
    ),
    case(
        "sa-309",
        "PayloadLength of the last segment is 20 to 220",
        HEADER,
        |bench| {
            let segments = whole(bench, 64)?;
            let last = segments
                .last()
                .map(rmpp)
                .transpose()?
                .map_or(0, |rmpp| rmpp.data2());
            ensure!((20..=220).contains(&last), "PayloadLength {last}");
            Ok(())
        },
    ),
    case(
        "sa-310",
        "The table is a whole number of records, AttributeOffset apart",
        "IBA vol. 1, 15.3.3",
        |bench| {
            let segments = whole(bench, 64)?;
            let Some((first, last)) = segments.first().zip(segments.last()) else {
                return fail("no segment");
            };
            let offset = SaMad::parse(&first.bytes, 0)
                .map_or(0, |(mad, _)| u32::from(mad.attribute_offset()))
                .saturating_mul(8);
            let record = u32::try_from(PortInfoRecord::LEN).unwrap_or(0);
            ensure!(
                offset >= record,
                "AttributeOffset {offset} bytes, a record has {record}"
            );
            let before = u32::try_from(segments.len())
                .unwrap_or(0)
                .saturating_sub(1)
                .saturating_mul(200);
            let bytes = before.saturating_add(rmpp(last)?.data2().saturating_sub(20));
            ensure!(
                bytes.checked_rem(offset) == Some(0),
                "{bytes} bytes, records of {offset}"
            );
            Ok(())
        },
    ),
    case(
        "sa-311",
        "The SM_Key of every segment is 0",
        "IBA vol. 1, 15.2.1",
        |bench| {
            let segments = whole(bench, 64)?;
            let shown = segments
                .iter()
                .any(|mad| mad.bytes.get(36..44) != Some(&[0; 8][..]));
            ensure!(!shown, "SM_Key is not 0");
            Ok(())
        },
    ),
    case(
        "sa-312",
        "A table is the same whatever the window",
        WINDOW,
        |bench| {
            let (narrow, wide) = (whole(bench, 1)?, whole(bench, 64)?);
            let data = |segments: &[Mad]| -> Vec<u8> {
                segments
                    .iter()
                    .flat_map(|mad| mad.bytes.iter().skip(56).copied())
                    .collect()
            };
            ensure!(data(&narrow) == data(&wide), "two different tables");
            Ok(())
        },
    ),
    case(
        "sa-313",
        "A first segment that is not acknowledged is repeated",
        RETRY,
        |bench| {
            transfer(bench, |bench, id, first| {
                let deadline = bench.after(Duration::from_secs(8));
                let again = bench.wait(deadline, |mad| is_segment(mad, id) && number(mad) == 1)?;
                if let Some(again) = again {
                    ensure!(again.bytes == first.bytes, "the repetition differs");
                    return Ok(());
                }
                // An administrator whose clients may be programs without RMPP repeats a segment only in a transfer
                // that was acknowledged once. One that repeats none at all violates the rule.
                match repeats_the_second(bench)? {
                    true => skip("the peer takes the receiver for one that does not acknowledge"),
                    false => {
                        fail("neither the first segment nor a later one is repeated within 8 s")
                    }
                }
            })
        },
    ),
    case(
        "sa-314",
        "A segment that is not acknowledged is repeated",
        RETRY,
        |bench| {
            ensure!(
                repeats_the_second(bench)?,
                "segment 2 is not repeated within 8 s"
            );
            Ok(())
        },
    ),
    case(
        "sa-315",
        "A repeated acknowledgement does no harm",
        WINDOW,
        |bench| {
            transfer(bench, |bench, id, first| {
                for _ in 0..3 {
                    ack(bench, first, 1, 2)?;
                }
                ack(bench, first, 2, 4)?;
                let seen = collect(bench, id, Duration::from_millis(300))?;
                ensure!(
                    seen.iter().any(|mad| number(mad) == 4),
                    "segment 4 does not come"
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-316",
        "An old acknowledgement is ignored",
        WINDOW,
        |bench| {
            transfer(bench, |bench, id, first| {
                ack(bench, first, 1, 4)?;
                collect(bench, id, Duration::from_millis(200))?;
                ack(bench, first, 1, 2)?;
                ack(bench, first, 4, 6)?;
                let seen = collect(bench, id, Duration::from_millis(300))?;
                ensure!(
                    seen.iter().any(|mad| number(mad) == 6),
                    "segment 6 does not come"
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-317",
        "A table that fits one segment has First, Last and its length",
        HEADER,
        |bench| {
            let mut template = NodeRecord::default();
            template.set_lid(bench.own_info()?.lid());
            let request = SaMad::query(Method::GET_TABLE, &template, NodeComponents::LID);
            let (_, first) = begin(bench, &request)?;
            let rmpp = rmpp(&first)?;
            let flags = (rmpp.first(), rmpp.last());
            let length = rmpp.data2();
            ack(bench, &first, 1, 1)?;
            ensure!(flags == (true, true), "First {}, Last {}", flags.0, flags.1);
            // A record of 108 bytes, padded to 112.
            ensure!(
                (20 + 108..=20 + 112).contains(&length),
                "PayloadLength {length}"
            );
            Ok(())
        },
    ),
    case(
        "sa-318",
        "An empty table is one segment of length 20",
        HEADER,
        |bench| {
            let mut template = NodeRecord::default();
            template.set_lid(Lid(0xbffe));
            let request = SaMad::query(Method::GET_TABLE, &template, NodeComponents::LID);
            let (_, first) = begin(bench, &request)?;
            let rmpp = rmpp(&first)?;
            let (flags, length) = ((rmpp.first(), rmpp.last()), rmpp.data2());
            ack(bench, &first, 1, 1)?;
            ensure!(flags == (true, true), "First {}, Last {}", flags.0, flags.1);
            ensure!(length == 20, "PayloadLength {length}");
            Ok(())
        },
    ),
    case(
        "sa-319",
        "A transfer that is acknowledged to its end is not repeated",
        RETRY,
        |bench| {
            let segments = whole(bench, 64)?;
            let id = segments
                .first()
                .map(|mad| mad.header().transaction_id())
                .unwrap_or_default();
            let seen = collect(bench, id, Duration::from_secs(3))?;
            ensure!(
                seen.is_empty(),
                "segment {} comes again",
                seen.first().map_or(0, number)
            );
            Ok(())
        },
    ),
    case(
        "sa-320",
        "A transfer without acknowledgements ends",
        RETRY,
        |bench| {
            transfer(bench, |bench, id, _| {
                let mut quiet = Duration::ZERO;
                let mut spent = Duration::ZERO;
                while quiet < Duration::from_secs(8) {
                    let seen = collect(bench, id, Duration::from_secs(2))?;
                    spent = spent.saturating_add(Duration::from_secs(2));
                    quiet = match seen.is_empty() {
                        true => quiet.saturating_add(Duration::from_secs(2)),
                        false => Duration::ZERO,
                    };
                    ensure!(
                        spent < bench.options.patience,
                        "segments still come after {spent:?}"
                    );
                }
                Ok(())
            })
        },
    ),
    case(
        "sa-321",
        "Two transfers at once do not mix",
        RETRY,
        |bench| {
            transfer(bench, |bench, id, _| {
                let segments = whole(bench, 64)?;
                ensure!(
                    segments
                        .iter()
                        .all(|mad| mad.header().transaction_id().low() != id.low()),
                    "segments of another transfer"
                );
                ensure!(segments.len() > 1, "one segment");
                Ok(())
            })
        },
    ),
];

/// Returns true if a second segment is repeated if only the first one is acknowledged.
fn repeats_the_second(bench: &mut Bench<'_>) -> Result<bool, Stop> {
    let mut repeats = false;
    transfer(bench, |bench, id, first| {
        ack(bench, first, 1, 2)?;
        collect(bench, id, Duration::from_millis(200))?;
        let deadline = bench.after(Duration::from_secs(8));
        let again = bench.wait(deadline, |mad| is_segment(mad, id) && number(mad) == 2)?;
        repeats = again.is_some();
        Ok(())
    })?;
    Ok(repeats)
}
