//! Keys of OpenSM without effect here: each with OpenSM's default and the reason.
//!
//! At its default such a key asks for nothing, and nothing is said. Any other value draws a warning with the reason.

use alloc::string::String;

use ib_wire::addr;

use super::table::{Change, OptionGroup, OptionInfo};

macro_rules! no_effect {
    ($($group:ident $key:literal $default:literal $reason:literal;)*) => {
        /// Their rows.
        pub(super) static ROWS: &[OptionInfo] = &[$(
            OptionInfo {
                key: $key,
                group: OptionGroup::$group,
                doc: &[],
                expected: String::new,
                change: Change::Live,
                no_effect: Some(($default, $reason)),
                read: |_, _| true,
                write: |_| String::from($default),
                copy: |_, _| {},
            },
        )*];
    };
}

no_effect! {
    Device "m_key_lookup" "TRUE"
        "M_Keys of ports are not kept in a file yet; `m_key` is used for all ports";
    Links "fdr10" "1"
        "FDR10 of Mellanox devices is not switched on or off yet";
    Routing "avoid_throttled_links" "FALSE"
        "engines do not weigh links by their speed yet";
    Routing "lid_matrix_dump_file" "(null)"
        "`ib route --lid-matrix-file` reads it; a running manager does not yet";
    Routing "lfts_file" "(null)"
        "`ib route --tables` reads it; a running manager does not yet";
    Routing "dimn_ports_file" "(null)"
        "`port_search_ordering_file` says the order of ports";
    Routing "guid_routing_order_no_scatter" "FALSE"
        "ports of `guid_routing_order_file` are scattered like others";
    Multicast "consolidate_ipv6_snm_req" "FALSE"
        "groups of IPv6 solicited-node multicast are not joined into one yet";
    HighAvailability "drop_event_subscriptions" "FALSE"
        "subscriptions of a port that is gone end by themselves when it does not come back";
    Timing "max_wire_smps2" "4"
        "the window adapts to the subnet up to `max_wire_smps`";
    Timing "max_smps_timeout" "600000"
        "the window adapts to the subnet up to `max_wire_smps`";
    Timing "long_transaction_timeout" "500"
        "each request waits for `transaction_timeout`";
    Timing "max_msg_fifo_timeout" "10000"
        "the administrator answers at once, or with BUSY";
    Timing "single_thread" "FALSE"
        "the administrator runs on one thread";
    Administrator "use_original_extended_sa_rates_only" "FALSE"
        "rates are given as they are";
    Administrator "max_rate_enum" "0"
        "rates are given as they are";
    Administrator "enable_quirks" "FALSE"
        "there are no rules for single devices yet";
    Qos "suppress_sl2vl_mad_status_errors" "FALSE"
        "a refused table is always named";
    Qos "use_optimized_slvl" "FALSE"
        "tables are written port by port";
    Host "console" "off"
        "use `--control SOCKET` and `ib ctl`: a console on a TCP port has no credentials";
    Host "console_port" "10000"
        "use `--control SOCKET` and `ib ctl`: a console on a TCP port has no credentials";
    Host "fsync_high_avail_files" "TRUE"
        "files that a restart reads are always on the disk before they replace the old ones";
    Host "daemon" "FALSE"
        "a service manager such as systemd runs it in the background";
    Host "event_plugin_name" "(null)"
        "plugins are shared objects for OpenSM; `--log-json` and `--metrics` carry the events";
    Host "event_plugin_options" "(null)"
        "plugins are shared objects for OpenSM; `--log-json` and `--metrics` carry the events";
}

/// Whether a value says the same as OpenSM's default, however it is spelt.
pub(super) fn is_default(value: &str, default: &str) -> bool {
    let number = |text| addr::number(text, u64::MAX);
    value.eq_ignore_ascii_case(default)
        || number(value).is_some_and(|value| Some(value) == number(default))
}
