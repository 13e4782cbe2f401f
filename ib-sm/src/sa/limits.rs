//! MTU and rate of a path: those of its weakest link (IBA vol. 1, 14.2.5.6).

use ib_smp::PortInfo;
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
    /// Takes a port on the path into account.
    pub(super) fn pass(&mut self, port: &PortInfo) {
        let mtu = port.mtu_cap().min(port.neighbor_mtu());
        if mtu != Mtu(0) {
            self.mtu = self.mtu.min(mtu);
        }
        if let Some(rate) = port.rate()
            && rate.cmp_rate(self.rate).is_some_and(|order| order.is_lt())
        {
            self.rate = rate;
        }
    }
}
