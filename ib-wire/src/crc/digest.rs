//! A CRC over bytes that come in pieces, and CRCs put together.

use super::{
    Generator, Invariant, Variant,
    kernel::{self, update},
};

/// Running CRC of the ICRC's generator; nothing is masked.
pub type Icrc = Digest<Invariant>;
/// Running CRC of the VCRC's generator.
pub type Vcrc = Digest<Variant>;

/// A running CRC: bytes in, in pieces as they come, four or two bytes out.
///
/// ```
/// use ib_wire::crc::Icrc;
/// let whole = Icrc::new().update(b"123456789");
/// assert_eq!(whole.wire(), [0x26, 0x39, 0xf4, 0xcb]);
/// // The parts of a packet may be summed apart and put together.
/// let (head, tail) = (Icrc::new().update(b"1234"), Icrc::new().update(b"56789"));
/// assert_eq!(head.combine(tail, 5), whole);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest<G> {
    register: u32,
    generator: core::marker::PhantomData<G>,
}

impl<G: Generator> Digest<G> {
    /// The CRC of no bytes.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self::at(G::START)
    }

    #[inline]
    pub(super) const fn at(register: u32) -> Self {
        Self {
            register,
            generator: core::marker::PhantomData,
        }
    }

    /// The CRC after `bytes` too.
    #[inline]
    #[must_use]
    pub fn update(self, bytes: &[u8]) -> Self {
        Self::at(update::<G>(self.register, bytes))
    }

    /// The CRC of this one's bytes followed by the `len` bytes of `next`, which was summed apart.
    ///
    /// Time: the logarithm of `len`.
    #[must_use]
    pub fn combine(self, next: Self, len: usize) -> Self {
        let moved = kernel::shift::<G>(self.register ^ G::START, len);
        Self::at(moved ^ next.register)
    }

    /// The CRC after a change of some of its bytes, without a pass over the others.
    ///
    /// `old` and `new` are the bytes before and after the change, `after` how many bytes follow them.
    /// Time: the length of `old`, and the logarithm of `after`.
    ///
    /// ```
    /// use ib_wire::crc::Icrc;
    /// let sum = Icrc::new().update(b"psn 0001, payload").edit(b"0001", b"0002", 9);
    /// assert_eq!(sum, Icrc::new().update(b"psn 0002, payload"));
    /// ```
    #[must_use]
    pub fn edit<const N: usize>(self, old: &[u8; N], new: &[u8; N], after: usize) -> Self {
        let mut change = *old;
        for (byte, new) in change.iter_mut().zip(new) {
            *byte ^= new;
        }
        self.add(Self::difference(&change, after))
    }

    /// The change of a CRC by a change of bits that `after` more bytes follow.
    pub(crate) fn difference(change: &[u8], after: usize) -> Self {
        Self::at(kernel::shift::<G>(update::<G>(0, change), after))
    }

    /// The CRC with a difference.
    pub(crate) fn add(self, difference: Self) -> Self {
        Self::at(self.register ^ difference.register)
    }

    /// The register, complemented: the CRC as a number; its low byte goes first on the wire.
    #[inline]
    #[must_use]
    pub fn value(self) -> u32 {
        self.register ^ G::START
    }
}

impl<G: Generator> Default for Digest<G> {
    fn default() -> Self {
        Self::new()
    }
}

impl Icrc {
    /// The CRC as on the wire.
    #[inline]
    #[must_use]
    pub fn wire(self) -> [u8; 4] {
        self.value().to_le_bytes()
    }

    /// A CRC to go on from, of a packet that carries these bytes.
    #[must_use]
    pub fn from_wire(wire: [u8; 4]) -> Self {
        Self::at(u32::from_le_bytes(wire) ^ Invariant::START)
    }
}

impl Vcrc {
    /// The CRC as on the wire.
    #[inline]
    #[must_use]
    pub fn wire(self) -> [u8; 2] {
        (self.value() as u16).to_le_bytes()
    }

    /// A CRC to go on from, of a packet that carries these bytes.
    #[must_use]
    pub fn from_wire(wire: [u8; 2]) -> Self {
        Self::at(u32::from(u16::from_le_bytes(wire)) ^ Variant::START)
    }
}
