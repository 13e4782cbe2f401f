//! Loads, and the steps that every kernel takes with lanes: folding, joining, reducing.
//!
//! A lane is 128 bits of a sum. Folding by `n` bytes makes it 128 bits that leave the same register `n`
//! bytes further on, so that data from there can be added.
#![allow(unsafe_code, reason = "vector loads and stores")]

use core::arch::x86_64::*;

use crate::crc::constants::Constants;

#[target_feature(enable = "sse2")]
#[inline]
pub(super) fn load_128(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the array has the 16 bytes that the load reads; it needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "sse2")]
#[inline]
pub(super) fn load_pair(words: &[u64; 2]) -> __m128i {
    // SAFETY: the array has the 16 bytes that the load reads; it needs no alignment.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn load_256(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the array has the 32 bytes that the load reads; it needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn store_256(bytes: &mut [u8; 32], lanes: __m256i) {
    // SAFETY: the array has the 32 bytes that the store writes; it needs no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), lanes) }
}

#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn load_512(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the array has the 64 bytes that the load reads; it needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// A block as four parts.
#[inline(always)]
pub(super) fn quarters<const Q: usize>(block: &[u8]) -> [&[u8; Q]; 4] {
    match block.as_chunks() {
        ([a, b, c, d], _) => [a, b, c, d],
        _ => [const { &[0; Q] }; 4],
    }
}

#[target_feature(enable = "pclmulqdq")]
#[inline]
pub(super) fn fold_128(lane: __m128i, by: __m128i) -> __m128i {
    _mm_xor_si128(
        _mm_clmulepi64_si128::<0x00>(lane, by),
        _mm_clmulepi64_si128::<0x11>(lane, by),
    )
}

#[target_feature(enable = "vpclmulqdq,avx2")]
#[inline]
pub(super) fn fold_256(lanes: __m256i, by: __m256i) -> __m256i {
    _mm256_xor_si256(
        _mm256_clmulepi64_epi128::<0x00>(lanes, by),
        _mm256_clmulepi64_epi128::<0x11>(lanes, by),
    )
}

/// Moves the lanes and adds `data`, in one step of three operands.
#[target_feature(enable = "vpclmulqdq,avx512f")]
#[inline]
pub(super) fn fold_512(lanes: __m512i, by: __m512i, data: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(
        _mm512_clmulepi64_epi128::<0x00>(lanes, by),
        _mm512_clmulepi64_epi128::<0x11>(lanes, by),
        data,
    )
}

/// Four neighbouring lanes become the last one, each moved at once.
#[target_feature(enable = "pclmulqdq,sse4.1")]
#[inline]
pub(super) fn four_lanes([a, b, c, d]: [__m128i; 4], constants: &Constants) -> __m128i {
    let a = fold_128(a, load_pair(&constants.fold[2]));
    let b = fold_128(b, load_pair(&constants.fold[1]));
    let c = fold_128(c, load_pair(&constants.fold[0]));
    _mm_xor_si128(_mm_xor_si128(a, b), _mm_xor_si128(c, d))
}

/// The lane and 1..=15 more bytes, the end of `last`, become one lane.
#[target_feature(enable = "pclmulqdq,sse4.1,ssse3")]
#[inline]
pub(super) fn fold_tail(
    lane: __m128i,
    last: __m128i,
    tail: usize,
    constants: &Constants,
) -> __m128i {
    let (up, down) = shifts(tail);
    let head = _mm_shuffle_epi8(lane, up);
    let rest = _mm_blendv_epi8(last, _mm_shuffle_epi8(lane, down), up);
    _mm_xor_si128(fold_128(head, load_pair(&constants.fold[0])), rest)
}

/// Shuffles that leave a lane's first `tail` bytes at its end, and its other bytes at its start.
#[target_feature(enable = "sse2")]
#[inline]
pub(super) fn shifts(tail: usize) -> (__m128i, __m128i) {
    #[allow(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "evaluated at compile time, where a fault is an error"
    )]
    /// Read from 16 - n it shifts up by n bytes, from 16 + n down by n bytes.
    static SHIFTS: [u8; 48] = {
        let mut shifts = [0x80; 48];
        let mut n = 0;
        while n < 16 {
            shifts[16 + n] = n as u8;
            n += 1;
        }
        shifts
    };
    let shift = |from: usize| match SHIFTS.get(from..).and_then(|rest| rest.first_chunk()) {
        Some(shift) => load_128(shift),
        None => _mm_setzero_si128(),
    };
    (shift(tail), shift(tail.wrapping_add(16)))
}

/// The registers that the lanes leave.
#[target_feature(enable = "pclmulqdq,sse4.1")]
#[inline]
pub(super) fn reduce_all<const N: usize>(
    lanes: [__m128i; N],
    constants: [&'static Constants; N],
) -> [u32; N] {
    let mut registers = [0; N];
    for ((register, lane), constants) in registers.iter_mut().zip(lanes).zip(constants) {
        *register = reduce(lane, constants);
    }
    registers
}

/// The register that 128 bits leave.
#[target_feature(enable = "pclmulqdq,sse4.1")]
#[inline]
fn reduce(lane: __m128i, constants: &Constants) -> u32 {
    let to_96 = _mm_cvtsi64_si128(constants.to_96.cast_signed());
    let high = _mm_srli_si128::<8>(lane);
    let bits_96 = _mm_xor_si128(_mm_clmulepi64_si128::<0x00>(lane, to_96), high);
    barrett(bits_96, constants)
}

/// The remainder of 96 bits; bit 95 is x^0.
#[target_feature(enable = "pclmulqdq,sse4.1")]
#[inline]
pub(super) fn barrett(bits_96: __m128i, constants: &Constants) -> u32 {
    let barrett = load_pair(&[constants.quotient, constants.generator]);
    let quotient = _mm_clmulepi64_si128::<0x00>(bits_96, barrett);
    let product = _mm_clmulepi64_si128::<0x10>(quotient, barrett);
    _mm_extract_epi32::<2>(_mm_xor_si128(product, bits_96)).cast_unsigned()
}
