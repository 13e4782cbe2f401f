//! The subnet administrator: answers queries about the subnet, and keeps what hosts register with it
//! (IBA vol. 1, 15.4).
//!
//! A query is one record as a template and a mask of the components that count. Get wants exactly
//! one record, GetTable any number, as one message of many segments. Answers come from what the last
//! sweep found; until one has ended the answer is BUSY. Without the right SM_Key a requester sees only
//! ports in its own partitions.

mod answer;
pub(crate) mod groups;
mod guids;
mod limits;
mod multi_path;
mod path;
mod policy;
mod records;
mod scope;
mod services;
mod subscriptions;
mod trace;
mod view;

use alloc::vec::Vec;

use bytes::Bytes;
use ib_mad::{
    Attribute, ClassCapabilities, ClassPortInfo, Engine, InformInfo, Instant, Mad, MadStatus,
    Method, MgmtClass, Notice, NoticeType, ProducerType, RespTime, Rmpp, RmppConfig, RmppEvent,
    SaStatus, TrapNumber, WindowConfig,
};
use ib_sa::{
    GuidInfoRecord, InformInfoRecord, LinearForwardingTableRecord, LinkRecord, McMemberComponents,
    McMemberRecord, MultiPathQuery, MultiPathRecord, MulticastForwardingTableRecord, NodeRecord,
    PKeyTableRecord, PathRecord, PortInfoRecord, SaMad, ServiceRecord, SlToVlMappingTableRecord,
    SmInfoRecord, SwitchInfoRecord, TraceRecord, VlArbitrationTableRecord,
};
use ib_wire::{Gid, Guid};

use self::{
    answer::{Answer, Answered, chosen, reply, select},
    groups::{Candidate, GroupChange, Groups},
    scope::Scope,
    services::Services,
    subscriptions::Subscriptions,
};
pub(crate) use self::{
    guids::AliasGuids,
    view::{Requester, View},
};

use crate::registrations::Registrations;

/// Answers of many segments at once; beyond, the answer is BUSY.
const MAX_TRANSFERS: usize = 64;

/// CapabilityMask of the class: optional records, multicast, several paths, and PortInfoRecords by
/// single bits of their CapabilityMask. Source: `capability_masks.csv`.
const CAPABILITIES: u16 = 1 << 8 | 1 << 9 | 1 << 10 | 1 << 13;

/// What hosts registered, and the answers that are being sent.
#[derive(Debug)]
pub(crate) struct SubnetAdministrator {
    pub(crate) groups: Groups,
    pub(crate) guids: AliasGuids,
    services: Services,
    subscriptions: Subscriptions,
    rmpp: Rmpp,
    /// Counts what may have changed what is kept.
    version: u64,
}

/// Numbers of registrations that the administrator keeps for hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistrationCounts {
    /// Multicast groups.
    pub groups: usize,
    /// Memberships of them.
    pub memberships: usize,
    /// Services.
    pub services: usize,
    /// Subscriptions to notices.
    pub subscriptions: usize,
}

/// A request and what came with it.
#[derive(Clone, Copy)]
struct RequestContext<'a> {
    now: Instant,
    mad: &'a Mad,
    request: &'a SaMad,
    view: View<'a>,
}

impl SubnetAdministrator {
    /// One that knows nothing yet; `window` is for its Reports.
    pub(crate) fn new(window: WindowConfig) -> Self {
        Self {
            groups: Groups::default(),
            guids: AliasGuids::default(),
            services: Services::default(),
            subscriptions: Subscriptions::new(window),
            rmpp: Rmpp::new(RmppConfig::default()),
            version: 0,
        }
    }

    /// What hosts registered.
    pub(crate) fn registrations(&self, now: Instant) -> Registrations {
        Registrations {
            groups: self.groups.registrations(),
            subscriptions: self.subscriptions.registrations(),
            services: self.services.records(now, true).collect(),
            guids: self.guids.registrations(),
        }
    }

    /// Takes in what hosts registered before a restart. Returns whether all of it has a place.
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

    /// Rises whenever anything that is kept may have changed.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// How many registrations it keeps.
    pub(crate) fn counts(&self) -> RegistrationCounts {
        RegistrationCounts {
            groups: self.groups.iter().count(),
            memberships: self.groups.iter().map(|group| group.ports().count()).sum(),
            services: self.services.len(),
            subscriptions: self.subscriptions.len(),
        }
    }

    /// Answers a request. `None` if the answer goes out in segments, or there is none.
    pub(crate) fn handle_request(
        &mut self,
        now: Instant,
        view: Option<View<'_>>,
        mad: &Mad,
    ) -> Option<Mad> {
        let (request, _) = SaMad::parse(&mad.bytes, 0).ok()?;
        let Some(view) = view else {
            return Some(reply(mad, &request.refuse(MadStatus::BUSY)));
        };
        let context = RequestContext {
            now,
            mad,
            request,
            view: view.requested_by(mad.address.lid, request.sm_key()),
        };
        let answered = self.answered(context);
        self.send(context, answered)
    }

    /// Takes in a datagram of a transfer or an answer to a Report. Returns whether it is one.
    pub(crate) fn handle_transfer(&mut self, now: Instant, mad: &Mad) -> bool {
        let header = mad.header();
        let is_ours = header.base_version() == 1
            && header.mgmt_class() == MgmtClass::SUBN_ADM
            && header.class_version() == SaMad::CLASS_VERSION;
        is_ours && (self.subscriptions.handle_mad(now, mad) || self.rmpp.handle_mad(now, mad))
    }

    /// The next request that came in segments: its first datagram and its data.
    pub(crate) fn poll_message(&mut self) -> Option<(Mad, Bytes)> {
        while let Some(event) = self.rmpp.poll_event() {
            if let RmppEvent::Received(message) = event {
                return Some((message.first, message.data));
            }
        }
        None
    }

    /// Answers a request of many segments: MultiPathRecord is the one that has them.
    pub(crate) fn handle_message(
        &mut self,
        now: Instant,
        view: Option<View<'_>>,
        first: &Mad,
        data: &[u8],
    ) -> Option<Mad> {
        let (request, _) = SaMad::parse(&first.bytes, 0).ok()?;
        let view = view?.requested_by(first.address.lid, request.sm_key());
        let context = RequestContext {
            now,
            mad: first,
            request,
            view,
        };
        let answered = multi_path(context, data);
        self.send(context, answered)
    }

    /// Tells subscribers what a device reported.
    pub(crate) fn forward(&mut self, view: View<'_>, notice: &Notice) {
        self.subscriptions
            .report(notice, |gid| view.port_of(gid).is_some());
    }

    /// Tells subscribers that a port came (trap 64) or went (trap 65), or a group did (66, 67).
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

    /// Announces what a join, a leave or the start did to the groups.
    pub(crate) fn announce_group(&mut self, view: View<'_>, change: GroupChange) {
        let (trap, mgid) = match change {
            GroupChange::Created(mgid) => (TrapNumber::MC_GROUP_CREATED, mgid),
            GroupChange::Deleted(mgid) => (TrapNumber::MC_GROUP_DELETED, mgid),
        };
        self.announce(view, trap, mgid);
    }

    /// Drops the registrations of ports that are gone.
    pub(crate) fn retain_ports(&mut self, view: View<'_>, keep: impl Fn(Guid) -> bool) {
        self.version = self.version.wrapping_add(1);
        self.services.retain_ports(&keep);
        self.subscriptions.retain_ports(&keep);
        for change in self.groups.retain_ports(&keep) {
            self.announce_group(view, change);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.rmpp.handle_timeout(now);
        self.services.handle_timeout(now);
        self.subscriptions.handle_timeout(now);
    }

    pub(crate) fn handle_send_failed(&mut self, mad: &Mad) {
        self.subscriptions.handle_send_failed(mad);
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let timers = [
            self.rmpp.poll_timeout(),
            self.services.poll_timeout(),
            self.subscriptions.poll_timeout(),
        ];
        timers.into_iter().flatten().min()
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        let segment = self.rmpp.poll_transmit(now);
        segment.or_else(|| self.subscriptions.poll_transmit(now))
    }

    fn answered(&mut self, context: RequestContext<'_>) -> Answered {
        let RequestContext { request, view, .. } = context;
        if matches!(request.method(), Method::SET | Method::DELETE) {
            self.version = self.version.wrapping_add(1);
        }
        match request.attribute_id() {
            ClassPortInfo::ID => class_port_info(request),
            NodeRecord::ID => select(
                request,
                records::nodes(view, Scope::of_node(view, request)?),
            ),
            PortInfoRecord::ID => {
                let modifier = request.attribute_modifier();
                let scope = Scope::of(view, request, PortInfoRecord::endport_lid)?;
                chosen(
                    request,
                    records::ports(view, scope),
                    |record, template: &PortInfoRecord| {
                        record.matches_query(template, request.component_mask(), modifier)
                    },
                )
            }
            SwitchInfoRecord::ID => {
                let scope = Scope::of(view, request, SwitchInfoRecord::lid)?;
                select(request, records::switches(view, scope))
            }
            LinkRecord::ID => {
                let scope = Scope::of(view, request, LinkRecord::from_lid)?;
                select(request, records::links(view, scope))
            }
            LinearForwardingTableRecord::ID => {
                let scope = Scope::of(view, request, LinearForwardingTableRecord::lid)?;
                select(request, records::forwarding_tables(view, scope))
            }
            MulticastForwardingTableRecord::ID => {
                let scope = Scope::of(view, request, MulticastForwardingTableRecord::lid)?;
                select(request, records::multicast_tables(view, scope))
            }
            SlToVlMappingTableRecord::ID => {
                let scope = Scope::of(view, request, SlToVlMappingTableRecord::lid)?;
                select(request, records::sl_to_vl_tables(view, scope))
            }
            VlArbitrationTableRecord::ID => {
                let scope = Scope::of(view, request, VlArbitrationTableRecord::lid)?;
                select(request, records::vl_arbitration_tables(view, scope))
            }
            PKeyTableRecord::ID => {
                let scope = Scope::of(view, request, PKeyTableRecord::lid)?;
                select(request, records::p_key_tables(view, scope))
            }
            SmInfoRecord::ID => select(request, records::managers(view)),
            GuidInfoRecord::ID => self.guid_info(context),
            PathRecord::ID => {
                let template = request.template::<PathRecord>().map_err(unreadable)?;
                let mask = request.component_mask();
                let paths = path::paths(view, &self.groups, template, mask, request.method());
                let paths = paths.map_err(MadStatus::from_sa)?;
                chosen(request, paths, |_, _| true)
            }
            TraceRecord::ID => self.trace(request, view),
            MultiPathRecord::ID => multi_path(context, request.data()),
            InformInfo::ID => self.subscribe(context),
            InformInfoRecord::ID => select(request, self.subscriptions.records()),
            ServiceRecord::ID => self.service(context),
            McMemberRecord::ID => self.mc_member(context),
            _ => Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE),
        }
    }

    fn guid_info(&mut self, context: RequestContext<'_>) -> Answered {
        let RequestContext { request, view, .. } = context;
        let template = request.template::<GuidInfoRecord>().map_err(unreadable)?;
        let mask = request.component_mask();
        match request.method() {
            Method::SET | Method::DELETE => {
                let delete = request.method() == Method::DELETE;
                let changed = self.guids.change(view, template, mask, delete);
                let record = changed.map_err(MadStatus::from_sa)?;
                Ok(Answer::Single(request.answer(&record)))
            }
            _ => {
                let scope = Scope::of(view, request, GuidInfoRecord::lid)?;
                select(request, records::guid_infos(view, &self.guids, scope))
            }
        }
    }

    /// GetTraceTable, whose template is a PathRecord.
    fn trace(&self, request: &SaMad, view: View<'_>) -> Answered {
        if request.method() != Method::GET_TRACE_TABLE {
            return Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
        }
        let (template, _) = PathRecord::parse(request.data(), 0).map_err(unreadable)?;
        let hops = trace::trace(view, &self.groups, template, request.component_mask());
        let hops = hops.map_err(MadStatus::from_sa)?;
        Ok(Answer::table(&hops))
    }

    fn subscribe(&mut self, context: RequestContext<'_>) -> Answered {
        let RequestContext {
            request, mad, view, ..
        } = context;
        if request.method() != Method::SET {
            return Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
        }
        let (wanted, _) = InformInfo::parse(request.data(), 0).map_err(unreadable)?;
        let Some(gid) = view.requester_gid() else {
            return Err(MadStatus::from_sa(SaStatus::REQ_INVALID));
        };
        let kept = self.subscriptions.set(mad.address, gid, wanted)?;
        let mut response = request.refuse(MadStatus::OK);
        let mut data = [0; 200];
        for (to, &from) in data.iter_mut().zip(kept.as_bytes()) {
            *to = from;
        }
        response.set_data(&data);
        Ok(Answer::Single(response))
    }

    fn service(&mut self, context: RequestContext<'_>) -> Answered {
        let RequestContext {
            request, view, now, ..
        } = context;
        let template = request.template::<ServiceRecord>().map_err(unreadable)?;
        let mask = request.component_mask();
        let changed = match request.method() {
            Method::SET => self.services.register(now, template, mask),
            Method::DELETE => self.services.delete(template, mask),
            _ => {
                let records = self.services.records(now, view.is_trusted());
                let seen = records.filter(|record| view.requester_has(record.service_p_key()));
                return select(request, seen);
            }
        };
        let record = changed.map_err(MadStatus::from_sa)?;
        Ok(Answer::Single(request.answer(&record)))
    }

    fn mc_member(&mut self, context: RequestContext<'_>) -> Answered {
        let RequestContext { request, view, .. } = context;
        let template = request.template::<McMemberRecord>().map_err(unreadable)?;
        let mask = request.component_mask();
        let changed = match request.method() {
            Method::SET => {
                let gid = template.port_gid();
                let port = view.port_of(gid).and_then(|port| view.subnet.port(port));
                let candidate = port.map(|port| Candidate {
                    gid: view.gid(port),
                    port,
                    is_requester: view.requester_gid() == Some(view.gid(port)),
                });
                let candidate = candidate.ok_or(MadStatus::from_sa(SaStatus::REQ_INVALID_GID))?;
                self.groups.join(view.config, candidate, template, mask)
            }
            Method::DELETE => {
                let port = view.port_of(template.port_gid());
                let port = port.and_then(|port| view.subnet.port(port));
                let gid = port.map_or(template.port_gid(), |port| view.gid(port));
                let is_requester = view.requester_gid() == Some(gid);
                self.groups.leave(gid, is_requester, template, mask)
            }
            _ => {
                let given = McMemberComponents::from_bits_retain(mask.0);
                let named = given.contains(McMemberComponents::MGID);
                let mgid = named.then(|| template.mgid());
                let seen = |p_key| view.requester_has(p_key);
                return select(request, self.groups.records(mgid, view.is_trusted(), seen));
            }
        };
        let (record, change) = changed.map_err(MadStatus::from_sa)?;
        if let Some(change) = change {
            self.announce_group(view, change);
        }
        Ok(Answer::Single(request.answer(&record)))
    }

    /// Sends an answer, or lets RMPP do so.
    fn send(&mut self, context: RequestContext<'_>, answered: Answered) -> Option<Mad> {
        let RequestContext {
            request, mad, now, ..
        } = context;
        let table = match answered {
            Ok(Answer::Single(response)) => return Some(reply(mad, &response)),
            Ok(Answer::Table(table)) => table,
            Err(status) => return Some(reply(mad, &request.refuse(status))),
        };
        if self.rmpp.sending() >= MAX_TRANSFERS {
            return Some(reply(mad, &request.refuse(MadStatus::BUSY)));
        }
        let mut headers = request.refuse(MadStatus::OK);
        headers.set_attribute_offset(table.attribute_offset);
        match self.rmpp.send(now, &reply(mad, &headers), table.data) {
            // The request was repeated while its answer is on the way.
            Ok(_) | Err(ib_mad::RmppError::Duplicate) => None,
            Err(_) => {
                let status = MadStatus::from_sa(SaStatus::NO_RESOURCES);
                Some(reply(mad, &request.refuse(status)))
            }
        }
    }
}

fn class_port_info(request: &SaMad) -> Answered {
    if request.method() != Method::GET {
        return Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    }
    let mut info = ClassPortInfo::default();
    info.set_base_version(1)
        .set_class_version(SaMad::CLASS_VERSION)
        .set_capability_mask(ClassCapabilities::from_bits_retain(CAPABILITIES))
        .set_resp_time_value(RespTime::from_bits(16));
    let mut response = request.refuse(MadStatus::OK);
    let mut data = [0; 200];
    for (to, &from) in data.iter_mut().zip(info.as_bytes()) {
        *to = from;
    }
    response.set_data(&data);
    Ok(Answer::Single(response))
}

fn multi_path(context: RequestContext<'_>, data: &[u8]) -> Answered {
    let RequestContext { request, view, .. } = context;
    if request.method() != Method::GET_MULTI {
        return Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    }
    let query = MultiPathQuery::parse(data).map_err(unreadable)?;
    let paths = multi_path::paths(view, query, request.component_mask());
    let paths: Vec<PathRecord> = paths.map_err(MadStatus::from_sa)?;
    Ok(Answer::table(&paths))
}

/// A record that does not fit in its datagram.
fn unreadable<E>(_: E) -> MadStatus {
    MadStatus::from_sa(SaStatus::REQ_INVALID)
}
