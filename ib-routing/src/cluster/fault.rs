//! What is wrong with the configurations of logical clusters, each with the line to blame.

use alloc::{string::String, vec::Vec};

use ib_wire::{Guid, Lid, PortNum};
use thiserror::Error;

/// Something wrong with one cluster's configuration, by itself or beside the others.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cluster {cluster}: {kind}")]
pub struct ClusterFault {
    /// Name of the cluster.
    pub cluster: String,
    /// Its place in the list of configurations.
    pub index: usize,
    /// The line to blame; 0 outside files.
    pub line: usize,
    /// What is wrong.
    pub kind: ClusterFaultKind,
}

/// What is wrong, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClusterFaultKind {
    /// Another cluster has the name.
    #[error("its name is taken, expected another for each cluster")]
    NameTwice,
    /// Two clusters would hand out the same LIDs.
    #[error("LIDs {first} to {last} belong to cluster {other} too, expected ranges of their own")]
    RangesOverlap {
        /// The other cluster.
        other: String,
        /// The lowest LID of both.
        first: Lid,
        /// The highest LID of both.
        last: Lid,
    },
    /// A declaration that is not what the cluster's own configuration says.
    #[error("declared with other LIDs than its own configuration has, expected {first} to {last}")]
    DeclaredOtherwise {
        /// Its lowest LID.
        first: Lid,
        /// Its highest LID.
        last: Lid,
    },
    /// Nothing says where the cluster is.
    #[error("no switch, expected a line `switch` or `boundary`")]
    NoSwitch,
    /// A GUID that no switch of the fabric has.
    #[error("{guid} is no switch of the fabric, expected the node GUID of one")]
    UnknownSwitch {
        /// The GUID.
        guid: Guid,
    },
    /// A port that the switch lacks.
    #[error("switch {switch} has no port {port}, expected 1..={num_ports}")]
    NoSuchPort {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
        /// Number of ports that it has.
        num_ports: u8,
    },
    /// A boundary that ends at a CA.
    #[error(
        "port {port} of switch {switch} leads to no switch, expected a cable to another cluster"
    )]
    BoundaryToHost {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
    },
    /// A boundary cable with both ends in the cluster.
    #[error("both ends of the cable at port {port} of switch {switch} are in it, expected one")]
    BoundaryInside {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
    },
    /// A boundary that the cluster behind it does not know of.
    #[error(
        "the cable at port {port} of switch {switch} ends at port {peer_port} of switch {peer}, which is no boundary of cluster {other}; expected one there too"
    )]
    OneSided {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
        /// The switch at the other end.
        peer: Guid,
        /// Its port.
        peer_port: PortNum,
        /// The cluster there.
        other: String,
    },
    /// A transit port that is no boundary.
    #[error(
        "transit by port {port} of switch {switch}, which is no boundary, expected one of its boundary ports"
    )]
    TransitNotBoundary {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
    },
    /// A port that joins multicast trees and is no boundary.
    #[error(
        "multicast by port {port} of switch {switch}, which is no boundary, expected one of its boundary ports"
    )]
    MulticastNotBoundary {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
    },
    /// Transit to a cluster that there is not, or to itself.
    #[error("transit to {name:?}, expected the names of other clusters")]
    UnknownCluster {
        /// The name.
        name: String,
    },
    /// A switch that another cluster reaches too.
    #[error("switch {switch} is in cluster {other} too, expected a boundary between them")]
    SharedSwitch {
        /// The switch.
        switch: Guid,
        /// The other cluster.
        other: String,
    },
    /// A switch behind the boundary that no cluster reaches.
    #[error("switch {switch} behind it is in no cluster, expected all switches in one")]
    Unclaimed {
        /// The switch.
        switch: Guid,
    },
    /// No cable leads on to another cluster.
    #[error("no transit port with a cable leads to cluster {to}, expected at least one")]
    NoTransit {
        /// The other cluster.
        to: String,
    },
    /// Packets to a cluster may come back.
    #[error("packets to cluster {to} may go round in a circle: {}; expected transit that only gets nearer", Path(.through))]
    TransitCycle {
        /// Where the packets should go.
        to: String,
        /// The clusters of the circle.
        through: Vec<String>,
    },
    /// A joint of multicast trees that only one side names.
    #[error(
        "multicast by port {port} of switch {switch}, but not at the other end, expected both or none"
    )]
    MulticastOneSided {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
    },
    /// Joints of multicast trees that make a circle.
    #[error(
        "multicast by port {port} of switch {switch} closes a circle of clusters, expected a tree"
    )]
    MulticastCycle {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
    },
}

/// Prints names with arrows between.
struct Path<'a>(&'a [String]);

impl core::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            write!(f, "{}{name}", if at == 0 { "" } else { " -> " })?;
        }
        Ok(())
    }
}
