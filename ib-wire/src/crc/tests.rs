//! The kernels against a shift register that takes one bit after the other.

use super::{kernel::update_both, mask::Mask, sealed::Sealed, vector::Vector, *};

/// The register after `bytes`, bit by bit, as the specification describes it.
fn by_bits<G: Generator>(mut register: u32, bytes: &[u8]) -> u32 {
    for byte in bytes {
        register ^= u32::from(*byte);
        for _ in 0..8 {
            let feedback = (register & 1).wrapping_neg();
            register = (register >> 1) ^ (G::REFLECTED & feedback);
        }
    }
    register
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x1234_5678_9abc_def1u64;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        })
        .collect()
}

/// Lengths around every block of the kernels; fewer where an interpreter runs.
fn lengths() -> impl Iterator<Item = usize> {
    let (near, far, last) = if cfg!(miri) {
        (37, 700, 700)
    } else {
        (1, 1, 4113)
    };
    (0..150)
        .step_by(near)
        .chain((150..1300).step_by(far))
        .chain([last - 17, last])
}

fn masks() -> [Mask; 2] {
    [
        Mask::NOTHING,
        Mask::NOTHING.bits(0, 0xf0).ones(12, 1).ones(52, 12),
    ]
}

fn with(mask: &Mask, data: &[u8]) -> Vec<u8> {
    let (masked, len) = mask.apply(data);
    [&masked[..len], &data[len..]].concat()
}

#[test]
fn tables_and_the_best_kernel_agree_with_the_shift_register() {
    let data = noise(4113);
    for len in lengths() {
        let data = &data[..len];
        let right = [
            by_bits::<Invariant>(0x89ab_cdef, data),
            by_bits::<Variant>(0x1234, data),
        ];
        let tables = [
            portable::update::<Invariant>(0x89ab_cdef, data),
            portable::update::<Variant>(0x1234, data),
        ];
        assert_eq!(tables, right, "tables, {len} bytes");
        let kernels = [
            kernel::update::<Invariant>(0x89ab_cdef, data),
            kernel::update::<Variant>(0x1234, data),
        ];
        assert_eq!(kernels, right, "kernel, {len} bytes");
    }
}

#[test]
fn only_the_invariant_sum_of_both_is_masked() {
    let data = noise(4113);
    for mask in masks() {
        for len in lengths() {
            let data = &data[..len];
            let right = [
                by_bits::<Invariant>(Invariant::START, &with(&mask, data)),
                by_bits::<Variant>(Variant::START, data),
            ];
            let both = update_both([Invariant::START, Variant::START], data, &mask);
            assert_eq!(both, right, "{len} bytes");
            let one = kernel::update_masked(Invariant::START, data, &mask);
            assert_eq!(one, right[0], "{len} bytes");
        }
    }
}

#[test]
fn a_payload_is_copied_to_its_place_and_summed_in_one_pass() {
    let (data, wide) = (
        noise(9200),
        Mask::NOTHING.bits(0, 0x0f).ones(1, 3).ones(12, 4),
    );
    let (step, long) = if cfg!(miri) {
        (139, &[][..])
    } else {
        (1, &[1024, 2047, 3968, 4096, 8319, 8320, 9000][..])
    };
    let lengths = (0..=300usize).step_by(step).chain(long.iter().copied());
    for len in lengths {
        // The places and lengths of header stacks; each puts the payload at another address.
        for headers in [0, 15, 16, 20, 23, 36, 63, 64, 68, 100, 128, 131] {
            let (pad, from) = (len.wrapping_neg() & 3, &data[headers..]);
            let payload = &from[..len.min(from.len())];
            let (mut packet, mut right) = (noise(headers), noise(headers));
            right.extend_from_slice(payload);
            right.extend_from_slice(&[1, 2, 3][..pad]);
            packet.resize(headers + payload.len(), 0xee);
            packet.extend_from_slice(&[1, 2, 3][..pad]);
            let mask = match headers {
                0..16 => Mask::NOTHING,
                16..64 => wide,
                _ => masks()[1],
            };
            let both = kernel::copy_and_update_both(
                [Invariant::START, Variant::START],
                &mut packet,
                headers,
                payload,
                &mask,
            );
            assert_eq!(packet, right, "{len} bytes behind {headers}");
            let registers = [
                by_bits::<Invariant>(Invariant::START, &with(&mask, &right)),
                by_bits::<Variant>(Variant::START, &right),
            ];
            assert_eq!(both, registers, "{len} bytes behind {headers}");
        }
    }
}

#[test]
fn a_payload_at_any_address_goes_to_any_address() {
    let data = noise(700);
    let step = if cfg!(miri) { 13 } else { 1 };
    let offsets = (0..32).step_by(step);
    for (from, to) in offsets.flat_map(|from| [(from, 36), (0, 20 + from), (from, 20 + from)]) {
        for len in [128, 255, 256, 300] {
            let payload = &data[from..from + len];
            let right = [&data[..to], payload].concat();
            let mut packet = right.clone();
            packet[to..].fill(0);
            let both = kernel::copy_and_update_both([1, 2], &mut packet, to, payload, &masks()[0]);
            assert_eq!(packet, right, "{len} bytes from {from} to {to}");
            let registers = [
                by_bits::<Invariant>(1, &right),
                by_bits::<Variant>(2, &right),
            ];
            assert_eq!(both, registers, "{len} bytes from {from} to {to}");
        }
    }
}

#[test]
fn a_payload_that_does_not_fit_is_not_copied() {
    let mut packet = noise(100);
    let before = packet.clone();
    let _ = kernel::copy_and_update_both([0, 0], &mut packet, 50, &before[..51], &masks()[0]);
    assert_eq!(packet, before);
}

#[test]
fn every_kernel_that_the_processor_has_agrees_with_the_shift_register() {
    let data = noise(4113);
    let constants = [Invariant::CONSTANTS, Variant::CONSTANTS];
    let start = [Invariant::START, Variant::START];
    for mask in masks() {
        for len in lengths().filter(|&len| len >= 16) {
            let data = &data[..len];
            let right = [
                by_bits::<Invariant>(Invariant::START, &with(&mask, data)),
                by_bits::<Variant>(Variant::START, data),
            ];
            let kernels = Processor::update_all(start, constants, data, &mask);
            // Every processor that these tests run on multiplies without carry, emulated ones too.
            let is_known = cfg!(any(
                target_arch = "x86_64",
                all(target_arch = "aarch64", target_endian = "little")
            ));
            assert!(!kernels.is_empty() || !is_known);
            for (bits, registers) in kernels {
                assert_eq!(registers, right, "{bits} bits at a time, {len} bytes");
            }
        }
    }
}

#[test]
fn sums_of_parts_combine_to_the_sum_of_the_whole() {
    let data = noise(300);
    for cut in (0..=300).step_by(if cfg!(miri) { 101 } else { 1 }) {
        let (head, tail) = data.split_at(cut);
        let combined = Vcrc::new()
            .update(head)
            .combine(Vcrc::new().update(tail), tail.len());
        assert_eq!(combined, Vcrc::new().update(&data), "cut at {cut}");
        let streamed = Icrc::new().update(head).update(tail);
        assert_eq!(streamed, Icrc::new().update(&data), "cut at {cut}");
    }
}

#[test]
fn check_values_of_the_catalogue_come_out() {
    assert_eq!(
        Icrc::new().update(b"123456789").wire(),
        [0x26, 0x39, 0xf4, 0xcb]
    );
    assert_eq!(vcrc(b"123456789"), [0x3d, 0x0a]);
    assert_eq!(lpcrc(&[0x01, 0x23, 0x24, 0x56]), [0x6a, 0x84]);
}

#[test]
fn a_sum_goes_on_from_the_bytes_in_a_packet() {
    let sum = Icrc::new().update(b"abc");
    assert_eq!(Icrc::from_wire(sum.wire()), sum);
    let sum = Vcrc::new().update(b"abc");
    assert_eq!(Vcrc::from_wire(sum.wire()), sum);
}
