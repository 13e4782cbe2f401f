//! Faults as a text, for an option of a program.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use super::FaultRates;

/// The faults of a run as one text: rates and the seed, for example
/// `loss=0.01,duplicate=0.001,delay=0.1,max-delay=5ms,seed=7`.
///
/// A part is a key and a value; [`FaultSpec::help`] lists them. Chances are from 0 to 1, times have a unit (`ns`, `us`,
/// `ms`, `s`), `smp-only` has no value. Keys that are not named keep their defaults. `Display` writes the parts that
/// differ from the default; that text gives the same faults again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultSpec {
    /// The chances, of every link.
    pub rates: FaultRates,
    /// Seed of the sequence that all draws come from. Default: 0.
    pub seed: u64,
}

const SEED_KEY: &str = "seed";

/// The reason why a text is no [`FaultSpec`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultSpecError {
    /// No fault has this name.
    #[error("unknown fault `{key}`, expected {}", keys())]
    UnknownKey {
        /// The word before `=`.
        key: String,
    },
    /// The value does not fit the key.
    #[error("{key}={value}: expected {expected}")]
    BadValue {
        /// The word before `=`.
        key: String,
        /// The text after `=`.
        value: String,
        /// Description of the values that fit.
        expected: &'static str,
    },
}

/// All keys as an enumeration: `a, b or c`.
fn keys() -> String {
    let chances = FaultRates::CHANCE_KEYS.iter().copied();
    let settings = FaultRates::SETTING_KEYS.iter().map(|&(key, _)| key);
    let keys: Vec<_> = chances.chain(settings).collect();
    format!("{} or {SEED_KEY}", keys.join(", "))
}

impl FaultSpec {
    /// One line that lists the keys and how their values are written, for the help text of a program.
    #[must_use]
    pub fn help() -> String {
        let chances = FaultRates::CHANCE_KEYS.iter();
        let chances: Vec<_> = chances.map(|key| format!("{key}=")).collect();
        let settings = FaultRates::SETTING_KEYS.iter();
        let settings: Vec<_> = settings
            .map(|(key, example)| format!("{key}{example}"))
            .collect();
        format!(
            "chances from 0 to 1 of {}; {}, {SEED_KEY}=N",
            chances.join(", "),
            settings.join(", ")
        )
    }
}

impl FromStr for FaultSpec {
    type Err = FaultSpecError;

    fn from_str(text: &str) -> Result<Self, FaultSpecError> {
        let mut spec = Self::default();
        let parts = text.split(',').map(str::trim);
        for part in parts.filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let set = match key {
                SEED_KEY => Some(FaultValue::parse(value).map(|seed| spec.seed = seed)),
                _ => spec.rates.set(key, value),
            };
            let set = set.ok_or_else(|| FaultSpecError::UnknownKey {
                key: key.to_owned(),
            })?;
            set.map_err(|expected| FaultSpecError::BadValue {
                key: key.to_owned(),
                value: value.to_owned(),
                expected,
            })?;
        }
        Ok(spec)
    }
}

impl fmt::Display for FaultSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.rates.parts();
        if self.seed != 0 {
            parts.push(self.seed.part(SEED_KEY));
        }
        f.write_str(&parts.join(","))
    }
}

/// A value of a [`FaultSpec`].
pub(super) trait FaultValue: Sized {
    /// Text after the key in a help text.
    const EXAMPLE: &'static str;

    /// Reads a value; the error is what is expected.
    fn parse(text: &str) -> Result<Self, &'static str>;

    /// The key and the value, as [`FaultSpec`] reads them.
    fn part(&self, key: &str) -> String;
}

/// A chance.
impl FaultValue for f64 {
    const EXAMPLE: &'static str = "=0.01";

    fn parse(text: &str) -> Result<Self, &'static str> {
        let chance = text.parse::<Self>().ok();
        chance
            .filter(|chance| (0.0..=1.0).contains(chance))
            .ok_or("a chance from 0 to 1")
    }

    fn part(&self, key: &str) -> String {
        format!("{key}={self}")
    }
}

impl FaultValue for Duration {
    const EXAMPLE: &'static str = "=5ms";

    fn parse(text: &str) -> Result<Self, &'static str> {
        parse_time(text).ok_or("a time such as 5ms, 20us or 1s")
    }

    fn part(&self, key: &str) -> String {
        let nanos = self.as_nanos();
        let mut counts = UNITS.iter().filter_map(|&(name, unit)| {
            let unit = u128::from(unit);
            let count = nanos.checked_div(unit)?;
            (count.checked_mul(unit)? == nanos).then_some((count, name))
        });
        let (count, name) = counts.next().unwrap_or((nanos, "ns"));
        format!("{key}={count}{name}")
    }
}

/// A key without a value.
impl FaultValue for bool {
    const EXAMPLE: &'static str = "";

    fn parse(text: &str) -> Result<Self, &'static str> {
        text.is_empty().then_some(true).ok_or("no value")
    }

    fn part(&self, key: &str) -> String {
        key.to_owned()
    }
}

impl FaultValue for u64 {
    const EXAMPLE: &'static str = "=N";

    fn parse(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| "a number")
    }

    fn part(&self, key: &str) -> String {
        format!("{key}={self}")
    }
}

/// Units of time and their nanoseconds, the longest first.
const UNITS: [(&str, u64); 4] = [
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// A time as programs take it: a whole number and a unit out of `ns`, `us`, `ms` and `s`. A zero needs no unit.
#[must_use]
pub fn parse_time(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let unit = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(unit)?;
    let (_, nanos) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let nanos = number.parse::<u64>().ok()?.checked_mul(*nanos)?;
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_names_rates_and_seed() {
        let spec: FaultSpec = "loss=0.25, delay=1,max-delay=20us,seed=9,smp-only"
            .parse()
            .unwrap();
        assert_eq!(
            (spec.rates.loss, spec.rates.delay, spec.seed),
            (0.25, 1.0, 9)
        );
        assert_eq!(spec.rates.max_delay, Duration::from_micros(20));
        assert!(spec.rates.smp_only);
        let text = spec.to_string();
        assert_eq!(text, "loss=0.25,delay=1,max-delay=20us,smp-only,seed=9");
        assert_eq!(text.parse(), Ok(spec));
    }

    #[test]
    fn a_spec_that_says_nothing_possible_is_an_error_that_names_it() {
        for (text, word) in [
            ("los=1", "los"),
            ("los=1", "reorder, corrupt, max-delay, smp-only or seed"),
            ("loss=2", "loss=2"),
            ("loss=NaN", "chance"),
            ("max-delay=5", "time"),
            ("max-delay=99999999999999999999s", "time"),
            ("max-delay=18446744073709551615s", "time"),
            ("smp-only=1", "no value"),
            ("seed=x", "number"),
        ] {
            let error = text.parse::<FaultSpec>().unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn the_help_names_every_key() {
        assert_eq!(
            FaultSpec::help(),
            "chances from 0 to 1 of loss=, bit-error=, duplicate=, delay=, reorder=, corrupt=; \
             max-delay=5ms, smp-only, seed=N"
        );
    }
}
