//! ICRC and VCRC beside crc32fast and a table of sixteen.
#![allow(missing_docs, reason = "criterion's macros declare the entry points")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ib_benches::SLICE16;
use ib_wire::crc::{Coverage, icrc, icrc_and_vcrc, vcrc};

fn crcs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("crc");
    for len in [64usize, 256, 290, 1024, 4096] {
        let data: Vec<u8> = (0..len).map(|i| (i * 31) as u8).collect();
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::new("icrc", len), |b| {
            b.iter(|| icrc(Coverage::IbaLocal, black_box(&data)));
        });
        group.bench_function(BenchmarkId::new("crc32fast", len), |b| {
            b.iter(|| crc32fast::hash(black_box(&data)));
        });
        group.bench_function(BenchmarkId::new("vcrc", len), |b| {
            b.iter(|| vcrc(black_box(&data)));
        });
        group.bench_function(BenchmarkId::new("slice16", len), |b| {
            b.iter(|| SLICE16.checksum(black_box(&data)));
        });
        group.bench_function(BenchmarkId::new("both", len), |b| {
            b.iter(|| icrc_and_vcrc(Coverage::IbaLocal, black_box(&data)));
        });
    }
    group.finish();
}

criterion_group!(benches, crcs);
criterion_main!(benches);
