//! MTU and rate of a path: those of its weakest link (IBA vol. 1, 14.2.5.6).

use ib_subnet::SubnetPort;
use ib_wire::{Mtu, Rate};

/// The MTU and rate of the weakest link so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) mtu: Mtu,
    pub(super) rate: Rate,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            mtu: Mtu::MTU_4096,
            rate: Rate::GBPS_1200,
        }
    }
}

impl Limits {
    /// Takes a port on the path into account. `None` if its PortInfo is unknown.
    pub(super) fn pass(&mut self, port: &SubnetPort) -> Option<()> {
        port.info()?;
        if port.mtu() != Mtu(0) {
            self.mtu = self.mtu.min(port.mtu());
        }
        // Most links of a path have one rate.
        if let Some(rate) = port.rate().filter(|rate| *rate != self.rate)
            && rate.cmp_rate(self.rate).is_some_and(|order| order.is_lt())
        {
            self.rate = rate;
        }
        Some(())
    }
}
