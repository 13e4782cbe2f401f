//! Faults in the configurations of logical clusters, each with the line that causes it.

use alloc::{string::String, vec::Vec};

use ib_wire::{Guid, Lid, PortNum};
use thiserror::Error;

/// A fault in one cluster's configuration, by itself or together with the others.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cluster {cluster}: {kind}")]
pub struct ClusterFault {
    /// Name of the cluster.
    pub cluster: String,
    /// Place of the cluster in the list of configurations, from 0.
    pub index: usize,
    /// Line that causes the fault; 0 if the configuration is not from a file.
    pub line: usize,
    /// The kind of fault.
    pub kind: ClusterFaultKind,
}

/// The kind of fault, and the expected configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClusterFaultKind {
    /// Another cluster has the name.
    #[error("another cluster has the same name, expected different names")]
    NameTwice,
    /// Two clusters would hand out the same LIDs.
    #[error("LIDs {first} to {last} belong to cluster {other} too, expected ranges of their own")]
    RangesOverlap {
        /// The other cluster.
        other: String,
        /// The lowest LID that belongs to both clusters.
        first: Lid,
        /// The highest LID that belongs to both clusters.
        last: Lid,
    },
    /// A declaration differs from the cluster's own configuration.
    #[error("declared with other LIDs than its own configuration has, expected {first} to {last}")]
    DeclaredOtherwise {
        /// Lowest LID in the cluster's own configuration.
        first: Lid,
        /// Highest LID in the cluster's own configuration.
        last: Lid,
    },
    /// The configuration names neither a switch nor a boundary, so the cluster's place in the fabric is unknown.
    #[error("no switch, expected a line `switch` or `boundary`")]
    NoSwitch,
    /// No switch of the fabric has the GUID.
    #[error("{guid} is no switch of the fabric, expected the node GUID of one")]
    UnknownSwitch {
        /// The GUID in the configuration.
        guid: Guid,
    },
    /// The switch does not have the port.
    #[error("switch {switch} has no port {port}, expected 1..={num_ports}")]
    NoSuchPort {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
        /// Number of ports of the switch.
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
    #[error(
        "both ends of the cable at port {port} of switch {switch} are in the cluster, expected one"
    )]
    BoundaryInside {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
    },
    /// A boundary that the configuration of the cluster beyond it does not have.
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
        /// The port at the other end.
        peer_port: PortNum,
        /// The cluster at the other end.
        other: String,
    },
    /// A transit port that is no boundary.
    #[error(
        "transit is configured at port {port} of switch {switch}, which is no boundary; expected one of its boundary ports"
    )]
    TransitNotBoundary {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
    },
    /// A port that joins multicast trees and is no boundary.
    #[error(
        "multicast is configured at port {port} of switch {switch}, which is no boundary; expected one of its boundary ports"
    )]
    MulticastNotBoundary {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
    },
    /// Transit to a cluster that does not exist, or to the cluster itself.
    #[error("transit is configured to {name:?}, expected the names of other clusters")]
    UnknownCluster {
        /// The name in the configuration.
        name: String,
    },
    /// Another cluster reaches the switch too.
    #[error("switch {switch} is in cluster {other} too, expected a boundary between them")]
    SharedSwitch {
        /// The switch.
        switch: Guid,
        /// The other cluster.
        other: String,
    },
    /// No cluster reaches the switch beyond the boundary.
    #[error("switch {switch} beyond its boundary is in no cluster, expected each switch in one")]
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
    /// Packets to a cluster may circulate between clusters.
    #[error("packets to cluster {to} may loop: {}; expected transit ports that lead nearer", Path(.through))]
    TransitCycle {
        /// The destination cluster of the packets.
        to: String,
        /// The clusters of the loop.
        through: Vec<String>,
    },
    /// A joint of multicast trees that only one side names.
    #[error(
        "multicast is configured at port {port} of switch {switch} and not at the other end, expected both or none"
    )]
    MulticastOneSided {
        /// The switch.
        switch: Guid,
        /// The port.
        port: PortNum,
    },
    /// The joints of multicast trees form a loop.
    #[error(
        "multicast at port {port} of switch {switch} closes a loop of clusters, expected a tree"
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
