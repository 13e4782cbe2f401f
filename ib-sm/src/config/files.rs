//! The files that an option file names and the host reads; their keys are rows of the table of options.

use alloc::string::String;

/// Names of files, under OpenSM's keys; `None` where none is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionFiles {
    /// Root switches (updn, dnup, ftree).
    pub root_guid_file: Option<String>,
    /// Compute nodes (ftree, dfsssp).
    pub cn_guid_file: Option<String>,
    /// I/O nodes (ftree, dfsssp).
    pub io_guid_file: Option<String>,
    /// Numbers of switches (updn).
    pub ids_guid_file: Option<String>,
    /// Ports to route first.
    pub guid_routing_order_file: Option<String>,
    /// Hops that links count.
    pub hop_weights_file: Option<String>,
    /// The order in which ports are tried.
    pub port_search_ordering_file: Option<String>,
    /// Forwarding tables for the engine `file`.
    pub lfts_file: Option<String>,
    /// Hops for the engine `file`.
    pub lid_matrix_dump_file: Option<String>,
    /// Ports whose routes do not count in the balance.
    pub port_prof_ignore_file: Option<String>,
    /// Configuration of torus-2QoS.
    pub torus_config: Option<String>,
    /// Routers by the prefixes of the subnets that they lead to.
    pub prefix_routes_file: Option<String>,
    /// Directory for the dump files, which are written on request.
    pub dump_files_dir: Option<String>,
}

/// Texts that the engine `file` routes by; `None` where there is none. They name switches and LIDs, so they are read
/// against each fabric that is found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteTables {
    /// Forwarding tables in the format of OpenSM's `opensm-lfts.dump`.
    pub lfts: Option<String>,
    /// Hops in the format of OpenSM's `opensm-lid-matrix.dump`.
    pub lid_matrix: Option<String>,
}
