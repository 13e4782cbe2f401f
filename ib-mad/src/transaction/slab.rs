//! Storage of requests: entries that are used again, lists through them, and the table of IDs.

use alloc::vec::Vec;
use core::time::Duration;

use super::FailureReason;
use crate::{Instant, Mad, MgmtClass, TransactionId};

/// An entry's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Index(u32);

impl Index {
    const NONE: Self = Self(u32::MAX);
    /// Entries that numbers reach.
    pub(super) const MAX_ENTRIES: usize = u32::MAX as usize / 4;

    pub(super) fn at(self) -> usize {
        self.0 as usize
    }
}

/// State of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The entry is not in use.
    Free,
    /// In the queue of its destination.
    Waiting,
    /// In the queue of what may be sent when the window has room.
    Ready,
    /// On the wire; its timer runs.
    InFlight,
    /// In the queue of what is to be sent again; it keeps its place in the window.
    Resend,
    /// Its responder was busy; its timer runs.
    BusyWait,
    /// In the queue of failures.
    Failed(FailureReason),
}

/// A request without its datagram and context.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) state: State,
    class: MgmtClass,
    id: u32,
    previous: Index,
    next: Index,
    pub(super) attempts: u32,
    /// Attempts since the request got a new address or its responder last showed itself.
    pub(super) in_a_row: u32,
    pub(super) retries: u32,
    pub(super) busy: u32,
    pub(super) redirects: u32,
    pub(super) timeout: Duration,
    pub(super) destination: Option<u64>,
    pub(super) first_sent_at: Instant,
}

impl Entry {
    pub(super) fn new(timeout: Duration, retries: u32) -> Self {
        Self {
            state: State::Ready,
            class: MgmtClass(0),
            id: 0,
            previous: Index::NONE,
            next: Index::NONE,
            attempts: 0,
            in_a_row: 0,
            retries,
            busy: 0,
            redirects: 0,
            timeout,
            destination: None,
            first_sent_at: Instant::ZERO,
        }
    }
}

/// A list through the entries, first in, first out. An entry is in one list at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fifo {
    first: Index,
    last: Index,
}

impl Fifo {
    pub(super) const EMPTY: Self = Self {
        first: Index::NONE,
        last: Index::NONE,
    };

    pub(super) fn is_empty(&self) -> bool {
        self.first == Index::NONE
    }
}

/// The entries in use and free, and which entry an ID belongs to.
///
/// IDs count up, so the low bits of an ID are its place in the table: a look-up is one load and a
/// comparison. An ID whose place is taken by an older request is left out.
#[derive(Debug)]
pub(super) struct Slab<C> {
    entries: Vec<Entry>,
    mads: Vec<Mad>,
    contexts: Vec<Option<C>>,
    free: Fifo,
    /// Entries in use.
    len: usize,
    /// A power of two, at least twice `len`.
    ids: Vec<Index>,
}

impl<C> Slab<C> {
    pub(super) fn new() -> Self {
        Self {
            entries: Vec::new(),
            mads: Vec::new(),
            contexts: Vec::new(),
            free: Fifo::EMPTY,
            len: 0,
            ids: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Makes the table of IDs large enough for one more entry.
    pub(super) fn make_room(&mut self) {
        let needed = self.len.saturating_add(1).saturating_mul(2);
        if needed <= self.ids.len() {
            return;
        }
        self.ids.clear();
        let size = needed.max(16).checked_next_power_of_two();
        self.ids.resize(size.unwrap_or(needed), Index::NONE);
        // Places that differed in fewer bits still differ in more.
        for at in 0..self.entries.len() {
            let Some(entry) = self.entries.get(at) else {
                continue;
            };
            let named = !matches!(entry.state, State::Free | State::Failed(_));
            let place = self.place(entry.id);
            if named && let Some(slot) = self.ids.get_mut(place) {
                // `MAX_ENTRIES` bounds the number of entries.
                *slot = Index(at as u32);
            }
        }
    }

    /// Returns true if the place of this ID in the table is free.
    pub(super) fn is_free(&self, id: u32) -> bool {
        self.ids.get(self.place(id)) == Some(&Index::NONE)
    }

    /// Stores a request under an ID whose place is free.
    pub(super) fn insert(
        &mut self,
        entry: Entry,
        id: TransactionId,
        mad: &Mad,
        context: C,
    ) -> Index {
        let mut free = self.free;
        let index = match self.pop(&mut free) {
            Some(index) => index,
            None => {
                let index = Index(self.entries.len() as u32);
                self.entries.push(entry);
                self.mads.push(*mad);
                self.contexts.push(None);
                index
            }
        };
        self.free = free;
        let at = index.at();
        if let (Some(slot), Some(stored), Some(kept)) = (
            self.entries.get_mut(at),
            self.mads.get_mut(at),
            self.contexts.get_mut(at),
        ) {
            *stored = *mad;
            stored.header_mut().set_transaction_id(id);
            *slot = entry;
            slot.class = stored.header().mgmt_class();
            slot.id = id.low();
            *kept = Some(context);
        }
        let place = self.place(id.low());
        if let Some(slot) = self.ids.get_mut(place) {
            *slot = index;
        }
        self.len = self.len.saturating_add(1);
        index
    }

    /// The entry of a request that is open.
    pub(super) fn find(&self, id: u32, class: MgmtClass) -> Option<Index> {
        let index = *self.ids.get(self.place(id))?;
        let entry = self.entries.get(index.at())?;
        (entry.id == id && entry.class == class).then_some(index)
    }

    /// Takes the entry out of the table of IDs.
    pub(super) fn forget_id(&mut self, index: Index) {
        let Some(entry) = self.entries.get(index.at()) else {
            return;
        };
        let place = self.place(entry.id);
        if let Some(slot) = self.ids.get_mut(place)
            && *slot == index
        {
            *slot = Index::NONE;
        }
    }

    /// Takes the entry out of use. It is in no list and no table.
    pub(super) fn free(&mut self, index: Index) -> Option<(Entry, C)> {
        let entry = self.entries.get_mut(index.at())?;
        let was = *entry;
        entry.state = State::Free;
        let context = self.contexts.get_mut(index.at())?.take()?;
        self.len = self.len.saturating_sub(1);
        let mut free = self.free;
        self.push_front(&mut free, index);
        self.free = free;
        Some((was, context))
    }

    pub(super) fn get(&self, index: Index) -> Option<&Entry> {
        self.entries.get(index.at())
    }

    pub(super) fn get_mut(&mut self, index: Index) -> Option<&mut Entry> {
        self.entries.get_mut(index.at())
    }

    pub(super) fn state(&self, index: Index) -> Option<State> {
        self.get(index).map(|entry| entry.state)
    }

    pub(super) fn mad(&self, index: Index) -> Option<&Mad> {
        self.mads.get(index.at())
    }

    pub(super) fn mad_mut(&mut self, index: Index) -> Option<&mut Mad> {
        self.mads.get_mut(index.at())
    }

    pub(super) fn context(&self, index: Index) -> Option<&C> {
        self.contexts.get(index.at())?.as_ref()
    }

    pub(super) fn context_mut(&mut self, index: Index) -> Option<&mut C> {
        self.contexts.get_mut(index.at())?.as_mut()
    }

    /// The numbers of all entries, in use or free.
    pub(super) fn indices(&self) -> impl Iterator<Item = Index> + use<C> {
        (0..self.entries.len() as u32).map(Index)
    }

    pub(super) fn push_back(&mut self, list: &mut Fifo, index: Index) {
        let last = core::mem::replace(&mut list.last, index);
        match self.entries.get_mut(last.at()) {
            Some(entry) => entry.next = index,
            None => list.first = index,
        }
        if let Some(entry) = self.entries.get_mut(index.at()) {
            entry.previous = last;
            entry.next = Index::NONE;
        }
    }

    pub(super) fn push_front(&mut self, list: &mut Fifo, index: Index) {
        let first = core::mem::replace(&mut list.first, index);
        match self.entries.get_mut(first.at()) {
            Some(entry) => entry.previous = index,
            None => list.last = index,
        }
        if let Some(entry) = self.entries.get_mut(index.at()) {
            entry.previous = Index::NONE;
            entry.next = first;
        }
    }

    #[inline]
    pub(super) fn pop(&mut self, list: &mut Fifo) -> Option<Index> {
        let first = list.first;
        self.entries.get(first.at())?;
        self.unlink(list, first);
        Some(first)
    }

    /// Takes an entry out of the list that it is in.
    pub(super) fn unlink(&mut self, list: &mut Fifo, index: Index) {
        let Some(&Entry { previous, next, .. }) = self.entries.get(index.at()) else {
            return;
        };
        match self.entries.get_mut(previous.at()) {
            Some(entry) => entry.next = next,
            None => list.first = next,
        }
        match self.entries.get_mut(next.at()) {
            Some(entry) => entry.previous = previous,
            None => list.last = previous,
        }
    }

    /// The place of an ID in the table.
    fn place(&self, id: u32) -> usize {
        id as usize & self.ids.len().wrapping_sub(1)
    }
}
