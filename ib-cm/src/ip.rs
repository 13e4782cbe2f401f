//! IP addressing over communication management: the head of a REQ's private data, and the service IDs that
//! represent a port of an IP protocol (IBA vol. 1, annex A11).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ib_wire::wire_struct;

wire_struct! {
    /// First 36 bytes of the private data of a REQ to an IP service: who connects to whom.
    ///
    /// Source: IBA vol. 1, A11.3.
    pub struct IpCmPrivateData("IPCMPrivateData", 36 bytes) {
        /// Major version of this structure: 0.
        major_version,          set_major_version:          u8          = 0, 4;
        /// Minor version of this structure: 0.
        minor_version,          set_minor_version:          u8          = 4, 4;
        /// Version of the IP addresses: 4 or 6.
        ip_version,             set_ip_version:             u8          = 8, 4;
        #[doc(hidden)]
        reserved1,              set_reserved1:              u8          = 12, 4;
        /// Port of the side that connects.
        source_port,            set_source_port:            u16         = 16, 16;
        /// Address of the side that connects; an IPv4 address fills the last 4 bytes.
        source_ip_address,      set_source_ip_address:      [bytes; 16] = 32, 128;
        /// Address of the other side; an IPv4 address fills the last 4 bytes.
        destination_ip_address, set_destination_ip_address: [bytes; 16] = 160, 128;
    }
}

impl IpCmPrivateData {
    /// The address of the side that connects; `None` if `ip_version` is neither 4 nor 6.
    #[must_use]
    pub fn source(&self) -> Option<IpAddr> {
        self.address(self.source_ip_address())
    }

    /// The address of the other side; `None` if `ip_version` is neither 4 nor 6.
    #[must_use]
    pub fn destination(&self) -> Option<IpAddr> {
        self.address(self.destination_ip_address())
    }

    /// Sets both addresses and the version. The message has one version for both addresses: both are then
    /// written as IPv6, the IPv4 one mapped.
    pub fn set_addresses(&mut self, source: IpAddr, destination: IpAddr) -> &mut Self {
        let (version, source, destination) = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => (4, last4(source), last4(destination)),
            (source, destination) => (6, mapped(source), mapped(destination)),
        };
        self.set_ip_version(version)
            .set_source_ip_address(&source)
            .set_destination_ip_address(&destination)
    }

    fn address(&self, bytes: &[u8; 16]) -> Option<IpAddr> {
        match self.ip_version() {
            4 => Some(IpAddr::V4(Ipv4Addr::from(*bytes.last_chunk::<4>()?))),
            6 => Some(IpAddr::V6(Ipv6Addr::from(*bytes))),
            _ => None,
        }
    }
}

fn last4(address: Ipv4Addr) -> [u8; 16] {
    address.to_ipv6_compatible().octets()
}

fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// The service ID of a port of an IP protocol: 0x0000000001, the protocol's number, the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IpServiceId {
    /// IANA's number of the protocol: 6 TCP, 17 UDP.
    pub protocol: u8,
    /// Port number of the IP protocol, 0..=65535.
    pub port: u16,
}

impl IpServiceId {
    const PREFIX: u64 = 0x0000_0000_0100_0000;

    /// The number as `service_id` has it.
    #[must_use]
    pub const fn bits(self) -> u64 {
        Self::PREFIX | (self.protocol as u64) << 16 | self.port as u64
    }

    /// The protocol and port that a service ID represents; `None` if it is of another kind.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        if bits & !0xff_ffff != Self::PREFIX {
            return None;
        }
        Some(Self {
            protocol: (bits >> 16) as u8,
            port: bits as u16,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_address_fills_the_last_four_bytes() {
        let mut data = IpCmPrivateData::default();
        let source = IpAddr::from([10, 1, 2, 3]);
        let destination = IpAddr::from([10, 1, 2, 4]);
        data.set_addresses(source, destination);
        assert_eq!(data.as_bytes()[1], 0x40);
        assert_eq!(
            data.as_bytes()[4..20],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 1, 2, 3]
        );
        assert_eq!(data.source(), Some(source));
        assert_eq!(data.destination(), Some(destination));
    }

    #[test]
    fn mixed_addresses_become_ipv6() {
        let mut data = IpCmPrivateData::default();
        data.set_addresses(IpAddr::from([10, 1, 2, 3]), IpAddr::V6(Ipv6Addr::LOCALHOST));
        assert_eq!(data.ip_version(), 6);
        assert_eq!(data.destination(), Some(IpAddr::V6(Ipv6Addr::LOCALHOST)));
    }

    #[test]
    fn a_tcp_port_has_its_service_id() {
        let id = IpServiceId {
            protocol: 6,
            port: 0x4d2,
        };
        assert_eq!(id.bits(), 0x0000_0000_0106_04d2);
        assert_eq!(IpServiceId::from_bits(id.bits()), Some(id));
        assert_eq!(IpServiceId::from_bits(0x1000_0000_0106_04d2), None);
    }
}
