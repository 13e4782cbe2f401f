//! SLtoVLMappingTable: on which virtual lane each service level travels (IBA vol. 1, 14.2.5.8).
//!
//! A CA port has one table, a switch one for each pair of input and output port. Switches of 36 ports
//! would take 1,296 SMPs: where SwitchInfo.OptimizedSLtoVLMappingProgramming allows it, one SMP
//! writes many tables ([`SlToVlModifier`]).

use ib_mad::{Attribute, AttributeId};
use ib_wire::{PortNum, Sl, Vl, table::Layout, wire_struct};

wire_struct! {
    /// Virtual lane of each of the 16 service levels.
    ///
    /// Source: IBA vol. 1, 14.2.5.8; `attributes.csv`, struct `SLtoVLMappingTable`.
    pub struct SlToVlMappingTable("SLtoVLMappingTable", 8 bytes) {
        /// VL of the SL that is the index; VL15 drops packets of that SL.
        sl_to_vl, set_sl_to_vl: [Vl; 16] = 0, 64;
    }
}

impl Attribute for SlToVlMappingTable {
    const ID: AttributeId = AttributeId(0x0017);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

impl SlToVlMappingTable {
    /// The VL of packets with this SL; VL15 where they are dropped.
    #[inline]
    #[must_use]
    pub fn vl(&self, sl: Sl) -> Vl {
        self.sl_to_vl(sl.bits().into()).unwrap_or(Vl::MANAGEMENT)
    }
}

/// Attribute modifier of [`SlToVlMappingTable`]: which table, or which tables at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SlToVlModifier {
    /// The table from one input port to one output port; both are 0 for a CA.
    Pair {
        /// Port that packets come in by.
        input: PortNum,
        /// Port that packets leave by.
        output: PortNum,
    },
    /// Optimised: from every input port to one output port.
    AllInputs {
        /// Port that packets leave by.
        output: PortNum,
    },
    /// Optimised: from one input port to every output port.
    AllOutputs {
        /// Port that packets come in by.
        input: PortNum,
    },
    /// Optimised: every table of the switch.
    All,
}

impl SlToVlModifier {
    const ALL_OUTPUTS: u32 = 1 << 16;
    const ALL_INPUTS: u32 = 1 << 17;

    /// The modifier's 32 bits: bits 15..8 input, bits 7..0 output, bit 16 all outputs, bit 17 all
    /// inputs.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Pair { input, output } => (input.0 as u32) << 8 | output.0 as u32,
            Self::AllInputs { output } => Self::ALL_INPUTS | output.0 as u32,
            Self::AllOutputs { input } => Self::ALL_OUTPUTS | (input.0 as u32) << 8,
            Self::All => Self::ALL_INPUTS | Self::ALL_OUTPUTS,
        }
    }

    /// Which tables a modifier names; ports that its form does not use are ignored, `None` where
    /// bits above 17 are set.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        let input = PortNum((bits >> 8) as u8);
        let output = PortNum(bits as u8);
        match bits >> 16 {
            0 => Some(Self::Pair { input, output }),
            1 => Some(Self::AllOutputs { input }),
            2 => Some(Self::AllInputs { output }),
            3 => Some(Self::All),
            _ => None,
        }
    }
}
