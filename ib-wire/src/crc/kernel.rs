//! One kernel for both CRCs: the fastest that the processor has.

use super::{Generator, portable};

/// The register after `bytes`.
#[inline]
pub(crate) fn update<G: Generator>(register: u32, bytes: &[u8]) -> u32 {
    portable::update::<G>(register, bytes)
}

/// The register after `bytes`, the first of which are first ORed with those of `mask`.
#[inline]
pub(crate) fn update_masked<G: Generator>(register: u32, bytes: &[u8], mask: &[u8; 64]) -> u32 {
    let (head, tail) = bytes.split_at(bytes.len().min(64));
    let mut masked = [0; 64];
    for ((to, from), mask) in masked.iter_mut().zip(head).zip(mask) {
        *to = from | mask;
    }
    let masked = masked.get(..head.len()).unwrap_or_default();
    update::<G>(update::<G>(register, masked), tail)
}

/// The register after `len` zero bytes, in time logarithmic in `len`.
pub(crate) fn shift<G: Generator>(register: u32, len: usize) -> u32 {
    let mut register = register;
    let mut power = 0x0080_0000u32; // x^8
    let mut left = len;
    while left != 0 {
        if left & 1 != 0 {
            register = multiply::<G>(register, power);
        }
        power = multiply::<G>(power, power);
        left >>= 1;
    }
    register
}

/// The product of two polynomials modulo the generator; bit 31 is x^0.
const fn multiply<G: Generator>(a: u32, b: u32) -> u32 {
    let mut product = 0;
    let mut a = a;
    let mut b = b;
    while a != 0 {
        if a & 0x8000_0000 != 0 {
            product ^= b;
        }
        a <<= 1;
        b = (b >> 1) ^ (G::REFLECTED & (b & 1).wrapping_neg());
    }
    product
}
