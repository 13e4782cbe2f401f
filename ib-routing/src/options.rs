//! Options of the routing engines, under OpenSM's names.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use ib_wire::{Guid, PortNum};

use crate::{lid_matrix::LidMatrix, routes::Routes};

/// Options of all engines; each reads those that concern it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteOptions {
    /// Threads to use: 0 for all that there are, 1 for none but the caller's. The routes are the same.
    pub threads: usize,
    /// Virtual lanes for data that every link has; 0 means 8.
    pub max_vls: u8,
    /// updn, dnup, ftree: node GUIDs of the root switches; a CA's GUID names the switch that it is
    /// connected to.
    pub roots: Vec<Guid>,
    /// updn: the number of a switch, where GUIDs shall not break ties (`ids_guid_file`).
    pub ids: BTreeMap<Guid, u64>,
    /// updn, dnup: let the roots of trees talk to each other, at the cost of the guarantee.
    pub connect_roots: bool,
    /// ftree, dfsssp, nue: port GUIDs of compute nodes; empty means all CAs.
    pub compute_nodes: Vec<Guid>,
    /// ftree, dfsssp: port GUIDs of I/O nodes.
    pub io_nodes: Vec<Guid>,
    /// ftree: hops up after hops down that a route to one of `io_nodes` may make, and only such a route;
    /// what would need more is an error. 0 sets no limit, where OpenSM then leaves such CAs unreachable.
    pub max_reverse_hops: u8,
    /// Hops that a link counts, by the node GUID and port at its sending end (`hop_weights_file`).
    pub hop_weights: BTreeMap<(Guid, PortNum), u32>,
    /// minhop, dor: the order in which a switch's ports are tried (`port_search_ordering_file`).
    pub port_order: BTreeMap<Guid, Vec<PortNum>>,
    /// Ports whose routes do not count in the balance (`port_prof_ignore_file`).
    pub ignore_ports: Vec<(Guid, PortNum)>,
    /// Begin the search for the least used port after the last one found.
    pub port_shifting: bool,
    /// Choose among equal ports at random, from this seed.
    pub scatter_ports: Option<u64>,
    /// Port GUIDs to route first, in this order (`guid_routing_order_file`).
    pub guid_routing_order: Vec<Guid>,
    /// Routes to the ports of `guid_routing_order` choose by port order, not at random; `scatter_ports` holds for all
    /// others (`guid_routing_order_no_scatter`).
    pub guid_routing_order_no_scatter: bool,
    /// Count routes to switches in the balance too (`port_profile_switch_nodes`).
    pub port_profile_switch_nodes: bool,
    /// lash: the first service level to use.
    pub lash_start_vl: u8,
    /// lash: look for a mesh and number its switches (`do_mesh_analysis`).
    pub do_mesh_analysis: bool,
    /// nue: virtual lanes to use; 0 counts as 1, OpenSM's default.
    pub nue_max_num_vls: u8,
    /// nue: routes to switches count in the balance as those to CAs do (`nue_include_switches`).
    pub nue_include_switches: bool,
    /// torus-2QoS: text of its configuration file.
    pub torus_config: Option<String>,
    /// file: the tables to load; what they do not cover comes from the matrix, else from minhop.
    pub lfts: Option<Routes>,
    /// file: the hops to route by, where they are not those of the cables (`lid_matrix_dump_file`).
    pub lid_matrix: Option<LidMatrix>,
}

impl RouteOptions {
    /// Virtual lanes for data that an engine may use: 1..=15.
    #[must_use]
    pub const fn vls(&self) -> u8 {
        match self.max_vls {
            0 => 8,
            vls @ 1..=15 => vls,
            _ => 15,
        }
    }
}
