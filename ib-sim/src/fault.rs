//! Faults: what goes wrong on links and in nodes, by a seeded schedule.
//!
//! The same seed and the same inputs give the same faults, bit for bit. Rates are chances per packet and link
//! crossing; a node's behaviour is set by name through [`Sim::set_behaviour`](crate::Sim::set_behaviour).

use std::str::FromStr;
use std::time::Duration;

use ib_wire::Guid;
use thiserror::Error;

/// How often packets suffer on their way over a link; chances from 0.0 (never) to 1.0 (always).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultRates {
    /// The packet vanishes without a trace: VL 15 has no flow control.
    pub loss: f64,
    /// The packet arrives twice.
    pub duplicate: f64,
    /// The packet waits up to [`max_delay`](Self::max_delay).
    pub delay: f64,
    /// Longest wait of a delayed packet.
    pub max_delay: Duration,
    /// The packet waits just long enough for the ones behind it to overtake it.
    pub reorder: f64,
    /// A bit of the datagram flips and no CRC notices, as with broken firmware.
    pub corrupt: f64,
    /// A bit flips and the CRC notices: the receiving port counts an error and drops the packet.
    pub bit_error: f64,
    /// Only subnet management packets suffer.
    pub smp_only: bool,
}

impl FaultRates {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        loss: 0.0,
        duplicate: 0.0,
        delay: 0.0,
        max_delay: Duration::from_millis(5),
        reorder: 0.0,
        corrupt: 0.0,
        bit_error: 0.0,
        smp_only: false,
    };

    /// Whether nothing can go wrong.
    #[must_use]
    pub fn is_none(&self) -> bool {
        [
            self.loss,
            self.duplicate,
            self.delay,
            self.reorder,
            self.corrupt,
            self.bit_error,
        ]
        .iter()
        .all(|&rate| rate <= 0.0)
    }
}

impl Default for FaultRates {
    fn default() -> Self {
        Self::NONE
    }
}

/// The faults of a run as one text: rates and the seed, for example
/// `loss=0.01,duplicate=0.001,delay=0.1,max-delay=5ms,seed=7`.
///
/// Keys: `loss duplicate delay reorder corrupt bit-error` (chances), `max-delay` (`us`, `ms` or `s`), `smp-only`
/// (no value), `seed`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultSpec {
    /// The chances, of every link.
    pub rates: FaultRates,
    /// Where the schedule starts.
    pub seed: u64,
}

/// What a [`FaultSpec`] text says that it cannot say.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultSpecError {
    /// No fault has this name.
    #[error(
        "unknown fault `{key}`, expected loss, duplicate, delay, max-delay, reorder, corrupt, bit-error, smp-only or seed"
    )]
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
        /// What would fit.
        expected: &'static str,
    },
}

impl FromStr for FaultSpec {
    type Err = FaultSpecError;

    fn from_str(text: &str) -> Result<Self, FaultSpecError> {
        let mut spec = Self::default();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let bad = |expected| FaultSpecError::BadValue {
                key: key.to_owned(),
                value: value.to_owned(),
                expected,
            };
            let chance = || {
                let chance = value.parse::<f64>().ok();
                chance
                    .filter(|chance| (0.0..=1.0).contains(chance))
                    .ok_or_else(|| bad("a chance from 0 to 1"))
            };
            let rates = &mut spec.rates;
            match key {
                "loss" => rates.loss = chance()?,
                "duplicate" => rates.duplicate = chance()?,
                "delay" => rates.delay = chance()?,
                "reorder" => rates.reorder = chance()?,
                "corrupt" => rates.corrupt = chance()?,
                "bit-error" => rates.bit_error = chance()?,
                "smp-only" if value.is_empty() => rates.smp_only = true,
                "smp-only" => return Err(bad("no value")),
                "max-delay" => {
                    rates.max_delay = parse_duration(value)
                        .ok_or_else(|| bad("a time such as 5ms, 20us or 1s"))?;
                }
                "seed" => spec.seed = value.parse().map_err(|_| bad("a number"))?,
                _ => {
                    return Err(FaultSpecError::UnknownKey {
                        key: key.to_owned(),
                    });
                }
            }
        }
        Ok(spec)
    }
}

/// `5ms`, `20us`, `1s`.
fn parse_duration(text: &str) -> Option<Duration> {
    let unit = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(unit)?;
    let number = number.parse::<u64>().ok()?;
    match unit {
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

/// How the agents of a node behave. A switch forwards packets whatever its agents do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Behaviour {
    /// As they should.
    #[default]
    Honest,
    /// They answer nothing.
    Silent,
    /// Every answer takes this much longer.
    Slow(Duration),
    /// What they answer is wrong.
    Byzantine(Corruption),
}

/// How a byzantine node corrupts its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Corruption {
    /// NodeInfo has a type that does not exist.
    NodeType,
    /// NodeInfo claims this many ports.
    NumPorts(u8),
    /// NodeInfo has another node GUID in every answer.
    ChangingGuid,
    /// NodeInfo has somebody else's node GUID and port GUID.
    Guid(Guid),
    /// Every answer has the status "invalid field value".
    Status,
    /// Every answer is full of ones behind its header.
    Garbage,
}

/// What happens to one packet on one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FaultDraw {
    pub(crate) lost: bool,
    pub(crate) bit_error: bool,
    pub(crate) duplicated: bool,
    pub(crate) wait: Duration,
    /// Bit of the datagram that flips.
    pub(crate) flipped_bit: Option<usize>,
}

/// Draws fates. The generator is SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014): a run must repeat on every machine and with every later version of a library.
#[derive(Clone, Debug)]
pub(crate) struct FaultSource {
    state: u64,
}

impl FaultSource {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn draw(&mut self, rates: &FaultRates, overtaken_after: Duration) -> FaultDraw {
        let mut draw = FaultDraw {
            lost: self.happens(rates.loss),
            bit_error: self.happens(rates.bit_error),
            duplicated: self.happens(rates.duplicate),
            ..FaultDraw::default()
        };
        if self.happens(rates.delay) {
            let nanos = u64::try_from(rates.max_delay.as_nanos()).unwrap_or(u64::MAX);
            draw.wait = Duration::from_nanos(self.next().checked_rem(nanos).unwrap_or(0));
        }
        if self.happens(rates.reorder) {
            draw.wait = draw.wait.saturating_add(overtaken_after);
        }
        if self.happens(rates.corrupt) {
            draw.flipped_bit = usize::try_from(self.next() % 2048).ok();
        }
        draw
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn happens(&mut self, chance: f64) -> bool {
        // The upper 53 bits are a float in 0..1 without rounding.
        chance > 0.0 && ((self.next() >> 11) as f64) * (1.0 / (1u64 << 53) as f64) < chance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_numbers() {
        let mut source = FaultSource::new(1_234_567);
        // The reference implementation's first outputs for this seed.
        let found: [u64; 3] = std::array::from_fn(|_| source.next());
        assert_eq!(
            found,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn a_rate_is_the_share_of_packets() {
        let mut source = FaultSource::new(7);
        let hits = (0..100_000).filter(|_| source.happens(0.03)).count();
        assert!((2_800..3_200).contains(&hits), "{hits}");
        assert!((0..1000).all(|_| !source.happens(0.0)));
        assert!((0..1000).all(|_| source.happens(1.0)));
    }

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
    }

    #[test]
    fn a_spec_that_says_nothing_possible_is_an_error_that_names_it() {
        for (text, word) in [
            ("los=1", "los"),
            ("loss=2", "loss=2"),
            ("loss=NaN", "chance"),
            ("max-delay=5", "time"),
            ("seed=x", "number"),
        ] {
            let error = text.parse::<FaultSpec>().unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
