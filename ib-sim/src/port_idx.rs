//! Indices of ports: all ports of a fabric are in one vector.

use ib_routing::index::Idx;

/// Index of a port in the vector of all ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PortIdx(pub(crate) u32);

impl Idx for PortIdx {
    #[inline(always)]
    fn new(at: usize) -> Self {
        Self(at as u32)
    }

    #[inline(always)]
    fn at(self) -> usize {
        self.0 as usize
    }
}
