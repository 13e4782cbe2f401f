//! Extended transport headers: what follows the BTH, by operation.

mod aeth;
mod atomic_eth;
mod cnp;
mod deth;
mod ieth;
mod imm_dt;
mod rdeth;
mod reth;
mod xrceth;

pub use aeth::{Aeth, AethSyndrome, AethSyndromeClass, CreditCount, NakCode, RnrTimer, Syndrome};
pub use atomic_eth::{AtomicAckEth, AtomicEth};
pub use cnp::CnpRoceV2;
pub use deth::Deth;
pub use ieth::Ieth;
pub use imm_dt::ImmDt;
pub use rdeth::Rdeth;
pub use reth::Reth;
pub use xrceth::Xrceth;

use crate::table::Layout;

/// Kind of extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Eth {
    /// [`Rdeth`]
    Rdeth,
    /// [`Deth`]
    Deth,
    /// [`Xrceth`]
    Xrceth,
    /// [`Reth`]
    Reth,
    /// [`AtomicEth`]
    AtomicEth,
    /// [`Aeth`]
    Aeth,
    /// [`AtomicAckEth`]
    AtomicAckEth,
    /// [`ImmDt`]
    ImmDt,
    /// [`Ieth`]
    Ieth,
    /// [`CnpRoceV2`]
    CnpRoceV2,
}

impl Eth {
    /// Number of kinds.
    pub(crate) const COUNT: usize = 10;

    /// The header's layout.
    #[must_use]
    pub const fn layout(self) -> &'static Layout {
        match self {
            Self::Rdeth => Rdeth::LAYOUT,
            Self::Deth => Deth::LAYOUT,
            Self::Xrceth => Xrceth::LAYOUT,
            Self::Reth => Reth::LAYOUT,
            Self::AtomicEth => AtomicEth::LAYOUT,
            Self::Aeth => Aeth::LAYOUT,
            Self::AtomicAckEth => AtomicAckEth::LAYOUT,
            Self::ImmDt => ImmDt::LAYOUT,
            Self::Ieth => Ieth::LAYOUT,
            Self::CnpRoceV2 => CnpRoceV2::LAYOUT,
        }
    }
}
