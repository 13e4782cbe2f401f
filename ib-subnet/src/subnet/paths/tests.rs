//! Routes that are repaired are those of a search, whatever happened before.

use ib_smp::{NodeInfo, NodeType};
use ib_wire::{Guid, random::SplitMix64};

use super::*;

/// Ports of every node of a random subnet.
const PORTS: u8 = 8;

/// A subnet to which cables and nodes are added as a walk does, and taken away.
struct Random {
    subnet: Subnet,
    random: SplitMix64,
    nodes: Vec<NodeId>,
    next_guid: u64,
}

impl Random {
    /// The own node alone: a CA or a switch.
    fn new(seed: u64) -> Self {
        let mut new = Self {
            subnet: Subnet::default(),
            random: SplitMix64::new(seed),
            nodes: Vec::new(),
            next_guid: 1,
        };
        new.subnet.begin_walk(true);
        let (type_, port) = match seed % 2 {
            0 => (NodeType::SWITCH, PortNum::MANAGEMENT),
            _ => (NodeType::CA, PortNum(1)),
        };
        let info = new.info(type_);
        let node = new.subnet.add(info, Reach::default(), None);
        let own = PortId { node, port };
        new.subnet.set_own_port(own);
        if type_ == NodeType::CA {
            let record = new.subnet.port_mut(own).unwrap();
            record.set_reach(Reach::default());
        }
        new.nodes.push(node);
        new
    }

    fn info(&mut self, type_: NodeType) -> NodeInfo {
        let mut info = NodeInfo::default();
        info.set_node_guid(Guid(self.next_guid))
            .set_node_type(type_)
            .set_num_ports(PORTS);
        self.next_guid += 1;
        info
    }

    fn any_port(&mut self) -> PortId {
        let node = self.nodes[self.random.below(self.nodes.len())];
        let port = PortNum(1 + self.random.below(PORTS.into()) as u8);
        PortId { node, port }
    }

    /// A node answers behind a port that has a route and no cable.
    fn add_node(&mut self) {
        let behind = self.any_port();
        let is_free = self.subnet.port(behind).unwrap().peer().is_none();
        let here = self.subnet.node(behind.node).unwrap();
        let leads_on = here.is_switch() || self.subnet.own == Some(behind);
        let Some(reach) = self.subnet.reach_behind(behind) else {
            return;
        };
        if !is_free || !leads_on {
            return;
        }
        let is_switch = self.random.below(3) > 0;
        let info = self.info(if is_switch {
            NodeType::SWITCH
        } else {
            NodeType::CA
        });
        let node = self.subnet.add(info, reach, Some(behind));
        let port = PortNum(1 + self.random.below(PORTS.into()) as u8);
        let end = PortId { node, port };
        if !is_switch {
            self.subnet.port_mut(end).unwrap().set_reach(reach);
        }
        assert!(self.subnet.link(behind, end));
        self.nodes.push(node);
    }

    fn step(&mut self) {
        match self.random.below(8) {
            0 | 1 => self.add_node(),
            2 | 3 => {
                let (one, other) = (self.any_port(), self.any_port());
                let is_free = |port| self.subnet.port(port).unwrap().peer().is_none();
                if one != other && is_free(one) && is_free(other) {
                    assert!(self.subnet.link(one, other));
                }
            }
            // A cable that a later walk finds at another port.
            4 => {
                let (one, other) = (self.any_port(), self.any_port());
                self.subnet.begin_walk(false);
                if one != other {
                    self.subnet.link(one, other);
                }
            }
            5 | 6 => {
                let port = self.any_port();
                self.subnet.unlink(port);
            }
            _ => {
                let at = self.random.below(self.nodes.len());
                if at > 0 && self.random.below(4) == 0 {
                    let id = self.nodes.swap_remove(at);
                    self.subnet.remove(id);
                }
            }
        }
    }

    /// Refreshes the routes, and those of a copy by a search. All routes must be the same then.
    fn refresh(&mut self) -> PathChanges {
        let mut searched = self.subnet.clone();
        searched.paths.lose_track();
        let changes = self.subnet.refresh_paths();
        assert_eq!(changes, searched.refresh_paths());
        assert_eq!(self.subnet.version(), searched.version());
        for (id, node) in self.subnet.nodes() {
            let other = searched.node(id).unwrap();
            assert_eq!(node.reach(), other.reach(), "{id:?}");
            assert_eq!(self.subnet.is_cut_off(id), searched.is_cut_off(id));
            if !self.subnet.is_cut_off(id) {
                assert_eq!(node.found_via(), other.found_via(), "{id:?}");
            }
            for ((port, record), (_, other)) in node.ports().zip(other.ports()) {
                assert_eq!(record.reach(), other.reach(), "{id:?} {port}");
            }
        }
        changes
    }
}

#[test]
fn repaired_routes_are_those_of_a_search() {
    let (mut repairs, mut moves) = (0, 0);
    for seed in 0..40 {
        let mut random = Random::new(seed);
        for _ in 0..80 {
            random.add_node();
        }
        for _ in 0..100 {
            for _ in 0..=random.random.below(4) {
                random.step();
            }
            let is_repaired = random.subnet.paths.stale
                && !random.subnet.paths.unknown
                && random.subnet.nodes_without_route().is_some();
            let changes = random.refresh();
            repairs += usize::from(is_repaired);
            moves += usize::from(is_repaired) * changes.moved.len();
        }
    }
    // Enough refreshes are repairs, so that the property is not one of searches alone.
    assert!(repairs > 500, "{repairs}");
    assert!(moves > repairs, "{moves}");
}
