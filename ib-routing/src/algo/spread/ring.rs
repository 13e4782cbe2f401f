//! The candidates of one choice, the least loaded first.
//!
//! Who gets a LID goes behind all that carry no more than it does then. As most LIDs weigh the same,
//! that is the end, nearly always: the candidates take turns.

/// A channel and what it carries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Candidate {
    /// What counts.
    pub(super) load: u64,
    /// Routes given to it in this choice.
    pub(super) sent: u64,
    /// Where the row of the switch at its end begins.
    pub(super) row: usize,
    pub(super) port: u8,
    /// Its place among the channels of its switch.
    pub(super) place: u8,
    /// Its routes do not count.
    pub(super) ignored: bool,
}

/// A queue in a circle: places are numbers of 8 bits, and a switch has fewer ports than that.
pub(super) struct Ring {
    /// By turn.
    candidates: [Candidate; 256],
    /// Turns, the least loaded first, from `head` on.
    queue: [u8; 256],
    head: u8,
    len: u8,
    some_ignored: bool,
}

#[allow(
    clippy::indexing_slicing,
    reason = "256 places: every number of 8 bits is one"
)]
impl Ring {
    pub(super) fn new() -> Self {
        Self {
            candidates: [Candidate::default(); 256],
            queue: [0; 256],
            head: 0,
            len: 0,
            some_ignored: false,
        }
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        (self.head, self.len, self.some_ignored) = (0, 0, false);
    }

    #[inline]
    pub(super) fn len(&self) -> u8 {
        self.len
    }

    /// Takes one more candidate in; its turn is the number of those before it.
    #[inline]
    pub(super) fn seat(&mut self, candidate: Candidate) {
        let turn = self.len;
        self.some_ignored |= candidate.ignored;
        self.candidates[usize::from(turn)] = candidate;
        self.queue[usize::from(turn)] = turn;
        self.len = turn.wrapping_add(1);
    }

    /// Brings the candidates into the order of their loads, those that carry the same as they came.
    #[inline]
    pub(super) fn line_up(&mut self) {
        let len = usize::from(self.len);
        let Some((last, others)) = self.candidates[..len].split_last() else {
            return;
        };
        let falls = |at: &usize| self.candidates[*at].load > self.candidates[*at + 1].load;
        let mut lighter = (0..others.len()).filter(falls);
        match (lighter.next(), lighter.next()) {
            (None, _) => {}
            // Who has taken turns before is as many places on.
            (Some(at), None) if last.load < self.candidates[0].load => {
                self.queue[..len].rotate_left(at + 1);
            }
            _ => {
                self.len = 0;
                for turn in 0..len as u8 {
                    self.queue_up(turn, self.candidates[usize::from(turn)].load);
                }
            }
        }
    }

    /// Puts a turn behind all that carry no more.
    #[inline]
    fn queue_up(&mut self, turn: u8, load: u64) {
        let mut at = self.head.wrapping_add(self.len);
        self.len = self.len.wrapping_add(1);
        while at != self.head {
            let before = self.queue[usize::from(at.wrapping_sub(1))];
            if self.candidates[usize::from(before)].load <= load {
                break;
            }
            self.queue[usize::from(at)] = before;
            at = at.wrapping_sub(1);
        }
        self.queue[usize::from(at)] = turn;
    }

    /// The least loaded candidate.
    #[inline]
    pub(super) fn first(&mut self) -> &mut Candidate {
        &mut self.candidates[usize::from(self.queue[usize::from(self.head)])]
    }

    /// Gives `routes` to the least loaded candidate, which is then so much heavier; returns its port
    /// and row. What weighs nothing does not bring the others out of step.
    #[inline]
    pub(super) fn take(&mut self, weight: u16, routes: u16) -> (u8, usize) {
        let turn = self.queue[usize::from(self.head)];
        let first = &mut self.candidates[usize::from(turn)];
        first.sent += u64::from(routes);
        let taken = (first.port, first.row);
        if weight != 0 && !first.ignored {
            first.load += u64::from(weight);
            let load = first.load;
            self.head = self.head.wrapping_add(1);
            self.len = self.len.wrapping_sub(1);
            self.queue_up(turn, load);
        }
        taken
    }

    /// Gives `routes` each to `count` LIDs that weigh the same, as [`Ring::take`] would one by one.
    /// `give` hears, of each candidate that gets any, the first LID that it gets and its port and row;
    /// it gets every [`Ring::len`]th from there on. Refuses where candidates do not take turns.
    #[inline]
    pub(super) fn take_turns(
        &mut self,
        count: usize,
        weight: u16,
        routes: u16,
        mut give: impl FnMut(usize, u8, usize),
    ) -> bool {
        let heavier = self.first().load + u64::from(weight);
        let last = self.queue[usize::from(self.head.wrapping_add(self.len).wrapping_sub(1))];
        if weight == 0 || self.some_ignored || self.candidates[usize::from(last)].load > heavier {
            return false;
        }
        let len = usize::from(self.len);
        for turn in 0..len.min(count) {
            let next = self.queue[usize::from(self.head.wrapping_add(turn as u8))];
            let candidate = &mut self.candidates[usize::from(next)];
            let lids = (count - turn).div_ceil(len) as u64;
            candidate.load += u64::from(weight) * lids;
            candidate.sent += u64::from(routes) * lids;
            give(turn, candidate.port, candidate.row);
        }
        for _ in 0..count % len.max(1) {
            let end = self.head.wrapping_add(self.len);
            self.queue[usize::from(end)] = self.queue[usize::from(self.head)];
            self.head = self.head.wrapping_add(1);
        }
        true
    }

    /// All candidates, by turn.
    pub(super) fn all(&mut self) -> core::slice::IterMut<'_, Candidate> {
        self.candidates[..usize::from(self.len)].iter_mut()
    }
}
