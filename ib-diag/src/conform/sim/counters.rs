//! Performance management: the counters of a port, and the answers of their agent (IBA vol. 1, 16.1).

use ib_mad::{
    Attribute, AttributeId, ClassPortInfo, CounterSelect, Mad, MadAddress, MadStatus, Method,
    MgmtClass, PortCounters, PortCountersExtended,
};
use ib_wire::{Lid, PortNum, Sl};
use zerocopy::{Immutable, IntoBytes};

use crate::conform::{
    Case,
    bench::{Bench, Outcome, Stop, attribute, difference, ensure, fail, part, skip, status},
    case,
};

const COUNTERS: &str = "IBA vol. 1, 16.1.3.5";
const EXTENDED: &str = "IBA vol. 1, 16.1.4.11";
const STATUS: &str = "IBA vol. 1, 13.4.7";

pub(super) const CASES: &[Case] = &[
    case(
        "sim-161",
        "ClassPortInfo has base version 1 and class version 1",
        "IBA vol. 1, 13.4.8.1",
        |bench| {
            let request = plain(bench, ClassPortInfo::ID)?;
            let info: ClassPortInfo = good(bench, &request)?;
            let versions = (info.base_version(), info.class_version());
            ensure!(versions == (1, 1), "versions {versions:?}");
            Ok(())
        },
    ),
    case(
        "sim-162",
        "An answer has the transaction, the attribute and method GetResp",
        "IBA vol. 1, 13.4.2",
        |bench| {
            let request = plain(bench, ClassPortInfo::ID)?;
            let header = bench.answer(&request)?.header();
            ensure!(
                header.method() == Method::GET_RESP,
                "method {}",
                header.method()
            );
            ensure!(
                header.attribute_id() == ClassPortInfo::ID,
                "attribute {}",
                header.attribute_id()
            );
            Ok(())
        },
    ),
    case(
        "sim-163",
        "Reserved bytes 24 to 63 of an answer are zero",
        "IBA vol. 1, 16.1.1",
        |bench| {
            let request = plain(bench, ClassPortInfo::ID)?;
            let answer = bench.answer(&request)?;
            ensure!(
                part(&answer, 24, 64).iter().all(|byte| *byte == 0),
                "a byte is not 0"
            );
            Ok(())
        },
    ),
    case(
        "sim-164",
        "An unknown attribute is refused with 0x0008 or 0x000c",
        STATUS,
        |bench| {
            let request = plain(bench, AttributeId(0x00ff))?;
            refused(
                bench,
                &request,
                &[
                    MadStatus::UNSUPPORTED_METHOD,
                    MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE,
                ],
            )
        },
    ),
    case(
        "sim-165",
        "An unknown method is refused with 0x0008 or 0x000c",
        STATUS,
        |bench| {
            let (_, port) = target(bench)?;
            let mut wanted = PortCounters::default();
            wanted.set_port_select(port.0);
            let request = carrying(bench, Method(0x0f), &wanted)?;
            refused(
                bench,
                &request,
                &[
                    MadStatus::UNSUPPORTED_METHOD,
                    MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE,
                ],
            )
        },
    ),
    case(
        "sim-166",
        "A Set of ClassPortInfo without effect is answered",
        "IBA vol. 1, 13.4.8.1",
        |bench| {
            let mut request = plain(bench, ClassPortInfo::ID)?;
            request.header_mut().set_method(Method::SET);
            bench.answer(&request).map(|_| ())
        },
    ),
    case(
        "sim-167",
        "A class version that the agent does not know is refused with 0x0004",
        STATUS,
        |bench| {
            let mut request = plain(bench, ClassPortInfo::ID)?;
            request.header_mut().set_class_version(2);
            refused(bench, &request, &[MadStatus::BAD_VERSION])
        },
    ),
    case(
        "sim-168",
        "An unsolicited response is not answered",
        "IBA vol. 1, 13.4.5",
        |bench| {
            let mut request = plain(bench, ClassPortInfo::ID)?;
            request.header_mut().set_method(Method::GET_RESP);
            bench.silence(&request)
        },
    ),
    case(
        "sim-169",
        "PortCounters are those of PortSelect",
        COUNTERS,
        |bench| {
            let counters = counters(bench)?;
            let (_, port) = target(bench)?;
            ensure!(
                counters.port_select() == port.0,
                "PortSelect {}",
                counters.port_select()
            );
            Ok(())
        },
    ),
    case(
        "sim-170",
        "PortCounters of a port that is not there are refused with 0x001c",
        COUNTERS,
        |bench| {
            let mut wanted = PortCounters::default();
            wanted.set_port_select(254);
            let request = carrying(bench, Method::GET, &wanted)?;
            refused(bench, &request, &[MadStatus::INVALID_FIELD_VALUE])
        },
    ),
    case(
        "sim-171",
        "PortXmitPkts and PortRcvPkts count requests and answers",
        COUNTERS,
        |bench| {
            grow(
                bench,
                1,
                [
                    ("PortXmitPkts", PortCounters::port_xmit_pkts),
                    ("PortRcvPkts", PortCounters::port_rcv_pkts),
                ],
            )
        },
    ),
    case(
        "sim-172",
        "PortXmitData and PortRcvData count words of 4 bytes",
        COUNTERS,
        |bench| {
            // A datagram has 256 bytes, which are 64 words, in addition to its headers.
            grow(
                bench,
                64,
                [
                    ("PortXmitData", PortCounters::port_xmit_data),
                    ("PortRcvData", PortCounters::port_rcv_data),
                ],
            )
        },
    ),
    case(
        "sim-173",
        "A Set writes the counters that CounterSelect names",
        COUNTERS,
        |bench| {
            counters(bench)?;
            write(bench, CounterSelect::all())?;
            let after = counters(bench)?;
            ensure!(
                after.port_xmit_pkts() < 10,
                "PortXmitPkts {} after a Set of 0",
                after.port_xmit_pkts()
            );
            Ok(())
        },
    ),
    case(
        "sim-174",
        "A Set leaves the counters that CounterSelect does not name",
        COUNTERS,
        |bench| {
            for _ in 0..20 {
                counters(bench)?;
            }
            let before = counters(bench)?;
            write(bench, CounterSelect::empty())?;
            let after = counters(bench)?;
            ensure!(
                after.port_xmit_pkts() >= before.port_xmit_pkts(),
                "PortXmitPkts {}, then {}",
                before.port_xmit_pkts(),
                after.port_xmit_pkts()
            );
            Ok(())
        },
    ),
    case(
        "sim-175",
        "PortCountersExtended count the same packets",
        EXTENDED,
        |bench| {
            let before = extended(bench)?;
            for _ in 0..20 {
                counters(bench)?;
            }
            let after = extended(bench)?;
            let least = before.port_xmit_pkts().saturating_add(20);
            ensure!(
                after.port_xmit_pkts() >= least,
                "PortXmitPkts {}, then {}",
                before.port_xmit_pkts(),
                after.port_xmit_pkts()
            );
            Ok(())
        },
    ),
    case(
        "sim-176",
        "PortCountersExtended are those of PortSelect",
        EXTENDED,
        |bench| {
            let (_, port) = target(bench)?;
            let select = extended(bench)?.port_select();
            ensure!(select == port.0, "PortSelect {select}");
            Ok(())
        },
    ),
    case(
        "sim-177",
        "ClassPortInfo does not depend on the memory before",
        "IBA vol. 1, 13.4.2 (reserved fields)",
        |bench| {
            let mut request = plain(bench, ClassPortInfo::ID)?;
            let first = bench.answer(&request)?;
            counters(bench)?;
            request
                .bytes
                .iter_mut()
                .skip(64)
                .for_each(|byte| *byte = 0xff);
            let second = bench.answer(&request)?;
            let behind = ClassPortInfo::LEN.saturating_add(64)..Mad::LEN;
            match difference(&first, &second, behind) {
                None => Ok(()),
                Some(difference) => fail(difference),
            }
        },
    ),
    case(
        "sim-178",
        "Bytes after PortCounters are zero, or those of the request",
        "IBA vol. 1, 13.4.2 (reserved fields)",
        |bench| {
            let (_, port) = target(bench)?;
            let mut wanted = PortCounters::default();
            wanted.set_port_select(port.0);
            let mut request = carrying(bench, Method::GET, &wanted)?;
            let behind = PortCounters::LEN.saturating_add(64);
            request
                .bytes
                .iter_mut()
                .skip(behind)
                .for_each(|byte| *byte = 0xff);
            let answer = bench.answer(&request)?;
            ensure!(
                part(&answer, behind, 256)
                    .iter()
                    .all(|byte| [0, 0xff].contains(byte)),
                "a byte is neither"
            );
            Ok(())
        },
    ),
];

/// LID and port of the tested channel adapter.
fn target(bench: &mut Bench<'_>) -> Result<(Lid, PortNum), Stop> {
    let at = bench.edge()?.ca;
    let lid = bench.port_info(at)?.lid();
    if lid == Lid::NONE || bench.own_info()?.lid() == Lid::NONE {
        return skip("no LIDs: bring the subnet up first");
    }
    Ok((lid, bench.ca_port()?.port))
}

/// A Get without data.
fn plain(bench: &mut Bench<'_>, id: AttributeId) -> Result<Mad, Stop> {
    let (lid, _) = target(bench)?;
    let mut mad = Mad::new(MadAddress::gsi(lid, Sl::ZERO));
    mad.header_mut()
        .set_base_version(1)
        .set_mgmt_class(MgmtClass::PERF)
        .set_class_version(1)
        .set_method(Method::GET)
        .set_attribute_id(id);
    Ok(mad)
}

fn carrying<T: Attribute + IntoBytes + Immutable>(
    bench: &mut Bench<'_>,
    method: Method,
    value: &T,
) -> Result<Mad, Stop> {
    let mut mad = plain(bench, T::ID)?;
    mad.header_mut().set_method(method);
    mad.set_attribute(value);
    Ok(mad)
}

fn good<T: Attribute + zerocopy::FromBytes + Immutable>(
    bench: &mut Bench<'_>,
    request: &Mad,
) -> Result<T, Stop> {
    let answer = bench.answer(request)?;
    let status = status(&answer);
    ensure!(status.is_ok(), "status {status}");
    attribute(&answer)
}

/// The value of one counter.
type Counter = fn(&PortCounters) -> u32;

/// Sends 20 requests. Each of the counters must grow by `least` for each request, unless it is saturated.
fn grow(bench: &mut Bench<'_>, least: u32, names: [(&str, Counter); 2]) -> Outcome {
    let before = counters(bench)?;
    for _ in 0..20 {
        counters(bench)?;
    }
    let after = counters(bench)?;
    for (name, value) in names {
        let (before, after) = (value(&before), value(&after));
        let expected = before.saturating_add(least.saturating_mul(20));
        ensure!(
            after >= expected || after == u32::MAX,
            "{name} {before}, then {after} after 20 requests"
        );
    }
    Ok(())
}

fn counters(bench: &mut Bench<'_>) -> Result<PortCounters, Stop> {
    let (_, port) = target(bench)?;
    let mut wanted = PortCounters::default();
    wanted.set_port_select(port.0);
    let request = carrying(bench, Method::GET, &wanted)?;
    good(bench, &request)
}

fn extended(bench: &mut Bench<'_>) -> Result<PortCountersExtended, Stop> {
    let (_, port) = target(bench)?;
    let mut wanted = PortCountersExtended::default();
    wanted.set_port_select(port.0);
    let request = carrying(bench, Method::GET, &wanted)?;
    let answer = bench.answer(&request)?;
    if !status(&answer).is_ok() {
        return skip("the agent has no PortCountersExtended");
    }
    attribute(&answer)
}

/// Writes zeros to the selected counters.
fn write(bench: &mut Bench<'_>, named: CounterSelect) -> Outcome {
    let (_, port) = target(bench)?;
    let mut zeros = PortCounters::default();
    zeros.set_port_select(port.0).set_counter_select(named);
    let request = carrying(bench, Method::SET, &zeros)?;
    good::<PortCounters>(bench, &request).map(|_| ())
}

fn refused(bench: &mut Bench<'_>, request: &Mad, expected: &[MadStatus]) -> Outcome {
    let status = status(&bench.answer(request)?);
    ensure!(
        expected.contains(&status),
        "status {status}, expected one of {expected:?}"
    );
    Ok(())
}
