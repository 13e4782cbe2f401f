//! Both CRCs by carry-less multiplication on x86-64: 128, 256 or 512 bits at a time.
//!
//! A kernel folds the data into 128 bits that have the same CRC, and reduces these. It carries as many
//! sums as it is given registers, so that ICRC and VCRC take one pass. Only the first 64 bytes of the
//! first sum are masked. The unsafe code of this file calls kernels after the check that the processor
//! has what they need; that of `lane` loads from arrays of the right length.
#![allow(unsafe_code, reason = "calls of kernels that need an instruction set")]

mod bits_128;
mod bits_256;
mod bits_512;
mod both;
mod lane;
mod variant;

use core::arch::x86_64::*;

use self::{
    bits_128::update_128, bits_256::update_256, bits_512::update_512, both::both_256,
    variant::variant_256,
};
use super::{constants::Constants, mask::Mask, vector::Vector};

/// The kernels of an x86-64.
pub(super) struct Processor;

impl Vector for Processor {
    #[inline]
    fn update<const N: usize, const MASKED: bool>(
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

    #[inline]
    fn update_variant(register: u32, constants: &'static Constants, data: &[u8]) -> Option<u32> {
        if data.len() < 1024 || !has_256() {
            return None;
        }
        // SAFETY: `has_256` checked for every feature that the kernel enables.
        Some(unsafe { variant_256(register, constants, data) })
    }

    #[inline]
    fn update_both(
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
            let both = unsafe { both_256::<false>(registers, constants, parts, mask, &mut []) };
            if both.is_some() {
                return both;
            }
        }
        Self::update::<2, true>(registers, constants, data, mask)
    }

    #[inline]
    fn copy_and_update_both(
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
        unsafe { both_256::<true>(registers, constants, parts, mask, to) }
    }

    #[inline]
    fn multiply(a: u32, b: u32, constants: &Constants) -> Option<u32> {
        if !has_128() {
            return None;
        }
        // SAFETY: `has_128` checked for every feature that the function enables.
        Some(unsafe { multiply_128(a, b, constants) })
    }

    #[cfg(test)]
    fn update_all<const N: usize>(
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
}

/// True if all features are there: found at run time with `std`, else by the target features of the build.
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

#[target_feature(enable = "pclmulqdq,sse4.1")]
fn multiply_128(a: u32, b: u32, constants: &Constants) -> u32 {
    let a = _mm_cvtsi64_si128(i64::from(a) << 1);
    let b = _mm_cvtsi64_si128(i64::from(b));
    let product = _mm_clmulepi64_si128::<0x00>(a, b);
    lane::barrett(_mm_slli_si128::<4>(product), constants)
}
