//! The CRCs, however they are reached.

use crate::crc::{
    Coverage, Digest, Generator, Icrc, Invariant, Variant, Vcrc, copy_icrc_and_vcrc, icrc,
    icrc_and_vcrc,
};

/// The register after `bytes`, one bit after the other, as the specification describes it.
fn by_bits<G: Generator>(bytes: &[u8]) -> u32 {
    let mut register = G::START;
    for byte in bytes {
        register ^= u32::from(*byte);
        for _ in 0..8 {
            let feedback = (register & 1).wrapping_neg();
            register = (register >> 1) ^ (G::REFLECTED & feedback);
        }
    }
    register ^ G::START
}

/// Whole, streamed, combined and edited CRCs equal those of a shift register, for any bytes.
pub fn crcs_agree_with_a_shift_register(bytes: &[u8]) {
    let (cut, bytes) = match bytes {
        [low, high, rest @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), rest),
        _ => (0, bytes),
    };
    ways_agree::<Invariant>(bytes, cut);
    ways_agree::<Variant>(bytes, cut);
    for coverage in [Coverage::IbaLocal, Coverage::IbaGlobal] {
        let (invariant, variant) = icrc_and_vcrc(coverage, bytes);
        assert_eq!(invariant, icrc(coverage, bytes));
        assert_eq!(variant, Vcrc::new().update(bytes).update(&invariant).wire());
    }
    copies_agree(bytes, cut);
    let (head, tail) = bytes.split_at(bytes.len().min(cut.max(128)));
    let streamed = Icrc::masked(Coverage::IbaLocal, head).update(tail);
    assert_eq!(streamed.wire(), icrc(Coverage::IbaLocal, bytes));
}

/// A payload that the CRCs' pass copies has the CRCs of the packet that holds it.
fn copies_agree(bytes: &[u8], cut: usize) {
    // LRH, BTH and extended headers, with and without GRH.
    for (coverage, least) in [(Coverage::IbaLocal, 20), (Coverage::IbaGlobal, 60)] {
        let at = least + cut % 41;
        let Some(payload) = bytes.get(at..) else {
            continue;
        };
        let mut packet = bytes.to_vec();
        if let Some(to) = packet.get_mut(at..) {
            to.fill(0);
        }
        let both = copy_icrc_and_vcrc(coverage, &mut packet, at, payload);
        assert_eq!(packet, bytes);
        assert_eq!(both, icrc_and_vcrc(coverage, bytes));
    }
}

fn ways_agree<G: Generator>(bytes: &[u8], cut: usize) {
    let whole = Digest::<G>::new().update(bytes);
    assert_eq!(whole.value(), by_bits::<G>(bytes));
    let (head, tail) = bytes.split_at(cut.min(bytes.len()));
    let (first, second) = (
        Digest::<G>::new().update(head),
        Digest::<G>::new().update(tail),
    );
    assert_eq!(first.update(tail).value(), whole.value());
    assert_eq!(first.combine(second, tail.len()).value(), whole.value());
    if let Some((old, after)) = tail.split_first_chunk::<4>() {
        let new = [old[0] ^ 0x5a, old[1], !old[2], old[3]];
        let edited = first.update(&new).update(after);
        assert_eq!(whole.edit(old, &new, after.len()).value(), edited.value());
    }
}
