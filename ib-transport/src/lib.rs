//! Transports for InfiniBand management datagrams, and the one loop that joins a state machine to one.

mod drive;
mod transport;

pub use drive::{Clock, MonotonicClock, drive};
pub use transport::{MadTransport, Received, TransportError};
