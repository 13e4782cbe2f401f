//! Places of numbers, each read by one load: of whole bytes, of a byte that holds all of a number, else of eight bytes.

use ib_wire::table::Field;

/// The place of a number inside a byte: those above `shift` of the byte at `start`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InByte {
    pub(crate) start: u32,
    pub(crate) shift: u8,
    pub(crate) mask: u8,
}

impl InByte {
    /// The place of `field`; `None` if it is in several bytes.
    pub(crate) fn of(field: &Field) -> Option<Self> {
        let after = 8usize.checked_sub(field.bit_offset % 8 + field.bits)?;
        Some(Self {
            start: (field.bit_offset / 8) as u32,
            shift: after as u8,
            mask: u8::MAX >> (8 - field.bits.clamp(1, 8)),
        })
    }

    /// The number in the structure of `bytes`; zero after the end.
    #[inline(always)]
    pub(crate) fn load(self, bytes: &[u8]) -> u8 {
        let byte = bytes.get(self.start as usize).copied().unwrap_or(0);
        (u32::from(byte) >> (self.shift % 32)) as u8 & self.mask
    }
}

/// The place of a number of up to 32 bits: those above `shift` of the eight bytes from `start`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) start: u32,
    pub(crate) mask: u32,
    pub(crate) shift: u8,
}

impl Window {
    /// The place of `field`, of up to 32 bits, in a structure of `len` bytes.
    pub(crate) fn of(field: &Field, len: usize) -> Self {
        let first = field.bit_offset / 8;
        // The eight bytes stay within the structure, if it has so many: fewer take longer to load.
        let start = first.min(len.saturating_sub(8));
        let before = field.bit_offset - 8 * start;
        Self {
            start: start as u32,
            mask: u32::MAX >> (32 - field.bits.clamp(1, 32)),
            shift: (64 - before - field.bits) as u8,
        }
    }

    /// The number in the structure of `bytes`.
    #[inline(always)]
    pub(crate) fn load(self, bytes: &[u8]) -> u32 {
        let window = u64::from_be_bytes(eight_bytes(bytes, self.start as usize));
        (window >> self.shift) as u32 & self.mask
    }
}

/// The place of a number of `N` whole bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole<const N: usize> {
    pub(crate) start: u32,
}

impl<const N: usize> Whole<N> {
    /// The place of `field`; `None` if it has other bits.
    pub(crate) fn of(field: &Field) -> Option<Self> {
        let is_whole = field.bits == 8 * N && field.bit_offset.is_multiple_of(8);
        is_whole.then_some(Self {
            start: (field.bit_offset / 8) as u32,
        })
    }

    /// The bytes in the structure of `bytes`; zeros after its end.
    #[inline(always)]
    pub(crate) fn load(self, bytes: &[u8]) -> &[u8; N] {
        let start = self.start as usize;
        let whole = bytes.get(start..start + N);
        whole.and_then(<[u8]>::first_chunk).unwrap_or(&[0; N])
    }
}

/// The eight bytes from `start`, zeros after the end.
#[inline(always)]
fn eight_bytes(bytes: &[u8], start: usize) -> [u8; 8] {
    let window = bytes.get(start..start + 8);
    match window.and_then(|window| window.first_chunk()) {
        Some(window) => *window,
        None => near_the_end(bytes, start),
    }
}

/// As [`eight_bytes`], where there are less.
#[inline(never)]
fn near_the_end(bytes: &[u8], start: usize) -> [u8; 8] {
    let mut window = [0; 8];
    let rest = bytes.get(start..).unwrap_or_default();
    for (to, &byte) in window.iter_mut().zip(rest) {
        *to = byte;
    }
    window
}
