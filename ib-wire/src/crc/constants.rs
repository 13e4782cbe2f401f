//! Constants of carry-less multiplication, computed from the generator.
//!
//! Polynomials are reflected: the lowest bit of a word is the highest power. A product of a 64-bit
//! polynomial and a constant then comes out multiplied by x^32, which the exponents below make up for.
//! Source of the method: Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
//! Instruction", Intel, 2009; the reduction in three multiplications is a Barrett reduction of 96
//! bits by 64.

/// Constants of a generator that the folding kernels need.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "other processors use tables")
)]
pub struct Constants {
    /// `fold[n]` moves 128 bits by `16 * (n + 1)` bytes: for the low and the high half.
    pub(super) fold: [[u64; 2]; 16],
    /// Reduces 128 bits to 96.
    pub(super) to_96: u64,
    /// The quotient of x^96 by the generator.
    pub(super) quotient: u64,
    /// Generator polynomial, as the multiplication needs it.
    pub(super) generator: u64,
    /// `powers[n]` is x^(8 * 2^n), a move by 2^n bytes; bit 31 is x^0.
    pub(super) powers: [u32; 64],
}

impl Constants {
    #[allow(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "evaluated at compile time, where a fault is an error"
    )]
    pub(super) const fn new(reflected: u32) -> Self {
        let mut fold = [[0; 2]; 16];
        let mut n = 0;
        while n < 16 {
            let bits = 128 * (n as u32 + 1);
            fold[n] = [
                power(reflected, bits + 32) << 1,
                power(reflected, bits - 32) << 1,
            ];
            n += 1;
        }
        let mut powers = [0x0080_0000; 64];
        let mut n = 1;
        while n < 64 {
            powers[n] = multiply(reflected, powers[n - 1], powers[n - 1]);
            n += 1;
        }
        Self {
            powers,
            fold,
            to_96: power(reflected, 96) << 1,
            quotient: quotient(reflected),
            generator: (reflected as u64) << 1 | 1,
        }
    }
}

/// As [`Constants::fold`], modulo the product of both generators: what this folds has both CRCs.
#[cfg(target_arch = "x86_64")]
pub(super) static PRODUCT: [[u64; 2]; 8] = product(16);

/// `PRODUCT_BLOCKS[n]` moves 128 bits by `128 * (n + 1)` bytes, modulo the product of both generators:
/// as far as the longest packet of a link goes.
#[cfg(target_arch = "x86_64")]
pub(super) static PRODUCT_BLOCKS: [[u64; 2]; 64] = product(128);

/// Moves by 1, 2... `N` times `bytes`, at least 16, for the low and the high half of 128 bits.
///
/// The product has degree 48, so a product of 64 bits and a constant comes out multiplied by x^16.
#[cfg(target_arch = "x86_64")]
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "evaluated at compile time, where a fault is an error"
)]
const fn product<const N: usize>(bytes: usize) -> [[u64; 2]; N] {
    use super::{Generator, Invariant, Variant};
    let invariant = 1u64 << 32 | Invariant::REFLECTED.reverse_bits() as u64;
    // The VCRC's in its own 16 bits.
    let variant = 1u64 << 16 | (Variant::REFLECTED << 16).reverse_bits() as u64;
    let mut generator = 0;
    let mut bit = 0;
    while bit <= 16 {
        generator ^= (invariant << bit) * (variant >> bit & 1);
        bit += 1;
    }
    // Without x^48; bit 47 is x^0.
    let reflected = generator.reverse_bits() >> 16 & 0xffff_ffff_ffff;
    let mut fold = [[0; 2]; N];
    let (mut power, mut exponent) = (1u64 << 47, 0);
    let mut n = 0;
    while n < N {
        let bits = 8 * bytes * (n + 1);
        let mut half = 2;
        while half > 0 {
            half -= 1;
            let wanted = if half == 0 { bits + 48 } else { bits - 16 };
            while exponent < wanted {
                power = (power >> 1) ^ (reflected & (power & 1).wrapping_neg());
                exponent += 1;
            }
            fold[n][half] = power << 1;
        }
        n += 1;
    }
    fold
}

/// x^`exponent` modulo the generator; bit 31 is x^0.
#[allow(
    clippy::arithmetic_side_effects,
    reason = "evaluated at compile time, where a fault is an error"
)]
const fn power(reflected: u32, exponent: u32) -> u64 {
    let mut power = 0x8000_0000u32;
    let mut left = exponent;
    while left > 0 {
        power = (power >> 1) ^ (reflected & (power & 1).wrapping_neg());
        left -= 1;
    }
    power as u64
}

/// The quotient of x^96 by the generator without its x^0: bit 0 is x^64, bit 63 is x^1.
#[allow(
    clippy::arithmetic_side_effects,
    reason = "evaluated at compile time, where a fault is an error"
)]
const fn quotient(reflected: u32) -> u64 {
    let generator = 1u128 << 32 | reflected.reverse_bits() as u128;
    let mut rest = 1u128 << 96;
    let mut quotient = 0u64;
    let mut power = 64;
    while power > 0 {
        if rest >> (power + 32) & 1 == 1 {
            rest ^= generator << power;
            quotient |= 1 << (64 - power);
        }
        power -= 1;
    }
    quotient
}

/// The product of two polynomials modulo the generator; bit 31 is x^0.
pub(super) const fn multiply(reflected: u32, a: u32, b: u32) -> u32 {
    let mut product = 0;
    let mut a = a;
    let mut b = b;
    while a != 0 {
        if a & 0x8000_0000 != 0 {
            product ^= b;
        }
        a <<= 1;
        b = (b >> 1) ^ (reflected & (b & 1).wrapping_neg());
    }
    product
}
