//! Fixtures of `compare` and of the measurements with criterion.

/// The VCRC in the notation of CRC catalogues.
pub const VCRC: crc::Algorithm<u16> = crc::Algorithm {
    width: 16,
    poly: 0x100b,
    init: 0xffff,
    refin: true,
    refout: true,
    xorout: 0xffff,
    check: 0x0a3d,
    residue: 0,
};

/// The VCRC by a table, sixteen bytes at a time.
pub static SLICE16: crc::Crc<u16, crc::Table<16>> = crc::Crc::<u16, crc::Table<16>>::new(&VCRC);
