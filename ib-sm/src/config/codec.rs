//! Codecs of option values: each reads a value from text, and writes it so that OpenSM reads it too.
//!
//! A codec is a small value that stands in the row of its option: `Int(0, 15)`, `Flag`, `Millis(1)`. What it cannot
//! read is refused with [`expected`](Describe::expected), which names the range.

use alloc::{
    format,
    string::{String, ToString as _},
};
use core::time::Duration;

use ib_mad::{CcKey, SmKey};
use ib_wire::{GidPrefix, Guid, Lmc, MKey, Sl, addr};

use crate::partition::Enforcement;

/// Text of a value that is not set, as OpenSM's template writes it.
pub(super) const UNSET: &str = "(null)";

/// The values that a codec accepts, as text for people.
pub(super) trait Describe {
    fn expected(&self) -> String;
}

/// Reads and writes values of one type.
pub(super) trait Codec<T>: Describe {
    /// The value, if the text is one.
    fn read(&self, text: &str) -> Option<T>;
    /// The text that [`read`](Self::read) gives the same value for.
    fn write(&self, value: &T) -> String;
}

/// TRUE or FALSE.
pub(super) struct Flag;

/// A number from the first to the second, written in decimal.
pub(super) struct Int(pub(super) u64, pub(super) u64);

/// The same, written in hexadecimal with two digits.
pub(super) struct Hex(pub(super) u64, pub(super) u64);

/// A number from 0 to the first, written in hexadecimal with so many digits as the second says.
pub(super) struct HexDigits(pub(super) u64, pub(super) usize);

/// A number of 64 bits, written in hexadecimal: a key, a GUID, a prefix.
pub(super) struct Wide;

/// Milliseconds, not fewer than this.
pub(super) struct Millis(pub(super) u64);

/// Microseconds, at least 1.
pub(super) struct Micros;

/// Seconds; 0 is never.
pub(super) struct SecondsOrNever;

/// Seconds, at least 1.
pub(super) struct Seconds;

/// A text, as the name of a file; `(null)` is none.
pub(super) struct Text;

/// LID mask control: 0 to 7.
pub(super) struct LmcBits;

/// A service level: 0 to 15.
pub(super) struct ServiceLevel;

/// A number from 1 to this; 0 counts as 1.
pub(super) struct AtLeastOne(pub(super) u64);

/// A number of requests; 0 sets no limit.
pub(super) struct Requests;

/// The seed of a choice at random; 0 does not choose at random.
pub(super) struct Seed;

/// Directions in which switches enforce partitions.
pub(super) struct Directions;

/// The highest code of a rate; 0 sets no limit.
pub(super) struct RateLimit;

impl Describe for Flag {
    fn expected(&self) -> String {
        "TRUE or FALSE".into()
    }
}

impl Codec<bool> for Flag {
    fn read(&self, text: &str) -> Option<bool> {
        match text {
            "TRUE" | "true" | "yes" | "1" => Some(true),
            "FALSE" | "false" | "no" | "0" => Some(false),
            _ => None,
        }
    }

    fn write(&self, value: &bool) -> String {
        let text = if *value { "TRUE" } else { "FALSE" };
        text.into()
    }
}

impl Describe for Int {
    fn expected(&self) -> String {
        range(self.0, self.1)
    }
}

impl<T: Copy + Into<u64> + TryFrom<u64>> Codec<T> for Int {
    fn read(&self, text: &str) -> Option<T> {
        narrow(text, self.0, self.1)
    }

    fn write(&self, value: &T) -> String {
        let number: u64 = (*value).into();
        number.to_string()
    }
}

impl Describe for Hex {
    fn expected(&self) -> String {
        range(self.0, self.1)
    }
}

impl<T: Copy + Into<u64> + TryFrom<u64>> Codec<T> for Hex {
    fn read(&self, text: &str) -> Option<T> {
        narrow(text, self.0, self.1)
    }

    fn write(&self, value: &T) -> String {
        let number: u64 = (*value).into();
        format!("{number:#04x}")
    }
}

impl Describe for HexDigits {
    fn expected(&self) -> String {
        range(0, self.0)
    }
}

impl<T: Copy + Into<u64> + TryFrom<u64>> Codec<T> for HexDigits {
    fn read(&self, text: &str) -> Option<T> {
        narrow(text, 0, self.0)
    }

    fn write(&self, value: &T) -> String {
        let (number, digits): (u64, _) = ((*value).into(), self.1);
        format!("0x{number:0digits$X}")
    }
}

impl Describe for Wide {
    fn expected(&self) -> String {
        "a number of up to 64 bits, as 0x10".into()
    }
}

macro_rules! wide {
    ($($type:ident)*) => {$(
        impl Codec<$type> for Wide {
            fn read(&self, text: &str) -> Option<$type> {
                addr::number(text, u64::MAX).map($type)
            }

            fn write(&self, value: &$type) -> String {
                format!("{:#018x}", value.0)
            }
        }
    )*};
}

wide!(CcKey GidPrefix Guid MKey SmKey);

impl Describe for Millis {
    fn expected(&self) -> String {
        format!("milliseconds, {} to {}", self.0, u32::MAX)
    }
}

impl Codec<Duration> for Millis {
    fn read(&self, text: &str) -> Option<Duration> {
        narrow(text, self.0, u32::MAX.into()).map(Duration::from_millis)
    }

    fn write(&self, value: &Duration) -> String {
        value.as_millis().to_string()
    }
}

impl Describe for Micros {
    fn expected(&self) -> String {
        format!("microseconds, 1 to {}", u32::MAX)
    }
}

impl Codec<Duration> for Micros {
    fn read(&self, text: &str) -> Option<Duration> {
        narrow(text, 1, u32::MAX.into()).map(Duration::from_micros)
    }

    fn write(&self, value: &Duration) -> String {
        value.as_micros().to_string()
    }
}

impl Describe for SecondsOrNever {
    fn expected(&self) -> String {
        format!("seconds, 0 to {}", u32::MAX)
    }
}

impl Codec<Option<Duration>> for SecondsOrNever {
    fn read(&self, text: &str) -> Option<Option<Duration>> {
        let seconds = addr::number(text, u32::MAX.into())?;
        Some((seconds != 0).then(|| Duration::from_secs(seconds)))
    }

    fn write(&self, value: &Option<Duration>) -> String {
        value.map_or(0, |time| time.as_secs()).to_string()
    }
}

impl Describe for Seconds {
    fn expected(&self) -> String {
        format!("seconds, 1 to {}", u32::MAX)
    }
}

impl Codec<Duration> for Seconds {
    fn read(&self, text: &str) -> Option<Duration> {
        narrow(text, 1, u32::MAX.into()).map(Duration::from_secs)
    }

    fn write(&self, value: &Duration) -> String {
        value.as_secs().to_string()
    }
}

impl Describe for Text {
    fn expected(&self) -> String {
        format!("a text, or {UNSET}")
    }
}

impl Codec<Option<String>> for Text {
    fn read(&self, text: &str) -> Option<Option<String>> {
        Some((text != UNSET).then(|| text.into()))
    }

    fn write(&self, value: &Option<String>) -> String {
        value.as_deref().unwrap_or(UNSET).into()
    }
}

impl Describe for LmcBits {
    fn expected(&self) -> String {
        range(0, 7)
    }
}

impl Codec<Lmc> for LmcBits {
    fn read(&self, text: &str) -> Option<Lmc> {
        Lmc::try_new(narrow(text, 0, 7)?).ok()
    }

    fn write(&self, value: &Lmc) -> String {
        value.bits().to_string()
    }
}

impl Describe for ServiceLevel {
    fn expected(&self) -> String {
        range(0, 15)
    }
}

impl Codec<Sl> for ServiceLevel {
    fn read(&self, text: &str) -> Option<Sl> {
        Sl::try_new(narrow(text, 0, 15)?).ok()
    }

    fn write(&self, value: &Sl) -> String {
        value.bits().to_string()
    }
}

impl Describe for AtLeastOne {
    fn expected(&self) -> String {
        range(1, self.0)
    }
}

impl Codec<u8> for AtLeastOne {
    fn read(&self, text: &str) -> Option<u8> {
        narrow(text, 0, self.0).map(|number: u8| number.max(1))
    }

    fn write(&self, value: &u8) -> String {
        (*value).max(1).to_string()
    }
}

impl Describe for Requests {
    fn expected(&self) -> String {
        range(0, u16::MAX.into())
    }
}

impl Codec<usize> for Requests {
    fn read(&self, text: &str) -> Option<usize> {
        let most: u16 = narrow(text, 0, u16::MAX.into())?;
        Some(if most == 0 { u16::MAX } else { most }.into())
    }

    fn write(&self, value: &usize) -> String {
        let limited = *value < usize::from(u16::MAX);
        if limited { *value } else { 0 }.to_string()
    }
}

impl Describe for Seed {
    fn expected(&self) -> String {
        range(0, u32::MAX.into())
    }
}

impl Codec<Option<u64>> for Seed {
    fn read(&self, text: &str) -> Option<Option<u64>> {
        let seed = addr::number(text, u32::MAX.into())?;
        Some((seed != 0).then_some(seed))
    }

    fn write(&self, value: &Option<u64>) -> String {
        value.unwrap_or(0).to_string()
    }
}

impl Describe for RateLimit {
    fn expected(&self) -> String {
        "the code of a rate from 2 to 255, or 0".into()
    }
}

impl Codec<u8> for RateLimit {
    fn read(&self, text: &str) -> Option<u8> {
        narrow(text, 0, 255).filter(|&code| code != 1)
    }

    fn write(&self, value: &u8) -> String {
        value.to_string()
    }
}

impl Describe for Directions {
    fn expected(&self) -> String {
        "both, in, out or off".into()
    }
}

impl Codec<Enforcement> for Directions {
    fn read(&self, text: &str) -> Option<Enforcement> {
        Some(match text {
            "both" => Enforcement::Both,
            "in" => Enforcement::Inbound,
            "out" => Enforcement::Outbound,
            "off" => Enforcement::Off,
            _ => return None,
        })
    }

    fn write(&self, value: &Enforcement) -> String {
        let text = match value {
            Enforcement::Both => "both",
            Enforcement::Inbound => "in",
            Enforcement::Outbound => "out",
            Enforcement::Off => "off",
        };
        text.into()
    }
}

fn range(min: u64, max: u64) -> String {
    format!("a number from {min} to {max}")
}

pub(super) fn narrow<T: TryFrom<u64>>(text: &str, min: u64, max: u64) -> Option<T> {
    let number = addr::number(text, max).filter(|&number| number >= min)?;
    T::try_from(number).ok()
}
