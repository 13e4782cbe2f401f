//! Acknowledgements: the packet that answers a request (IBA vol. 1, 9.7.5).

use crate::{
    Aeth, Bth, Grh, Lrh, OpCode, Packet, PacketBuilder, Qpn, Rdeth, Syndrome, Transport, Udp,
    packet::Network,
};

/// An acknowledgement of a reliable request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledge {
    /// Queue pair of the requester.
    pub dest_qp: Qpn,
    /// Positive or negative, and why.
    pub syndrome: Syndrome,
    /// Messages that the responder has completed, modulo 2^24.
    pub msn: u32,
}

impl Acknowledge {
    /// The packet that acknowledges `request`: sent back to where it came from, with its partition, service
    /// level and sequence number, and with all hops before it. Congestion marks of the request are not
    /// copied to the answer. The virtual lane is the request's, for [`Packet::switch_hop`] to change; an
    /// Ethernet header is the caller's, for [`PacketBuilder::link`].
    ///
    /// `None` if nothing acknowledges the request: unreliable and unknown transports, responses,
    /// multicast, and packets whose headers were cut off. A NAK of a sequence error names the packet
    /// that the responder expects: set its `psn` with [`Packet::edit_bth`] or build from another
    /// request.
    #[must_use]
    pub fn answer<B: AsRef<[u8]>>(self, request: &Packet<B>) -> Option<PacketBuilder<'_>> {
        let asked = request.bth()?;
        let transport = asked.op_code().transport();
        let reliable = matches!(transport, Transport::RC | Transport::RD | Transport::XRC);
        if !reliable || asked.op_code().is_response() {
            return None;
        }
        let mut bth = Bth::default();
        bth.set_op_code(OpCode::of(transport, OpCode::RC_ACKNOWLEDGE.bits())?)
            .set_mig_req(asked.mig_req())
            .set_p_key(asked.p_key())
            .set_dest_qp(self.dest_qp)
            .set_psn(asked.psn());
        let mut builder = match request.network() {
            Network::Local => PacketBuilder::local(turned(request.lrh()?)?, bth),
            Network::Global => {
                let grh = turned_grh(request.grh()?);
                PacketBuilder::global(turned(request.lrh()?)?, grh, bth)
            }
            Network::RoceV1 => PacketBuilder::roce_v1(turned_grh(request.grh()?), bth),
            Network::RoceV2Ipv4 => {
                let asked = request.ipv4()?;
                let mut ip = *asked;
                ip.set_src(asked.dst())
                    .set_dst(asked.src())
                    .set_ttl(HOPS)
                    .set_ecn(without_congestion(asked.ecn()));
                PacketBuilder::roce_v2_ipv4(ip, &[], turned_udp(request.udp()?), bth)
            }
            Network::RoceV2Ipv6 => {
                let asked = request.ipv6()?;
                let mut ip = *asked;
                let class = asked.traffic_class();
                ip.set_src(asked.dst())
                    .set_dst(asked.src())
                    .set_hop_limit(HOPS)
                    .set_traffic_class(class & !3 | without_congestion(class & 3));
                PacketBuilder::roce_v2_ipv6(ip, turned_udp(request.udp()?), bth)
            }
            Network::None | Network::Raw | Network::RawIpv6 => return None,
        };
        if transport == Transport::RD {
            builder.with::<Rdeth>(request.rdeth()?);
        }
        let mut aeth = Aeth::default();
        aeth.set_syndrome(self.syndrome).set_msn(self.msn);
        builder.with(&aeth);
        Some(builder)
    }
}

/// Hops that an answer may take, whatever was left of the request's: what [`Grh::new`] and
/// [`Ipv4::roce_v2`](crate::Ipv4::roce_v2) give.
const HOPS: u8 = 64;

/// The two ECN bits of an answer: capable, if the request was marked (RFC 3168, 5).
const fn without_congestion(ecn: u8) -> u8 {
    match ecn {
        3 => 2,
        other => other,
    }
}

/// The UDP header of the same flow; its checksum was that of other bytes.
fn turned_udp(udp: &Udp) -> Udp {
    let mut turned = *udp;
    turned.set_checksum(0);
    turned
}

/// The GRH with source and destination exchanged, and all hops before it.
fn turned_grh(grh: &Grh) -> Grh {
    let mut turned = *grh;
    turned
        .set_sgid(grh.dgid())
        .set_dgid(grh.sgid())
        .set_hop_lmt(HOPS);
    turned
}

/// The LRH with source and destination exchanged; `None` if it came to a multicast LID.
fn turned(lrh: &Lrh) -> Option<Lrh> {
    let mut turned = *lrh;
    turned.set_dlid(lrh.slid()).set_slid(lrh.dlid());
    (!lrh.dlid().is_multicast()).then_some(turned)
}
