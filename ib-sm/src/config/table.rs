//! The table of options: each is one row, from which everything else about it comes.
//!
//! A row says key, meaning, field, type, default, range, and whether the option changes while the manager runs. The
//! struct [`SmConfig`], its defaults, the reader of option files, what a reload keeps, the commented template and the
//! table in `OPTIONS.md` are made of the rows.

use alloc::{format, string::String, vec::Vec};

use super::{SmConfig, refused::Refusal};

/// An option of OpenSM's configuration file.
pub struct OptionInfo {
    pub(super) key: &'static str,
    pub(super) group: OptionGroup,
    pub(super) doc: &'static [&'static str],
    pub(super) expected: fn() -> String,
    pub(super) change: TakesEffect,
    /// For a key that is not followed: which value is taken, and why no other.
    pub(super) refusal: Option<Refusal>,
    pub(super) read: fn(&mut SmConfig, &str) -> bool,
    pub(super) write: fn(&SmConfig) -> String,
    pub(super) copy: fn(&mut SmConfig, &SmConfig),
}

/// The time at which another value takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TakesEffect {
    /// While the manager runs.
    Live,
    /// After a restart.
    Restart,
}

/// A part of the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each prints its title")]
pub enum OptionGroup {
    Device,
    Links,
    Partitions,
    Sweep,
    Routing,
    Multicast,
    HighAvailability,
    Timing,
    Administrator,
    Qos,
    Log,
    Performance,
    Congestion,
    Host,
}

impl OptionGroup {
    /// All of them, in the order of the template.
    pub const ALL: [Self; 14] = [
        Self::Device,
        Self::Links,
        Self::Partitions,
        Self::Sweep,
        Self::Routing,
        Self::Multicast,
        Self::HighAvailability,
        Self::Timing,
        Self::Administrator,
        Self::Qos,
        Self::Log,
        Self::Performance,
        Self::Congestion,
        Self::Host,
    ];

    /// The headline in the template.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Device => "Keys, addresses and LIDs",
            Self::Links => "Links",
            Self::Partitions => "Partitions",
            Self::Sweep => "Sweeps",
            Self::Routing => "Routing",
            Self::Multicast => "Multicast",
            Self::HighAvailability => "Several managers",
            Self::Timing => "Time-outs and requests in flight",
            Self::Administrator => "Subnet administrator",
            Self::Qos => "Quality of service",
            Self::Log => "Log",
            Self::Performance => "Performance manager",
            Self::Congestion => "Congestion control",
            Self::Host => "Host",
        }
    }
}

impl OptionInfo {
    /// The key in OpenSM's configuration file.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        self.key
    }

    /// The part of the template that it stands in.
    #[must_use]
    pub const fn group(&self) -> OptionGroup {
        self.group
    }

    /// Its meaning, in one line.
    #[must_use]
    pub fn meaning(&self) -> String {
        let mut text = String::new();
        for line in self.doc {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line.trim());
        }
        text
    }

    /// Whether a reload changes it; else it needs a restart.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        matches!(self.change, TakesEffect::Live)
    }

    /// The values that it takes, for people.
    #[must_use]
    pub fn expected(&self) -> String {
        (self.expected)()
    }

    /// The reason why values other than OpenSM's default are refused; `None` for an option that acts.
    #[must_use]
    pub fn refused(&self) -> Option<&'static str> {
        self.refusal.map(|refusal| refusal.reason)
    }

    /// The value in a configuration, as the option file spells it.
    #[must_use]
    pub fn value(&self, config: &SmConfig) -> String {
        (self.write)(config)
    }

    /// The default, as the option file spells it.
    #[must_use]
    pub fn default_value(&self) -> String {
        self.value(&SmConfig::default())
    }
}

/// An option whose value differs between two configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionChange {
    /// The key.
    pub key: &'static str,
    /// The value before, as the option file spells it.
    pub from: String,
    /// The value now.
    pub to: String,
    /// Whether a running manager takes it over; else it needs a restart.
    pub is_live: bool,
}

/// Declares [`SmConfig`] and its rows.
///
/// `options` are fields with a key: `name: Type = default, Group "key" Codec, Live|Restart;`. `state` are fields that
/// come from other files or from the host. `nested` are options whose field lives in a struct of its own:
/// `path.to.field: Type => Group "key" Codec, Live|Restart;`.
macro_rules! options {
    (
        $(#[$meta:meta])*
        pub struct SmConfig {
            options { $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $default:expr, $group:ident $key:literal $codec:expr, $when:ident;
            )* }
            state { $(
                $(#[doc = $state_doc:literal])+
                $state:ident: $state_type:ty = $state_default:expr;
            )* }
            nested { $(
                $(#[doc = $nested_doc:literal])+
                $head:ident $(. $tail:ident)+ => $nested_group:ident $nested_key:literal $nested_codec:expr, $nested_when:ident;
            )* }
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub struct SmConfig {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("\n\nOption `", $key, "`.")]
                pub $field: $type,
            )*
            $(
                $(#[doc = $state_doc])+
                pub $state: $state_type,
            )*
        }

        impl Default for SmConfig {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    $($state: $state_default,)*
                }
            }
        }

        /// The options whose field is in [`SmConfig`] itself, then those of its parts.
        pub(super) static ROWS: &[OptionInfo] = &[
            $(row!($key, $group, [$($doc),+], $codec, $when, $field),)*
            $(row!($nested_key, $nested_group, [$($nested_doc),+], $nested_codec, $nested_when, $head $(. $tail)+),)*
        ];
    };
}

/// One row of the table.
macro_rules! row {
    ($key:expr, $group:ident, [$($doc:expr),+], $codec:expr, $when:ident, $($path:ident).+) => {
        OptionInfo {
            key: $key,
            group: OptionGroup::$group,
            doc: &[$($doc),+],
            expected: || Describe::expected(&$codec),
            change: TakesEffect::$when,
            refusal: None,
            read: |config, text| match Codec::read(&$codec, text) {
                Some(value) => {
                    config.$($path).+ = value;
                    true
                }
                None => false,
            },
            write: |config| Codec::write(&$codec, &config.$($path).+),
            copy: |to, from| to.$($path).+.clone_from(&from.$($path).+),
        }
    };
}

pub(super) use options;
pub(super) use row;

/// Keys that OpenSM reads and its own template does not have.
const UNPRINTED: [&str; 2] = ["dimn_ports_file", "max_rate_enum"];

impl SmConfig {
    /// Every option, those without effect here included.
    pub fn options() -> impl Iterator<Item = &'static OptionInfo> {
        super::tables().into_iter().flatten()
    }

    /// The option with a key of OpenSM's configuration file.
    #[must_use]
    pub fn option(key: &str) -> Option<&'static OptionInfo> {
        let key = match key {
            // The spelling in OpenSM's manual.
            "honor_guid2lid" => "honor_guid2lid_file",
            key => key,
        };
        Self::options().find(|row| row.key == key)
    }

    /// The options whose values differ in another configuration, in the order of the table.
    #[must_use]
    pub fn changes(&self, to: &Self) -> Vec<OptionChange> {
        let changed = |row: &&OptionInfo| row.value(self) != row.value(to);
        Self::options()
            .filter(changed)
            .map(|row| OptionChange {
                key: row.key,
                from: row.value(self),
                to: row.value(to),
                is_live: row.is_live(),
            })
            .collect()
    }

    /// The configuration as a commented option file, which OpenSM reads as well.
    ///
    /// Options without effect here are commented out, with the reason.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text =
            String::from("# The configuration in effect, in the format of OpenSM's opensm.conf.\n");
        for group in OptionGroup::ALL {
            text.push_str(&format!("\n#\n# {}\n#\n", group.title()));
            for row in Self::options().filter(|row| row.group == group) {
                text.push('\n');
                if !row.doc.is_empty() {
                    comment(&mut text, &row.meaning());
                }
                let (key, value) = (row.key, row.value(self));
                if let Some(reason) = row.refused() {
                    comment(
                        &mut text,
                        &format!("Refused if it is not the default: {reason}."),
                    );
                    text.push_str(&format!("# {key} {value}\n"));
                    continue;
                }
                let when = if row.is_live() {
                    ""
                } else {
                    " Needs a restart."
                };
                let (expected, default) = (row.expected(), row.default_value());
                comment(
                    &mut text,
                    &format!("Expected: {expected}. Default: {default}.{when}"),
                );
                // A value that says nothing would only puzzle an OpenSM that does not know the key.
                let is_shown = !UNPRINTED.contains(&key) || value != default;
                let mark = if is_shown { "" } else { "# " };
                // An option of service levels has a line for each level.
                for value in value.lines() {
                    text.push_str(&format!("{mark}{key} {value}\n"));
                }
            }
        }
        text
    }

    /// The table of all options in Markdown, as `OPTIONS.md` holds it.
    #[must_use]
    pub fn options_table() -> String {
        let mut text = String::from(
            "# Options\n\nThe keys of OpenSM's configuration file, as `ib sm --config FILE` reads them. This file is made of the table of \
             options in `src/config.rs`; a test compares them.\n",
        );
        for group in OptionGroup::ALL {
            let mut rows = Self::options()
                .filter(|row| row.group == group && row.refusal.is_none())
                .peekable();
            if rows.peek().is_none() {
                continue;
            }
            text.push_str(&format!(
                "\n## {}\n\n| key | default | values | reload | meaning |\n|---|---|---|---|---|\n",
                group.title()
            ));
            for row in rows {
                let reload = if row.is_live() { "yes" } else { "restart" };
                text.push_str(&format!(
                    "| `{}` | {} | {} | {reload} | {} |\n",
                    row.key,
                    row.default_value(),
                    row.expected(),
                    row.meaning()
                ));
            }
        }
        text.push_str(
            "\n## Refused\n\nOnly OpenSM's default is taken for these keys of OpenSM; another value ends the reading with \
             the reason.\n\n| key | OpenSM's default | reason |\n|---|---|---|\n",
        );
        for row in Self::options() {
            if let Some(Refusal { default, reason }) = row.refusal {
                text.push_str(&format!("| `{}` | {default} | {reason} |\n", row.key));
            }
        }
        text
    }

    /// Puts back what cannot change while the manager runs, and names it where it differs.
    pub(crate) fn keep_fixed(&mut self, now: &Self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for row in Self::options().filter(|row| !row.is_live()) {
            if row.value(self) != row.value(now) {
                names.push(row.key);
                (row.copy)(self, now);
            }
        }
        // These are the host's at the start, and the manager's own from then on.
        self.first_transaction_id = now.first_transaction_id;
        self.guid2lid.clone_from(&now.guid2lid);
        self.m_keys.clone_from(&now.m_keys);
        self.rmpp = now.rmpp;
        self.cluster.clone_from(&now.cluster);
        self.sa_redirect = now.sa_redirect;
        self.registrations = crate::Registrations::default();
        names
    }
}

/// Adds a comment, wrapped.
fn comment(text: &mut String, what: &str) {
    const WIDTH: usize = 98;
    let mut column = 0;
    for word in what.split_whitespace() {
        let longer = word.len().saturating_add(1).saturating_add(column);
        if column == 0 || longer > WIDTH {
            if column != 0 {
                text.push('\n');
            }
            text.push('#');
            column = 1;
        }
        text.push(' ');
        text.push_str(word);
        column = column.saturating_add(word.len()).saturating_add(1);
    }
    text.push('\n');
}
