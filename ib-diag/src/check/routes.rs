//! The installed routes: LIDs without a route, loops, and cycles of channel dependencies.

use alloc::{collections::BTreeMap, format, vec::Vec};

use ib_routing::{
    ChannelIdx, Destination, SwitchIdx,
    index::IdxVec,
    verify::{Group, verify_with},
};
use ib_smp::LinearForwardingTable;
use ib_wire::{Lid, PortNum, Sl, Vl};

use super::{Check, Checker, Finding, Location, Severity};

/// The end of the path of packets from a switch to one LID.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Unknown,
    /// The switch is on the path that is being followed.
    Open,
    Arrives,
    /// The path ends at a switch without a next hop.
    Dead(SwitchIdx),
    /// The path runs into a loop that passes this switch.
    Loop(SwitchIdx),
    /// The path ends at a switch whose table was not read.
    NotRead,
}

pub(super) fn check(checker: &mut Checker<'_>) {
    // Two ports with one LID are a finding of their own. The routes can lead to one of them only.
    let mut owners: BTreeMap<Lid, Vec<Destination>> = BTreeMap::new();
    for destination in checker.lids.destinations().iter() {
        for lid in destination.range.iter() {
            owners.entry(lid).or_default().push(*destination);
        }
    }
    for (lid, owners) in owners {
        follow(checker, &owners, lid);
    }
    deadlock(checker);
}

/// Follows the routes from every switch to a LID, which these destinations own.
fn follow(checker: &mut Checker<'_>, owners: &[Destination], lid: Lid) {
    let Some(destination) = owners.iter().find(|owner| owner.switch.is_some()) else {
        return;
    };
    checker.looked_at(Check::LidUnroutable, 1);
    checker.looked_at(Check::RouteLoop, 1);
    let mut ends: IdxVec<SwitchIdx, End> = checker.routes.per_switch(End::Unknown);
    let mut way = Vec::new();
    for start in ends.indices() {
        let mut here = start;
        let end = loop {
            match ends.find(here) {
                Some(End::Unknown) => {}
                Some(End::Open) => break End::Loop(here),
                Some(known) => break *known,
                None => break End::NotRead,
            }
            if let Some(end) = ends.find_mut(here) {
                *end = End::Open;
            }
            way.push(here);
            match step(checker, owners, here, lid) {
                Ok(next) => here = next,
                Err(end) => break end,
            }
        };
        for switch in way.drain(..) {
            if let Some(entry) = ends.find_mut(switch) {
                *entry = end;
            }
        }
    }
    report(checker, destination, lid, &ends);
}

/// The next switch, or the end of the path.
fn step(
    checker: &Checker<'_>,
    owners: &[Destination],
    here: SwitchIdx,
    lid: Lid,
) -> Result<SwitchIdx, End> {
    let (block, _) = LinearForwardingTable::block_of(lid);
    let node = checker.fabric.switches().find(here).copied();
    let node = node.and_then(|node| checker.snapshot.node(node));
    if node.is_none_or(|node| node.lft.is_empty()) {
        return Err(End::NotRead);
    }
    // Blocks above LinearFDBTop are not read, because the switch does not use them to forward.
    let is_read = node.is_some_and(|node| {
        let top = node
            .switch_info
            .map_or(Lid::NONE, |info| info.linear_fdb_top());
        lid > top || node.lft.contains_key(&block)
    });
    if !is_read {
        return Err(End::NotRead);
    }
    let port = checker.routes.port(here, lid);
    let is_exit = |owner: &Destination| owner.switch == Some(here) && owner.exit == port;
    if owners.iter().any(is_exit) {
        return Err(End::Arrives);
    }
    match checker.fabric.channel_at(here, port) {
        Some(channel) => Ok(checker.fabric.channel(channel).to),
        None => Err(End::Dead(here)),
    }
}

fn report(
    checker: &mut Checker<'_>,
    destination: &Destination,
    lid: Lid,
    ends: &IdxVec<SwitchIdx, End>,
) {
    let dead = ends
        .iter()
        .filter(|end| matches!(end, End::Dead(_)))
        .count();
    let first_dead = ends.iter().find_map(|end| match end {
        End::Dead(switch) => Some(*switch),
        _ => None,
    });
    let name = |checker: &Checker<'_>, switch| {
        let node = checker.fabric.switches().find(switch).copied();
        node.map_or_else(Location::default, |node| {
            Location::of_node(checker.snapshot, node)
        })
    };
    if let Some(at) = first_dead {
        let port = checker.routes.port(at, lid);
        let where_ = name(checker, at);
        let why = match port {
            PortNum::UNREACHABLE => "has no entry".into(),
            port => format!("sends it to port {port}, from where it does not arrive"),
        };
        let message = format!(
            "{dead} of {} switches have no path to LID {lid}: {where_} {why}",
            ends.len()
        );
        let action = "let the subnet manager route anew (a heavy sweep), and see what its log says of the switch";
        let place = checker.place(destination.end);
        let finding = Finding::new(
            Check::LidUnroutable,
            Severity::Error,
            place,
            message,
            action,
        );
        checker.add(finding.value(dead).limit(0usize));
    }
    let looping = ends
        .iter()
        .filter(|end| matches!(end, End::Loop(_)))
        .count();
    let first_loop = ends.iter().find_map(|end| match end {
        End::Loop(switch) => Some(*switch),
        _ => None,
    });
    if let Some(at) = first_loop {
        let message = format!(
            "packets to LID {lid} from {looping} of {} switches loop through {}",
            ends.len(),
            name(checker, at)
        );
        let action = "let the subnet manager route anew at once: looping packets block their lanes";
        let place = checker.place(destination.end);
        let finding = Finding::new(Check::RouteLoop, Severity::Error, place, message, action);
        checker.add(finding.value(looping).limit(0usize));
    }
}

fn deadlock(checker: &mut Checker<'_>) {
    if checker.lids.destinations().is_empty() {
        return;
    }
    let groups: Vec<Group<'_>> = checker
        .trees
        .iter()
        .map(|(&mlid, tree)| Group {
            mlid,
            sl: Sl::ZERO,
            tree,
        })
        .collect();
    let verified = verify_with(0, &checker.fabric, &checker.lids, &checker.routes, &groups);
    let channels = checker.fabric.channels().len();
    let all_on_one = checker.options.sls.is_none();
    let found = match (&verified.cycle, &verified.multicast_cycle) {
        (Some(cycle), _) => Some((cycle.clone(), "")),
        (None, Some(cycle)) => Some((cycle.clone(), " of unicast and multicast")),
        (None, None) => None,
    };
    checker.looked_at(Check::Deadlock, channels);
    let Some((cycle, kind)) = found else { return };
    // If service levels are mapped to different lanes, a routing engine may use service levels to keep packets apart.
    let has_lanes = checker.routes.vl_map().highest() > Vl::default();
    let (severity, condition) = match all_on_one && has_lanes {
        true => (
            Severity::Warning,
            " if all have service level 0 (--sls FILE says which they have)",
        ),
        false => (Severity::Error, ""),
    };
    let message = format!(
        "packets{kind} can wait for each other in a cycle of {} links{condition}: {}",
        cycle.len(),
        path(checker, &cycle)
    );
    let place = cycle.first().and_then(|&(channel, _)| {
        let channel = checker.fabric.channels().find(channel)?;
        let node = *checker.fabric.switches().find(channel.from)?;
        Some(checker.place(ib_routing::PortRef {
            node,
            port: channel.port,
        }))
    });
    let action = "choose a routing engine that is free of deadlock on this topology (ib route compares them)";
    let place = place.unwrap_or_default();
    let finding = Finding::new(Check::Deadlock, severity, place, message, action);
    checker.add(finding.value(cycle.len()).limit(0usize));
}

/// The first few links of a cycle, as text.
fn path(checker: &Checker<'_>, cycle: &[(ChannelIdx, Vl)]) -> alloc::string::String {
    const SHOWN: usize = 6;
    let mut text = alloc::string::String::new();
    for (channel, lane) in cycle.iter().take(SHOWN) {
        let Some(channel) = checker.fabric.channels().find(*channel) else {
            continue;
        };
        let node = checker.fabric.switches().find(channel.from).copied();
        let name = node.map_or_else(Default::default, |node| checker.snapshot.name(node));
        text.push_str(&format!(
            "{name} port {} VL {} -> ",
            channel.port,
            lane.bits()
        ));
    }
    text.push_str(if cycle.len() > SHOWN {
        "..."
    } else {
        "the first"
    });
    text
}
