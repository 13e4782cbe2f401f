//! Discovery without management: finds the nodes of a subnet and their cables (IBA vol. 1, 14.4.3).
//!
//! It does the work of `ibnetdiscover` as an engine of its own. It only reads, so it may run beside any subnet
//! manager, and it needs no LIDs. All devices that do not answer cost one time-out together, and are listed.

mod discovered;
mod vendor;

use alloc::{collections::VecDeque, vec::Vec};

use ib_mad::{
    EarlyRepeat, Engine, InFlight, Input, Instant, Mad, RequestOptions, TransactionWindow,
    WindowConfig,
};
use ib_smp::DrPath;
use ib_wire::Guid;

pub use self::discovered::{Discovered, SilentPort};
pub(crate) use self::vendor::has_vendor_speeds;
use crate::{FabricIndex, Read, ReadTarget, Subnet, Unresponsive, Walk, WalkFinding, WalkOptions};

/// Options of a discovery.
#[derive(Clone, Debug)]
pub struct DiscoveryConfig {
    /// The parts of the subnet that are read. The default differs from that of a walk in one field: `vendor_speeds` is
    /// true.
    pub walk: WalkOptions,
    /// Time-outs, repetitions, requests in flight and first transaction ID of the requests. By default 4 to 64 requests
    /// are in flight, and 8 at most to one device.
    pub window: WindowConfig,
}

impl Default for DiscoveryConfig {
    fn default() -> Self {
        Self {
            walk: WalkOptions {
                vendor_speeds: true,
                ..WalkOptions::default()
            },
            window: WindowConfig {
                in_flight: InFlight::Adaptive { min: 4, max: 64 },
                early_repeat: Some(EarlyRepeat::READING),
                per_destination: 8,
                ..WindowConfig::default()
            },
        }
    }
}

/// An event during a discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DiscoveryEvent {
    /// A node answered for the first time.
    NodeFound {
        /// Node GUID of the new node.
        node_guid: Guid,
        /// Distance from the own node, in hops.
        hops: u8,
    },
    /// A device left a request unanswered.
    Silent(SilentPort),
    /// More than one node answers with this GUID: only the first one is in the result.
    DuplicateGuid {
        /// Node GUID that both nodes have.
        node_guid: Guid,
    },
    /// A node answered with another GUID when it was asked again: nodes beyond it are not read any more.
    GuidChanged {
        /// The directed route to the node.
        path: DrPath,
        /// The GUID in its first answer.
        before: Guid,
        /// The GUID in its last answer.
        now: Guid,
    },
    /// Every read is answered or given up.
    Done,
}

/// Walks a subnet along directed routes and reads its nodes, ports and cables.
///
/// Drive it until [`DiscoveryEvent::Done`], then take the result by [`finish`](Self::finish).
#[derive(Debug)]
pub struct Discovery {
    window: TransactionWindow<Read>,
    subnet: Subnet,
    walk: Walk,
    silent: Vec<SilentPort>,
    duplicate_guids: Vec<Guid>,
    events: VecDeque<DiscoveryEvent>,
    done: bool,
}

impl Discovery {
    /// A discovery that begins with the own node.
    #[must_use]
    pub fn new(config: DiscoveryConfig) -> Self {
        let mut subnet = Subnet::default();
        Self {
            window: TransactionWindow::new(config.window),
            walk: Walk::everything(&mut subnet, config.walk),
            subnet,
            silent: Vec::new(),
            duplicate_guids: Vec::new(),
            events: VecDeque::new(),
            done: false,
        }
    }

    /// Returns true if every read is answered or given up.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.done
    }

    /// The subnet as discovered so far.
    #[must_use]
    pub const fn subnet(&self) -> &Subnet {
        &self.subnet
    }

    /// The result so far.
    #[must_use]
    pub fn finish(self) -> Discovered {
        let takes_part = |_, _: &_| true;
        let index = FabricIndex::build(&self.subnet, takes_part, |_| true);
        let own = self.subnet.own_port();
        Discovered {
            from: own.and_then(|own| index.port(own)),
            fabric: index.into_fabric(),
            subnet: self.subnet,
            silent: self.silent,
            duplicate_guids: self.duplicate_guids,
            counters: self.window.counters(),
        }
    }

    /// Moves queued reads into the window, and detects the end.
    fn run(&mut self) {
        while let Some(failure) = self.window.poll_failure() {
            self.walk.handle_failure(&mut self.subnet, failure.context);
        }
        while self.has_room() {
            let Some((read, mad)) = self.walk.next_read(&self.subnet) else {
                break;
            };
            let options = RequestOptions {
                destination: destination(read),
                ..RequestOptions::default()
            };
            // The window has room, as was just checked.
            let _ = self.window.request_with(&mad, options, read);
        }
        while let Some(finding) = self.walk.poll_finding() {
            self.report(finding);
        }
        if self.window.is_empty() && self.walk.is_empty() && !self.done {
            self.done = true;
            self.events.push_back(DiscoveryEvent::Done);
        }
    }

    /// Returns true if the window takes one more read. A read that waits in the walk takes less memory, and is left out
    /// if its result becomes known otherwise. Some wait in the window, as those for one switch hold each other up.
    fn has_room(&self) -> bool {
        let in_flight = usize::try_from(self.window.in_flight()).unwrap_or(usize::MAX);
        let limit = usize::try_from(self.window.limit()).unwrap_or(usize::MAX);
        let waiting = self.window.len().saturating_sub(in_flight);
        self.window.room() > 0 && waiting < limit.saturating_mul(4)
    }

    fn report(&mut self, finding: WalkFinding) {
        let event = match finding {
            WalkFinding::NodeFound(id) => match self.subnet.node(id) {
                Some(node) => DiscoveryEvent::NodeFound {
                    node_guid: node.info().node_guid(),
                    hops: node.path().hop_count(),
                },
                None => return,
            },
            WalkFinding::Unresponsive { device, path } => self.list(path, known_guid(&device)),
            WalkFinding::Refused { at, .. } => {
                let known = at.and_then(|at| self.subnet.find(at.node_guid));
                let Some(node) = known.filter(|&id| self.subnet.set_silent(id)) else {
                    return;
                };
                let path = self.subnet.node(node).map(|node| node.path());
                self.list(path.unwrap_or_default(), at.map(|at| at.node_guid))
            }
            WalkFinding::DuplicateGuid { node_guid, .. } => {
                if !self.duplicate_guids.contains(&node_guid) {
                    self.duplicate_guids.push(node_guid);
                }
                DiscoveryEvent::DuplicateGuid { node_guid }
            }
            WalkFinding::GuidChanged {
                path, before, now, ..
            } => DiscoveryEvent::GuidChanged { path, before, now },
            WalkFinding::InvalidNodeInfo { .. }
            | WalkFinding::OutOfReach { .. }
            | WalkFinding::Manager { .. } => return,
        };
        self.events.push_back(event);
    }

    fn list(&mut self, path: DrPath, node_guid: Option<Guid>) -> DiscoveryEvent {
        let silent = SilentPort { path, node_guid };
        self.silent.push(silent.clone());
        DiscoveryEvent::Silent(silent)
    }
}

/// The GUID of a device that did not answer, if it has ever answered.
fn known_guid(device: &Unresponsive) -> Option<Guid> {
    let at = device.at.filter(|_| !device.neighbor)?;
    Some(at.node_guid)
}

/// The key by which the window limits the requests to one device; `None` for an unknown device.
fn destination(read: Read) -> Option<u64> {
    match read.target {
        ReadTarget::Port(port) => Some(port.node.index() as u64),
        ReadTarget::OwnNode | ReadTarget::Behind(_) => None,
    }
}

impl Engine for Discovery {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = DiscoveryEvent;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        if let Some((context, mad)) = self.window.handle_answer(now, input) {
            self.walk.handle_answer(&mut self.subnet, context, mad);
        }
        self.run();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.window.handle_timeout(now);
        self.run();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        self.run();
        self.window.poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.window.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<DiscoveryEvent> {
        self.events.pop_front()
    }
}
