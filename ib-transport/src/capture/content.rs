//! The start of the packet in a captured frame (tcpdump's registry of link types).

use std::{borrow::Cow, time::Duration};

use ib_wire::{
    EtherType, Ethernet, Ipv4, Ipv6, Packet, ROCE_V2_PORT, Start, Udp, Vlan, code_points,
    wire_struct,
};
use pcap_file::DataLink;

use crate::Direction;

/// The link type of a capture's frames: the number of the tcpdump registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: four bytes of address family before IP.
    pub const NULL: Self = Self(0);
    /// Ethernet, from the destination address.
    pub const ETHERNET: Self = Self(1);
    /// IP of either version, as some systems number it.
    pub const RAW_BSD: Self = Self(12);
    /// IP of either version, as OpenBSD numbers it.
    pub const RAW_OPENBSD: Self = Self(14);
    /// IP of either version.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback: four bytes of address family before IP.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked" capture, 16 bytes before the payload.
    pub const LINUX_SLL: Self = Self(113);
    /// Endace's extensible record format.
    pub const ERF: Self = Self(197);
    /// IP version 4.
    pub const IPV4: Self = Self(228);
    /// IP version 6.
    pub const IPV6: Self = Self(229);
    /// InfiniBand packets, from the LRH.
    pub const INFINIBAND: Self = Self(247);
    /// Linux "cooked" capture, second version, 20 bytes before the payload.
    pub const LINUX_SLL2: Self = Self(276);

    /// The registry's numbers have 16 bits; of those above see [`check_sequence_len`].
    pub(super) fn from_data_link(link: DataLink) -> Self {
        Self(u32::from(link) as u16)
    }
}

/// One frame of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The link it comes from.
    pub link: LinkType,
    /// The time at which it was captured, since 1970.
    pub timestamp: Duration,
    /// Its length on the link; more than `data` where the capture kept the first bytes only.
    pub original_len: u32,
    /// Direction of the frame, where the file has one.
    pub direction: Option<Direction>,
    /// The bytes that were kept, without an Ethernet frame's check sequence.
    pub data: Cow<'a, [u8]>,
}

impl Frame<'_> {
    /// Cuts off the check sequence of an Ethernet frame, of so many octets: of RoCE v1 only the end of the
    /// frame marks the end of the packet. A frame that was cut short has lost it, or some of it.
    pub(super) fn cut_check_sequence(&mut self, octets: u32) {
        if self.link != LinkType::ETHERNET {
            return;
        }
        let packet = self.original_len.saturating_sub(octets);
        self.original_len = packet;
        let packet = usize::try_from(packet).unwrap_or(usize::MAX);
        match &mut self.data {
            Cow::Borrowed(data) => *data = data.get(..packet).unwrap_or(data),
            Cow::Owned(data) => data.truncate(packet),
        }
    }
}

/// Octets of check sequence that every frame of a pcap file ends with: a flag in the link type says that
/// its top four bits count words of 16 bits. Source: pcap-savefile(5).
pub(super) fn check_sequence_len(link: DataLink) -> u32 {
    let bits = u32::from(link);
    match bits & 1 << 26 {
        0 => 0,
        _ => bits >> 28 << 1,
    }
}

/// The start of the packet in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// At the LRH.
    InfiniBand(&'a [u8]),
    /// At the Ethernet header.
    Ethernet(&'a [u8]),
    /// At the GRH of a RoCE v1 packet.
    RoceV1(&'a [u8]),
    /// At the IP header, of either version.
    Ip(&'a [u8]),
}

impl Frame<'_> {
    /// The packet in the frame; `None` if the frame carries another protocol than InfiniBand and RoCE.
    ///
    /// ```
    /// use ib_transport::capture::{CaptureReader, CaptureWriter, LinkType};
    /// # use std::time::Duration;
    /// # let mut writer = CaptureWriter::pcapng(Vec::new(), LinkType::INFINIBAND)?;
    /// # writer.write(Duration::ZERO, &[0; 30])?;
    /// # let file = writer.into_inner();
    /// let mut reader = CaptureReader::new(&file[..])?;
    /// while let Some(frame) = reader.next_frame()? {
    ///     if let Some(packet) = frame.packet() {
    ///         println!("{:?}", packet.validate());
    ///     }
    /// }
    /// # Ok::<(), ib_transport::capture::CaptureError>(())
    /// ```
    #[must_use]
    pub fn packet(&self) -> Option<Packet<&[u8]>> {
        let (start, bytes) = self.packet_bytes()?;
        Some(Packet::parse_as(start, bytes))
    }

    /// The bytes from the packet's first header on, and which header that is; `None` if the frame carries
    /// another protocol than InfiniBand and RoCE.
    #[must_use]
    pub fn packet_bytes(&self) -> Option<(Start, &[u8])> {
        self.content().and_then(packet)
    }

    /// The offset of the packet; `None` if this link's frames, or this frame, cannot carry InfiniBand.
    ///
    /// A trailer or padding of the link stays: the packet's own lengths mark its end.
    #[must_use]
    pub fn content(&self) -> Option<Content<'_>> {
        let data = self.data.as_ref();
        match self.link {
            LinkType::INFINIBAND => Some(Content::InfiniBand(data)),
            LinkType::ETHERNET => Some(Content::Ethernet(data)),
            LinkType::ERF => erf(data),
            LinkType::LINUX_SLL => by_ether_type(data.get(14..)?),
            LinkType::LINUX_SLL2 => {
                let protocol = data.first_chunk()?;
                payload(u16::from_be_bytes(*protocol), data.get(20..)?)
            }
            LinkType::NULL | LinkType::LOOP => ip(data.get(4..)?),
            LinkType::RAW
            | LinkType::RAW_BSD
            | LinkType::RAW_OPENBSD
            | LinkType::IPV4
            | LinkType::IPV6 => ip(data),
            _ => None,
        }
    }
}

wire_struct! {
    /// Header of an ERF record. Extension headers of 8 bytes follow while `extension`, or the first
    /// bit of the last of them, is set.
    ///
    /// Source: Endace, "ERF types reference guide"; libpcap's link type 197.
    pub struct ErfHeader("ERF", 16 bytes) {
        /// Seconds since 1970 in 32.32 fixed point, the low byte first.
        timestamp, set_timestamp: u64     = 0, 64;
        /// An extension header follows.
        extension, set_extension: bool    = 64, 1;
        /// Contents of the record.
        type_,     set_type:      ErfType = 65, 7;
        /// Capture port, and whether the record was cut.
        flags,     set_flags:     u8      = 72, 8;
        /// Length of the record, this header included.
        rlen,      set_rlen:      u16     = 80, 16;
        /// Records lost, or a colour.
        lctr,      set_lctr:      u16     = 96, 16;
        /// Length of the packet on the wire.
        wlen,      set_wlen:      u16     = 112, 16;
    }
}

impl ErfHeader {
    /// The header of a record with an InfiniBand packet of `len` bytes, captured `timestamp` after 1970.
    #[must_use]
    pub fn infiniband(timestamp: Duration, len: usize) -> Self {
        let fraction = (u64::from(timestamp.subsec_nanos()) << 32) / 1_000_000_000;
        let fixed_point = timestamp.as_secs() << 32 | fraction;
        let wire_len = u16::try_from(len).unwrap_or(u16::MAX);
        let mut header = Self::default();
        header
            .set_timestamp(fixed_point.swap_bytes())
            .set_type(ErfType::INFINIBAND)
            // Records may differ in length.
            .set_flags(4)
            .set_rlen(wire_len.saturating_add(Self::LEN as u16))
            .set_wlen(wire_len);
        header
    }
}

code_points! {
    /// Contents of an ERF record.
    pub struct ErfType(u8) {
        /// An Ethernet frame after two bytes of offset and padding.
        ETH            = 2  => "Eth",
        /// As `ETH`, coloured.
        COLOR_ETH      = 11 => "ColorEth",
        /// As `ETH`, coloured by a filter.
        DSM_COLOR_ETH  = 16 => "DsmColorEth",
        /// As `ETH`, with a hash for load balancing.
        COLOR_HASH_ETH = 20 => "ColorHashEth",
        /// An InfiniBand packet from the LRH.
        INFINIBAND     = 21 => "InfiniBand",
    }
}

/// The packet after an ERF header and its extensions.
fn erf(record: &[u8]) -> Option<Content<'_>> {
    let (header, mut rest) = ErfHeader::parse(record, 0).ok()?;
    let mut more = header.extension();
    while more {
        let (extension, behind) = rest.split_first_chunk::<8>()?;
        more = extension.first()? & 0x80 != 0;
        rest = behind;
    }
    if header.type_() != ErfType::INFINIBAND {
        rest = rest.get(2..)?;
    }
    // A record is filled up to a multiple of 8 bytes: the wire length says where the packet ends.
    let packet = rest.get(..header.wlen().into()).unwrap_or(rest);
    match header.type_() {
        ErfType::INFINIBAND => Some(Content::InfiniBand(packet)),
        ErfType::ETH | ErfType::COLOR_ETH | ErfType::DSM_COLOR_ETH | ErfType::COLOR_HASH_ETH => {
            Some(Content::Ethernet(packet))
        }
        _ => None,
    }
}

/// The payload after an EtherType.
fn by_ether_type(bytes: &[u8]) -> Option<Content<'_>> {
    let (ether_type, rest) = bytes.split_first_chunk()?;
    payload(u16::from_be_bytes(*ether_type), rest)
}

/// The payload of an EtherType, after up to two VLAN tags.
fn payload(mut ether_type: u16, mut bytes: &[u8]) -> Option<Content<'_>> {
    const ROCE_V1: u16 = 0x8915;
    const IPV4: u16 = 0x0800;
    const IPV6: u16 = 0x86dd;
    const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
    for _ in 0..2 {
        if !VLAN_TAGS.contains(&ether_type) {
            break;
        }
        let (&[_, _, high, low], rest) = bytes.split_first_chunk()?;
        ether_type = u16::from_be_bytes([high, low]);
        bytes = rest;
    }
    match ether_type {
        ROCE_V1 => Some(Content::RoceV1(bytes)),
        IPV4 | IPV6 => ip(bytes),
        _ => None,
    }
}

fn ip(bytes: &[u8]) -> Option<Content<'_>> {
    matches!(bytes.first()? >> 4, 4 | 6).then_some(Content::Ip(bytes))
}

/// The packet and where it starts; `None` if the frame carries another protocol.
fn packet(content: Content<'_>) -> Option<(Start, &[u8])> {
    match content {
        Content::InfiniBand(bytes) => Some((Start::Ib, bytes)),
        Content::RoceV1(bytes) => Some((Start::RoceV1, bytes)),
        Content::Ip(bytes) => match bytes.first()? >> 4 {
            4 => is_roce_v2_ipv4(bytes).then_some((Start::RoceV2Ipv4, bytes)),
            _ => is_roce_v2_ipv6(bytes).then_some((Start::RoceV2Ipv6, bytes)),
        },
        Content::Ethernet(bytes) => is_roce(bytes).then_some((Start::Ethernet, bytes)),
    }
}

/// Returns true if an Ethernet frame carries RoCE of either version.
fn is_roce(frame: &[u8]) -> bool {
    let Ok((ethernet, mut rest)) = Ethernet::parse(frame, 0) else {
        return false;
    };
    let mut ether_type = ethernet.ether_type();
    while matches!(ether_type, EtherType::VLAN | EtherType::SERVICE_VLAN) {
        let Ok((vlan, behind)) = Vlan::parse(rest, 0) else {
            return false;
        };
        ether_type = vlan.ether_type();
        rest = behind;
    }
    match ether_type {
        EtherType::ROCE_V1 => true,
        EtherType::IPV4 => is_roce_v2_ipv4(rest),
        EtherType::IPV6 => is_roce_v2_ipv6(rest),
        _ => false,
    }
}

/// Returns true if an IPv4 packet is UDP to the port of RoCE v2, and no later fragment.
fn is_roce_v2_ipv4(bytes: &[u8]) -> bool {
    let Ok((ip, _)) = Ipv4::parse(bytes, 0) else {
        return false;
    };
    let header = usize::from(ip.ihl()) * 4;
    ip.protocol() == UDP && ip.fragment_offset() == 0 && is_roce_v2(bytes.get(header..))
}

/// Returns true if an IPv6 packet is UDP to the port of RoCE v2.
fn is_roce_v2_ipv6(bytes: &[u8]) -> bool {
    match Ipv6::parse(bytes, 0) {
        Ok((ip, rest)) => ip.next_header() == UDP && is_roce_v2(Some(rest)),
        Err(_) => false,
    }
}

/// UDP's number as an IP protocol.
const UDP: u8 = 17;

fn is_roce_v2(udp: Option<&[u8]>) -> bool {
    udp.and_then(|bytes| Udp::parse(bytes, 0).ok())
        .is_some_and(|(udp, _)| udp.dst_port() == ROCE_V2_PORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(link: LinkType, data: &[u8]) -> Option<(char, usize)> {
        let frame = Frame {
            link,
            timestamp: Duration::ZERO,
            direction: None,
            original_len: 0,
            data: data.into(),
        };
        let (kind, packet) = match frame.content()? {
            Content::InfiniBand(packet) => ('i', packet),
            Content::Ethernet(packet) => ('e', packet),
            Content::RoceV1(packet) => ('1', packet),
            Content::Ip(packet) => ('p', packet),
        };
        Some((kind, packet.len()))
    }

    #[test]
    fn an_erf_packet_ends_at_its_wire_length_behind_the_extensions() {
        let mut header = ErfHeader::default();
        header
            .set_type(ErfType::INFINIBAND)
            .set_extension(true)
            .set_rlen(64)
            .set_wlen(30);
        let mut record = header.as_bytes().to_vec();
        record.extend([0x80, 0, 0, 0, 0, 0, 0, 0]);
        record.extend([0x05, 0, 0, 0, 0, 0, 0, 0]);
        record.extend([0xa5; 32]);
        assert_eq!(content(LinkType::ERF, &record), Some(('i', 30)));
        assert_eq!(content(LinkType::ERF, &record[..40]), Some(('i', 8)));
        assert_eq!(content(LinkType::ERF, &record[..28]), None);
        record[8] = 0x80 | ErfType::ETH.0;
        assert_eq!(content(LinkType::ERF, &record), Some(('e', 30)));
        record[8] = 0x80 | 1;
        assert_eq!(content(LinkType::ERF, &record), None);
    }

    #[test]
    fn cooked_frames_name_their_payload() {
        let mut frame = vec![0; 16];
        frame[14..].copy_from_slice(&[0x81, 0x00]);
        frame.extend([0x00, 0x07, 0x89, 0x15]);
        frame.extend([0x60; 40]);
        assert_eq!(content(LinkType::LINUX_SLL, &frame), Some(('1', 40)));
        frame[18..20].copy_from_slice(&[0x86, 0xdd]);
        assert_eq!(content(LinkType::LINUX_SLL, &frame), Some(('p', 40)));
        let mut frame = vec![0x08, 0x00];
        frame.extend([0; 18]);
        frame.extend([0x45; 20]);
        assert_eq!(content(LinkType::LINUX_SLL2, &frame), Some(('p', 20)));
        assert_eq!(content(LinkType::LINUX_SLL2, &frame[..20]), None);
    }

    #[test]
    fn frames_of_other_links_and_protocols_are_no_content() {
        assert_eq!(content(LinkType(105), &[0; 64]), None);
        assert_eq!(content(LinkType::RAW, &[0x10; 20]), None);
        for link in [0, 1, 12, 14, 101, 108, 113, 197, 228, 229, 247, 276] {
            content(LinkType(link), &[]);
        }
    }
}
