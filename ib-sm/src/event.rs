//! Events that a subnet manager reports to its host.
//!
//! The engine logs nothing. Every decision that an operator may ask about is an [`Event`], reported in the order
//! in which the decisions were taken. Each event has a [`Display`](fmt::Display) of one line of English and a
//! [`EventSeverity`], so a host does not have to phrase it. [`Event::SubnetUp`] ends a sweep after which every port
//! that answers is configured; it carries a [`Summary`].

mod text;

use alloc::{boxed::Box, vec::Vec};
use core::{fmt, time::Duration};

use ib_mad::{AttributeId, Instant, MadStatus, NoticeSm};
use ib_routing::{Fabric, LidMap, NodeType, verify::Defect};
use ib_smp::{PortState, SmState};
use ib_subnet::{PortAt, Unresponsive};
use ib_wire::{Gid, Guid, Lid};

pub use self::text::EventSeverity;
pub use crate::policy::routing::NotKept;
use crate::reconcile::Change;

/// Something that happened in the manager.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A sweep began.
    SweepStarted {
        /// The part of the subnet that the sweep reads.
        kind: SweepKind,
        /// Reason for the sweep.
        cause: SweepCause,
    },
    /// A phase of a heavy sweep began.
    PhaseStarted(Phase),
    /// The sweep found a node that was unknown before.
    NodeAppeared {
        /// Node GUID of the new node.
        node_guid: Guid,
    },
    /// A node that the previous sweep knew cannot be reached any more.
    NodeVanished {
        /// Node GUID of the node that is gone.
        node_guid: Guid,
    },
    /// A request was not answered, after all retries.
    Unresponsive(Unresponsive),
    /// Two nodes answer with one GUID, or a cable was moved during the discovery.
    DuplicateGuid {
        /// The GUID that both nodes claim.
        node_guid: Guid,
        /// The port through which the second node was found; `None`: the manager's own node.
        found_via: Option<PortAt>,
    },
    /// A node's NodeInfo holds an impossible value: the node is excluded from the subnet.
    InvalidNodeInfo {
        /// The port through which it was found; `None`: the manager's own node.
        found_via: Option<PortAt>,
        /// The GUID that it claims.
        node_guid: Guid,
        /// Name of the field with the impossible value, as in the specification's tables.
        field: &'static str,
    },
    /// A node answered with a different GUID when it was asked again. It is excluded, and nodes that are reached
    /// only through it are not discovered.
    GuidChanged {
        /// The port through which it was found; `None`: the manager's own node.
        found_via: Option<PortAt>,
        /// The GUID in the node's first answer.
        before: Guid,
        /// The GUID in the node's last answer.
        now: Guid,
    },
    /// The manager assigned a new LID to a port.
    LidAssigned {
        /// Port GUID of the port with the LID.
        port_guid: Guid,
        /// The port's new base LID.
        lid: Lid,
    },
    /// A port of a logical cluster has no predefined LID although other ports have one. The manager assigned it a
    /// LID of the cluster's range. Reported when the port gets its first LID from this manager.
    NoPredefinedLid {
        /// Port GUID of the port without a predefined LID.
        port_guid: Guid,
        /// Base LID that the manager assigned.
        lid: Lid,
    },
    /// No path through switches that forward multicast leads to a member of a multicast group.
    MulticastCutOff {
        /// GID of the multicast group.
        mgid: Gid,
        /// Port GUID of the member.
        port_guid: Guid,
    },
    /// A port's P_Key table is too small for its partitions; the table stays as it is.
    PKeyTableFull {
        /// Port whose table is too small.
        at: PortAt,
    },
    /// A switch's forwarding table is too small for the LIDs in use: the switch does not forward to LIDs beyond
    /// its end.
    TableTooSmall {
        /// Node GUID of the switch.
        node_guid: Guid,
        /// Name of the table: `LinearForwardingTable` or `MulticastForwardingTable`.
        table: AttributeId,
        /// Number of entries that the table has.
        entries: u16,
        /// Number of entries that the LIDs in use need.
        needed: u16,
    },
    /// There are more ports than LIDs.
    LidsExhausted(ib_routing::RouteError),
    /// A node is excluded from the subnet: it is a switch without a linear forwarding table, or one that did not
    /// answer for its SwitchInfo.
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
        /// True if this was the last engine to try, so that the switches keep their tables.
        is_last: bool,
    },
    /// The routes in force were repaired: entries that a change broke were replaced, all others stay.
    RoutesRepaired {
        /// Number of forwarding entries that led nowhere.
        broken: u64,
        /// Number of forwarding entries that change.
        moved: u64,
    },
    /// The routes that a previous manager left are valid and stay in force.
    RoutesKept {
        /// Number of entries that differ from the routes of the configured engine.
        entries: u64,
    },
    /// The routes that a previous manager left are replaced by those of the configured engine.
    RoutesReplaced {
        /// The reason why they do not stay.
        reason: NotKept,
    },
    /// This manager takes over a subnet that a previous manager configured, and is about to set this many blocks
    /// of an attribute.
    TakeOver {
        /// The attribute that is about to be set.
        attribute_id: AttributeId,
        /// Number of Sets that follow. Blocks that are read first and turn out to differ are added to it.
        sets: usize,
    },
    /// The routes in force cannot be repaired: all routes are computed anew.
    RepairFailed(ib_routing::repair::RepairError),
    /// The routes were verified; they are installed only if they pass.
    RoutesVerified {
        /// The engine that computed the routes.
        engine: &'static str,
        /// True if the routes are installed.
        installed: bool,
        /// The defect of the routes, if there is one. Routes with a defect are installed only if the
        /// configuration permits it.
        defect: Option<Defect>,
    },
    /// Forwarding tables in use change. The blocks are written in an order in which no packet loops.
    TablesChange {
        /// Number of forwarding entries that change.
        entries: u64,
        /// Number of stages in which they are written; between two stages the manager waits until packets in
        /// flight have left the fabric.
        stages: usize,
        /// Number of LIDs that no stage can move with the others: their entries are written one by one at the
        /// end.
        held_back: usize,
        /// True if it is proven that packets cannot deadlock while the tables are written.
        deadlock_free: bool,
    },
    /// Forwarding entries that a failure broke were rewritten and reach their destinations again; entries nearest
    /// to the destination were written first.
    TablesHealed {
        /// Number of entries that were broken.
        entries: usize,
    },
    /// A change that a manager in observe mode would have made.
    ChangePlanned(Box<Change>),
    /// Cables are gone, and with them the nodes that were connected only by these cables.
    NodesUnreachable {
        /// GUIDs of the nodes that lost their connection to the manager, for a moment or for good.
        unreachable: Vec<Guid>,
        /// GUIDs of those nodes that are still not connected.
        missing: Vec<Guid>,
    },
    /// The node at the other end of this port's cable is more than 63 hops away, so no directed route reaches it, and the
    /// part of the subnet before it is not up, so that no LID-routed part can lead there. It is not managed, and neither
    /// is what is reached only through it.
    OutOfReach {
        /// The last port that is reached.
        at: PortAt,
    },
    /// The link of the manager's own port is down.
    OwnPortDown,
    /// A manager of higher priority refused to take over the subnet, so this one remains master.
    HandoverRefused {
        /// The status of the other manager's answer.
        status: MadStatus,
    },
    /// A node refused a Set, or its answer shows other values than those that were set.
    Refused {
        /// Port of the node; `None` for the manager's own node if it is not known yet.
        at: Option<PortAt>,
        /// Attribute of the Set.
        attribute_id: AttributeId,
        /// The status of the response.
        status: MadStatus,
    },
    /// A trap arrived and was repressed.
    Trap {
        /// The LID that sent the trap; 0 is the manager's own port.
        from: Lid,
        /// The notice in the trap.
        notice: NoticeSm,
    },
    /// A port is disabled because it reported the same error over and over.
    PortShutOff {
        /// Port that the manager disabled.
        at: PortAt,
    },
    /// The link of a port is up, and the sweep ended without the port being Active. Reported again only if the state or
    /// the reason changes.
    PortNotActive {
        /// The port.
        at: PortAt,
        /// Its state.
        state: PortState,
        /// Why it is not Active.
        reason: NotActive,
    },
    /// A light sweep ended; a heavy one follows if anything changed.
    LightSweepDone {
        /// True if the subnet has changed since the last heavy sweep.
        changed: bool,
    },
    /// Another manager is the master, or is to become it; this manager polls it.
    StandingBy {
        /// GUID of the port of the other manager.
        master: Guid,
    },
    /// The manager's state in the election changed.
    SmStateChanged {
        /// State before.
        from: SmState,
        /// State now.
        to: SmState,
    },
    /// An active manager has another SM_Key. Neither manager yields to the other, so the subnet may have two
    /// masters. Reported after each discovery that finds such a manager.
    SmKeyMismatch {
        /// The port of the other manager.
        at: PortAt,
        /// State of the other manager.
        state: SmState,
    },
    /// Every port that answers is configured and active.
    SubnetUp(Box<Summary>),
    /// The sweep ended with errors; the next sweep tries again.
    SweepFailed(Box<Summary>),
}

/// Why the manager did not make a port Active although its link is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotActive {
    /// The device at the other end of the link did not answer, so the MTU and the virtual lanes of the link are not
    /// known.
    OtherEndUnknown,
    /// The other end of the link is in this state. A port becomes Active only if the other end is Armed or Active.
    OtherEnd(PortState),
    /// The port refused a Set of PortInfo, did not answer it, or stayed in its state.
    NotSet,
}

/// The reason for a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SweepCause {
    /// The manager started.
    Start,
    /// The host asked for it.
    Command,
    /// [`sweep_interval`](crate::SmConfig::sweep_interval) has passed.
    Timer,
    /// A light sweep saw a change, or a switch did not answer.
    Change,
    /// A trap arrived.
    Trap,
    /// The previous sweep ended with errors.
    Retry,
    /// The election made this manager the master.
    Election,
}

/// The part of the subnet that a sweep reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepKind {
    /// The whole subnet.
    Heavy,
    /// Switches and ports that are marked as changed, and new nodes that are found through them.
    Partial,
    /// SwitchInfo of every switch, which shows whether anything changed.
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
    /// All phases in their order.
    pub const ALL: [Self; 5] = [
        Self::Discover,
        Self::Lids,
        Self::Route,
        Self::Verify,
        Self::Program,
    ];

    /// The key of the phase in JSON.
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
    /// The engine that computed the installed routes.
    pub engine: Option<&'static str>,
    /// The time at which the sweep began.
    pub started: Instant,
    /// Duration of each phase, by the host's clock.
    pub phases: PhaseTimes,
    /// Number of datagrams of this sweep.
    pub mads: MadCounts,
    /// Ports by their state after the sweep.
    pub ports: PortCounts,
    /// Requests that were not answered, at most one for each node.
    pub unresponsive: Vec<Unresponsive>,
    /// Number of Sets that were refused or not answered.
    pub errors: usize,
}

/// Numbers of nodes, links and LIDs of a subnet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FabricCounts {
    /// Switches.
    pub switches: usize,
    /// CAs.
    pub cas: usize,
    /// Routers.
    pub routers: usize,
    /// Links; each is counted once.
    pub links: usize,
    /// LIDs in use; a port with an LMC has several.
    pub lids: usize,
}

impl FabricCounts {
    /// The contents of a fabric whose ports have these LIDs.
    #[must_use]
    pub fn new(fabric: &Fabric, lids: &LidMap) -> Self {
        Self {
            switches: fabric.count(NodeType::SWITCH),
            cas: fabric.count(NodeType::CA),
            routers: fabric.count(NodeType::ROUTER),
            links: fabric.num_links(),
            lids: lids.num_lids(),
        }
    }
}

/// Duration of each phase of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseTimes {
    times: [Duration; Phase::ALL.len()],
}

impl PhaseTimes {
    /// Duration of `phase`.
    #[must_use]
    pub fn of(&self, phase: Phase) -> Duration {
        self.times.get(phase as usize).copied().unwrap_or_default()
    }

    /// Duration of all phases together.
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
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MadCounts {
    /// Datagrams sent, repetitions included.
    pub sent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Datagrams sent again after a time-out.
    pub retried: u64,
    /// Requests that were given up after the last repetition.
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

/// Ports whose link is up; ports 0 of switches are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PortCounts {
    /// Ports in state Active.
    pub active: usize,
    /// Ports in another state although the link is up.
    pub not_active: usize,
}
