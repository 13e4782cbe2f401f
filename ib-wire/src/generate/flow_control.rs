//! Flow control packets with one fault.

use alloc::vec::Vec;

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::{FaultKind, FcpOp, FlowControlPacket, Vl};

/// A flow control packet with one named fault, which
/// [`validate_bytes`](FlowControlPacket::validate_bytes) finds, and nothing else. One without fault is
/// [`FlowControlPacket::new`] of any values but [`Vl::MANAGEMENT`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultyFlowControl {
    /// The fault: one of [`FaultyFlowControl::FAULTS`].
    pub fault: FaultKind,
    /// The packet.
    pub bytes: Vec<u8>,
}

impl FaultyFlowControl {
    /// Faults that a flow control packet can have.
    pub const FAULTS: &'static [FaultKind] = &[
        FaultKind::Truncated,
        FaultKind::LengthMismatch,
        FaultKind::ReservedLinkOp,
        FaultKind::BadVl,
        FaultKind::LpcrcMismatch,
    ];
}

impl<'a> Arbitrary<'a> for FaultyFlowControl {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let fault = *u.choose(Self::FAULTS)?;
        let op = *u.choose(&[FcpOp::NORMAL, FcpOp::INIT])?;
        let vl = Vl::from_low_bits(u.int_in_range(0..=14)?);
        let mut packet = FlowControlPacket::new(op, vl, u.arbitrary()?, u.arbitrary()?);
        match fault {
            FaultKind::ReservedLinkOp => {
                packet.set_op(FcpOp(u.int_in_range(2..=15)?)).seal();
            }
            FaultKind::BadVl => {
                packet.set_vl(Vl::MANAGEMENT).seal();
            }
            FaultKind::LpcrcMismatch => {
                let wrong = packet.lpcrc() ^ u.int_in_range(1..=u16::MAX)?;
                packet.set_lpcrc(wrong);
            }
            _ => {}
        }
        let mut bytes = packet.as_bytes().to_vec();
        match fault {
            FaultKind::Truncated => bytes.truncate(u.int_in_range(0..=5)?),
            FaultKind::LengthMismatch => {
                let len = u.int_in_range(7..=64)?;
                bytes.resize(len, u.arbitrary()?);
            }
            _ => {}
        }
        Ok(Self { fault, bytes })
    }
}
