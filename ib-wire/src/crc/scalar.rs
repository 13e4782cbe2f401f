//! A processor that this crate has no kernel for: tables do the work.

use super::{constants::Constants, mask::Mask, vector::Vector};

/// Offers nothing.
pub(super) struct Processor;

impl Vector for Processor {
    #[inline(always)]
    fn update<const N: usize, const MASKED: bool>(
        _registers: [u32; N],
        _constants: [&'static Constants; N],
        _data: &[u8],
        _mask: &Mask,
    ) -> Option<[u32; N]> {
        None
    }

    #[inline(always)]
    fn multiply(_a: u32, _b: u32, _constants: &Constants) -> Option<u32> {
        None
    }

    #[cfg(test)]
    fn update_all<const N: usize>(
        _registers: [u32; N],
        _constants: [&'static Constants; N],
        _data: &[u8],
        _mask: &Mask,
    ) -> Vec<(usize, [u32; N])> {
        Vec::new()
    }
}
