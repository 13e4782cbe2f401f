//! Positions of the nodes of a fabric in a picture.
//!
//! A fat tree is drawn as rows, with its leaf switches at the bottom and its roots on top; a torus or mesh as a grid;
//! any other fabric as rows of equal distance from a central switch. The hosts of a switch are drawn below it, so that
//! a picture can fold them into it. Wide rows are cut into lines, so that a picture is about as high as it is wide.
//! Coordinates are pixels at full size, from the upper left corner.

mod geometry;
mod grid;
mod label;
pub(crate) mod rows;

use alloc::vec::Vec;

pub use self::label::{Labels, natural_order};
use self::{geometry::Canvas, grid::Grid};
use crate::{
    fabric::{Fabric, PortRef},
    index::{IdxVec, NodeIdx, SwitchIdx},
};

/// The shape that a fabric was recognised as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Rows by distance from the leaf switches: the fabric is a fat tree or similar to one.
    Tree,
    /// A mesh, torus or hypercube: each switch at its coordinates.
    Grid,
    /// Rows by distance from a central switch.
    Distance,
}

impl Shape {
    /// The name of the shape in JSON documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Grid => "grid",
            Self::Distance => "distance",
        }
    }
}

/// A point of the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Distance from the left edge in pixels.
    pub x: u32,
    /// Distance from the top edge in pixels.
    pub y: u32,
}

/// The positions of all nodes. See the [module](self).
#[derive(Clone, Debug)]
pub struct FabricLayout {
    /// The shape that the fabric was recognised as.
    pub shape: Shape,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// Centre of each node in pixels.
    pub places: IdxVec<NodeIdx, Point>,
    /// The switch that a CA or router is connected to; `None` for switches, and for nodes without a cable to a switch.
    pub leaves: IdxVec<NodeIdx, Option<NodeIdx>>,
    /// True if hosts have room for their names. If a switch has many hosts, they are drawn as dots.
    pub hosts_are_named: bool,
}

impl FabricLayout {
    /// Width and height of a switch's box in pixels.
    pub const SWITCH: (u32, u32) = (84, 22);
    /// Width and height of a host's box with a name, in pixels.
    pub const HOST: (u32, u32) = (84, 14);
    /// Width and height of a host's dot in pixels.
    pub const DOT: (u32, u32) = (10, 10);

    /// Lays out a fabric.
    #[must_use]
    pub fn new(fabric: &Fabric) -> Self {
        let hosts = Hosts::of(fabric);
        let labels = Labels::new(fabric);
        let order = labels.order_of_switches(fabric);
        let grid = Grid::find(fabric, &order);
        // A tree of two leaves and two roots is a square too; it is drawn as a tree.
        let (clear, vague): (Option<Grid>, Option<Grid>) = match grid {
            Some(grid) if grid.is_clear() => (Some(grid), None),
            grid => (None, grid),
        };
        let mut canvas = Canvas::new(fabric, &hosts);
        let shape = if let Some(grid) = clear {
            canvas.place_grid(&grid);
            Shape::Grid
        } else if let Some(rows) = rows::of_tree(fabric, &hosts.at, &order) {
            canvas.place_rows(&rows);
            Shape::Tree
        } else if let Some(grid) = vague {
            canvas.place_grid(&grid);
            Shape::Grid
        } else {
            canvas.place_rows(&rows::by_distance(fabric, &order));
            Shape::Distance
        };
        canvas.finish(shape, &hosts)
    }

    /// Width and height of a node's box.
    #[must_use]
    pub fn size(&self, is_switch: bool) -> (u32, u32) {
        match (is_switch, self.hosts_are_named) {
            (true, _) => Self::SWITCH,
            (false, true) => Self::HOST,
            (false, false) => Self::DOT,
        }
    }

    /// The control point of the quadratic curve that draws a cable, the `nth` of its pair of nodes from 0.
    ///
    /// Parallel cables fan out. A cable that would pass behind the boxes of its own row or column bows around them.
    #[must_use]
    pub fn bend(&self, one: NodeIdx, other: NodeIdx, nth: u32) -> Point {
        let place = |node| self.places.find(node).copied().unwrap_or_default();
        geometry::bend(place(one), place(other), nth)
    }
}

/// The CAs and routers at each switch, and those at no switch.
pub(crate) struct Hosts {
    pub(crate) at: IdxVec<SwitchIdx, Vec<NodeIdx>>,
    alone: Vec<NodeIdx>,
    leaves: IdxVec<NodeIdx, Option<NodeIdx>>,
}

impl Hosts {
    /// Assigns each host to a switch. A host with several cables belongs to the switch of its first one.
    pub(crate) fn of(fabric: &Fabric) -> Self {
        let mut hosts = Self {
            at: IdxVec::filled(fabric.num_switches(), Vec::new()),
            alone: Vec::new(),
            leaves: IdxVec::filled(fabric.nodes().len(), None),
        };
        for switch in fabric.switches().indices() {
            let node = fabric.switches()[switch];
            for (_, port) in fabric.node(node).ports() {
                let Some(PortRef { node: host, .. }) = port.peer else {
                    continue;
                };
                if fabric.switch_of(host).is_none() && hosts.leaves[host].is_none() {
                    hosts.leaves[host] = Some(node);
                    hosts.at[switch].push(host);
                }
            }
        }
        let all = fabric.nodes().indices();
        let leaves = &hosts.leaves;
        hosts.alone = all
            .filter(|&node| fabric.switch_of(node).is_none() && leaves[node].is_none())
            .collect();
        hosts
    }
}

#[cfg(test)]
mod tests;
