//! Ones to be ORed to the first bytes of a packet.

/// Up to 64 bytes to be ORed to the first ones of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mask {
    /// Zeros follow the 64 bytes, so that any 16 bytes from 0..=64 can be taken.
    bytes: [u8; 80],
}

impl Mask {
    /// Changes nothing.
    pub(super) const NOTHING: Self = Self { bytes: [0; 80] };

    /// With these bits in the byte at `at` too.
    #[allow(
        clippy::indexing_slicing,
        reason = "evaluated at compile time, where a fault is an error"
    )]
    pub(super) const fn bits(mut self, at: usize, bits: u8) -> Self {
        assert!(at < 64);
        self.bytes[at] |= bits;
        self
    }

    /// With all bits of the `len` bytes from `start` too.
    #[allow(
        clippy::arithmetic_side_effects,
        reason = "evaluated at compile time, where an overflow is an error"
    )]
    pub(super) const fn ones(mut self, start: usize, len: usize) -> Self {
        let mut at = start;
        while at < start + len {
            self = self.bits(at, 0xff);
            at += 1;
        }
        self
    }

    /// The 64 bytes in parts of `N`.
    #[inline(always)]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(super) fn chunks<const N: usize>(&self) -> &[[u8; N]] {
        let (first, _) = self.bytes.split_at(64);
        first.as_chunks().0
    }

    /// The 16 bytes from `start`; zeros past the mask.
    #[inline(always)]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(super) fn at(&self, start: usize) -> &[u8; 16] {
        let rest = self.bytes.get(start.min(64)..);
        rest.and_then(|rest| rest.first_chunk())
            .unwrap_or(const { &[0; 16] })
    }

    /// The bits of one byte; none past the mask.
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The first bytes of `bytes`, at most 64, with the mask ORed, and how many they are.
    #[inline]
    pub(super) fn apply(&self, bytes: &[u8]) -> ([u8; 64], usize) {
        let mut masked = [0; 64];
        for ((to, from), mask) in masked.iter_mut().zip(bytes).zip(self.bytes) {
            *to = from | mask;
        }
        (masked, bytes.len().min(64))
    }
}
