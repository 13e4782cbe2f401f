//! Constant text that is copied in blocks of a fixed size, which needs no call.

/// Bytes that are copied at once.
pub(crate) const BLOCK: usize = 32;

/// Constant text of at most 31 bytes: its block is copied whole, and as much of it counts as the text is long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    block: [u8; BLOCK],
    len: u8,
}

impl Constant {
    /// Longest text of one block, in bytes.
    pub const MOST: usize = BLOCK - 1;

    /// The text `text` in blocks, the last of which may be shorter; none of an empty text.
    pub fn blocks(text: &str) -> impl Iterator<Item = Self> {
        text.as_bytes().chunks(Self::MOST).map(|bytes| {
            let mut block = [0; BLOCK];
            for (to, byte) in block.iter_mut().zip(bytes) {
                *to = *byte;
            }
            Self {
                block,
                len: bytes.len() as u8,
            }
        })
    }

    /// No text.
    pub(crate) const EMPTY: Self = Self {
        block: [0; BLOCK],
        len: 0,
    };

    /// The first block of the text.
    pub(crate) fn of(text: &str) -> Self {
        Self::blocks(text).next().unwrap_or(Self::EMPTY)
    }

    /// The text, filled up with zeros.
    #[inline(always)]
    pub(crate) fn block(&self) -> &[u8; BLOCK] {
        &self.block
    }

    /// Length of the text. The remainder shows the compiler that it is at most [`MOST`](Self::MOST).
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.len) % BLOCK
    }
}
