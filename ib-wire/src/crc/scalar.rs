//! What a processor that this crate has no kernel for answers: nothing, so that tables do the work.

use super::{constants::Constants, mask::Mask};

/// `None`: no kernel.
#[inline(always)]
pub(super) fn update<const N: usize, const MASKED: bool>(
    _registers: [u32; N],
    _constants: [&'static Constants; N],
    _data: &[u8],
    _mask: &Mask,
) -> Option<[u32; N]> {
    None
}

/// `None`: no kernel.
#[inline(always)]
pub(super) fn update_variant(
    _register: u32,
    _constants: &'static Constants,
    _data: &[u8],
) -> Option<u32> {
    None
}

/// `None`: no kernel, and nothing copied.
#[inline(always)]
pub(super) fn copy_and_update_both(
    _registers: [u32; 2],
    _constants: [&'static Constants; 2],
    _parts: [&[u8]; 2],
    _mask: &Mask,
    _to: &mut [u8],
) -> Option<[u32; 2]> {
    None
}

/// `None`: no kernel.
#[inline(always)]
pub(super) fn update_both(
    _registers: [u32; 2],
    _constants: [&'static Constants; 2],
    _data: &[u8],
    _mask: &Mask,
) -> Option<[u32; 2]> {
    None
}

/// `None`: no carry-less multiplication.
#[inline(always)]
pub(super) fn multiply(_a: u32, _b: u32, _constants: &Constants) -> Option<u32> {
    None
}

/// No kernel.
#[cfg(test)]
pub(super) fn update_all<const N: usize>(
    _registers: [u32; N],
    _constants: [&'static Constants; N],
    _data: &[u8],
    _mask: &Mask,
) -> Vec<(usize, [u32; N])> {
    Vec::new()
}
