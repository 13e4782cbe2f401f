//! Where the parts of a packet lie: all that parsing finds out.

use core::{fmt, str::FromStr};

use super::{Fault, FaultKind};
use crate::{
    At, Bth, Eth, Grh, Lnh, Lrh, OpCode, ROCE_V2_PORT, Rwh, Udp,
    crc::Coverage,
    packet::Expected,
    roce::{EtherType, Ethernet, Ipv4, Ipv4OptionWord, Ipv6, Vlan},
    table::UnknownName,
};

/// Where the bytes of a packet start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Start {
    /// At the LRH: a packet of an InfiniBand link, VCRC included.
    #[default]
    Ib,
    /// At the GRH: RoCE v1 without its Ethernet header.
    RoceV1,
    /// At the IPv4 header: RoCE v2 without its Ethernet header.
    RoceV2Ipv4,
    /// At the IPv6 header: RoCE v2 without its Ethernet header.
    RoceV2Ipv6,
    /// At the Ethernet header, VLAN tags included.
    Ethernet,
}

impl Start {
    /// All of them with their names.
    pub const NAMED: &'static [(Self, &'static str)] = &[
        (Self::Ib, "ib"),
        (Self::RoceV1, "rocev1"),
        (Self::RoceV2Ipv4, "rocev2-ipv4"),
        (Self::RoceV2Ipv6, "rocev2-ipv6"),
        (Self::Ethernet, "ethernet"),
    ];
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMED.iter().find(|(start, _)| start == self);
        f.pad(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for Start {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        match Self::NAMED.iter().find(|(_, name)| *name == text) {
            Some(&(start, _)) => Ok(start),
            None => Err(UnknownName("start of a packet")),
        }
    }
}

/// What carries the transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// Nothing that was recognised.
    None,
    /// LRH, then BTH.
    Local,
    /// LRH, GRH, then BTH.
    Global,
    /// LRH and RWH: a raw packet with an EtherType.
    Raw,
    /// LRH, then a whole IPv6 packet as payload.
    RawIpv6,
    /// GRH in Ethernet.
    RoceV1,
    /// IPv4 and UDP.
    RoceV2Ipv4,
    /// IPv6 and UDP.
    RoceV2Ipv6,
}

/// Past the headers of every packet.
const NO_BTH: u16 = u16::MAX;
/// VLAN tags of a frame that are read: switches set two at most. What stands in front of the payload
/// stays within some hundred bytes so.
const MAX_VLAN_TAGS: usize = 16;
/// Length of the ICRC.
const ICRC: usize = 4;
/// Length of the VCRC.
const VCRC: usize = 2;

/// Where the parts of a packet lie. Offsets may be past the end of the bytes only where a field's
/// doc says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) start: Start,
    pub(super) network: Network,
    /// The header after LRH or Ethernet: GRH, RWH or IP.
    pub(super) net: usize,
    /// The BTH; [`NO_BTH`] where none was reached. As it is small, no place counted from it overflows.
    bth: u16,
    /// One past the last decoded header.
    pub(super) payload: usize,
    /// One past payload and pad: where the ICRC starts, or the VCRC of a raw packet. Never past the
    /// bytes' end.
    pub(super) limit: usize,
    /// One past the last CRC as the length fields say: past the bytes' end if the packet was cut.
    pub(super) end: usize,
    /// Whether decoding stopped before the payload.
    pub(super) stopped: bool,
}

/// A shape, and why decoding stopped if it did: judged apart, so that a packet stays small.
#[derive(Clone, Copy)]
pub(super) struct Decoded {
    pub(super) shape: Shape,
    pub(super) stop: Option<Stop>,
}

impl From<Shape> for Decoded {
    #[inline]
    fn from(shape: Shape) -> Self {
        Self { shape, stop: None }
    }
}

/// Where decoding stopped, and at what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) kind: FaultKind,
    pub(super) structure: &'static str,
    pub(super) at: usize,
    pub(super) field: &'static str,
    pub(super) found: usize,
    pub(super) expected: Expected,
}

impl Stop {
    pub(super) fn fault(&self) -> Fault {
        Fault {
            kind: self.kind,
            at: At::new(self.structure, self.at),
            field: self.field,
            found: self.found as u64,
            expected: self.expected,
        }
    }
}

impl Shape {
    /// The shape of any bytes that start as `start` says.
    pub(super) fn of(start: Start, bytes: &[u8]) -> Self {
        Self::decode(start, bytes).shape
    }

    /// The shape of a whole and usual packet of a link: what parsing a good one takes. `None` leaves
    /// it to [`decode`](Self::decode), which finds the same shape for these, and one for all others.
    #[inline]
    pub(super) fn whole(bytes: &[u8]) -> Option<Self> {
        let shortest: &[u8; MIN_IBA] = bytes.first_chunk()?;
        let lrh = Lrh::from_bytes(*shortest.first_chunk()?);
        let lnh = lrh.lnh();
        if !lnh.is_transport() {
            return None;
        }
        let (network, bth) = if lnh == Lnh::IBA_GLOBAL {
            (Network::Global, (Lrh::LEN + Grh::LEN) as u16)
        } else {
            (Network::Local, Lrh::LEN as u16)
        };
        // 2047 words of 4 bytes at most, and headers of some hundred: no sum can overflow.
        let covered = usize::from(lrh.pkt_len()).wrapping_mul(4);
        let end = covered.wrapping_add(VCRC);
        let limit = covered.checked_sub(ICRC)?;
        let op_code = OpCode(*bytes.get(usize::from(bth))?);
        let payload = usize::from(bth)
            .wrapping_add(Bth::LEN)
            .wrapping_add(op_code.headers_len());
        if payload > limit || end > bytes.len() {
            return None;
        }
        Some(Self {
            start: Start::Ib,
            network,
            net: Lrh::LEN,
            bth,
            payload,
            limit,
            end,
            stopped: false,
        })
    }

    /// The shape of a packet of a link that is not [`whole`](Self::whole).
    #[cold]
    pub(super) fn unusual(bytes: &[u8]) -> Self {
        Self::of(Start::Ib, bytes)
    }

    /// Finds where everything lies.
    pub(super) fn decode(start: Start, bytes: &[u8]) -> Decoded {
        match start {
            Start::Ib => Self::ib(bytes),
            Start::RoceV1 => Self::rocev1(start, bytes, 0),
            Start::RoceV2Ipv4 => Self::ipv4(start, bytes, 0),
            Start::RoceV2Ipv6 => Self::ipv6(start, bytes, 0),
            Start::Ethernet => Self::ethernet(bytes),
        }
    }

    /// A shape whose headers are not decoded yet.
    #[inline]
    fn undecoded(start: Start, bytes: &[u8]) -> Self {
        Self {
            start,
            network: Network::None,
            net: 0,
            bth: NO_BTH,
            payload: 0,
            limit: bytes.len(),
            end: bytes.len(),
            stopped: false,
        }
    }

    #[inline]
    pub(super) fn ib(bytes: &[u8]) -> Decoded {
        let shape = Self::undecoded(Start::Ib, bytes);
        let Ok((lrh, _)) = Lrh::parse(bytes, 0) else {
            return shape.short(Lrh::LAYOUT.name, 0, Lrh::LEN, bytes);
        };
        // 2047 words of 4 bytes at most: no sum below can overflow.
        let covered = usize::from(lrh.pkt_len()).wrapping_mul(4);
        let (network, transport) = match lrh.lnh() {
            Lnh::IBA_LOCAL => (Network::Local, 8),
            Lnh::IBA_GLOBAL => (Network::Global, 48),
            raw => return shape.raw(bytes, raw, covered),
        };
        // A length that no packet has says nothing about where this one ends.
        let end = if covered >= MIN_IBA {
            covered.wrapping_add(VCRC)
        } else {
            bytes.len()
        };
        let shape = Self {
            network,
            net: Lrh::LEN,
            payload: Lrh::LEN,
            limit: end.saturating_sub(ICRC.wrapping_add(VCRC)).min(bytes.len()),
            end,
            ..shape
        };
        if network == Network::Global && shape.limit < transport {
            return shape.short(Grh::LAYOUT.name, Lrh::LEN, Grh::LEN, bytes);
        }
        shape.transport(bytes, transport)
    }

    /// Raw packets have no ICRC.
    fn raw(self, bytes: &[u8], lnh: Lnh, covered: usize) -> Decoded {
        let end = if covered >= MIN_RAW {
            covered.wrapping_add(VCRC)
        } else {
            bytes.len()
        };
        let shape = Self {
            network: match lnh {
                Lnh::RAW => Network::Raw,
                _ => Network::RawIpv6,
            },
            net: Lrh::LEN,
            payload: Lrh::LEN,
            limit: end.saturating_sub(VCRC).min(bytes.len()).max(Lrh::LEN),
            end,
            ..self
        };
        match shape.network {
            Network::Raw if shape.limit < RAW_PAYLOAD => {
                shape.short(Rwh::LAYOUT.name, Lrh::LEN, Rwh::LEN, bytes)
            }
            Network::Raw => Self {
                payload: RAW_PAYLOAD,
                ..shape
            }
            .into(),
            _ => shape.into(),
        }
    }

    fn ethernet(bytes: &[u8]) -> Decoded {
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

    fn rocev1(start: Start, bytes: &[u8], net: usize) -> Decoded {
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

    fn ipv4(start: Start, bytes: &[u8], net: usize) -> Decoded {
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

    fn ipv6(start: Start, bytes: &[u8], net: usize) -> Decoded {
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
        // Who says that RoCE starts here is believed; a frame may be anybody's.
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

    /// BTH at `at`, and the headers that its operation asks for.
    #[inline]
    fn transport(self, bytes: &[u8], at: usize) -> Decoded {
        let shape = Self {
            payload: at,
            ..self
        };
        let payload = at.wrapping_add(Bth::LEN);
        if let Some(region) = bytes.get(..shape.limit)
            && let Some(rest) = region.get(at..)
            && let Ok((header, _)) = Bth::parse(rest, at)
            && let Ok(bth) = u16::try_from(at)
        {
            let op_code = header.op_code();
            let all = payload.wrapping_add(op_code.headers_len());
            let shape = Self {
                bth,
                payload: all,
                ..shape
            };
            if all <= shape.limit {
                return shape.into();
            }
            return shape.cut_stack(bytes, op_code, payload);
        }
        shape.short(Bth::LAYOUT.name, at, Bth::LEN, bytes)
    }

    /// The packet ends inside the extended headers: `payload` goes back to the last whole one.
    #[cold]
    fn cut_stack(self, bytes: &[u8], op_code: OpCode, after_bth: usize) -> Decoded {
        let mut at = after_bth;
        for eth in op_code.headers() {
            let layout = eth.layout();
            let next = at.saturating_add(layout.len);
            if next > self.limit {
                let shape = Self {
                    payload: at,
                    ..self
                };
                return shape.short(layout.name, at, layout.len, bytes);
            }
            at = next;
        }
        Self {
            payload: at,
            ..self
        }
        .into()
    }

    /// Decoding stops at a structure of `needed` bytes at `at`, for which there is no room.
    #[cold]
    fn short(self, structure: &'static str, at: usize, needed: usize, bytes: &[u8]) -> Decoded {
        // Before GRH or IP of a frame are read, nothing says how long the packet is.
        let is_first = self.start != Start::Ib && at == self.net;
        let cut = self.end > bytes.len() || self.network == Network::None || is_first;
        let shape = Self {
            payload: self.payload.min(at).min(bytes.len()),
            limit: self.limit.max(self.payload.min(at).min(bytes.len())),
            ..self
        };
        shape.stopped(Stop {
            kind: if cut {
                FaultKind::Truncated
            } else {
                FaultKind::HeaderStackExceedsPacket
            },
            structure,
            at,
            field: "length",
            found: self.limit.saturating_sub(at),
            expected: Expected::AtLeast(needed as u64),
        })
    }

    fn stopped(self, stop: Stop) -> Decoded {
        Decoded {
            shape: Self {
                stopped: true,
                ..self
            },
            stop: Some(stop),
        }
    }

    /// Where the BTH starts; past all headers where none was reached.
    #[inline]
    pub(super) fn bth(&self) -> usize {
        self.bth.into()
    }

    /// Whether a BTH was reached.
    pub(super) fn has_bth(&self) -> bool {
        self.bth != NO_BTH
    }

    /// Where the extended header starts, if the operation has it and it was decoded.
    #[inline]
    pub(super) fn eth(&self, bytes: &[u8], eth: Eth) -> Option<usize> {
        let op_code = OpCode(*bytes.get(self.bth())?);
        let at = self
            .bth()
            .wrapping_add(Bth::LEN)
            .wrapping_add(op_code.place_of(eth));
        (at.wrapping_add(eth.layout().len) <= self.payload).then_some(at)
    }

    /// One past the payload: before the pad, if the pad count fits.
    #[inline]
    pub(super) fn payload_end(&self, bytes: &[u8]) -> usize {
        let pad = match bytes.get(self.bth().wrapping_add(1)) {
            // Where decoding stopped, nobody knows what is payload.
            Some(byte) if !self.stopped => usize::from(*byte >> 4 & 3),
            _ => 0,
        };
        let icrc = self.icrc().unwrap_or(0);
        match self.limit.min(icrc.saturating_sub(pad)) {
            end if self.has_bth() && end >= self.payload => end,
            _ => self.limit.max(self.payload),
        }
    }

    /// Where the ICRC starts as the length fields say, of a packet that has one.
    #[inline]
    pub(super) fn icrc(&self) -> Option<usize> {
        self.end.checked_sub(match self.start {
            Start::Ib => ICRC.wrapping_add(VCRC),
            _ => ICRC,
        })
    }

    /// Which rule masks the ICRC; `None` for packets that have none.
    pub(super) fn coverage(&self) -> Option<Coverage> {
        match self.network {
            Network::Local => Some(Coverage::IbaLocal),
            Network::Global => Some(Coverage::IbaGlobal),
            Network::RoceV1 => Some(Coverage::RoceV1),
            Network::RoceV2Ipv4 => Some(Coverage::RoceV2Ipv4),
            Network::RoceV2Ipv6 => Some(Coverage::RoceV2Ipv6),
            Network::None | Network::Raw | Network::RawIpv6 => None,
        }
    }
}

/// Bytes before the VCRC of the shortest IBA packet: LRH, BTH, ICRC.
pub(super) const MIN_IBA: usize = 24;
/// Bytes before the VCRC of the shortest raw packet: five words.
pub(super) const MIN_RAW: usize = 20;
/// Where the payload of a raw packet starts.
const RAW_PAYLOAD: usize = 12;
/// UDP's number as an IP protocol.
const UDP: u8 = 17;

#[cfg(test)]
mod tests {
    use super::*;

    /// Every opcode and every value of the length field, in packets of several lengths.
    #[test]
    fn the_short_way_finds_the_same_shape() {
        let mut seen = 0;
        for len in [8, 20, 25, 26, 42, 66, 106, 300] {
            for op_code in (0..=255).step_by(if cfg!(miri) { 51 } else { 1 }) {
                for lnh in 0..4 {
                    for words in [0, 5, 6, 7, 10, 16, 20, 25, 74, 75, 2047] {
                        let mut bytes = vec![op_code; len];
                        let head = (words as u16).to_be_bytes();
                        bytes[..8].copy_from_slice(&[0, lnh, 0, 1, head[0], head[1], 0, 2]);
                        if let Some(shape) = Shape::whole(&bytes) {
                            assert_eq!(shape, Shape::of(Start::Ib, &bytes), "{len} {words} {lnh}");
                            seen += 1;
                        }
                    }
                }
            }
        }
        assert!(seen > if cfg!(miri) { 10 } else { 1000 }, "{seen}");
    }
}
