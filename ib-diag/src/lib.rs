//! Diagnostics of an InfiniBand subnet, without I/O.
//!
//! A [`Collector`] reads a subnet over any transport and yields a [`Snapshot`]: topology, attributes, tables and
//! counters as the devices hold them. Everything else is a pure function of snapshots: [`check`] finds defects,
//! [`FabricDifference`] finds changes, and [`Snapshot::path`] follows a packet through the installed tables. A snapshot is
//! one file ([`Snapshot::to_bytes`], [`Snapshot::from_bytes`]), so that a subnet can be examined later and elsewhere.
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

mod batch;
mod check;
mod collect;
mod conform;
mod counters;
mod difference;
mod link;
mod name;
mod outdated;
mod partition;
mod perf_manager;
mod port_action;
mod prometheus;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
mod reset;
mod snapshot;
mod tables;
#[cfg(test)]
mod testing;
mod trace;

pub use batch::{Batch, BatchOutcome};
pub use check::{Check, CheckOptions, CheckReport, Finding, Location, Severity, Value, check};
pub use collect::{Collector, CollectorConfig, CollectorEvent, CounterScope, LaneTables};
pub use conform::{Case, CaseResult, ConformOptions, Subject, UnmetPreconditions};
pub use counters::{Counter, CounterReadings, CounterValues, Thresholds, UnreadReason};
pub use difference::{
    EndName, FabricDifference, LinkChange, LinkName, NodeChange, NodeName, TableChange, difference,
    table_changes,
};
pub use link::{LinkEnd, LinkView};
pub use name::{NameError, Named, NodeNameMap};
pub use partition::PathPartitions;
pub use perf_manager::{
    CounterSample, PerfManager, PerfManagerConfig, PerfManagerEvent, PortHistory,
};
pub use port_action::{PortAction, PortActionError, PortChange, PortChangeError};
pub use snapshot::{
    Contents, DuplicateGuid, SilentDevice, Snapshot, SnapshotError, SnapshotNode, SnapshotPort,
};
pub use trace::{Hop, MulticastPath, Path, PathEnd};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
