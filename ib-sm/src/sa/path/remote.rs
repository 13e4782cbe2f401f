//! Paths to ports of other logical clusters: up to the boundary by this cluster's tables, and beyond it by the
//! declarations in the configuration.
//!
//! MTU and rate are those of the weakest link up to and including the transit port; links beyond it are not
//! known. The P_Key is the source's: this manager cannot check which ports of the other cluster have it.

use ib_sa::PathRecord;
use ib_wire::{Gid, GidPrefix, Lid, Lmc, PKey, addr::LidRange};

use super::{End, MAX_HOPS, record};
use crate::{
    cluster::ClusterRole,
    sa::{View, limits::Limits},
};
use ib_subnet::PortId;

/// A port of another cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct RemoteEnd {
    /// The port's GID; all zero if the query gave only a LID that is predefined for no port.
    pub(super) gid: Gid,
    pub(super) lids: LidRange,
}

/// The port of another cluster that a query names as the destination; `None` if it names none.
pub(super) fn destination(view: View<'_>, gid: Option<Gid>, lid: Option<Lid>) -> Option<RemoteEnd> {
    let role = view.config.cluster.as_ref()?;
    let lmc = view.config.lmc;
    let single = |lid: Lid| {
        role.other_of(lid)?;
        LidRange::try_new(lid, Lmc::ZERO).ok()
    };
    let Some(gid) = gid else {
        let lid = lid?;
        let guid = role.remote_port(lid, lmc);
        return Some(RemoteEnd {
            gid: guid.map_or(Gid::default(), |guid| {
                Gid::new(view.config.subnet_prefix, guid)
            }),
            lids: single(lid)?,
        });
    };
    let prefixes = [view.config.subnet_prefix, GidPrefix::DEFAULT];
    if !prefixes.contains(&gid.prefix()) || view.port_of(gid).is_some() {
        return None;
    }
    let lids = match role.remote_lids(gid.guid(), lmc) {
        Some(lids) if lid.is_none_or(|lid| lids.contains(lid)) => lids,
        Some(_) => return None,
        None => single(lid?)?,
    };
    Some(RemoteEnd { gid, lids })
}

/// The path before the conditions of the query are applied. `None` if no transit port leads there.
pub(super) fn path(
    view: View<'_>,
    source: End<'_>,
    destination: RemoteEnd,
    (slid, dlid): (Lid, Lid),
    wanted: Option<PKey>,
) -> Option<PathRecord> {
    let role = view.config.cluster.as_ref()?;
    let limits = limits_to_boundary(view, role, source, dlid)?;
    let mut keys = source.port.p_keys();
    let key = keys.find(|key| wanted.is_none_or(|wanted| wanted.base() == key.base()))?;
    let mut record = record(view, (slid, dlid), limits)?;
    record
        .set_sgid(source.gid)
        .set_dgid(destination.gid)
        .set_p_key(key);
    Some(record)
}

/// The weakest link on the path to the transit port by which packets to a LID leave.
fn limits_to_boundary(
    view: View<'_>,
    role: &ClusterRole,
    source: End<'_>,
    dlid: Lid,
) -> Option<Limits> {
    let routes = view.plan.routes()?;
    let mut limits = Limits::default();
    let mut at = source.at;
    if !view.subnet.node(at.node)?.is_switch() {
        limits.pass(source.port)?;
        at = view.peer(source.at)?;
    }
    for _ in 0..=MAX_HOPS {
        let node = view.subnet.node(at.node)?;
        if at.port.0 != 0 {
            limits.pass(node.port(at.port)?)?;
        }
        let exit = PortId {
            port: routes.port(view.plan.switch(at.node)?, dlid),
            ..at
        };
        let port = view.subnet.port(exit).filter(|_| exit.port.0 != 0)?;
        limits.pass(port)?;
        if role.ends_at(node.info().node_guid(), exit.port) {
            return Some(limits);
        }
        at = view.peer(exit)?;
    }
    None
}
