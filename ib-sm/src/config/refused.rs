//! Keys of OpenSM that are refused: each with OpenSM's default, which is taken, and the reason.

use alloc::string::String;

use ib_wire::addr;

use super::table::{OptionGroup, OptionInfo, TakesEffect};

/// Treatment of a key of OpenSM that nothing here can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The value in OpenSM's template, the only one that is taken.
    pub(super) default: &'static str,
    /// Why the key is not followed, and what to use instead.
    pub(super) reason: &'static str,
}

impl Refusal {
    /// Returns true if this value is refused.
    pub(super) fn refuses(&self, value: &str) -> bool {
        !is_default(value, self.default)
    }
}

macro_rules! refused {
    ($($group:ident $key:literal $default:literal: $reason:literal;)*) => {
        /// Their rows.
        pub(super) static ROWS: &[OptionInfo] = &[$(
            OptionInfo {
                key: $key,
                group: OptionGroup::$group,
                doc: &[],
                expected: String::new,
                change: TakesEffect::Live,
                refusal: Some(Refusal {
                    default: $default,
                    reason: $reason,
                }),
                read: |_, _| true,
                write: |_| String::from($default),
                copy: |_, _| {},
            },
        )*];
    };
}

refused! {
    Routing "quasi_ftree_indexing" "FALSE":
        "`ftree` orders the ports of a switch by what is behind them, with or without a regular tree: leave it out";
    Host "console" "off":
        "use `--control SOCKET` and `ib ctl`: a console on a TCP port has no credentials";
    Host "console_port" "10000":
        "it belongs to `console`";
    Host "daemon" "FALSE":
        "a service manager such as systemd runs it in the background";
    Host "event_plugin_name" "(null)":
        "plugins are shared objects for OpenSM; `--log-json` and `--metrics` carry the events";
    Host "event_plugin_options" "(null)":
        "it belongs to `event_plugin_name`";
}

/// Returns true if a value says the same as OpenSM's default, however it is spelt.
fn is_default(value: &str, default: &str) -> bool {
    let number = |text| addr::number(text, u64::MAX);
    value.eq_ignore_ascii_case(default)
        || number(value).is_some_and(|value| Some(value) == number(default))
}
