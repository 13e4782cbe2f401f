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
}

/// Text of at most [`Constant::MOST`] bytes before a value.
pub(crate) trait Label {
    /// True if the text is in code, which has a call for each text: what takes many instructions is not inlined there.
    const IS_CODE: bool;

    /// Writes the text, and perhaps zeros after it.
    fn write(&self, room: &mut [u8; BLOCK]);

    /// Length of the text.
    fn len(&self) -> usize;
}

impl Label for Constant {
    const IS_CODE: bool = false;

    #[inline(always)]
    fn write(&self, room: &mut [u8; BLOCK]) {
        *room = self.block;
    }

    /// The remainder shows the compiler that it is at most [`MOST`](Self::MOST).
    #[inline(always)]
    fn len(&self) -> usize {
        usize::from(self.len) % BLOCK
    }
}

/// Text of a length that the compiler knows.
impl<const N: usize> Label for [u8; N] {
    const IS_CODE: bool = true;

    #[inline(always)]
    fn write(&self, room: &mut [u8; BLOCK]) {
        const { assert!(N <= Constant::MOST) };
        if let Some(room) = room.first_chunk_mut() {
            *room = *self;
        }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        N
    }
}
