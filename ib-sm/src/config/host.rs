//! Options that act in the host: the engine has no log, no files and no ports to choose from.

use alloc::string::String;

use ib_wire::Guid;

use super::{
    codec::{Codec, Describe, Flag, Hex, Int, Text, Wide},
    table::{OptionGroup, OptionInfo, TakesEffect, row},
};

/// Options of the host program, which the engine itself does not use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostOptions {
    /// GUID of the port to sit on; [`Guid::NONE`] leaves the choice to the host (`guid`).
    pub guid: Guid,
    /// Log file; `None` for none (`log_file`).
    pub log_file: Option<String>,
    /// Megabytes after which the log file is put aside and begun anew; 0 sets no limit (`log_max_size`).
    pub log_max_size: u32,
    /// Levels that are logged, by OpenSM's bits: 1 errors, 2 decisions, 4 steps, 8 and above more
    /// (`log_flags`).
    pub log_flags: u8,
    /// Writes each line to the disk at once (`force_log_flush`).
    pub force_log_flush: bool,
    /// Appends to a log file that is there, instead of beginning it anew (`accum_log_file`).
    pub accum_log_file: bool,
    /// Text in front of each line of the log (`log_prefix`).
    pub log_prefix: Option<String>,
    /// Ends the manager if two nodes have one GUID (`exit_on_fatal`).
    pub exit_on_fatal: bool,
    /// File with names of nodes by GUID, for the log (`node_name_map_name`).
    pub node_name_map_name: Option<String>,
    /// Routes on the thread that answers datagrams, and not on one of its own (`single_thread`).
    pub single_thread: bool,
    /// Waits until files that a restart reads are on the disk (`fsync_high_avail_files`).
    pub fsync_high_avail_files: bool,
    /// File with `log_flags` by module of OpenSM (`per_module_logging_file`).
    pub per_module_logging_file: Option<String>,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            guid: Guid::NONE,
            log_file: None,
            log_max_size: 0,
            log_flags: 3,
            force_log_flush: false,
            accum_log_file: true,
            log_prefix: None,
            exit_on_fatal: false,
            node_name_map_name: None,
            single_thread: false,
            fsync_high_avail_files: true,
            per_module_logging_file: None,
        }
    }
}

/// Their rows.
pub(super) static ROWS: &[OptionInfo] = &[
    row!(
        "guid",
        Host,
        ["GUID of the port to sit on; 0 leaves the choice to the host."],
        Wide,
        Restart,
        host.guid
    ),
    row!(
        "log_file",
        Log,
        ["Log file; (null) for none. `ib sm` opens it again at SIGUSR1."],
        Text,
        Restart,
        host.log_file
    ),
    row!(
        "log_max_size",
        Log,
        [
            "Megabytes after which the log file is renamed to FILE.1 and begun anew; 0 sets no limit."
        ],
        Int(0, 0xffff_ffff),
        Restart,
        host.log_max_size
    ),
    row!(
        "log_flags",
        Log,
        [
            "What is logged, a sum of bits: 1 errors and warnings, 2 decisions, 4 steps, 8 and above every request."
        ],
        Hex(0, 0xff),
        Live,
        host.log_flags
    ),
    row!(
        "force_log_flush",
        Log,
        ["Writes each line of the log to the disk at once."],
        Flag,
        Restart,
        host.force_log_flush
    ),
    row!(
        "accum_log_file",
        Log,
        ["Appends to a log file that is there, instead of beginning it anew."],
        Flag,
        Restart,
        host.accum_log_file
    ),
    row!(
        "log_prefix",
        Log,
        ["Text in front of each line of the log."],
        Text,
        Restart,
        host.log_prefix
    ),
    row!(
        "exit_on_fatal",
        Host,
        ["Ends the manager with status 1 if two nodes have one GUID."],
        Flag,
        Live,
        host.exit_on_fatal
    ),
    row!(
        "single_thread",
        Host,
        [
            "Routes on the thread that answers datagrams: while routes are computed, queries and other managers wait."
        ],
        Flag,
        Restart,
        host.single_thread
    ),
    row!(
        "fsync_high_avail_files",
        Host,
        [
            "Waits until files that a restart reads are on the disk before they take the place of the old ones. Without it they are \
             whole or absent all the same unless the machine itself fails."
        ],
        Flag,
        Restart,
        host.fsync_high_avail_files
    ),
    row!(
        "node_name_map_name",
        Log,
        ["File with names of nodes, `GUID \"NAME\"` a line, for the log."],
        Text,
        Restart,
        host.node_name_map_name
    ),
    row!(
        "per_module_logging_file",
        Log,
        [
            "File with `log_flags` by module of OpenSM, as `osm_lid_mgr.c = 0x0f` a line; modules without a part of the log here are passed over."
        ],
        Text,
        Restart,
        host.per_module_logging_file
    ),
];
