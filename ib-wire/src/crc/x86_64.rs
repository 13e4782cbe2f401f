//! Both CRCs by carry-less multiplication on x86-64: 128, 256 or 512 bits at a time.
//!
//! A kernel folds the data into 128 bits that have the same CRC, and reduces these. It carries as many
//! sums as it is given registers, so that ICRC and VCRC take one pass. Only the first 64 bytes of the
//! first sum are masked. All unsafe code of this crate is here and in its sibling for AArch64: loads
//! from arrays of the right length, and calls of kernels after the check that the processor has them.
#![allow(
    unsafe_code,
    reason = "vector loads, and kernels that need an instruction set"
)]

use core::arch::x86_64::*;

use super::{
    constants::{Constants, PRODUCT},
    mask::Mask,
};

/// The registers after `data`, by the best kernel that this processor has; `None` without one, and for
/// data below 16 bytes.
///
/// The first sum takes the bytes of `mask` ORed to the first ones of `data`, if there is a mask.
#[inline]
pub(super) fn update<const N: usize, const MASKED: bool>(
    registers: [u32; N],
    constants: [&'static Constants; N],
    data: &[u8],
    mask: &Mask,
) -> Option<[u32; N]> {
    if data.len() < 16 {
        return None;
    }
    if data.len() >= 256 && has_512() {
        // SAFETY: `has_512` checked for every feature that the kernel enables.
        return Some(unsafe { update_512::<N, MASKED>(registers, constants, data, mask) });
    }
    if data.len() >= 128 && has_256() {
        // SAFETY: `has_256` checked for every feature that the kernel enables.
        return Some(unsafe { update_256::<N, MASKED>(registers, constants, data, mask) });
    }
    if has_128() {
        // SAFETY: `has_128` checked for every feature that the kernel enables.
        return Some(unsafe { update_128::<N, MASKED>(registers, constants, data, mask) });
    }
    None
}

/// The VCRC's register after `data`; `None` where [`update`] is as fast.
#[inline]
pub(super) fn update_variant(
    register: u32,
    constants: &'static Constants,
    data: &[u8],
) -> Option<u32> {
    if data.len() < 1024 || !has_256() {
        return None;
    }
    // SAFETY: `has_256` checked for every feature that the kernel enables.
    Some(unsafe { variant_256(register, constants, data) })
}

/// Both registers after `headers` and `payload`, in one pass that also copies `payload` to `to`;
/// `None`, and nothing copied, where that does not pay.
///
/// The ICRC takes the bytes of `mask` ORed to the first ones of `headers`, which hold all the mask.
#[inline]
pub(super) fn copy_and_update_both(
    registers: [u32; 2],
    constants: [&'static Constants; 2],
    parts: [&[u8]; 2],
    mask: &Mask,
    to: &mut [u8],
) -> Option<[u32; 2]> {
    let [headers, payload] = parts;
    if headers.len() < 16 || payload.len() < 128 || to.len() != payload.len() || !has_256() {
        return None;
    }
    // SAFETY: `has_256` checked for every feature that the kernel enables.
    Some(unsafe { both_256::<true>(registers, constants, parts, mask, to) })
}

/// Both registers after `data`; as [`update`], but what one pass for both can share it does.
#[inline]
pub(super) fn update_both(
    registers: [u32; 2],
    constants: [&'static Constants; 2],
    data: &[u8],
    mask: &Mask,
) -> Option<[u32; 2]> {
    // All of the mask is in the first 64 bytes.
    if let Some((headers, payload)) = data.split_at_checked(64)
        && payload.len() >= 128
        && has_256()
        && !has_512()
    {
        let parts = [headers, payload];
        // SAFETY: `has_256` checked for every feature that the kernel enables.
        return Some(unsafe { both_256::<false>(registers, constants, parts, mask, &mut []) });
    }
    update::<2, true>(registers, constants, data, mask)
}

/// The product of two polynomials modulo the generator; bit 31 is x^0. `None` where the processor
/// has no carry-less multiplication.
#[inline]
pub(super) fn multiply(a: u32, b: u32, constants: &Constants) -> Option<u32> {
    if !has_128() {
        return None;
    }
    // SAFETY: `has_128` checked for every feature that the function enables.
    Some(unsafe { multiply_128(a, b, constants) })
}

#[target_feature(enable = "pclmulqdq,sse4.1")]
fn multiply_128(a: u32, b: u32, constants: &Constants) -> u32 {
    let a = _mm_cvtsi64_si128(i64::from(a) << 1);
    let b = _mm_cvtsi64_si128(i64::from(b));
    let product = _mm_clmulepi64_si128::<0x00>(a, b);
    barrett(_mm_slli_si128::<4>(product), constants)
}

/// The registers by every kernel that the processor has, and how many bits that one takes at a time.
#[cfg(test)]
pub(super) fn update_all<const N: usize>(
    registers: [u32; N],
    constants: [&'static Constants; N],
    data: &[u8],
    mask: &Mask,
) -> Vec<(usize, [u32; N])> {
    let mut all = Vec::new();
    if has_128() {
        // SAFETY: `has_128` checked for every feature that the kernel enables.
        all.push((128, unsafe {
            update_128::<N, true>(registers, constants, data, mask)
        }));
    }
    if has_256() {
        // SAFETY: `has_256` checked for every feature that the kernel enables.
        all.push((256, unsafe {
            update_256::<N, true>(registers, constants, data, mask)
        }));
    }
    if has_512() {
        // SAFETY: `has_512` checked for every feature that the kernel enables.
        all.push((512, unsafe {
            update_512::<N, true>(registers, constants, data, mask)
        }));
    }
    all
}

/// Whether all features are there: found at run time with `std`, else as the compiler was told.
macro_rules! has {
    ($($feature:tt),*) => {{
        #[cfg(feature = "std")]
        { $(std::arch::is_x86_feature_detected!($feature))&&* }
        #[cfg(not(feature = "std"))]
        { $(cfg!(target_feature = $feature))&&* }
    }};
}

#[inline]
fn has_128() -> bool {
    has!("pclmulqdq", "sse4.1", "ssse3")
}

#[inline]
fn has_256() -> bool {
    has!("vpclmulqdq", "avx2", "pclmulqdq")
}

#[inline]
fn has_512() -> bool {
    has!("vpclmulqdq", "avx512f", "avx2", "pclmulqdq")
}

#[target_feature(enable = "pclmulqdq,sse4.1,ssse3")]
fn update_128<const N: usize, const MASKED: bool>(
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
fn fold_rest<const N: usize>(
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
    // The caller has folded at least 64 bytes: the last 16 are past the mask but for its bytes, which
    // stand before the last 16 of the headers it covers.
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

/// The registers that the lanes leave.
#[target_feature(enable = "pclmulqdq,sse4.1")]
#[inline]
fn reduce_all<const N: usize>(lanes: [__m128i; N], constants: [&'static Constants; N]) -> [u32; N] {
    let mut registers = [0; N];
    for ((register, lane), constants) in registers.iter_mut().zip(lanes).zip(constants) {
        *register = reduce(lane, constants);
    }
    registers
}

#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
fn update_256<const N: usize, const MASKED: bool>(
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
fn join_256<const N: usize>(
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

/// The VCRC's register after `data`, by XOR alone but for the end.
///
/// The VCRC's generator has only five powers, and so has its power of 256, as squares of sums are sums
/// of squares: x^4096 = x^3072 + x^768 + x^256 + 1. A block of 256 bits thus adds to those 4, 13, 15
/// and 16 blocks further, as it is. That takes a quarter of the time of multiplications.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
fn variant_256(register: u32, constants: &'static Constants, data: &[u8]) -> u32 {
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

/// Folds in the `rest` of `data`, which the pairs do not hold yet, and reduces.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
#[inline]
fn finish_256<const N: usize>(
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

/// Both registers after `headers`, at least 16 bytes, and `payload`, at least 128, in one pass; with
/// `COPIES` the same loads fill `to`, as long as `payload`.
///
/// The sums differ in the masked headers alone. So the payload is folded once, modulo the product of
/// both generators, behind the ICRC's headers; what the VCRC's headers differ by goes along in a lane
/// of its own.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
fn both_256<const COPIES: bool>(
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

#[target_feature(enable = "avx512f,avx2,vpclmulqdq,pclmulqdq,sse4.1,ssse3")]
fn update_512<const N: usize, const MASKED: bool>(
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

/// Four neighbouring lanes become the last one, each moved at once.
#[target_feature(enable = "pclmulqdq,sse4.1")]
#[inline]
fn four_lanes([a, b, c, d]: [__m128i; 4], constants: &Constants) -> __m128i {
    let a = fold_128(a, load_pair(&constants.fold[2]));
    let b = fold_128(b, load_pair(&constants.fold[1]));
    let c = fold_128(c, load_pair(&constants.fold[0]));
    _mm_xor_si128(_mm_xor_si128(a, b), _mm_xor_si128(c, d))
}

/// The lane and 1..=15 more bytes, the end of `last`, become one lane.
#[target_feature(enable = "pclmulqdq,sse4.1,ssse3")]
#[inline]
fn fold_tail(lane: __m128i, last: __m128i, tail: usize, constants: &Constants) -> __m128i {
    let (up, down) = shifts(tail);
    let head = _mm_shuffle_epi8(lane, up);
    let rest = _mm_blendv_epi8(last, _mm_shuffle_epi8(lane, down), up);
    _mm_xor_si128(fold_128(head, load_pair(&constants.fold[0])), rest)
}

/// Shuffles that leave a lane's first `tail` bytes at its end, and its other bytes at its start.
#[target_feature(enable = "sse2")]
#[inline]
fn shifts(tail: usize) -> (__m128i, __m128i) {
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
fn barrett(bits_96: __m128i, constants: &Constants) -> u32 {
    let barrett = load_pair(&[constants.quotient, constants.generator]);
    let quotient = _mm_clmulepi64_si128::<0x00>(bits_96, barrett);
    let product = _mm_clmulepi64_si128::<0x10>(quotient, barrett);
    _mm_extract_epi32::<2>(_mm_xor_si128(product, bits_96)).cast_unsigned()
}

#[target_feature(enable = "pclmulqdq")]
#[inline]
fn fold_128(lane: __m128i, by: __m128i) -> __m128i {
    _mm_xor_si128(
        _mm_clmulepi64_si128::<0x00>(lane, by),
        _mm_clmulepi64_si128::<0x11>(lane, by),
    )
}

#[target_feature(enable = "vpclmulqdq,avx2")]
#[inline]
fn fold_256(lanes: __m256i, by: __m256i) -> __m256i {
    _mm256_xor_si256(
        _mm256_clmulepi64_epi128::<0x00>(lanes, by),
        _mm256_clmulepi64_epi128::<0x11>(lanes, by),
    )
}

/// Moves the lanes and adds `data`, in one step of three operands.
#[target_feature(enable = "vpclmulqdq,avx512f")]
#[inline]
fn fold_512(lanes: __m512i, by: __m512i, data: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(
        _mm512_clmulepi64_epi128::<0x00>(lanes, by),
        _mm512_clmulepi64_epi128::<0x11>(lanes, by),
        data,
    )
}

/// A block as four parts.
#[inline(always)]
fn quarters<const Q: usize>(block: &[u8]) -> [&[u8; Q]; 4] {
    match block.as_chunks() {
        ([a, b, c, d], _) => [a, b, c, d],
        _ => [const { &[0; Q] }; 4],
    }
}

#[target_feature(enable = "sse2")]
#[inline]
fn load_128(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the array has the 16 bytes that the load reads; it needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "sse2")]
#[inline]
fn load_pair(words: &[u64; 2]) -> __m128i {
    // SAFETY: the array has the 16 bytes that the load reads; it needs no alignment.
    unsafe { _mm_loadu_si128(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_256(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the array has the 32 bytes that the load reads; it needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store_256(bytes: &mut [u8; 32], lanes: __m256i) {
    // SAFETY: the array has the 32 bytes that the store writes; it needs no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), lanes) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_512(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the array has the 64 bytes that the load reads; it needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}
