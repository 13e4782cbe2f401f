//! The answers to requests, by attribute (IBA vol. 1, 15.2.5 and 15.4).

use alloc::vec::Vec;
use core::iter::empty;

use ib_mad::{
    Attribute, ClassCapabilities, ClassPortInfo, InformInfo, MadStatus, Method, RespTime, SaStatus,
};
use ib_sa::{
    ComponentMask, GuidInfoRecord, InformInfoRecord, LinearForwardingTableRecord, LinkRecord,
    McMemberComponents, McMemberRecord, MultiPathQuery, MultiPathRecord,
    MulticastForwardingTableRecord, NodeRecord, PKeyTableRecord, PathRecord,
    PortInfoExtendedRecord, PortInfoRecord, RandomForwardingTableRecord, Record, SaCapabilities,
    SaMad, ServiceAssociationComponents, ServiceAssociationRecord, ServiceRecord,
    SlToVlMappingTableComponents, SlToVlMappingTableRecord, SmInfoRecord, SwitchInfoRecord,
    TraceRecord, VlArbitrationTableComponents, VlArbitrationTableRecord,
};
use ib_wire::{Lid, table::padded};

use super::{
    RequestContext, SubnetAdministrator, View,
    answer::{Answered, SaResponse, chosen, select},
    groups::Candidate,
    multi_path, path, records, redirection,
    scope::QueryScope,
    trace,
};

/// Maximum number of nodes whose records make a table in one go; a longer table is made in parts.
pub(super) const NODES_AT_ONCE: usize = 128;
/// Number of nodes in a part of a table: about a millisecond of work.
const NODES_IN_PART: usize = 64;

impl SubnetAdministrator {
    /// The answer to a request.
    pub(super) fn answered(&mut self, context: RequestContext<'_>) -> Answered {
        let RequestContext { request, view, .. } = context;
        if matches!(request.method(), Method::SET | Method::DELETE) {
            self.version = self.version.wrapping_add(1);
        }
        match request.attribute_id() {
            ClassPortInfo::ID => class_port_info(context),
            NodeRecord::ID => of_nodes(context, QueryScope::of_node, records::nodes),
            PortInfoRecord::ID => of_nodes_by(
                context,
                |view, template: &PortInfoRecord, mask| {
                    QueryScope::of(view, template.endport_lid(), mask)
                },
                records::ports,
                |record, template, mask| {
                    record.matches_query(template, mask, request.attribute_modifier())
                },
            ),
            // The manager reads PortInfoExtended of no port.
            PortInfoExtendedRecord::ID => {
                of_port(context, PortInfoExtendedRecord::endport_lid, |_, _| empty())
            }
            SwitchInfoRecord::ID => of_port(context, SwitchInfoRecord::lid, records::switches),
            LinkRecord::ID => of_port(context, LinkRecord::from_lid, records::links),
            LinearForwardingTableRecord::ID => of_port(
                context,
                LinearForwardingTableRecord::lid,
                records::forwarding_tables,
            ),
            // The manager uses linear tables in all switches and writes no others.
            RandomForwardingTableRecord::ID => {
                of_port(context, RandomForwardingTableRecord::lid, |_, _| empty())
            }
            MulticastForwardingTableRecord::ID => of_port(
                context,
                MulticastForwardingTableRecord::lid,
                records::multicast_tables,
            ),
            SlToVlMappingTableRecord::ID => of_nodes_by(
                context,
                |view, template: &SlToVlMappingTableRecord, mask| {
                    QueryScope::of(view, template.lid(), mask)
                },
                records::sl_to_vl_tables,
                |record, template, mask| {
                    let ports = SlToVlMappingTableComponents::INPUT_PORT_NUM
                        | SlToVlMappingTableComponents::OUTPUT_PORT_NUM;
                    let mask = without_ports_of_end_node(view, record.lid(), mask, ports.into());
                    record.matches(template, mask)
                },
            ),
            VlArbitrationTableRecord::ID => of_nodes_by(
                context,
                |view, template: &VlArbitrationTableRecord, mask| {
                    QueryScope::of(view, template.lid(), mask)
                },
                records::vl_arbitration_tables,
                |record, template, mask| {
                    let port = VlArbitrationTableComponents::OUTPUT_PORT_NUM;
                    let mask = without_ports_of_end_node(view, record.lid(), mask, port.into());
                    record.matches(template, mask)
                },
            ),
            // Partitions are shown only to requesters with the SM_Key (15.2.5.18).
            PKeyTableRecord::ID if !view.is_trusted() => {
                Err(MadStatus::from_sa(SaStatus::REQ_INVALID))
            }
            PKeyTableRecord::ID => of_port(context, PKeyTableRecord::lid, records::p_key_tables),
            SmInfoRecord::ID => select(request, records::managers(view)),
            GuidInfoRecord::ID => self.guid_info(context),
            PathRecord::ID => self.paths(context),
            TraceRecord::ID => self.trace(context),
            MultiPathRecord::ID => multi_path(context, request.data()),
            InformInfo::ID => self.subscribe(context),
            InformInfoRecord::ID => {
                let own = view.requester_gid();
                let visible = |record: &InformInfoRecord| {
                    view.is_trusted() || own == Some(record.subscriber_gid())
                };
                let records = self.subscriptions.records().into_iter();
                select(request, records.filter(visible))
            }
            ServiceRecord::ID => self.service(context),
            ServiceAssociationRecord::ID => self.service_associations(context),
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
                Ok(SaResponse::Single(request.answer(&record)))
            }
            _ => of_port(context, GuidInfoRecord::lid, |view, scope| {
                records::guid_infos(view, &self.guids, scope)
            }),
        }
    }

    fn paths(&self, context: RequestContext<'_>) -> Answered {
        let RequestContext {
            request,
            view,
            part,
            ..
        } = context;
        let template = request.template::<PathRecord>().map_err(unreadable)?;
        let mask = request.component_mask();
        if request.method() == Method::GET_TABLE && part.is_none() {
            let step = path::nodes_in_part(view, mask).map_err(MadStatus::from_sa)?;
            if let Some(step) = step {
                return Ok(SaResponse::InParts(step));
            }
        }
        let paths = path::paths(view, &self.groups, template, mask, request.method(), part);
        chosen(request, paths.map_err(MadStatus::from_sa)?, |_, _| true)
    }

    /// GetTraceTable, whose template is a PathRecord.
    fn trace(&self, context: RequestContext<'_>) -> Answered {
        let RequestContext { request, view, .. } = context;
        if request.method() != Method::GET_TRACE_TABLE {
            return Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
        }
        let (template, _) = PathRecord::parse(request.data(), 0).map_err(unreadable)?;
        let hops = trace::trace(view, &self.groups, template, request.component_mask());
        let hops = hops.map_err(MadStatus::from_sa)?;
        Ok(SaResponse::table(&hops))
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
        response.set_data(&padded(kept.as_bytes()));
        Ok(SaResponse::Single(response))
    }

    fn service(&mut self, context: RequestContext<'_>) -> Answered {
        let RequestContext {
            request, view, now, ..
        } = context;
        let template = request.template::<ServiceRecord>().map_err(unreadable)?;
        let mask = request.component_mask();
        let changed = match request.method() {
            Method::SET => self
                .services
                .register(now, view.requester_guid(), template, mask),
            Method::DELETE => self.services.delete(template, mask),
            _ => {
                let records = self.services.records(now, view.is_trusted());
                let seen = records.filter(|record| view.requester_has(record.service_p_key()));
                return select(request, seen);
            }
        };
        let record = changed.map_err(MadStatus::from_sa)?;
        Ok(SaResponse::Single(request.answer(&record)))
    }

    /// The names of services by their keys. A trusted requester gets all; others must show the key and share the
    /// partition.
    fn service_associations(&self, context: RequestContext<'_>) -> Answered {
        let RequestContext {
            request, view, now, ..
        } = context;
        let given = ServiceAssociationComponents::from_bits_retain(request.component_mask().0);
        let shows_key = given.contains(ServiceAssociationComponents::SERVICE_KEY);
        let services = self.services.records(now, true);
        let visible = services.filter(|service| {
            view.is_trusted() || (shows_key && view.requester_has(service.service_p_key()))
        });
        let records = visible.map(|service| {
            let mut record = ServiceAssociationRecord::default();
            record
                .set_service_key(service.service_key())
                .set_service_name(service.service_name());
            record
        });
        select(request, records)
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
                self.groups.join(
                    view.config,
                    view.requester_guid(),
                    candidate,
                    template,
                    mask,
                )
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
        Ok(SaResponse::Single(request.answer(&record)))
    }
}

fn class_port_info(context: RequestContext<'_>) -> Answered {
    let RequestContext { request, view, .. } = context;
    if request.method() != Method::GET {
        return Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    }
    let mut response = request.refuse(MadStatus::OK);
    response.set_data(&padded(own_class_port_info(view).as_bytes()));
    Ok(SaResponse::Single(response))
}

/// The administrator's ClassPortInfo, with the port that answers instead of it.
pub(super) fn own_class_port_info(view: View<'_>) -> ClassPortInfo {
    let capabilities = [
        SaCapabilities::IS_SUBNET_OPTIONAL_RECORDS_SUPPORTED,
        SaCapabilities::IS_UD_MULTICAST_SUPPORTED,
        SaCapabilities::IS_MULTI_PATH_SUPPORTED,
        SaCapabilities::IS_PORT_INFO_CAP_MASK_MATCH_SUPPORTED,
    ];
    let capabilities = SaCapabilities::from_iter(capabilities);
    let mut info = ClassPortInfo::default();
    info.set_base_version(1)
        .set_class_version(SaMad::CLASS_VERSION)
        .set_capability_mask(ClassCapabilities::from_bits_retain(capabilities.bits()))
        .set_resp_time_value(RespTime::from_bits(16));
    redirection::name(view, &mut info);
    info
}

pub(super) fn multi_path(context: RequestContext<'_>, data: &[u8]) -> Answered {
    let RequestContext { request, view, .. } = context;
    if request.method() != Method::GET_MULTI {
        return Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    }
    let query = MultiPathQuery::parse(data).map_err(unreadable)?;
    let paths = multi_path::paths(view, query, request.component_mask());
    let paths: Vec<PathRecord> = paths.map_err(MadStatus::from_sa)?;
    Ok(SaResponse::table(&paths))
}

/// Records about ports that begin with the LID of the port.
fn of_port<'a, R, I>(
    context: RequestContext<'a>,
    lid: impl FnOnce(&R) -> Lid,
    all: impl FnOnce(View<'a>, QueryScope<'a>) -> I,
) -> Answered
where
    R: Record,
    I: Iterator<Item = R>,
{
    let scope = |view: View<'_>, template: &R, mask| QueryScope::of(view, lid(template), mask);
    of_nodes(context, scope, all)
}

/// Records about nodes; `scope` selects the nodes that the template names.
fn of_nodes<'a, R, I>(
    context: RequestContext<'a>,
    scope: impl FnOnce(View<'a>, &R, ComponentMask) -> QueryScope<'a>,
    all: impl FnOnce(View<'a>, QueryScope<'a>) -> I,
) -> Answered
where
    R: Record,
    I: Iterator<Item = R>,
{
    of_nodes_by(context, scope, all, |record, template, mask| {
        record.matches(template, mask)
    })
}

/// As [`of_nodes`], for records that match a template by a special rule. A table of many nodes is made in parts.
fn of_nodes_by<'a, R, I>(
    context: RequestContext<'a>,
    scope: impl FnOnce(View<'a>, &R, ComponentMask) -> QueryScope<'a>,
    all: impl FnOnce(View<'a>, QueryScope<'a>) -> I,
    matches: impl Fn(&R, &R, ComponentMask) -> bool,
) -> Answered
where
    R: Record,
    I: Iterator<Item = R>,
{
    let RequestContext {
        request,
        view,
        part,
        ..
    } = context;
    let template = request.template::<R>().map_err(unreadable)?;
    let mask = request.component_mask();
    let scope = match (scope(view, template, mask), part) {
        (QueryScope::All, Some(nodes)) => QueryScope::Listed(nodes),
        (QueryScope::All, None)
            if request.method() == Method::GET_TABLE
                && view.subnet.nodes().count() > NODES_AT_ONCE =>
        {
            return Ok(SaResponse::InParts(NODES_IN_PART));
        }
        (scope, _) => scope,
    };
    chosen(request, all(view, scope), |record, template| {
        matches(record, template, mask)
    })
}

/// The mask without the components `ports` if the record's LID is not a switch's: the port of a CA follows from its LID,
/// and OpenSM 3.3.23 does not look at the numbers.
fn without_ports_of_end_node(
    view: View<'_>,
    lid: Lid,
    mask: ComponentMask,
    ports: ComponentMask,
) -> ComponentMask {
    let owner = view.port_with(lid);
    let owner = owner.and_then(|port| view.subnet.node(port.node));
    if owner.is_none_or(|node| node.is_switch()) {
        return mask;
    }
    ComponentMask(mask.0 & !ports.0)
}

/// The status for a record that does not fit in its datagram.
pub(super) fn unreadable<E>(_: E) -> MadStatus {
    MadStatus::from_sa(SaStatus::REQ_INVALID)
}
