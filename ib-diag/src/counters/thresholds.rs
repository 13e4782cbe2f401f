//! Thresholds of error counters, as ibqueryerrors reads them from a file.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
};

use ib_wire::text::{self, TextError};

use super::CounterReadings;

/// The largest value of each error counter that is not reported as a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thresholds {
    limits: BTreeMap<&'static str, u64>,
    ignored: BTreeSet<&'static str>,
}

impl Default for Thresholds {
    /// The values that the file of infiniband-diags suggests: 10 or 100, depending on the counter, and 0 for
    /// QP1Dropped.
    fn default() -> Self {
        let limits = [
            ("symbol_error_counter", 10),
            ("link_error_recovery_counter", 10),
            ("link_downed_counter", 10),
            ("port_rcv_errors", 10),
            ("port_rcv_remote_physical_errors", 100),
            ("port_rcv_switch_relay_errors", 100),
            ("port_xmit_discards", 100),
            ("port_xmit_constraint_errors", 100),
            ("port_rcv_constraint_errors", 100),
            ("local_link_integrity_errors", 10),
            ("excessive_buffer_overrun_errors", 10),
            ("vl15_dropped", 100),
            ("qp1_dropped", 100),
        ];
        Self {
            limits: limits.into_iter().collect(),
            ignored: BTreeSet::new(),
        }
    }
}

impl Thresholds {
    /// Thresholds of 0 for every counter of errors, so that one error is over them.
    #[must_use]
    pub fn zero() -> Self {
        let errors = CounterReadings::names().filter(|name| CounterReadings::counts_errors(name));
        Self {
            limits: errors.map(|name| (name, 0)).collect(),
            ignored: BTreeSet::new(),
        }
    }

    /// Threshold of the counter; `None` if the counter has none or is ignored.
    #[must_use]
    pub fn limit(&self, counter: &str) -> Option<u64> {
        let limit = self.limits.get(counter).copied();
        limit.filter(|_| !self.is_ignored(counter))
    }

    /// Returns true if the counter is ignored, whatever its value.
    #[must_use]
    pub fn is_ignored(&self, counter: &str) -> bool {
        self.ignored.contains(counter)
    }

    /// Ignores a counter, as ibqueryerrors does with `--suppress`. Returns false if there is no counter with this name.
    #[must_use]
    pub fn ignore(&mut self, name: &str) -> bool {
        let name = counter_name(name);
        self.ignored.extend(name);
        name.is_some()
    }

    /// Changes the thresholds that a file names. A line is the counter's name in the specification, `=` and a number;
    /// `#` begins a comment.
    ///
    /// # Errors
    /// The first line that is neither empty nor a threshold.
    pub fn read(mut self, text: &str) -> Result<Self, TextError> {
        for (line, entry) in text::lines(text) {
            let parsed = entry.split_once('=').and_then(|(name, limit)| {
                let name = counter_name(name.trim())?;
                Some((name, ib_wire::addr::number(limit.trim(), u64::MAX)?))
            });
            let Some((name, limit)) = parsed else {
                let expected = "a counter and a number, as SymbolErrorCounter=10";
                return Err(TextError::new(line, entry, expected));
            };
            self.limits.insert(name, limit);
        }
        Ok(self)
    }
}

/// The library's name of the counter that `name` spells as the specification or as this library does.
fn counter_name(name: &str) -> Option<&'static str> {
    let plain = |text: &str| -> String {
        let letters = text.chars().filter(|letter| *letter != '_');
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let wanted = plain(name);
    // infiniband-diags abbreviates two names.
    let wanted = match wanted.as_str() {
        "linkerrorrecovery" => "linkerrorrecoverycounter".into(),
        "linkdowned" => "linkdownedcounter".into(),
        _ => wanted,
    };
    CounterReadings::names().find(|name| plain(name) == wanted)
}
