//! An InfiniBand subnet manager and administrator without I/O, for embedding.
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

mod apply;
mod cluster;
mod config;
mod congestion;
mod decision;
pub mod election;
mod event;
mod manager;
pub mod partition;
mod plan;
mod policy;
mod prefix_routes;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
mod qos_policy;
mod reconcile;
mod registrations;
mod replication;
mod sa;
mod shared;
mod status;
mod trap;
mod work;

pub use cluster::ClusterRole;
pub use config::{
    CaCongestion, ConfigError, ConfigProblem, CongestionOptions, Delay, ForcedLinks, HostOptions,
    LevelCongestion, OptionChange, OptionFiles, OptionGroup, OptionInfo, PerformanceOptions,
    PortMask, Qos, QosOptions, RouteTables, SmConfig, SwitchCongestion, UnknownOption,
};
pub use congestion::{CongestionEvent, CongestionManager};
pub use event::{
    Event, EventSeverity, FabricCounts, MadCounts, NotActive, NotKept, Phase, PhaseTimes,
    PortCounts, Summary, SweepCause, SweepKind,
};
pub use ib_subnet::{PortAt, Unresponsive};
pub use manager::{Conduct, InvariantError, SubnetManager};
pub use partition::{
    GroupOptions, MemberKind, Membership, Partition, Partitions, RankedMembership,
};
pub use plan::InstalledRoutes;
pub use prefix_routes::{PrefixRoute, PrefixRoutes};
pub use qos_policy::{QosLevel, QosPolicy};
pub use reconcile::{Change, Stage};
pub use registrations::{
    GroupRegistration, GuidRegistration, Registrations, SubscriptionRegistration,
};
pub use replication::message::{
    CLASS as REPLICATION_CLASS, CLASS_VERSION as REPLICATION_CLASS_VERSION, OUI as REPLICATION_OUI,
};
pub use replication::registration::SERVICE_ID as REPLICATION_SERVICE;
pub use sa::RegistrationCounts;
pub use status::Status;
pub use work::{Done, Work};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
