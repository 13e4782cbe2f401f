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

/// The index of a port, or none, in four bytes: every port of a fabric has two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OptionalPort(u32);

impl OptionalPort {
    pub(crate) const NONE: Self = Self(u32::MAX);

    pub(crate) const fn new(port: Option<PortIdx>) -> Self {
        match port {
            Some(port) => Self(port.0),
            None => Self::NONE,
        }
    }

    #[inline]
    pub(crate) const fn get(self) -> Option<PortIdx> {
        if self.0 == Self::NONE.0 {
            None
        } else {
            Some(PortIdx(self.0))
        }
    }
}
