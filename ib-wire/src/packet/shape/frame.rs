//! The places of a RoCE packet's parts: Ethernet, VLAN tags, GRH or IP and UDP in front of the transport.

use super::{Decoded, ICRC, Network, Shape, Start, Stop};
use crate::{
    Grh, ROCE_V2_PORT, Udp,
    packet::{Expected, FaultKind},
    roce::{EtherType, Ethernet, Ipv4, Ipv4OptionWord, Ipv6, Vlan},
};

/// VLAN tags of a frame that are read: switches set two at most. The limit keeps the headers before the
/// payload within some hundred bytes.
const MAX_VLAN_TAGS: usize = 16;
/// UDP's number as an IP protocol.
const UDP: u8 = 17;

impl Shape {
    pub(super) fn ethernet(bytes: &[u8]) -> Decoded {
        let mut shape = Self::undecoded(Start::Ethernet, bytes);
        let Ok((frame, _)) = Ethernet::parse(bytes, 0) else {
            return shape.short(Ethernet::LAYOUT.name, 0, Ethernet::LEN, bytes);
        };
        let mut ether_type = frame.ether_type();
        let mut at = Ethernet::LEN;
        for _ in 0..MAX_VLAN_TAGS {
            if !matches!(ether_type, EtherType::VLAN | EtherType::SERVICE_VLAN) {
                break;
            }
            shape.payload = at;
            let Some(Ok((tag, _))) = bytes.get(at..).map(|rest| Vlan::parse(rest, at)) else {
                return shape.short(Vlan::LAYOUT.name, at, Vlan::LEN, bytes);
            };
            ether_type = tag.ether_type();
            at = at.saturating_add(Vlan::LEN);
        }
        shape.payload = at;
        match ether_type {
            EtherType::ROCE_V1 => Self::rocev1(Start::Ethernet, bytes, at),
            EtherType::IPV4 => Self::ipv4(Start::Ethernet, bytes, at),
            EtherType::IPV6 => Self::ipv6(Start::Ethernet, bytes, at),
            EtherType(other) => shape.stopped(Stop {
                kind: FaultKind::NotRoce,
                structure: Ethernet::LAYOUT.name,
                at: at.saturating_sub(2),
                field: "ether_type",
                found: other.into(),
                expected: Expected::Words("0x8915, 0x0800 or 0x86dd"),
            }),
        }
    }

    pub(super) fn rocev1(start: Start, bytes: &[u8], net: usize) -> Decoded {
        let shape = Self {
            network: Network::RoceV1,
            net,
            payload: net,
            ..Self::undecoded(start, bytes)
        };
        let Some(Ok((grh, _))) = bytes.get(net..).map(|rest| Grh::parse(rest, net)) else {
            return shape.short(Grh::LAYOUT.name, net, Grh::LEN, bytes);
        };
        let bth = net.saturating_add(Grh::LEN);
        shape
            .ending(bytes, bth.saturating_add(grh.pay_len().into()))
            .transport(bytes, bth)
    }

    pub(super) fn ipv4(start: Start, bytes: &[u8], net: usize) -> Decoded {
        let shape = Self {
            network: Network::RoceV2Ipv4,
            net,
            payload: net,
            ..Self::undecoded(start, bytes)
        };
        let Some(Ok((ip, _))) = bytes.get(net..).map(|rest| Ipv4::parse(rest, net)) else {
            return shape.short(Ipv4::LAYOUT.name, net, Ipv4::LEN, bytes);
        };
        let stop = |kind, field, found: usize, expected| Stop {
            kind,
            structure: Ipv4::LAYOUT.name,
            at: net,
            field,
            found,
            expected,
        };
        let header = usize::from(ip.ihl()).saturating_mul(4);
        let shape = shape.ending(bytes, net.saturating_add(ip.total_length().into()));
        let wrong = if ip.version() != 4 {
            let found = usize::from(ip.version());
            Some(stop(
                FaultKind::BadIpVer,
                "version",
                found,
                Expected::Number(4),
            ))
        } else if header < Ipv4::LEN {
            let found = usize::from(ip.ihl());
            Some(stop(FaultKind::BadIhl, "ihl", found, Expected::AtLeast(5)))
        } else if ip.fragment_offset() != 0 {
            let found = usize::from(ip.fragment_offset());
            let zero = Expected::Number(0);
            Some(stop(FaultKind::NotRoce, "fragment_offset", found, zero))
        } else if ip.protocol() != UDP {
            let found = usize::from(ip.protocol());
            let udp = Expected::Number(UDP.into());
            Some(stop(FaultKind::NotRoce, "protocol", found, udp))
        } else {
            None
        };
        match wrong {
            Some(stop) => Self {
                payload: net.saturating_add(Ipv4::LEN).min(bytes.len()),
                ..shape
            }
            .stopped(stop),
            None => shape.ipv4_options(bytes, net.saturating_add(header)),
        }
    }

    /// The option words between IPv4 and what starts at `udp`, then UDP.
    fn ipv4_options(self, bytes: &[u8], udp: usize) -> Decoded {
        let options = self.net.saturating_add(Ipv4::LEN);
        let room = self.limit.saturating_sub(options);
        let whole = options.saturating_add(room & !(Ipv4OptionWord::LEN - 1));
        let shape = Self {
            payload: udp.min(whole),
            ..self
        };
        if whole < udp {
            return shape.short(
                Ipv4OptionWord::LAYOUT.name,
                whole,
                Ipv4OptionWord::LEN,
                bytes,
            );
        }
        shape.udp(bytes, udp)
    }

    pub(super) fn ipv6(start: Start, bytes: &[u8], net: usize) -> Decoded {
        let shape = Self {
            network: Network::RoceV2Ipv6,
            net,
            payload: net,
            ..Self::undecoded(start, bytes)
        };
        let Some(Ok((ip, _))) = bytes.get(net..).map(|rest| Ipv6::parse(rest, net)) else {
            return shape.short(Ipv6::LAYOUT.name, net, Ipv6::LEN, bytes);
        };
        let udp = net.saturating_add(Ipv6::LEN);
        let shape = Self {
            payload: udp,
            ..shape.ending(bytes, udp.saturating_add(ip.payload_length().into()))
        };
        let stop = |kind, field, found: u8, expected: u8| Stop {
            kind,
            structure: Ipv6::LAYOUT.name,
            at: net,
            field,
            found: found.into(),
            expected: Expected::Number(expected.into()),
        };
        if ip.version() != 6 {
            shape.stopped(stop(FaultKind::BadIpVer, "version", ip.version(), 6))
        } else if ip.next_header() != UDP {
            let found = ip.next_header();
            shape.stopped(stop(FaultKind::NotRoce, "next_header", found, UDP))
        } else {
            shape.udp(bytes, udp)
        }
    }

    /// UDP at `at`, then the transport: the port is judged later, the length may only shorten.
    fn udp(self, bytes: &[u8], at: usize) -> Decoded {
        let bth = at.saturating_add(Udp::LEN);
        if self.limit < bth {
            return self.short(Udp::LAYOUT.name, at, Udp::LEN, bytes);
        }
        // A caller that names RoCE as the start is trusted; a frame may hold any protocol.
        if self.start == Start::Ethernet
            && let Some(Ok((udp, _))) = bytes.get(at..).map(|rest| Udp::parse(rest, at))
            && udp.dst_port() != ROCE_V2_PORT
        {
            return Self {
                payload: bth,
                ..self
            }
            .stopped(Stop {
                kind: FaultKind::NotRoce,
                structure: Udp::LAYOUT.name,
                at,
                field: "dst_port",
                found: udp.dst_port().into(),
                expected: Expected::Number(ROCE_V2_PORT.into()),
            });
        }
        self.transport(bytes, bth)
    }

    /// Sets where payload and packet end, of a packet without VCRC.
    fn ending(self, bytes: &[u8], end: usize) -> Self {
        Self {
            limit: end.saturating_sub(ICRC).min(bytes.len()).max(self.net),
            end,
            ..self
        }
    }
}
