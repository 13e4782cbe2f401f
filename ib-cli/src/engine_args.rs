//! The options of single routing engines, under OpenSM's names.

use std::path::PathBuf;

use clap::Args;
use ib_routing::{
    RouteOptions,
    format::{guid_list, port_lists},
};

use crate::{error::CliError, files};

/// The options that tune engines.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Routing engines")]
pub struct EngineArgs {
    /// Number of data lanes that every link has, 1 to 15 [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    max_vls: Option<u8>,
    /// Numbers of switches, `GUID NUMBER` a line, that break ties instead of the GUIDs (updn)
    #[arg(long, value_name = "FILE")]
    pub ids_guid_file: Option<PathBuf>,
    /// Also route between root switches, which gives up the guarantee against deadlock (updn, dnup)
    #[arg(long)]
    connect_roots: bool,
    /// Port GUIDs of compute nodes (ftree, dfsssp)
    #[arg(long, value_name = "FILE")]
    pub cn_guid_file: Option<PathBuf>,
    /// Port GUIDs of I/O nodes (ftree, dfsssp)
    #[arg(long, value_name = "FILE")]
    pub io_guid_file: Option<PathBuf>,
    /// Number of times that a route to an I/O node may go down and up again, 0 to 255 [default: 0, no limit] (ftree)
    #[arg(long, value_name = "N")]
    max_reverse_hops: Option<u8>,
    /// Length of links in hops, `GUID PORT HOPS` a line [default: 1 for each link]
    #[arg(long, value_name = "FILE")]
    pub hop_weights_file: Option<PathBuf>,
    /// The order in which ports of switches are tried, `GUID PORT PORT...` a line (minhop, dor)
    #[arg(long, value_name = "FILE")]
    pub port_search_ordering_file: Option<PathBuf>,
    /// Ports whose routes are not counted when routes are balanced, `GUID PORT` a line
    #[arg(long, value_name = "FILE")]
    pub ignore_guids: Option<PathBuf>,
    /// Start each search for the least used port after the port found last
    #[arg(long)]
    port_shifting: bool,
    /// Choose among equally loaded ports at random, with this seed
    #[arg(long, value_name = "SEED")]
    scatter_ports: Option<u64>,
    /// Port GUIDs to route first, in this order
    #[arg(long, value_name = "FILE")]
    pub guid_routing_order_file: Option<PathBuf>,
    /// Choose by port order, not at random, for the ports of --guid-routing-order-file
    #[arg(long)]
    guid_routing_order_no_scatter: bool,
    /// First service level to use, 0 to 15 [default: 0] (lash)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=15))]
    lash_start_vl: Option<u8>,
    /// Look for a mesh, and order the switches by their position in it (lash)
    #[arg(long)]
    do_mesh_analysis: bool,
    /// Number of virtual lanes to use, 1 to 15 [default: 1] (nue)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    nue_max_num_vls: Option<u8>,
    /// Count routes to switches when routes are balanced (nue)
    #[arg(long)]
    nue_include_switches: bool,
}

impl EngineArgs {
    /// Puts what was given into the library's options; reads the files it names.
    pub fn apply(&self, options: &mut RouteOptions) -> Result<(), CliError> {
        for (file, list) in [
            (&self.cn_guid_file, &mut options.compute_nodes),
            (&self.io_guid_file, &mut options.io_nodes),
            (
                &self.guid_routing_order_file,
                &mut options.guid_routing_order,
            ),
        ] {
            if let Some(file) = file {
                *list = files::read(file, guid_list::read)?;
            }
        }
        if let Some(file) = &self.ids_guid_file {
            options.ids = files::read(file, guid_list::read_ids)?;
        }
        if let Some(file) = &self.hop_weights_file {
            options.hop_weights = files::read(file, port_lists::read_hop_weights)?;
        }
        if let Some(file) = &self.port_search_ordering_file {
            options.port_order = files::read(file, port_lists::read_port_order)?;
        }
        if let Some(file) = &self.ignore_guids {
            options.ignore_ports = files::read(file, port_lists::read_ports)?;
        }
        options.connect_roots |= self.connect_roots;
        options.port_shifting |= self.port_shifting;
        options.do_mesh_analysis |= self.do_mesh_analysis;
        options.guid_routing_order_no_scatter |= self.guid_routing_order_no_scatter;
        options.nue_include_switches |= self.nue_include_switches;
        options.scatter_ports = self.scatter_ports.or(options.scatter_ports);
        for (given, option) in [
            (self.max_vls, &mut options.max_vls),
            (self.max_reverse_hops, &mut options.max_reverse_hops),
            (self.lash_start_vl, &mut options.lash_start_vl),
            (self.nue_max_num_vls, &mut options.nue_max_num_vls),
        ] {
            *option = given.unwrap_or(*option);
        }
        Ok(())
    }
}
