//! The manager and its subnet administrator: requests go in, and what a sweep found.

use alloc::{collections::BTreeSet, vec::Vec};

use ib_mad::{Instant, Mad, Method, Notice, NoticeSm, TrapNumber};
use ib_smp::SmState;
use ib_wire::{Gid, Guid};

use super::{SubnetManager, window_config};
use crate::{
    SmConfig,
    election::Election,
    event::SweepCause,
    registrations::Registrations,
    sa::{Requester, SubnetAdministrator, View, groups::groups_of},
    subnet::Subnet,
    sweep::{Step, Sweep},
};

impl SubnetManager {
    /// What hosts told the administrator up to now.
    #[must_use]
    pub fn registrations(&self, now: Instant) -> Registrations {
        self.sa.registrations(now)
    }

    /// Rises whenever what hosts told may have changed: to write a file only when there is news.
    #[must_use]
    pub fn registrations_version(&self) -> u64 {
        self.sa.version()
    }

    /// Takes in a query, if this manager is the master.
    pub(super) fn on_query(&mut self, now: Instant, mad: &Mad) {
        let asks = matches!(
            mad.header().method(),
            Method::GET
                | Method::SET
                | Method::GET_TABLE
                | Method::GET_TRACE_TABLE
                | Method::GET_MULTI
                | Method::DELETE
        );
        if asks && self.state() == SmState::MASTER {
            self.sa.handle_request(now, mad);
        }
    }

    /// Takes in the requests that came in segments.
    pub(super) fn on_messages(&mut self, now: Instant) {
        let serves = self.state() == SmState::MASTER;
        self.sa.handle_messages(now, serves);
    }

    /// What the administrator sends next.
    pub(super) fn poll_administrator(&mut self, now: Instant) -> Option<Mad> {
        let view = self
            .served
            .then(|| view(&self.config, &self.sweep, &self.election));
        self.sa.poll_transmit(now, view)
    }

    /// Hands a device's notice on to who subscribed.
    pub(super) fn forward(&mut self, notice: &NoticeSm) {
        let view = view(&self.config, &self.sweep, &self.election);
        let issuer = view.port_with(notice.issuer_lid());
        let issuer = issuer.and_then(|port| view.subnet.port(port));
        let mut whole = Notice::default();
        whole
            .set_is_generic(notice.is_generic())
            .set_type(notice.type_())
            .set_producer_type(notice.producer_type())
            .set_trap_number(notice.trap_number())
            .set_issuer_lid(notice.issuer_lid())
            .set_notice_toggle(notice.notice_toggle())
            .set_notice_count(notice.notice_count())
            .set_data_details(notice.data_details())
            .set_issuer_gid(issuer.map_or(Gid::default(), |port| view.gid(port)));
        self.sa.forward(view, &whole);
    }

    /// Brings what is served up to date with what a sweep found: who came and went is announced, what
    /// the gone had told is forgotten, and the groups that always exist are there.
    pub(super) fn serve_what_was_found(&mut self) {
        let view = view(&self.config, &self.sweep, &self.election);
        let (before, now) = (ports(&self.sweep.before), ports(view.subnet));
        self.sa.groups.set_capacity(self.sweep.multicast_capacity());
        let partitions = self.config.partitions.iter();
        let asked = partitions
            .filter(|_| !self.config.disable_multicast)
            .flat_map(|partition| groups_of(&self.config, partition));
        let asked: Vec<_> = asked.collect();
        let names = asked.iter().map(|group| group.mgid()).collect();
        let ended = self.sa.groups.retain_static(&names);
        let created = asked.into_iter();
        let created = created.filter_map(|group| self.sa.groups.ensure_static(group));
        let changes: Vec<_> = ended.into_iter().chain(created).collect();
        for change in changes {
            self.sa.announce_group(view, change);
        }
        self.sa.retain_ports(view, |guid| now.contains(&guid));
        let gone = before.difference(&now);
        let came = now.difference(&before);
        for &guid in came.clone() {
            self.sa.guids.write_all_again(guid);
        }
        let news = gone
            .map(|&guid| (TrapNumber::GID_OUT_OF_SERVICE, guid))
            .chain(came.map(|&guid| (TrapNumber::GID_IN_SERVICE, guid)));
        let news: Vec<_> = news.collect();
        for (trap, guid) in news {
            let gid = Gid::new(self.config.subnet_prefix, guid);
            self.sa.announce(view, trap, gid);
        }
    }

    /// Writes the trees of groups that changed, if there are any and this manager owns the subnet.
    /// Returns whether there is something to do.
    pub(super) fn regroups(&mut self) -> bool {
        let may = self.served && self.state() == SmState::MASTER;
        if may && self.sa.groups.have_changed() {
            self.sweep.start_regroup(&self.config, &mut self.sa.groups);
            return true;
        }
        false
    }

    /// Gives the ports the alias GUIDs that hosts asked for, if there are any and this manager owns the
    /// subnet. Returns whether there is something to do.
    pub(super) fn writes_guids(&mut self) -> bool {
        if !self.served || self.state() != SmState::MASTER {
            return false;
        }
        let blocks = self.sa.guids.take_unwritten();
        let some = !blocks.is_empty();
        self.sweep.queue_guid_infos(blocks.into_iter());
        some
    }

    pub(super) fn end_regroup(&mut self, now: Instant) {
        self.sweep.step = Step::Done;
        if self.sweep.errors > 0 && self.again.is_none() {
            self.again = Some(SweepCause::Retry);
        }
        if self.again.is_some() {
            self.next_sweep = Some(now);
        }
    }

    /// Forgets what hosts told: another manager is the master now, and they tell it.
    pub(super) fn retire(&mut self) {
        self.served = false;
        if !self.config.honor_guid2lid {
            self.sweep.plan.remembered.clear();
        }
        self.forget_hosts();
    }

    pub(super) fn forget_hosts(&mut self) {
        self.sweep.restored = false;
        self.sweep.plan.aliases.clear();
        self.sa = SubnetAdministrator::new(window_config(&self.config), self.config.rmpp);
    }
}

/// GUIDs of the end ports that have LIDs.
fn ports(subnet: &Subnet) -> BTreeSet<Guid> {
    let ports = subnet.nodes().flat_map(|(_, node)| node.ports());
    let ends = ports.filter(|(_, port)| port.lids.is_some());
    ends.map(|(_, port)| port.guid).collect()
}

/// What the administrator answers from. Until it has routes of its own a sweep knows less than the one
/// before.
pub(super) fn view<'a>(config: &'a SmConfig, sweep: &'a Sweep, election: &Election) -> View<'a> {
    View {
        config,
        subnet: match sweep.step <= Step::Route {
            true => &sweep.before,
            false => &sweep.subnet,
        },
        plan: &sweep.plan,
        own_port: sweep.own_port,
        own: election.current(),
        others: &sweep.others,
        requester: Requester::Unknown,
    }
}
