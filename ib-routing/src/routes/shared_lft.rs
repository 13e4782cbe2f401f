//! A forwarding table that several owners share.

use alloc::{borrow::Cow, sync::Arc, vec, vec::Vec};

use ib_wire::PortNum;

/// LIDs in one block of a forwarding table.
pub(super) const BLOCK: usize = 64;

/// Blocks in the longest forwarding table.
const BLOCKS: usize = 1024;

/// The part of a row's blocks, as its reciprocal, from which on changed ones are merged into a row of its own.
const MANY: usize = 8;

/// A switch's linear forwarding table, by LID, that several owners share.
#[derive(Clone, Debug)]
pub struct SharedLft {
    buffer: Arc<Vec<u8>>,
    /// Index of the first byte in the buffer, in blocks of 64.
    start: u32,
    /// Length in blocks of 64.
    len: u32,
    /// The blocks that differ from the buffer, if any do.
    changes: Option<Arc<Changes>>,
}

/// Blocks of a table that replace those of its buffer.
#[derive(Clone, Debug)]
struct Changes {
    /// A bit for each block.
    numbers: [u64; BLOCKS / 64],
    /// The blocks, in the order of their numbers.
    blocks: Vec<[u8; BLOCK]>,
}

impl Changes {
    const NONE: Self = Self {
        numbers: [0; BLOCKS / 64],
        blocks: Vec::new(),
    };

    /// The place of a block, or the place where it would be inserted.
    #[inline]
    fn place(&self, number: usize) -> Result<usize, usize> {
        let (words, bit) = (number / 64, 1_u64 << (number % 64));
        let word = self.numbers.get(words).copied().unwrap_or(0);
        let before = self
            .numbers
            .iter()
            .take(words)
            .map(|word| word.count_ones());
        let place = (before.sum::<u32>() + (word & (bit - 1)).count_ones()) as usize;
        if word & bit != 0 {
            Ok(place)
        } else {
            Err(place)
        }
    }

    #[inline]
    fn block(&self, number: usize) -> Option<&[u8; BLOCK]> {
        let word = self.numbers.get(number / 64)?;
        if word & (1 << (number % 64)) == 0 {
            return None;
        }
        self.blocks.get(self.place(number).ok()?)
    }

    /// A block to write; it is added if it is not there.
    fn block_mut(
        &mut self,
        number: usize,
        original: impl FnOnce() -> Option<[u8; BLOCK]>,
    ) -> Option<&mut [u8; BLOCK]> {
        let place = match self.place(number) {
            Ok(place) => place,
            Err(place) => {
                let word = self.numbers.get_mut(number / 64)?;
                self.blocks.insert(place, original()?);
                *word |= 1 << (number % 64);
                place
            }
        };
        self.blocks.get_mut(place)
    }
}

/// The numbers of the bits that are set, in order.
fn bits(words: [u64; BLOCKS / 64]) -> impl Iterator<Item = u16> {
    (0..).zip(words).flat_map(|(number, word)| {
        let mut left = word;
        core::iter::from_fn(move || {
            let bit = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (bit < u64::BITS).then_some(number * 64 + bit as u16)
        })
    })
}

impl SharedLft {
    /// Returns true if both are the same memory, so that their content is equal. Two tables of equal content may
    /// differ.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.has_same_buffer(other)
            && match (&self.changes, &other.changes) {
                (None, None) => true,
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                _ => false,
            }
    }

    fn has_same_buffer(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.buffer, &other.buffer)
            && (self.start, self.len) == (other.start, other.len)
    }

    /// A table of so many blocks of 64 LIDs, none of which is reachable, with memory of its own.
    #[must_use]
    pub fn unreachable(blocks: u16) -> Self {
        Self {
            buffer: Arc::new(vec![PortNum::UNREACHABLE.0; usize::from(blocks) * BLOCK]),
            start: 0,
            len: blocks.into(),
            changes: None,
        }
    }

    /// The table of `len` blocks of a buffer from block `start` on.
    pub(super) fn of(buffer: &Arc<Vec<u8>>, start: usize, len: usize) -> Self {
        Self {
            buffer: Arc::clone(buffer),
            start: start as u32,
            len: len as u32,
            changes: None,
        }
    }

    /// Length in blocks of 64 LIDs.
    #[must_use]
    pub const fn num_blocks(&self) -> usize {
        self.len as usize
    }

    /// The entries of 64 LIDs; `None` past the end.
    #[inline]
    #[must_use]
    pub fn block(&self, number: u16) -> Option<&[u8; BLOCK]> {
        let number = usize::from(number);
        let changed = self.changes.as_ref();
        let changed = changed.and_then(|changes| changes.block(number));
        changed.or_else(|| self.buffer().get(number * BLOCK..)?.first_chunk())
    }

    /// All blocks of 64 LIDs, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &[u8; BLOCK]> {
        let numbers = (0..=u16::MAX).take(self.num_blocks());
        numbers.map_while(|number| self.block(number))
    }

    /// All entries. They are copied if blocks were changed since the table was first shared.
    #[must_use]
    pub fn entries(&self) -> Cow<'_, [u8]> {
        let Some(changes) = &self.changes else {
            return Cow::Borrowed(self.buffer());
        };
        let mut all = self.buffer().to_vec();
        for (number, block) in bits(changes.numbers).zip(&changes.blocks) {
            let to = all.get_mut(usize::from(number) * BLOCK..);
            if let Some(to) = to.and_then(<[u8]>::first_chunk_mut) {
                *to = *block;
            }
        }
        Cow::Owned(all)
    }

    /// The numbers of the blocks in which two tables can differ, in order, if both are changed clones of one table; `None` if
    /// all blocks have to be compared.
    #[must_use]
    pub fn changed_blocks(&self, other: &Self) -> Option<impl Iterator<Item = u16> + use<>> {
        if !self.has_same_buffer(other) {
            return None;
        }
        let numbers = |of: &Self| {
            let changes = of.changes.as_ref();
            changes.map_or([0; BLOCKS / 64], |changes| changes.numbers)
        };
        let (mut all, others) = (numbers(self), numbers(other));
        for (all, other) in all.iter_mut().zip(others) {
            *all |= other;
        }
        Some(bits(all))
    }

    /// The entries, to write; `None` if others share them, or if blocks were changed beside a table that others share.
    pub fn get_mut(&mut self) -> Option<&mut [u8]> {
        let is_whole = self.changes.is_none() && self.buffer.len() == self.num_blocks() * BLOCK;
        let buffer = Arc::get_mut(&mut self.buffer).filter(|_| is_whole);
        buffer.map(Vec::as_mut_slice)
    }

    #[inline]
    fn buffer(&self) -> &[u8] {
        let start = self.start as usize * BLOCK;
        let range = start..start + self.num_blocks() * BLOCK;
        self.buffer.get(range).unwrap_or_default()
    }

    /// An entry; `None` past the end.
    #[inline]
    pub(super) fn entry(&self, at: usize) -> Option<u8> {
        if let Some(changes) = &self.changes
            && let Some(block) = changes.block(at / BLOCK)
        {
            return block.get(at % BLOCK).copied();
        }
        self.buffer().get(at).copied()
    }

    /// Writes an entry. If others share the table, its block is copied first.
    pub(super) fn set(&mut self, at: usize, port: u8) {
        if let Some(own) = self.get_mut() {
            if let Some(entry) = own.get_mut(at) {
                *entry = port;
            }
            return;
        }
        let (start, len) = (self.start as usize, self.num_blocks());
        let buffer = &self.buffer;
        let changes = self.changes.get_or_insert_with(|| Arc::new(Changes::NONE));
        let number = at / BLOCK;
        let original = || {
            let block = (number < len).then(|| buffer.get((start + number) * BLOCK..))?;
            block?.first_chunk().copied()
        };
        let block = Arc::make_mut(changes).block_mut(number, original);
        if let Some(entry) = block.and_then(|block| block.get_mut(at % BLOCK)) {
            *entry = port;
        }
        if changes.blocks.len() > len / MANY {
            self.to_mut();
        }
    }

    /// The entries, to write. If others share them, they are copied first.
    pub(super) fn to_mut(&mut self) -> &mut [u8] {
        if self.get_mut().is_none() {
            let copy = self.entries().into_owned();
            (self.buffer, self.start, self.changes) = (Arc::new(copy), 0, None);
        }
        self.get_mut().unwrap_or_default()
    }
}
