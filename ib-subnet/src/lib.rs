//! An InfiniBand subnet as its devices report it, and the discovery that reads it, without I/O.
//!
//! [`Subnet`] is the observed state: nodes, ports, cables, and the known attribute blocks of the devices. It
//! lives as long as its user keeps it; a node keeps its [`NodeId`] from walk to walk. [`Walk`] is the walker: it
//! returns the next read and accepts the answers. [`Discovery`] combines a subnet, a walk of everything and a
//! transaction window into an [`Engine`](ib_mad::Engine) for tools that only read.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

extern crate alloc;

mod block;
mod discovery;
mod fabric;
mod known_table;
mod link_speed;
mod looks;
mod m_keys;
mod node;
mod port_summary;
mod read;
mod route;
mod subnet;
mod walk;

pub use block::{Block, arbitration_block};
pub use discovery::{Discovered, Discovery, DiscoveryConfig, DiscoveryEvent, SilentPort};
pub use fabric::{FabricIndex, description, node_type};
pub use known_table::KnownTable;
pub use link_speed::active_speed;
pub use m_keys::MKeys;
pub use node::{SubnetNode, SubnetPort, SubnetSwitch};
pub use port_summary::PortSummary;
pub use read::{Read, ReadTarget};
pub use route::SmpRoute;
pub use subnet::{NodeId, PathChanges, PortAt, PortId, Subnet};
pub use walk::{Scope, Unresponsive, Walk, WalkFinding, WalkOptions, WalkOutcome};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
