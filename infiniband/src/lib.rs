#![doc = include_str!("../README.md")]
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

mod port;
#[cfg(feature = "routing")]
mod route;
#[cfg(feature = "proptest")]
pub mod strategy;

#[cfg(feature = "ports")]
pub use port::open;
pub use port::{GetError, LocalPort};
#[cfg(feature = "routing")]
pub use route::{Routed, RoutingError, route};

/// Communication management: connections and service resolution.
pub use ib_cm as cm;
/// Models of the link layer: credits of virtual lanes, and the arbiter of a port.
pub use ib_link as link;
/// Management datagrams of every class, RMPP, requests and their answers.
pub use ib_mad as mad;
/// The fabric graph, LIDs, routing engines, proof of the result.
#[cfg(feature = "routing")]
pub use ib_routing as routing;
/// Subnet administration: records and queries.
pub use ib_sa as sa;
/// A fabric in software.
#[cfg(feature = "sim")]
pub use ib_sim as sim;
/// The subnet manager.
#[cfg(feature = "sm")]
pub use ib_sm as sm;
/// Subnet management: directed routes and every attribute.
pub use ib_smp as smp;
/// A subnet as its devices report it, and the walk that reads it.
#[cfg(feature = "subnet")]
pub use ib_subnet as subnet;
/// Ports and captures.
#[cfg(any(feature = "ports", feature = "capture", feature = "sim"))]
pub use ib_transport as transport;
/// Packets: every header, CRCs, whole packets parsed and built.
pub use ib_wire as wire;

/// Opens a capture: pcap or pcapng, whichever the first bytes say.
///
/// # Errors
/// Those of [`CaptureReader::new`](transport::capture::CaptureReader::new), and of opening the file.
#[cfg(feature = "capture")]
pub fn capture(
    file: impl AsRef<std::path::Path>,
) -> Result<transport::capture::CaptureReader<std::fs::File>, transport::capture::CaptureError> {
    transport::capture::CaptureReader::new(std::fs::File::open(file)?)
}
