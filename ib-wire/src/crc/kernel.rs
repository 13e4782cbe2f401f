//! One kernel for both CRCs: the fastest that the processor has.

use super::{
    Generator, Invariant, Processor, Variant, constants, mask::Mask, portable, sealed::Sealed as _,
    vector::Vector,
};

/// The register after `bytes`.
#[inline]
pub(super) fn update<G: Generator>(register: u32, bytes: &[u8]) -> u32 {
    if G::LEN == Variant::LEN
        && let Some(register) = Processor::update_variant(register, G::CONSTANTS, bytes)
    {
        return register;
    }
    if let Some([register]) =
        Processor::update::<1, false>([register], [G::CONSTANTS], bytes, &Mask::NOTHING)
    {
        return register;
    }
    portable::update::<G>(register, bytes)
}

/// The ICRC's register after `bytes`, the first of which are first ORed with those of `mask`.
#[inline]
pub(super) fn update_masked(register: u32, bytes: &[u8], mask: &Mask) -> u32 {
    if let Some([register]) =
        Processor::update::<1, true>([register], [Invariant::CONSTANTS], bytes, mask)
    {
        return register;
    }
    let (masked, len) = mask.apply(bytes);
    let register = portable::update::<Invariant>(register, masked.get(..len).unwrap_or_default());
    portable::update::<Invariant>(register, bytes.get(len..).unwrap_or_default())
}

/// Both registers after `bytes`, in one pass where the processor can; only the ICRC is masked.
#[inline]
pub(super) fn update_both(registers: [u32; 2], bytes: &[u8], mask: &Mask) -> [u32; 2] {
    if let Some(registers) = Processor::update_both(registers, CONSTANTS, bytes, mask) {
        return registers;
    }
    let [invariant, variant] = registers;
    [
        update_masked(invariant, bytes, mask),
        portable::update::<Variant>(variant, bytes),
    ]
}

/// As [`update_both`] of `bytes` once `payload` is in them, from `at` on, where the headers end; the
/// same pass copies it there.
///
/// The mask does not reach into the payload. Bytes past it, the pad, are there already. Nothing is
/// copied if the payload does not fit.
#[inline]
pub(super) fn copy_and_update_both(
    registers: [u32; 2],
    bytes: &mut [u8],
    at: usize,
    payload: &[u8],
    mask: &Mask,
) -> [u32; 2] {
    if let Some((headers, rest)) = bytes.split_at_mut_checked(at)
        && let Some((to, pad)) = rest.split_at_mut_checked(payload.len())
    {
        let parts = [headers, payload];
        if let Some(registers) =
            Processor::copy_and_update_both(registers, CONSTANTS, parts, mask, to)
        {
            let [invariant, variant] = registers;
            return match pad {
                [] => registers,
                pad => [
                    portable::update::<Invariant>(invariant, pad),
                    portable::update::<Variant>(variant, pad),
                ],
            };
        }
        to.copy_from_slice(payload);
    }
    update_both(registers, bytes, mask)
}

/// Of both generators.
const CONSTANTS: [&constants::Constants; 2] = [Invariant::CONSTANTS, Variant::CONSTANTS];

/// The register after `len` zero bytes, in time logarithmic in `len`.
pub(super) fn shift<G: Generator>(register: u32, len: usize) -> u32 {
    let mut register = register;
    let mut left = len;
    for &power in &G::CONSTANTS.powers {
        if left & 1 != 0 {
            register = multiply::<G>(register, power);
        }
        left >>= 1;
        if left == 0 {
            break;
        }
    }
    register
}

/// The product of two polynomials modulo the generator; bit 31 is x^0.
#[inline]
fn multiply<G: Generator>(a: u32, b: u32) -> u32 {
    if let Some(product) = Processor::multiply(a, b, G::CONSTANTS) {
        return product;
    }
    constants::multiply(G::REFLECTED, a, b)
}
