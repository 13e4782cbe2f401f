//! IP over InfiniBand: the encapsulation header (RFC 4391, section 6).
//!
//! It stands before the IP or ARP packet in the payload of a datagram, and takes the place of
//! Ethernet's header.

use crate::wire_struct;

wire_struct! {
    /// Encapsulation header of IP over InfiniBand: the type of the payload.
    ///
    /// Source: RFC 4391, section 6; `headers.csv`, struct `IPoIBHeader`.
    pub struct IpoibHeader("IPoIBHeader", 4 bytes) {
        /// EtherType of the payload: IPv4, IPv6, ARP.
        ether_type, set_ether_type: u16 = 0, 16;
        #[doc(hidden)]
        reserved,   set_reserved:   u16 = 16, 16;
    }
}
