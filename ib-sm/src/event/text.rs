//! The text of events: one line of English each, and how serious it is.

use core::fmt;

use ib_mad::{AttributeId, NoticeDetails, NoticeSm, TrapNumber};
use ib_routing::verify::Defect;
use ib_smp::{CLASSES, SmState};
use ib_wire::Guid;

use super::{Event, NotActive, NotKept, PortAt, SweepCause, SweepKind, Unresponsive};

/// The severity of an event, for hosts that filter what they show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventSeverity {
    /// The subnet does not work as configured until an operator acts.
    Error,
    /// Part of the subnet is not as configured; the manager goes on.
    Warning,
    /// A decision or a change that an operator looks for.
    Info,
    /// An intermediate step, one of many.
    Debug,
}

impl Event {
    /// Its severity.
    #[must_use]
    pub const fn severity(&self) -> EventSeverity {
        match self {
            Self::LidsExhausted(_)
            | Self::DuplicateGuid { .. }
            | Self::SmKeyMismatch { .. }
            | Self::OwnPortDown
            | Self::HandoverRefused { .. }
            | Self::SweepFailed(_) => EventSeverity::Error,
            Self::Unresponsive(_)
            | Self::OutOfReach { .. }
            | Self::InvalidNodeInfo { .. }
            | Self::GuidChanged { .. }
            | Self::Excluded { .. }
            | Self::NoPredefinedLid { .. }
            | Self::MulticastCutOff { .. }
            | Self::PKeyTableFull { .. }
            | Self::TableTooSmall { .. }
            | Self::RoutingFallback { .. }
            | Self::RepairFailed(_)
            | Self::Refused { .. }
            | Self::PortShutOff { .. } => EventSeverity::Warning,
            Self::SmStateChanged { .. } | Self::StandingBy { .. } | Self::SubnetUp(_) => {
                EventSeverity::Info
            }
            Self::RoutesVerified { defect, .. } => match defect {
                None => EventSeverity::Info,
                Some(_) => EventSeverity::Warning,
            },
            Self::NodeAppeared { .. }
            | Self::NodeVanished { .. }
            | Self::RoutesRepaired { .. }
            | Self::TablesChange { .. }
            | Self::TablesHealed { .. }
            | Self::RoutesKept { .. }
            | Self::RoutesReplaced { .. }
            | Self::TakeOver { .. }
            | Self::NodesUnreachable { .. }
            | Self::ChangePlanned(_)
            | Self::PortNotActive { .. }
            | Self::Trap { .. } => EventSeverity::Info,
            Self::SweepStarted { kind, .. } => match kind {
                SweepKind::Heavy | SweepKind::Partial => EventSeverity::Info,
                SweepKind::Light => EventSeverity::Debug,
            },
            Self::LightSweepDone { changed } => match changed {
                true => EventSeverity::Info,
                false => EventSeverity::Debug,
            },
            Self::PhaseStarted(_) | Self::LidAssigned { .. } => EventSeverity::Debug,
        }
    }

    /// Its name in lower snake case, for structured logs: stable from version to version.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SweepStarted { .. } => "sweep_started",
            Self::PhaseStarted(_) => "phase_started",
            Self::NodeAppeared { .. } => "node_appeared",
            Self::NodeVanished { .. } => "node_vanished",
            Self::Unresponsive(_) => "unresponsive",
            Self::DuplicateGuid { .. } => "duplicate_guid",
            Self::InvalidNodeInfo { .. } => "invalid_node_info",
            Self::GuidChanged { .. } => "guid_changed",
            Self::LidAssigned { .. } => "lid_assigned",
            Self::NoPredefinedLid { .. } => "no_predefined_lid",
            Self::MulticastCutOff { .. } => "multicast_cut_off",
            Self::PKeyTableFull { .. } => "p_key_table_full",
            Self::TableTooSmall { .. } => "table_too_small",
            Self::LidsExhausted(_) => "lids_exhausted",
            Self::Excluded { .. } => "excluded",
            Self::RoutingFallback { .. } => "routing_fallback",
            Self::RoutesRepaired { .. } => "routes_repaired",
            Self::RepairFailed(_) => "repair_failed",
            Self::RoutesKept { .. } => "routes_kept",
            Self::RoutesReplaced { .. } => "routes_replaced",
            Self::TakeOver { .. } => "take_over",
            Self::RoutesVerified { .. } => "routes_verified",
            Self::TablesChange { .. } => "tables_change",
            Self::TablesHealed { .. } => "tables_healed",
            Self::ChangePlanned(_) => "change_planned",
            Self::NodesUnreachable { .. } => "nodes_unreachable",
            Self::OutOfReach { .. } => "out_of_reach",
            Self::OwnPortDown => "own_port_down",
            Self::HandoverRefused { .. } => "handover_refused",
            Self::Refused { .. } => "refused",
            Self::Trap { .. } => "trap",
            Self::PortShutOff { .. } => "port_shut_off",
            Self::PortNotActive { .. } => "port_not_active",
            Self::LightSweepDone { .. } => "light_sweep_done",
            Self::StandingBy { .. } => "standing_by",
            Self::SmStateChanged { .. } => "sm_state_changed",
            Self::SmKeyMismatch { .. } => "sm_key_mismatch",
            Self::SubnetUp(_) => "subnet_up",
            Self::SweepFailed(_) => "sweep_failed",
        }
    }
}

/// One line without a line break; names of nodes are GUIDs, as the engine's log of decisions has no room for more.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SweepStarted { kind, cause } => write!(f, "{kind} sweep started: {cause}"),
            Self::PhaseStarted(phase) => write!(f, "phase {phase} started"),
            Self::NodeAppeared { node_guid } => write!(f, "node {node_guid} appeared"),
            Self::NodeVanished { node_guid } => write!(f, "node {node_guid} is no longer reached"),
            Self::Unresponsive(device) => NoAnswer(device).fmt(f),
            Self::DuplicateGuid {
                node_guid,
                found_via,
            } => {
                let via = Near(found_via);
                write!(
                    f,
                    "GUID {node_guid} is claimed by two nodes; the second one is at {via}"
                )
            }
            Self::InvalidNodeInfo {
                found_via,
                node_guid,
                field,
            } => {
                let via = Near(found_via);
                write!(
                    f,
                    "node {node_guid} at {via} is excluded: {field} in its NodeInfo is impossible"
                )
            }
            Self::GuidChanged {
                found_via,
                before,
                now,
            } => {
                let via = Near(found_via);
                write!(
                    f,
                    "the node at {via} is excluded: its GUID was {before} and is {now} now"
                )
            }
            Self::LidAssigned { port_guid, lid } => {
                write!(f, "port {port_guid} is assigned LID {lid}")
            }
            Self::NoPredefinedLid { port_guid, lid } => write!(
                f,
                "port {port_guid} has no predefined LID: it is assigned LID {lid} of the cluster's range"
            ),
            Self::MulticastCutOff { mgid, port_guid } => write!(
                f,
                "port {port_guid} cannot be reached by multicast group {mgid}: no switch on the path forwards \
                 multicast"
            ),
            Self::PKeyTableFull { at } => {
                write!(f, "the P_Key table of {at} is too small for its partitions")
            }
            Self::TableTooSmall {
                node_guid,
                table,
                entries,
                needed,
            } => write!(
                f,
                "switch {node_guid} has {entries} entries in its {}, {needed} are needed: it does not forward to \
                 higher LIDs",
                Name(*table)
            ),
            Self::LidsExhausted(error) => error.fmt(f),
            Self::Excluded { node_guid } => write!(
                f,
                "node {node_guid} is excluded: it has no linear forwarding table, or did not answer"
            ),
            Self::RoutingFallback {
                reason, is_last, ..
            } => match is_last {
                true => write!(
                    f,
                    "{reason}; no engine is left, so the tables of the switches stay as they are"
                ),
                false => write!(f, "{reason}; the next engine is tried"),
            },
            Self::RoutesRepaired { broken, moved } => write!(
                f,
                "routes repaired: {broken} entries were broken, {moved} change"
            ),
            Self::RoutesKept { entries } => write!(
                f,
                "the routes of the manager before hold and stay: {entries} entries differ from the engine's, which \
                 --takeover or a reroute installs"
            ),
            Self::RoutesReplaced { reason } => {
                write!(
                    f,
                    "the routes of the earlier manager are replaced: {reason}"
                )?;
                match reason {
                    NotKept::Defect(Defect::Deadlock | Defect::MulticastDeadlock) => {
                        f.write_str("; --allow-deadlock keeps them")
                    }
                    _ => Ok(()),
                }
            }
            Self::TakeOver { attribute_id, sets } => {
                write!(
                    f,
                    "the manager takes the subnet over: it will set {sets} blocks of {}",
                    Name(*attribute_id)
                )
            }
            Self::RepairFailed(reason) => write!(f, "all routes are computed anew: {reason}"),
            Self::RoutesVerified {
                engine,
                installed,
                defect,
            } => match (installed, defect) {
                (true, None) => write!(f, "routes of {engine} verified and installed"),
                (true, Some(defect)) => {
                    write!(
                        f,
                        "routes of {engine} are installed despite a defect: {defect}"
                    )
                }
                (false, Some(defect @ (Defect::Deadlock | Defect::MulticastDeadlock))) => write!(
                    f,
                    "routes of {engine} are not installed: {defect}; --allow-deadlock installs them"
                ),
                (false, Some(defect)) => {
                    write!(f, "routes of {engine} are not installed: {defect}")
                }
                (false, None) => write!(f, "routes of {engine} are not installed"),
            },
            Self::TablesChange {
                entries,
                stages,
                held_back,
                deadlock_free,
            } => {
                let proof = if *deadlock_free { "" } else { " not" };
                write!(
                    f,
                    "forwarding tables change: {entries} entries in {stages} stages, {held_back} LIDs one by one at the end, \
                     the transition is{proof} proven free of deadlock"
                )
            }
            Self::TablesHealed { entries } => {
                write!(
                    f,
                    "{entries} forwarding entries that led nowhere were written first"
                )
            }
            Self::ChangePlanned(change) => write!(
                f,
                "would set {} {:#x} at {}",
                Name(change.attribute_id),
                change.attribute_modifier,
                change.at
            ),
            Self::NodesUnreachable {
                unreachable,
                missing,
            } => write!(
                f,
                "{} nodes were cut off, {} of them are gone",
                unreachable.len(),
                missing.len()
            ),
            Self::OutOfReach { at } => write!(
                f,
                "the node at the other end of {at} is not managed: it is more than 63 hops away, the longest directed route, and no forwarding tables lead there yet"
            ),
            Self::OwnPortDown => write!(
                f,
                "the link of the manager's own port is down: there is no subnet to manage until it comes back"
            ),
            Self::HandoverRefused { status } => write!(
                f,
                "the manager with the higher priority refused to take the subnet over ({status}): this one keeps it"
            ),
            Self::Refused {
                at,
                attribute_id,
                status,
            } => write!(f, "{} refused {}: {status}", Near(at), Name(*attribute_id)),
            Self::Trap { from, notice } => write!(f, "trap from LID {from}: {}", Trap(notice)),
            Self::PortShutOff { at } => {
                write!(f, "port {at} is disabled: it sent the same trap too often")
            }
            Self::PortNotActive { at, state, reason } => {
                write!(f, "port {at} stays {state}: {reason}")
            }
            Self::LightSweepDone { changed } => f.write_str(match changed {
                true => "light sweep done: the subnet has changed",
                false => "light sweep done: nothing has changed",
            }),
            Self::StandingBy { master } => match *master {
                Guid::NONE => f.write_str("standing by: the master's port is not known"),
                master => write!(f, "standing by: the master is at port {master}"),
            },
            Self::SmStateChanged { from, to } => {
                write!(f, "state {from} -> {to}: {}", part(*from, *to))
            }
            Self::SmKeyMismatch { at, state } => write!(
                f,
                "the subnet manager at {at} ({state}) has another sm_key: neither manager yields, and the subnet may \
                 have two masters; give both the same sm_key"
            ),
            Self::SubnetUp(summary) => {
                let fabric = &summary.fabric;
                write!(
                    f,
                    "subnet up: {} switches, {} CAs, {} links",
                    fabric.switches, fabric.cas, fabric.links
                )
            }
            Self::SweepFailed(summary) => write!(
                f,
                "subnet NOT up: errors {}, nodes that do not answer {}",
                summary.errors,
                summary.unresponsive.len()
            ),
        }
    }
}

/// The text of an event about a device that did not answer.
struct NoAnswer<'a>(&'a Unresponsive);

impl fmt::Display for NoAnswer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.0;
        let at = Near(&device.at);
        match (device.neighbor, device.at) {
            (true, Some(_)) => write!(f, "no answer from the node at the other end of {at}"),
            _ => write!(
                f,
                "no answer from {at} to Get({})",
                Name(device.attribute_id)
            ),
        }
    }
}

impl fmt::Display for NotActive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherEndUnknown => {
                f.write_str("the device at the other end of its link does not answer")
            }
            Self::OtherEnd(state) => write!(f, "the other end of its link is {state}"),
            Self::NotSet => f.write_str("it did not take the settings"),
        }
    }
}

impl fmt::Display for SweepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Heavy => "heavy",
            Self::Partial => "partial",
            Self::Light => "light",
        })
    }
}

impl fmt::Display for SweepCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Start => "the manager started",
            Self::Command => "a command asked for it",
            Self::Timer => "sweep_interval has passed",
            Self::Change => "a light sweep found a change",
            Self::Trap => "a trap reported a change",
            Self::Retry => "the last sweep ended with errors",
            Self::Election => "this manager is to be the master",
        })
    }
}

/// A port, or the manager's own where none is known.
struct Near<'a>(&'a Option<PortAt>);

impl fmt::Display for Near<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(port) => port.fmt(f),
            None => f.write_str("the manager's own port"),
        }
    }
}

/// An attribute of subnet management by its name, or by its number if it has none.
struct Name(AttributeId);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attributes = CLASSES.iter().flat_map(|class| class.attributes);
        match attributes.into_iter().find(|entry| entry.id == self.0) {
            Some(entry) => f.write_str(entry.name),
            None => self.0.fmt(f),
        }
    }
}

/// The part that the manager plays after a change of its state.
fn part(from: SmState, to: SmState) -> &'static str {
    match (from, to) {
        (SmState::MASTER, SmState::MASTER) => "still the master",
        (SmState::STANDBY, SmState::MASTER) => "taking over, the master handed the subnet over",
        (_, SmState::MASTER) => "this manager is the master",
        (SmState::MASTER, SmState::STANDBY) => "handing over to a higher manager",
        (_, SmState::STANDBY) => "standing by, another manager is the master",
        (SmState::STANDBY, SmState::DISCOVERING) => "taking over, the master is gone",
        (_, SmState::DISCOVERING) => "discovering the subnet",
        (_, SmState::NOT_ACTIVE) => "inactive until another manager asks for a standby",
        _ => "state without a name",
    }
}

/// The event that a trap reports.
struct Trap<'a>(&'a NoticeSm);

impl fmt::Display for Trap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let notice = self.0;
        if !notice.is_generic() {
            return write!(f, "a vendor's notice {}", notice.trap_number());
        }
        write!(
            f,
            "{} ({})",
            notice.trap_number(),
            TrapNumber(notice.trap_number())
        )?;
        match notice.details() {
            NoticeDetails::Gid(details) => write!(f, " {}", details.gidaddr()),
            NoticeDetails::LinkStateChange(details) => write!(f, " at LID {}", details.lidaddr()),
            NoticeDetails::LinkTrouble(details) => {
                write!(
                    f,
                    " at LID {} port {}",
                    details.lidaddr(),
                    details.port_num()
                )
            }
            NoticeDetails::LocalChange(details) => write!(f, " at LID {}", details.lidaddr()),
            NoticeDetails::SystemImageGuidChange(details) => {
                write!(
                    f,
                    " at LID {}: {}",
                    details.lidaddr(),
                    details.system_image_guid()
                )
            }
            NoticeDetails::BadMKey(details) => write!(
                f,
                " at LID {}: {} {} by LID {}",
                details.lidaddr(),
                details.method(),
                details.attribute_id(),
                details.dr_slid()
            ),
            NoticeDetails::BadKey(details) => write!(
                f,
                " key {:#x} from LID {} to LID {}",
                details.key(),
                details.lidaddr1(),
                details.lidaddr2()
            ),
            NoticeDetails::BadPKeyAtSwitchPort(details) => write!(
                f,
                " P_Key {} from LID {} to LID {} at switch LID {} port {}",
                details.p_key(),
                details.lidaddr1(),
                details.lidaddr2(),
                details.swlidaddr(),
                details.port_num()
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{boxed::Box, string::ToString as _};

    use ib_mad::{Instant, MadStatus, NoticeDetails129};
    use ib_smp::{NodeInfo, SmInfo};
    use ib_wire::{Lid, PortNum};

    use super::*;
    use crate::{Phase, Summary};
    use ib_mad::Attribute as _;

    const AT: PortAt = PortAt {
        node_guid: Guid(0x11),
        port_num: PortNum(3),
    };

    #[test]
    fn events_are_one_line_that_names_what_it_is_about() {
        let unresponsive = Unresponsive {
            at: Some(AT),
            neighbor: false,
            attribute_id: NodeInfo::ID,
        };
        let mut summary = Summary {
            started: Instant::ZERO,
            ..Summary::default()
        };
        summary.fabric.switches = 4;
        let expected = [
            (
                Event::SweepStarted {
                    kind: SweepKind::Heavy,
                    cause: SweepCause::Trap,
                },
                "heavy sweep started: a trap reported a change",
            ),
            (Event::PhaseStarted(Phase::Route), "phase route started"),
            (
                Event::Unresponsive(unresponsive),
                "no answer from 0x0000000000000011[3] to Get(NodeInfo)",
            ),
            (
                Event::Unresponsive(Unresponsive {
                    neighbor: true,
                    ..unresponsive
                }),
                "no answer from the node at the other end of 0x0000000000000011[3]",
            ),
            (
                Event::DuplicateGuid {
                    node_guid: Guid(5),
                    found_via: None,
                },
                "GUID 0x0000000000000005 is claimed by two nodes; the second one is at the manager's own port",
            ),
            (
                Event::Refused {
                    at: Some(AT),
                    attribute_id: SmInfo::ID,
                    status: MadStatus::OK,
                },
                "0x0000000000000011[3] refused SMInfo: ",
            ),
            (
                Event::SmStateChanged {
                    from: SmState::STANDBY,
                    to: SmState::MASTER,
                },
                "state Standby -> Master: taking over",
            ),
            (
                Event::SmStateChanged {
                    from: SmState::MASTER,
                    to: SmState::STANDBY,
                },
                "state Master -> Standby: handing over",
            ),
            (
                Event::StandingBy { master: Guid(9) },
                "standing by: the master is at port 0x0000000000000009",
            ),
            (
                Event::SmKeyMismatch {
                    at: AT,
                    state: SmState::MASTER,
                },
                "the subnet manager at 0x0000000000000011[3] (Master) has another sm_key",
            ),
            (
                Event::SubnetUp(Box::new(summary)),
                "subnet up: 4 switches, 0 CAs, 0 links",
            ),
        ];
        for (event, text) in expected {
            let line = event.to_string();
            assert!(line.starts_with(text), "{line}");
            assert!(!line.contains('\n'), "{line}");
            assert!(!event.name().is_empty());
        }
    }

    #[test]
    fn a_trap_names_its_number_and_the_port_that_it_is_about() {
        let mut details = NoticeDetails129::default();
        details.set_lidaddr(Lid(7)).set_port_num(PortNum(2));
        let mut notice = NoticeSm::default();
        let mut bytes = [0; 54];
        bytes.copy_from_slice(details.as_bytes());
        notice
            .set_is_generic(true)
            .set_trap_number(129)
            .set_data_details(&bytes);
        let event = Event::Trap {
            from: Lid(7),
            notice,
        };
        assert_eq!(
            event.to_string(),
            "trap from LID 7: 129 (LocalLinkIntegrity) at LID 7 port 2"
        );
    }

    #[test]
    fn two_masters_and_duplicate_guids_are_errors_and_progress_is_not() {
        let mismatch = Event::SmKeyMismatch {
            at: AT,
            state: SmState::MASTER,
        };
        assert_eq!(mismatch.severity(), EventSeverity::Error);
        assert_eq!(
            Event::PhaseStarted(Phase::Lids).severity(),
            EventSeverity::Debug
        );
        assert!(EventSeverity::Error < EventSeverity::Warning);
    }
}
