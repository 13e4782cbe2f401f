//! Cases that are decoded together.

use ib_text::hex;
use ib_wire::Start;

/// Bytes of cases in a batch: with their text they stay in the processor's cache.
const BATCH: usize = 1 << 15;

/// Cases that are decoded together.
#[derive(Debug, Default)]
pub struct Batch {
    /// The cases, and room that was theirs in another batch: it is not cleared for the next.
    bytes: Vec<u8>,
    /// Length of all cases.
    len: usize,
    /// The end of each case, and the start of its bytes in the packet.
    ends: Vec<(usize, Start)>,
}

impl Batch {
    /// The cases in order.
    pub fn cases(&self) -> impl Iterator<Item = (Start, &[u8])> {
        let mut from = 0;
        self.ends.iter().map(move |&(end, start)| {
            let case = self.bytes.get(from..end).unwrap_or_default();
            from = end;
            (start, case)
        })
    }

    /// Forgets the cases.
    pub fn clear(&mut self) {
        self.len = 0;
        self.ends.clear();
    }

    /// Room for `len` bytes of the next case.
    #[inline]
    fn room(&mut self, len: usize) -> &mut [u8] {
        let end = self.len + len;
        if self.bytes.len() < end {
            self.grow(end);
        }
        self.bytes.get_mut(self.len..end).unwrap_or_default()
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        self.bytes.resize(len.max(2 * BATCH), 0);
    }

    /// The first `len` bytes of the room are the next case.
    #[inline]
    fn end_case(&mut self, start: Start, len: usize) {
        self.len += len;
        self.ends.push((self.len, start));
    }

    /// Adds a case.
    #[inline]
    pub fn push(&mut self, start: Start, case: &[u8]) {
        self.room(case.len()).copy_from_slice(case);
        self.end_case(start, case.len());
    }

    /// Adds the case of these digits.
    #[inline]
    pub fn push_digits(&mut self, start: Start, digits: &[u8]) -> Result<(), String> {
        let len = hex::decode_to(self.room(hex::room_for(digits)), digits)?;
        self.end_case(start, len);
        Ok(())
    }

    /// Adds the case of these digits, unless there is anything else among them; returns true if it did.
    #[inline]
    pub fn push_plain_digits(&mut self, start: Start, digits: &[u8]) -> bool {
        let len = hex::decode_plain_to(self.room(hex::room_for(digits)), digits);
        if let Some(len) = len {
            self.end_case(start, len);
        }
        len.is_some()
    }

    /// Returns true if the batch should have no more cases.
    #[inline]
    pub fn is_full(&self) -> bool {
        // Lines without digits fill no bytes.
        self.len >= BATCH || self.ends.len() >= BATCH
    }
}
