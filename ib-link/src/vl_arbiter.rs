//! The arbiter of a port's virtual lanes: who sends next (IBA vol. 1, 7.6.9).
//!
//! Two tables of lanes and weights: the high-priority one goes first, until it has sent as much as
//! LimitOfHighPriority allows while the other waits. Pitfall: a weight counts 64 bytes and is used
//! up by whole packets, so that a small weight still sends a packet of any length.

use ib_wire::Vl;

/// Entries that a table has at most.
const MAX_ENTRIES: usize = 64;

/// One entry of a VL arbitration table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VlWeight {
    /// The lane; 15 is skipped.
    pub vl: Vl,
    /// Units of 64 bytes that the lane may send in its turn; 0: the entry is skipped.
    pub weight: u8,
}

/// The packets that wait: asked by the arbiter, lane by lane.
pub trait VlQueues {
    /// Bytes of the packet at the head of the lane's queue, from the LRH to the VCRC; `None` if
    /// nothing waits there or the lane has no credit for it.
    fn head(&self, vl: Vl) -> Option<u32>;
}

impl<F: Fn(Vl) -> Option<u32>> VlQueues for F {
    fn head(&self, vl: Vl) -> Option<u32> {
        self(vl)
    }
}

/// Why a lane sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Management: VL15 goes before all and is not counted.
    Management,
    /// By the high-priority table.
    High,
    /// By the low-priority table.
    Low,
}

/// Decides which lane sends the next packet.
///
/// ```
/// use ib_link::{Turn, VlArbiter, VlWeight};
/// use ib_wire::Vl;
///
/// let lane = |vl| Vl::try_new(vl).expect("below 16");
/// let high = [VlWeight { vl: lane(0), weight: 4 }];
/// let low = [VlWeight { vl: lane(1), weight: 4 }];
/// // Both lanes always have packets of 256 bytes; one high packet between two low ones.
/// let mut arbiter = VlArbiter::new(&high, &low, 0);
/// let both = |vl: Vl| (vl.bits() < 2).then_some(256);
/// let turns: Vec<Turn> = (0..4).filter_map(|_| Some(arbiter.next(&both)?.1)).collect();
/// assert_eq!(turns, [Turn::High, Turn::Low, Turn::High, Turn::Low]);
/// ```
#[derive(Clone, Debug)]
pub struct VlArbiter {
    high: Table,
    low: Table,
    /// Bytes that the high table may send while low packets wait; `None`: no limit.
    limit: Option<u64>,
    /// Bytes left of it; a packet that fits into a rest of one byte still goes.
    high_left: u64,
}

impl VlArbiter {
    /// An arbiter of these tables; entries past the 64th are not used.
    ///
    /// `high_limit` is PortInfo's VLHighLimit: units of 4096 bytes that the high table may send
    /// before a waiting low packet goes. 0: one packet; 255: no limit, so that low may starve.
    #[must_use]
    pub fn new(high: &[VlWeight], low: &[VlWeight], high_limit: u8) -> Self {
        let limit = match high_limit {
            255 => None,
            units => Some(u64::from(units).saturating_mul(4096)),
        };
        Self {
            high: Table::new(high),
            low: Table::new(low),
            limit,
            high_left: fresh(limit),
        }
    }

    /// The lane that sends now, and why; `None` if no lane of the tables has a packet that may go.
    /// The caller takes the packet from the lane's queue.
    pub fn next(&mut self, queues: &impl VlQueues) -> Option<(Vl, Turn)> {
        if queues.head(Vl::MANAGEMENT).is_some() {
            return Some((Vl::MANAGEMENT, Turn::Management));
        }
        let high_may = self.limit.is_none() || self.high_left > 0;
        if high_may && let Some((vl, bytes)) = self.high.next(queues) {
            self.high_left = self.high_left.saturating_sub(u64::from(bytes));
            return Some((vl, Turn::High));
        }
        if let Some((vl, _)) = self.low.next(queues) {
            self.high_left = fresh(self.limit);
            return Some((vl, Turn::Low));
        }
        // No packet of low priority waits: the limit need not hold others up.
        let (vl, bytes) = self.high.next(queues)?;
        self.high_left = fresh(self.limit).saturating_sub(u64::from(bytes));
        Some((vl, Turn::High))
    }

    /// The lanes of a table, bit by lane, that can never send: in no entry with a weight. `used`
    /// says which lanes carry packets.
    #[must_use]
    pub fn unserved(&self, used: u16) -> u16 {
        used & !(self.high.lanes() | self.low.lanes())
    }
}

/// The allowance of the high table: one packet at least.
fn fresh(limit: Option<u64>) -> u64 {
    limit.unwrap_or(u64::MAX).max(1)
}

/// One table and whose turn it is.
#[derive(Clone, Copy, Debug)]
struct Table {
    entries: [VlWeight; MAX_ENTRIES],
    len: usize,
    current: usize,
    /// Bytes that the current entry may still send; 0: its turn is over.
    left: u32,
}

impl Table {
    fn new(given: &[VlWeight]) -> Self {
        let mut entries = [VlWeight::default(); MAX_ENTRIES];
        for (to, from) in entries.iter_mut().zip(given) {
            *to = *from;
        }
        let mut table = Self {
            entries,
            len: given.len().min(MAX_ENTRIES),
            current: 0,
            left: 0,
        };
        table.left = table.weight(0);
        table
    }

    /// The lane that sends by this table now, and the length of its packet.
    fn next(&mut self, queues: &impl VlQueues) -> Option<(Vl, u32)> {
        // One round and the rest of the current turn.
        for _ in 0..=self.len {
            if self.left > 0
                && let Some(entry) = self.entries.get(self.current)
                && let Some(bytes) = queues.head(entry.vl)
            {
                self.left = self.left.saturating_sub(bytes);
                return Some((entry.vl, bytes));
            }
            self.advance();
        }
        None
    }

    fn advance(&mut self) {
        self.current = match self.current.saturating_add(1) {
            next if next < self.len => next,
            _ => 0,
        };
        self.left = self.weight(self.current);
    }

    /// Bytes of a turn of an entry; 0 if it is skipped.
    fn weight(&self, at: usize) -> u32 {
        match self.entries.get(..self.len).and_then(|used| used.get(at)) {
            Some(entry) if entry.vl != Vl::MANAGEMENT => u32::from(entry.weight) << 6,
            _ => 0,
        }
    }

    fn lanes(&self) -> u16 {
        let used = self.entries.get(..self.len).unwrap_or_default();
        let counted = used
            .iter()
            .filter(|entry| entry.weight > 0 && entry.vl != Vl::MANAGEMENT);
        counted.fold(0, |lanes, entry| {
            lanes | 1u16.wrapping_shl(entry.vl.bits().into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(of: &[(u8, u8)]) -> Vec<VlWeight> {
        let entry = |&(vl, weight)| VlWeight {
            vl: Vl::try_new(vl).unwrap(),
            weight,
        };
        of.iter().map(entry).collect()
    }

    /// The lanes of the next `n` packets if these lanes always have one of `bytes` bytes.
    fn lanes(arbiter: &mut VlArbiter, busy: &[u8], bytes: u32, n: usize) -> Vec<u8> {
        let queues = |vl: Vl| busy.contains(&vl.bits()).then_some(bytes);
        (0..n)
            .map_while(|_| Some(arbiter.next(&queues)?.0.bits()))
            .collect()
    }

    #[test]
    fn weights_count_64_bytes() {
        let mut arbiter = VlArbiter::new(&[], &entries(&[(0, 8), (1, 4)]), 0);
        assert_eq!(lanes(&mut arbiter, &[0, 1], 256, 6), [0, 0, 1, 0, 0, 1]);
    }

    #[test]
    fn a_weight_of_one_sends_a_whole_packet_of_any_length() {
        let mut arbiter = VlArbiter::new(&[], &entries(&[(0, 1), (1, 1)]), 0);
        assert_eq!(lanes(&mut arbiter, &[0, 1], 4096, 4), [0, 1, 0, 1]);
    }

    #[test]
    fn an_idle_lane_loses_its_turn() {
        let mut arbiter = VlArbiter::new(&[], &entries(&[(0, 8), (1, 4), (2, 4)]), 0);
        assert_eq!(lanes(&mut arbiter, &[1, 2], 256, 4), [1, 2, 1, 2]);
    }

    #[test]
    fn entries_without_weight_and_of_vl15_are_skipped() {
        let mut arbiter = VlArbiter::new(&[], &entries(&[(0, 0), (15, 4), (2, 4)]), 0);
        assert_eq!(lanes(&mut arbiter, &[0, 2], 256, 3), [2, 2, 2]);
        assert_eq!(arbiter.unserved(0b101), 0b1);
    }

    #[test]
    fn a_lane_may_be_in_several_entries() {
        let mut arbiter = VlArbiter::new(&[], &entries(&[(0, 4), (1, 4), (0, 4), (2, 4)]), 0);
        assert_eq!(lanes(&mut arbiter, &[0, 1, 2], 256, 4), [0, 1, 0, 2]);
    }

    #[test]
    fn the_high_limit_counts_4096_bytes() {
        let mut arbiter = VlArbiter::new(&entries(&[(0, 255)]), &entries(&[(1, 4)]), 1);
        // 4096 bytes are 16 packets of 256.
        let sent = lanes(&mut arbiter, &[0, 1], 256, 34);
        let expected = [[0; 16].as_slice(), &[1]].concat();
        assert_eq!(sent, [expected.clone(), expected].concat());
    }

    #[test]
    fn without_a_limit_low_starves() {
        let mut arbiter = VlArbiter::new(&entries(&[(0, 1)]), &entries(&[(1, 255)]), 255);
        assert_eq!(lanes(&mut arbiter, &[0, 1], 4096, 1000), [0; 1000]);
        assert_eq!(lanes(&mut arbiter, &[1], 4096, 2), [1, 1]);
    }

    #[test]
    fn an_idle_low_table_does_not_hold_high_up() {
        let mut arbiter = VlArbiter::new(&entries(&[(0, 1)]), &entries(&[(1, 255)]), 0);
        assert_eq!(lanes(&mut arbiter, &[0], 256, 5), [0; 5]);
    }

    #[test]
    fn management_goes_before_all() {
        let mut arbiter = VlArbiter::new(&entries(&[(0, 1)]), &[], 0);
        assert_eq!(lanes(&mut arbiter, &[0, 15], 256, 2), [15, 15]);
    }

    #[test]
    fn empty_tables_send_nothing() {
        let mut arbiter = VlArbiter::new(&[], &[], 0);
        assert_eq!(lanes(&mut arbiter, &[0, 1], 256, 1), [0u8; 0]);
        assert_eq!(arbiter.unserved(0b11), 0b11);
    }
}
