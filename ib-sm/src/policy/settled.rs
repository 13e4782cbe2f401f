//! The ports that may need another configuration than the last sweep left them with.
//!
//! P_Keys, settings and states of a port follow from the configuration, from the manager's own port, and from what is known of
//! the port and of the port at the other end of its cable. So after a sweep that left nothing undone, only ports of nodes that
//! have changed, and those at the other ends of their cables, are examined. A sweep over everything examines all ports.

use alloc::{collections::BTreeSet, sync::Arc};

use ib_subnet::{PortId, SubnetPort};
use ib_wire::Lid;

use super::{Situation, links};
use crate::SmConfig;

/// The inputs of the configuration of all ports, at the time of a sweep that examined the ports and left nothing undone.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    config: Arc<SmConfig>,
    own_port: Option<PortId>,
    master_lid: Lid,
    /// Version of the subnet.
    version: u64,
}

impl Settled {
    /// The present situation, whose configuration is `config`.
    pub(crate) fn new(at: Situation<'_>, config: Arc<SmConfig>) -> Self {
        Self {
            config,
            own_port: at.subnet().own_port(),
            master_lid: links::master_lid(at),
            version: at.subnet().version(),
        }
    }

    /// Returns true if at most nodes have changed since then. The configuration is kept here, so a change of it makes a new one
    /// at another address.
    fn holds(&self, at: Situation<'_>) -> bool {
        core::ptr::eq::<SmConfig>(&*self.config, at.config())
            && self.own_port == at.subnet().own_port()
            && self.master_lid == links::master_lid(at)
    }

    /// The ports of the nodes that have changed since then, and those at the other ends of their cables.
    fn changed(&self, at: Situation<'_>) -> BTreeSet<PortId> {
        let mut changed = BTreeSet::new();
        for (node, record) in at.subnet().changed_since(self.version) {
            for (port, record) in record.ports() {
                changed.insert(PortId { node, port });
                changed.extend(record.peer());
            }
        }
        changed
    }
}

/// The ports whose configuration may have to change, in their order: all, or those that changed since the configuration of all
/// ports was [settled](Settled).
pub(crate) fn changed(at: Situation<'_>) -> impl Iterator<Item = (PortId, &SubnetPort)> {
    let settled = at.plan().settled().filter(|settled| settled.holds(at));
    let all = settled.is_none().then(|| at.subnet().ports());
    let all = all.into_iter().flatten();
    let changed = settled.map(|settled| settled.changed(at));
    let changed = changed.into_iter().flatten();
    all.map(|(port, _, record)| (port, record))
        .chain(changed.filter_map(move |port| Some((port, at.subnet().port(port)?))))
}
