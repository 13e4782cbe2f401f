//! The trees of paths that a fabric needs, and the ports that send along them.

use alloc::vec::Vec;

use ib_wire::Lid;

use crate::{
    algo::shortest_path_dag::senders,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
    lid::LidMap,
};

/// The trees that are asked for.
#[derive(Clone, Debug)]
pub struct Demands {
    /// The number of ports at each switch that send to each LID.
    pub senders: IdxVec<SwitchIdx, u64>,
    /// The trees towards CAs, target by target, and then those towards switches without CAs.
    pub trees: Vec<Demand>,
    /// True if all CAs of a switch share one tree.
    tree_per_switch: bool,
}

/// A tree that is asked for.
#[derive(Clone, Debug)]
pub struct Demand {
    /// The switch that its paths lead to.
    pub target: SwitchIdx,
    /// The number of LIDs that share it and count: those of CAs and routers, and after [`Demands::count_switches`] all.
    pub weight: u64,
    /// True if LIDs of CAs or routers share it.
    pub is_to_cas: bool,
    /// All LIDs that share it. The LIDs of a switch itself share the first tree of its CAs.
    pub lids: Vec<Lid>,
}

impl Demands {
    /// A tree for each LID of a CA, or one per switch for all LIDs there.
    #[must_use]
    pub fn new(fabric: &Fabric, lids: &LidMap, tree_per_switch: bool) -> Self {
        let (mut trees, mut rest) = (Vec::new(), Vec::new());
        for target in fabric.switches().indices() {
            let of = |own: bool| {
                let ends = lids.at_switch(target);
                let ends = ends.filter(move |end| end.is_switch() == own);
                ends.flat_map(|end| end.range.iter())
            };
            let first = trees.len();
            let of_cas: Vec<Lid> = of(false).collect();
            let share = if tree_per_switch { of_cas.len() } else { 1 };
            trees.extend(of_cas.chunks(share.max(1)).map(|lids| Demand {
                target,
                weight: lids.len() as u64,
                is_to_cas: true,
                lids: lids.to_vec(),
            }));
            match trees.get_mut(first) {
                Some(demand) => demand.lids.extend(of(true)),
                None => rest.push(Demand {
                    target,
                    weight: 0,
                    is_to_cas: false,
                    lids: of(true).collect(),
                }),
            }
        }
        trees.append(&mut rest);
        Self {
            senders: senders(fabric, lids),
            trees,
            tree_per_switch,
        }
    }

    /// Counts the LIDs of switches too.
    pub fn count_switches(&mut self) {
        for demand in &mut self.trees {
            demand.weight = demand.lids.len() as u64;
        }
    }

    /// Returns true if the routes of a tree had better take different channels as long as they can, and false if they had better
    /// meet early.
    ///
    /// Each LID of a CA in a fat tree has its own tree, whose routes meet behind some root in any case. If they meet earlier,
    /// other trees find more channels free. Routes must spread in a [direct](is_direct) network, where they come from all
    /// directions, and where one tree carries all routes to a switch: if these met early, all would take one of the channels
    /// to that switch.
    #[must_use]
    pub fn spread(&self, fabric: &Fabric) -> bool {
        self.tree_per_switch || self.is_direct(fabric)
    }

    /// Returns [`is_direct`] for these senders.
    #[must_use]
    pub fn is_direct(&self, fabric: &Fabric) -> bool {
        is_direct(fabric, &self.senders)
    }
}

/// Returns true if some cable joins two switches with senders: so it is in direct networks (tori, dragonflies), where all
/// switches have CAs, and not in fat trees.
#[must_use]
pub fn is_direct(fabric: &Fabric, senders: &IdxVec<SwitchIdx, u64>) -> bool {
    let mut channels = fabric.channels().iter();
    channels.any(|ends| senders[ends.from] > 0 && senders[ends.to] > 0)
}
