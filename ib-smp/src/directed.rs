//! Directed routes: how an SMP finds its way by the list of ports that it carries (IBA vol. 1,
//! 14.2.2).
//!
//! On each node the subnet management interface (SMI), not the forwarding tables, moves such an SMP.
//! It looks at the direction, at the hop pointer and at the hop count; the rules below are
//! requirements C14-9 (going out) and C14-13 (coming back), with their case numbers. All of it is
//! pure: a node says what it is, where the SMP came in, and is told what to do with it.

use ib_wire::PortNum;

/// A directed route: the port to leave each node by, from the requester's own port on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DrPath {
    hop_count: u8,
    initial_path: [u8; 64],
}

impl DrPath {
    /// Most hops of a route.
    pub const MAX_HOPS: u8 = 63;

    /// The route of no hops: the own node.
    pub const OWN_NODE: Self = Self {
        hop_count: 0,
        initial_path: [0; 64],
    };

    /// The route over these ports; `None` for more than 63.
    #[must_use]
    pub fn try_new(ports: &[PortNum]) -> Option<Self> {
        ports
            .iter()
            .try_fold(Self::OWN_NODE, |path, &port| path.then(port))
    }

    /// This route and one more hop by `port`; `None` after 63.
    #[must_use]
    pub fn then(mut self, port: PortNum) -> Option<Self> {
        if self.hop_count >= Self::MAX_HOPS {
            return None;
        }
        self.hop_count = self.hop_count.saturating_add(1);
        *self.initial_path.get_mut(usize::from(self.hop_count))? = port.0;
        Some(self)
    }

    /// How many hops.
    #[inline]
    #[must_use]
    pub const fn hop_count(&self) -> u8 {
        self.hop_count
    }

    /// The field of an SMP: entry 0 is not used.
    #[inline]
    #[must_use]
    pub const fn initial_path(&self) -> &[u8; 64] {
        &self.initial_path
    }

    /// The ports in order.
    pub fn ports(&self) -> impl Iterator<Item = PortNum> + '_ {
        let hops = self.initial_path.iter().skip(1);
        hops.take(self.hop_count.into()).map(|&port| PortNum(port))
    }
}

impl Default for DrPath {
    /// The own node.
    fn default() -> Self {
        Self::OWN_NODE
    }
}

impl core::fmt::Display for DrPath {
    /// Prints `0,1,7,5`: a 0 for the own node, as the diagnostic tools do.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("0")?;
        self.ports().try_for_each(|port| write!(f, ",{port}"))
    }
}

impl core::fmt::Debug for DrPath {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "DrPath({self})")
    }
}
