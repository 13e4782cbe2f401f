//! Builds a RoCE v2 packet, an RDMA write of five bytes, and checks it.

use infiniband::wire::{
    Bth, Ipv4, OpCode, PKey, Packet, PacketBuilder, Psn, Qpn, Reth, Start, Udp,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut bth = Bth::default();
    bth.set_op_code(OpCode::RC_RDMA_WRITE_ONLY)
        .set_p_key(PKey(0xffff))
        .set_dest_qp(Qpn::try_new(0x48)?)
        .set_psn(Psn::new(7));
    let mut reth = Reth::default();
    reth.set_va(0x1000).set_dma_len(5);
    let ip = Ipv4::roce_v2([192, 0, 2, 1], [192, 0, 2, 2]);
    let mut buffer = [0; 128];
    let len = PacketBuilder::roce_v2_ipv4(ip, &[], Udp::roce_v2(0), bth)
        .with(&reth)
        .payload(b"hello")
        .build(&mut buffer)?;
    let bytes = buffer.get(..len).unwrap_or_default();
    let packet = Packet::parse_as(Start::RoceV2Ipv4, bytes);
    println!("{len} bytes, faults: {:?}", packet.validate());
    assert!(packet.validate().is_empty());
    Ok(())
}
