//! Differences between two fabrics: nodes, links and attributes.

mod tables;

use alloc::{
    collections::BTreeMap,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

use ib_routing::{Fabric, PortRef};
use ib_wire::{Guid, PortNum};

pub use self::tables::{TableChange, table_changes};

/// A node, by its GUID and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeName {
    /// Node GUID.
    pub guid: Guid,
    /// The description of the node; its GUID if it has no description.
    pub name: String,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndName {
    /// The node at this end.
    pub node: NodeName,
    /// The port at this end.
    pub port: PortNum,
}

impl fmt::Display for EndName {
    /// Prints `NAME (GUID) port N`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}) port {}",
            self.node.name, self.node.guid, self.port
        )
    }
}

/// A link, identified by its ends; the end with the lower GUID is first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkName {
    /// The end with the lower GUID.
    pub a: EndName,
    /// The other end.
    pub b: EndName,
}

/// An attribute of a node that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChange {
    /// The node that differs.
    pub node: NodeName,
    /// Name of the attribute.
    pub what: &'static str,
    /// Value of the attribute in the first fabric.
    pub before: String,
    /// Value of the attribute in the second fabric.
    pub after: String,
}

/// An attribute of a link that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkChange {
    /// The link that differs.
    pub link: LinkName,
    /// Name of the attribute.
    pub what: &'static str,
    /// Value of the attribute in the first fabric.
    pub before: String,
    /// Value of the attribute in the second fabric.
    pub after: String,
}

/// Differences between two fabrics, each list in the order of GUIDs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FabricDifference {
    /// Nodes that only the second fabric has.
    pub nodes_added: Vec<NodeName>,
    /// Nodes that only the first fabric has.
    pub nodes_removed: Vec<NodeName>,
    /// Nodes whose attributes differ.
    pub nodes_changed: Vec<NodeChange>,
    /// Links that only the second fabric has.
    pub links_added: Vec<LinkName>,
    /// Links that only the first fabric has.
    pub links_removed: Vec<LinkName>,
    /// Links whose width or speed differ.
    pub links_changed: Vec<LinkChange>,
}

impl FabricDifference {
    /// Returns true if there are no differences.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The changes from one fabric to another. A value that is unknown in either fabric does not count as a difference.
#[must_use]
pub fn difference(before: &Fabric, after: &Fabric) -> FabricDifference {
    let mut changes = FabricDifference::default();
    let (old, new) = (nodes(before), nodes(after));
    for (guid, name) in &old {
        match new.get(guid) {
            None => changes.nodes_removed.push(name.clone()),
            Some(_) => node_changes(before, after, name, &mut changes.nodes_changed),
        }
    }
    let added = new.iter().filter(|(guid, _)| !old.contains_key(guid));
    changes.nodes_added = added.map(|(_, name)| name.clone()).collect();
    let (old, new) = (links(before), links(after));
    for (key, (link, at)) in &old {
        match new.get(key) {
            None => changes.links_removed.push(link.clone()),
            Some((_, now)) => link_changes(
                (before, *at),
                (after, *now),
                link,
                &mut changes.links_changed,
            ),
        }
    }
    let added = new.iter().filter(|(key, _)| !old.contains_key(key));
    changes.links_added = added.map(|(_, (link, _))| link.clone()).collect();
    changes
}

fn nodes(fabric: &Fabric) -> BTreeMap<Guid, NodeName> {
    let nodes = fabric.nodes_by_guid().map(|index| {
        let guid = fabric.node(index).guid;
        (guid, node_name(fabric, index))
    });
    nodes.collect()
}

/// A node, identified by GUID and description.
#[must_use]
pub(crate) fn node_name(fabric: &Fabric, index: ib_routing::NodeIdx) -> NodeName {
    let node = fabric.node(index);
    let name = match node.description.trim() {
        "" => node.guid.to_string(),
        name => name.to_string(),
    };
    NodeName {
        guid: node.guid,
        name,
    }
}

type LinkKey = (Guid, PortNum, Guid, PortNum);

fn links(fabric: &Fabric) -> BTreeMap<LinkKey, (LinkName, PortRef)> {
    let links = fabric.links().map(|(a, b)| {
        let (guid_a, guid_b) = (fabric.node(a.node).guid, fabric.node(b.node).guid);
        let (a, b) = match (guid_a, a.port) <= (guid_b, b.port) {
            true => (a, b),
            false => (b, a),
        };
        let end = |at: PortRef| EndName {
            node: node_name(fabric, at.node),
            port: at.port,
        };
        let link = LinkName {
            a: end(a),
            b: end(b),
        };
        let key = (link.a.node.guid, a.port, link.b.node.guid, b.port);
        (key, (link, a))
    });
    links.collect()
}

fn node_changes(before: &Fabric, after: &Fabric, name: &NodeName, changes: &mut Vec<NodeChange>) {
    let find = |fabric: &Fabric| {
        let index = fabric.node_by_guid(name.guid)?;
        Some(fabric.node(index).clone())
    };
    let Some((old, new)) = find(before).zip(find(after)) else {
        return;
    };
    let type_ = |node: &ib_routing::Node| alloc::format!("{:?}", node.type_);
    let number = |value: u32| match value {
        0 => String::new(),
        value => alloc::format!("{value:#x}"),
    };
    let guid = |value: Guid| match value {
        Guid::NONE => String::new(),
        value => value.to_string(),
    };
    let mut attributes = Vec::from([
        ("type", type_(&old), type_(&new)),
        (
            "description",
            old.description.clone(),
            new.description.clone(),
        ),
        (
            "num_ports",
            old.num_ports().to_string(),
            new.num_ports().to_string(),
        ),
        (
            "system_image_guid",
            guid(old.system_image_guid),
            guid(new.system_image_guid),
        ),
        ("vendor_id", number(old.vendor_id), number(new.vendor_id)),
        (
            "device_id",
            number(old.device_id.into()),
            number(new.device_id.into()),
        ),
    ]);
    for ((_, old), (_, new)) in old.end_ports().zip(new.end_ports()) {
        let lid = |lid: ib_wire::Lid| match lid {
            ib_wire::Lid::NONE => String::new(),
            lid => lid.to_string(),
        };
        attributes.push(("port_guid", guid(old.guid), guid(new.guid)));
        attributes.push(("lid", lid(old.lid), lid(new.lid)));
    }
    for (what, before, after) in attributes {
        if before != after && !before.is_empty() && !after.is_empty() {
            changes.push(NodeChange {
                node: name.clone(),
                what,
                before,
                after,
            });
        }
    }
}

fn link_changes(
    (before, old): (&Fabric, PortRef),
    (after, new): (&Fabric, PortRef),
    link: &LinkName,
    changes: &mut Vec<LinkChange>,
) {
    let Some((old, new)) = before.port(old).zip(after.port(new)) else {
        return;
    };
    let widths = old
        .width
        .zip(new.width)
        .map(|(old, new)| ("width", old.to_string(), new.to_string()));
    let speeds = old
        .speed
        .zip(new.speed)
        .map(|(old, new)| ("speed", old.to_string(), new.to_string()));
    for (what, before, after) in [widths, speeds].into_iter().flatten() {
        if before != after {
            changes.push(LinkChange {
                link: link.clone(),
                what,
                before,
                after,
            });
        }
    }
}
