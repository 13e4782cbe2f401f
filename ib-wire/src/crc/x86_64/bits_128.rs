//! 128 bits at a time, and what is left of any data in the end.

use core::arch::x86_64::*;

use super::lane::{fold_128, fold_tail, four_lanes, load_128, load_pair, quarters, reduce_all};
use crate::crc::{constants::Constants, mask::Mask};

/// The registers after `data`, at least 16 bytes.
#[target_feature(enable = "pclmulqdq,sse4.1,ssse3")]
pub(super) fn update_128<const N: usize, const MASKED: bool>(
    registers: [u32; N],
    constants: [&'static Constants; N],
    data: &[u8],
    mask: &Mask,
) -> [u32; N] {
    let lanes = lanes_128::<N, MASKED>(registers, constants, data, mask);
    reduce_all(lanes, constants)
}

/// 128 bits for each sum that leave the same register as `data`, at least 16 bytes, and end where it
/// ends.
#[target_feature(enable = "pclmulqdq,sse4.1,ssse3")]
#[inline]
fn lanes_128<const N: usize, const MASKED: bool>(
    registers: [u32; N],
    constants: [&'static Constants; N],
    data: &[u8],
    mask: &Mask,
) -> [__m128i; N] {
    let (blocks, _) = data.as_chunks::<64>();
    let Some((first, blocks)) = blocks.split_first() else {
        return short::<N, MASKED>(registers, constants, data, mask);
    };
    let [a, b, c, d] = quarters(first);
    let first = [load_128(a), load_128(b), load_128(c), load_128(d)];
    let mut sums = [first; N];
    if MASKED && let Some(sum) = sums.first_mut() {
        for (lane, mask) in sum.iter_mut().zip(mask.chunks::<16>()) {
            *lane = _mm_or_si128(*lane, load_128(mask));
        }
    }
    for (sum, register) in sums.iter_mut().zip(registers) {
        let [lane, ..] = sum;
        *lane = _mm_xor_si128(*lane, _mm_cvtsi32_si128(register.cast_signed()));
    }
    for block in blocks {
        let [a, b, c, d] = quarters(block);
        let block = [load_128(a), load_128(b), load_128(c), load_128(d)];
        for (sum, constants) in sums.iter_mut().zip(constants) {
            let by_64 = load_pair(&constants.fold[3]);
            for (lane, data) in sum.iter_mut().zip(block) {
                *lane = _mm_xor_si128(fold_128(*lane, by_64), data);
            }
        }
    }
    let done = data.len() & !63;
    let rest = data.get(done..).unwrap_or_default();
    let mut lanes = [_mm_setzero_si128(); N];
    for ((lane, sum), constants) in lanes.iter_mut().zip(sums).zip(constants) {
        *lane = four_lanes(sum, constants);
    }
    fold_rest::<N>(lanes, constants, data, rest)
}

/// Between 16 and 63 bytes.
#[target_feature(enable = "pclmulqdq,sse4.1,ssse3")]
#[inline]
fn short<const N: usize, const MASKED: bool>(
    registers: [u32; N],
    constants: [&'static Constants; N],
    data: &[u8],
    mask: &Mask,
) -> [__m128i; N] {
    let (Some((first, _)), Some(last)) = (data.split_first_chunk::<16>(), data.last_chunk::<16>())
    else {
        return [_mm_setzero_si128(); N];
    };
    let mut lanes = [load_128(first); N];
    let masks = mask.chunks::<16>();
    if MASKED && let (Some(lane), Some(mask)) = (lanes.first_mut(), masks.first()) {
        *lane = _mm_or_si128(*lane, load_128(mask));
    }
    for (lane, register) in lanes.iter_mut().zip(registers) {
        *lane = _mm_xor_si128(*lane, _mm_cvtsi32_si128(register.cast_signed()));
    }
    let (blocks, tail) = data.as_chunks::<16>();
    for (block, mask) in blocks.iter().zip(masks).skip(1) {
        let block = load_128(block);
        for (index, (lane, constants)) in lanes.iter_mut().zip(constants).enumerate() {
            let block = if MASKED && index == 0 {
                _mm_or_si128(block, load_128(mask))
            } else {
                block
            };
            *lane = _mm_xor_si128(fold_128(*lane, load_pair(&constants.fold[0])), block);
        }
    }
    if !tail.is_empty() {
        let last = load_128(last);
        for (index, (lane, constants)) in lanes.iter_mut().zip(constants).enumerate() {
            let last = if MASKED && index == 0 {
                _mm_or_si128(last, load_128(mask.at(data.len().wrapping_sub(16))))
            } else {
                last
            };
            *lane = fold_tail(*lane, last, tail.len(), constants);
        }
    }
    lanes
}

/// Folds in the `rest` of `data`, which the lanes do not hold yet.
#[target_feature(enable = "pclmulqdq,sse4.1,ssse3")]
#[inline]
pub(super) fn fold_rest<const N: usize>(
    mut lanes: [__m128i; N],
    constants: [&'static Constants; N],
    data: &[u8],
    rest: &[u8],
) -> [__m128i; N] {
    let (blocks, tail) = rest.as_chunks::<16>();
    for block in blocks {
        let block = load_128(block);
        for (lane, constants) in lanes.iter_mut().zip(constants) {
            *lane = _mm_xor_si128(fold_128(*lane, load_pair(&constants.fold[0])), block);
        }
    }
    // The caller has folded at least 64 bytes: the last 16 are past the mask but for its bytes, which come
    // before the last 16 of the headers it covers.
    if !tail.is_empty()
        && let Some(last) = data.last_chunk::<16>()
    {
        let last = load_128(last);
        for (lane, constants) in lanes.iter_mut().zip(constants) {
            *lane = fold_tail(*lane, last, tail.len(), constants);
        }
    }
    lanes
}
