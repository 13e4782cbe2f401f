//! 512 bits at a time.

use core::arch::x86_64::*;

use super::{
    bits_128::{fold_rest, update_128},
    lane::{fold_512, four_lanes, load_512, load_pair, quarters, reduce_all},
};
use crate::crc::{constants::Constants, mask::Mask};

/// The registers after `data`, at least 16 bytes.
#[target_feature(enable = "avx512f,avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
pub(super) fn update_512<const N: usize, const MASKED: bool>(
    registers: [u32; N],
    constants: [&'static Constants; N],
    data: &[u8],
    mask: &Mask,
) -> [u32; N] {
    let (blocks, _) = data.as_chunks::<256>();
    let Some((first, blocks)) = blocks.split_first() else {
        return update_128::<N, MASKED>(registers, constants, data, mask);
    };
    let [a, b, c, d] = quarters(first);
    let first = [load_512(a), load_512(b), load_512(c), load_512(d)];
    let mut sums = [first; N];
    if MASKED && let (Some([lane, ..]), [mask]) = (sums.first_mut(), mask.chunks::<64>()) {
        *lane = _mm512_or_si512(*lane, load_512(mask));
    }
    for (sum, register) in sums.iter_mut().zip(registers) {
        let [lane, ..] = sum;
        let register = _mm_cvtsi32_si128(register.cast_signed());
        *lane = _mm512_xor_si512(*lane, _mm512_zextsi128_si512(register));
    }
    for block in blocks {
        let [a, b, c, d] = quarters(block);
        let block = [load_512(a), load_512(b), load_512(c), load_512(d)];
        for (sum, constants) in sums.iter_mut().zip(constants) {
            let by_256 = _mm512_broadcast_i32x4(load_pair(&constants.fold[15]));
            for (lane, data) in sum.iter_mut().zip(block) {
                *lane = fold_512(*lane, by_256, data);
            }
        }
    }
    let done = data.len() & !255;
    let mut rest = data.get(done..).unwrap_or_default();
    let mut quads = [_mm512_setzero_si512(); N];
    for ((quad, [a, b, c, d]), constants) in quads.iter_mut().zip(sums).zip(constants) {
        let by = |n: usize| match constants.fold.get(n) {
            Some(fold) => _mm512_broadcast_i32x4(load_pair(fold)),
            None => _mm512_setzero_si512(),
        };
        let cd = fold_512(c, by(3), d);
        let abcd = fold_512(b, by(7), cd);
        *quad = fold_512(a, by(11), abcd);
    }
    while let Some((block, next)) = rest.split_first_chunk::<64>() {
        let block = load_512(block);
        for (quad, constants) in quads.iter_mut().zip(constants) {
            let by_64 = _mm512_broadcast_i32x4(load_pair(&constants.fold[3]));
            *quad = fold_512(*quad, by_64, block);
        }
        rest = next;
    }
    let mut lanes = [_mm_setzero_si128(); N];
    for ((lane, quad), constants) in lanes.iter_mut().zip(quads).zip(constants) {
        let four = [
            _mm512_extracti32x4_epi32::<0>(quad),
            _mm512_extracti32x4_epi32::<1>(quad),
            _mm512_extracti32x4_epi32::<2>(quad),
            _mm512_extracti32x4_epi32::<3>(quad),
        ];
        *lane = four_lanes(four, constants);
    }
    reduce_all(fold_rest::<N>(lanes, constants, data, rest), constants)
}
