//! Directed routes: the handling of hop pointer, hop count and paths at each node (IBA vol. 1, 14.2.2).

use ib_mad::{Attribute as _, Mad, MadAddress, Method};
use ib_smp::{DrPath, NodeInfo, SmpDirected};
use ib_wire::{Guid, Lid, PortNum};

use crate::conform::{
    Case,
    bench::{Bench, Outcome, Stop, attribute, ensure, fail, skip},
    case,
};

const OUT: &str = "IBA vol. 1, C14-9 and 14.2.2";
const BACK: &str = "IBA vol. 1, C14-13 and 14.2.2";

pub(super) const CASES: &[Case] = &[
    case(
        "sma-381",
        "A route of no hops reaches the own node",
        OUT,
        |bench| {
            let own = bench
                .subnet
                .own_port
                .and_then(|own| bench.subnet.node(own.node))
                .map(|node| node.guid());
            let info = bench.get::<NodeInfo>(&DrPath::OWN_NODE, 0)?;
            ensure!(Some(info.node_guid()) == own, "node {}", info.node_guid());
            Ok(())
        },
    ),
    case(
        "sma-382",
        "A route of one hop reaches the node at the other end of the cable",
        OUT,
        |bench| reaches(bench, 1),
    ),
    case(
        "sma-383",
        "A route of two hops reaches the node beyond a switch",
        OUT,
        |bench| reaches(bench, 2),
    ),
    case(
        "sma-384",
        "A route of three hops reaches the node beyond two switches",
        OUT,
        |bench| reaches(bench, 3),
    ),
    case(
        "sma-385",
        "The return path has the port of arrival of every node",
        OUT,
        |bench| {
            let ca = bench.ca_port()?;
            let path = bench.ca()?;
            let smp = ask(bench, &smp(bench, &path))?;
            let last = smp
                .return_path()
                .get(usize::from(path.hop_count()))
                .copied();
            ensure!(
                last == Some(ca.port.0),
                "the last entry is {last:?}, the port is {}",
                ca.port
            );
            let zero = smp
                .return_path()
                .iter()
                .take(usize::from(path.hop_count()).saturating_add(1))
                .skip(1)
                .position(|port| *port == 0);
            ensure!(zero.is_none(), "an entry of the return path is 0");
            Ok(())
        },
    ),
    case("sma-386", "The return path leads back", BACK, |bench| {
        let path = bench.ca()?;
        let smp = ask(bench, &smp(bench, &path))?;
        let beyond = smp
            .return_path()
            .iter()
            .skip(usize::from(path.hop_count()).saturating_add(1));
        ensure!(
            beyond.copied().all(|port| port == 0),
            "entries past the last hop are not zero"
        );
        Ok(())
    }),
    case(
        "sma-387",
        "The hop pointer is 0 when the answer is back",
        BACK,
        |bench| {
            let path = bench.ca()?;
            let pointer = ask(bench, &smp(bench, &path))?.hop_pointer();
            ensure!(pointer == 0, "hop pointer {pointer}");
            Ok(())
        },
    ),
    case(
        "sma-388",
        "An SMP whose route names a port that a switch does not have is discarded",
        OUT,
        |bench| {
            let path = bench.switch()?;
            let ports = bench.get::<NodeInfo>(&path, 0)?.num_ports();
            let (Some(beyond), Some(_)) = (ports.checked_add(1), ports.checked_add(2)) else {
                return skip("the switch has 255 ports");
            };
            discarded(bench, &path, PortNum(beyond))
        },
    ),
    case(
        "sma-389",
        "An SMP whose route names port 0 of a switch is discarded",
        OUT,
        |bench| {
            let path = bench.switch()?;
            discarded(bench, &path, PortNum(0))
        },
    ),
    case(
        "sma-390",
        "An SMP whose route goes through a channel adapter is discarded",
        OUT,
        |bench| {
            let path = bench.ca()?;
            discarded(bench, &path, PortNum(1))
        },
    ),
    case(
        "sma-391",
        "An SMP with a hop count above 63 is discarded",
        OUT,
        |bench| {
            let path = bench.switch()?;
            let mut request = smp(bench, &path);
            request.set_hop_count(64);
            bench.silence(&request.to_mad())
        },
    ),
    case(
        "sma-392",
        "An SMP with a hop pointer past the hop count is discarded",
        OUT,
        |bench| {
            let path = bench.switch()?;
            let mut request = smp(bench, &path);
            request.set_hop_pointer(path.hop_count().saturating_add(2));
            bench.silence(&request.to_mad())
        },
    ),
    case(
        "sma-393",
        "A route that begins with a LID-routed part is followed",
        OUT,
        |bench| {
            let (request, expected) = mixed(bench, true, false)?;
            mixed_reaches(bench, &request, expected)
        },
    ),
    case(
        "sma-394",
        "A route that ends with a LID-routed part is followed",
        OUT,
        |bench| {
            let (request, expected) = mixed(bench, false, true)?;
            mixed_reaches(bench, &request, expected)
        },
    ),
    case(
        "sma-395",
        "A route with LID-routed parts at both ends is followed",
        OUT,
        |bench| {
            let (request, expected) = mixed(bench, true, true)?;
            mixed_reaches(bench, &request, expected)
        },
    ),
];

fn smp(bench: &Bench<'_>, path: &DrPath) -> SmpDirected {
    bench.smp(Method::GET, NodeInfo::ID, 0, path)
}

fn ask(bench: &mut Bench<'_>, request: &SmpDirected) -> Result<SmpDirected, Stop> {
    let answer = bench.answer(&request.to_mad())?;
    match SmpDirected::parse(&answer.bytes, 0) {
        Ok((smp, _)) => Ok(*smp),
        Err(_) => fail("the answer is no SMP"),
    }
}

/// Judges whether the node at this number of hops has the GUID that the discovery found there.
fn reaches(bench: &mut Bench<'_>, hops: u8) -> Outcome {
    let mut nodes = bench.subnet.nodes.iter();
    let found = nodes.find(|node| node.path.hop_count() == hops);
    let Some((path, guid)) = found.map(|node| (node.path, node.guid())) else {
        return skip("no node is so many hops away");
    };
    let info = bench.get::<NodeInfo>(&path, 0)?;
    ensure!(
        info.node_guid() == guid,
        "node {}, expected {guid}",
        info.node_guid()
    );
    Ok(())
}

fn discarded(bench: &mut Bench<'_>, path: &DrPath, port: PortNum) -> Outcome {
    let Some(longer) = path.then(port) else {
        return skip("the route has 63 hops");
    };
    let request = smp(bench, &longer);
    bench.silence(&request.to_mad())
}

/// A request to the tested channel adapter whose directed part begins or ends at the switch next to it.
fn mixed(bench: &mut Bench<'_>, lid_first: bool, lid_last: bool) -> Result<(Mad, Guid), Stop> {
    let edge = bench.edge()?;
    let own = bench.own_info()?.lid();
    let ca = bench.port_info(edge.ca)?.lid();
    let switch = bench.get::<ib_smp::PortInfo>(&edge.switch.path, 0)?.lid();
    if [own, ca, switch].contains(&Lid::NONE) {
        return skip("no LIDs: bring the subnet up first");
    }
    let expected = bench.get::<NodeInfo>(&edge.ca.path, 0)?.node_guid();
    // Only those ports of the path that lie in the directed part.
    let whole: alloc::vec::Vec<PortNum> = edge.ca.path.ports().collect();
    let last = whole.last().copied();
    let path = match (lid_first, lid_last) {
        (true, false) => DrPath::try_new(last.as_slice()),
        (false, _) => Some(edge.switch.path),
        (true, true) => DrPath::try_new(&[]),
    };
    let Some(path) = path else {
        return skip("the route is too long");
    };
    let mut request = smp(bench, &path);
    let id = bench.transaction();
    request.set_transaction_id(id);
    if lid_first {
        request.set_dr_slid(own);
    }
    if lid_last {
        request.set_dr_dlid(ca);
    }
    let address = match lid_first {
        true => MadAddress::smi(switch),
        false => MadAddress::DIRECTED,
    };
    Ok((request.to(address), expected))
}

fn mixed_reaches(bench: &mut Bench<'_>, request: &Mad, expected: Guid) -> Outcome {
    let answer = bench.answer(request)?;
    let info: NodeInfo = attribute(&answer)?;
    ensure!(
        info.node_guid() == expected,
        "node {}, expected {expected}",
        info.node_guid()
    );
    Ok(())
}
