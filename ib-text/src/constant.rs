//! Constant text that is copied in blocks of a fixed size, which needs no call.

/// Bytes copied at once for constant text.
const BLOCK: usize = 32;

/// Text of constant length that is copied in blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    pub(crate) first: [u8; BLOCK],
    /// Length of the first block's text.
    pub(crate) len: u8,
    /// Text that does not fit the first block.
    pub(crate) rest: Option<Box<str>>,
}

impl Constant {
    /// The text `text`.
    pub fn new(text: &str) -> Self {
        let mut first = [0; BLOCK];
        for (to, byte) in first.iter_mut().zip(text.bytes()) {
            *to = byte;
        }
        let rest = text.get(BLOCK..).filter(|rest| !rest.is_empty());
        Self {
            first,
            len: text.len().min(BLOCK) as u8,
            rest: rest.map(Into::into),
        }
    }

    /// Room that writing it may touch.
    pub fn touched(&self) -> usize {
        BLOCK + self.rest.as_deref().map_or(0, str::len)
    }
}
