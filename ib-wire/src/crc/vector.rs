//! Operations of a processor's vector unit that the CRC kernels use.

use super::{constants::Constants, mask::Mask};

/// The kernels of one processor architecture.
///
/// Each says `None` where it has nothing better than what the caller does without it: the processor
/// lacks an instruction, or the data is too short to pay.
pub(super) trait Vector {
    /// The registers after `data`.
    ///
    /// The first sum takes the bytes of `mask` ORed to the first ones of `data`, if `MASKED`.
    fn update<const N: usize, const MASKED: bool>(
        registers: [u32; N],
        constants: [&'static Constants; N],
        data: &[u8],
        mask: &Mask,
    ) -> Option<[u32; N]>;

    /// The VCRC's register after `data`, faster than [`update`](Self::update).
    #[inline(always)]
    fn update_variant(_register: u32, _constants: &'static Constants, _data: &[u8]) -> Option<u32> {
        None
    }

    /// The registers of ICRC and VCRC after `data`, in one pass that shares what both need; only the
    /// ICRC is masked.
    #[inline(always)]
    fn update_both(
        registers: [u32; 2],
        constants: [&'static Constants; 2],
        data: &[u8],
        mask: &Mask,
    ) -> Option<[u32; 2]> {
        Self::update::<2, true>(registers, constants, data, mask)
    }

    /// Both registers after `headers` and `payload`, in one pass that also copies `payload` to `to`;
    /// with `None` nothing is copied.
    ///
    /// The ICRC takes the bytes of `mask` ORed to the first ones of `headers`, which hold all the mask.
    #[inline(always)]
    fn copy_and_update_both(
        _registers: [u32; 2],
        _constants: [&'static Constants; 2],
        _parts: [&[u8]; 2],
        _mask: &Mask,
        _to: &mut [u8],
    ) -> Option<[u32; 2]> {
        None
    }

    /// The product of two polynomials modulo the generator; bit 31 is x^0.
    fn multiply(a: u32, b: u32, constants: &Constants) -> Option<u32>;

    /// The registers by every kernel that the processor has, and how many bits that one takes at a
    /// time.
    #[cfg(test)]
    fn update_all<const N: usize>(
        registers: [u32; N],
        constants: [&'static Constants; N],
        data: &[u8],
        mask: &Mask,
    ) -> Vec<(usize, [u32; N])>;
}
