//! Transports for InfiniBand management datagrams, and the one loop that joins a state machine to one.

#![deny(unsafe_code)]

#[cfg(feature = "capture")]
pub mod capture;
mod clock;
#[cfg(all(feature = "umad", feature = "ibsim", target_os = "linux"))]
mod device;
mod faulty;
#[cfg(feature = "ibsim")]
pub mod ibsim;
#[cfg(all(feature = "ibsim", target_os = "linux"))]
pub mod mmsg;
mod replay;
mod tap;
mod transport;
#[cfg(feature = "umad")]
#[allow(
    unsafe_code,
    reason = "the system calls of umad, one reviewed file: umad/sys.rs"
)]
pub mod umad;

pub use clock::MonotonicClock;
#[cfg(all(feature = "umad", feature = "ibsim", target_os = "linux"))]
pub use device::{AnyPort, PortOptions};
pub use faulty::{FaultOptions, Faulty};
pub use ib_mad::transport::{Clock, MadTransport, Received, TransportFailure, ask, drive, receive};
pub use replay::Replay;
pub use tap::{Direction, RecordedMad, Tap};
#[cfg(feature = "capture")]
pub use tap::{RecordWriter, Recording, read_records};
pub use transport::TransportError;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
