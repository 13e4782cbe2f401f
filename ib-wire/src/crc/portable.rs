//! CRCs by table, sixteen bytes at a time: for every processor.

use super::Generator;

/// `tables[n][byte]`: what `byte` leaves in the register when `n` more bytes follow it.
type Tables = [[u32; 256]; 16];

#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "evaluated at compile time, where a fault is an error"
)]
const fn tables(reflected: u32) -> Tables {
    let mut tables = [[0; 256]; 16];
    let mut byte = 0;
    while byte < 256 {
        let mut register = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            register = (register >> 1) ^ (reflected & (register & 1).wrapping_neg());
            bit += 1;
        }
        tables[0][byte] = register;
        byte += 1;
    }
    let mut after = 1;
    while after < 16 {
        let mut byte = 0;
        while byte < 256 {
            let one_less: u32 = tables[after - 1][byte];
            tables[after][byte] = (one_less >> 8) ^ tables[0][(one_less & 0xff) as usize];
            byte += 1;
        }
        after += 1;
    }
    tables
}

pub(super) static INVARIANT: Tables = tables(super::Invariant::REFLECTED);
pub(super) static VARIANT: Tables = tables(super::Variant::REFLECTED);

/// The register after `bytes`.
#[inline]
pub(super) fn update<G: Generator>(mut register: u32, bytes: &[u8]) -> u32 {
    let tables = G::TABLES;
    let (blocks, rest) = bytes.as_chunks::<16>();
    for block in blocks {
        let mut block = *block;
        for (byte, of_register) in block.iter_mut().zip(register.to_le_bytes()) {
            *byte ^= of_register;
        }
        register = block
            .iter()
            .zip(tables.iter().rev())
            .fold(0, |sum, (&byte, table)| sum ^ entry(table, byte));
    }
    // An ICRC, at least, is four bytes.
    let (words, rest) = rest.as_chunks::<4>();
    for word in words {
        register = (register ^ u32::from_le_bytes(*word))
            .to_le_bytes()
            .iter()
            .zip(tables.iter().take(4).rev())
            .fold(0, |sum, (&byte, table)| sum ^ entry(table, byte));
    }
    rest.iter().fold(register, |register, &byte| {
        let [table, ..] = tables;
        (register >> 8) ^ entry(table, register as u8 ^ byte)
    })
}

#[inline(always)]
fn entry(table: &[u32; 256], byte: u8) -> u32 {
    #[allow(clippy::indexing_slicing, reason = "a byte is below 256")]
    table[usize::from(byte)]
}
