//! Transports for InfiniBand management datagrams, and the one loop that joins a state machine to one.

#![deny(unsafe_code)]

pub mod capture;
mod drive;
pub mod ibsim;
#[cfg(feature = "interop")]
#[doc(hidden)]
pub mod interop;
mod replay;
mod tap;
mod transport;
#[allow(
    unsafe_code,
    reason = "the system calls of umad, one reviewed file: umad/sys.rs"
)]
pub mod umad;

pub use drive::{Clock, MonotonicClock, ask, drive};
pub use replay::{Replay, ReplayClock};
pub use tap::{Direction, Record, RecordWriter, Recording, Tap, TappedClock, read_records};
pub use transport::{MadTransport, Received, TransportError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
