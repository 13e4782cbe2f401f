//! The credit loop of a link: who may send how much on a virtual lane (IBA vol. 1, 7.9.4).
//!
//! Each end counts what it has sent, in blocks of 64 bytes modulo 4096, and grants the other a limit of its
//! count. Both numbers go in every flow control packet, so that a lost one costs time and nothing else.
//! Pitfall: VL15 has no credits.

use core::time::Duration;

use ib_mad::{Engine, Instant};
use ib_wire::{FcpOp, FlowControlPacket, Vl};
use thiserror::Error;

/// Largest distance that a credit limit may be ahead.
const MAX_AHEAD: u16 = 2048;
/// Time moves on between two packets of a lane, whatever interval is asked for.
const SHORTEST_INTERVAL: Duration = Duration::from_nanos(1);
/// Data lanes: VL0..=VL14.
const LANES: usize = 15;
/// The counters have 12 bits.
const MASK: u16 = 0x0fff;

/// Why the credit loop refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CreditError {
    /// The lane has no credit for a packet of this length.
    #[error("VL{vl}: {needed} blocks needed, {left} left")]
    NoCredit {
        /// Virtual lane of the packet.
        vl: Vl,
        /// Blocks of 64 bytes that the packet takes.
        needed: u16,
        /// Blocks that may be sent.
        left: u16,
    },
    /// A packet came in for which there is no room: the peer broke the credit rules.
    #[error("VL{vl}: a packet of {needed} blocks overran the {left} that are free")]
    Overrun {
        /// Virtual lane of the packet.
        vl: Vl,
        /// Blocks of 64 bytes that the packet takes.
        needed: u16,
        /// Blocks that are free.
        left: u16,
    },
    /// The lane is not in use, or it is VL15.
    #[error("VL{vl} has no credits")]
    NotALane {
        /// The number, which is no data lane of the link.
        vl: Vl,
    },
}

/// One end of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lane {
    /// Blocks sent (FCTBS).
    sent: u16,
    /// The credit limit of `sent` (the peer's FCCL); `None` until the first flow control packet.
    limit: Option<u16>,
    /// Blocks received, as adjusted by the peer's count (ABR).
    received: u16,
    /// Free blocks of the receive buffer.
    free: u16,
    heard_at: Instant,
    send_at: Instant,
    /// The watchdog has reported its silence.
    is_silent: bool,
}

/// Times of the credit loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditConfig {
    /// Data lanes in use, from VL0: 1..=15.
    pub lanes: u8,
    /// Receive buffer of each lane in bytes.
    pub buffer: u32,
    /// Longest time between two flow control packets of a lane: 65,536 symbol times.
    pub update_interval: Duration,
    /// Silence of a lane after which the link is in trouble: 400,000 symbol times.
    pub watchdog: Duration,
}

impl Default for CreditConfig {
    /// One lane of 16 KiB; the times of a link of 2.5 Gb/s a lane: 4 ns a symbol.
    fn default() -> Self {
        Self {
            lanes: 1,
            buffer: 16 << 10,
            update_interval: Duration::from_nanos(65_536 * 4),
            watchdog: Duration::from_nanos(400_000 * 4),
        }
    }
}

/// An event of the credit loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditEvent {
    /// No flow control packet of this lane came within the watchdog's time (trap 131).
    WatchdogExpired(Vl),
}

/// One end of a link: the credits of all its data lanes.
///
/// ```
/// use ib_link::{CreditConfig, CreditLoop};
/// use ib_mad::{Engine, Instant};
/// use ib_wire::Vl;
///
/// let now = Instant::ZERO;
/// let mut a = CreditLoop::new(CreditConfig::default(), now);
/// let mut b = CreditLoop::new(CreditConfig::default(), now);
/// assert!(!a.may_send(Vl::ZERO, 1024), "no credit has been given yet");
/// let update = b.poll_transmit(now).expect("due at once");
/// a.handle_input(now, &update);
/// a.send(Vl::ZERO, 1024)?;
/// b.receive(Vl::ZERO, 1024)?;
/// # Ok::<(), ib_link::CreditError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CreditLoop {
    config: CreditConfig,
    lanes: [Lane; LANES],
    op: FcpOp,
    now: Instant,
}

impl CreditLoop {
    /// A link that has just come up, in the state Initialize.
    #[must_use]
    pub fn new(config: CreditConfig, now: Instant) -> Self {
        let lanes = config.lanes.clamp(1, LANES as u8);
        let free = u16::try_from(config.buffer / 64).unwrap_or(u16::MAX);
        let lane = Lane {
            sent: 0,
            limit: None,
            received: 0,
            free,
            heard_at: now,
            send_at: now,
            is_silent: false,
        };
        Self {
            config: CreditConfig { lanes, ..config },
            lanes: [lane; LANES],
            op: FcpOp::INIT,
            now,
        }
    }

    /// The port is armed or active: packets are updates from now on.
    pub fn activate(&mut self) {
        self.op = FcpOp::NORMAL;
    }

    /// Returns true if a packet of `bytes` may go on this lane; on VL15 it always may.
    #[must_use]
    pub fn may_send(&self, vl: Vl, bytes: u32) -> bool {
        vl == Vl::MANAGEMENT || self.credit(vl) >= blocks(bytes)
    }

    /// Blocks of 64 bytes that may be sent on this lane.
    #[must_use]
    pub fn credit(&self, vl: Vl) -> u16 {
        let Some(Lane {
            sent,
            limit: Some(limit),
            ..
        }) = self.lane(vl)
        else {
            return 0;
        };
        // A limit below the count has no meaning until the next update.
        match limit.wrapping_sub(*sent) & MASK {
            ahead if ahead <= MAX_AHEAD => ahead,
            _ => 0,
        }
    }

    /// Counts a packet that goes out.
    ///
    /// # Errors
    /// [`NoCredit`](CreditError::NoCredit), and nothing counted; [`NotALane`](CreditError::NotALane).
    pub fn send(&mut self, vl: Vl, bytes: u32) -> Result<(), CreditError> {
        if vl == Vl::MANAGEMENT {
            return Ok(());
        }
        let (needed, left) = (blocks(bytes), self.credit(vl));
        let lane = self.lane_mut(vl).ok_or(CreditError::NotALane { vl })?;
        if needed > left {
            return Err(CreditError::NoCredit { vl, needed, left });
        }
        lane.sent = lane.sent.wrapping_add(needed) & MASK;
        Ok(())
    }

    /// Counts a packet that came in; it stays in the buffer until [`free`](Self::free).
    ///
    /// # Errors
    /// [`Overrun`](CreditError::Overrun) if the buffer has no room: the packet is lost;
    /// [`NotALane`](CreditError::NotALane).
    pub fn receive(&mut self, vl: Vl, bytes: u32) -> Result<(), CreditError> {
        if vl == Vl::MANAGEMENT {
            return Ok(());
        }
        let needed = blocks(bytes);
        let lane = self.lane_mut(vl).ok_or(CreditError::NotALane { vl })?;
        let left = lane.free;
        lane.free = left
            .checked_sub(needed)
            .ok_or(CreditError::Overrun { vl, needed, left })?;
        lane.received = lane.received.wrapping_add(needed) & MASK;
        Ok(())
    }

    /// Gives the room of a packet back, and sends the peer an update soon.
    pub fn free(&mut self, vl: Vl, bytes: u32) {
        let now = self.now;
        let capacity = u16::try_from(self.config.buffer / 64).unwrap_or(u16::MAX);
        if let Some(lane) = self.lane_mut(vl) {
            lane.free = lane.free.saturating_add(blocks(bytes)).min(capacity);
            lane.send_at = now;
        }
    }

    fn lane(&self, vl: Vl) -> Option<&Lane> {
        let in_use = self.lanes.get(..self.config.lanes.into())?;
        in_use.get(usize::from(vl.bits()))
    }

    fn lane_mut(&mut self, vl: Vl) -> Option<&mut Lane> {
        let in_use = self.lanes.get_mut(..self.config.lanes.into())?;
        in_use.get_mut(usize::from(vl.bits()))
    }

    fn in_use(&mut self) -> impl Iterator<Item = (Vl, &mut Lane)> {
        let lanes = usize::from(self.config.lanes);
        let vls = (0u8..).map_while(|vl| Vl::try_new(vl).ok());
        vls.zip(self.lanes.iter_mut().take(lanes))
    }
}

/// Blocks of 64 bytes that a packet takes.
fn blocks(bytes: u32) -> u16 {
    u16::try_from(bytes.div_ceil(64)).unwrap_or(u16::MAX)
}

impl Engine for CreditLoop {
    type Input<'a> = &'a FlowControlPacket;
    type Transmit = FlowControlPacket;
    type Event = CreditEvent;

    /// Takes in a flow control packet. One with a wrong CRC, of a reserved kind or of a lane that is not
    /// in use changes nothing.
    fn handle_input(&mut self, now: Instant, packet: &FlowControlPacket) {
        self.now = now;
        if !packet.crc_check().is_ok() || packet.op().name().is_none() {
            return;
        }
        if let Some(lane) = self.lane_mut(packet.vl()) {
            lane.limit = Some(packet.fccl());
            // Packets that were lost never arrive: the peer's count is the true one.
            lane.received = packet.fctbs();
            lane.heard_at = now;
            lane.is_silent = false;
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<FlowControlPacket> {
        self.now = now;
        let (op, interval) = (self.op, self.config.update_interval);
        let (vl, lane) = self.in_use().find(|(_, lane)| lane.send_at <= now)?;
        lane.send_at = now.saturating_add(interval.max(SHORTEST_INTERVAL));
        let limit = lane.received.wrapping_add(lane.free.min(MAX_AHEAD)) & MASK;
        Some(FlowControlPacket::new(op, vl, lane.sent, limit))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let lanes = self.lanes.iter().take(self.config.lanes.into());
        let due = lanes.flat_map(|lane| {
            let watchdog = lane.heard_at.saturating_add(self.config.watchdog);
            [Some(lane.send_at), (!lane.is_silent).then_some(watchdog)]
        });
        due.flatten().min()
    }

    fn poll_event(&mut self) -> Option<CreditEvent> {
        let (now, watchdog) = (self.now, self.config.watchdog);
        let silent = |lane: &Lane| !lane.is_silent && lane.heard_at.saturating_add(watchdog) <= now;
        let (vl, lane) = self.in_use().find(|(_, lane)| silent(lane))?;
        lane.is_silent = true;
        Some(CreditEvent::WatchdogExpired(vl))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    fn pair(buffer: u32) -> [CreditLoop; 2] {
        let config = CreditConfig {
            buffer,
            ..CreditConfig::default()
        };
        [
            CreditLoop::new(config, at(0)),
            CreditLoop::new(config, at(0)),
        ]
    }

    /// Hands the flow control packets of both ends over.
    fn update(ends: &mut [CreditLoop; 2], now: Instant) {
        for from in 0..2 {
            while let Some(packet) = ends[from].poll_transmit(now) {
                ends[1 - from].handle_input(now, &packet);
            }
        }
    }

    #[test]
    fn a_sender_stops_when_the_buffer_is_full_and_goes_on_when_it_is_read() {
        let mut ends = pair(1024);
        update(&mut ends, at(0));
        for _ in 0..4 {
            ends[0].send(Vl::ZERO, 256).unwrap();
            ends[1].receive(Vl::ZERO, 256).unwrap();
        }
        assert_eq!(
            ends[0].send(Vl::ZERO, 64),
            Err(CreditError::NoCredit {
                vl: Vl::ZERO,
                needed: 1,
                left: 0
            })
        );
        ends[1].free(Vl::ZERO, 256);
        update(&mut ends, at(1));
        assert_eq!(ends[0].credit(Vl::ZERO), 4);
    }

    #[test]
    fn counters_wrap_without_losing_credit() {
        let mut ends = pair(64 << 10);
        // 64 blocks a round; the counters have 12 bits.
        let rounds = if cfg!(miri) { 150 } else { 5000 };
        for round in 0..rounds {
            update(&mut ends, at(round));
            ends[0].send(Vl::ZERO, 4096).unwrap();
            ends[1].receive(Vl::ZERO, 4096).unwrap();
            ends[1].free(Vl::ZERO, 4096);
        }
        update(&mut ends, at(rounds));
        assert_eq!(ends[0].credit(Vl::ZERO), 1024);
    }

    #[test]
    fn blocks_of_a_lost_packet_come_back_with_the_next_update() {
        let mut ends = pair(1024);
        update(&mut ends, at(0));
        ends[0].send(Vl::ZERO, 1024).unwrap();
        assert_eq!(ends[0].credit(Vl::ZERO), 0);
        // The sender's own update has its count; the answer grants the credits again.
        update(&mut ends, at(300));
        update(&mut ends, at(600));
        assert_eq!(ends[0].credit(Vl::ZERO), 16);
    }

    #[test]
    fn a_lost_update_costs_time_only() {
        let mut ends = pair(1024);
        update(&mut ends, at(0));
        ends[0].send(Vl::ZERO, 1024).unwrap();
        ends[1].receive(Vl::ZERO, 1024).unwrap();
        ends[1].free(Vl::ZERO, 1024);
        let _lost = ends[1].poll_transmit(at(1));
        assert_eq!(ends[0].credit(Vl::ZERO), 0);
        update(&mut ends, at(300));
        assert_eq!(ends[0].credit(Vl::ZERO), 16);
    }

    #[test]
    fn no_more_than_2048_blocks_are_granted() {
        let mut ends = pair(1 << 20);
        update(&mut ends, at(0));
        assert_eq!(ends[0].credit(Vl::ZERO), 2048);
    }

    #[test]
    fn vl15_needs_no_credit() {
        let mut ends = pair(0);
        assert!(ends[0].may_send(Vl::MANAGEMENT, 288));
        assert_eq!(ends[0].send(Vl::MANAGEMENT, 288), Ok(()));
        assert_eq!(ends[0].receive(Vl::MANAGEMENT, 288), Ok(()));
    }

    #[test]
    fn a_peer_that_breaks_the_rules_overruns_the_buffer() {
        let mut ends = pair(64);
        assert!(ends[1].receive(Vl::ZERO, 128).is_err());
        assert_eq!(ends[1].receive(Vl::ZERO, 64), Ok(()));
    }

    #[test]
    fn silence_expires_the_watchdog_once() {
        let [mut end, _] = pair(1024);
        let packet = FlowControlPacket::new(FcpOp::NORMAL, Vl::ZERO, 0, 16);
        end.handle_input(at(100), &packet);
        end.handle_timeout(at(1699));
        assert_eq!(end.poll_event(), None);
        end.handle_timeout(at(1700));
        assert_eq!(
            end.poll_event(),
            Some(CreditEvent::WatchdogExpired(Vl::ZERO))
        );
        assert_eq!(end.poll_event(), None);
    }

    #[test]
    fn a_packet_with_a_wrong_crc_changes_nothing() {
        let [mut end, _] = pair(1024);
        let mut packet = FlowControlPacket::new(FcpOp::NORMAL, Vl::ZERO, 0, 16);
        packet.set_lpcrc(packet.lpcrc() ^ 1);
        end.handle_input(at(0), &packet);
        assert_eq!(end.credit(Vl::ZERO), 0);
    }

    #[test]
    fn a_packet_of_a_reserved_kind_changes_nothing() {
        let [mut end, _] = pair(1024);
        let packet = FlowControlPacket::new(FcpOp(2), Vl::ZERO, 0, 16);
        end.handle_input(at(0), &packet);
        assert_eq!(end.credit(Vl::ZERO), 0);
    }

    #[test]
    fn each_lane_has_one_packet_at_a_time_without_an_interval_too() {
        let config = CreditConfig {
            lanes: 2,
            update_interval: Duration::ZERO,
            ..CreditConfig::default()
        };
        let mut end = CreditLoop::new(config, at(0));
        let packets = core::iter::from_fn(|| end.poll_transmit(at(0)));
        assert_eq!(packets.take(9).count(), 2);
    }

    #[test]
    fn lanes_that_are_not_in_use_have_no_credits() {
        let [mut end, _] = pair(1024);
        let vl = Vl::try_new(1).unwrap();
        assert_eq!(end.send(vl, 64), Err(CreditError::NotALane { vl }));
    }
}
