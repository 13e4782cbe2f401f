//! Building packets: headers and payload in, the packet with lengths, pad and CRCs out.

use super::{
    Network, Packet, Start,
    seal::{seal_as, words, write_crcs},
};
use crate::{
    Aeth, AtomicAckEth, AtomicEth, Bth, BuildError, CnpRoceV2, Deth, Eth, Grh, Ieth, ImmDt, Ipv4,
    Ipv6, Lnh, Lrh, OpCode, Rdeth, Reth, Rwh, Udp, Xrceth,
};

/// The headers in front of the transport, or of a raw payload.
#[derive(Clone, Copy, Debug)]
enum Front<'a> {
    Local(Lrh),
    Global(Lrh, Grh),
    Raw(Lrh, Rwh),
    RawIpv6(Lrh),
    RoceV1(Grh),
    RoceV2Ipv4(Ipv4, &'a [u8], Udp),
    RoceV2Ipv6(Ipv6, Udp),
}

/// Bytes of the longest stack of extended headers: RDETH, DETH, AtomicETH.
const MAX_HEADERS: usize = 40;

/// Builds one packet into a buffer: length fields, pad count and CRCs are computed, all other bits
/// are as given.
///
/// ```
/// use ib_wire::{Bth, Lid, Lnh, Lrh, OpCode, Packet, PacketBuilder, Reth};
/// let mut lrh = Lrh::default();
/// lrh.set_dlid(Lid(7)).set_slid(Lid(3));
/// let mut bth = Bth::default();
/// bth.set_op_code(OpCode::RC_RDMA_WRITE_ONLY);
/// let mut reth = Reth::default();
/// reth.set_va(0x1000).set_dma_len(5);
///
/// let mut buffer = [0; 64];
/// let len = PacketBuilder::local(lrh, bth).with(&reth).payload(b"hello").build(&mut buffer)?;
/// let packet = Packet::parse(&buffer[..len]);
/// assert!(packet.validate().is_empty());
/// assert_eq!(packet.payload(), b"hello");
/// # Ok::<(), ib_wire::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PacketBuilder<'a> {
    link: &'a [u8],
    front: Front<'a>,
    bth: Bth,
    headers: [u8; MAX_HEADERS],
    given: u16,
    payload: &'a [u8],
    pad: [u8; 3],
    keeps_checksum: bool,
}

impl<'a> PacketBuilder<'a> {
    #[inline(always)]
    fn new(front: Front<'a>, bth: Bth) -> Self {
        Self {
            link: &[],
            front,
            bth,
            headers: [0; MAX_HEADERS],
            given: 0,
            payload: &[],
            pad: [0; 3],
            keeps_checksum: false,
        }
    }

    /// A packet that stays in its subnet: LRH and BTH.
    #[inline]
    #[must_use]
    pub fn local(lrh: Lrh, bth: Bth) -> Self {
        Self::new(Front::Local(lrh), bth)
    }

    /// A packet with a global route header.
    #[inline]
    #[must_use]
    pub fn global(lrh: Lrh, grh: Grh, bth: Bth) -> Self {
        Self::new(Front::Global(lrh, grh), bth)
    }

    /// A raw packet with an EtherType: its payload is a multiple of 4 bytes.
    #[must_use]
    pub fn raw(lrh: Lrh, rwh: Rwh) -> Self {
        Self::new(Front::Raw(lrh, rwh), Bth::default())
    }

    /// A raw packet whose payload is a whole IPv6 packet: a multiple of 4 bytes.
    #[must_use]
    pub fn raw_ipv6(lrh: Lrh) -> Self {
        Self::new(Front::RawIpv6(lrh), Bth::default())
    }

    /// A RoCE v1 packet, from its GRH on.
    #[must_use]
    pub fn roce_v1(grh: Grh, bth: Bth) -> Self {
        Self::new(Front::RoceV1(grh), bth)
    }

    /// A RoCE v2 packet over IPv4 with `options`: a multiple of 4 bytes, at most 40.
    #[must_use]
    pub fn roce_v2_ipv4(ip: Ipv4, options: &'a [u8], udp: Udp, bth: Bth) -> Self {
        Self::new(Front::RoceV2Ipv4(ip, options, udp), bth)
    }

    /// A RoCE v2 packet over IPv6.
    #[must_use]
    pub fn roce_v2_ipv6(ip: Ipv6, udp: Udp, bth: Bth) -> Self {
        Self::new(Front::RoceV2Ipv6(ip, udp), bth)
    }

    /// Puts an Ethernet header, and VLAN tags if any, in front of a RoCE packet: bytes as they are.
    pub fn link(&mut self, link: &'a [u8]) -> &mut Self {
        self.link = link;
        self
    }

    /// Adds an extended transport header. The order is the operation's, whatever the order of calls.
    #[inline]
    pub fn with<H: ExtendedHeader>(&mut self, header: &H) -> &mut Self {
        self.put(H::ETH, header.bytes());
        self
    }

    #[inline]
    fn put(&mut self, eth: Eth, bytes: &[u8]) {
        self.given |= 1 << eth as u16;
        match self.bth.op_code().offset_of(eth) {
            // At a constant place, so that the compiler keeps the builder in registers.
            Some(0) => {
                if let Some(to) = self.headers.get_mut(..bytes.len()) {
                    to.copy_from_slice(bytes);
                }
            }
            Some(at) => self.headers = with_at(self.headers, at, bytes),
            None => {}
        }
    }

    /// Sets the payload. Pad bytes are added.
    #[inline]
    pub fn payload(&mut self, payload: &'a [u8]) -> &mut Self {
        self.payload = payload;
        self
    }

    /// The values of the pad bytes, which are zero otherwise; as many count as the payload needs.
    pub fn pad(&mut self, pad: [u8; 3]) -> &mut Self {
        self.pad = pad;
        self
    }

    /// Leaves the IPv4 header's checksum as it is given, for adapters that fill it in.
    pub fn keep_checksum(&mut self) -> &mut Self {
        self.keeps_checksum = true;
        self
    }

    /// Bytes of the packet, CRCs included.
    #[inline]
    #[must_use]
    pub fn packet_len(&self) -> usize {
        let (front, crcs) = match self.front {
            Front::Local(_) => (LRH_BTH, 6),
            Front::Global(..) => (LRH_BTH + Grh::LEN, 6),
            Front::Raw(..) => return self.raw_len(Lrh::LEN + Rwh::LEN),
            Front::RawIpv6(_) => return self.raw_len(Lrh::LEN),
            Front::RoceV1(_) => (Grh::LEN + Bth::LEN, 4),
            Front::RoceV2Ipv4(_, options, _) => {
                let fixed = Ipv4::LEN + Udp::LEN + Bth::LEN;
                (options.len().saturating_add(fixed), 4)
            }
            Front::RoceV2Ipv6(..) => (Ipv6::LEN + Udp::LEN + Bth::LEN, 4),
        };
        // A stack of headers, pad and CRCs are less than a hundred bytes.
        let rest = self
            .bth
            .op_code()
            .headers_len()
            .wrapping_add(self.pad_len())
            .wrapping_add(crcs);
        front
            .saturating_add(rest)
            .saturating_add(self.payload.len())
            .saturating_add(self.link.len())
    }

    fn raw_len(&self, headers: usize) -> usize {
        headers.saturating_add(self.payload.len()).saturating_add(2)
    }

    #[inline]
    fn pad_len(&self) -> usize {
        self.payload.len().wrapping_neg() & 3
    }

    /// Writes the packet to the start of `out` and returns its length.
    ///
    /// # Errors
    /// [`BuildError::NoRoom`] if `out` is too short; [`TooLong`](BuildError::TooLong) if a length
    /// field cannot hold the length; [`Headers`](BuildError::Headers) if the extended headers are not
    /// those of the operation; [`Unaligned`](BuildError::Unaligned) if a raw payload or IPv4 options
    /// are no multiple of 4 bytes. `out` may then hold anything.
    #[inline(always)]
    pub fn build(&self, out: &mut [u8]) -> Result<usize, BuildError> {
        let needed = self.packet_len();
        let left = out.len();
        let out = out
            .get_mut(..needed)
            .ok_or(BuildError::NoRoom { needed, left })?;
        let mut room = Room {
            rest: &mut *out,
            needed,
            left,
        };
        room.put(self.link)?;
        let (start, network) = self.write_front(&mut room)?;
        let mut missing = None;
        if matches!(network, Network::Raw | Network::RawIpv6) {
            room.put(self.payload)?;
        } else {
            let (mut bth, pad_len) = (self.bth, self.pad_len());
            room.put(bth.set_pad_cnt(pad_len as u8).as_bytes())?;
            let op_code = bth.op_code();
            self.check_headers(op_code)?;
            room.put_start(&self.headers, op_code.headers_len())?;
            if start == Start::Ib {
                // The pass that sums the packet copies the payload; pad and CRCs come after it.
                let behind = self.payload.len().wrapping_add(pad_len).wrapping_add(6);
                let (_, end) = room.split_at(self.payload.len())?;
                for (to, from) in end.iter_mut().zip(self.pad).take(pad_len) {
                    *to = from;
                }
                let covered = needed.wrapping_sub(self.link.len());
                missing = Some((covered.wrapping_sub(behind), self.payload));
            } else {
                room.put(self.payload)?;
                room.put(self.pad.get(..pad_len).unwrap_or_default())?;
            }
        }
        let body = out.get_mut(self.link.len()..).unwrap_or_default();
        match start {
            Start::Ib => write_crcs(network, body, missing)?,
            _ => seal_as(network, body, !self.keeps_checksum)?,
        }
        Ok(needed)
    }

    /// Writes the headers before the transport, the length fields of a link's packet included.
    #[inline(always)]
    fn write_front(&self, room: &mut Room<'_>) -> Result<(Start, Network), BuildError> {
        let words = || words(room.needed.saturating_sub(self.link.len()));
        match self.front {
            Front::Local(mut lrh) => {
                lrh.set_lnh(Lnh::IBA_LOCAL).set_pkt_len(words()?);
                room.put(lrh.as_bytes())?;
                Ok((Start::Ib, Network::Local))
            }
            Front::Global(mut lrh, mut grh) => {
                let words = words()?;
                lrh.set_lnh(Lnh::IBA_GLOBAL).set_pkt_len(words);
                // From the BTH to the ICRC.
                grh.set_pay_len(
                    words
                        .wrapping_mul(4)
                        .saturating_sub((Lrh::LEN + Grh::LEN) as u16),
                );
                room.put(lrh.as_bytes())?;
                room.put(grh.as_bytes())?;
                Ok((Start::Ib, Network::Global))
            }
            Front::Raw(mut lrh, rwh) => {
                lrh.set_lnh(Lnh::RAW).set_pkt_len(words()?);
                room.put(lrh.as_bytes())?;
                room.put(rwh.as_bytes())?;
                Ok((Start::Ib, Network::Raw))
            }
            Front::RawIpv6(mut lrh) => {
                lrh.set_lnh(Lnh::IPV6).set_pkt_len(words()?);
                room.put(lrh.as_bytes())?;
                Ok((Start::Ib, Network::RawIpv6))
            }
            Front::RoceV1(grh) => {
                room.put(grh.as_bytes())?;
                Ok((Start::RoceV1, Network::RoceV1))
            }
            Front::RoceV2Ipv4(mut ip, options, udp) => {
                if !options.len().is_multiple_of(4) || options.len() > 40 {
                    return Err(BuildError::Unaligned {
                        part: "IPv4 options",
                        len: options.len(),
                    });
                }
                // 5..=15: 40 bytes of options at most.
                ip.set_ihl((options.len() / 4).wrapping_add(5) as u8);
                room.put(ip.as_bytes())?;
                room.put(options)?;
                room.put(udp.as_bytes())?;
                Ok((Start::RoceV2Ipv4, Network::RoceV2Ipv4))
            }
            Front::RoceV2Ipv6(ip, udp) => {
                room.put(ip.as_bytes())?;
                room.put(udp.as_bytes())?;
                Ok((Start::RoceV2Ipv6, Network::RoceV2Ipv6))
            }
        }
    }

    /// The extended headers given must be those of the operation.
    #[inline]
    fn check_headers(&self, op_code: OpCode) -> Result<(), BuildError> {
        let asked = op_code.headers_mask();
        if self.given == asked {
            return Ok(());
        }
        Err(BuildError::Headers { op_code })
    }
}

/// The headers with `bytes` at `at`.
#[inline(never)]
fn with_at(mut headers: [u8; MAX_HEADERS], at: usize, bytes: &[u8]) -> [u8; MAX_HEADERS] {
    let to = headers
        .get_mut(at..)
        .and_then(|to| to.get_mut(..bytes.len()));
    if let Some(to) = to {
        to.copy_from_slice(bytes);
    }
    headers
}

const LRH_BTH: usize = Lrh::LEN + Bth::LEN;

/// The rest of the buffer.
struct Room<'o> {
    rest: &'o mut [u8],
    /// Bytes of the whole packet, and of the whole buffer.
    needed: usize,
    left: usize,
}

impl<'o> Room<'o> {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) -> Result<(), BuildError> {
        self.split_at(bytes.len())?.0.copy_from_slice(bytes);
        Ok(())
    }

    /// The first `len` of `bytes`. All of `bytes` are copied where there is room, as a copy of constant
    /// length takes a few moves: the next bytes then replace the surplus.
    #[inline(always)]
    fn put_start<const N: usize>(&mut self, bytes: &[u8; N], len: usize) -> Result<(), BuildError> {
        match self.rest.first_chunk_mut() {
            Some(to) => {
                *to = *bytes;
                self.split_at(len).map(|_| ())
            }
            None => self.put(bytes.get(..len).unwrap_or_default()),
        }
    }

    /// The next `len` bytes, and the bytes after them, which stay.
    #[inline(always)]
    fn split_at(&mut self, len: usize) -> Result<(&mut [u8], &mut [u8]), BuildError> {
        match core::mem::take(&mut self.rest).split_at_mut_checked(len) {
            Some((now, rest)) => {
                self.rest = rest;
                Ok((now, self.rest))
            }
            None => Err(BuildError::NoRoom {
                needed: self.needed,
                left: self.left,
            }),
        }
    }
}

impl<B: AsRef<[u8]>> Packet<B> {
    /// A builder that builds this packet again; `None` if decoding stopped before its payload or it
    /// was cut short.
    ///
    /// Of a valid packet the result is the same bytes, reserved bits and pad included. Bytes after the
    /// packet's end are left out.
    #[must_use]
    pub fn to_builder(&self) -> Option<PacketBuilder<'_>> {
        if self.is_truncated() || self.shape.stopped {
            return None;
        }
        let bth = self.bth().copied();
        let mut builder = match self.shape.network {
            Network::None => return None,
            Network::Local => PacketBuilder::local(*self.lrh()?, bth?),
            Network::Global => PacketBuilder::global(*self.lrh()?, *self.grh()?, bth?),
            Network::Raw => PacketBuilder::raw(*self.lrh()?, *self.rwh()?),
            Network::RawIpv6 => PacketBuilder::raw_ipv6(*self.lrh()?),
            Network::RoceV1 => PacketBuilder::roce_v1(*self.grh()?, bth?),
            Network::RoceV2Ipv4 => {
                let (ip, udp) = (*self.ipv4()?, *self.udp()?);
                PacketBuilder::roce_v2_ipv4(ip, self.ipv4_options(), udp, bth?)
            }
            Network::RoceV2Ipv6 => PacketBuilder::roce_v2_ipv6(*self.ipv6()?, *self.udp()?, bth?),
        };
        if self.shape.start == Start::Ethernet {
            builder.link = self.bytes().get(..self.shape.net)?;
        }
        let mut at = self.shape.bth().saturating_add(Bth::LEN);
        for &eth in bth.map_or(&[][..], |bth| bth.op_code().headers()) {
            let next = at.saturating_add(eth.layout().len);
            builder.put(eth, self.bytes().get(at..next)?);
            at = next;
        }
        for (to, from) in builder.pad.iter_mut().zip(self.pad()) {
            *to = *from;
        }
        builder.payload(self.payload()).keep_checksum();
        Some(builder)
    }
}

/// A header that may follow the BTH.
pub trait ExtendedHeader: sealed::Sealed {
    /// The kind of the header.
    const ETH: Eth;

    /// Its bytes on the wire.
    fn bytes(&self) -> &[u8];

    /// The header of the first bytes; `None` if they are too few.
    fn read(bytes: &[u8]) -> Option<Self>
    where
        Self: Sized;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! extended {
    ($($header:ident)*) => {$(
        impl sealed::Sealed for $header {}

        impl ExtendedHeader for $header {
            const ETH: Eth = Eth::$header;

            #[inline]
            fn bytes(&self) -> &[u8] {
                self.as_bytes()
            }

            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().copied().map(Self::from_bytes)
            }
        }
    )*};
}

extended!(Rdeth Deth Xrceth Reth AtomicEth Aeth AtomicAckEth ImmDt Ieth CnpRoceV2);
