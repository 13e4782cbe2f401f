//! Options of the performance manager, which works beside the subnet manager on the same port.

use alloc::string::String;
use core::time::Duration;

use super::{
    codec::{Codec, Describe, Flag, Int, Seconds, Text},
    table::{OptionGroup, OptionInfo, TakesEffect, row},
};

/// Options of the performance manager: the counters that it reads, the period, and what is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PerformanceOptions {
    /// Reads the counters of all ports at intervals (`perfmgr`).
    pub enabled: bool,
    /// Follows agents that redirect to another port or queue pair (`perfmgr_redir`).
    pub redirect: bool,
    /// Time between the starts of two sweeps (`perfmgr_sweep_time_s`).
    pub sweep_interval: Duration,
    /// Requests in flight, 1 to 65,535 (`perfmgr_max_outstanding_queries`).
    pub max_in_flight: u16,
    /// Reads ports of switches alone (`perfmgr_ignore_cas`).
    pub ignore_cas: bool,
    /// Forgets the totals of ports that left the subnet (`perfmgr_rm_nodes`).
    pub remove_nodes: bool,
    /// Logs error counters that grow (`perfmgr_log_errors`).
    pub log_errors: bool,
    /// Asks agents which counters they have (`perfmgr_query_cpi`).
    pub class_port_info: bool,
    /// Logs ports that wait for credits (`perfmgr_xmit_wait_log`).
    pub log_xmit_wait: bool,
    /// Ticks of waiting between two sweeps from which on a port is logged (`perfmgr_xmit_wait_threshold`).
    pub xmit_wait_threshold: u32,
    /// File for the totals of all ports; `None` leaves the name to the host (`event_db_dump_file`).
    pub dump_file: Option<String>,
}

impl Default for PerformanceOptions {
    fn default() -> Self {
        Self {
            enabled: false,
            redirect: true,
            sweep_interval: Duration::from_secs(180),
            max_in_flight: 500,
            ignore_cas: false,
            remove_nodes: true,
            log_errors: true,
            class_port_info: true,
            log_xmit_wait: false,
            xmit_wait_threshold: 65535,
            dump_file: None,
        }
    }
}

/// Their rows.
pub(super) static ROWS: &[OptionInfo] = &[
    row!(
        "perfmgr",
        Performance,
        ["Reads the counters of all ports at intervals and keeps 64-bit totals."],
        Flag,
        Live,
        performance.enabled
    ),
    row!(
        "perfmgr_redir",
        Performance,
        ["Follows agents that redirect to another port or queue pair."],
        Flag,
        Live,
        performance.redirect
    ),
    row!(
        "perfmgr_sweep_time_s",
        Performance,
        ["Seconds between two sweeps of the counters."],
        Seconds,
        Live,
        performance.sweep_interval
    ),
    row!(
        "perfmgr_max_outstanding_queries",
        Performance,
        ["Requests for counters in flight."],
        Int(1, 0xffff),
        Live,
        performance.max_in_flight
    ),
    row!(
        "perfmgr_ignore_cas",
        Performance,
        ["Reads the counters of switches alone."],
        Flag,
        Live,
        performance.ignore_cas
    ),
    row!(
        "perfmgr_rm_nodes",
        Performance,
        ["Forgets the totals of ports that left the subnet."],
        Flag,
        Live,
        performance.remove_nodes
    ),
    row!(
        "perfmgr_log_errors",
        Performance,
        ["Logs error counters that grow."],
        Flag,
        Live,
        performance.log_errors
    ),
    row!(
        "perfmgr_query_cpi",
        Performance,
        ["Asks agents which counters they have; else PortCounters alone is read."],
        Flag,
        Live,
        performance.class_port_info
    ),
    row!(
        "perfmgr_xmit_wait_log",
        Performance,
        ["Logs ports that wait for credits longer than `perfmgr_xmit_wait_threshold`."],
        Flag,
        Live,
        performance.log_xmit_wait
    ),
    row!(
        "perfmgr_xmit_wait_threshold",
        Performance,
        ["Ticks of waiting between two sweeps from which on a port is logged."],
        Int(0, 0xffff_ffff),
        Live,
        performance.xmit_wait_threshold
    ),
    row!(
        "event_db_dump_file",
        Performance,
        ["File for the totals of all ports; (null): none is written by itself."],
        Text,
        Live,
        performance.dump_file
    ),
];
