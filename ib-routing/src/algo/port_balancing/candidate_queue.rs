//! The candidates of one choice, the least loaded first.
//!
//! After taking a LID a candidate moves after every candidate of equal or lower load. As most LIDs weigh
//! the same, that is nearly always the end of the queue: the candidates take turns.

/// A channel and its load.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Candidate {
    /// Sum of the weights of its LIDs.
    pub(super) load: u64,
    /// Routes given to it in this choice.
    pub(super) sent: u64,
    /// First word of the row of flows of the switch at its end.
    pub(super) row: usize,
    pub(super) port: u8,
    /// Its number among the channels of its switch.
    pub(super) place: u8,
    /// Its routes do not count.
    pub(super) ignored: bool,
}

/// A ring buffer: places are numbers of 8 bits, and a switch has fewer ports than that.
pub(super) struct CandidateQueue {
    /// The candidates in the order in which they were pushed; their index is their turn.
    candidates: [Candidate; 256],
    /// Turns, the least loaded first, from `head` on.
    order: [u8; 256],
    head: u8,
    len: u8,
    some_ignored: bool,
}

#[allow(
    clippy::indexing_slicing,
    reason = "256 places: every number of 8 bits is one"
)]
impl CandidateQueue {
    pub(super) fn new() -> Self {
        Self {
            candidates: [Candidate::default(); 256],
            order: [0; 256],
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

    /// Adds a candidate; its turn is the number of those before it.
    #[inline]
    pub(super) fn push(&mut self, candidate: Candidate) {
        let turn = self.len;
        self.some_ignored |= candidate.ignored;
        self.candidates[usize::from(turn)] = candidate;
        self.order[usize::from(turn)] = turn;
        self.len = turn.wrapping_add(1);
    }

    /// Sorts the candidates by load; those of equal load keep their order.
    #[inline]
    pub(super) fn sort_by_load(&mut self) {
        let len = usize::from(self.len);
        let Some((last, others)) = self.candidates[..len].split_last() else {
            return;
        };
        let falls = |at: &usize| self.candidates[*at].load > self.candidates[*at + 1].load;
        let mut lighter = (0..others.len()).filter(falls);
        match (lighter.next(), lighter.next()) {
            (None, _) => {}
            // Loads that come from taking turns are a rotation of a sorted list.
            (Some(at), None) if last.load < self.candidates[0].load => {
                self.order[..len].rotate_left(at + 1);
            }
            _ => {
                self.len = 0;
                for turn in 0..len as u8 {
                    self.insert_by_load(turn, self.candidates[usize::from(turn)].load);
                }
            }
        }
    }

    /// Inserts a turn after all of equal or lower load.
    #[inline]
    fn insert_by_load(&mut self, turn: u8, load: u64) {
        let mut at = self.head.wrapping_add(self.len);
        self.len = self.len.wrapping_add(1);
        while at != self.head {
            let before = self.order[usize::from(at.wrapping_sub(1))];
            if self.candidates[usize::from(before)].load <= load {
                break;
            }
            self.order[usize::from(at)] = before;
            at = at.wrapping_sub(1);
        }
        self.order[usize::from(at)] = turn;
    }

    /// The least loaded candidate.
    #[inline]
    pub(super) fn first(&mut self) -> &mut Candidate {
        &mut self.candidates[usize::from(self.order[usize::from(self.head)])]
    }

    /// Gives `routes` to the least loaded candidate, whose load grows by `weight`; returns its port and
    /// row. A LID without weight leaves the order as it is.
    #[inline]
    pub(super) fn take(&mut self, weight: u16, routes: u16) -> (u8, usize) {
        let turn = self.order[usize::from(self.head)];
        let first = &mut self.candidates[usize::from(turn)];
        first.sent += u64::from(routes);
        let taken = (first.port, first.row);
        if weight != 0 && !first.ignored {
            first.load += u64::from(weight);
            let load = first.load;
            self.head = self.head.wrapping_add(1);
            self.len = self.len.wrapping_sub(1);
            self.insert_by_load(turn, load);
        }
        taken
    }

    /// Gives `routes` each to `count` LIDs that weigh the same, as [`CandidateQueue::take`] would one by one.
    /// `give` is called for each candidate that gets any, with the first LID that it gets and its port and
    /// row; the candidate gets every [`CandidateQueue::len`]th LID from there on. Returns false, and gives
    /// nothing, where candidates do not take turns.
    #[inline]
    pub(super) fn take_turns(
        &mut self,
        count: usize,
        weight: u16,
        routes: u16,
        mut give: impl FnMut(usize, u8, usize),
    ) -> bool {
        let heavier = self.first().load + u64::from(weight);
        let last = self.order[usize::from(self.head.wrapping_add(self.len).wrapping_sub(1))];
        if weight == 0 || self.some_ignored || self.candidates[usize::from(last)].load > heavier {
            return false;
        }
        let len = usize::from(self.len);
        for turn in 0..len.min(count) {
            let next = self.order[usize::from(self.head.wrapping_add(turn as u8))];
            let candidate = &mut self.candidates[usize::from(next)];
            let lids = (count - turn).div_ceil(len) as u64;
            candidate.load += u64::from(weight) * lids;
            candidate.sent += u64::from(routes) * lids;
            give(turn, candidate.port, candidate.row);
        }
        for _ in 0..count % len.max(1) {
            let end = self.head.wrapping_add(self.len);
            self.order[usize::from(end)] = self.order[usize::from(self.head)];
            self.head = self.head.wrapping_add(1);
        }
        true
    }

    /// All candidates, by turn.
    pub(super) fn all(&mut self) -> core::slice::IterMut<'_, Candidate> {
        self.candidates[..usize::from(self.len)].iter_mut()
    }
}
