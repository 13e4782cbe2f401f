//! Whole packets: parsed, built, judged, edited.
#![allow(missing_docs, reason = "criterion's macros declare the entry points")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use ib_wire::{Bth, Lid, Lrh, OpCode, Packet, PacketBuilder, Psn, Reth};

/// An RC RDMA WRITE packet.
fn write_packet(len: usize) -> Vec<u8> {
    let payload = vec![7; len];
    let mut bytes = vec![0; len + 42];
    let built = builder(&payload).build(&mut bytes);
    assert_eq!(built, Ok(bytes.len()));
    bytes
}

fn builder(payload: &[u8]) -> PacketBuilder<'_> {
    let mut lrh = Lrh::default();
    lrh.set_dlid(Lid(7)).set_slid(Lid(3));
    let mut bth = Bth::default();
    bth.set_op_code(OpCode::RC_RDMA_WRITE_ONLY);
    let mut builder = PacketBuilder::local(lrh, bth);
    builder.with(&Reth::default()).payload(payload);
    builder
}

fn packets(criterion: &mut Criterion) {
    for len in [256, 4096] {
        let mut bytes = write_packet(len);
        criterion.bench_function(&format!("packet/parse-five-fields-{len}"), |b| {
            b.iter(|| {
                let packet = Packet::parse(black_box(bytes.as_slice()));
                let (lrh, bth, reth) = (packet.lrh()?, packet.bth()?, packet.reth()?);
                Some((
                    lrh.dlid(),
                    bth.op_code(),
                    bth.psn(),
                    reth.va(),
                    reth.dma_len(),
                ))
            });
        });
        criterion.bench_function(&format!("packet/validate-{len}"), |b| {
            b.iter(|| {
                Packet::parse(black_box(bytes.as_slice()))
                    .validate()
                    .is_empty()
            });
        });
        criterion.bench_function(&format!("packet/edit-psn-{len}"), |b| {
            let mut packet = Packet::parse(bytes.as_mut_slice());
            b.iter(|| {
                packet.edit_bth(|bth| {
                    let next: Psn = bth.psn().add(1);
                    bth.set_psn(next);
                })
            });
        });
        let payload = vec![7; len];
        criterion.bench_function(&format!("packet/build-{len}"), |b| {
            b.iter(|| builder(black_box(&payload)).build(black_box(&mut bytes)));
        });
    }
}

criterion_group!(benches, packets);
criterion_main!(benches);
