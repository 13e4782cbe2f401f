//! The places of a packet's parts: all that parsing finds out.

mod frame;

use core::{fmt, str::FromStr};

use super::{Fault, FaultKind};
use crate::{
    At, Bth, Eth, Grh, Lnh, Lrh, OpCode, Rwh, crc::Coverage, packet::Expected, table::UnknownName,
};

/// The first header of a packet's bytes.
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

/// The network below the transport header.
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
/// Length of the ICRC.
const ICRC: usize = 4;
/// Length of the VCRC.
const VCRC: usize = 2;

/// The places of a packet's parts. Offsets may be past the end of the bytes only where a field's doc says
/// so.
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
    /// True if decoding stopped before the payload.
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

/// The offset at which decoding stopped, and the reason.
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

    /// Offset of the BTH; past all headers where none was reached.
    #[inline]
    pub(super) fn bth(&self) -> usize {
        self.bth.into()
    }

    /// Returns true if a BTH was reached.
    pub(super) fn has_bth(&self) -> bool {
        self.bth != NO_BTH
    }

    /// Offset of the extended header, if the operation has it and it was decoded.
    #[inline]
    pub(super) fn eth(&self, bytes: &[u8], eth: Eth) -> Option<usize> {
        let op_code = OpCode(*bytes.get(self.bth())?);
        let at = self
            .bth()
            .wrapping_add(Bth::LEN)
            .wrapping_add(op_code.place_of(eth));
        (at.wrapping_add(eth.layout().len) <= self.payload).then_some(at)
    }

    /// Returns true if the other shape has its transport and its CRCs at the same places and of the same kind.
    pub(super) fn has_same_frame(&self, other: &Self) -> bool {
        let frame = |shape: &Self| (shape.network, shape.net, shape.bth, shape.limit, shape.end);
        frame(self) == frame(other)
    }

    /// One past the payload: before the pad, if the pad count fits.
    #[inline]
    pub(super) fn payload_end(&self, bytes: &[u8]) -> usize {
        let pad = match bytes.get(self.bth().wrapping_add(1)) {
            // Where decoding stopped, the extent of the payload is unknown.
            Some(byte) if !self.stopped => usize::from(*byte >> 4 & 3),
            _ => 0,
        };
        let icrc = self.icrc().unwrap_or(0);
        match self.limit.min(icrc.saturating_sub(pad)) {
            end if self.has_bth() && end >= self.payload => end,
            _ => self.limit.max(self.payload),
        }
    }

    /// Offset of the ICRC as the length fields say, of a packet that has one.
    #[inline]
    pub(super) fn icrc(&self) -> Option<usize> {
        self.end.checked_sub(match self.start {
            Start::Ib => ICRC.wrapping_add(VCRC),
            _ => ICRC,
        })
    }

    /// The rule that masks the ICRC; `None` for packets that have none.
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
/// Offset of the payload of a raw packet.
const RAW_PAYLOAD: usize = 12;

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
