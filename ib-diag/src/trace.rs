//! Paths of a packet to a LID or to a group, as the installed tables forward it.

use alloc::{collections::BTreeSet, vec::Vec};

use ib_routing::PortRef;
use ib_smp::{DrPath, MulticastForwardingTable};
use ib_wire::{Lid, PortNum, Sl, Vl};

use crate::snapshot::{Snapshot, SnapshotNode};

/// One node that a packet passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The port by which the packet enters the node. For the first node it is port 0 of a switch or the sending port of
    /// a CA.
    pub input: PortRef,
    /// The port by which the packet leaves the node; `None` at the end of the path.
    pub output: Option<PortNum>,
    /// The virtual lane on which the packet leaves; `None` at the end of the path, or if the SLtoVL table was not read.
    pub vl: Option<Vl>,
}

/// The end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEnd {
    /// The packet reaches the port that owns the LID.
    Arrived,
    /// The switch has no entry for the LID.
    NoEntry,
    /// The forwarding table of the switch was not read.
    NotRead,
    /// The entry names a port without a cable, or a port whose link is down.
    DeadPort,
    /// The packet ends at a port that does not own the LID.
    WrongPort,
    /// The packet reaches another port that has the same LID, instead of the port that was meant.
    OtherOwner,
    /// The packet has already passed this switch.
    Loop,
    /// The SLtoVL table maps the service level to VL15, so the packet is dropped.
    Dropped,
    /// The starting port has no cable.
    NoCable,
}

impl PathEnd {
    /// The end as words for a report.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Arrived => "arrived",
            Self::NoEntry => "the switch has no entry for the LID",
            Self::NotRead => "the forwarding table of the switch was not read",
            Self::DeadPort => "the entry names a port without a link",
            Self::WrongPort => "the packet reaches a port that does not own the LID",
            Self::OtherOwner => "the packet reaches another port, which has the same LID",
            Self::Loop => "the packet loops",
            Self::Dropped => "the service level is mapped to VL15: the packet is dropped",
            Self::NoCable => "the port has no link",
        }
    }
}

/// The path of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The destination LID of the packet.
    pub dlid: Lid,
    /// The service level of the packet.
    pub sl: Sl,
    /// The nodes on the path, the first and the last included.
    pub hops: Vec<Hop>,
    /// The reason why the path ends.
    pub end: PathEnd,
}

/// The paths of a multicast packet: every switch and port that it reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MulticastPath {
    /// The switches in the order in which the packet spreads, each with the ports by which the packet leaves it.
    pub hops: Vec<(PortRef, Vec<PortNum>)>,
    /// The end ports that the packet reaches.
    pub reached: Vec<PortRef>,
    /// The switches that the packet reaches more than once: the packet circulates.
    pub again: Vec<PortRef>,
}

impl Snapshot {
    /// The path of a packet from a port to a LID, according to the tables installed in the switches.
    #[must_use]
    pub fn path(&self, from: PortRef, dlid: Lid, sl: Sl) -> Path {
        let mut path = Path {
            dlid,
            sl,
            hops: Vec::new(),
            end: PathEnd::Arrived,
        };
        let mut seen = BTreeSet::new();
        let mut here = from;
        path.end = loop {
            let Some(node) = self.node(here.node) else {
                break PathEnd::NoCable;
            };
            if owns(node, here.port, dlid) {
                let hop = Hop {
                    input: here,
                    output: None,
                    vl: None,
                };
                path.hops.push(hop);
                break PathEnd::Arrived;
            }
            let is_start = path.hops.is_empty();
            let output = match (node.is_switch(), is_start) {
                (true, _) => match forward(node, dlid) {
                    Ok(port) => port,
                    Err(end) => {
                        let hop = Hop {
                            input: here,
                            output: None,
                            vl: None,
                        };
                        path.hops.push(hop);
                        break end;
                    }
                },
                (false, true) => here.port,
                (false, false) => {
                    let hop = Hop {
                        input: here,
                        output: None,
                        vl: None,
                    };
                    path.hops.push(hop);
                    break PathEnd::WrongPort;
                }
            };
            let vl = lane(node, here.port, output, sl);
            path.hops.push(Hop {
                input: here,
                output: Some(output),
                vl,
            });
            if vl == Some(Vl::MANAGEMENT) {
                break PathEnd::Dropped;
            }
            if node.is_switch() && !seen.insert(here.node) {
                break PathEnd::Loop;
            }
            let leaving = self.port(PortRef {
                port: output,
                ..here
            });
            let next = leaving
                .filter(|port| port.is_link_up())
                .and_then(|port| port.peer);
            match next {
                Some(next) => here = next,
                None if node.is_switch() => break PathEnd::DeadPort,
                None => break PathEnd::NoCable,
            }
        };
        path
    }

    /// As [`path`](Self::path), to a certain port by one of its LIDs. If another port has the LID too and the packet
    /// reaches that one, the path ends with [`PathEnd::OtherOwner`].
    #[must_use]
    pub fn path_to(&self, from: PortRef, to: PortRef, dlid: Lid, sl: Sl) -> Path {
        let mut path = self.path(from, dlid, sl);
        let end_port = |at: PortRef| {
            let port = self.node(at.node)?.managing_port(at.port);
            Some((at.node, port))
        };
        let last = path.hops.last().map(|hop| hop.input);
        if path.end == PathEnd::Arrived && last.and_then(end_port) != end_port(to) {
            path.end = PathEnd::OtherOwner;
        }
        path
    }

    /// The end ports to which a switch forwards packets by one of its ports, each with those of its LIDs that go there.
    /// Empty for a port of another node.
    #[must_use]
    pub fn forwarded_by(&self, at: PortRef) -> Vec<(PortRef, Vec<Lid>)> {
        let Some(node) = self.node(at.node).filter(|node| node.is_switch()) else {
            return Vec::new();
        };
        let ends = self.ports().filter_map(|(end, owner, port)| {
            let lids = port
                .lids()
                .filter(|_| owner.managing_port(end.port) == end.port)?;
            let by_port = lids
                .iter()
                .filter(|&lid| node.lft_port(lid) == Some(at.port));
            let by_port: Vec<Lid> = by_port.collect();
            (!by_port.is_empty()).then_some((end, by_port))
        });
        ends.collect()
    }

    /// The nodes on a directed route from the local node: the port by which each is entered, and the port by which the
    /// route leaves it, which the last one has not. A route that leaves what was read ends at the last port on it that
    /// is known.
    #[must_use]
    pub fn nodes_on(&self, route: &DrPath) -> Vec<(PortRef, Option<PortNum>)> {
        let Some(own) = self.own_port else {
            return Vec::new();
        };
        let mut nodes = Vec::new();
        let mut here = own;
        for port in route.ports() {
            nodes.push((here, Some(port)));
            let leaving = PortRef { port, ..here };
            match self.port(leaving).and_then(|port| port.peer) {
                Some(next) => here = next,
                None => return nodes,
            }
        }
        nodes.push((here, None));
        nodes
    }

    /// The paths of a packet from a port to a multicast group, according to the tables installed in the switches.
    #[must_use]
    pub fn multicast_path(&self, from: PortRef, mlid: Lid) -> MulticastPath {
        let mut path = MulticastPath::default();
        let mut seen = BTreeSet::new();
        let mut open = Vec::new();
        let is_switch = |at: PortRef| self.node(at.node).is_some_and(SnapshotNode::is_switch);
        match is_switch(from) {
            true => open.push(from),
            false => {
                path.hops.push((from, Vec::from([from.port])));
                open.extend(self.port(from).and_then(|port| port.peer));
            }
        }
        let mut next = 0usize;
        while let Some(&here) = open.get(next) {
            next = next.saturating_add(1);
            let Some(node) = self.node(here.node) else {
                continue;
            };
            if !node.is_switch() {
                path.reached.push(here);
                continue;
            }
            if !seen.insert(here.node) {
                path.again.push(here);
                continue;
            }
            let outputs: Vec<PortNum> = group_ports(node, mlid)
                .into_iter()
                .filter(|&port| port != here.port)
                .collect();
            for &port in &outputs {
                let leaving = PortRef { port, ..here };
                match port {
                    PortNum::MANAGEMENT => path.reached.push(leaving),
                    _ => open.extend(self.port(leaving).and_then(|port| port.peer)),
                }
            }
            path.hops.push((here, outputs));
        }
        path
    }
}

/// Returns true if the LID belongs to the port by which a packet entered, or to port 0 of the switch.
fn owns(node: &SnapshotNode, input: PortNum, lid: Lid) -> bool {
    let port = node.port(node.managing_port(input));
    let range = port.and_then(|port| port.lids());
    range.is_some_and(|range| range.contains(lid))
}

fn forward(node: &SnapshotNode, dlid: Lid) -> Result<PortNum, PathEnd> {
    match node.lft_port(dlid) {
        None => Err(PathEnd::NotRead),
        Some(PortNum::UNREACHABLE) => Err(PathEnd::NoEntry),
        // The switch consumes the packet although it does not own the LID.
        Some(PortNum::MANAGEMENT) => Err(PathEnd::WrongPort),
        Some(port) => Ok(port),
    }
}

/// The lane on which a packet leaves; `None` if the table was not read.
fn lane(node: &SnapshotNode, input: PortNum, output: PortNum, sl: Sl) -> Option<Vl> {
    let table = match node.is_switch() {
        true => node.sl_to_vl.get(&(input, output)),
        false => node.sl_to_vl.get(&(PortNum::MANAGEMENT, output)),
    };
    Some(table?.vl(sl))
}

/// The output ports of a group at a switch.
#[must_use]
fn group_ports(node: &SnapshotNode, mlid: Lid) -> Vec<PortNum> {
    let Some((block, entry)) = MulticastForwardingTable::block_of(mlid) else {
        return Vec::new();
    };
    let mut ports = Vec::new();
    for (modifier, table) in node
        .mft
        .iter()
        .filter(|(modifier, _)| modifier.block == block)
    {
        let mask = table.port_mask_block(entry).unwrap_or(0);
        let first = modifier
            .position
            .saturating_mul(MulticastForwardingTable::PORTS);
        let set = (0..16u8).filter(|bit| {
            mask.checked_shr(u32::from(*bit))
                .is_some_and(|mask| mask & 1 == 1)
        });
        ports.extend(set.map(|bit| PortNum(first.saturating_add(bit))));
    }
    ports.sort_unstable();
    ports
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use ib_routing::PortRef;
    use ib_wire::{PortNum, Sl};

    use super::PathEnd;
    use crate::testing::brought_up;

    #[test]
    fn every_pair_of_hosts_has_a_path_that_ends_where_the_lid_is() {
        let snapshot = brought_up("gen-karyn-4-2");
        let ends: Vec<PortRef> = snapshot
            .ports()
            .filter(|(at, node, port)| {
                node.managing_port(at.port) == at.port && port.lid().is_unicast()
            })
            .map(|(at, _, _)| at)
            .collect();
        for &from in &ends {
            for &to in &ends {
                let lid = snapshot.port(to).unwrap().lid();
                let path = snapshot.path(from, lid, Sl::ZERO);
                assert_eq!(path.end, PathEnd::Arrived, "{from:?} {to:?}");
                assert_eq!(path.hops.last().unwrap().input.node, to.node);
                assert_eq!(path.hops.first().unwrap().input, from);
                // Hops follow cables.
                for pair in path.hops.windows(2) {
                    let leaving = PortRef {
                        node: pair[0].input.node,
                        port: pair[0].output.unwrap(),
                    };
                    assert_eq!(snapshot.port(leaving).unwrap().peer, Some(pair[1].input));
                }
            }
        }
    }

    #[test]
    fn a_port_of_a_switch_forwards_what_its_table_says() {
        let snapshot = brought_up("gen-karyn-4-2");
        let (host, _, port) = snapshot
            .ports()
            .find(|(_, node, _)| !node.is_switch())
            .unwrap();
        let leaf = port.peer.unwrap();
        assert_eq!(snapshot.forwarded_by(leaf), [(host, [port.lid()].into())]);
        assert_eq!(snapshot.forwarded_by(host), []);
        // Each end port but those of the switch itself is behind one of its ports.
        let switch = snapshot.node(leaf.node).unwrap();
        let external = switch.ports().filter(|(number, _)| number.0 > 0);
        let behind =
            external.map(|(port, _)| snapshot.forwarded_by(PortRef { port, ..leaf }).len());
        let ends = snapshot.ports().filter(|(at, node, port)| {
            node.managing_port(at.port) == at.port && port.lid().is_unicast()
        });
        assert_eq!(behind.sum::<usize>(), ends.count() - 1);
    }

    #[test]
    fn the_nodes_on_a_directed_route_are_those_it_was_read_by() {
        let snapshot = brought_up("gen-karyn-4-2");
        for node in snapshot.nodes.iter() {
            let found = snapshot.nodes_on(&node.path);
            assert_eq!(found.len(), node.path.ports().count() + 1);
            let (last, out) = found.last().unwrap();
            assert_eq!(
                (snapshot.node(last.node).unwrap().guid(), *out),
                (node.guid(), None)
            );
        }
        let beyond = snapshot
            .nodes
            .iter()
            .next()
            .unwrap()
            .path
            .then(PortNum(200))
            .unwrap();
        assert_eq!(
            snapshot.nodes_on(&beyond).last().unwrap().1,
            Some(PortNum(200))
        );
    }

    #[test]
    fn a_path_to_a_port_ends_at_another_owner_of_its_lid() {
        let mut snapshot = brought_up("gen-ring-5");
        let hosts: Vec<PortRef> = snapshot
            .ports()
            .filter(|(_, node, port)| !node.is_switch() && port.lid().is_unicast())
            .map(|(at, _, _)| at)
            .collect();
        let [from, routed, meant, ..] = hosts[..] else {
            panic!("three hosts");
        };
        let lid = snapshot.port(routed).unwrap().lid();
        let info = snapshot.port_mut(meant).unwrap().info.as_mut();
        info.unwrap().set_lid(lid);
        let end = |to| snapshot.path_to(from, to, lid, Sl::ZERO).end;
        assert_eq!(end(routed), PathEnd::Arrived);
        assert_eq!(end(meant), PathEnd::OtherOwner);
        // A switch has its LID at port 0, and a packet enters by another port.
        let leaf = snapshot.port(from).unwrap().peer.unwrap();
        let own = snapshot.node(leaf.node).unwrap().port(PortNum(0)).unwrap();
        let path = snapshot.path_to(from, leaf, own.lid(), Sl::ZERO);
        assert_eq!(path.end, PathEnd::Arrived);
    }

    #[test]
    fn a_path_ends_where_a_table_ends_it() {
        let mut snapshot = brought_up("gen-ring-5");
        let mut hosts = snapshot
            .ports()
            .filter(|(_, node, port)| !node.is_switch() && port.lid().is_unicast());
        let from = hosts.next().unwrap().0;
        let to = hosts.last().unwrap().0;
        let lid = snapshot.port(to).unwrap().lid();
        let leaf = snapshot.port(from).unwrap().peer.unwrap();
        let (block, entry) = ib_smp::LinearForwardingTable::block_of(lid);
        for (port, end) in [
            (PortNum::UNREACHABLE, PathEnd::NoEntry),
            (PortNum(200), PathEnd::DeadPort),
            (leaf.port, PathEnd::WrongPort),
            (PortNum(0), PathEnd::WrongPort),
        ] {
            let node = snapshot.nodes.find_mut(leaf.node).unwrap();
            node.lft
                .get_mut(&block)
                .unwrap()
                .set_port_block(entry, port);
            assert_eq!(snapshot.path(from, lid, Sl::ZERO).end, end, "{port}");
        }
        let node = snapshot.nodes.find_mut(leaf.node).unwrap();
        node.lft.clear();
        assert_eq!(snapshot.path(from, lid, Sl::ZERO).end, PathEnd::NotRead);
    }
}
