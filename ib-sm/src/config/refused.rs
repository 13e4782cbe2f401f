//! Keys of OpenSM without effect here: each with OpenSM's default and the reason.

use alloc::string::String;

use ib_wire::addr;

use super::table::{OptionGroup, OptionInfo, TakesEffect};

/// Treatment of a key of OpenSM that has no effect here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoEffect {
    /// The value in OpenSM's template.
    pub(super) default: &'static str,
    /// Why the key has no effect, and what to use instead.
    pub(super) reason: &'static str,
    values: Values,
}

/// The values that a key without effect takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// OpenSM's default alone: another value asks for something that does not happen.
    Default,
    /// All, because what the key asks for holds in any case, or because it belongs to a key that is refused.
    All,
}

impl NoEffect {
    /// The reason why this value is refused, if it is.
    pub(super) fn refuses(&self, value: &str) -> Option<&'static str> {
        let is_taken = self.values == Values::All || is_default(value, self.default);
        (!is_taken).then_some(self.reason)
    }

    /// Whether values other than OpenSM's default are refused.
    pub(super) fn is_refused(&self) -> bool {
        self.values == Values::Default
    }
}

macro_rules! no_effect {
    ($($group:ident $key:literal $default:literal takes $values:ident: $reason:literal;)*) => {
        /// Their rows.
        pub(super) static ROWS: &[OptionInfo] = &[$(
            OptionInfo {
                key: $key,
                group: OptionGroup::$group,
                doc: &[],
                expected: String::new,
                change: TakesEffect::Live,
                no_effect: Some(NoEffect {
                    default: $default,
                    reason: $reason,
                    values: Values::$values,
                }),
                read: |_, _| true,
                write: |_| String::from($default),
                copy: |_, _| {},
            },
        )*];
    };
}

no_effect! {
    Routing "guid_routing_order_no_scatter" "FALSE" takes Default:
        "`scatter_ports` chooses an order of ports for each switch, which all destinations share; leave one of the two out";
    Routing "quasi_ftree_indexing" "FALSE" takes All:
        "`ftree` orders ports by what is behind them and not by their numbers, so switches may be cabled in any order";
    Routing "nue_include_switches" "FALSE" takes All:
        "`nue` always keeps routes to switches free of deadlock, as the verifier demands it of all routes";
    Host "console" "off" takes Default:
        "use `--control SOCKET` and `ib ctl`: a console on a TCP port has no credentials";
    Host "console_port" "10000" takes All:
        "it belongs to `console`";
    Host "daemon" "FALSE" takes Default:
        "a service manager such as systemd runs it in the background";
    Host "event_plugin_name" "(null)" takes Default:
        "plugins are shared objects for OpenSM; `--log-json` and `--metrics` carry the events";
    Host "event_plugin_options" "(null)" takes All:
        "it belongs to `event_plugin_name`";
}

/// Whether a value says the same as OpenSM's default, however it is spelt.
fn is_default(value: &str, default: &str) -> bool {
    let number = |text| addr::number(text, u64::MAX);
    value.eq_ignore_ascii_case(default)
        || number(value).is_some_and(|value| Some(value) == number(default))
}
