//! ACK Extended Transport Header (IBA vol. 1, 9.3.5): acknowledgements and what they say.
//!
//! The syndrome holds a class and five bits: credits that the responder grants, the time to wait
//! before a retry (RNR NAK), or what went wrong (NAK).

use core::{fmt, time::Duration};

use crate::{code_points, table::FieldValue, wire_struct};

wire_struct! {
    /// ACK Extended Transport Header: acknowledgement, its kind, and the responder's message count.
    ///
    /// Source: IBA vol. 1, 9.3.5; `headers.csv`, struct `AETH`.
    pub struct Aeth("AETH", 4 bytes) {
        /// Positive or negative, and why.
        syndrome, set_syndrome: Syndrome = 0, 8;
        /// Messages that the responder has completed, modulo 2^24.
        msn,      set_msn:      u32      = 8, 24;
    }
}

wire_struct! {
    /// The syndrome's bits as a table; [`Syndrome`] is the value.
    ///
    /// Source: IBA vol. 1, 9.7.5.1.2; `headers.csv`, struct `AETHSyndrome`.
    pub struct AethSyndrome("AETHSyndrome", 1 bytes) {
        #[doc(hidden)]
        resv1, set_resv1: u8                = 0, 1;
        /// Kind of acknowledgement.
        class, set_class: AethSyndromeClass = 1, 2;
        /// By class: credits, RNR timer or NAK code.
        value, set_value: u8                = 3, 5;
    }
}

code_points! {
    /// Kind of an acknowledgement (AETHSyndrome.class).
    pub struct AethSyndromeClass(u8) {
        /// The value is a code of end-to-end credits.
        ACK      = 0 => "ACK",
        /// Receiver not ready; the value is a code of the time to wait.
        RNR_NAK  = 1 => "RNRNAK",
        RESERVED = 2 => "Reserved",
        /// The value is a NAK code.
        NAK      = 3 => "NAK",
    }
}

code_points! {
    /// Reason of a NAK.
    pub struct NakCode(u8) {
        /// Packets are missing: send again from the PSN of the NAK.
        PSN_SEQUENCE_ERROR       = 0 => "PSNSequenceError",
        INVALID_REQUEST          = 1 => "InvalidRequest",
        REMOTE_ACCESS_ERROR      = 2 => "RemoteAccessError",
        REMOTE_OPERATIONAL_ERROR = 3 => "RemoteOperationalError",
        INVALID_RD_REQUEST       = 4 => "InvalidRDRequest",
    }
}

/// Kind of an acknowledgement and its detail, in one byte. Every value is kept.
///
/// ```
/// use ib_wire::{RnrTimer, Syndrome};
/// let busy = Syndrome::rnr_nak(RnrTimer::at_least(core::time::Duration::from_micros(500)));
/// assert_eq!(busy.rnr_timer().map(RnrTimer::micros), Some(640));
/// assert_eq!(busy.credits(), None);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Syndrome(pub u8);

impl Syndrome {
    /// An acknowledgement without a credit limit: the responder does no end-to-end flow control.
    pub const ACK: Self = Self(31);

    /// An acknowledgement that grants credits.
    #[must_use]
    pub const fn ack(credits: CreditCount) -> Self {
        Self(credits.0 & 31)
    }

    /// Receiver not ready: try again after the timer.
    #[must_use]
    pub const fn rnr_nak(timer: RnrTimer) -> Self {
        Self(0x20 | timer.0 & 31)
    }

    /// A negative acknowledgement; the code keeps its low five bits.
    #[must_use]
    pub const fn nak(code: NakCode) -> Self {
        Self(0x60 | code.0 & 31)
    }

    /// Kind of acknowledgement.
    #[must_use]
    pub const fn class(self) -> AethSyndromeClass {
        AethSyndromeClass(self.0 >> 5 & 3)
    }

    /// The five bits below the class.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0 & 31
    }

    /// The credits of an acknowledgement.
    #[must_use]
    pub const fn credits(self) -> Option<CreditCount> {
        match self.class() {
            AethSyndromeClass::ACK => Some(CreditCount(self.value())),
            _ => None,
        }
    }

    /// The time to wait of an RNR NAK.
    #[must_use]
    pub const fn rnr_timer(self) -> Option<RnrTimer> {
        match self.class() {
            AethSyndromeClass::RNR_NAK => Some(RnrTimer(self.value())),
            _ => None,
        }
    }

    /// The code of a NAK.
    #[must_use]
    pub const fn nak_code(self) -> Option<NakCode> {
        match self.class() {
            AethSyndromeClass::NAK => Some(NakCode(self.value())),
            _ => None,
        }
    }
}

impl fmt::Display for Syndrome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.credits(), self.rnr_timer(), self.nak_code()) {
            (Some(credits), ..) => match credits.messages() {
                Some(messages) => write!(f, "ACK, {messages} credits"),
                None => f.write_str("ACK"),
            },
            (_, Some(timer), _) => write!(f, "RNR NAK, {} us", timer.micros()),
            (.., Some(code)) => write!(f, "NAK, {code}"),
            _ => write!(f, "Reserved, {:#x}", self.value()),
        }
    }
}

impl fmt::Debug for Syndrome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Syndrome({:#04x}: {self})", self.0)
    }
}

impl FieldValue for Syndrome {
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self(bits as u8)
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0.into()
    }
}

/// Messages that a responder grants beyond those acknowledged, as a code of five bits.
///
/// Source: IBA vol. 1, table 47; `enums.csv`, `AETH_CREDIT_COUNT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CreditCount(u8);

impl CreditCount {
    /// Code 31: no limit; the responder does no end-to-end flow control.
    pub const UNLIMITED: Self = Self(31);

    /// The credit count of the low five bits.
    #[must_use]
    pub const fn from_low_bits(bits: u8) -> Self {
        Self(bits & 31)
    }

    /// The largest count that is not above `messages`: at most 32768.
    #[must_use]
    pub fn at_most(messages: u32) -> Self {
        let fits = |code: &u8| {
            Self(*code)
                .messages()
                .is_some_and(|count| u32::from(count) <= messages)
        };
        Self((0..31).rev().find(fits).unwrap_or(0))
    }

    /// The 5 bits of the code.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The messages granted; `None` where there is no limit.
    #[must_use]
    pub const fn messages(self) -> Option<u16> {
        match self.0 {
            code @ 0..=2 => Some(code as u16),
            31.. => None,
            // Two codes share each power of two from 2: the power itself and one and a half of it.
            code if code & 1 == 1 => Some(3 << (code >> 1).saturating_sub(1)),
            code => Some(2 << (code >> 1).saturating_sub(1)),
        }
    }
}

/// Time for which a requester waits after an RNR NAK, as a code of five bits. Code 0 is the longest.
///
/// Source: IBA vol. 1, table 45; `enums.csv`, `RNR_TIMER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RnrTimer(u8);

impl RnrTimer {
    /// Code 0: 655.36 ms.
    pub const LONGEST: Self = Self(0);

    /// The timer of the low five bits.
    #[must_use]
    pub const fn from_low_bits(bits: u8) -> Self {
        Self(bits & 31)
    }

    /// The shortest timer that is not below `time`; the longest is 655.36 ms.
    #[must_use]
    pub fn at_least(time: Duration) -> Self {
        let long_enough = |code: &u8| Self(*code).duration() >= time;
        Self((1..32).find(long_enough).unwrap_or(0))
    }

    /// The 5 bits of the code.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The time in microseconds.
    #[must_use]
    pub const fn micros(self) -> u32 {
        match self.0 {
            0 => 655_360,
            code @ 1..=3 => (code as u32).saturating_mul(10),
            // Codes go on in pairs, 40 and 60 us times a power of two.
            code if code & 1 == 0 => 40 << (code >> 1).saturating_sub(2),
            code => 60 << (code >> 1).saturating_sub(2),
        }
    }

    /// Time that the code means.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_micros(self.micros() as u64)
    }
}
