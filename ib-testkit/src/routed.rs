//! `Routed`: a fabric with its LIDs and the routes of one engine.

use ib_routing::{
    Fabric, LidMap, LidOptions, RouteOptions, Routes, SharedEngine, repair::RoutesInUse,
};

/// A fabric with its LIDs and routes.
#[derive(Clone)]
pub struct Routed {
    /// The fabric.
    pub fabric: Fabric,
    /// Its LIDs.
    pub lids: LidMap,
    /// Routes to all LIDs.
    pub routes: Routes,
}

impl Routed {
    /// Default LIDs, and routes of `engine` on [one thread](one_thread); `None` where the engine refuses the fabric.
    #[must_use]
    pub fn new(engine: &SharedEngine, fabric: Fabric) -> Option<Self> {
        let lids = LidMap::assign(&fabric, &LidOptions::default()).expect("enough LIDs");
        let routes = engine.route(&fabric, &lids, &one_thread()).ok()?;
        Some(Self {
            fabric,
            lids,
            routes,
        })
    }

    /// The three parts as what is in force before a repair.
    #[must_use]
    pub fn installed(&self) -> RoutesInUse<'_> {
        RoutesInUse {
            fabric: &self.fabric,
            lids: &self.lids,
            routes: &self.routes,
        }
    }

    /// The LIDs of the ports that `fabric` still has. `fabric` numbers its nodes as this one does.
    #[must_use]
    pub fn lids_on(&self, fabric: &Fabric) -> LidMap {
        let ranges = self.lids.destinations().iter();
        LidMap::of_ranges(fabric, ranges.map(|port| (port.end, port.range)))
    }
}

/// Default options, on one thread: tests run side by side already, and counts of instructions are those of one thread.
#[must_use]
pub fn one_thread() -> RouteOptions {
    RouteOptions {
        threads: 1,
        ..RouteOptions::default()
    }
}
