//! Bit fields in and out of big-endian bytes.

/// Reads the field of `BITS` bits at bit `OFFSET` of a structure of `LEN` bytes.
///
/// All three are constants, so that this becomes one load, a byte swap and a mask: the narrowest
/// power-of-two window that holds the field and stays inside the structure.
#[inline(always)]
#[must_use]
#[allow(
    clippy::arithmetic_side_effects,
    reason = "all operands are constants that the assertion bounds"
)]
pub const fn load<const LEN: usize, const OFFSET: usize, const BITS: usize>(
    raw: &[u8; LEN],
) -> u64 {
    let window = const { Window::new(LEN, OFFSET, BITS) };
    let wide = match window.len {
        1 => chunk::<LEN, 1>(raw, window.start)[0] as u64,
        2 => u16::from_be_bytes(chunk(raw, window.start)) as u64,
        4 => u32::from_be_bytes(chunk(raw, window.start)) as u64,
        8 => u64::from_be_bytes(chunk(raw, window.start)),
        _ => bytewise(raw, window.start, window.len),
    };
    (wide >> window.shift) & const { mask(BITS) }
}

/// Writes the low `BITS` bits of `value` to the field at bit `OFFSET`; the others stay.
#[inline(always)]
#[allow(
    clippy::arithmetic_side_effects,
    reason = "all operands are constants that the assertion bounds"
)]
pub fn store<const LEN: usize, const OFFSET: usize, const BITS: usize>(
    raw: &mut [u8; LEN],
    value: u64,
) {
    let window = const { Window::new(LEN, OFFSET, BITS) };
    let keep = !(const { mask(BITS) } << window.shift);
    let bits = (value & const { mask(BITS) }) << window.shift;
    let Some(bytes) = raw.get_mut(window.start..window.start + window.len) else {
        return;
    };
    if let Ok(bytes) = <&mut [u8; 1]>::try_from(&mut *bytes) {
        bytes[0] = bytes[0] & keep as u8 | bits as u8;
    } else if let Ok(bytes) = <&mut [u8; 2]>::try_from(&mut *bytes) {
        *bytes = (u16::from_be_bytes(*bytes) & keep as u16 | bits as u16).to_be_bytes();
    } else if let Ok(bytes) = <&mut [u8; 4]>::try_from(&mut *bytes) {
        *bytes = (u32::from_be_bytes(*bytes) & keep as u32 | bits as u32).to_be_bytes();
    } else if let Ok(bytes) = <&mut [u8; 8]>::try_from(&mut *bytes) {
        *bytes = (u64::from_be_bytes(*bytes) & keep | bits).to_be_bytes();
    } else {
        let mut rest = (keep, bits);
        for byte in bytes.iter_mut().rev() {
            *byte = *byte & rest.0 as u8 | rest.1 as u8;
            rest = (rest.0 >> 8, rest.1 >> 8);
        }
    }
}

/// Reads `bits` bits at bit `offset` of `raw`; `None` past its end or for more than 64 bits.
#[inline]
#[must_use]
pub fn load_bits(raw: &[u8], offset: usize, bits: usize) -> Option<u64> {
    let (start, end, shift) = span(offset, bits)?;
    let mut wide = 0u128;
    for &byte in raw.get(start..end)? {
        wide = wide << 8 | u128::from(byte);
    }
    Some((wide >> shift) as u64 & mask(bits))
}

/// Writes the low `bits` bits of `value` at bit `offset` of `raw`; `None`, and nothing written, past
/// its end or for more than 64 bits.
#[inline]
pub fn store_bits(raw: &mut [u8], offset: usize, bits: usize, value: u64) -> Option<()> {
    let (start, end, shift) = span(offset, bits)?;
    let mut keep = !(u128::from(mask(bits)) << shift);
    let mut new = u128::from(value & mask(bits)) << shift;
    for byte in raw.get_mut(start..end)?.iter_mut().rev() {
        *byte = *byte & keep as u8 | new as u8;
        keep >>= 8;
        new >>= 8;
    }
    Some(())
}

/// First byte, one past the last byte and the bits below the field, of a field of at most 64 bits.
fn span(offset: usize, bits: usize) -> Option<(usize, usize, usize)> {
    if bits > 64 {
        return None;
    }
    let end_bit = offset.checked_add(bits)?;
    let end = end_bit.div_ceil(8);
    // `end` bytes hold `end_bit` bits: the product cannot be smaller, and overflows only where
    // `end_bit` is within 8 of the largest number, which no slice reaches.
    let shift = end.checked_mul(8)?.checked_sub(end_bit)?;
    Some((offset / 8, end, shift))
}

const fn mask(bits: usize) -> u64 {
    match bits {
        0 => 0,
        1..=64 => u64::MAX >> 64usize.wrapping_sub(bits),
        _ => u64::MAX,
    }
}

/// The bytes that are read or written to reach a field, and how far the field is from their end.
struct Window {
    start: usize,
    len: usize,
    shift: usize,
}

impl Window {
    #[allow(
        clippy::arithmetic_side_effects,
        reason = "evaluated at compile time, where an overflow is an error"
    )]
    const fn new(len: usize, offset: usize, bits: usize) -> Self {
        assert!(1 <= bits && bits <= 64, "a number has 1 to 64 bits");
        assert!(
            offset + bits <= len * 8,
            "the field ends past the structure"
        );
        let first = offset / 8;
        let end = (offset + bits).div_ceil(8);
        let wide = (end - first).next_power_of_two();
        assert!(wide <= 8, "the field touches more than 8 bytes");
        let (start, wide) = if wide > len {
            (first, end - first)
        } else if first + wide > len {
            (len - wide, wide)
        } else {
            (first, wide)
        };
        Self {
            start,
            len: wide,
            shift: (start + wide) * 8 - (offset + bits),
        }
    }
}

/// `N` bytes from `at`. The callers' windows are checked at compile time: the zeros are never seen.
#[inline(always)]
const fn chunk<const LEN: usize, const N: usize>(raw: &[u8; LEN], at: usize) -> [u8; N] {
    if let Some((_, rest)) = raw.split_at_checked(at)
        && let Some(chunk) = rest.first_chunk()
    {
        *chunk
    } else {
        [0; N]
    }
}

/// The big-endian integer of a window that is no power of two: structures of 3 bytes and the like.
#[inline(always)]
const fn bytewise<const LEN: usize>(raw: &[u8; LEN], start: usize, len: usize) -> u64 {
    let mut wide = 0;
    if let Some((_, rest)) = raw.split_at_checked(start)
        && let Some((mut bytes, _)) = rest.split_at_checked(len)
    {
        while let [first, rest @ ..] = bytes {
            wide = wide << 8 | *first as u64;
            bytes = rest;
        }
    }
    wide
}
