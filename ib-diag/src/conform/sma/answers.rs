//! Fields that every answer of an agent copies from its request (IBA vol. 1, 13.4 and 14.2.1).

use alloc::format;

use ib_mad::{Attribute as _, Mad, Method, MgmtClass};
use ib_smp::{DrDirection, NodeDescription, NodeInfo, PortInfo, SmpDirected};
use ib_wire::Lid;

use crate::conform::{
    Case,
    bench::{Bench, Outcome, Stop, ensure, fail, part, skip, smp_to, status},
    case,
};

const HEADER: &str = "IBA vol. 1, 13.4.2";
const DIRECTED: &str = "IBA vol. 1, 14.2.1.2";

pub(super) const CASES: &[Case] = &[
    case(
        "sma-101",
        "An agent answers Get(NodeInfo) of a channel adapter",
        "IBA vol. 1, 14.2.5.3",
        |bench| {
            let path = bench.ca()?;
            bench.get::<NodeInfo>(&path, 0).map(|_| ())
        },
    ),
    case(
        "sma-102",
        "An agent answers Get(NodeInfo) of a switch",
        "IBA vol. 1, 14.2.5.3",
        |bench| {
            let path = bench.switch()?;
            bench.get::<NodeInfo>(&path, 0).map(|_| ())
        },
    ),
    case(
        "sma-103",
        "An agent answers Get(NodeDescription)",
        "IBA vol. 1, 14.2.5.2",
        |bench| {
            let path = bench.ca()?;
            bench.get::<NodeDescription>(&path, 0).map(|_| ())
        },
    ),
    case(
        "sma-104",
        "An answer has the transaction ID of its request",
        HEADER,
        |bench| {
            let path = bench.ca()?;
            let mut smp = bench.smp(Method::GET, NodeInfo::ID, 0, &path);
            let id = bench.transaction();
            // The layers below use the high half of the transaction ID.
            smp.set_transaction_id(id);
            bench.send(&smp.to_mad())?;
            let deadline = bench.after(bench.options.timeout);
            let answer = bench.wait(deadline, |mad| {
                mad.header().transaction_id().low() == id.low()
                    && mad.header().method().is_response()
            })?;
            ensure!(
                answer.is_some(),
                "no answer with the transaction ID of the request"
            );
            Ok(())
        },
    ),
    case(
        "sma-105",
        "An answer has method GetResp",
        "IBA vol. 1, 13.4.5",
        |bench| {
            let answer = node_info(bench)?;
            let method = answer.header().method();
            ensure!(
                method == Method::GET_RESP,
                "method {method}, expected GetResp"
            );
            Ok(())
        },
    ),
    case(
        "sma-106",
        "A Set is answered with method GetResp",
        "IBA vol. 1, 13.4.5",
        |bench| {
            let at = bench.edge()?.ca;
            bench.with_port(at, |bench, before| {
                let mut smp = bench.smp(Method::SET, PortInfo::ID, 0, &at.path);
                smp.set_attribute(&super::super::ports::settable(before));
                let method = bench.answer(&smp.to_mad())?.header().method();
                ensure!(
                    method == Method::GET_RESP,
                    "method {method}, expected GetResp"
                );
                Ok(())
            })
        },
    ),
    case(
        "sma-107",
        "An answer has the attribute and the modifier of its request",
        HEADER,
        |bench| {
            let path = bench.switch()?;
            let smp = bench.smp(Method::GET, PortInfo::ID, 1, &path);
            let header = bench.answer(&smp.to_mad())?.header();
            ensure!(
                header.attribute_id() == PortInfo::ID,
                "attribute {}",
                header.attribute_id()
            );
            ensure!(
                header.attribute_modifier() == 1,
                "modifier {:#x}, expected 1",
                header.attribute_modifier()
            );
            Ok(())
        },
    ),
    case(
        "sma-108",
        "An answer has base version 1 and class version 1",
        HEADER,
        |bench| {
            let header = node_info(bench)?.header();
            let versions = (header.base_version(), header.class_version());
            ensure!(versions == (1, 1), "versions {versions:?}, expected (1, 1)");
            Ok(())
        },
    ),
    case(
        "sma-109",
        "The reserved field of an answer's header is zero",
        HEADER,
        |bench| {
            let answer = node_info(bench)?;
            zero(&answer, 18, 20)
        },
    ),
    case(
        "sma-110",
        "An answer by directed route has the D bit",
        DIRECTED,
        |bench| {
            let answer = node_info(bench)?;
            let d = directed(&answer)?.d();
            ensure!(d == DrDirection::RETURNING, "D is {d}");
            Ok(())
        },
    ),
    case(
        "sma-111",
        "An answer by directed route has the hop count of its request",
        DIRECTED,
        |bench| {
            let path = bench.ca()?;
            let answer = node_info(bench)?;
            let count = directed(&answer)?.hop_count();
            ensure!(
                count == path.hop_count(),
                "hop count {count}, expected {}",
                path.hop_count()
            );
            Ok(())
        },
    ),
    case(
        "sma-112",
        "An answer by directed route has the initial path of its request",
        DIRECTED,
        |bench| {
            let path = bench.ca()?;
            let answer = node_info(bench)?;
            ensure!(
                directed(&answer)?.initial_path() == path.initial_path(),
                "another initial path"
            );
            Ok(())
        },
    ),
    case(
        "sma-113",
        "An answer by directed route has DrSLID and DrDLID of its request",
        DIRECTED,
        |bench| {
            let answer = node_info(bench)?;
            let smp = directed(&answer)?;
            ensure!(
                (smp.dr_slid(), smp.dr_dlid()) == (Lid::PERMISSIVE, Lid::PERMISSIVE),
                "DrSLID {}, DrDLID {}, expected 0xffff twice",
                smp.dr_slid(),
                smp.dr_dlid()
            );
            Ok(())
        },
    ),
    case(
        "sma-114",
        "Reserved bytes 36 to 63 of an answer by directed route are zero",
        DIRECTED,
        |bench| {
            let answer = node_info(bench)?;
            zero(&answer, 36, 64)
        },
    ),
    case(
        "sma-115",
        "An agent answers a LID-routed SMP",
        "IBA vol. 1, 14.2.1.1",
        |bench| {
            let answer = by_lid(bench)?;
            ensure!(status(&answer).is_ok(), "status {}", status(&answer));
            Ok(())
        },
    ),
    case(
        "sma-116",
        "An answer to a LID-routed SMP has class 0x01 and no D bit",
        "IBA vol. 1, 14.2.1.1",
        |bench| {
            let header = by_lid(bench)?.header();
            ensure!(
                header.mgmt_class() == MgmtClass::SUBN_LID,
                "class {}",
                header.mgmt_class()
            );
            ensure!(
                header.status().0 & 0x8000 == 0,
                "status {}",
                header.status()
            );
            Ok(())
        },
    ),
    case(
        "sma-117",
        "Reserved bytes of an answer to a LID-routed SMP are zero",
        "IBA vol. 1, 14.2.1.1",
        |bench| {
            let answer = by_lid(bench)?;
            zero(&answer, 32, 64)?;
            zero(&answer, 128, 256)
        },
    ),
    case(
        "sma-118",
        "Both forms of SMP show the same NodeInfo",
        "IBA vol. 1, 14.2.5.3",
        |bench| {
            let routed = by_lid(bench)?;
            let directed = node_info(bench)?;
            ensure!(
                part(&routed, 64, 104) == part(&directed, 64, 104),
                "two different NodeInfo"
            );
            Ok(())
        },
    ),
    case(
        "sma-119",
        "Reserved fields of a request are ignored",
        "IBA vol. 1, 13.4.2",
        |bench| {
            let path = bench.ca()?;
            let plain = node_info(bench)?;
            let mut smp = bench.smp(Method::GET, NodeInfo::ID, 0, &path);
            smp.set_header_reserved(0xffff).set_reserved1(&[0xff; 28]);
            let answer = bench.answer(&smp.to_mad())?;
            ensure!(
                part(&plain, 64, 128) == part(&answer, 64, 128),
                "another NodeInfo"
            );
            ensure!(status(&answer).is_ok(), "status {}", status(&answer));
            Ok(())
        },
    ),
    case(
        "sma-120",
        "The status of a request is ignored",
        "IBA vol. 1, 13.4.7",
        |bench| {
            let path = bench.ca()?;
            let mut smp = bench.smp(Method::GET, NodeInfo::ID, 0, &path);
            smp.set_status(ib_mad::MadStatus(0x001c));
            let answer = bench.answer(&smp.to_mad())?;
            ensure!(
                status(&answer).is_ok(),
                "status {} of the request comes back",
                status(&answer)
            );
            Ok(())
        },
    ),
];

fn node_info(bench: &mut Bench<'_>) -> Result<Mad, Stop> {
    let path = bench.ca()?;
    let smp = bench.smp(Method::GET, NodeInfo::ID, 0, &path);
    bench.answer(&smp.to_mad())
}

fn by_lid(bench: &mut Bench<'_>) -> Result<Mad, Stop> {
    let edge = bench.edge()?;
    let lid = bench.port_info(edge.ca)?.lid();
    if lid == Lid::NONE || bench.own_info()?.lid() == Lid::NONE {
        return skip("no LIDs: bring the subnet up first");
    }
    let mad = smp_to(lid, Method::GET, NodeInfo::ID, 0, bench.options.m_key);
    bench.answer(&mad)
}

fn directed(answer: &Mad) -> Result<&SmpDirected, Stop> {
    match SmpDirected::parse(&answer.bytes, 0) {
        Ok((smp, _)) => Ok(smp),
        Err(error) => fail(format!("{error}")),
    }
}

/// Fails unless the bytes from `from` to `to` are zero.
pub(super) fn zero(answer: &Mad, from: usize, to: usize) -> Outcome {
    let mut bytes = part(answer, from, to).iter().enumerate();
    match bytes.find(|(_, byte)| **byte != 0) {
        None => Ok(()),
        Some((at, byte)) => fail(format!(
            "byte {} is {byte:#04x}, expected 0",
            from.saturating_add(at)
        )),
    }
}
