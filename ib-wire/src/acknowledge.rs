//! Acknowledgements: the packet that answers a request (IBA vol. 1, 9.7.5).

use crate::{
    Aeth, Bth, Lrh, OpCode, Packet, PacketBuilder, Qpn, Rdeth, Syndrome, Transport, packet::Network,
};

/// What an acknowledgement says.
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
    /// The packet that acknowledges `request`: back the way it came, with its partition, service
    /// level and sequence number.
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
                let mut grh = *request.grh()?;
                let (sgid, dgid) = (grh.sgid(), grh.dgid());
                grh.set_sgid(dgid).set_dgid(sgid);
                PacketBuilder::global(turned(request.lrh()?)?, grh, bth)
            }
            Network::RoceV1 => {
                let mut grh = *request.grh()?;
                let (sgid, dgid) = (grh.sgid(), grh.dgid());
                grh.set_sgid(dgid).set_dgid(sgid);
                PacketBuilder::roce_v1(grh, bth)
            }
            Network::RoceV2Ipv4 => {
                let mut ip = *request.ipv4()?;
                let (src, dst) = (*ip.src(), *ip.dst());
                ip.set_src(&dst).set_dst(&src);
                PacketBuilder::roce_v2_ipv4(ip, &[], *request.udp()?, bth)
            }
            Network::RoceV2Ipv6 => {
                let mut ip = *request.ipv6()?;
                let (src, dst) = (ip.src(), ip.dst());
                ip.set_src(dst).set_dst(src);
                PacketBuilder::roce_v2_ipv6(ip, *request.udp()?, bth)
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

/// The LRH with source and destination exchanged; `None` if it came to a multicast LID.
fn turned(lrh: &Lrh) -> Option<Lrh> {
    let mut turned = *lrh;
    turned.set_dlid(lrh.slid()).set_slid(lrh.dlid());
    (!lrh.dlid().is_multicast()).then_some(turned)
}
