//! Reads into memory that begins with a page, as the page of a file does that the kernel copies from: copies to other
//! places, and most of all to a few bytes after the beginning of a page, take up to a third longer.

use std::io::{self, Read};

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// Length of a page of memory.
const PAGE: usize = 1 << 12;

/// Pages that are read at once: a call of the system costs little beside them, and with all that is made of them they
/// stay in the processor's cache.
const PAGES: usize = 16;

/// The most bytes that one read returns.
pub const READ_LEN: usize = PAGES * PAGE;

/// The bytes of a page, at an address that is a multiple of its length.
#[derive(Debug, FromBytes, Immutable, IntoBytes)]
#[repr(C, align(4096))]
struct Page([u8; PAGE]);

/// A buffer of whole pages.
#[derive(Debug, Default)]
pub struct Pages(Vec<Page>);

impl Pages {
    /// Reads once from `source` and returns what came: nothing at the end of the source.
    ///
    /// # Errors
    /// Those of the source, but no interruption.
    pub fn read(&mut self, source: &mut impl Read) -> io::Result<&[u8]> {
        self.0.resize_with(PAGES, Page::new_zeroed);
        let bytes = self.0.as_mut_slice().as_mut_bytes();
        loop {
            match source.read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return Ok(self.first(read?)),
            }
        }
    }

    /// The first `len` bytes.
    pub fn first(&self, len: usize) -> &[u8] {
        self.0.as_bytes().get(..len).unwrap_or_default()
    }
}
