//! Data packets: the traffic of hosts besides management, and the path of each packet.
//!
//! A packet is its bytes, from the LRH to the VCRC. It follows LFT and MFT, SLtoVL, MTU, partitions and port states hop by
//! hop as a real one does: its VL and VCRC change at each hop, its ICRC never does, the counters count. Its [`PacketTrace`]
//! has every link that it crossed, and for each copy the port where it ended and the reason.

use ib_routing::PortRef;
use ib_wire::{Fault, FaultKind, Lnh, PKey, Packet, QKey, Qpn};
use thiserror::Error;

use crate::event::{DropReason, SimError};
use crate::frame::{Frame, FrameIdx};
use crate::node::PortIdx;
use crate::sim::Sim;
use crate::trace::{DataPacket, PacketEnd, PacketFate, PacketHop, PacketId, PacketTrace};

/// Packets in flight beyond one for each port: more only go in circles.
const MANY: usize = 1 << 12;

/// The reason why a packet cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PacketError {
    /// The port is not there, or has no host.
    #[error(transparent)]
    Port(#[from] SimError),
    /// No adapter sends a packet like that.
    #[error("malformed packet: {0}")]
    Malformed(Fault),
    /// A packet without a local route header crosses no link.
    #[error("the packet has no LRH")]
    NoLrh,
    /// Datagrams of management have agents to answer them: [`Sim::send`].
    #[error("a packet for {0:?} carries management: send it as a datagram")]
    Management(Qpn),
}

impl Sim {
    /// Sends a data packet, from the LRH to the VCRC, from the host of `port`, at the present moment.
    ///
    /// The LRH's VL is what the port's SLtoVL table makes of its SL, whatever the packet says. A wrong ICRC or VCRC is
    /// sent as it is: the receivers find it. The trace stays until [`take_trace`](Self::take_trace).
    ///
    /// # Errors
    /// [`PacketError`]: the port has no host, the packet is malformed, or it is for QP0 or QP1.
    pub fn send_packet(&mut self, port: PortRef, packet: &[u8]) -> Result<PacketId, PacketError> {
        let index = self.port_idx(port).ok_or(SimError::NoSuchPort { port })?;
        if self.end_port(index) != index {
            return Err(SimError::NoHost { port }.into());
        }
        let view = Packet::parse(packet);
        let lrh = *view.lrh().ok_or(PacketError::NoLrh)?;
        let faults = view.validate();
        let crc = |kind| matches!(kind, FaultKind::IcrcMismatch | FaultKind::VcrcMismatch);
        let mut fatal = faults.iter().filter(|fault| !fault.kind.is_note());
        if let Some(&fault) = fatal.find(|fault| !crc(fault.kind)) {
            return Err(PacketError::Malformed(fault));
        }
        let bth = view.bth();
        let dest_qp = bth.map_or(Qpn::MULTICAST, |bth| bth.dest_qp());
        if bth.is_some() && dest_qp.bits() <= 1 {
            return Err(PacketError::Management(dest_qp));
        }
        let deth = view.deth();
        let id = self.traces.start();

        let frame = self.frames.vacant();
        let sent = &mut self.frames[frame];
        sent.source_lid = lrh.slid();
        sent.dest_lid = lrh.dlid();
        sent.sl = lrh.sl();
        sent.smp = false;
        sent.lane = lrh.vl();
        sent.source_qp = deth.map_or(Qpn::SMI, |deth| deth.src_qp());
        sent.dest_qp = dest_qp;
        sent.q_key = deth.map_or(QKey(0), |deth| deth.q_key());
        sent.p_key = bth.map_or(PKey(0), |bth| bth.p_key());
        sent.grh = None;
        sent.origin = index.0;
        sent.hops = 0;
        sent.doublings = 0;
        sent.words = lrh.pkt_len();
        sent.payload = u16::try_from(view.payload().len()).unwrap_or(u16::MAX);
        sent.length = Frame::PAYLOAD;
        sent.data = Some(Box::new(DataPacket {
            id,
            bytes: packet.to_vec(),
            spoiled: faults.has(FaultKind::VcrcMismatch),
            broken: faults.has(FaultKind::IcrcMismatch),
            raw: matches!(lrh.lnh(), Lnh::RAW | Lnh::IPV6),
            op_code: bth.map(|bth| bth.op_code()),
            fecn: bth.is_some_and(|bth| bth.fecn()),
            becn: bth.is_some_and(|bth| bth.becn()),
        }));
        self.stats.sent = self.stats.sent.wrapping_add(1);
        self.send_by_lid(index, frame);
        Ok(id)
    }

    /// Sends a data packet and lets time pass until it, and each copy of it, has ended.
    ///
    /// # Errors
    /// As [`send_packet`](Self::send_packet).
    pub fn trace_packet(
        &mut self,
        port: PortRef,
        packet: &[u8],
    ) -> Result<PacketTrace, PacketError> {
        let id = self.send_packet(port, packet)?;
        while !self.trace(id).is_none_or(PacketTrace::is_complete) {
            match self.queue.next_at() {
                Some(next) => self.advance(next),
                None => break,
            }
        }
        Ok(self.take_trace(id).unwrap_or_default())
    }

    /// The trace of a packet so far.
    #[must_use]
    pub fn trace(&self, id: PacketId) -> Option<&PacketTrace> {
        self.traces.get(id)
    }

    /// Removes and returns the trace of a packet so far; copies that are still in flight are not traced any more.
    pub fn take_trace(&mut self, id: PacketId) -> Option<PacketTrace> {
        self.traces.take(id)
    }

    /// Returns whether the VCRC is wrong, which the receiver at the other end of the link detects.
    pub(crate) fn spoiled(&self, frame: FrameIdx) -> bool {
        let data = self.frames[frame].data.as_ref();
        data.is_some_and(|data| data.spoiled)
    }

    /// Returns whether the ICRC is wrong, which only the destination checks.
    pub(crate) fn broken(&self, frame: FrameIdx) -> bool {
        let data = self.frames[frame].data.as_ref();
        data.is_some_and(|data| data.broken)
    }

    /// Returns whether the packet is raw; a port may filter raw packets.
    pub(crate) fn is_raw(&self, frame: FrameIdx) -> bool {
        let data = self.frames[frame].data.as_ref();
        data.is_some_and(|data| data.raw)
    }

    /// Puts the lane into a data packet that goes out of `out`, and the hop into its trace.
    pub(crate) fn trace_hop(&mut self, out: PortIdx, peer: PortIdx, frame: FrameIdx) {
        let hop = PacketHop {
            at: self.now,
            from: self.at(out),
            to: self.at(peer),
            vl: self.frames[frame].lane,
        };
        let Some(data) = &mut self.frames[frame].data else {
            return;
        };
        // A whole packet with an LRH, as it was checked when it was sent.
        let _ = Packet::parse(&mut data.bytes[..]).switch_hop(hop.vl);
        self.traces.record_hop(data.id, hop);
    }

    /// Flips a bit of a packet's payload, which no CRC notices.
    pub(crate) fn flip_bit(&mut self, frame: FrameIdx, bit: usize) {
        let sent = &mut self.frames[frame];
        let bytes = match &mut sent.data {
            Some(data) => &mut data.bytes[..],
            None => &mut sent.bytes[..],
        };
        let place = (bit / 8).checked_rem(bytes.len()).unwrap_or(0);
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= 0x80 >> (bit % 8);
        }
    }

    /// A copy of a packet; none if there are so many copies already that they must be in a loop.
    pub(crate) fn copy_frame(&mut self, frame: FrameIdx) -> Option<FrameIdx> {
        let ports = u32::try_from(self.ports.len()).unwrap_or(u32::MAX);
        // Datagrams of management have no trace: of them all together there are no more than this.
        if self.frames.in_flight() > self.ports.len().saturating_add(MANY) {
            return None;
        }
        // A tree passes each port once; a loop doubles the copies with every round.
        if let Some(data) = &self.frames[frame].data
            && !self.traces.record_copy(data.id, ports)
        {
            return None;
        }
        Some(self.frames.copy(frame))
    }

    /// Removes the original of copies from the fabric.
    pub(crate) fn release_original(&mut self, frame: FrameIdx) {
        if let Some(data) = self.frames[frame].data.take() {
            self.traces.forget_original(data.id);
        }
        self.frames.release(frame);
    }

    /// A data packet has ended at `port`: discarded for a reason, or delivered.
    pub(crate) fn end_packet(
        &mut self,
        port: PortIdx,
        data: DataPacket,
        reason: Option<DropReason>,
    ) {
        let end = PacketEnd {
            at: self.now,
            port: self.at(port),
            fate: match reason {
                Some(reason) => PacketFate::Discarded(reason),
                None => PacketFate::Delivered(data.bytes),
            },
        };
        self.traces.record_end(data.id, end);
    }
}
