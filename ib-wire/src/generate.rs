//! Packets for the fuzzers and property tests of other crates (feature `arbitrary`).
//!
//! [`ValidPacket`] is a packet without any fault. [`FaultyPacket`] and [`FaultyFlowControl`] have one fault, and name
//! it: together they cover every [`FaultKind`], and a correct validator finds this fault and no other. All are made
//! from `arbitrary`'s bytes, so that a fuzzer can steer them.
//!
//! ```
//! use arbitrary::{Arbitrary, Unstructured};
//! use ib_wire::{Packet, generate::{FaultyPacket, ValidPacket}};
//! let input = [7; 500]; // the fuzzer's
//! let valid = ValidPacket::arbitrary(&mut Unstructured::new(&input))?;
//! assert!(Packet::parse_as(valid.start, &valid.bytes).validate().is_empty());
//!
//! let faulty = FaultyPacket::arbitrary(&mut Unstructured::new(&input))?;
//! let found = Packet::parse_as(faulty.start, &faulty.bytes).validate();
//! assert!(found.into_iter().map(|fault| fault.kind).eq([faulty.fault]));
//! # Ok::<(), arbitrary::Error>(())
//! ```
//!
//! [`FaultKind`]: crate::FaultKind

mod draft;
mod faulty;
mod flow_control;

use alloc::vec::Vec;

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::{OPERATIONS, OpCode, Start, packet::Network};
#[cfg(feature = "proptest")]
pub(crate) use draft::{ALL_NETWORKS, MAX_PAYLOAD};
use draft::{Draft, payload_len};
pub use faulty::FaultyPacket;
pub use flow_control::FaultyFlowControl;

/// A packet without a fault: any network, any operation, any field, with reserved bits set too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidPacket {
    /// The first header of the bytes.
    pub start: Start,
    /// The packet.
    pub bytes: Vec<u8>,
}

impl<'a> Arbitrary<'a> for ValidPacket {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let network = *u.choose(draft::NETWORKS)?;
        let op_code = u.choose(OPERATIONS)?.op_code;
        let wanted = u.int_in_range(0..=draft::MAX_PAYLOAD)?;
        Self::of(u, network, op_code, wanted)
    }
}

impl ValidPacket {
    /// A packet of this kind with about `wanted` bytes of payload, at most 4096: what the operation may have.
    pub(crate) fn of(
        u: &mut Unstructured<'_>,
        network: Network,
        op_code: OpCode,
        wanted: usize,
    ) -> Result<Self> {
        let draft = Draft::of(u, network, op_code, payload_len(op_code, wanted))?;
        let bytes = draft.build()?;
        Ok(Self {
            start: draft.start,
            bytes,
        })
    }
}
