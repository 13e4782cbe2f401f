//! Requirements on every answer of an administrator, and requests that it refuses (IBA vol. 1, 15.2.1 and 15.4.2).

use ib_mad::{AttributeId, ClassPortInfo, Mad, Method, SmKey};
use ib_sa::{ComponentMask, NodeComponents, NodeRecord, PathComponents, PathRecord, SaMad};
use ib_smp::NodeType;
use ib_wire::Lid;

use crate::conform::{
    Case,
    bench::{Bench, Outcome, Stop, attribute, difference, ensure, fail, part, status},
    case,
};

const HEADER: &str = "IBA vol. 1, 15.2.1";
const STATUS: &str = "IBA vol. 1, 13.4.7 and 15.4.2";
const HISTORY: &str = "IBA vol. 1, 13.4.2 (reserved fields)";

pub(super) const CASES: &[Case] = &[
    case(
        "sa-101",
        "The administrator answers Get(ClassPortInfo)",
        "IBA vol. 1, 15.2.4.1",
        |bench| {
            let answer = class_port_info(bench)?;
            ensure!(status(&answer).is_ok(), "status {}", status(&answer));
            Ok(())
        },
    ),
    case(
        "sa-102",
        "ClassPortInfo has base version 1 and class version 2",
        "IBA vol. 1, 15.2.4.1",
        |bench| {
            let info: ClassPortInfo = attribute(&class_port_info(bench)?)?;
            let versions = (info.base_version(), info.class_version());
            ensure!(versions == (1, 2), "versions {versions:?}");
            Ok(())
        },
    ),
    case(
        "sa-103",
        "A Get is answered with GetResp",
        "IBA vol. 1, 13.4.5",
        |bench| {
            let method = class_port_info(bench)?.header().method();
            ensure!(method == Method::GET_RESP, "method {method}");
            Ok(())
        },
    ),
    case(
        "sa-104",
        "An answer has class version 2 and the attribute of its request",
        HEADER,
        |bench| {
            let header = class_port_info(bench)?.header();
            ensure!(
                header.class_version() == 2,
                "class version {}",
                header.class_version()
            );
            ensure!(
                header.attribute_id().0 == 1,
                "attribute {}",
                header.attribute_id()
            );
            Ok(())
        },
    ),
    case("sa-105", "The SM_Key of an answer is 0", HEADER, |bench| {
        let mut request = ports_node(bench)?;
        request.set_sm_key(SmKey(0));
        let answer = bench.sa_answer(&request)?;
        ensure!(answer.sm_key() == SmKey(0), "SM_Key is not 0");
        Ok(())
    }),
    case(
        "sa-106",
        "Reserved fields of an answer's headers are zero",
        HEADER,
        |bench| {
            let answer = class_port_info(bench)?;
            for (from, to) in [(18, 20), (46, 48)] {
                ensure!(
                    part(&answer, from, to).iter().all(|byte| *byte == 0),
                    "bytes {from} to {to} are not 0"
                );
            }
            Ok(())
        },
    ),
    case(
        "sa-107",
        "A Get of a record that matches nothing has status 0x0300",
        STATUS,
        |bench| {
            let mut template = NodeRecord::default();
            template.set_lid(Lid(0xbffe));
            bench.refused_with(Method::GET, &template, NodeComponents::LID, &[0x0300])
        },
    ),
    case(
        "sa-108",
        "A Get that several records match has status 0x0400",
        STATUS,
        |bench| {
            bench.refused_with(
                Method::GET,
                &NodeRecord::default(),
                ComponentMask(0),
                &[0x0400],
            )
        },
    ),
    case(
        "sa-109",
        "A GetTable that matches nothing is an empty table",
        "IBA vol. 1, 15.4.4",
        |bench| {
            let mut template = NodeRecord::default();
            template.set_lid(Lid(0xbffe));
            let records = bench.table(&template, NodeComponents::LID)?;
            ensure!(records.is_empty(), "{} records", records.len());
            Ok(())
        },
    ),
    case(
        "sa-110",
        "An unknown attribute is refused with 0x0008 or 0x000c",
        STATUS,
        |bench| unsupported(bench, Method::GET, AttributeId(0x0fff)),
    ),
    case(
        "sa-111",
        "An unknown attribute is refused in a GetTable with 0x0008 or 0x000c",
        STATUS,
        |bench| unsupported(bench, Method::GET_TABLE, AttributeId(0x0fff)),
    ),
    case(
        "sa-112",
        "An unknown method is refused with 0x0008 or 0x000c",
        STATUS,
        |bench| unsupported(bench, Method(0x0f), AttributeId(0x0011)),
    ),
    case(
        "sa-113",
        "A Set of NodeRecord is refused with 0x0008 or 0x000c",
        STATUS,
        |bench| unsupported(bench, Method::SET, AttributeId(0x0011)),
    ),
    case(
        "sa-114",
        "A Delete of NodeRecord is refused with 0x0008 or 0x000c",
        STATUS,
        |bench| unsupported(bench, Method::DELETE, AttributeId(0x0011)),
    ),
    case(
        "sa-115",
        "A Set of PathRecord is refused with 0x0008 or 0x000c",
        STATUS,
        |bench| unsupported(bench, Method::SET, AttributeId(0x0035)),
    ),
    case(
        "sa-116",
        "An unsolicited response is not answered",
        "IBA vol. 1, 13.4.5",
        |bench| {
            let request = SaMad::new(Method::GET_RESP, AttributeId(0x0011));
            let mad = bench.sa_mad(&request)?;
            bench.silence(&mad)
        },
    ),
    case(
        "sa-117",
        "ClassPortInfo does not depend on the memory before",
        HISTORY,
        |bench| {
            let request = SaMad::new(Method::GET, AttributeId(1));
            twice(bench, &request, ClassPortInfo::LEN)
        },
    ),
    case(
        "sa-118",
        "NodeRecord does not depend on the memory before",
        HISTORY,
        |bench| {
            let request = ports_node(bench)?;
            twice(bench, &request, NodeRecord::LEN)
        },
    ),
    case(
        "sa-119",
        "PathRecord does not depend on the memory before",
        HISTORY,
        |bench| {
            let (own, other) = (bench.own_gid()?, bench.other_end()?.0);
            let mut template = PathRecord::default();
            template.set_sgid(own).set_dgid(other).set_numb_path(1);
            let mask = PathComponents::SGID | PathComponents::DGID | PathComponents::NUMB_PATH;
            let request = SaMad::query(Method::GET, &template, mask);
            twice(bench, &request, PathRecord::LEN)
        },
    ),
    case(
        "sa-120",
        "Bytes after a record are zero",
        HISTORY,
        |bench| {
            let mut request = ports_node(bench)?;
            let mut data = *request.data();
            data.iter_mut()
                .skip(NodeRecord::LEN)
                .for_each(|byte| *byte = 0xff);
            request.set_data(&data);
            let answer = bench.sa_answer(&request)?;
            let behind = answer
                .data()
                .iter()
                .skip(NodeRecord::LEN)
                .position(|byte| *byte != 0);
            ensure!(
                behind.is_none(),
                "byte {} behind the record is not 0",
                behind.unwrap_or(0)
            );
            Ok(())
        },
    ),
    case(
        "sa-121",
        "A value whose component is not in the mask is ignored",
        "IBA vol. 1, 15.4.4",
        |bench| {
            let mut request = ports_node(bench)?;
            let plain = bench.sa_answer(&request)?;
            let mut template = NodeRecord::default();
            template.set_lid(bench.own_info()?.lid());
            let mut node = *template.node_info();
            node.set_node_type(NodeType(0x77));
            template.set_node_info(&node);
            request = SaMad::query(Method::GET, &template, NodeComponents::LID);
            let answer = bench.sa_answer(&request)?;
            ensure!(answer.data() == plain.data(), "another answer");
            Ok(())
        },
    ),
];

fn class_port_info(bench: &mut Bench<'_>) -> Result<Mad, Stop> {
    let request = SaMad::new(Method::GET, AttributeId(1));
    let mad = bench.sa_mad(&request)?;
    bench.answer(&mad)
}

/// A request for the NodeRecord of our port.
fn ports_node(bench: &mut Bench<'_>) -> Result<SaMad, Stop> {
    let mut template = NodeRecord::default();
    template.set_lid(bench.own_info()?.lid());
    Ok(SaMad::query(Method::GET, &template, NodeComponents::LID))
}

fn unsupported(bench: &mut Bench<'_>, method: Method, id: AttributeId) -> Outcome {
    let request = SaMad::new(method, id);
    let status = bench.sa_answer(&request)?.status();
    ensure!(
        [0x0008, 0x000c].contains(&status.0),
        "status {status}, expected 0x0008 or 0x000c"
    );
    Ok(())
}

/// Sends a request with zeros and then with ones after the template, with another request in between.
fn twice(bench: &mut Bench<'_>, request: &SaMad, len: usize) -> Outcome {
    let mad = bench.sa_mad(request)?;
    let first = bench.answer(&mad)?;
    class_port_info(bench)?;
    let mut dirty = mad;
    dirty
        .bytes
        .iter_mut()
        .skip(len.saturating_add(SaMad::DATA_OFFSET))
        .for_each(|byte| *byte = 0xff);
    let second = bench.answer(&dirty)?;
    // A case of its own judges the bytes behind a record.
    let behind = len.saturating_add(SaMad::DATA_OFFSET)..Mad::LEN;
    match difference(&first, &second, behind) {
        None => Ok(()),
        Some(difference) => fail(difference),
    }
}
