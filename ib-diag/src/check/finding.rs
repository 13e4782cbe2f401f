//! A finding: the check, the severity, the place, the value and the remedy.

use alloc::{
    format,
    string::{String, ToString as _},
};
use core::fmt;

use ib_routing::{NodeIdx, PortRef};
use ib_wire::{Guid, PortNum};

use crate::snapshot::Snapshot;

macro_rules! checks {
    ($($(#[$meta:meta])* $variant:ident = $name:literal;)*) => {
        /// A check, named after the defect that it finds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Check {
            $($(#[$meta])* $variant,)*
        }

        impl Check {
            /// All checks in the order of a report.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name of the check in JSON documents.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

checks! {
    /// Two devices or ports claim one GUID.
    DuplicateGuid = "duplicate_guid";
    /// A node or an end port has no GUID.
    NoGuid = "no_guid";
    /// Two end ports have the same LID.
    DuplicateLid = "duplicate_lid";
    /// An end port is Active and has no LID.
    NoLid = "no_lid";
    /// A link runs narrower than both ends support.
    LinkWidth = "link_width";
    /// A link runs slower than both ends support.
    LinkSpeed = "link_speed";
    /// The physical link is up, but the port is not Active.
    PortInactive = "port_inactive";
    /// An error counter is above its threshold.
    Counter = "counter";
    /// A counter is at all ones, so it no longer counts.
    CounterSaturated = "counter_saturated";
    /// A port enforces partitions that the other end of its link is not a member of.
    PKeyMismatch = "pkey_mismatch";
    /// The two ends of a link use different MTUs, or one that an end does not support.
    MtuMismatch = "mtu_mismatch";
    /// There is no master subnet manager, or more than one.
    SmCount = "sm_count";
    /// A standby manager ranks above the master, or two managers have the same rank.
    SmPriority = "sm_priority";
    /// At least one switch has no route to a LID.
    LidUnroutable = "lid_unroutable";
    /// Packets to a LID circulate.
    RouteLoop = "route_loop";
    /// Packets can wait for each other in a cycle.
    Deadlock = "deadlock";
    /// A service level is mapped to a lane that drops its packets.
    Sl2VlHole = "sl2vl_hole";
    /// A multicast group has no members, or its members cannot reach each other.
    Multicast = "multicast";
    /// Identical devices have different revisions.
    Firmware = "firmware";
    /// A device does not respond.
    Silent = "silent";
    /// The subnet differs from the expected topology.
    Expected = "expected";
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// An observation that is worth knowing.
    Info,
    /// The subnet works, but not as it should.
    Warning,
    /// Traffic is lost now or will be lost.
    Error,
}

impl Severity {
    /// The name of the severity in JSON documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The place of a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// Node GUID; `None` for a device that never responded.
    pub node_guid: Option<Guid>,
    /// Port number; `None` if the finding concerns the whole node.
    pub port: Option<PortNum>,
    /// Name of the node.
    pub name: String,
    /// The other end of the port's cable, as name, GUID and port; `None` if it is unknown.
    pub peer: Option<String>,
}

impl Location {
    /// The place of a port, with the other end of its cable.
    #[must_use]
    pub fn of(snapshot: &Snapshot, at: PortRef) -> Self {
        let peer = snapshot.port(at).and_then(|port| port.peer);
        Self {
            port: Some(at.port),
            peer: peer.map(|peer| Self::of_node(snapshot, peer.node).at_port(peer.port)),
            ..Self::of_node(snapshot, at.node)
        }
    }

    /// The place of a whole node.
    #[must_use]
    pub fn of_node(snapshot: &Snapshot, node: NodeIdx) -> Self {
        Self {
            node_guid: snapshot.node(node).map(|node| node.guid()),
            port: None,
            name: snapshot.name(node),
            peer: None,
        }
    }

    fn at_port(&self, port: PortNum) -> String {
        format!("{self} port {port}")
    }
}

impl fmt::Display for Location {
    /// Prints `NAME (GUID) port N`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(guid) = self.node_guid.filter(|guid| guid.to_string() != self.name) {
            write!(f, " ({guid})")?;
        }
        match self.port {
            Some(port) => write!(f, " port {port}"),
            None => Ok(()),
        }
    }
}

/// The value of a finding: a number or a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u64),
    /// Anything else.
    Text(String),
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(u64::try_from(number).unwrap_or(u64::MAX))
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// A defect, or an observation about a subnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The check that reports the finding.
    pub check: Check,
    /// The severity of the finding.
    pub severity: Severity,
    /// The place of the finding.
    pub place: Location,
    /// The value found at the place; `None` if the check has no value.
    pub value: Option<Value>,
    /// The expected value, or the largest value allowed; `None` if there is no such value.
    pub limit: Option<Value>,
    /// A sentence that describes the defect.
    pub message: String,
    /// A sentence that describes the remedy.
    pub action: &'static str,
}

impl Finding {
    /// A finding without a value and a limit.
    pub(super) fn new(
        check: Check,
        severity: Severity,
        place: Location,
        message: String,
        action: &'static str,
    ) -> Self {
        Self {
            check,
            severity,
            place,
            value: None,
            limit: None,
            message,
            action,
        }
    }

    pub(super) fn value(mut self, value: impl Into<Value>) -> Self {
        self.value = Some(value.into());
        self
    }

    pub(super) fn limit(mut self, limit: impl Into<Value>) -> Self {
        self.limit = Some(limit.into());
        self
    }
}
