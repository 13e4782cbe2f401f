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
    Routing "guid_routing_order_no_scatter" "FALSE"
        "`scatter_ports` chooses an order of ports for each switch, which all destinations share";
    Routing "quasi_ftree_indexing" "FALSE"
        "`ftree` orders ports by what is behind them and not by their numbers, so switches may be cabled in any order";
    Routing "nue_include_switches" "FALSE"
        "`nue` always keeps routes to switches free of deadlock, as the verifier demands it of all routes";
    Host "console" "off"
        "use `--control SOCKET` and `ib ctl`: a console on a TCP port has no credentials";
    Host "console_port" "10000"
        "use `--control SOCKET` and `ib ctl`: a console on a TCP port has no credentials";
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
