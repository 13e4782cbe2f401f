//! The types that a row of a layout table may have.

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{FieldKind, load, load_bits, store, store_bits};

/// A number of up to 64 bits with a type of its own: integers, flags, code points, addresses, keys.
///
/// Implement it for a newtype, and the type can be used in a row of [`wire_struct!`](crate::wire_struct).
pub trait FieldValue: Copy {
    /// The value of the field's bits. Never fails: what hardware may send can be represented.
    fn from_bits(bits: u64) -> Self;

    /// The bits of the value; the field keeps the low ones.
    fn to_bits(self) -> u64;
}

/// The type of a row: a [`FieldValue`], a GID, or a structure declared by
/// [`wire_struct!`](crate::wire_struct).
pub trait Row {
    /// The type that the getter returns: the value, or a reference to the structure.
    type View<'a>;
    /// The type that the setter takes.
    type Input<'a>;
    /// Kind of value of the bits.
    const KIND: FieldKind;

    /// Reads the field at bit `OFFSET`.
    fn get<const LEN: usize, const OFFSET: usize, const BITS: usize>(
        raw: &[u8; LEN],
    ) -> Self::View<'_>;

    /// Writes the field at bit `OFFSET`.
    fn set<const LEN: usize, const OFFSET: usize, const BITS: usize>(
        raw: &mut [u8; LEN],
        value: Self::Input<'_>,
    );

    /// Reads an element of an array; `None` past the end of `raw`.
    fn element(raw: &[u8], bit_offset: usize, bits: usize) -> Option<Self::View<'_>>;

    /// Writes an element of an array; `None` past the end of `raw`.
    fn set_element(
        raw: &mut [u8],
        bit_offset: usize,
        bits: usize,
        value: Self::Input<'_>,
    ) -> Option<()>;
}

impl<T: FieldValue> Row for T {
    type View<'a> = T;
    type Input<'a> = T;
    const KIND: FieldKind = FieldKind::Uint;

    #[inline(always)]
    fn get<const LEN: usize, const OFFSET: usize, const BITS: usize>(raw: &[u8; LEN]) -> T {
        T::from_bits(load::<LEN, OFFSET, BITS>(raw))
    }

    #[inline(always)]
    fn set<const LEN: usize, const OFFSET: usize, const BITS: usize>(
        raw: &mut [u8; LEN],
        value: T,
    ) {
        store::<LEN, OFFSET, BITS>(raw, value.to_bits());
    }

    #[inline]
    fn element(raw: &[u8], bit_offset: usize, bits: usize) -> Option<T> {
        load_bits(raw, bit_offset, bits).map(T::from_bits)
    }

    #[inline]
    fn set_element(raw: &mut [u8], bit_offset: usize, bits: usize, value: T) -> Option<()> {
        store_bits(raw, bit_offset, bits, value.to_bits())
    }
}

impl FieldValue for bool {
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        bits != 0
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.into()
    }
}

macro_rules! integers {
    ($($int:ident)*) => {$(
        impl FieldValue for $int {
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }

            #[inline(always)]
            fn to_bits(self) -> u64 {
                self as u64
            }
        }
    )*};
}

integers!(u8 u16 u32 u64);

/// Makes a type of `bitflags` a [`FieldValue`]: bits without a name are kept.
#[macro_export]
macro_rules! flags_value {
    ($($flags:ty: $bits:ty),* $(,)?) => {$(
        impl $crate::table::FieldValue for $flags {
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                Self::from_bits_retain(bits as $bits)
            }

            #[inline(always)]
            fn to_bits(self) -> u64 {
                self.bits().into()
            }
        }
    )*};
}

/// `N` bytes of text that ends at the first NUL, or fills the field.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, Unaligned, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct Text<const N: usize>(pub [u8; N]);

impl<const N: usize> Text<N> {
    /// The text of `text`, cut at `N` bytes, the rest filled with NUL.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut bytes = [0; N];
        for (to, &from) in bytes.iter_mut().zip(text.as_bytes()) {
            *to = from;
        }
        Self(bytes)
    }

    /// The bytes before the first NUL.
    #[must_use]
    pub fn text_bytes(&self) -> &[u8] {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(N);
        self.0.get(..end).unwrap_or(&self.0)
    }

    /// The text, if it is UTF-8. [`Display`](fmt::Display) prints any text.
    #[must_use]
    pub fn to_str(&self) -> Option<&str> {
        core::str::from_utf8(self.text_bytes()).ok()
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.text_bytes().utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_str("\u{fffd}")?;
            }
        }
        Ok(())
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// The `N` bytes at bit `OFFSET`.
#[doc(hidden)]
#[inline(always)]
#[must_use]
#[allow(
    clippy::arithmetic_side_effects,
    reason = "evaluated at compile time, where an overflow is an error"
)]
pub const fn bytes_row<const LEN: usize, const OFFSET: usize, const N: usize>(
    raw: &[u8; LEN],
) -> &[u8; N] {
    const { assert!(OFFSET.is_multiple_of(8) && OFFSET / 8 + N <= LEN) };
    if let Some((_, rest)) = raw.split_at_checked(OFFSET / 8)
        && let Some(bytes) = rest.first_chunk()
    {
        bytes
    } else {
        // The assertion rules this branch out.
        const { &[0; N] }
    }
}

/// Writes the `N` bytes at bit `OFFSET`.
#[doc(hidden)]
#[inline(always)]
#[allow(
    clippy::arithmetic_side_effects,
    reason = "evaluated at compile time, where an overflow is an error"
)]
pub fn set_bytes_row<const LEN: usize, const OFFSET: usize, const N: usize>(
    raw: &mut [u8; LEN],
    bytes: &[u8; N],
) {
    const { assert!(OFFSET.is_multiple_of(8) && OFFSET / 8 + N <= LEN) };
    if let Some(to) = raw
        .get_mut(OFFSET / 8..)
        .and_then(|rest| rest.first_chunk_mut())
    {
        *to = *bytes;
    }
}
