//! Fabrics made from a few numbers: the topologies that engines are built for.
//!
//! A [`FabricSpec`] is read from text, as `torus:8x8x8,hosts=2`, and built into a [`Fabric`]. Hosts
//! are counted per switch, except in fat trees, whose shape gives them. The same specification gives
//! the same fabric, GUIDs and all.

mod dragonfly;
mod fat_tree;
mod grid;
mod irregular;
mod spec;
mod wiring;

use alloc::vec::Vec;

use ib_wire::random::SplitMix64;

use self::wiring::Wiring;
use crate::{error::TopologyError, fabric::Fabric, format::ibnetdiscover};

/// A topology and its numbers.
///
/// ```
/// use ib_routing::generate::FabricSpec;
///
/// let spec: FabricSpec = "fat-tree:radix=8,levels=2".parse()?;
/// let fabric = spec.build()?;
/// assert_eq!((fabric.num_switches(), fabric.num_links()), (12, 64));
/// # Ok::<(), ib_routing::TopologyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FabricSpec {
    /// `fat-tree:radix=R,levels=L[,oversub=O][,parallel=P][,pods=N]`: a folded Clos network of
    /// switches with R ports, each pair of neighbours joined by P cables.
    FatTree {
        /// Ports per switch.
        radix: u32,
        /// Levels of switches.
        levels: u32,
        /// Hosts per cable upward at a leaf; 1 is full bandwidth.
        oversub: u32,
        /// Cables between neighbours.
        parallel: u32,
        /// Subtrees below the top level; 0 means as many as the top's ports.
        pods: u32,
    },
    /// `torus:4x4x4[,hosts=H]`: a grid whose lines close to rings.
    Torus {
        /// Switches per dimension.
        dims: Vec<u32>,
        /// Hosts per switch.
        hosts: u32,
    },
    /// `mesh:6x4[,hosts=H]`: a grid.
    Mesh {
        /// Switches per dimension.
        dims: Vec<u32>,
        /// Hosts per switch.
        hosts: u32,
    },
    /// `hypercube:dim=D[,hosts=H]`.
    Hypercube {
        /// Dimensions: 2^D switches.
        dim: u32,
        /// Hosts per switch.
        hosts: u32,
    },
    /// `dragonfly:a=A,p=P,h=H[,g=G]`: groups of A switches, all joined to each other in the group.
    Dragonfly {
        /// Switches per group.
        a: u32,
        /// Hosts per switch.
        p: u32,
        /// Cables to other groups per switch.
        h: u32,
        /// Groups: at most A * H + 1, which 0 means.
        g: u32,
    },
    /// `jellyfish:switches=N,degree=D,hosts=H,seed=S`: a random regular graph.
    Jellyfish {
        /// Number of switches.
        switches: u32,
        /// Cables to switches per switch.
        degree: u32,
        /// Hosts per switch.
        hosts: u32,
        /// Seed of the random choice.
        seed: u64,
    },
    /// `ring:switches=N,hosts=H`.
    Ring {
        /// Number of switches.
        switches: u32,
        /// Hosts per switch.
        hosts: u32,
    },
    /// `random:switches=N,links=M,hosts=H,seed=S`: a random connected graph.
    Random {
        /// Number of switches.
        switches: u32,
        /// Cables between switches.
        links: u32,
        /// Hosts per switch.
        hosts: u32,
        /// Seed of the random choice.
        seed: u64,
    },
    /// `thesis`: the dual star of five switches and seven hosts of the first OpenSM thesis (2004).
    Thesis,
    /// `mcsm`: three switches of 24 ports and six servers, as logical clusters were first tried on;
    /// two cables join each pair of switches.
    Mcsm,
}

impl FabricSpec {
    /// Builds the fabric.
    ///
    /// # Errors
    /// [`TopologyErrorKind::BadSpec`](crate::TopologyErrorKind::BadSpec) if numbers do not fit each
    /// other or InfiniBand: a switch has at most 254 ports.
    pub fn build(&self) -> Result<Fabric, TopologyError> {
        let wiring = match *self {
            Self::FatTree {
                radix,
                levels,
                oversub,
                parallel,
                pods,
            } => fat_tree::wire(radix, levels, oversub, parallel, pods),
            Self::Torus { ref dims, hosts } => grid::wire(dims, hosts, true),
            Self::Mesh { ref dims, hosts } => grid::wire(dims, hosts, false),
            Self::Hypercube { dim, hosts } => grid::hypercube(dim, hosts),
            Self::Dragonfly { a, p, h, g } => dragonfly::wire(a, p, h, g),
            Self::Jellyfish {
                switches,
                degree,
                hosts,
                seed,
            } => irregular::jellyfish(switches, degree, hosts, seed),
            Self::Ring { switches, hosts } => grid::wire(&[switches], hosts, true),
            Self::Random {
                switches,
                links,
                hosts,
                seed,
            } => irregular::random(switches, links, hosts, seed),
            Self::Thesis => return read(include_str!("generate/thesis.net")),
            Self::Mcsm => return read(include_str!("generate/mcsm.net")),
        };
        wiring
            .and_then(Wiring::build)
            .map_err(|what| spec::bad(self, what))
    }
}

fn read(text: &str) -> Result<Fabric, TopologyError> {
    ibnetdiscover::read(text).map(|topology| topology.fabric)
}

/// The fabric without some of its cables between switches, chosen at random: `percent` of them,
/// rounded to the nearest number.
#[must_use]
pub fn remove_links(fabric: &Fabric, percent: f64, seed: u64) -> Fabric {
    let mut links: Vec<_> = fabric.switch_links().collect();
    let share = if percent.is_finite() {
        percent.clamp(0.0, 100.0) / 100.0
    } else {
        0.0
    };
    let gone = (links.len() as f64 * share + 0.5) as usize;
    SplitMix64::new(seed).shuffle(&mut links);
    let mut builder = fabric.to_builder();
    for (end, _) in links.into_iter().take(gone) {
        builder.remove_link(end);
    }
    builder.build()
}

#[cfg(test)]
mod tests;
