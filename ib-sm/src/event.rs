//! Events that a subnet manager reports to its host.
//!
//! The engine logs nothing: every decision that a person may ask about is an [`Event`], in the order
//! in which it was taken. Each has a [`Display`](fmt::Display), one line of English, and a
//! [`Severity`], so that a host does not have to spell it. [`Event::SubnetUp`] ends a sweep after which
//! every port that answers is configured; it carries a [`Summary`].

mod text;

use alloc::{boxed::Box, vec::Vec};
use core::{fmt, time::Duration};

use ib_mad::{AttributeId, Instant, MadStatus, NoticeSm};
use ib_routing::verify::Defect;
use ib_smp::SmState;
use ib_subnet::PortAt;
use ib_wire::{Gid, Guid, Lid};

pub use self::text::Severity;
use crate::reconcile::Change;

/// Something that happened in the manager.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A sweep began.
    SweepStarted {
        /// The part of the subnet that it reads.
        kind: SweepKind,
        /// Reason for the sweep.
        cause: SweepCause,
    },
    /// A phase of a heavy sweep began.
    PhaseStarted(Phase),
    /// A node was found that the sweep before did not know.
    NodeAppeared {
        /// Node GUID of the new node.
        node_guid: Guid,
    },
    /// A node that the sweep before knew is not reached any more.
    NodeVanished {
        /// Node GUID of the node that is gone.
        node_guid: Guid,
    },
    /// A request was not answered, retries included.
    Unresponsive(Unresponsive),
    /// Two nodes answer with one GUID, or a cable was moved while it was looked at.
    DuplicateGuid {
        /// The GUID that is claimed twice.
        node_guid: Guid,
        /// The port through which the second claim came; `None`: the manager's own node.
        found_via: Option<PortAt>,
    },
    /// A node's NodeInfo holds an impossible value: the node is excluded from the subnet.
    InvalidNodeInfo {
        /// The port through which it was found; `None`: the manager's own node.
        found_via: Option<PortAt>,
        /// The GUID that it claims.
        node_guid: Guid,
        /// The field with the impossible value, by its name in the specification's tables.
        field: &'static str,
    },
    /// A node gave another GUID when it was asked again: it is excluded, and nodes that are reached through it only
    /// are not discovered.
    GuidChanged {
        /// The port through which it was found; `None`: the manager's own node.
        found_via: Option<PortAt>,
        /// The GUID in its first answer.
        before: Guid,
        /// The GUID in its last answer.
        now: Guid,
    },
    /// A port was given a LID that it did not have.
    LidAssigned {
        /// Port GUID of the port with the LID.
        port_guid: Guid,
        /// Its base LID.
        lid: Lid,
    },
    /// A port of a logical cluster has no predefined LID, though others have: it was given one of the cluster's
    /// range. Reported when the port gets its first LID from this manager.
    NoPredefinedLid {
        /// The port.
        port_guid: Guid,
        /// Its base LID.
        lid: Lid,
    },
    /// No path through switches that forward multicast leads to a member of a multicast group.
    MulticastCutOff {
        /// GID of the multicast group.
        mgid: Gid,
        /// Port GUID of the member.
        port_guid: Guid,
    },
    /// A port's P_Key table has less room than it has partitions; it keeps what it holds.
    PKeyTableFull {
        /// Port whose table is full.
        at: PortAt,
    },
    /// A switch's forwarding table is too small for the LIDs in use: it forwards nothing to those beyond.
    TableTooSmall {
        /// Node GUID of the switch.
        node_guid: Guid,
        /// Which table: `LinearForwardingTable` or `MulticastForwardingTable`.
        table: AttributeId,
        /// Entries that it has.
        entries: u16,
        /// Entries that the LIDs in use take.
        needed: u16,
    },
    /// There are more ports than LIDs.
    LidsExhausted(ib_routing::RouteError),
    /// A node is excluded from the subnet: a switch without a linear forwarding table, or one that
    /// did not answer for its SwitchInfo.
    Excluded {
        /// Node GUID of the excluded node.
        node_guid: Guid,
    },
    /// A routing engine cannot route this fabric.
    RoutingFallback {
        /// Name of the engine.
        engine: &'static str,
        /// Error of the engine.
        reason: ib_routing::RouteError,
        /// Whether no further engine is left to try, so that the tables of the switches stay as they are.
        is_last: bool,
    },
    /// The routes in place hold but for those that a change broke: these were aimed anew.
    RoutesRepaired {
        /// Entries of forwarding tables that led nowhere.
        broken: u64,
        /// Entries that change.
        moved: u64,
    },
    /// The routes that a manager before this one left hold, and stay.
    RoutesKept {
        /// Entries that differ from what the engine would have.
        entries: u64,
    },
    /// A subnet that a manager before this one configured is taken over: so many blocks of an attribute are about to
    /// be set.
    TakeOver {
        /// The attribute.
        attribute_id: AttributeId,
        /// Sets that follow; blocks that are read first and differ come on top.
        sets: usize,
    },
    /// The routes in place cannot be repaired: all are computed anew.
    RepairFailed(ib_routing::repair::RepairError),
    /// The routes were verified; they are installed only if they hold.
    RoutesVerified {
        /// The engine that made them.
        engine: &'static str,
        /// Whether they are installed.
        installed: bool,
        /// The defect of the routes, if there is one: routes with a defect are installed only with
        /// permission.
        defect: Option<Defect>,
    },
    /// Forwarding tables that are in use change: the blocks are written in an order in which no packet
    /// loops.
    TablesChange {
        /// Entries that change.
        entries: u64,
        /// Stages in which they are written; between two the manager waits until packets are gone.
        stages: usize,
        /// LIDs that no stage can move with the others: their entries are written one by one at the end.
        held_back: usize,
        /// Whether it is proven that packets cannot wait for each other in a cycle while tables are
        /// written.
        deadlock_free: bool,
    },
    /// Forwarding entries that a failure broke lead to their destinations again, nearest ones first.
    TablesHealed {
        /// Entries that were broken.
        entries: usize,
    },
    /// A change that a manager in observe mode would make.
    ChangePlanned(Box<Change>),
    /// Cables are gone, and with them the nodes that only they connected.
    NodesUnreachable {
        /// Nodes that no cable joined to the manager for a moment or for good.
        unreachable: Vec<Guid>,
        /// Those among them that are not there any more.
        missing: Vec<Guid>,
    },
    /// The link of the manager's own port is down.
    OwnPortDown,
    /// A higher manager refused to take the subnet over, so this one keeps it.
    HandoverRefused {
        /// The status of its answer.
        status: MadStatus,
    },
    /// A node refused a Set, or its answer shows other values than were set.
    Refused {
        /// Port of the node; `None` for the own node, if it is not known yet.
        at: Option<PortAt>,
        /// Attribute of the Set.
        attribute_id: AttributeId,
        /// The status of the response.
        status: MadStatus,
    },
    /// A trap came, and was repressed.
    Trap {
        /// The LID that it came from; 0 is the own port.
        from: Lid,
        /// The notice in it.
        notice: NoticeSm,
    },
    /// A port is disabled, as it reports the same errors over and over.
    PortShutOff {
        /// Port that the manager disabled.
        at: PortAt,
    },
    /// A light sweep ended; a heavy one follows if anything changed.
    LightSweepDone {
        /// Whether the subnet is not as the last heavy sweep left it.
        changed: bool,
    },
    /// Another manager is the master, or is to become it: this one polls it.
    StandingBy {
        /// GUID of the port that it sits on.
        master: Guid,
    },
    /// The state in the election changed.
    SmStateChanged {
        /// State before.
        from: SmState,
        /// State now.
        to: SmState,
    },
    /// An active manager has another SM_Key: neither yields to the other, so the subnet may have two masters. Reported after
    /// each discovery that finds it.
    SmKeyMismatch {
        /// The port that the other manager sits on.
        at: PortAt,
        /// State of the other manager.
        state: SmState,
    },
    /// Every port that answers is configured and active.
    SubnetUp(Box<Summary>),
    /// The sweep ended with errors; the next one tries again.
    SweepFailed(Box<Summary>),
}

/// A request that was not answered, and the port that it was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unresponsive {
    /// For an unknown node the port in front of it, else the port that was asked. `None`: the
    /// manager's own port.
    pub at: Option<PortAt>,
    /// Whether the unknown node at the other end of `at`'s link was asked, instead of `at` itself.
    pub neighbor: bool,
    /// The attribute that was asked for.
    pub attribute_id: AttributeId,
}

/// Why a sweep began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SweepCause {
    /// The manager started.
    Start,
    /// The host asked for it.
    Command,
    /// The time of [`sweep_interval`](crate::SmConfig::sweep_interval) went by.
    Timer,
    /// A light sweep saw a change, or a switch that does not answer.
    Change,
    /// A trap came.
    Trap,
    /// The sweep before ended with errors.
    Retry,
    /// The election made this manager the master.
    Election,
}

/// The part of the subnet that a sweep reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepKind {
    /// The whole subnet.
    Heavy,
    /// Switches and ports that are marked as changed, and new nodes that they lead to.
    Partial,
    /// Whether anything changed: SwitchInfo of every switch.
    Light,
}

/// The parts of a heavy or partial sweep, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Every node and port is found by directed routes.
    Discover,
    /// LIDs are chosen; the switches and the own port get theirs.
    Lids,
    /// A routing engine computes the routes.
    Route,
    /// The routes are verified.
    Verify,
    /// Tables are written, ports configured and activated.
    Program,
}

impl Phase {
    /// All of them in their order.
    pub const ALL: [Self; 5] = [
        Self::Discover,
        Self::Lids,
        Self::Route,
        Self::Verify,
        Self::Program,
    ];

    /// The key in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Lids => "lids",
            Self::Route => "route",
            Self::Verify => "verify",
            Self::Program => "program",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Results of a heavy sweep.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Numbers of nodes and links of the subnet.
    pub fabric: FabricCounts,
    /// The engine whose routes are installed.
    pub engine: Option<&'static str>,
    /// When the sweep began.
    pub started: Instant,
    /// Time that each phase took, by the host's clock.
    pub phases: PhaseTimes,
    /// Datagrams of this sweep.
    pub mads: MadCounts,
    /// Ports by their state after the sweep.
    pub ports: PortCounts,
    /// Requests that were not answered, one for each node.
    pub unresponsive: Vec<Unresponsive>,
    /// How many Sets were refused or not answered.
    pub errors: usize,
}

/// Numbers of things in a subnet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FabricCounts {
    /// Switches.
    pub switches: usize,
    /// CAs.
    pub cas: usize,
    /// Routers.
    pub routers: usize,
    /// Links, each once.
    pub links: usize,
    /// LIDs in use; with an LMC a port has several.
    pub lids: usize,
}

/// Time that each phase of a sweep took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseTimes {
    times: [Duration; Phase::ALL.len()],
}

impl PhaseTimes {
    /// Time that `phase` took.
    #[must_use]
    pub fn of(&self, phase: Phase) -> Duration {
        self.times.get(phase as usize).copied().unwrap_or_default()
    }

    /// Time of all phases.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.times.iter().sum()
    }

    pub(crate) fn add(&mut self, phase: Phase, time: Duration) {
        if let Some(sum) = self.times.get_mut(phase as usize) {
            *sum = sum.saturating_add(time);
        }
    }
}

/// Datagrams that a manager sent and received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MadCounts {
    /// Sent, repetitions included.
    pub sent: u64,
    /// Received.
    pub received: u64,
    /// Sent again after a time-out.
    pub retried: u64,
    /// Requests that were given up.
    pub timed_out: u64,
}

impl MadCounts {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            sent: self.sent.saturating_sub(before.sent),
            received: self.received.saturating_sub(before.received),
            retried: self.retried.saturating_sub(before.retried),
            timed_out: self.timed_out.saturating_sub(before.timed_out),
        }
    }
}

/// Ports with a link, switch ports 0 left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Active.
    pub active: usize,
    /// In any other state, though the link is up.
    pub not_active: usize,
}
