//! An InfiniBand fabric in software: in process, in virtual time, or as a server for ibsim's clients.
//!
//! [`Sim`] is built from an [`ib_routing::Fabric`]. Its nodes answer subnet management packets, its switches forward
//! by directed routes and by their tables, its links take time, lose packets and go down. Nothing in it reads a clock: the
//! same fabric, options and inputs give the same run, bit for bit.
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

mod admin;
mod agent;
mod counters;
mod event;
mod fault;
mod frame;
mod gsa;
mod initial_state;
mod lft_pool;
mod link;
mod node;
mod options;
mod packet;
mod pma;
mod port_idx;
mod port_link;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
mod queue;
mod sampler;
mod samples;
#[cfg(target_os = "linux")]
pub mod server;
mod sim;
mod smp_watch;
mod switch;
mod tables;
mod together;
mod trace;
mod transport;
mod trap;

pub use counters::SimCounters;
pub use event::{Delivery, DropReason, Notification, SimError, SimStats};
pub use fault::{Behaviour, Corruption, FaultRates, FaultSpec, FaultSpecError, parse_time};
pub use node::{SimNode, SimPort};
pub use options::{DeviceProfile, PortGuids, SimOptions, SupportedLinks};
pub use packet::PacketError;
pub use sim::{Sim, SimInput};
pub use together::drive_all;
pub use trace::{PacketEnd, PacketFate, PacketHop, PacketId, PacketTrace};
pub use transport::{SharedSim, SimTransport};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
