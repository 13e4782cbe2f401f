//! RDMA over Converged Ethernet: the headers in front of GRH (v1) or BTH (v2).

mod ethernet;
mod ip;
mod udp;

pub use ethernet::{EtherType, Ethernet, Vlan};
pub use ip::{Ipv4, Ipv4OptionWord, Ipv6};
pub use udp::{ROCE_V2_PORT, Udp, flow_label, source_port};
