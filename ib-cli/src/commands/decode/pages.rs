//! Reads into memory that begins with a page, as the page of a file does that the kernel copies from: copies to other
//! places, and most of all to a few bytes after the beginning of a page, take up to a third longer.

use std::{
    io::{self, Read},
    ops::Range,
};

use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// Length of a page of memory.
const PAGE: usize = 1 << 12;

/// Pages that are read at once: a call of the system costs little beside them.
const PAGES: usize = 32;

/// The bytes of a page, at an address that is a multiple of its length.
#[derive(Debug, FromBytes, IntoBytes)]
#[repr(C, align(4096))]
struct Page([u8; PAGE]);

/// A reader with a buffer of whole pages.
#[derive(Debug)]
pub struct PageReader<R> {
    source: R,
    pages: Vec<Page>,
    /// The bytes of the pages that were read and not consumed.
    unread: Range<usize>,
}

impl<R: Read> PageReader<R> {
    /// A reader of `source`.
    pub fn new(source: R) -> Self {
        Self {
            source,
            pages: (0..PAGES).map(|_| Page::new_zeroed()).collect(),
            unread: 0..0,
        }
    }

    /// The bytes that were not consumed, after a read if there are none: at the end of the source there are none.
    ///
    /// # Errors
    /// Those of the source, but no interruption.
    pub fn fill(&mut self) -> io::Result<&[u8]> {
        let bytes = self.pages.as_mut_slice().as_mut_bytes();
        if self.unread.is_empty() {
            let len = loop {
                match self.source.read(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read?,
                }
            };
            self.unread = 0..len;
        }
        Ok(bytes.get(self.unread.clone()).unwrap_or_default())
    }

    /// Marks the first `len` of the bytes as consumed.
    pub fn consume(&mut self, len: usize) {
        self.unread.start = self.unread.end.min(self.unread.start + len);
    }
}
