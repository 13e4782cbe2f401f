//! The subnet administrator: answers queries about the subnet, and keeps the registrations of hosts (IBA vol. 1,
//! 15.4).
//!
//! A query is one record as a template and a mask of the components to compare. Get expects exactly one record;
//! GetTable returns any number, as one message of many segments. Answers come from the results of the last sweep;
//! until one has ended the answer is BUSY. Without the right SM_Key a requester sees only ports in its own
//! partitions.

mod answer;
pub(crate) mod groups;
mod guids;
mod lane_tables;
mod limits;
mod multi_path;
mod path;
mod policy;
mod queue;
mod quirks;
mod quota;
mod rates;
mod records;
mod redirection;
mod requests;
mod scope;
mod services;
mod subscriptions;
mod table_cache;
mod trace;
mod view;

use alloc::{boxed::Box, collections::VecDeque};

use bytes::{Bytes, BytesMut};
use ib_mad::{
    Engine, Instant, Mad, MadStatus, MgmtClass, Notice, NoticeType, ProducerType, Rmpp, RmppConfig,
    RmppError, RmppEvent, SaStatus, TrapNumber, WindowConfig,
};
use ib_sa::{RecordTable, SaMad};
use ib_subnet::Subnet;
use ib_wire::{Gid, Guid};

use self::{
    answer::{Answered, SaResponse, reply},
    groups::{GroupChange, Groups},
    lane_tables::LaneTables,
    queue::{QueueItem, RequestQueue, TableWork},
    services::Services,
    subscriptions::Subscriptions,
    table_cache::{TableCache, TableKey},
};
pub(crate) use self::{
    guids::AliasGuids,
    view::{Requester, View},
};

use crate::registrations::Registrations;

/// The subnet administrator: registrations of hosts, and the answers in progress.
#[derive(Debug)]
pub(crate) struct SubnetAdministrator {
    groups: Groups,
    guids: AliasGuids,
    lane_tables: LaneTables,
    services: Services,
    subscriptions: Subscriptions,
    queue: RequestQueue,
    tables: TableCache,
    /// Refusals that have not been sent yet.
    refusals: VecDeque<Mad>,
    rmpp: Rmpp,
    /// Counts the requests that may have changed a registration.
    version: u64,
}

/// Numbers of registrations that the administrator keeps for hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistrationCounts {
    /// Multicast groups.
    pub groups: usize,
    /// Memberships of multicast groups.
    pub memberships: usize,
    /// Services.
    pub services: usize,
    /// Subscriptions to notices.
    pub subscriptions: usize,
}

/// A request and its context.
#[derive(Clone, Copy)]
struct RequestContext<'a> {
    now: Instant,
    mad: &'a Mad,
    request: &'a SaMad,
    view: View<'a>,
    /// For a table that is made in parts: the nodes of the present part.
    part: Option<&'a [Guid]>,
}

impl SubnetAdministrator {
    /// The multicast groups and their members.
    pub(crate) const fn groups(&self) -> &Groups {
        &self.groups
    }

    /// The multicast groups, to change them.
    pub(crate) const fn groups_mut(&mut self) -> &mut Groups {
        &mut self.groups
    }

    /// The alias GUIDs that hosts requested.
    pub(crate) const fn alias_guids(&self) -> &AliasGuids {
        &self.guids
    }

    /// The alias GUIDs, to take those that are to be written.
    pub(crate) const fn alias_guids_mut(&mut self) -> &mut AliasGuids {
        &mut self.guids
    }

    /// The SLtoVL and VL arbitration tables that queries named.
    pub(crate) const fn lane_tables_mut(&mut self) -> &mut LaneTables {
        &mut self.lane_tables
    }

    /// An administrator without registrations; `window` is for its Reports, `rmpp` for its tables.
    pub(crate) fn new(window: WindowConfig, rmpp: RmppConfig) -> Self {
        Self {
            groups: Groups::default(),
            guids: AliasGuids::default(),
            lane_tables: LaneTables::default(),
            services: Services::default(),
            subscriptions: Subscriptions::new(window),
            queue: RequestQueue::new(),
            tables: TableCache::default(),
            refusals: VecDeque::new(),
            rmpp: Rmpp::new(rmpp),
            version: 0,
        }
    }

    /// All registrations of hosts.
    pub(crate) fn registrations(&self, now: Instant) -> Registrations {
        Registrations {
            groups: self.groups.registrations(),
            subscriptions: self.subscriptions.registrations(),
            services: self.services.records(now, true).collect(),
            guids: self.guids.registrations(),
        }
    }

    /// Restores the registrations of hosts from before a restart. Returns whether all of them found a place.
    pub(crate) fn restore(&mut self, now: Instant, kept: &Registrations) -> bool {
        let groups = self.groups.restore(&kept.groups);
        for subscription in &kept.subscriptions {
            self.subscriptions.restore(subscription);
        }
        let mut services = kept.services.iter();
        let services = services.all(|service| self.services.restore(now, service));
        self.guids.restore(&kept.guids);
        groups && services
    }

    /// Increases whenever a registration may have changed.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// Returns true if the port with this GUID has registered this service.
    pub(crate) fn has_service(&self, id: u64, port: Guid) -> bool {
        self.services.has(id, port)
    }

    /// Numbers of registrations that the administrator keeps.
    pub(crate) fn counts(&self) -> RegistrationCounts {
        RegistrationCounts {
            groups: self.groups.iter().count(),
            memberships: self.groups.iter().map(|group| group.ports().count()).sum(),
            services: self.services.len(),
            subscriptions: self.subscriptions.len(),
        }
    }

    /// Accepts a request; its answer comes from [`poll_transmit`](Self::poll_transmit).
    pub(crate) fn handle_request(&mut self, now: Instant, mad: &Mad) {
        self.enqueue(now, QueueItem::Request(*mad));
    }

    /// Accepts a datagram of a transfer or the answer to a Report. Returns whether the datagram is one of these.
    pub(crate) fn handle_transfer(&mut self, now: Instant, mad: &Mad) -> bool {
        let header = mad.header();
        let is_ours = header.base_version() == 1
            && header.mgmt_class() == MgmtClass::SUBN_ADM
            && header.class_version() == SaMad::CLASS_VERSION;
        is_ours && (self.subscriptions.handle_mad(now, mad) || self.rmpp.handle_mad(now, mad))
    }

    /// Accepts the requests that arrived in segments: those for MultiPathRecord. `serves` is whether this manager
    /// answers requests.
    pub(crate) fn handle_messages(&mut self, now: Instant, serves: bool) {
        while let Some(event) = self.rmpp.poll_event() {
            if let RmppEvent::Received(message) = event
                && serves
            {
                self.enqueue(now, QueueItem::Message(message.first, message.data));
            }
        }
    }

    /// Notes that the part of the SLtoVL and VL arbitration tables which was to be read is read, or given up. The
    /// requests that waited for the last part are served.
    pub(crate) fn end_lane_tables(&mut self, now: Instant, subnet: &Subnet) {
        for request in self.lane_tables.end_part(subnet) {
            self.handle_request(now, &request);
        }
    }

    /// Reports a device's notice to its subscribers.
    pub(crate) fn forward(&mut self, view: View<'_>, notice: &Notice) {
        self.subscriptions
            .report(notice, |gid| view.subnet.port(view.port_of(gid)?)?.lids());
    }

    /// Reports to subscribers that a port appeared (trap 64) or disappeared (trap 65), or a group did (66, 67).
    pub(crate) fn announce(&mut self, view: View<'_>, trap: TrapNumber, gid: Gid) {
        let mut details = [0; 54];
        for (to, from) in details.iter_mut().skip(6).zip(gid.0) {
            *to = from;
        }
        let mut notice = Notice::default();
        notice
            .set_is_generic(true)
            .set_type(NoticeType::SUBNET_MANAGEMENT)
            .set_producer_type(ProducerType::CLASS_MANAGER.0)
            .set_trap_number(trap.0)
            .set_issuer_lid(view.own_lid())
            .set_issuer_gid(view.own_gid())
            .set_data_details(&details);
        self.forward(view, &notice);
    }

    /// Reports the changes of groups that follow from a join, a leave or the start.
    pub(crate) fn announce_group(&mut self, view: View<'_>, change: GroupChange) {
        let (trap, mgid) = match change {
            GroupChange::Created(mgid) => (TrapNumber::MC_GROUP_CREATED, mgid),
            GroupChange::Deleted(mgid) => (TrapNumber::MC_GROUP_DELETED, mgid),
        };
        self.announce(view, trap, mgid);
    }

    /// Deletes the registrations of ports that are gone. Services and subscriptions wait for their port to come
    /// back, unless `drop_event_subscriptions` is set or there is little room left.
    pub(crate) fn retain_ports(&mut self, view: View<'_>, keep: impl Fn(Guid) -> bool) {
        self.version = self.version.wrapping_add(1);
        self.lane_tables.forget_missing();
        let drop_all = view.config.drop_event_subscriptions;
        if drop_all || self.services.is_half_full() {
            self.services.retain_ports(&keep);
        }
        if drop_all || self.subscriptions.is_half_full() {
            self.subscriptions.retain_ports(&keep);
        }
        for change in self.groups.retain_ports(&keep) {
            self.announce_group(view, change);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.queue.handle_timeout(now);
        self.rmpp.handle_timeout(now);
        self.services.handle_timeout(now);
        self.subscriptions.handle_timeout(now);
    }

    /// Notes that a datagram was not sent or not delivered.
    pub(crate) fn handle_send_failed(&mut self, mad: &Mad) {
        if !self.rmpp.handle_undelivered(mad) {
            self.subscriptions.handle_send_failed(mad);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let timers = [
            self.queue.poll_timeout(),
            self.rmpp.poll_timeout(),
            self.services.poll_timeout(),
            self.subscriptions.poll_timeout(),
        ];
        Instant::earliest(timers)
    }

    /// The next datagram to send. Answers are made from `view`, which is `None` until a sweep has ended.
    pub(crate) fn poll_transmit(&mut self, now: Instant, view: Option<View<'_>>) -> Option<Mad> {
        if let Some(refusal) = self.refusals.pop_front() {
            return Some(refusal);
        }
        while let Some((since, work)) = self.queue.pop() {
            let is_late =
                view.is_some_and(|view| now.since(since) > view.config.max_msg_fifo_timeout);
            let answer = match is_late {
                true => refuse(work.first(), MadStatus::BUSY),
                false => self.serve(now, view, work),
            };
            if answer.is_some() {
                return answer;
            }
        }
        let segment = self.rmpp.poll_transmit(now);
        segment.or_else(|| self.subscriptions.poll_transmit(now))
    }

    fn enqueue(&mut self, now: Instant, work: QueueItem) {
        if let Some(refused) = self.queue.push(now, work) {
            let refusal = refuse(refused.first(), MadStatus::BUSY);
            self.refusals.extend(refusal);
        }
    }

    /// Does the next piece of work. `None` if the answer is sent in segments or is not ready yet.
    fn serve(&mut self, now: Instant, view: Option<View<'_>>, work: QueueItem) -> Option<Mad> {
        let Some(view) = view else {
            return refuse(work.first(), MadStatus::BUSY);
        };
        let (request, _) = SaMad::parse(&work.first().bytes, 0).ok()?;
        let context = RequestContext {
            now,
            mad: work.first(),
            request,
            view: view.requested_by(work.first().address.lid, request.sm_key())?,
            part: None,
        };
        if let Some(elsewhere) = redirection::of(context) {
            return Some(elsewhere);
        }
        let key = match &work {
            QueueItem::Request(_) => TableKey::of(context),
            QueueItem::Message(..) | QueueItem::Table(_) => None,
        };
        if let Some(table) = key.as_ref().and_then(|key| self.tables.get(key)) {
            return self.send(context, Ok(SaResponse::Table(table)));
        }
        if let QueueItem::Request(mad) = &work {
            let unknown = self.lane_tables.unknown(context);
            if !unknown.is_empty() {
                let waits = self.lane_tables.read_for(mad, unknown);
                return (!waits).then(|| refuse(mad, MadStatus::BUSY)).flatten();
            }
        }
        let answered = match &work {
            QueueItem::Request(_) => self.answered(context),
            QueueItem::Message(_, data) => requests::multi_path(context, data),
            QueueItem::Table(_) => Ok(SaResponse::InParts(0)),
        };
        if let (Some(key), Ok(SaResponse::Table(table))) = (&key, &answered) {
            self.tables.insert(key.clone(), table.clone());
        }
        if !matches!(answered, Ok(SaResponse::InParts(_))) {
            return self.send(context, answered);
        }
        let table = match (work, answered) {
            (QueueItem::Table(table), _) => table,
            (
                QueueItem::Request(request) | QueueItem::Message(request, _),
                Ok(SaResponse::InParts(step)),
            ) => {
                let nodes = view.subnet.nodes();
                Box::new(TableWork {
                    request,
                    nodes: nodes.map(|(_, node)| node.info().node_guid()).collect(),
                    next: 0,
                    step,
                    attribute_offset: 0,
                    data: BytesMut::new(),
                    key,
                })
            }
            _ => return None,
        };
        self.serve_part(now, view, table)
    }

    /// Makes the next part of a table, and sends the whole table after the last part.
    fn serve_part(
        &mut self,
        now: Instant,
        view: View<'_>,
        mut table: Box<TableWork>,
    ) -> Option<Mad> {
        let mad = table.request;
        let (request, _) = SaMad::parse(&mad.bytes, 0).ok()?;
        let end = table.next.saturating_add(table.step.max(1));
        let end = end.min(table.nodes.len());
        let context = RequestContext {
            now,
            mad: &mad,
            request,
            view: view.requested_by(mad.address.lid, request.sm_key())?,
            part: table.nodes.get(table.next..end),
        };
        // Another requester's table may have become complete meanwhile.
        if let Some(whole) = table.key.as_ref().and_then(|key| self.tables.get(key)) {
            return self.send(context, Ok(SaResponse::Table(whole)));
        }
        let part = match self.answered(context) {
            Ok(SaResponse::Table(part)) => part,
            answered => return self.send(context, answered),
        };
        table.data.extend_from_slice(&part.data);
        table.attribute_offset = part.attribute_offset;
        table.next = end;
        if end < table.nodes.len() {
            self.queue.put_back(now, QueueItem::Table(table));
            return None;
        }
        let whole = RecordTable {
            attribute_offset: table.attribute_offset,
            data: Bytes::from(core::mem::take(&mut table.data)),
        };
        // A table of parts from before and after a change is not kept.
        if let Some(key) = table
            .key
            .filter(|key| TableKey::of(context).as_ref() == Some(key))
        {
            self.tables.insert(key, whole.clone());
        }
        self.send(context, Ok(SaResponse::Table(whole)))
    }

    /// Sends an answer, in segments by RMPP if it is a table.
    fn send(&mut self, context: RequestContext<'_>, answered: Answered) -> Option<Mad> {
        let RequestContext {
            request, mad, now, ..
        } = context;
        let table = match answered {
            Ok(SaResponse::Single(response)) => return Some(reply(mad, &response)),
            Ok(SaResponse::Table(table)) => table,
            Ok(SaResponse::InParts(_)) => return None,
            Err(status) => return Some(reply(mad, &request.refuse(status))),
        };
        let mut headers = request.refuse(MadStatus::OK);
        headers.set_attribute_offset(table.attribute_offset);
        let status = match self.rmpp.send(now, &reply(mad, &headers), table.data) {
            // The request was repeated while its answer is still being sent.
            Ok(_) | Err(RmppError::Duplicate) => return None,
            Err(RmppError::Busy) => MadStatus::BUSY,
            Err(_) => MadStatus::from_sa(SaStatus::NO_RESOURCES),
        };
        Some(reply(mad, &request.refuse(status)))
    }
}

/// The answer to a request that is refused before it is examined.
fn refuse(mad: &Mad, status: MadStatus) -> Option<Mad> {
    let (request, _) = SaMad::parse(&mad.bytes, 0).ok()?;
    Some(reply(mad, &request.refuse(status)))
}
