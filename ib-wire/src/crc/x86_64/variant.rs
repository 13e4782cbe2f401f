//! The VCRC of long data: additions in place of multiplications.

use core::arch::x86_64::*;

use super::{
    bits_256::join_256,
    lane::{fold_256, load_256, load_pair, quarters},
};
use crate::crc::constants::Constants;

/// The VCRC's register after `data`, by XOR alone but for the end.
///
/// The VCRC's generator has only five powers, and so has its power of 256, as squares of sums are sums
/// of squares: x^4096 = x^3072 + x^768 + x^256 + 1. A block of 256 bits thus adds to those 4, 13, 15
/// and 16 blocks further, as it is. That takes a quarter of the time of multiplications.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
pub(super) fn variant_256(register: u32, constants: &'static Constants, data: &[u8]) -> u32 {
    let (chunks, rest) = data.as_chunks::<512>();
    let Some((first, chunks)) = chunks.split_first() else {
        return register;
    };
    let mut lanes = [_mm256_setzero_si256(); 16];
    let [lane, ..] = &mut lanes;
    *lane = _mm256_zextsi128_si256(_mm_cvtsi32_si128(register.cast_signed()));
    for (lane, block) in lanes.iter_mut().zip(first.as_chunks().0) {
        *lane = _mm256_xor_si256(*lane, load_256(block));
    }
    for chunk in chunks {
        let (blocks, _) = chunk.as_chunks::<32>();
        macro_rules! steps {
            ($($at:literal)*) => {$(
                let lane = lanes[$at];
                lanes[($at + 4) % 16] = _mm256_xor_si256(lanes[($at + 4) % 16], lane);
                lanes[($at + 13) % 16] = _mm256_xor_si256(lanes[($at + 13) % 16], lane);
                lanes[($at + 15) % 16] = _mm256_xor_si256(lanes[($at + 15) % 16], lane);
                if let Some(block) = blocks.get($at) {
                    lanes[$at] = _mm256_xor_si256(lane, load_256(block));
                }
            )*};
        }
        steps!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    }
    let by_128 = _mm256_broadcastsi128_si256(load_pair(&constants.fold[7]));
    let fold = |sum: &mut [__m256i; 4], block: [__m256i; 4]| {
        for (lane, data) in sum.iter_mut().zip(block) {
            *lane = _mm256_xor_si256(fold_256(*lane, by_128), data);
        }
    };
    let mut sum = [_mm256_setzero_si256(); 4];
    for four in lanes.as_chunks().0 {
        fold(&mut sum, *four);
    }
    let (blocks, rest) = rest.as_chunks::<128>();
    for block in blocks {
        let [a, b, c, d] = quarters(block);
        fold(
            &mut sum,
            [load_256(a), load_256(b), load_256(c), load_256(d)],
        );
    }
    let [register] = join_256::<1>([sum], [constants], data, rest);
    register
}
