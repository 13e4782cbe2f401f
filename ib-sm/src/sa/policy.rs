//! Applies the QoS policy to paths: the matching level lowers a path's limits and sets its service level.

use alloc::vec::Vec;

use ib_routing::SlTable;
use ib_sa::{PathComponents, PathRecord};
use ib_wire::PKey;

use super::View;
use ib_subnet::{PortId, node_type};

use crate::qos_policy::{PathQuery, PolicyPort, QosLevel};

/// Adapts a path to the policy; `None` if its level does not allow the path. Routes that depend on their service
/// levels keep them.
pub(super) fn apply(
    view: View<'_>,
    source: PortId,
    destination: PortId,
    path: &mut PathRecord,
    template: &PathRecord,
    given: PathComponents,
) -> Option<()> {
    use PathComponents as C;
    let config = view.config;
    if !config.qos.enabled || config.qos_policy.is_empty() {
        return Some(());
    }
    let partitions = [source, destination].map(|end| partitions(view, end));
    let [from, to] = &partitions;
    let (from, to) = (port(view, source, from)?, port(view, destination, to)?);
    let query = PathQuery {
        source: from,
        destination: to,
        service_id: given
            .contains(C::SERVICE_ID_8MSB | C::SERVICE_ID_56LSB)
            .then(|| template.service_id()),
        qos_class: given.contains(C::QOS_CLASS).then(|| template.qos_class()),
        p_key: given.contains(C::P_KEY).then(|| template.p_key()),
    };
    let Some(level) = config.qos_policy.level_of(&query) else {
        return Some(());
    };
    choose_partition(view, source, destination, path, level, query.p_key)?;
    let lids = view.subnet.port(source)?.lids()?;
    let offset = path.slid().0.saturating_sub(lids.base().0);
    if !level.allows_path_bits(offset, lids.lmc().lid_count()) {
        return None;
    }
    let routes = view.plan.routes();
    let are_free = routes.is_some_and(|routes| matches!(routes.sls(), SlTable::Uniform(_)));
    if let Some(sl) = level.sl.filter(|_| are_free) {
        path.set_sl(sl);
    }
    if let Some(limit) = level.mtu_limit {
        path.set_mtu(path.mtu().min(limit));
    }
    if let Some(limit) = level.rate_limit
        && limit
            .cmp_rate(path.rate())
            .is_some_and(|order| order.is_lt())
    {
        path.set_rate(limit);
    }
    if let Some(limit) = level.packet_life {
        path.set_packet_life_time(path.packet_life_time().min(limit));
    }
    if given.contains(C::QOS_CLASS) {
        path.set_qos_class(template.qos_class());
    }
    Some(())
}

/// Sets a path's partition to one of its level: the one that the request names, otherwise the first that both
/// ends have. `None` if there is none.
fn choose_partition(
    view: View<'_>,
    source: PortId,
    destination: PortId,
    path: &mut PathRecord,
    level: &QosLevel,
    wanted: Option<PKey>,
) -> Option<()> {
    if level.p_keys.is_empty() {
        return Some(());
    }
    let (source, destination) = (view.subnet.port(source)?, view.subnet.port(destination)?);
    let shared = source.p_keys().find(|own| {
        wanted.is_none_or(|wanted| wanted.base() == own.base())
            && level.allows_p_key(*own)
            && source.shared_p_key(destination, Some(*own)).is_some()
    })?;
    path.set_p_key(source.shared_p_key(destination, Some(shared))?);
    Some(())
}

/// The named partitions of a port.
fn partitions(view: View<'_>, at: PortId) -> Vec<(&str, PKey)> {
    let named = view.config.partitions.iter();
    let named = named.map(|partition| (partition.name.as_str(), PKey(partition.base)));
    let port = view.subnet.port(at);
    named
        .filter(|(_, p_key)| port.is_some_and(|port| port.has_p_key(*p_key)))
        .collect()
}

fn port<'a>(
    view: View<'a>,
    at: PortId,
    partitions: &'a [(&'a str, PKey)],
) -> Option<PolicyPort<'a>> {
    let node = view.subnet.node(at.node)?;
    Some(PolicyPort {
        guid: view.subnet.port(at)?.guid(),
        description: node
            .description()
            .node_string()
            .to_str()
            .unwrap_or_default(),
        number: at.port.0,
        node_type: node_type(node.info()),
        is_own: Some(at) == view.own_port,
        partitions,
    })
}
