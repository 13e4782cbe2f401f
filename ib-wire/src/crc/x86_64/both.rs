//! Both CRCs of a packet in one pass over its payload, which may copy it too.

use core::arch::x86_64::*;

use super::{
    bits_256::finish_256,
    lane::{fold_256, load_128, load_256, load_pair, quarters, shifts, store_256},
};
use crate::crc::{
    constants::{Constants, PRODUCT, PRODUCT_BLOCKS},
    mask::Mask,
};

/// Both registers after `headers`, at least 16 bytes, and `payload`, at least 128, in one pass; with
/// `COPIES` the same loads fill `to`, as long as `payload`. `None` if they are shorter, or `payload` is
/// longer than the packets of a link.
///
/// The sums differ in the headers alone, as one sees them masked. So the payload is folded once, modulo
/// the product of both generators, and the headers of each are moved past it in one step. They come
/// last, as bytes just written would be slow to read at once.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
pub(super) fn both_256<const COPIES: bool>(
    registers: [u32; 2],
    constants: [&'static Constants; 2],
    [headers, payload]: [&[u8]; 2],
    mask: &Mask,
    to: &mut [u8],
) -> Option<[u32; 2]> {
    let (blocks, rest) = payload.as_chunks::<128>();
    let (first, blocks) = blocks.split_first()?;
    let by_blocks = PRODUCT_BLOCKS.get(blocks.len())?;
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
    let twice = |constants: &[u64; 2]| _mm256_broadcastsi128_si256(load_pair(constants));
    let [_, by_32, _, by_64, _, by_96, _, by_128] = &PRODUCT;
    let mut sum = load(first);
    for block in blocks {
        for (lane, data) in sum.iter_mut().zip(load(block)) {
            *lane = _mm256_xor_si256(fold_256(*lane, twice(by_128)), data);
        }
    }
    let [a, b, c, d] = sum;
    let ab = _mm256_xor_si256(fold_256(a, twice(by_96)), fold_256(b, twice(by_64)));
    let cd = _mm256_xor_si256(fold_256(c, twice(by_32)), d);
    let pair = _mm256_xor_si256(ab, cd);
    let headers = fold_256(headers_256(registers, headers, mask)?, twice(by_blocks));
    // Each at the high lane's place, the last 16 bytes'.
    let invariant = _mm256_permute2x128_si256::<0x08>(headers, headers);
    let variant = _mm256_blend_epi32::<0xf0>(_mm256_setzero_si256(), headers);
    let pairs = [invariant, variant].map(|headers| _mm256_xor_si256(pair, headers));
    Some(finish_256::<2>(pairs, constants, payload, rest))
}

/// The headers as a lane for the ICRC, the low one, and one for the VCRC; `None` below 16 bytes.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
#[inline]
fn headers_256([invariant, variant]: [u32; 2], headers: &[u8], mask: &Mask) -> Option<__m256i> {
    let twice = |block: &[u8; 16], at: usize| {
        let block = _mm256_broadcastsi128_si256(load_128(block));
        _mm256_or_si256(block, _mm256_zextsi128_si256(load_128(mask.at(at))))
    };
    let [by_16, ..] = &PRODUCT;
    let by_16 = _mm256_broadcastsi128_si256(load_pair(by_16));
    let registers = _mm256_set_m128i(
        _mm_cvtsi32_si128(variant.cast_signed()),
        _mm_cvtsi32_si128(invariant.cast_signed()),
    );
    let (first, mut rest) = headers.split_first_chunk()?;
    let mut lanes = _mm256_xor_si256(twice(first, 0), registers);
    let mut at = 16usize;
    while let Some((block, next)) = rest.split_first_chunk() {
        lanes = _mm256_xor_si256(fold_256(lanes, by_16), twice(block, at));
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
    Some(lanes)
}
