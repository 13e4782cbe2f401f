//! 256 bits at a time.

use core::arch::x86_64::*;

use super::{
    bits_128::{fold_rest, update_128},
    lane::{fold_128, fold_256, load_256, load_pair, quarters, reduce_all},
};
use crate::crc::{constants::Constants, mask::Mask};

/// The registers after `data`, at least 16 bytes.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
pub(super) fn update_256<const N: usize, const MASKED: bool>(
    registers: [u32; N],
    constants: [&'static Constants; N],
    data: &[u8],
    mask: &Mask,
) -> [u32; N] {
    let (blocks, _) = data.as_chunks::<128>();
    let Some((first, blocks)) = blocks.split_first() else {
        return update_128::<N, MASKED>(registers, constants, data, mask);
    };
    let [a, b, c, d] = quarters(first);
    let first = [load_256(a), load_256(b), load_256(c), load_256(d)];
    let mut sums = [first; N];
    if MASKED && let Some(sum) = sums.first_mut() {
        for (lane, mask) in sum.iter_mut().zip(mask.chunks::<32>()) {
            *lane = _mm256_or_si256(*lane, load_256(mask));
        }
    }
    for (sum, register) in sums.iter_mut().zip(registers) {
        let [lane, ..] = sum;
        let register = _mm_cvtsi32_si128(register.cast_signed());
        *lane = _mm256_xor_si256(*lane, _mm256_zextsi128_si256(register));
    }
    for block in blocks {
        let [a, b, c, d] = quarters(block);
        let block = [load_256(a), load_256(b), load_256(c), load_256(d)];
        for (sum, constants) in sums.iter_mut().zip(constants) {
            let by_128 = _mm256_broadcastsi128_si256(load_pair(&constants.fold[7]));
            for (lane, data) in sum.iter_mut().zip(block) {
                *lane = _mm256_xor_si256(fold_256(*lane, by_128), data);
            }
        }
    }
    let done = data.len() & !127;
    let rest = data.get(done..).unwrap_or_default();
    join_256::<N>(sums, constants, data, rest)
}

/// Joins the four lanes of each sum, folds in the `rest` of `data` and reduces.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
#[inline]
pub(super) fn join_256<const N: usize>(
    sums: [[__m256i; 4]; N],
    constants: [&'static Constants; N],
    data: &[u8],
    rest: &[u8],
) -> [u32; N] {
    let mut pairs = [_mm256_setzero_si256(); N];
    for ((pair, [a, b, c, d]), constants) in pairs.iter_mut().zip(sums).zip(constants) {
        let by = |n: usize| match constants.fold.get(n) {
            Some(fold) => _mm256_broadcastsi128_si256(load_pair(fold)),
            None => _mm256_setzero_si256(),
        };
        let ab = _mm256_xor_si256(fold_256(a, by(5)), fold_256(b, by(3)));
        let cd = _mm256_xor_si256(fold_256(c, by(1)), d);
        *pair = _mm256_xor_si256(ab, cd);
    }
    finish_256::<N>(pairs, constants, data, rest)
}

/// Folds in the `rest` of `data`, which the pairs do not hold yet, and reduces.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
#[inline]
pub(super) fn finish_256<const N: usize>(
    mut pairs: [__m256i; N],
    constants: [&'static Constants; N],
    data: &[u8],
    mut rest: &[u8],
) -> [u32; N] {
    while let Some((block, next)) = rest.split_first_chunk::<32>() {
        let block = load_256(block);
        for (pair, constants) in pairs.iter_mut().zip(constants) {
            let by_32 = _mm256_broadcastsi128_si256(load_pair(&constants.fold[1]));
            *pair = _mm256_xor_si256(fold_256(*pair, by_32), block);
        }
        rest = next;
    }
    let mut lanes = [_mm_setzero_si128(); N];
    for ((lane, pair), constants) in lanes.iter_mut().zip(pairs).zip(constants) {
        let (low, high) = (
            _mm256_castsi256_si128(pair),
            _mm256_extracti128_si256::<1>(pair),
        );
        *lane = _mm_xor_si128(fold_128(low, load_pair(&constants.fold[0])), high);
    }
    reduce_all(fold_rest::<N>(lanes, constants, data, rest), constants)
}
