//! Conformance: numbered cases, each of which asks something of a peer that the specification rules.
//!
//! The peer is anyone's subnet manager, subnet administrator, management agent or simulator, and it is judged by
//! datagrams alone. A case is a row of a table: its number, its title, the section or compliance statement that it
//! tests, and a function. A case that changes something sets it back, whether it passes or fails.

mod bench;
mod ports;
mod sa;
mod sim;
mod sm;
mod sma;
#[cfg(test)]
mod tests;

use alloc::string::String;
use core::{fmt, str::FromStr, time::Duration};

use ib_mad::{
    SmKey,
    transport::{Clock, MadTransport},
};
use ib_wire::MKey;

use self::bench::{Bench, Outcome, Over, Stop};

/// Whose conformance is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The subnet manager that is the master of the subnet.
    Sm,
    /// The subnet administrator of that manager.
    Sa,
    /// The subnet management agents: those of one channel adapter and of one switch are asked.
    Sma,
    /// The simulator, or the fabric: forwarding, links and counters.
    Sim,
}

impl Subject {
    /// Every subject.
    pub const ALL: [Self; 4] = [Self::Sm, Self::Sa, Self::Sma, Self::Sim];

    /// The word that the numbers of its cases begin with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sm => "sm",
            Self::Sa => "sa",
            Self::Sma => "sma",
            Self::Sim => "sim",
        }
    }

    /// Its cases in the order of their numbers.
    pub fn cases(self) -> impl Iterator<Item = &'static Case> {
        let files = match self {
            Self::Sm => sm::FILES,
            Self::Sa => sa::FILES,
            Self::Sma => sma::FILES,
            Self::Sim => sim::FILES,
        };
        files.iter().copied().flatten()
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The word names no subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected sm, sa, sma or sim")]
pub struct UnknownSubject;

impl FromStr for Subject {
    type Err = UnknownSubject;

    fn from_str(text: &str) -> Result<Self, UnknownSubject> {
        let mut all = Self::ALL.into_iter();
        all.find(|subject| subject.name() == text)
            .ok_or(UnknownSubject)
    }
}

/// One case: a rule, and the test of it.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its number: the subject, a hyphen and three digits. A number is never given to another rule.
    pub id: &'static str,
    /// The rule in one sentence.
    pub title: &'static str,
    /// The section or compliance statement of the specification.
    pub source: &'static str,
    run: fn(&mut Bench<'_>) -> Outcome,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case")
            .field("id", &self.id)
            .field("title", &self.title)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

/// A row of a table of cases.
const fn case(
    id: &'static str,
    title: &'static str,
    source: &'static str,
    run: fn(&mut Bench<'_>) -> Outcome,
) -> Case {
    Case {
        id,
        title,
        source,
        run,
    }
}

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseResult {
    /// The peer keeps the rule.
    Pass,
    /// The peer breaks the rule: what was expected and what came.
    Fail(String),
    /// The rule could not be tested here, and why.
    Skip(String),
}

/// How a case waits, and what it needs to know of the subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConformOptions {
    /// How long an answer may take; what has not come by then is taken for silence. Default: 500 ms.
    pub timeout: Duration,
    /// How long a manager may take for a change of the subnet or of its state. Default: 90 s.
    pub patience: Duration,
    /// The M_Key of the subnet's ports. Default: 0, no key.
    pub m_key: MKey,
    /// The SM_Key that managers of the subnet share: one with another key is ignored. Default: 1, as OpenSM's.
    pub sm_key: SmKey,
}

impl Default for ConformOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_millis(500),
            patience: Duration::from_secs(90),
            m_key: MKey(0),
            sm_key: SmKey(1),
        }
    }
}

impl Case {
    /// Runs the case at a port of the subnet.
    ///
    /// Cases for a subnet manager answer SMInfo as a manager of their own, so their port announces one (IsSM). Cases for
    /// agents change ports and links: no manager may be at work that changes them back meanwhile.
    ///
    /// # Errors
    /// The transport's.
    pub fn run<T: MadTransport, C: Clock>(
        &self,
        transport: &mut T,
        clock: &C,
        options: &ConformOptions,
    ) -> Result<CaseResult, T::Error> {
        let mut wire = Over {
            transport,
            clock,
            error: None,
        };
        let outcome = Bench::new(&mut wire, *options).and_then(|mut bench| (self.run)(&mut bench));
        if let Some(error) = wire.error {
            return Err(error);
        }
        Ok(match outcome {
            Ok(()) => CaseResult::Pass,
            Err(Stop::Fail(message)) => CaseResult::Fail(message),
            Err(Stop::Skip(message)) => CaseResult::Skip(message),
            // The wire keeps the error of what broke it.
            Err(Stop::Broken) => CaseResult::Skip(String::from("the transport ended")),
        })
    }
}
