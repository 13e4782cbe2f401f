//! A packet that is still in parts: each may be spoiled before the builder seals them.

use alloc::vec::Vec;

use arbitrary::{Error, Result, Unstructured};

use crate::{
    Aeth, AtomicAckEth, AtomicEth, Bth, CnpRoceV2, Deth, Eth, EtherType, Ethernet, Grh, GrhNxtHdr,
    Ieth, ImmDt, Ipv4, Ipv6, Lrh, OpCode, PacketBuilder, PayloadRule, ROCE_V2_PORT, Rdeth, Reth,
    Rwh, Start, Udp, Vlan, Xrceth, packet::Network,
};

/// Every network that has packets, those with most room for operations more than once.
pub(super) const NETWORKS: &[Network] = &[
    Network::Local,
    Network::Local,
    Network::Global,
    Network::Global,
    Network::Raw,
    Network::RawIpv6,
    Network::RoceV1,
    Network::RoceV1,
    Network::RoceV2Ipv4,
    Network::RoceV2Ipv4,
    Network::RoceV2Ipv6,
    Network::RoceV2Ipv6,
];

/// Every network that has packets, once.
#[cfg(feature = "proptest")]
pub(crate) const ALL_NETWORKS: &[Network] = &[
    Network::Local,
    Network::Global,
    Network::RoceV1,
    Network::RoceV2Ipv4,
    Network::RoceV2Ipv6,
    Network::Raw,
    Network::RawIpv6,
];

/// Largest payload that a packet may have.
pub(crate) const MAX_PAYLOAD: usize = 4096;

/// The length of payload next to `wanted` that the operation may have; `wanted` for one that is not known.
pub(super) fn payload_len(op_code: OpCode, wanted: usize) -> usize {
    match op_code.operation().map(|operation| operation.payload) {
        Some(PayloadRule::None) => 0,
        Some(PayloadRule::PathMtu) => wanted.next_power_of_two().clamp(256, MAX_PAYLOAD),
        Some(PayloadRule::UpToPathMtu) => wanted.clamp(1, MAX_PAYLOAD),
        Some(PayloadRule::EmptyToPathMtu) | None => wanted.min(MAX_PAYLOAD),
    }
}

/// The parts of one packet. Headers that its network does not have are never built.
pub(super) struct Draft {
    pub(super) start: Start,
    network: Network,
    ethernet: Ethernet,
    tags: Vec<Vlan>,
    pub(super) lrh: Lrh,
    pub(super) grh: Grh,
    rwh: Rwh,
    pub(super) ipv4: Ipv4,
    options: Vec<u8>,
    pub(super) ipv6: Ipv6,
    pub(super) udp: Udp,
    pub(super) bth: Bth,
    headers: Vec<Extended>,
    payload: Vec<u8>,
    pad: [u8; 3],
}

impl Draft {
    /// Parts that fit together: `payload` bytes follow the headers of the operation. Raw packets carry
    /// something else, whatever these are. RoCE may stand in an Ethernet frame with up to three tags.
    pub(super) fn of(
        u: &mut Unstructured<'_>,
        network: Network,
        op_code: OpCode,
        payload: usize,
    ) -> Result<Self> {
        let pattern: [u8; 13] = u.arbitrary()?;
        let payload = match network {
            Network::Raw => u.int_in_range(2..=64usize)?.saturating_mul(4),
            Network::RawIpv6 => u.int_in_range(3..=64usize)?.saturating_mul(4),
            _ => payload,
        };
        let (bare, ether_type) = match network {
            Network::RoceV1 => (Start::RoceV1, EtherType::ROCE_V1),
            Network::RoceV2Ipv4 => (Start::RoceV2Ipv4, EtherType::IPV4),
            Network::RoceV2Ipv6 => (Start::RoceV2Ipv6, EtherType::IPV6),
            _ => (Start::Ib, EtherType::default()),
        };
        let is_framed = bare != Start::Ib && u.arbitrary()?;
        let mut draft = Self {
            start: if is_framed { Start::Ethernet } else { bare },
            network,
            ethernet: u.arbitrary()?,
            tags: Vec::new(),
            lrh: u.arbitrary()?,
            grh: u.arbitrary()?,
            rwh: u.arbitrary()?,
            ipv4: u.arbitrary()?,
            options: Vec::new(),
            ipv6: u.arbitrary()?,
            udp: u.arbitrary()?,
            bth: u.arbitrary()?,
            headers: Vec::new(),
            payload: pattern.iter().copied().cycle().take(payload).collect(),
            pad: u.arbitrary()?,
        };
        draft.lrh.set_lver(0);
        draft
            .grh
            .set_ip_ver(6)
            .set_nxt_hdr(GrhNxtHdr::IBA_TRANSPORT);
        draft
            .ipv4
            .set_version(4)
            .set_protocol(17)
            .set_fragment_offset(0);
        draft.ipv6.set_version(6).set_next_header(17);
        draft.udp.set_dst_port(ROCE_V2_PORT);
        draft.bth.set_op_code(op_code).set_t_ver(0);
        if is_framed {
            for _ in 0..u.int_in_range(0..=3)? {
                draft.tags.push(u.arbitrary()?);
            }
            draft.announce(
                ether_type,
                *u.choose(&[EtherType::VLAN, EtherType::SERVICE_VLAN])?,
            );
        }
        if network == Network::RoceV2Ipv4 {
            for _ in 0..u.int_in_range(0..=10)? {
                draft.options.extend(u.arbitrary::<[u8; 4]>()?);
            }
        }
        for &eth in op_code.headers() {
            draft.headers.push(Extended::of(u, eth)?);
        }
        Ok(draft)
    }

    /// Sets the EtherTypes: `outermost` before the tags if there are any, and `last` after them.
    fn announce(&mut self, last: EtherType, outermost: EtherType) {
        let mut next = last;
        for tag in self.tags.iter_mut().rev() {
            tag.set_ether_type(next);
            next = EtherType::VLAN;
        }
        self.ethernet.set_ether_type(match self.tags.is_empty() {
            true => last,
            false => outermost,
        });
    }

    /// Makes the frame, if it is one, carry something else.
    pub(super) fn set_ether_type(&mut self, ether_type: EtherType) {
        match self.tags.last_mut() {
            Some(tag) => {
                tag.set_ether_type(ether_type);
            }
            None => {
                self.ethernet.set_ether_type(ether_type);
            }
        }
    }

    /// The packet, sealed.
    pub(super) fn build(&self) -> Result<Vec<u8>> {
        let mut builder = match self.network {
            Network::Local => PacketBuilder::local(self.lrh, self.bth),
            Network::Global => PacketBuilder::global(self.lrh, self.grh, self.bth),
            Network::Raw => PacketBuilder::raw(self.lrh, self.rwh),
            Network::RawIpv6 => PacketBuilder::raw_ipv6(self.lrh),
            Network::RoceV1 => PacketBuilder::roce_v1(self.grh, self.bth),
            Network::RoceV2Ipv4 => {
                PacketBuilder::roce_v2_ipv4(self.ipv4, &self.options, self.udp, self.bth)
            }
            Network::RoceV2Ipv6 => PacketBuilder::roce_v2_ipv6(self.ipv6, self.udp, self.bth),
            Network::None => return Err(Error::IncorrectFormat),
        };
        let mut link = Vec::new();
        if self.start == Start::Ethernet {
            link.extend(self.ethernet.as_bytes());
            for tag in &self.tags {
                link.extend(tag.as_bytes());
            }
        }
        for header in &self.headers {
            header.give(&mut builder);
        }
        builder.link(&link).payload(&self.payload).pad(self.pad);
        let mut bytes = alloc::vec![0; builder.packet_len()];
        match builder.build(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(_) => Err(Error::IncorrectFormat),
        }
    }
}

macro_rules! extended {
    ($($header:ident)*) => {
        /// One extended header with its fields.
        enum Extended {
            $($header($header),)*
        }

        impl Extended {
            fn of(u: &mut Unstructured<'_>, eth: Eth) -> Result<Self> {
                Ok(match eth {
                    $(Eth::$header => Self::$header(u.arbitrary()?),)*
                })
            }

            fn give(&self, builder: &mut PacketBuilder<'_>) {
                match self {
                    $(Self::$header(header) => builder.with(header),)*
                };
            }
        }
    };
}

extended!(Rdeth Deth Xrceth Reth AtomicEth Aeth AtomicAckEth ImmDt Ieth CnpRoceV2);
