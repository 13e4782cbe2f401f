//! Both CRCs by carry-less multiplication on AArch64: 128 bits at a time.
//!
//! The same method as on x86-64, in the steps that NEON has: four lanes of 128 bits are folded over
//! the data, joined, and reduced. Only the first 64 bytes of the first sum are masked.
#![allow(
    unsafe_code,
    reason = "vector loads, and kernels that need an instruction set"
)]

use core::arch::aarch64::*;

use super::{constants::Constants, mask::Mask, vector::Vector};

/// The kernels of an AArch64.
pub(super) struct Processor;

impl Vector for Processor {
    #[inline]
    fn update<const N: usize, const MASKED: bool>(
        registers: [u32; N],
        constants: [&'static Constants; N],
        data: &[u8],
        mask: &Mask,
    ) -> Option<[u32; N]> {
        if data.len() < 16 || !has_pmull() {
            return None;
        }
        // SAFETY: `has_pmull` checked for every feature that the kernel enables.
        Some(unsafe { update_128::<N, MASKED>(registers, constants, data, mask) })
    }

    #[inline]
    fn multiply(a: u32, b: u32, constants: &Constants) -> Option<u32> {
        if !has_pmull() {
            return None;
        }
        // SAFETY: `has_pmull` checked for every feature that the function enables.
        Some(unsafe { multiply_128(a, b, constants) })
    }

    #[cfg(test)]
    fn update_all<const N: usize>(
        registers: [u32; N],
        constants: [&'static Constants; N],
        data: &[u8],
        mask: &Mask,
    ) -> Vec<(usize, [u32; N])> {
        let all = Self::update::<N, true>(registers, constants, data, mask);
        all.map(|registers| (128, registers)).into_iter().collect()
    }
}

/// Returns true if the processor multiplies without carry: found at run time with `std`, else by the target
/// features of the build.
#[inline]
fn has_pmull() -> bool {
    #[cfg(feature = "std")]
    {
        std::arch::is_aarch64_feature_detected!("pmull")
            && std::arch::is_aarch64_feature_detected!("aes")
    }
    #[cfg(not(feature = "std"))]
    {
        cfg!(target_feature = "aes")
    }
}

#[target_feature(enable = "neon,aes")]
fn update_128<const N: usize, const MASKED: bool>(
    registers: [u32; N],
    constants: [&'static Constants; N],
    data: &[u8],
    mask: &Mask,
) -> [u32; N] {
    let mut masks = mask.chunks::<16>().iter();
    let masked = |index: usize, lane: uint8x16_t, mask: &[u8; 16]| {
        if MASKED && index == 0 {
            vorrq_u8(lane, load(mask))
        } else {
            lane
        }
    };
    let mut lanes = [vdupq_n_u8(0); N];
    let (blocks, tail) = data.as_chunks::<16>();
    let mut rest = blocks;
    if let Some((first, after)) = blocks.split_first_chunk::<4>() {
        let mut sums = [first.map(|block| load(&block)); N];
        for (index, (sum, register)) in sums.iter_mut().zip(registers).enumerate() {
            for (lane, mask) in sum.iter_mut().zip(mask.chunks::<16>()) {
                *lane = masked(index, *lane, mask);
            }
            let [lane, ..] = sum;
            *lane = veorq_u8(*lane, widen(register));
        }
        let (fours, after) = after.as_chunks::<4>();
        for four in fours {
            let four = four.map(|block| load(&block));
            for (sum, constants) in sums.iter_mut().zip(constants) {
                for (lane, data) in sum.iter_mut().zip(four) {
                    *lane = veorq_u8(fold(*lane, &constants.fold[3]), data);
                }
            }
        }
        for ((lane, [a, b, c, d]), constants) in lanes.iter_mut().zip(sums).zip(constants) {
            let ab = veorq_u8(fold(a, &constants.fold[2]), fold(b, &constants.fold[1]));
            *lane = veorq_u8(ab, veorq_u8(fold(c, &constants.fold[0]), d));
        }
        masks = [].iter();
        rest = after;
    } else if let Some((first, after)) = blocks.split_first() {
        let mask = masks.next().unwrap_or(const { &[0; 16] });
        for (index, (lane, register)) in lanes.iter_mut().zip(registers).enumerate() {
            *lane = veorq_u8(masked(index, load(first), mask), widen(register));
        }
        rest = after;
    }
    for block in rest {
        let mask = masks.next().unwrap_or(const { &[0; 16] });
        for (index, (lane, constants)) in lanes.iter_mut().zip(constants).enumerate() {
            let block = masked(index, load(block), mask);
            *lane = veorq_u8(fold(*lane, &constants.fold[0]), block);
        }
    }
    if !tail.is_empty()
        && let Some(last) = data.last_chunk()
    {
        let mask = mask.at(data.len().wrapping_sub(16));
        for (index, (lane, constants)) in lanes.iter_mut().zip(constants).enumerate() {
            *lane = fold_tail(
                *lane,
                masked(index, load(last), mask),
                tail.len(),
                constants,
            );
        }
    }
    let mut sums = [0; N];
    for ((sum, lane), constants) in sums.iter_mut().zip(lanes).zip(constants) {
        *sum = reduce(lane, constants);
    }
    sums
}

/// The lane and 1..=15 more bytes, the end of `last`, become one lane.
#[target_feature(enable = "neon,aes")]
#[inline]
fn fold_tail(lane: uint8x16_t, last: uint8x16_t, tail: usize, constants: &Constants) -> uint8x16_t {
    // For an index beyond the table the look-up returns zero.
    let places = load(const { &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] });
    let tail = vdupq_n_u8(tail as u8);
    let up = vsubq_u8(places, vsubq_u8(vdupq_n_u8(16), tail));
    let down = vaddq_u8(places, tail);
    let head = vqtbl1q_u8(lane, up);
    let is_old = vcltq_u8(down, vdupq_n_u8(16));
    let rest = vbslq_u8(is_old, vqtbl1q_u8(lane, down), last);
    veorq_u8(fold(head, &constants.fold[0]), rest)
}

/// Moves a lane.
#[target_feature(enable = "neon,aes")]
#[inline]
fn fold(lane: uint8x16_t, &[low, high]: &[u64; 2]) -> uint8x16_t {
    let lane = vreinterpretq_u64_u8(lane);
    let low = vmull_p64(vgetq_lane_u64::<0>(lane), low);
    let high = vmull_p64(vgetq_lane_u64::<1>(lane), high);
    veorq_u8(vreinterpretq_u8_p128(low), vreinterpretq_u8_p128(high))
}

/// The register that 128 bits leave.
#[target_feature(enable = "neon,aes")]
#[inline]
fn reduce(lane: uint8x16_t, constants: &Constants) -> u32 {
    let lane = vreinterpretq_u64_u8(lane);
    let (low, high) = (vgetq_lane_u64::<0>(lane), vgetq_lane_u64::<1>(lane));
    barrett(
        vmull_p64(low, constants.to_96) ^ u128::from(high),
        constants,
    )
}

/// The remainder of 96 bits; bit 95 is x^0.
#[target_feature(enable = "neon,aes")]
#[inline]
fn barrett(bits_96: u128, constants: &Constants) -> u32 {
    let quotient = vmull_p64(bits_96 as u64, constants.quotient);
    let product = vmull_p64(quotient as u64, constants.generator);
    ((product ^ bits_96) >> 64) as u32
}

#[target_feature(enable = "neon,aes")]
fn multiply_128(a: u32, b: u32, constants: &Constants) -> u32 {
    barrett(vmull_p64(u64::from(a) << 1, u64::from(b)) << 32, constants)
}

/// A register in the first bytes of a lane.
#[target_feature(enable = "neon")]
#[inline]
fn widen(register: u32) -> uint8x16_t {
    vreinterpretq_u8_u32(vsetq_lane_u32::<0>(register, vdupq_n_u32(0)))
}

#[target_feature(enable = "neon")]
#[inline]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: the array has the 16 bytes that the load reads; it needs no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}
