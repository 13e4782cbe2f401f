//! Conformance: numbered cases, each of which tests one rule of the specification on a peer.
//!
//! The peer is the subnet manager, subnet administrator, management agent or simulator of any vendor, and it is judged
//! by its datagrams alone. A case is a row of a table: its number, its title, the section or compliance statement that
//! it tests, and a function. A case that changes something sets it back, whether it passes or fails.

mod bench;
mod ports;
mod sa;
mod sim;
mod sm;
mod sma;
#[cfg(test)]
mod tests;

use alloc::{collections::BTreeMap, string::String};
use core::{fmt, str::FromStr, time::Duration};

use ib_mad::{
    SmKey,
    transport::{Clock, MadTransport},
};
use ib_wire::MKey;

use self::bench::{Bench, Outcome, Over, Stop};

/// The kind of peer that is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The subnet manager that is the master of the subnet.
    Sm,
    /// The subnet administrator of that manager.
    Sa,
    /// The subnet management agents: one channel adapter and one switch are tested.
    Sma,
    /// The simulator, or the fabric: forwarding, links and counters.
    Sim,
}

impl Subject {
    /// Every subject.
    pub const ALL: [Self; 4] = [Self::Sm, Self::Sa, Self::Sma, Self::Sim];

    /// The prefix of the numbers of the subject's cases.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sm => "sm",
            Self::Sa => "sa",
            Self::Sma => "sma",
            Self::Sim => "sim",
        }
    }

    /// The cases of the subject in the order of their numbers.
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

/// The error for a word that names no subject.
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
    /// The number of the case: the subject, a hyphen and three digits. A number is never reused for another rule.
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

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseResult {
    /// The peer conforms to the rule.
    Pass,
    /// The peer violates the rule: the expected and the actual behaviour.
    Fail(String),
    /// The rule could not be tested on this subnet: the reason.
    Skip(String),
}

/// Time limits of a case, and the keys of the subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConformOptions {
    /// Time allowed for an answer; a later answer counts as no answer. Default: 500 ms.
    pub timeout: Duration,
    /// Time allowed for a manager to react to a change of the subnet or of its state. Default: 90 s.
    pub patience: Duration,
    /// The M_Key of the subnet's ports. Default: 0, no key.
    pub m_key: MKey,
    /// The SM_Key that the managers of the subnet share. Managers with another key are ignored. Default: 1, as in
    /// OpenSM.
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

/// The preconditions that the peer did not meet in the cases of a run so far, with the reason. Later cases that have one
/// of them are skipped.
///
/// Every run begins with the default, which is empty.
#[derive(Clone, Debug, Default)]
pub struct UnmetPreconditions {
    preconditions: BTreeMap<Precondition, String>,
}

/// A precondition of several cases that is a rule itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precondition {
    /// The manager hands over to a manager with a higher priority.
    StandBy,
    /// A port keeps its M_Key.
    MKey,
    /// A switch sends trap 128.
    LinkTrap,
    /// A port that is disabled becomes Down.
    Down,
}

impl Precondition {
    /// The case that tests the rule.
    const fn case(self) -> &'static str {
        match self {
            Self::StandBy => "sm-151",
            Self::MKey => "sma-330",
            Self::LinkTrap => "sim-141",
            Self::Down => "sma-400",
        }
    }
}

impl Case {
    /// Runs the case at a port of the subnet.
    ///
    /// `unmet` is that of the cases before in the same run: a case with a precondition in it is skipped. The case adds
    /// preconditions that it finds unmet.
    ///
    /// Cases for a subnet manager answer SMInfo as a manager of their own, so their port must announce one (IsSM).
    /// Cases for agents change ports and links, so no manager may be active that would change them back meanwhile.
    ///
    /// # Errors
    /// The errors of the transport.
    pub fn run<T: MadTransport, C: Clock>(
        &self,
        transport: &mut T,
        clock: &C,
        options: &ConformOptions,
        unmet: &mut UnmetPreconditions,
    ) -> Result<CaseResult, T::Error> {
        let mut wire = Over {
            transport,
            clock,
            error: None,
        };
        let outcome =
            Bench::new(&mut wire, *options, unmet).and_then(|mut bench| (self.run)(&mut bench));
        if let Some(error) = wire.error {
            return Err(error);
        }
        Ok(match outcome {
            Ok(()) => CaseResult::Pass,
            Err(Stop::Fail(message)) => CaseResult::Fail(message),
            Err(Stop::Skip(message)) => CaseResult::Skip(message),
            // The wire keeps the transport's error, and returns it at the end.
            Err(Stop::Broken) => CaseResult::Skip(String::from("the transport ended")),
        })
    }
}
