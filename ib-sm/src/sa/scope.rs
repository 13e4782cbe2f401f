//! Which nodes a query can concern: a LID or a GUID in it names one, and then no other has to be looked at.
//!
//! A large subnet has tens of thousands of records of each kind, and nearly every query names the one that it
//! wants. What is not named here is left to the comparison of the records.

use ib_mad::MadStatus;
use ib_sa::{NodeComponents, NodeRecord, Record, SaMad};
use ib_wire::Lid;

use super::{View, unreadable};
use crate::subnet::{Node, NodeIdx};

/// The nodes that a query can concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Any: it names none.
    All,
    /// This one.
    One(NodeIdx),
    /// What it names is not there.
    Nobody,
}

impl Scope {
    /// By the LID that a record begins with: component 0 of every record about a port.
    pub(super) fn of<R: Record>(
        view: View<'_>,
        request: &SaMad,
        lid: impl Fn(&R) -> Lid,
    ) -> Result<Self, MadStatus> {
        let template = request.template::<R>().map_err(unreadable)?;
        Ok(match request.component_mask().has(0) {
            true => Self::of_lid(view, lid(template)),
            false => Self::All,
        })
    }

    /// By LID, else by GUID: of the node or of the port.
    pub(super) fn of_node(view: View<'_>, request: &SaMad) -> Result<Self, MadStatus> {
        let template = request.template::<NodeRecord>().map_err(unreadable)?;
        let given = NodeComponents::from_bits_retain(request.component_mask().0);
        let info = template.node_info();
        let one = |found: Option<NodeIdx>| found.map_or(Self::Nobody, Self::One);
        Ok(if given.contains(NodeComponents::LID) {
            Self::of_lid(view, template.lid())
        } else if given.contains(NodeComponents::NODE_GUID) {
            one(view.subnet.find(info.node_guid()))
        } else if given.contains(NodeComponents::PORT_GUID) {
            let port = view.subnet.find_port(info.port_guid());
            one(port.map(|port| port.node))
        } else {
            Self::All
        })
    }

    fn of_lid(view: View<'_>, lid: Lid) -> Self {
        let owner = view.port_with(lid);
        owner.map_or(Self::Nobody, |port| Self::One(port.node))
    }

    /// The nodes, in their order.
    pub(super) fn nodes(self, view: View<'_>) -> impl Iterator<Item = (NodeIdx, &Node)> {
        let one = match self {
            Self::One(index) => view.subnet.node(index).map(|node| (index, node)),
            Self::All | Self::Nobody => None,
        };
        let all = (self == Self::All).then(|| view.subnet.nodes());
        all.into_iter().flatten().chain(one)
    }
}
