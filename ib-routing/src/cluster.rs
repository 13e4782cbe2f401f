//! Logical clusters: one fabric under several subnet managers, each with its own part of it.
//!
//! A manager has its own nodes up to the boundary ports that its configuration names, and only the names and LID ranges
//! of the other clusters. It assigns LIDs of its own range, routes its part by any engine, and sends all LIDs of the
//! others out by the transit ports that lead there, distributed evenly over the ports ([`transit`]). To the engine, a
//! router with the LIDs that leave by a boundary port represents everything beyond that port ([`ClusterView`]), so that
//! the engine's balance and its guarantee cover traffic from and to other clusters as well. [`route()`] therefore gets
//! no more than a [`ClusterView`] and the others' [`Declaration`]s.
//!
//! ```
//! use ib_routing::{LidOptions, RouteOptions, cluster, engine, generate::FabricSpec, verify};
//!
//! let fabric = FabricSpec::Mcsm.build()?;
//! let configs = cluster::read(include_str!("../testdata/clusters/mcsm.conf"))?;
//! let clusters = cluster::Clusters::validate(&fabric, &configs).expect("sound configurations");
//! let (chain, lids) = ([engine::UPDN.clone()], LidOptions::default());
//! let parts = clusters.route(&chain, true, &lids, &RouteOptions::default()).expect("routes");
//! let union = cluster::Union::join(&fabric, &clusters, &parts);
//! assert!(verify(&fabric, &union.lids, &union.routes).is_clean());
//! # Ok::<(), ib_routing::TopologyError>(())
//! ```
//!
//! A program that has all configurations can check them against each other ([`Clusters::validate`]) and join the tables
//! into one route set for the verifier ([`Union`]), because parts that are each free of deadlock do not make the whole
//! free of deadlock. Source: Basalov, "MCSM", logical clusters of InfiniBand networks under own managers.

mod config;
mod fault;
mod mcast;
mod plan;
mod route;
pub mod transit;
mod union;
mod validate;
mod view;

pub use self::{
    config::{ClusterConfig, Declaration, SwitchPort, Transit, read, write},
    fault::{ClusterFault, ClusterFaultKind},
    mcast::join_trees,
    plan::plan,
    route::{ClusterLids, ClusterRoutes, route},
    union::Union,
    validate::{Clusters, validate_own, without_declarations},
    view::{ClusterView, RemoteRouter},
};

#[cfg(test)]
mod tests;
