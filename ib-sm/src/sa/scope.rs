//! The nodes that a query can concern: if it has a LID or a GUID, only the node with this LID or GUID is
//! examined.
//!
//! A large subnet has tens of thousands of records of each kind, and nearly every query names the one that it
//! wants. Components without a lookup here are compared record by record.

use ib_sa::{ComponentMask, NodeComponents, NodeRecord};
use ib_wire::{Guid, Lid};

use super::View;
use ib_subnet::{NodeId, SubnetNode};

/// The nodes that a query can concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryScope<'a> {
    /// All nodes: the query names none.
    All,
    /// Exactly this node.
    One(NodeId),
    /// The nodes of this list that exist: a part of all.
    Listed(&'a [Guid]),
    /// No node: the port that the query names does not exist.
    Nobody,
}

impl<'a> QueryScope<'a> {
    /// The scope by the LID that a record begins with: component 0 of every record about a port.
    pub(super) fn of(view: View<'_>, lid: Lid, mask: ComponentMask) -> Self {
        match mask.has(0) {
            true => Self::of_lid(view, lid),
            false => Self::All,
        }
    }

    /// The scope by LID, otherwise by GUID, of the node or of the port.
    pub(super) fn of_node(view: View<'_>, template: &NodeRecord, mask: ComponentMask) -> Self {
        let given = NodeComponents::from_bits_retain(mask.0);
        let info = template.node_info();
        let one = |found: Option<NodeId>| found.map_or(Self::Nobody, Self::One);
        if given.contains(NodeComponents::LID) {
            Self::of_lid(view, template.lid())
        } else if given.contains(NodeComponents::NODE_GUID) {
            one(view.subnet.find(info.node_guid()))
        } else if given.contains(NodeComponents::PORT_GUID) {
            let port = view.subnet.find_port(info.port_guid());
            one(port.map(|port| port.node))
        } else {
            Self::All
        }
    }

    fn of_lid(view: View<'_>, lid: Lid) -> Self {
        let owner = view.port_with(lid);
        owner.map_or(Self::Nobody, |port| Self::One(port.node))
    }

    /// The nodes of the scope, in their order.
    pub(super) fn nodes(self, view: View<'a>) -> impl Iterator<Item = (NodeId, &'a SubnetNode)> {
        let one = match self {
            Self::One(index) => Some(index),
            _ => None,
        };
        let listed = match self {
            Self::Listed(guids) => guids,
            _ => &[],
        };
        let listed = listed
            .iter()
            .filter_map(move |&guid| view.subnet.find(guid));
        let named = listed.chain(one);
        let all = (self == Self::All).then(|| view.subnet.nodes());
        all.into_iter()
            .flatten()
            .chain(named.filter_map(move |index| Some((index, view.subnet.node(index)?))))
    }
}
