//! The switches for which each part chooses, towards each target.

use alloc::{collections::VecDeque, vec::Vec};

use crate::{
    algo::{
        frontiers::BATCH,
        parallel,
        shortest_path_dag::{BatchOf, ShortestPathDag},
    },
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
};

/// The roles of all switches towards all targets.
#[derive(Debug)]
pub(super) struct Roles {
    batches: Vec<BatchRoles>,
}

/// The roles of the switches towards a batch of targets, a bit each.
#[derive(Debug)]
struct BatchRoles(IdxVec<SwitchIdx, RoleBits>);

/// The role of a switch, a bit for each target of a batch.
#[derive(Clone, Copy, Debug, Default)]
struct RoleBits {
    /// Routes pass it that have not left the part of the switch.
    own: u64,
    /// It has the role [`Common`](Role::Common).
    common: u64,
}

/// The parts that choose for a switch towards a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The part of the switch alone chooses for it, since no routes from other parts pass it.
    Own,
    /// Routes from several parts can pass it, or those from another part than its own. All parts have the loads of its channels
    /// and find its weight.
    Common,
    /// No routes can pass it: it takes its first next hop.
    Unused,
}

/// The roles of all switches towards one target.
#[derive(Clone, Copy, Debug)]
pub(super) struct RolesTo<'a> {
    batch: Option<&'a BatchRoles>,
    bit: u64,
}

impl RolesTo<'_> {
    fn bits(self, switch: SwitchIdx) -> RoleBits {
        let bits = self.batch.and_then(|batch| batch.0.find(switch));
        bits.copied().unwrap_or_default()
    }

    /// The role of a switch that reaches the target.
    #[inline]
    pub(super) fn of(self, switch: SwitchIdx) -> Role {
        let RoleBits { own, common } = self.bits(switch);
        if common & self.bit != 0 {
            Role::Common
        } else if own & self.bit != 0 {
            Role::Own
        } else {
            Role::Unused
        }
    }
}

impl Roles {
    /// The roles towards all targets of a graph, found on up to `threads` threads.
    pub(super) fn new(
        threads: usize,
        fabric: &Fabric,
        dag: &ShortestPathDag,
        senders: &IdxVec<SwitchIdx, u64>,
        part_of: &IdxVec<SwitchIdx, usize>,
    ) -> Self {
        let targets: Vec<SwitchIdx> = fabric.switches().indices().collect();
        let batches: Vec<&[SwitchIdx]> = targets.chunks(BATCH).collect();
        let batches = parallel::map(threads, batches.len(), |number| {
            let targets = batches.get(number).copied().unwrap_or_default();
            BatchRoles::new(fabric, dag, targets, senders, part_of)
        });
        Self { batches }
    }

    /// The roles of all switches towards a target.
    pub(super) fn towards(&self, target: BatchOf<'_>) -> RolesTo<'_> {
        RolesTo {
            batch: self.batches.get(target.number),
            bit: target.bit,
        }
    }
}

impl BatchRoles {
    fn new(
        fabric: &Fabric,
        dag: &ShortestPathDag,
        targets: &[SwitchIdx],
        senders: &IdxVec<SwitchIdx, u64>,
        part_of: &IdxVec<SwitchIdx, usize>,
    ) -> Self {
        let Some(&first) = targets.first() else {
            return Self(IdxVec::new());
        };
        let batch = dag.towards(first).batch();
        let of_sender = |&senders: &u64| RoleBits {
            own: if senders > 0 { u64::MAX } else { 0 },
            common: 0,
        };
        let mut roles = Self(senders.iter().map(of_sender).collect());
        for (number, &target) in targets.iter().enumerate() {
            // All parts have its weight.
            roles.0[target].common |= 1 << number;
        }
        roles.follow_routes(fabric, batch, part_of);
        roles
    }

    /// Finds out which routes can pass each switch.
    fn follow_routes(
        &mut self,
        fabric: &Fabric,
        batch: BatchOf<'_>,
        part_of: &IdxVec<SwitchIdx, usize>,
    ) {
        let mut queue: VecDeque<SwitchIdx> = fabric.switches().indices().collect();
        let mut is_queued = IdxVec::filled(fabric.num_switches(), true);
        while let Some(switch) = queue.pop_front() {
            is_queued[switch] = false;
            let here = self.0[switch];
            if here.own | here.common == 0 {
                continue;
            }
            let channels = fabric.channels_from(switch);
            parallel::count(channels.len());
            for (channel, ends) in channels {
                let nearer = batch.nearer[channel];
                let (own, common) = match part_of[ends.to] == part_of[switch] {
                    true => (here.own & nearer, here.common & nearer),
                    false => (0, (here.own | here.common) & nearer),
                };
                let next = &mut self.0[ends.to];
                if (own & !next.own) | (common & !next.common) != 0 {
                    next.own |= own;
                    next.common |= common;
                    if !is_queued[ends.to] {
                        is_queued[ends.to] = true;
                        queue.push_back(ends.to);
                    }
                }
            }
        }
    }
}
