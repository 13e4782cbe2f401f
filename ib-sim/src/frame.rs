//! A packet in flight: the fields of its local route header and its addresses, without the CRCs.

use std::ops::{Index, IndexMut};

use ib_mad::{GrhAddress, Mad};
use ib_routing::index::{Idx, IdxVec};
use ib_wire::{Lid, PKey, QKey, Qpn, Sl, Vl};

use crate::trace::DataPacket;

/// A packet inside the fabric.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// The datagram of management; unused in other packets.
    pub(crate) bytes: [u8; Mad::LEN],
    pub(crate) source_lid: Lid,
    pub(crate) dest_lid: Lid,
    pub(crate) sl: Sl,
    /// An SMP: QP0 and VL 15, no P_Key checks, no flow control.
    pub(crate) smp: bool,
    /// The lane of a data packet on its present link.
    pub(crate) lane: Vl,
    pub(crate) source_qp: Qpn,
    pub(crate) dest_qp: Qpn,
    pub(crate) q_key: QKey,
    pub(crate) p_key: PKey,
    pub(crate) grh: Option<GrhAddress>,
    /// The port (flat index) whose host sent it.
    pub(crate) origin: u32,
    /// Links passed so far; a limit on it ends packets in a loop.
    pub(crate) hops: u16,
    /// Number of times that a fault has doubled it, or the packet that it is a copy of.
    pub(crate) doublings: u8,
    /// Length on the wire in 32-bit words, as PortXmitData counts: from the LRH to the ICRC.
    pub(crate) words: u16,
    /// Bytes of payload: what the MTU limits.
    pub(crate) payload: u16,
    /// Bytes of a management datagram that are in use, 256 at most.
    pub(crate) length: u16,
    /// The packet itself, if it is not one of management.
    pub(crate) data: Option<Box<DataPacket>>,
}

impl Frame {
    /// Content of a new entry until a packet is written to it.
    const VACANT: Self = Self {
        bytes: [0; Mad::LEN],
        source_lid: Lid::NONE,
        dest_lid: Lid::NONE,
        sl: Sl::ZERO,
        smp: false,
        lane: Vl::ZERO,
        source_qp: Qpn::SMI,
        dest_qp: Qpn::SMI,
        q_key: QKey(0),
        p_key: PKey(0),
        grh: None,
        origin: 0,
        hops: 0,
        doublings: 0,
        words: Self::WORDS,
        payload: Self::PAYLOAD,
        length: Self::PAYLOAD,
        data: None,
    };

    #[inline]
    pub(crate) fn is_smp(&self) -> bool {
        self.smp
    }

    /// A datagram of management from the LRH to the ICRC, in 32-bit words.
    pub(crate) const WORDS: u16 = 72;
    /// Words that a GRH adds.
    pub(crate) const GRH_WORDS: u16 = 10;
    /// Bytes of payload of a datagram of management.
    pub(crate) const PAYLOAD: u16 = 256;
}

/// Number of a frame in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FrameIdx(u32);

impl Idx for FrameIdx {
    #[inline(always)]
    fn new(at: usize) -> Self {
        Self(at as u32)
    }

    #[inline(always)]
    fn at(self) -> usize {
        self.0 as usize
    }
}

/// Frames in flight. Entries are reused, so a running fabric allocates nothing per packet.
#[derive(Debug, Default)]
pub(crate) struct FrameStore {
    frames: IdxVec<FrameIdx, Frame>,
    free: Vec<FrameIdx>,
}

impl FrameStore {
    /// An entry for a packet, with the content of an earlier one: the caller overwrites every field, in place, because a frame is
    /// too large to be moved for each packet.
    #[inline]
    pub(crate) fn vacant(&mut self) -> FrameIdx {
        match self.free.pop() {
            Some(index) => index,
            None => self.frames.push(Frame::VACANT),
        }
    }

    /// A second packet like this one.
    pub(crate) fn copy(&mut self, frame: FrameIdx) -> FrameIdx {
        let copy = self.frames[frame].clone();
        let index = self.vacant();
        self.frames[index] = copy;
        index
    }

    /// Frees the frame's entry; its number must not be used again.
    #[inline]
    pub(crate) fn release(&mut self, frame: FrameIdx) {
        self.free.push(frame);
    }

    /// Number of frames in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.frames.len().saturating_sub(self.free.len())
    }
}

impl Index<FrameIdx> for FrameStore {
    type Output = Frame;

    #[inline(always)]
    fn index(&self, frame: FrameIdx) -> &Frame {
        &self.frames[frame]
    }
}

impl IndexMut<FrameIdx> for FrameStore {
    #[inline(always)]
    fn index_mut(&mut self, frame: FrameIdx) -> &mut Frame {
        &mut self.frames[frame]
    }
}
