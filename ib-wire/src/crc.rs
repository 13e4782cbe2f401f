//! The CRCs of packets: ICRC, VCRC and LPCRC (IBA vol. 1, 7.8 and 7.9.4).
//!
//! The ICRC is the CRC-32 of Ethernet over the packet with every field that may change between the ends
//! taken as ones; the VCRC is a CRC of 16 bits over the packet as it is. Both end up in the packet with the
//! low byte first. Pitfall: which bits are ones differs by kind of packet; [`Coverage`] selects them.
//!
//! A reflected CRC of 16 bits is one of 32 bits whose generator is multiplied by x^16 and whose
//! register starts in the low half: so one kernel serves both, portable or with the processor's
//! carry-less multiplication, and one pass over the data can do both.

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod aarch64;
mod constants;
mod coverage;
mod digest;
mod kernel;
mod mask;
mod portable;
#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little")
)))]
mod scalar;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use aarch64::Processor;
pub(crate) use coverage::copy_icrc_and_vcrc;
pub use coverage::{Coverage, icrc, icrc_and_vcrc};
pub use digest::{Digest, Icrc, Vcrc};
#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little")
)))]
use scalar::Processor;
#[cfg(target_arch = "x86_64")]
use x86_64::Processor;

/// A generator polynomial and how its register starts.
pub trait Generator: Copy + sealed::Sealed {
    /// The generator without its highest power, low bit first, in 32 bits.
    const REFLECTED: u32;
    /// The register at the start.
    const START: u32;
    /// Bytes of the CRC.
    const LEN: usize;
}

/// x^32 + x^26 + x^23 + ... + 1: the ICRC's generator, that of Ethernet and zlib.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invariant;

/// x^16 + x^12 + x^3 + x + 1: the generator of VCRC and LPCRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant;

/// Items of a generator that the kernels need, and that no other crate can implement.
mod sealed {
    use super::{Generator, Invariant, Variant, constants::Constants, portable};

    pub trait Sealed {
        /// Tables for sixteen bytes at a time.
        const TABLES: &'static [[u32; 256]; 16];
        /// Factors for carry-less multiplication.
        const CONSTANTS: &'static Constants;
    }

    impl Sealed for Invariant {
        const TABLES: &'static [[u32; 256]; 16] = &portable::INVARIANT;
        const CONSTANTS: &'static Constants = &Constants::new(Invariant::REFLECTED);
    }

    impl Sealed for Variant {
        const TABLES: &'static [[u32; 256]; 16] = &portable::VARIANT;
        const CONSTANTS: &'static Constants = &Constants::new(Variant::REFLECTED);
    }
}

impl Generator for Invariant {
    const REFLECTED: u32 = 0xedb8_8320;
    const START: u32 = 0xffff_ffff;
    const LEN: usize = 4;
}

impl Generator for Variant {
    const REFLECTED: u32 = 0x0000_d008;
    const START: u32 = 0x0000_ffff;
    const LEN: usize = 2;
}

/// The VCRC of a packet's bytes from the LRH to the ICRC (of a raw packet: to the payload's end),
/// as on the wire.
#[inline]
#[must_use]
pub fn vcrc(covered: &[u8]) -> [u8; 2] {
    Vcrc::new().update(covered).wire()
}

/// The CRC of a flow control packet's first four bytes, as on the wire.
#[must_use]
pub fn lpcrc(covered: &[u8; 4]) -> [u8; 2] {
    vcrc(covered)
}

#[cfg(test)]
mod tests;
