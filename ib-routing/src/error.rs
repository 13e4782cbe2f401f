//! Errors of a topology, and the reasons for which an engine finds no routes.

use alloc::{boxed::Box, string::String, vec::Vec};

use ib_wire::{Guid, Lid, Lmc, PortNum};
use thiserror::Error;

/// A topology (file, generator, discovery) that is no fabric: what is wrong, and in which line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}{kind}", LinePrefix(*line))]
pub struct TopologyError {
    /// Line of the file, from 1; `None` where there is no file or no line to blame.
    pub line: Option<usize>,
    /// The error, with the value that was expected.
    pub kind: TopologyErrorKind,
}

/// Prints `line 7: `, or nothing.
struct LinePrefix(Option<usize>);

impl core::fmt::Display for LinePrefix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, "line {line}: "))
    }
}

/// An error in a topology. `node` is the node's name in the file, as `S-0002c90300a1b2c3`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TopologyErrorKind {
    /// Nothing but blanks and comments.
    #[error("the file is empty, expected nodes as ibnetdiscover prints them")]
    Empty,
    /// Text without a single node.
    #[error("no node found, expected lines like `Switch 24 \"S-0002c90300a1b2c3\"`")]
    NoFabric,
    /// A line inside a node's block that is neither a port nor a comment.
    #[error(
        "unknown line {found:?}, expected `[port] \"node\"[port]` or a blank line after the node"
    )]
    UnknownLine {
        /// The line, shortened.
        found: String,
    },
    /// A block that starts like a node's but names no known kind.
    #[error("unknown kind of node {found:?}, expected Switch, Ca, Hca, Rt or Router")]
    UnknownNodeKind {
        /// The word in the kind's place.
        found: String,
    },
    /// A port's line that belongs to no node.
    #[error(
        "port line without a node, expected a line like `Switch 24 \"S-0002c90300a1b2c3\"` before it"
    )]
    PortWithoutNode,
    /// A field that does not read as what belongs in its place.
    #[error("{field}: found {found:?}, expected {expected}")]
    BadValue {
        /// The field's name.
        field: &'static str,
        /// The text in its place.
        found: String,
        /// Values that are allowed there.
        expected: &'static str,
    },
    /// The same node twice.
    #[error("node {node:?} is listed twice (first in line {first}), expected one block per node")]
    NodeTwice {
        /// The node's name.
        node: String,
        /// Line of the first block; 0 outside files.
        first: usize,
    },
    /// More nodes than a subnet can have.
    #[error("more than {most} nodes, expected at most one for each unicast LID of a subnet")]
    TooManyNodes {
        /// The largest possible number.
        most: u16,
    },
    /// Two nodes with one GUID.
    #[error("GUID {guid} belongs to two nodes, expected one")]
    GuidTwice {
        /// Node GUID that two nodes have.
        guid: Guid,
    },
    /// The same port of a node twice.
    #[error("port {port} of {node:?} is listed twice, expected once")]
    PortTwice {
        /// The node's name.
        node: String,
        /// Port number that is listed twice.
        port: PortNum,
    },
    /// A link to a node that no block describes.
    #[error("{node:?} has no block in the file, expected one for every linked node")]
    MissingNode {
        /// The missing node's name.
        node: String,
    },
    /// A port number above the node's number of ports, or port 0 with a link.
    #[error("port {port} of {node:?}, expected 1..={num_ports}")]
    PortOutOfRange {
        /// The node's name.
        node: String,
        /// The port in the file.
        port: u32,
        /// Number of ports that the node has.
        num_ports: u8,
    },
    /// Both ends name their peers, and not each other.
    #[error(
        "{node:?} port {port} is linked to {peer:?} port {peer_port}, whose own line names {found:?} port {found_port}; expected each other"
    )]
    ContradictoryLink {
        /// The node of this line.
        node: String,
        /// Port at which both cables end.
        port: PortNum,
        /// The peer it names.
        peer: String,
        /// The peer's port.
        peer_port: PortNum,
        /// Whom the peer names instead.
        found: String,
        /// And which port of it.
        found_port: PortNum,
    },
    /// A file that is included and cannot be read.
    #[error("include {file:?}: {what}")]
    Include {
        /// The file's name.
        file: String,
        /// Why it cannot be read.
        what: String,
    },
    /// Something wrong in an included file.
    #[error("{file}:{line}: {error}")]
    Included {
        /// The file's name.
        file: String,
        /// Line of that file, from 1.
        line: usize,
        /// The error there.
        error: Box<Self>,
    },
    /// A link to a port's other name, which no port has.
    #[error("no port has the name {alias:?}, expected a line `@[port] \"name\"` in its module")]
    UnknownAlias {
        /// The name with its module, as `module@name`.
        alias: String,
    },
    /// Two ports with the same other name.
    #[error("the name {alias:?} belongs to two ports, expected one")]
    AliasTwice {
        /// The name with its module, as `module@name`.
        alias: String,
    },
    /// A generator's specification that cannot be built.
    #[error("fabric `{spec}`: {what}")]
    BadSpec {
        /// The specification as given.
        spec: String,
        /// The error, with the value that was expected.
        what: String,
    },
}

impl TopologyErrorKind {
    /// The error in line `line`.
    #[must_use]
    pub const fn at(self, line: usize) -> TopologyError {
        TopologyError {
            line: Some(line),
            kind: self,
        }
    }
}

impl From<TopologyErrorKind> for TopologyError {
    fn from(kind: TopologyErrorKind) -> Self {
        Self { line: None, kind }
    }
}

/// Prints the first few of many.
struct FirstOf<'a>(&'a [Guid]);

impl core::fmt::Display for FirstOf<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        const FEW: usize = 8;
        for (at, guid) in self.0.iter().take(FEW).enumerate() {
            write!(f, "{}{guid}", if at == 0 { "" } else { ", " })?;
        }
        match self.0.len().checked_sub(FEW) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, " and {more} more"),
        }
    }
}

/// Prints which LMC would do.
struct Fitting(Option<Lmc>);

impl core::fmt::Display for Fitting {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0
            .map_or(Ok(()), |lmc| write!(f, " (LMC {} fits)", lmc.bits()))
    }
}

/// Why there are no LIDs or no routes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RouteError {
    /// More ports than unicast LIDs.
    #[error(
        "unicast LIDs are exhausted: {ports} ports need {needed}, there are {available}{}: {} got none: {}",
        Fitting(*fitting),
        without.len(),
        FirstOf(without)
    )]
    LidsExhausted {
        /// Port GUIDs of those without a LID, the lowest first.
        without: Vec<Guid>,
        /// Ports that need LIDs.
        ports: usize,
        /// LIDs that they need together.
        needed: usize,
        /// LIDs in the range that may be assigned.
        available: usize,
        /// The highest LMC below the one asked for with which all ports get theirs, if there is one.
        fitting: Option<Lmc>,
    },
    /// A LID that a policy gave and no port can have.
    #[error("LID {lid} of port {port}: {what}")]
    BadLid {
        /// Port GUID; zero where there is no such port.
        port: Guid,
        /// The first of its LIDs.
        lid: Lid,
        /// The defect, with the property that was expected.
        what: &'static str,
    },
    /// `options.roots` names no switch of the fabric, and none could be found.
    #[error("{engine}: no root switch: {what}")]
    NoRoot {
        /// The engine's name.
        engine: &'static str,
        /// Kind of item that was looked for.
        what: &'static str,
    },
    /// The fabric breaks the rule of the engine's topology.
    #[error("{engine}: switch {switch}: {what}")]
    Topology {
        /// The engine's name.
        engine: &'static str,
        /// The switch that breaks the rule.
        switch: Guid,
        /// The rule, and the way in which it is broken.
        what: String,
    },
    /// More virtual lanes are needed than there are.
    #[error("{engine}: {available} virtual lanes do not suffice, {needed} are needed")]
    TooFewVls {
        /// The engine's name.
        engine: &'static str,
        /// Lanes it was given.
        available: u8,
        /// Lanes it would need (at least).
        needed: u16,
    },
    /// An option that contradicts the fabric or itself.
    #[error("{engine}: {what}")]
    BadOption {
        /// The engine's name.
        engine: &'static str,
        /// The option, and why its value is refused.
        what: String,
    },
    /// No path obeys the engine's rule between two switches that are connected.
    #[error("{engine}: no path from switch {from} to LID {to}")]
    NoPath {
        /// The engine's name.
        engine: &'static str,
        /// The switch at the start.
        from: Guid,
        /// LID that is not reached.
        to: Lid,
    },
}
