//! Whole packets: every header, the payload and the CRCs of a packet, found in one step.
//!
//! [`Packet`] opens on any bytes whatever and never fails: what can be decoded is there, also of a
//! packet that a capture cut short. Judging is a second step: [`Packet::validate`] lists everything
//! that is wrong, with its kind and byte offset.

mod build;
mod edit;
mod fault;
mod headers;
mod seal;
mod shape;
mod validate;

pub use build::{ExtendedHeader, PacketBuilder};
pub use edit::EditError;
pub use fault::{Expected, Fault, FaultKind, Faults};
pub use headers::{Header, Headers};
pub use seal::seal;
pub use shape::{Network, Start};

use crate::{
    Aeth, AtomicAckEth, AtomicEth, Bth, CnpRoceV2, Deth, Eth, Ethernet, Grh, Ieth, ImmDt, Ipv4,
    Ipv6, Lrh, Rdeth, Reth, Rwh, Udp, Xrceth,
    crc::{self, Coverage},
};
use shape::Shape;

/// A packet over borrowed (`&[u8]`) or owned (`Vec<u8>`, `Bytes`, `[u8; N]`) bytes.
///
/// ```
/// use ib_wire::{OpCode, Packet};
/// // The sample packet of the architecture specification, 7.8.
/// let bytes = [
///     0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1,
///     0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2,
///     0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72,
///     0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a, 0x45, 0xfa,
/// ];
/// let packet = Packet::parse(&bytes[..]);
/// assert_eq!(packet.bth().map(|bth| bth.op_code()), Some(OpCode::RC_RDMA_WRITE_ONLY));
/// assert_eq!(packet.reth().map(|reth| reth.dma_len()), Some(14));
/// assert_eq!(packet.payload().len(), 14);
/// assert!(packet.icrc().is_some_and(|icrc| icrc.is_ok()));
/// assert!(packet.validate().is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<B> {
    bytes: B,
    shape: Shape,
}

/// A CRC that a packet carries beside the one that its bytes ask for; both as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrcCheck<const N: usize> {
    /// The bytes in the packet.
    pub found: [u8; N],
    /// The bytes that would be right.
    pub computed: [u8; N],
}

impl<const N: usize> CrcCheck<N> {
    /// Returns true if the packet carries the right CRC.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.found == self.computed
    }
}

macro_rules! extended_headers {
    ($($(#[$meta:meta])* $getter:ident: $type:ident;)*) => {$(
        $(#[$meta])*
        #[inline]
        #[must_use]
        pub fn $getter(&self) -> Option<&$type> {
            let at = self.shape.eth(self.bytes.as_ref(), Eth::$type)?;
            self.view_at(at, $type::LEN, $type::parse)
        }
    )*};
}

impl<B: AsRef<[u8]>> Packet<B> {
    /// Opens a packet of an InfiniBand link: `bytes` start at the LRH and end with the VCRC.
    #[inline]
    #[must_use]
    pub fn parse(bytes: B) -> Self {
        let mut shape = match Shape::whole(bytes.as_ref()) {
            Some(shape) => shape,
            None => Shape::unusual(bytes.as_ref()),
        };
        // A repetition for the compiler, which does not see that both branches end in it.
        shape.start = Start::Ib;
        Self { bytes, shape }
    }

    /// Opens a packet whose bytes start as `start` says.
    #[must_use]
    pub fn parse_as(start: Start, bytes: B) -> Self {
        let shape = Shape::of(start, bytes.as_ref());
        Self { bytes, shape }
    }

    /// All bytes that the packet was opened on.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Gives the bytes back.
    #[must_use]
    pub fn into_bytes(self) -> B {
        self.bytes
    }

    /// The same packet over borrowed bytes, without parsing again.
    #[inline]
    #[must_use]
    pub fn borrow(&self) -> Packet<&[u8]> {
        Packet {
            bytes: self.bytes.as_ref(),
            shape: self.shape,
        }
    }

    /// The network layer of the packet: LRH alone, GRH, IP, or none as far as it was decoded.
    #[inline]
    #[must_use]
    pub fn network(&self) -> Network {
        self.shape.network
    }

    /// The first header of the bytes.
    #[inline]
    #[must_use]
    pub fn start(&self) -> Start {
        self.shape.start
    }

    /// Local route header, of packets of an InfiniBand link.
    #[inline]
    #[must_use]
    pub fn lrh(&self) -> Option<&Lrh> {
        match self.shape.start {
            Start::Ib => Lrh::parse(self.bytes.as_ref(), 0)
                .ok()
                .map(|(header, _)| header),
            _ => None,
        }
    }

    /// Global route header.
    #[inline]
    #[must_use]
    pub fn grh(&self) -> Option<&Grh> {
        match self.shape.network {
            Network::Global | Network::RoceV1 => self.view_at(self.shape.net, Grh::LEN, Grh::parse),
            _ => None,
        }
    }

    /// Raw header.
    #[must_use]
    pub fn rwh(&self) -> Option<&Rwh> {
        match self.shape.network {
            Network::Raw => self.view_at(self.shape.net, Rwh::LEN, Rwh::parse),
            _ => None,
        }
    }

    /// Ethernet header, where the bytes start with one.
    #[must_use]
    pub fn ethernet(&self) -> Option<&Ethernet> {
        match self.shape.start {
            Start::Ethernet => self.view_at(0, Ethernet::LEN, Ethernet::parse),
            _ => None,
        }
    }

    /// IPv4 header, of RoCE v2.
    #[must_use]
    pub fn ipv4(&self) -> Option<&Ipv4> {
        match self.shape.network {
            Network::RoceV2Ipv4 => self.view_at(self.shape.net, Ipv4::LEN, Ipv4::parse),
            _ => None,
        }
    }

    /// The options that follow the IPv4 header: 0..=40 bytes.
    #[must_use]
    pub fn ipv4_options(&self) -> &[u8] {
        let Some(ip) = self.ipv4() else { return &[] };
        let start = self.shape.net.saturating_add(Ipv4::LEN);
        let header = usize::from(ip.ihl()).saturating_mul(4);
        self.slice(
            start,
            self.shape
                .net
                .saturating_add(header)
                .min(self.shape.payload),
        )
    }

    /// IPv6 header, of RoCE v2.
    #[must_use]
    pub fn ipv6(&self) -> Option<&Ipv6> {
        match self.shape.network {
            Network::RoceV2Ipv6 => self.view_at(self.shape.net, Ipv6::LEN, Ipv6::parse),
            _ => None,
        }
    }

    /// UDP header, of RoCE v2.
    #[must_use]
    pub fn udp(&self) -> Option<&Udp> {
        match self.shape.network {
            Network::RoceV2Ipv4 | Network::RoceV2Ipv6 => {
                let at = self.shape.bth().checked_sub(Udp::LEN)?;
                self.view_at(at, Udp::LEN, Udp::parse)
            }
            _ => None,
        }
    }

    /// Base transport header.
    #[inline]
    #[must_use]
    pub fn bth(&self) -> Option<&Bth> {
        self.view_at(self.shape.bth(), Bth::LEN, Bth::parse)
    }

    extended_headers! {
        /// Reliable datagram header.
        rdeth: Rdeth;
        /// Datagram header.
        deth: Deth;
        /// XRC header.
        xrceth: Xrceth;
        /// RDMA header.
        reth: Reth;
        /// Atomic request.
        atomic_eth: AtomicEth;
        /// Acknowledgement.
        aeth: Aeth;
        /// Atomic acknowledgement.
        atomic_ack_eth: AtomicAckEth;
        /// Immediate data.
        imm_dt: ImmDt;
        /// Key to invalidate.
        ieth: Ieth;
        /// The reserved bytes of a RoCE v2 congestion notification.
        cnp_roce_v2: CnpRoceV2;
    }

    /// Every header that was decoded, in wire order.
    #[must_use]
    pub fn headers(&self) -> Headers<'_> {
        Headers::new(self.bytes.as_ref(), self.shape)
    }

    /// The bytes after the headers, without pad bytes and CRCs; of a packet that was cut short, those that
    /// are there. Where decoding had to stop, all bytes after the last decoded header.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        let end = self.shape.payload_end(self.bytes.as_ref());
        self.slice(self.shape.payload, end)
    }

    /// Offset of the payload.
    #[inline]
    #[must_use]
    pub fn payload_offset(&self) -> usize {
        self.shape.payload
    }

    /// The 0..=3 bytes that fill the payload to a multiple of 4.
    #[must_use]
    pub fn pad(&self) -> &[u8] {
        let start = self.shape.payload_end(self.bytes.as_ref());
        self.slice(start, self.shape.limit)
    }

    /// The bytes after the packet's end: padding of an Ethernet frame, its FCS, or bytes that should not be
    /// there. Empty for a packet that was cut short.
    #[must_use]
    pub fn trailer(&self) -> &[u8] {
        // A length field may claim that the packet ends inside the headers that have it.
        let end = self.shape.end.max(self.shape.payload);
        self.bytes.as_ref().get(end..).unwrap_or(&[])
    }

    /// Returns true if the bytes end before the packet does, as in a capture with a snap length.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.shape.end > self.bytes.as_ref().len()
    }

    /// The coverage and the bytes of the ICRC, if the packet has one and is complete.
    fn icrc_coverage(&self) -> Option<(Coverage, &[u8], [u8; 4])> {
        let coverage = self.shape.coverage()?;
        // Every IBA packet of a link ends with an ICRC, a frame only if it is RoCE.
        let (from, is_there) = match coverage {
            Coverage::IbaLocal | Coverage::IbaGlobal => (0, true),
            Coverage::RoceV1 | Coverage::RoceV2Ipv4 | Coverage::RoceV2Ipv6 => {
                (self.shape.net, self.shape.has_bth())
            }
        };
        if !is_there || self.shape.icrc() != Some(self.shape.limit) {
            return None;
        }
        let covered = self.bytes.as_ref().get(from..self.shape.limit)?;
        let found = self
            .bytes
            .as_ref()
            .get(self.shape.limit..self.shape.end)?
            .first_chunk()?;
        Some((coverage, covered, *found))
    }

    /// The invariant CRC beside the right one; `None` for raw packets and those cut short.
    #[must_use]
    pub fn icrc(&self) -> Option<CrcCheck<4>> {
        let (coverage, covered, found) = self.icrc_coverage()?;
        let computed = crc::icrc(coverage, covered);
        Some(CrcCheck { found, computed })
    }

    /// The variant CRC beside the right one; `None` off InfiniBand links and for packets cut short.
    #[must_use]
    pub fn vcrc(&self) -> Option<CrcCheck<2>> {
        if self.shape.start != Start::Ib || self.shape.network == Network::None {
            return None;
        }
        let bytes = self.bytes.as_ref().get(..self.shape.end)?;
        let (covered, &found) = bytes.split_last_chunk()?;
        // A packet that ends with its LRH has none: these are the header's own bytes.
        if covered.len() < self.shape.payload {
            return None;
        }
        let computed = crc::vcrc(covered);
        Some(CrcCheck { found, computed })
    }

    #[inline]
    fn slice(&self, start: usize, end: usize) -> &[u8] {
        let bytes = self.bytes.as_ref();
        bytes.get(start..end.min(bytes.len())).unwrap_or_default()
    }

    /// The header at `at`, if it lies in what was decoded.
    #[inline]
    fn view_at<'a, T>(
        &'a self,
        at: usize,
        len: usize,
        parse: impl Fn(&'a [u8], usize) -> Result<(&'a T, &'a [u8]), crate::ParseError>,
    ) -> Option<&'a T> {
        let decoded = self.bytes.as_ref().get(..self.shape.payload)?;
        let header = decoded.get(at..at.checked_add(len)?)?;
        parse(header, at).ok().map(|(header, _)| header)
    }
}
