//! NodeDescription: a text by which people know the node (IBA vol. 1, 14.2.5.2).
//!
//! Hosts change it at run time and then send trap 144; until that arrives a subnet manager shows the
//! old one.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{
    table::{Layout, Text},
    wire_struct,
};

wire_struct! {
    /// Text that names a node.
    ///
    /// Source: IBA vol. 1, 14.2.5.2; `attributes.csv`, struct `NodeDescription`.
    pub struct NodeDescription("NodeDescription", 64 bytes) {
        /// UTF-8 as a rule; ends at the first NUL or fills the field.
        node_string, set_node_string: [text; 64] = 0, 512;
    }
}

impl NodeDescription {
    /// The description `text`, cut at 64 bytes: what a Set writes where the port's CapabilityMask2 says
    /// that it may.
    #[must_use]
    pub fn named(text: &str) -> Self {
        let mut description = Self::default();
        description.set_node_string(&Text::new(text));
        description
    }
}

impl Attribute for NodeDescription {
    const ID: AttributeId = AttributeId(0x0010);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
