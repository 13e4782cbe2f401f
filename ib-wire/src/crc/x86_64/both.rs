//! Both CRCs of a packet in one pass over its payload, which may copy it too.

use core::arch::x86_64::*;

use super::{
    bits_256::finish_256,
    lane::{fold_128, fold_256, load_128, load_256, load_pair, quarters, shifts, store_256},
};
use crate::crc::{
    constants::{Constants, PRODUCT},
    mask::Mask,
};

/// Both registers after `headers`, at least 16 bytes, and `payload`, at least 128, in one pass; with
/// `COPIES` the same loads fill `to`, as long as `payload`.
///
/// The sums differ in the masked headers alone. So the payload is folded once, modulo the product of
/// both generators, behind the ICRC's headers; what the VCRC's headers differ by goes along in a lane
/// of its own.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
pub(super) fn both_256<const COPIES: bool>(
    registers: [u32; 2],
    constants: [&'static Constants; 2],
    [headers, payload]: [&[u8]; 2],
    mask: &Mask,
    to: &mut [u8],
) -> [u32; 2] {
    let (blocks, rest) = payload.as_chunks::<128>();
    let Some((first, blocks)) = blocks.split_first() else {
        return registers;
    };
    let (copies, copy_of_rest) = to.as_chunks_mut::<128>();
    let mut copies = copies.iter_mut();
    if COPIES && !rest.is_empty() && copy_of_rest.len() == rest.len() {
        copy_of_rest.copy_from_slice(rest);
    }
    let mut load = |block: &[u8; 128]| {
        let [a, b, c, d] = quarters(block);
        let lanes = [load_256(a), load_256(b), load_256(c), load_256(d)];
        if COPIES && let Some(copy) = copies.next() {
            for (to, lane) in copy.as_chunks_mut().0.iter_mut().zip(lanes) {
                store_256(to, lane);
            }
        }
        lanes
    };
    let mut sum = load(first);
    let by = |n: usize| match PRODUCT.get(n) {
        Some(fold) => load_pair(fold),
        None => _mm_setzero_si128(),
    };
    let by_16 = _mm256_broadcastsi128_si256(by(0));
    let lanes = fold_256(headers_256(registers, headers, mask), by_16);
    let invariant = _mm256_castsi256_si128(lanes);
    let mut difference = _mm_xor_si128(invariant, _mm256_extracti128_si256::<1>(lanes));
    let [lane, ..] = &mut sum;
    *lane = _mm256_xor_si256(*lane, _mm256_zextsi128_si256(invariant));
    let by_128 = by(7);
    let by_128_twice = _mm256_broadcastsi128_si256(by_128);
    for block in blocks {
        let block = load(block);
        for (lane, data) in sum.iter_mut().zip(block) {
            *lane = _mm256_xor_si256(fold_256(*lane, by_128_twice), data);
        }
        difference = fold_128(difference, by_128);
    }
    let twice = |n: usize| _mm256_broadcastsi128_si256(by(n));
    let [a, b, c, d] = sum;
    let ab = _mm256_xor_si256(fold_256(a, twice(5)), fold_256(b, twice(3)));
    let cd = _mm256_xor_si256(fold_256(c, twice(1)), d);
    let pair = _mm256_xor_si256(ab, cd);
    let difference = _mm256_zextsi128_si256(fold_128(difference, by(5)));
    let pairs = [pair, _mm256_xor_si256(pair, difference)];
    finish_256::<2>(pairs, constants, payload, rest)
}

/// The headers, at least 16 bytes, as a lane for the ICRC, the low one, and one for the VCRC.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
#[inline]
fn headers_256([invariant, variant]: [u32; 2], headers: &[u8], mask: &Mask) -> __m256i {
    let twice = |block: &[u8; 16], at: usize| {
        let block = _mm256_broadcastsi128_si256(load_128(block));
        _mm256_or_si256(block, _mm256_zextsi128_si256(load_128(mask.at(at))))
    };
    let [by_16, ..] = &PRODUCT;
    let by_16 = _mm256_broadcastsi128_si256(load_pair(by_16));
    let mut lanes = _mm256_setzero_si256();
    let mut registers = _mm256_set_m128i(
        _mm_cvtsi32_si128(variant.cast_signed()),
        _mm_cvtsi32_si128(invariant.cast_signed()),
    );
    let mut at = 0usize;
    let mut rest = headers;
    while let Some((block, next)) = rest.split_first_chunk() {
        lanes = _mm256_xor_si256(
            fold_256(lanes, by_16),
            _mm256_xor_si256(twice(block, at), registers),
        );
        registers = _mm256_setzero_si256();
        (rest, at) = (next, at.wrapping_add(16));
    }
    if !rest.is_empty()
        && let Some(last) = headers.last_chunk()
    {
        let last = twice(last, headers.len().wrapping_sub(16));
        let (up, down) = shifts(rest.len());
        let (up, down) = (
            _mm256_broadcastsi128_si256(up),
            _mm256_broadcastsi128_si256(down),
        );
        let moved = _mm256_shuffle_epi8(lanes, down);
        let block = _mm256_blendv_epi8(last, moved, up);
        lanes = _mm256_xor_si256(fold_256(_mm256_shuffle_epi8(lanes, up), by_16), block);
    }
    lanes
}
