//! Accessors to the manager's state, for its host and for the other parts of the crate.

use alloc::collections::BTreeMap;

use ib_mad::Instant;
use ib_routing::{Fabric, LidMap, Routes, VerifyReport, format::mcfdbs::MulticastTables};
use ib_smp::{SmInfo, SmState};
use ib_subnet::{MKeys, PortId, Subnet};
use ib_wire::{Guid, Lid};

use super::{Mode, SubnetManager};
use crate::{
    SmConfig,
    election::Election,
    event::{MadCounts, Phase, Summary},
    plan::InstalledRoutes,
    sa::SubnetAdministrator,
};

impl SubnetManager {
    /// Returns true if the last sweep ended with every port configured.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.history.up
    }

    /// The manager's state in the election.
    #[must_use]
    pub fn state(&self) -> SmState {
        self.election.state()
    }

    /// The options.
    #[must_use]
    pub fn config(&self) -> &SmConfig {
        &self.config
    }

    /// The observed subnet.
    #[must_use]
    pub fn subnet(&self) -> &Subnet {
        &self.subnet
    }

    /// The fabric that the routes were computed for.
    #[must_use]
    pub fn fabric(&self) -> &Fabric {
        self.plan.fabric()
    }

    /// The owner of each LID. In a logical cluster, LIDs of other clusters belong to virtual routers that are
    /// attached to the transit ports.
    #[must_use]
    pub fn lids(&self) -> &LidMap {
        self.plan.lids()
    }

    /// The LIDs of the ports that this manager configures: [`lids`](Self::lids) without those of other clusters.
    #[must_use]
    pub fn own_lids(&self) -> &LidMap {
        self.plan.own_lids()
    }

    /// Base LIDs by port GUID, including ports that are gone. A host saves them and passes them to the next
    /// manager as [`SmConfig::guid2lid`]. [`ib_routing::format::guid2lid`] reads and writes OpenSM's file.
    #[must_use]
    pub fn guid2lid(&self) -> &BTreeMap<Guid, Lid> {
        self.plan.remembered()
    }

    /// M_Keys by port GUID, including ports that are gone, and the cables. A host saves them and passes them to
    /// the next manager as [`SmConfig::m_keys`].
    #[must_use]
    pub fn m_keys(&self) -> MKeys {
        self.subnet.m_keys()
    }

    /// The installed routes.
    #[must_use]
    pub fn routes(&self) -> Option<&Routes> {
        self.plan.routes()
    }

    /// The installed routes with their fabric and their LIDs; `None` before the first ones.
    #[must_use]
    pub fn installed(&self) -> Option<&InstalledRoutes> {
        self.plan.installed()
    }

    /// The output ports of each multicast group's tree, by multicast LID and switch.
    #[must_use]
    pub fn multicast(&self) -> &MulticastTables {
        self.plan.trees()
    }

    /// The verifier's report on the routes.
    #[must_use]
    pub fn report(&self) -> Option<&VerifyReport> {
        self.plan.installed().map(|installed| installed.report())
    }

    /// The engine that computed the installed routes.
    #[must_use]
    pub fn engine(&self) -> Option<&'static str> {
        self.routes().map(|routes| routes.engine().name())
    }

    /// The results of the last completed sweep; before the first one has ended, the results so far.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        match self.history.swept {
            true => &self.summary,
            false => &self.sweep.summary,
        }
    }

    /// Datagrams since the start.
    #[must_use]
    pub fn mads(&self) -> MadCounts {
        let counters = self.window.counters();
        MadCounts {
            sent: counters.sent.saturating_add(self.answers_sent),
            received: counters.received,
            retried: counters.retried,
            timed_out: counters.failed,
        }
    }

    /// Returns true if a sweep, heavy or light, or a write that follows from it is running.
    pub(crate) fn is_sweeping(&self) -> bool {
        !matches!(self.mode, Mode::Idle)
    }

    /// The phase of the running sweep.
    pub(crate) const fn phase(&self) -> Phase {
        self.sweep.phase
    }

    /// Time at which the running sweep began, or the last one if none is running.
    pub(crate) const fn sweep_started(&self) -> Instant {
        self.sweep.summary.started
    }

    /// Requests that have not been sent or answered yet.
    pub(crate) fn num_requests(&self) -> usize {
        let queued = match &self.mode {
            Mode::Observing(walk) => walk.len(),
            Mode::Applying(apply) => apply.len(),
            Mode::Idle | Mode::Planning(_) | Mode::Settling(_) => 0,
        };
        self.window.len().saturating_add(queued)
    }

    /// The other managers that the last discovery found, each with its port.
    pub(crate) fn others(&self) -> &[(PortId, SmInfo)] {
        &self.others
    }

    pub(crate) const fn administrator(&self) -> &SubnetAdministrator {
        &self.sa
    }

    pub(crate) const fn election(&self) -> &Election {
        &self.election
    }
}
