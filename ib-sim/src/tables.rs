//! The tables that stand in the switches, as a route set that a verifier reads.

use ib_routing::vl::SlToVl;
use ib_routing::{Fabric, LidMap, Routes, SharedEngine, SlTable, SwitchIdx, VlMap};
use ib_wire::{Lid, PortNum, Sl, addr::LidRange};

use crate::node::SimNode;
use crate::sim::Sim;

/// Virtual lanes for data that an SLtoVL table can name.
const DATA_VLS: u8 = 15;

impl Sim {
    /// The LIDs that stand in ports, and the forwarding and SLtoVL tables that stand in switches, whoever wrote them.
    ///
    /// `fabric` is the fabric that this one was built from, or that with fewer cables: a CA port without a cable in
    /// it, and a node that is switched off, count as having no LID. Service levels, which no switch holds, are 0; CAs
    /// have the SLtoVL table of the first of them.
    #[must_use]
    pub fn installed(&self, fabric: &Fabric) -> (LidMap, Routes) {
        let powered = |node: &SimNode| node.is_powered();
        let ranges = self.nodes.iter_enumerated().flat_map(|(index, node)| {
            let ends = self.end_ports(index).filter(|_| powered(node));
            ends.filter_map(|port| {
                let at = port.at();
                let is_cabled = fabric.port(at).is_some_and(|port| port.peer.is_some());
                let range = LidRange::try_new(port.info().lid(), port.info().lmc()).ok()?;
                (node.is_switch() || is_cabled).then_some((at, range))
            })
        });
        let lids = LidMap::of_ranges(fabric, ranges.collect::<Vec<_>>());
        let mut routes = Routes::new(SharedEngine::default(), fabric, &lids);
        for (switch, &node) in fabric.switches().iter_enumerated() {
            let Some(node) = self.nodes.find(node) else {
                continue;
            };
            for lid in (1..=lids.max_lid().0).map(Lid) {
                let port = node.lft_port(lid).unwrap_or(PortNum::UNREACHABLE);
                routes.set_port(switch, lid, port);
            }
        }
        routes.set_lanes(SlTable::Uniform(Sl::ZERO), self.lanes(fabric), DATA_VLS);
        (lids, routes)
    }

    /// The SLtoVL tables of the switches, as one table where all are the same.
    fn lanes(&self, fabric: &Fabric) -> VlMap {
        let of_ca = self.nodes.iter().find(|node| !node.is_switch());
        let injection = of_ca.map_or_else(
            || *VlMap::identity(DATA_VLS).injection(),
            |node| table(node, PortNum::MANAGEMENT, PortNum(1)),
        );
        let switches = || {
            let all = fabric.switches().iter_enumerated();
            all.filter_map(|(switch, &node)| Some((switch, self.nodes.find(node)?)))
        };
        let tables = |(switch, node): (SwitchIdx, &SimNode)| {
            let ports = 0..=node.num_ports();
            let pairs = ports.clone().flat_map(move |input| {
                let outputs = ports.clone();
                outputs.map(move |output| (PortNum(input), PortNum(output)))
            });
            let pairs: Vec<_> = pairs
                .map(|(input, output)| (switch, input, output, table(node, input, output)))
                .collect();
            pairs
        };
        if switches().all(|each| tables(each).iter().all(|(.., table)| *table == injection)) {
            return VlMap::uniform(injection);
        }
        let mut lanes = VlMap::per_port(fabric, injection);
        for (switch, input, output, table) in switches().flat_map(tables) {
            lanes.set(switch, input, output, table);
        }
        lanes
    }
}

/// The lane of each service level between two ports of a node.
fn table(node: &SimNode, input: PortNum, output: PortNum) -> SlToVl {
    core::array::from_fn(|level| {
        let sl = u8::try_from(level)
            .ok()
            .and_then(|level| Sl::try_new(level).ok());
        node.vl(input, output, sl.unwrap_or_default())
    })
}
