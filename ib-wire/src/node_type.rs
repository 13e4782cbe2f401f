//! Kinds of nodes: what a node is in NodeInfo, in SA records and in topology files.

use crate::code_points;

code_points! {
    /// Kind of a node.
    ///
    /// Source: IBA vol. 1, 14.2.5.3 (NodeInfo.NodeType).
    pub struct NodeType(u8) {
        /// Channel adapter: an end node.
        CA     = 1 => "CA",
        /// Forwards packets by LID.
        SWITCH = 2 => "Switch",
        /// Forwards packets between subnets; ends links like a channel adapter.
        ROUTER = 3 => "Router",
    }
}

impl NodeType {
    /// Returns true if the node forwards packets by LID.
    #[inline]
    #[must_use]
    pub const fn is_switch(self) -> bool {
        matches!(self, Self::SWITCH)
    }

    /// The kind that the node counts as: what is no switch and no router ends links like a CA.
    #[inline]
    #[must_use]
    pub const fn normalized(self) -> Self {
        match self {
            Self::SWITCH | Self::ROUTER => self,
            _ => Self::CA,
        }
    }
}
