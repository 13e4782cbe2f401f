//! PathRecord: the paths between two ports by the tables that are installed (IBA vol. 1, 15.2.5.16 and 15.4.1).
//!
//! The path is followed port by port: its MTU and rate are those of its weakest link. A query that names neither
//! end is answered if there are at most [`MAX_PATHS`] paths.

mod remote;

use alloc::vec::Vec;

use ib_mad::{Method, SaStatus};
use ib_routing::SlTable;
use ib_sa::{ComponentMask, McMemberRecord, PathComponents, PathRecord, Selector};
use ib_smp::NodeType;
use ib_wire::{Gid, GidPrefix, Guid, Lid, PortNum, addr::LidRange};

use super::{
    View, groups::Groups, limits::Limits, policy, quirks, rates, records::end_ports,
    scope::QueryScope,
};
use ib_subnet::{NodeId, PortId, SubnetPort};

/// Maximum number of paths in a table.
pub(super) const MAX_PATHS: usize = 1 << 16;
/// Number of paths in a part of a table: about a millisecond of work.
const PATHS_IN_PART: usize = 2048;
/// Maximum number of switches on a path.
const MAX_HOPS: u8 = 64;

/// One end of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct End<'a> {
    pub(super) at: PortId,
    port: &'a SubnetPort,
    /// The GID of the GUID that the query names, which may be an alias, otherwise that of the port's own GUID; for a
    /// router the GID of the port of another subnet that it leads to.
    gid: Gid,
    lids: LidRange,
}

/// A node on a path, and the ports by which a packet enters and leaves it; 0 at the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    pub(super) node: NodeId,
    pub(super) entry: PortNum,
    pub(super) exit: PortNum,
}

/// The paths that match a query.
///
/// For a query that leaves an end open, `part` is a list of nodes for that end, or for the source if both are
/// open.
///
/// # Errors
/// The status of the answer, if there are too many paths or a GID belongs to no port.
pub(super) fn paths(
    view: View<'_>,
    groups: &Groups,
    template: &PathRecord,
    mask: ComponentMask,
    method: Method,
    part: Option<&[Guid]>,
) -> Result<Vec<PathRecord>, SaStatus> {
    let given = PathComponents::from_bits_retain(mask.0);
    let sgid = given
        .contains(PathComponents::SGID)
        .then(|| template.sgid());
    let slid = given
        .contains(PathComponents::SLID)
        .then(|| template.slid());
    let dgid = given
        .contains(PathComponents::DGID)
        .then(|| template.dgid());
    let dlid = given
        .contains(PathComponents::DLID)
        .then(|| template.dlid());
    let is_open = matches!((sgid, slid), (None, None));
    let sources = match part.filter(|_| is_open) {
        Some(nodes) => Ends::All(all_ends(view, QueryScope::Listed(nodes))),
        None => Ends::of(view, sgid, slid),
    };
    let sources = sources.as_slice();
    if sgid.is_some() && sources.is_empty() {
        return Err(SaStatus::REQ_INVALID_GID);
    }
    let group = dgid
        .and_then(|gid| groups.find(gid))
        .or_else(|| groups.find_lid(dlid.filter(|lid| lid.is_multicast())?))
        .map(|group| &group.parameters);
    if let Some(group) = group {
        let paths = sources.iter().filter_map(|&source| {
            let path = path_to_group(source, slid, group);
            asked_for(view, source, None, path?, template, given)
        });
        return Ok(paths.collect());
    }
    // Get returns one path, however many LIDs the two ends have.
    let most = match given.contains(PathComponents::NUMB_PATH) {
        _ if method == Method::GET => 1,
        true => usize::from(template.numb_path()),
        false => usize::MAX,
    };
    if let Some(destination) = remote::destination(view, dgid, dlid) {
        let p_key = given.contains(PathComponents::P_KEY);
        let p_key = p_key.then(|| template.p_key());
        let accessible = sources.iter().filter(|source| view.may_access(source.at));
        let paths = accessible.flat_map(|&source| {
            let pairs = lid_pairs(source.lids, slid, destination.lids, dlid);
            let paths = pairs.filter_map(move |lids| {
                let path = remote::path(view, source, destination, lids, p_key);
                asked_for(view, source, None, path?, template, given)
            });
            paths.take(most)
        });
        return Ok(paths.take(MAX_PATHS).collect());
    }
    let destinations = match dgid.filter(|&gid| is_elsewhere(view, gid)) {
        Some(gid) => Ends::Named(router_to(view, gid, dlid)),
        None => match part.filter(|_| !is_open && dgid.is_none() && dlid.is_none()) {
            Some(nodes) => Ends::All(all_ends(view, QueryScope::Listed(nodes))),
            None => Ends::of(view, dgid, dlid),
        },
    };
    let destinations = destinations.as_slice();
    if dgid.is_some() && destinations.is_empty() {
        return Err(SaStatus::REQ_INVALID_GID);
    }
    if sources.len().saturating_mul(destinations.len()) > MAX_PATHS {
        return Err(SaStatus::NO_RESOURCES);
    }
    let mut found = Vec::new();
    for &source in sources.iter().filter(|source| view.may_access(source.at)) {
        for &destination in destinations.iter().filter(|end| view.may_access(end.at)) {
            let pairs = lid_pairs(source.lids, slid, destination.lids, dlid);
            let paths = pairs.filter_map(|(slid, dlid)| {
                let path = path(view, source, destination, slid, dlid);
                asked_for(view, source, Some(destination), path?, template, given)
            });
            found.extend(paths.take(most));
            if found.len() > MAX_PATHS {
                return Err(SaStatus::NO_RESOURCES);
            }
        }
    }
    Ok(found)
}

/// The number of nodes in each part of a table of paths; `None` if the query names both ends or the table is
/// short.
///
/// # Errors
/// The status of the answer, if there are too many paths.
pub(super) fn nodes_in_part(
    view: View<'_>,
    mask: ComponentMask,
) -> Result<Option<usize>, SaStatus> {
    use PathComponents as C;
    let given = PathComponents::from_bits_retain(mask.0);
    let open = [C::SGID | C::SLID, C::DGID | C::DLID];
    let open = open.iter().filter(|end| !given.intersects(**end)).count();
    if open == 0 {
        return Ok(None);
    }
    let ends = end_ports(view, QueryScope::All).count();
    let each = if open == 2 { ends } else { 1 };
    let paths = ends.saturating_mul(each);
    if paths > MAX_PATHS {
        return Err(SaStatus::NO_RESOURCES);
    }
    let step = PATHS_IN_PART.checked_div(each).unwrap_or(1).max(1);
    Ok((paths > PATHS_IN_PART).then_some(step))
}

/// Paths between two ends for a request with several GIDs; `template` holds the conditions of the request.
pub(super) fn between(
    view: View<'_>,
    sgid: Gid,
    dgid: Gid,
    template: &PathRecord,
    given: PathComponents,
) -> Vec<PathRecord> {
    let accessible =
        |gid| end_of(view, Some(gid), None).filter(|end: &End<'_>| view.may_access(end.at));
    let (Some(source), Some(destination)) = (accessible(sgid), accessible(dgid)) else {
        return Vec::new();
    };
    let pairs = lid_pairs(source.lids, None, destination.lids, None);
    let paths = pairs.filter_map(|(slid, dlid)| {
        let path = path(view, source, destination, slid, dlid);
        asked_for(view, source, Some(destination), path?, template, given)
    });
    paths.collect()
}

/// The end ports that a query names. One is kept without memory of its own, because most queries name both ends.
enum Ends<'a> {
    /// The end port with the GID or LID of the query, if there is one.
    Named(Option<End<'a>>),
    /// Those of many nodes.
    All(Vec<End<'a>>),
}

impl<'a> Ends<'a> {
    /// The end port with this GID and LID, or all of them if neither is given.
    fn of(view: View<'a>, gid: Option<Gid>, lid: Option<Lid>) -> Self {
        match (gid, lid) {
            (None, None) => Self::All(all_ends(view, QueryScope::All)),
            _ => Self::Named(end_of(view, gid, lid)),
        }
    }

    fn as_slice(&self) -> &[End<'a>] {
        match self {
            Self::Named(end) => end.as_slice(),
            Self::All(ends) => ends,
        }
    }
}

/// The end port with a GID and a LID, of which at least one is given. Every port also answers to the default prefix.
pub(super) fn end_of(view: View<'_>, gid: Option<Gid>, lid: Option<Lid>) -> Option<End<'_>> {
    let at = match gid {
        Some(gid) => view.port_of(gid)?,
        None => view.port_with(lid?)?,
    };
    let end = end_at(view, at, gid)?;
    lid.is_none_or(|lid| end.lids.contains(lid)).then_some(end)
}

/// The end ports of these nodes.
fn all_ends<'a>(view: View<'a>, scope: QueryScope<'a>) -> Vec<End<'a>> {
    let all = end_ports(view, scope);
    all.filter_map(|(at, ..)| end_at(view, at, None)).collect()
}

/// An end port under the GUID that the query names, which may be an alias. Its prefix is the subnet's, even if the query
/// names the default prefix.
fn end_at(view: View<'_>, at: PortId, gid: Option<Gid>) -> Option<End<'_>> {
    let port = view.subnet.port(at)?;
    Some(End {
        at,
        port,
        gid: Gid::new(
            view.config.subnet_prefix,
            gid.map_or(port.guid(), |gid| gid.guid()),
        ),
        lids: port.lids()?,
    })
}

/// Returns true if a GID belongs to another subnet: it has neither this subnet's prefix nor the default prefix.
fn is_elsewhere(view: View<'_>, gid: Gid) -> bool {
    let prefixes = [view.config.subnet_prefix, GidPrefix::DEFAULT];
    !gid.is_multicast() && !prefixes.contains(&gid.prefix())
}

/// The router that leads to a port of another subnet, under that port's GID: the first one in the prefix routes
/// that is present.
fn router_to(view: View<'_>, gid: Gid, dlid: Option<Lid>) -> Option<End<'_>> {
    let is_router = |end: &End<'_>| {
        let node = view.subnet.node(end.at.node);
        node.is_some_and(|node| node.info().node_type() == NodeType::ROUTER)
    };
    let mut named = view
        .config
        .prefix_routes
        .to(gid.prefix())
        .filter_map(|route| {
            let named = route
                .guid
                .map(|guid| Gid::new(view.config.subnet_prefix, guid));
            let ends = Ends::of(view, named, dlid);
            ends.as_slice().iter().copied().find(is_router)
        });
    let router = named.next()?;
    Some(End { gid, ..router })
}

/// The pairs of LIDs of two ends that make a path each: the first of both, the second of both, and so on, so that
/// several paths between two ports share as few links as possible.
fn lid_pairs(
    source: LidRange,
    slid: Option<Lid>,
    destination: LidRange,
    dlid: Option<Lid>,
) -> impl Iterator<Item = (Lid, Lid)> {
    let count = |end: LidRange, lid: Option<Lid>| match lid {
        Some(_) => 1,
        None => end.lmc().lid_count(),
    };
    let (sources, destinations) = (count(source, slid), count(destination, dlid));
    let nth = |end: LidRange, lid: Option<Lid>, count: u16, index: u16| {
        let offset = index.checked_rem(count).unwrap_or(0);
        lid.unwrap_or(Lid(end.base().0.saturating_add(offset)))
    };
    (0..sources.max(destinations)).map(move |index| {
        let slid = nth(source, slid, sources, index);
        (slid, nth(destination, dlid, destinations, index))
    })
}

/// Follows the path of a packet to `dlid`, node by node. `None` if the tables do not lead to the destination.
pub(super) fn walk(
    view: View<'_>,
    source: End<'_>,
    destination: End<'_>,
    dlid: Lid,
    mut pass: impl FnMut(Hop) -> Option<()>,
) -> Option<()> {
    let routes = view.plan.routes()?;
    let mut hop = Hop {
        node: source.at.node,
        entry: PortNum(0),
        exit: PortNum(0),
    };
    for _ in 0..=MAX_HOPS {
        if hop.node == destination.at.node && (hop.entry.0 != 0 || source.at == destination.at) {
            return pass(hop);
        }
        // From the source, a CA sends by its cable, a switch by its table.
        hop.exit = match view.plan.switch(hop.node) {
            Some(switch) => routes.port(switch, dlid),
            None if hop.entry.0 == 0 => source.at.port,
            None => return None,
        };
        pass(hop)?;
        // An entry with port 0 in a switch that is not the destination ends the path here, because port 0 has no cable.
        let peer = view.peer(PortId {
            node: hop.node,
            port: hop.exit,
        })?;
        hop = Hop {
            node: peer.node,
            entry: peer.port,
            exit: PortNum(0),
        };
    }
    None
}

/// The path before the conditions of the query are applied.
fn path(
    view: View<'_>,
    source: End<'_>,
    destination: End<'_>,
    slid: Lid,
    dlid: Lid,
) -> Option<PathRecord> {
    let same = source.at == destination.at;
    let mut limits = Limits::default();
    walk(view, source, destination, dlid, |hop| {
        // A node that is gone while its routes are in force limits no path: a repair leads round it.
        let Some(node) = view.subnet.node(hop.node) else {
            return Some(());
        };
        for port in [hop.entry, hop.exit] {
            if port.0 != 0 {
                limits.pass(node.port(port)?)?;
            }
        }
        Some(())
    })?;
    if same {
        limits.pass(source.port)?;
    }
    let mut record = record(view, (slid, dlid), limits)?;
    record
        .set_sgid(source.gid)
        .set_dgid(destination.gid)
        // Only a packet that leaves the subnet passes a router.
        .set_hop_limit(match is_elsewhere(view, destination.gid) {
            true => u8::MAX,
            false => 0,
        })
        .set_p_key(source.port.shared_p_key(destination.port, None)?);
    if same {
        record.set_packet_life_time(0);
    }
    Some(record)
}

/// A path from one LID to another in the routes in force, without its ends and its P_Key.
fn record(view: View<'_>, (slid, dlid): (Lid, Lid), limits: Limits) -> Option<PathRecord> {
    let mut record = PathRecord::default();
    record
        .set_slid(slid)
        .set_dlid(dlid)
        .set_reversible(true)
        .set_sl(view.plan.routes()?.sl(slid, dlid))
        .set_mtu_selector(Selector::EXACTLY)
        .set_mtu(limits.mtu)
        .set_rate_selector(Selector::EXACTLY)
        .set_rate(rates::reduced(view.config, limits.rate))
        .set_packet_life_time_selector(Selector::EXACTLY)
        .set_packet_life_time(view.config.packet_life_time);
    Some(record)
}

/// The path from a port to a multicast group, with the group's parameters.
fn path_to_group(source: End<'_>, slid: Option<Lid>, group: &McMemberRecord) -> Option<PathRecord> {
    let mut record = PathRecord::default();
    record
        .set_sgid(source.gid)
        .set_dgid(group.mgid())
        .set_slid(slid.unwrap_or(source.lids.base()))
        .set_dlid(group.mlid())
        .set_p_key(group.p_key())
        .set_sl(group.sl())
        .set_flow_label(group.flow_label())
        .set_hop_limit(group.hop_limit())
        .set_tclass(group.tclass())
        .set_mtu_selector(Selector::EXACTLY)
        .set_mtu(group.mtu())
        .set_rate_selector(Selector::EXACTLY)
        .set_rate(group.rate())
        .set_packet_life_time_selector(Selector::EXACTLY)
        .set_packet_life_time(group.packet_life_time());
    source.port.has_p_key(group.p_key()).then_some(record)
}

/// Adapts a path to the MTU, rate, lifetime, partition and service level of a query; `None` if the path cannot
/// meet them.
fn asked_for(
    view: View<'_>,
    source: End<'_>,
    destination: Option<End<'_>>,
    mut path: PathRecord,
    template: &PathRecord,
    given: PathComponents,
) -> Option<PathRecord> {
    use PathComponents as C;
    if let Some(destination) = destination {
        quirks::apply(
            view,
            [source.at, destination.at],
            &mut path,
            template,
            given,
        );
        policy::apply(view, source.at, destination.at, &mut path, template, given)?;
    }
    if given.contains(C::MTU_SELECTOR | C::MTU) {
        let selector = template.mtu_selector();
        path.set_mtu(selector.choose_mtu(template.mtu(), path.mtu())?);
    }
    if given.contains(C::RATE_SELECTOR | C::RATE) {
        let selector = template.rate_selector();
        path.set_rate(selector.choose_rate(template.rate(), path.rate())?);
    }
    if given.contains(C::PACKET_LIFE_TIME_SELECTOR | C::PACKET_LIFE_TIME) {
        let selector = template.packet_life_time_selector();
        let (wanted, found) = (template.packet_life_time(), path.packet_life_time());
        path.set_packet_life_time(selector.choose_packet_life_time(wanted, found)?);
    }
    if given.contains(C::P_KEY) {
        let wanted = template.p_key();
        match destination {
            // If the policy has chosen a partition, it is this one.
            Some(destination) => {
                let shared = source.port.shared_p_key(destination.port, Some(wanted))?;
                path.set_p_key(shared);
            }
            None if path.p_key().base() != wanted.base() => return None,
            None => {}
        }
    }
    if given.contains(C::SL) && template.sl() != path.sl() {
        // Routes that need no lanes of their own work on any service level.
        let routes = view.plan.routes()?;
        let any = matches!(routes.sls(), SlTable::Uniform(_)) && routes.vl_map().is_uniform();
        if !any || destination.is_none() {
            return None;
        }
        path.set_sl(template.sl());
    }
    // The reverse path at the same service level has to exist as well.
    if given.contains(C::REVERSIBLE)
        && template.reversible()
        && let Some(destination) = destination
    {
        walk(view, destination, source, path.slid(), |_| Some(()))?;
    }
    if given.contains(C::TCLASS) {
        path.set_tclass(template.tclass());
    }
    if given.contains(C::FLOW_LABEL) {
        path.set_flow_label(template.flow_label());
    }
    Some(path)
}
