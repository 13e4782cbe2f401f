//! Differences between an assignment and the LIDs that ports had: the three lists of the thesis.
//!
//! A port comes with no LID (*unassigned*), with one that its manager does not know (*foreign*: another
//! manager gave it), or with one that it cannot keep (*conflict*: the LMC is too big for it, or it is
//! another object's, as when two subnets are joined by a cable). Foreign LIDs stay, so that nothing moves
//! without need. Source: Villar Ortiz, thesis on OpenSM, 2004, LID manager.

use alloc::{collections::BTreeMap, vec::Vec};

use ib_wire::{Guid, Lid};

use super::{LidMap, LidOptions};
use crate::fabric::{Fabric, PortRef};

/// Why a port cannot keep its LID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidLid {
    /// The LID is outside of the range that is handed out.
    OutOfRange,
    /// It is not aligned to the LIDs that the port's LMC gives it.
    Misaligned,
    /// It belongs to the port with this GUID.
    Taken(Guid),
    /// The database has another one for the port, or all LIDs were to be assigned anew.
    Reassigned,
}

/// A port that got another LID than it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LidConflict {
    /// The port that cannot keep its LID.
    pub end: PortRef,
    /// Its base LID before.
    pub old: Lid,
    /// Its base LID now.
    pub new: Lid,
    /// Why it could not stay.
    pub why: InvalidLid,
}

/// The lists, each by LID.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LidChanges {
    /// Ports that keep the base LID which the database has for them.
    pub kept: usize,
    /// Ports that keep a LID which the database does not have.
    pub foreign: Vec<(PortRef, Lid)>,
    /// Ports that had none, with the new one.
    pub unassigned: Vec<(PortRef, Lid)>,
    /// Ports whose LID could not stay.
    pub conflicts: Vec<LidConflict>,
    /// Port GUIDs of the database that the fabric lacks.
    pub absent: Vec<Guid>,
}

impl LidMap {
    /// Compares this assignment, which `options` led to, with the LIDs in the fabric.
    #[must_use]
    pub fn changes(&self, fabric: &Fabric, options: &LidOptions) -> LidChanges {
        let mut changes = LidChanges::default();
        let mut absent: BTreeMap<Guid, Lid> = options.database.clone();
        for (index, destination) in self.destinations.iter_enumerated() {
            let (end, new) = (destination.end, destination.range.base());
            let known = absent.remove(&destination.guid);
            let old = fabric.port(end).map_or(Lid::NONE, |port| port.lid);
            if old == Lid::NONE {
                changes.unassigned.push((end, new));
            } else if old == new && known == Some(new) {
                changes.kept += 1;
            } else if old == new {
                changes.foreign.push((end, new));
            } else {
                let fit = options.fit(old, destination.range.lmc());
                let owner = fit.map(|range| {
                    let owners = range.iter().filter_map(|lid| self.owner_index(lid));
                    owners.into_iter().find(|&owner| owner != index)
                });
                let why = match owner {
                    Err(misfit) => misfit,
                    Ok(Some(owner)) => InvalidLid::Taken(self.destinations[owner].guid),
                    Ok(None) => InvalidLid::Reassigned,
                };
                changes.conflicts.push(LidConflict { end, old, new, why });
            }
        }
        changes.absent = absent.into_keys().collect();
        changes
    }
}
