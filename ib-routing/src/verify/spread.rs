//! The balance of one switch's routes over its ports: what OpenSM's console prints as `switchbalance` and `lidbalance`.
//!
//! Both count LIDs of CAs and routers; LIDs of switches carry management traffic only. Two counts that differ by one are as even
//! as an odd number of routes permits.

use alloc::{collections::BTreeMap, vec::Vec};

use ib_wire::PortNum;

use crate::{
    fabric::{Fabric, PortRef},
    index::{DestinationIdx, NodeIdx, SwitchIdx},
    lid::LidMap,
    routes::Routes,
};

/// Routes to CAs and routers that leave a switch through each of its ports to other switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchSpread {
    /// The switch.
    pub switch: SwitchIdx,
    /// Number of LIDs that each port with a link to another switch forwards, in the order of the ports.
    pub ports: Vec<(PortNum, u32)>,
}

impl SwitchSpread {
    /// Counts the routes of one switch.
    #[must_use]
    pub fn of(fabric: &Fabric, lids: &LidMap, routes: &Routes, switch: SwitchIdx) -> Self {
        let mut counts: BTreeMap<PortNum, u32> = BTreeMap::new();
        for destination in lids.destinations().iter().filter(|to| !to.is_switch()) {
            for lid in destination.range.iter() {
                let count = counts.entry(routes.port(switch, lid)).or_default();
                *count = count.saturating_add(1);
            }
        }
        let ports = fabric.channels_from(switch).map(|(_, channel)| {
            let count = counts.get(&channel.port).copied().unwrap_or(0);
            (channel.port, count)
        });
        let mut ports: Vec<_> = ports.collect();
        ports.sort_unstable();
        Self { switch, ports }
    }

    /// Returns true if no port forwards at least two LIDs more than another one.
    #[must_use]
    pub fn is_even(&self) -> bool {
        is_even(&self.ports)
    }
}

/// Routes from a switch to the LIDs of one port of a CA or router, which LMC makes several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LidSpread {
    /// The switch.
    pub switch: SwitchIdx,
    /// The owner of the LIDs.
    pub destination: DestinationIdx,
    /// Number of LIDs that go to each neighbour of the switch, in the order in which the LIDs lead there.
    pub neighbors: Vec<(NodeIdx, u32)>,
    /// Number of LIDs that each port forwards, in the order of the ports.
    pub ports: Vec<(PortNum, u32)>,
}

impl LidSpread {
    /// Counts the routes from one switch, for each port of a CA or router that the switch has a route to.
    #[must_use]
    pub fn all_of(fabric: &Fabric, lids: &LidMap, routes: &Routes, switch: SwitchIdx) -> Vec<Self> {
        let node = fabric.switches().find(switch).copied();
        let hosts = lids.destinations().iter_enumerated();
        let hosts = hosts.filter(|(_, to)| !to.is_switch());
        let spreads = hosts.filter_map(|(destination, to)| {
            let mut neighbors: Vec<(NodeIdx, u32)> = Vec::new();
            let mut ports: BTreeMap<PortNum, u32> = BTreeMap::new();
            for lid in to.range.iter() {
                let port = routes.port(switch, lid);
                let end = PortRef { node: node?, port };
                let Some(peer) = fabric.port(end).and_then(|port| port.peer) else {
                    continue;
                };
                let count = ports.entry(port).or_default();
                *count = count.saturating_add(1);
                let known = neighbors.iter_mut().find(|(known, _)| *known == peer.node);
                match known {
                    Some((_, count)) => *count = count.saturating_add(1),
                    None => neighbors.push((peer.node, 1)),
                }
            }
            (!neighbors.is_empty()).then(|| Self {
                switch,
                destination,
                neighbors,
                ports: ports.into_iter().collect(),
            })
        });
        spreads.collect()
    }

    /// Returns true if no neighbour gets at least two LIDs more than another one of those that get any.
    #[must_use]
    pub fn neighbors_are_even(&self) -> bool {
        is_even(&self.neighbors)
    }

    /// Returns true if no port forwards at least two LIDs more than another one of those that forward any.
    #[must_use]
    pub fn ports_are_even(&self) -> bool {
        is_even(&self.ports)
    }
}

fn is_even<T>(counts: &[(T, u32)]) -> bool {
    let counts = || counts.iter().map(|(_, count)| *count);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    most.saturating_sub(least) <= 1
}

#[cfg(test)]
mod tests {
    use ib_wire::Lmc;

    use super::*;
    use crate::{LidOptions, RouteOptions, engine, generate::FabricSpec};

    #[test]
    fn two_lids_more_on_one_port_than_on_another_are_uneven() {
        for (counts, even) in [
            (&[][..], true),
            (&[7], true),
            (&[3, 4], true),
            (&[3, 5], false),
            (&[4, 3, 5], false),
        ] {
            let counts: Vec<((), u32)> = counts.iter().map(|&count| ((), count)).collect();
            assert_eq!(is_even(&counts), even, "{counts:?}");
        }
        for (first, even) in [(3, true), (4, true), (6, false)] {
            let ports = Vec::from([(PortNum(1), first), (PortNum(2), 4)]);
            let switch = SwitchIdx(0);
            assert_eq!(
                SwitchSpread {
                    switch,
                    ports: ports.clone()
                }
                .is_even(),
                even
            );
            let mut spread = LidSpread {
                switch,
                destination: DestinationIdx(0),
                neighbors: Vec::from([(NodeIdx(0), 4)]),
                ports,
            };
            assert_eq!(
                (spread.neighbors_are_even(), spread.ports_are_even()),
                (true, even)
            );
            spread.neighbors.push((NodeIdx(1), first));
            spread.ports.pop();
            assert_eq!(
                (spread.neighbors_are_even(), spread.ports_are_even()),
                (even, true)
            );
        }
    }

    #[test]
    fn every_lid_of_a_host_is_counted_once_at_each_switch() {
        let spec: FabricSpec = "fat-tree:radix=4,levels=2".parse().unwrap();
        let fabric = spec.build().unwrap();
        let options = LidOptions {
            lmc: Lmc::try_new(2).unwrap(),
            ..LidOptions::default()
        };
        let lids = LidMap::assign(&fabric, &options).unwrap();
        let routes = engine::MINHOP
            .route(&fabric, &lids, &RouteOptions::default())
            .unwrap();
        let hosts = lids.destinations().iter().filter(|to| !to.is_switch());
        let hosts = u32::try_from(hosts.count()).unwrap();
        for (switch, node) in fabric.switches().iter_enumerated() {
            let own = fabric.node(*node);
            let attached = (1..=own.num_ports()).filter(|&port| {
                let end = PortRef {
                    node: *node,
                    port: PortNum(port),
                };
                let peer = fabric.port(end).and_then(|port| port.peer);
                peer.is_some_and(|peer| fabric.switch_of(peer.node).is_none())
            });
            let attached = u32::try_from(attached.count()).unwrap();
            let spread = SwitchSpread::of(&fabric, &lids, &routes, switch);
            let sum: u32 = spread.ports.iter().map(|(_, count)| count).sum();
            // LIDs of hosts at this very switch leave through no port to a switch.
            assert_eq!(sum, (hosts - attached) * 4, "{}", own.guid);
            let all = LidSpread::all_of(&fabric, &lids, &routes, switch);
            assert_eq!(u32::try_from(all.len()).unwrap(), hosts);
            for one in all {
                let sum: u32 = one.ports.iter().map(|(_, count)| count).sum();
                let by_neighbor: u32 = one.neighbors.iter().map(|(_, count)| count).sum();
                assert_eq!((sum, by_neighbor), (4, 4));
            }
        }
    }
}
