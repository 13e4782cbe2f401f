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

mod config;
pub mod election;
mod event;
mod manager;
pub mod partition;
mod prefix_routes;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
mod qos_policy;
mod registrations;
mod request;
mod sa;
mod status;
pub mod subnet;
mod sweep;
mod tally;
mod trap;

pub use config::{
    ConfigError, ForcedLinks, HostOptions, IgnoredOption, OptionChange, OptionFiles, OptionGroup,
    OptionInfo, Qos, QosOptions, SmConfig,
};
pub use event::{
    Event, FabricCounts, MadCounts, Phase, PhaseTimes, PortAt, PortCounts, Severity, Summary,
    SweepCause, Unresponsive,
};
pub use manager::SubnetManager;
pub use partition::{PartitionError, Partitions};
pub use prefix_routes::{PrefixRoute, PrefixRoutes, PrefixRoutesError};
pub use qos_policy::{QosLevel, QosPolicy, QosPolicyError};
pub use registrations::{
    GroupRegistration, GuidRegistration, Registrations, RegistrationsError,
    SubscriptionRegistration,
};
pub use sa::RegistrationCounts;
pub use status::Status;
pub use subnet::Subnet;
pub use tally::PortTally;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
