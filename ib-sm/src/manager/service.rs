//! Connects the manager and its subnet administrator: passes on requests and the results of sweeps.

use alloc::{collections::BTreeSet, vec::Vec};

use ib_mad::{Instant, Mad, Method, Notice, NoticeSm, TrapNumber};
use ib_smp::{SmInfo, SmState};
use ib_subnet::{PortId, Subnet};
use ib_wire::{Gid, Guid};

use super::{SubnetManager, window_config};
use crate::{
    SmConfig,
    election::Election,
    plan::Plan,
    policy::{Situation, multicast},
    registrations::Registrations,
    sa::{Requester, SubnetAdministrator, View, groups::groups_of},
};

impl SubnetManager {
    /// All registrations of hosts with the administrator.
    #[must_use]
    pub fn registrations(&self, now: Instant) -> Registrations {
        self.sa.registrations(now)
    }

    /// Increases whenever the registrations may have changed, so that a host writes its file only then.
    #[must_use]
    pub fn registrations_version(&self) -> u64 {
        self.sa.version()
    }

    /// Accepts a query if this manager is the master.
    pub(super) fn on_query(&mut self, now: Instant, mad: &Mad) {
        // An unknown method is a request as well, and is refused. The methods listed here are no requests.
        let method = mad.header().method();
        let asks = !method.is_response()
            && !matches!(
                method,
                Method::SEND | Method::TRAP | Method::REPORT | Method::TRAP_REPRESS
            );
        if asks && self.state() == SmState::MASTER {
            self.sa.handle_request(now, mad);
        }
    }

    /// Accepts the requests that arrived in segments.
    pub(super) fn on_messages(&mut self, now: Instant) {
        let serves = self.state() == SmState::MASTER;
        self.sa.handle_messages(now, serves);
    }

    /// Returns the administrator's next datagram.
    pub(super) fn poll_administrator(&mut self, now: Instant) -> Option<Mad> {
        let view = self.history.served.then(|| {
            view(
                &self.config,
                &self.subnet,
                &self.plan,
                &self.others,
                &self.election,
            )
        });
        self.sa.poll_transmit(now, view)
    }

    /// Forwards a device's notice to its subscribers.
    pub(super) fn forward(&mut self, notice: &NoticeSm) {
        let view = view(
            &self.config,
            &self.subnet,
            &self.plan,
            &self.others,
            &self.election,
        );
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

    /// Updates the administrator after a sweep: reports ports that appeared and disappeared, deletes the
    /// registrations of those that disappeared, and creates the permanent groups.
    pub(super) fn serve_what_was_found(&mut self) {
        let view = view(
            &self.config,
            &self.subnet,
            &self.plan,
            &self.others,
            &self.election,
        );
        let now = ports(view.subnet);
        let before = core::mem::replace(&mut self.history.ports, now.clone());
        let capacity = multicast::capacity(Situation::new(&self.config, &self.subnet, &self.plan));
        self.sa.groups_mut().set_capacity(capacity);
        let partitions = self.config.partitions.iter();
        let asked = partitions
            .filter(|_| !self.config.disable_multicast)
            .flat_map(|partition| groups_of(&self.config, partition));
        let asked: Vec<_> = asked.collect();
        let names = asked.iter().map(|group| group.mgid()).collect();
        let ended = self.sa.groups_mut().retain_static(&names);
        let created = asked.into_iter();
        let created = created.filter_map(|group| self.sa.groups_mut().ensure_static(group));
        let changes: Vec<_> = ended.into_iter().chain(created).collect();
        for change in changes {
            self.sa.announce_group(view, change);
        }
        self.sa.retain_ports(view, |guid| now.contains(&guid));
        let gone = before.difference(&now);
        let came = now.difference(&before);
        for &guid in came.clone() {
            self.sa.alias_guids_mut().write_all_again(guid);
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

    /// Deletes the registrations of hosts: another manager is the master now, and hosts register with it.
    pub(super) fn retire(&mut self) {
        self.history.served = false;
        if !self.config.honor_guid2lid {
            self.plan.set_remembered(Default::default());
        }
        self.forget_hosts();
    }

    pub(super) fn forget_hosts(&mut self) {
        self.history.restored = false;
        self.plan.clear_aliases();
        self.subnet.forget_registrations();
        self.sa = SubnetAdministrator::new(window_config(&self.config), self.config.rmpp);
    }

    /// The data from which the administrator answers: the observed subnet, and the routes in force.
    pub(super) fn view(&self) -> View<'_> {
        view(
            &self.config,
            &self.subnet,
            &self.plan,
            &self.others,
            &self.election,
        )
    }
}

/// The view built from a manager's parts, for calls that change another part of it.
fn view<'a>(
    config: &'a SmConfig,
    subnet: &'a Subnet,
    plan: &'a Plan,
    others: &'a [(PortId, SmInfo)],
    election: &Election,
) -> View<'a> {
    View {
        config,
        subnet,
        plan,
        own_port: subnet.own_port(),
        own: election.current(),
        others,
        requester: Requester::Unknown,
    }
}

/// GUIDs of the end ports that have LIDs.
fn ports(subnet: &Subnet) -> BTreeSet<Guid> {
    let ends = subnet.ports().filter(|(_, _, port)| port.lids().is_some());
    ends.map(|(_, _, port)| port.guid()).collect()
}
