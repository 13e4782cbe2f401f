//! SwitchInfo, and the capacity of the tables of switches (IBA vol. 1, 14.2.5.4).
//!
//! LIDs are assigned below the end of the smallest linear table as long as they suffice; the same applies to
//! multicast LIDs. Where they do not suffice, the switch is named in an event, and blocks beyond the end of its
//! table are not written.

use alloc::vec::Vec;

use ib_mad::{Attribute, AttributeId};
use ib_smp::{LinearForwardingTable, MftModifier, MulticastForwardingTable, SwitchInfo};
use ib_subnet::NodeId;
use ib_wire::{Guid, Lid};

use super::{Situation, multicast};

/// True if the tops of forwarding tables are raised before the tables are written, or lowered after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tops {
    /// LinearFDBTop covers the highest LID and every entry that the switch uses already.
    Raise,
    /// LinearFDBTop and MulticastFDBTop are set to the last entries that the tables need.
    Lower,
}

/// The desired SwitchInfo, without the bit that acknowledges port changes. `None` if SwitchInfo is unknown or the
/// switch takes no part in the routes.
pub(crate) fn switch_info(at: Situation<'_>, node: NodeId, tops: Tops) -> Option<SwitchInfo> {
    let mut info = *at.subnet().switch(node)?.info()?;
    at.plan().topology().index().switch(node)?;
    info.set_life_time_value(at.config().packet_life_time)
        .set_port_state_change(false);
    if let Some(routes) = at
        .plan()
        .routes()
        .filter(|_| at.plan().switch(node).is_some())
    {
        let max = routes.max_lid().min(last_lid(at, node));
        info.set_linear_fdb_top(match tops {
            Tops::Raise => max.max(info.linear_fdb_top()),
            Tops::Lower => max,
        });
    }
    if tops == Tops::Lower
        && at.config().use_mfttop
        && let Some(top) = multicast::top(at, node, &info)
    {
        info.set_multicast_fdb_top(top);
    }
    Some(info)
}

/// The highest LID that fits in a switch's linear table.
pub(crate) fn last_lid(at: Situation<'_>, node: NodeId) -> Lid {
    let capacity = capacities(at, node).map_or(u16::MAX, |(linear, _)| linear);
    Lid(capacity.saturating_sub(1).min(Lid::UNICAST_MAX.0))
}

/// Returns true if a switch has room for a block of its linear table.
pub(crate) fn has_room_for_lft_block(at: Situation<'_>, node: NodeId, block: u16) -> bool {
    let first = block.saturating_mul(LinearForwardingTable::ENTRIES);
    capacities(at, node).is_none_or(|(linear, _)| first < linear)
}

/// Returns true if a switch has room for a block of its multicast table.
pub(crate) fn has_room_for_mft_block(at: Situation<'_>, node: NodeId, block: MftModifier) -> bool {
    let first = block
        .block
        .saturating_mul(MulticastForwardingTable::ENTRIES);
    capacities(at, node).is_none_or(|(_, multicast)| first < multicast)
}

/// A table that is too small for the LIDs in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SmallTable {
    pub(crate) node_guid: Guid,
    pub(crate) table: AttributeId,
    pub(crate) entries: u16,
    pub(crate) needed: u16,
}

/// The switches whose linear tables end below the highest LID in use.
pub(crate) fn small_linear_tables(at: Situation<'_>) -> Vec<SmallTable> {
    let max = at.plan().topology().lids().max_lid();
    let needed = max.0.saturating_add(1);
    small_tables(at, LinearForwardingTable::ID, needed, |(linear, _)| linear)
}

/// The switches whose multicast tables end below the highest multicast LID in use. A switch without a multicast
/// table takes no part in multicast; members that are reached only through it are reported by
/// [`MulticastCutOff`](crate::Event::MulticastCutOff).
pub(crate) fn small_multicast_tables(at: Situation<'_>) -> Vec<SmallTable> {
    let last = at.plan().trees().keys().next_back();
    let needed = last.map_or(0, |mlid| {
        mlid.0
            .saturating_sub(Lid::MULTICAST_MIN.0)
            .saturating_add(1)
    });
    small_tables(
        at,
        MulticastForwardingTable::ID,
        needed,
        |(_, multicast)| match multicast {
            0 => u16::MAX,
            entries => entries,
        },
    )
}

fn small_tables(
    at: Situation<'_>,
    table: AttributeId,
    needed: u16,
    entries_of: impl Fn((u16, u16)) -> u16,
) -> Vec<SmallTable> {
    let routed = at.subnet().nodes();
    let routed = routed.filter(|&(id, _)| at.plan().topology().index().switch(id).is_some());
    let tables = routed.filter_map(|(id, node)| {
        let entries = entries_of(capacities(at, id)?);
        (entries < needed).then_some(SmallTable {
            node_guid: node.info().node_guid(),
            table,
            entries,
            needed,
        })
    });
    tables.collect()
}

/// Numbers of entries of a switch's linear and multicast tables.
fn capacities(at: Situation<'_>, node: NodeId) -> Option<(u16, u16)> {
    let info = at.subnet().switch(node)?.info()?;
    Some((info.linear_fdb_cap(), info.multicast_fdb_cap()))
}
