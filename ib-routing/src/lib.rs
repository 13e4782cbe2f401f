//! InfiniBand routing: fabric graph, LIDs, routing engines, proof of the result.
//!
//! Routing is a pure function: [`SharedEngine::route`] takes a [`Fabric`], a [`LidMap`] and
//! [`RouteOptions`] and returns [`Routes`]; [`verify()`] takes the same fabric and LIDs and the routes
//! of anyone, and says who reaches whom, by how many hops, over which links, and whether the
//! channels can deadlock.
//!
//! ```
//! use ib_routing::{LidMap, LidOptions, RouteOptions, engine, format::ibnetdiscover, verify};
//!
//! let text = include_str!("../testdata/fabrics/seed-dualstar.net");
//! let fabric = ibnetdiscover::read(text)?.fabric;
//! let lids = LidMap::assign(&fabric, &LidOptions::default())?;
//! let routes = engine::MINHOP.route(&fabric, &lids, &RouteOptions::default())?;
//! let report = verify(&fabric, &lids, &routes);
//! assert_eq!((report.unreachable, report.loops), (0, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

extern crate alloc;

pub mod algo;
pub mod chassis;
pub mod cluster;
pub mod engine;
mod error;
pub mod fabric;
pub mod format;
pub mod generate;
pub mod index;
pub mod layout;
pub mod lid;
mod lid_matrix;
pub mod mcast;
mod options;
pub mod port_pairs;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
pub mod repair;
mod routes;
pub mod update;
pub mod verify;
pub mod vl;
pub mod whatif;

pub use engine::{Guarantees, PathRule, RoutingEngine, SharedEngine, UnknownEngine};
pub use error::{RouteError, TopologyError, TopologyErrorKind};
pub use fabric::{
    Fabric, FabricBuilder, LinkSpeed, LinkWidth, NewNode, Node, NodeType, Port, PortRef,
};
pub use index::{ChannelIdx, DestinationIdx, NodeIdx, SwitchIdx};
pub use layout::FabricLayout;
pub use lid::{
    Destination, InvalidLid, LidChanges, LidConflict, LidMap, LidOptions, LidPolicy, LowestFree,
};
pub use lid_matrix::LidMatrix;
pub use options::RouteOptions;
pub use port_pairs::PortPairs;
pub use repair::{Repair, repair};
pub use routes::{PagePool, PairSls, Routes, SharedLft, SlTable};
pub use verify::{VerifyReport, verify, verify_with};
pub use vl::VlMap;

/// The example of the README, so that it keeps compiling.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
