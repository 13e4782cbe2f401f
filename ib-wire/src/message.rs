//! Messages cut into packets, and packets put together again (IBA vol. 1, 9.4 and 9.7).
//!
//! A message above the path MTU becomes a First, Middle and a Last packet, with sequence numbers that
//! go up by one. Both directions are plain state machines: no buffers, no clock, no I/O. Pitfall: a
//! READ response takes as many sequence numbers as it has packets, all of the request's.

use thiserror::Error;

use crate::{Aeth, Bth, Ieth, ImmDt, Mtu, OpCode, PacketBuilder, Position, Psn, Reth, Transport};

/// Operation of a message, with its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOperation {
    /// SEND.
    Send,
    /// SEND; the last packet has immediate data.
    SendImmediate(ImmDt),
    /// SEND; the last packet names a key that the receiver takes back.
    SendInvalidate(Ieth),
    /// RDMA WRITE; the first packet says where to.
    Write(Reth),
    /// RDMA WRITE; the last packet has immediate data.
    WriteImmediate(Reth, ImmDt),
    /// RDMA READ response; all but the middle packets have an acknowledgement.
    ReadResponse(Aeth),
}

impl MessageOperation {
    /// The low five bits of the opcode of a part.
    const fn low_bits(self, position: Position) -> u8 {
        use Position::{First, Last, Middle, Only};
        match (self, position) {
            (Self::Send | Self::SendImmediate(_) | Self::SendInvalidate(_), First) => 0x00,
            (Self::Send | Self::SendImmediate(_) | Self::SendInvalidate(_), Middle) => 0x01,
            (Self::Send, Last) => 0x02,
            (Self::SendImmediate(_), Last) => 0x03,
            (Self::Send, Only) => 0x04,
            (Self::SendImmediate(_), Only) => 0x05,
            (Self::SendInvalidate(_), Last) => 0x16,
            (Self::SendInvalidate(_), Only) => 0x17,
            (Self::Write(_) | Self::WriteImmediate(..), First) => 0x06,
            (Self::Write(_) | Self::WriteImmediate(..), Middle) => 0x07,
            (Self::Write(_), Last) => 0x08,
            (Self::WriteImmediate(..), Last) => 0x09,
            (Self::Write(_), Only) => 0x0a,
            (Self::WriteImmediate(..), Only) => 0x0b,
            (Self::ReadResponse(_), First) => 0x0d,
            (Self::ReadResponse(_), Middle) => 0x0e,
            (Self::ReadResponse(_), Last) => 0x0f,
            (Self::ReadResponse(_), Only) => 0x10,
        }
    }
}

/// Why a message cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The code of the MTU has no meaning.
    #[error("MTU code {found}, expected 1..=5")]
    BadMtu {
        /// The code found.
        found: u8,
    },
    /// The transport service has no such operation, or none of more than one packet.
    #[error("{transport} cannot carry this message in {packets} packets")]
    NotCarried {
        /// The transport service.
        transport: Transport,
        /// Packets that the message would take.
        packets: u32,
    },
    /// More than 2^31 bytes.
    #[error("a message of {len} bytes, expected at most 2147483648")]
    TooLong {
        /// Length of the message in bytes.
        len: usize,
    },
}

/// A message to be cut into packets: an iterator over its [`Segment`]s.
///
/// ```
/// use ib_wire::{Mtu, OpCode, Psn, Transport, message::{MessageOperation, Segments}};
/// let data = [0; 600];
/// let segments = Segments::try_new(Transport::RC, MessageOperation::Send, &data, Mtu::MTU_256, Psn::new(9))?;
/// let codes: Vec<OpCode> = segments.map(|segment| segment.op_code).collect();
/// assert_eq!(codes, [OpCode::RC_SEND_FIRST, OpCode::RC_SEND_MIDDLE, OpCode::RC_SEND_LAST]);
/// # Ok::<(), ib_wire::message::MessageError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    transport: Transport,
    operation: MessageOperation,
    rest: &'a [u8],
    mtu: usize,
    psn: Psn,
    position: Option<Position>,
}

/// One packet's part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Operation code of the packet.
    pub op_code: OpCode,
    /// Its sequence number.
    pub psn: Psn,
    /// Bytes of the message in this packet.
    pub payload: &'a [u8],
    operation: MessageOperation,
}

impl<'a> Segments<'a> {
    /// The packets of a message, the first with sequence number `psn`.
    ///
    /// # Errors
    /// [`MessageError::BadMtu`] for a code without a meaning; [`NotCarried`](MessageError::NotCarried)
    /// if the transport service has no such operation, or not in so many packets;
    /// [`TooLong`](MessageError::TooLong) above 2^31 bytes.
    pub fn try_new(
        transport: Transport,
        operation: MessageOperation,
        data: &'a [u8],
        mtu: Mtu,
        psn: Psn,
    ) -> Result<Self, MessageError> {
        let found = mtu.bits();
        let mtu = usize::from(mtu.bytes().ok_or(MessageError::BadMtu { found })?);
        if data.len() > 1 << 31 {
            return Err(MessageError::TooLong { len: data.len() });
        }
        let (position, last) = if data.len() <= mtu {
            (Position::Only, Position::Only)
        } else {
            (Position::First, Position::Last)
        };
        let carried = |position| OpCode::of(transport, operation.low_bits(position)).is_some();
        if !carried(position) || !carried(last) {
            return Err(MessageError::NotCarried {
                transport,
                packets: packets_of(data.len(), mtu),
            });
        }
        Ok(Self {
            transport,
            operation,
            rest: data,
            mtu,
            psn,
            position: Some(position),
        })
    }

    /// Packets that are still to come.
    #[must_use]
    pub fn packets_left(&self) -> u32 {
        match self.position {
            Some(_) => packets_of(self.rest.len(), self.mtu),
            None => 0,
        }
    }
}

/// Packets of a message: at least one. The length is at most 2^31, so 2^23 packets.
fn packets_of(len: usize, mtu: usize) -> u32 {
    len.div_ceil(mtu.max(1)).max(1) as u32
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        let position = self.position?;
        let (payload, rest) = self.rest.split_at(self.rest.len().min(self.mtu));
        let segment = Segment {
            op_code: OpCode::of(self.transport, self.operation.low_bits(position))?,
            psn: self.psn,
            payload,
            operation: self.operation,
        };
        self.rest = rest;
        self.psn = self.psn.add(1);
        self.position = match position {
            Position::Only | Position::Last => None,
            _ if rest.len() <= self.mtu => Some(Position::Last),
            _ => Some(Position::Middle),
        };
        Some(segment)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.packets_left() as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Segments<'_> {}

impl<'a> Segment<'a> {
    /// Sets operation and sequence number of a packet's BTH.
    pub fn write_bth(&self, bth: &mut Bth) {
        bth.set_op_code(self.op_code).set_psn(self.psn);
    }

    /// Adds the segment's headers and payload to a packet that was started with its BTH.
    pub fn add_to(&self, builder: &mut PacketBuilder<'a>) {
        use crate::Eth;
        let has = |eth| self.op_code.offset_of(eth).is_some();
        match self.operation {
            MessageOperation::SendImmediate(imm_dt)
            | MessageOperation::WriteImmediate(_, imm_dt)
                if has(Eth::ImmDt) =>
            {
                builder.with(&imm_dt);
            }
            MessageOperation::SendInvalidate(ieth) if has(Eth::Ieth) => {
                builder.with(&ieth);
            }
            MessageOperation::ReadResponse(aeth) if has(Eth::Aeth) => {
                builder.with(&aeth);
            }
            _ => {}
        }
        if let MessageOperation::Write(reth) | MessageOperation::WriteImmediate(reth, _) =
            self.operation
            && has(Eth::Reth)
        {
            builder.with(&reth);
        }
        builder.payload(self.payload);
    }
}

/// Disposition of a packet by its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketDisposition {
    /// It is the next one: its payload belongs at `offset` of the message.
    Accept {
        /// Bytes of the message before this payload.
        offset: u32,
        /// True if the message is complete with it.
        completes: bool,
    },
    /// It has been received already: acknowledge it again, and drop it. Unreliable receivers know no
    /// such packets.
    Duplicate,
    /// `missing` packets are lost. A reliable receiver sends a NAK for the expected number; an
    /// unreliable one drops the message and goes on with the next First or Only packet.
    Lost {
        /// Packets before this one, modulo 2^24: an unreliable receiver takes a number behind the expected
        /// one for one far ahead.
        missing: u32,
    },
    /// It does not belong here: a Middle without a First, a payload of the wrong length. A reliable
    /// receiver answers with the NAK code "invalid request".
    Invalid,
}

/// Puts packets of one direction of a connection together again: checks sequence numbers, order and
/// lengths, and says where each payload belongs.
#[derive(Clone, Debug)]
pub struct Reassembly {
    mtu: u32,
    expected: Psn,
    reliable: bool,
    /// Bytes of the current message.
    received: Option<u32>,
    /// Low bits of the opcode of the message's first packet: SEND, WRITE or READ response.
    kind: u8,
}

impl Reassembly {
    /// A receiver that expects the packet `psn` next.
    ///
    /// # Errors
    /// [`MessageError::BadMtu`] for a code without a meaning.
    pub fn try_new(transport: Transport, mtu: Mtu, psn: Psn) -> Result<Self, MessageError> {
        let found = mtu.bits();
        Ok(Self {
            mtu: mtu.bytes().ok_or(MessageError::BadMtu { found })?.into(),
            expected: psn,
            reliable: transport != Transport::UC && transport != Transport::UD,
            received: None,
            kind: 0,
        })
    }

    /// The sequence number expected next.
    #[must_use]
    pub const fn expected(&self) -> Psn {
        self.expected
    }

    /// Judges a packet of `len` bytes of payload.
    ///
    /// If an unreliable receiver finds packets lost before a First or Only packet, a second call
    /// with the same packet accepts it: the loss and the packet are two verdicts.
    pub fn receive(&mut self, op_code: OpCode, psn: Psn, len: usize) -> PacketDisposition {
        match psn.since(self.expected) {
            0 => {}
            _ if !self.reliable => return self.out_of_sequence(op_code, psn),
            ahead @ 1.. => {
                return PacketDisposition::Lost {
                    missing: ahead.unsigned_abs(),
                };
            }
            _ => return PacketDisposition::Duplicate,
        }
        let Some(position) = position(op_code) else {
            return PacketDisposition::Invalid;
        };
        let Ok(len) = u32::try_from(len) else {
            return self.invalid();
        };
        let kind = kind(op_code);
        let offset = match (position, self.received) {
            (Position::First | Position::Only, None) => 0,
            (Position::Middle | Position::Last, Some(received)) if kind == self.kind => received,
            // An unreliable sender may give a message up and begin another one.
            (Position::First | Position::Only, Some(_)) if !self.reliable => 0,
            _ => return self.invalid(),
        };
        let fits = match position {
            Position::First | Position::Middle => len == self.mtu,
            Position::Last => (1..=self.mtu).contains(&len),
            Position::Only => len <= self.mtu,
        };
        let Some(received) = offset.checked_add(len).filter(|_| fits) else {
            return self.invalid();
        };
        self.expected = psn.add(1);
        self.kind = kind;
        let completes = matches!(position, Position::Last | Position::Only);
        self.received = (!completes).then_some(received);
        PacketDisposition::Accept { offset, completes }
    }

    /// An unreliable receiver goes on from whatever number comes: no packet is sent to it twice, and a
    /// sender that starts again may start at an earlier number (IBA vol. 1, 9.8.2.2).
    fn out_of_sequence(&mut self, op_code: OpCode, psn: Psn) -> PacketDisposition {
        let missing = psn.bits().wrapping_sub(self.expected.bits());
        // The rest of the current message is of no use; a new one may begin here.
        self.received = None;
        self.expected = match position(op_code) {
            Some(Position::First | Position::Only) => psn,
            _ => psn.add(1),
        };
        PacketDisposition::Lost {
            missing: Psn::new(missing).bits(),
        }
    }

    /// A reliable receiver stays where it is, an unreliable one drops the message and goes on.
    fn invalid(&mut self) -> PacketDisposition {
        if !self.reliable {
            self.received = None;
            self.expected = self.expected.add(1);
        }
        PacketDisposition::Invalid
    }
}

fn position(op_code: OpCode) -> Option<Position> {
    Some(op_code.operation()?.position)
}

/// Kind of a message, which all its packets share: SEND 0, WRITE 1, READ response 2, others 3.
fn kind(op_code: OpCode) -> u8 {
    match op_code.bits() & 31 {
        0x00..=0x05 | 0x16 | 0x17 => 0,
        0x06..=0x0b => 1,
        0x0d..=0x10 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests;
