//! QoS policy: which service level, MTU, rate and lifetime a path gets, by who asks for what
//! (IBA Annex A13; the file format is that of OpenSM's `qos_policy_file`).
//!
//! ```text
//! qos-ulps
//!     default                      : 0
//!     ipoib, pkey 0x0012           : 2
//!     sdp, port-num 10000-20000    : 3
//!     any, target-port-guid 0x1234 : 4
//! end-qos-ulps
//! ```
//!
//! Longer policies name port groups, levels and match rules. The rules are tried in the order of the
//! file, those of `qos-ulps` last; the first one that fits decides. Where none does, the level `DEFAULT`
//! counts, if there is one. A policy needs `qos`, and engines that keep packets from deadlocks by
//! their service levels choose those themselves.

mod parse;

use alloc::{string::String, vec::Vec};
use core::ops::RangeInclusive;

use ib_routing::NodeType;
use ib_wire::{Guid, Mtu, PKey, Rate, Sl, text::TextError};

/// The level of paths that no rule fits.
const DEFAULT: &str = "DEFAULT";

/// A QoS policy; the default one has no levels and changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QosPolicy {
    groups: Vec<PortGroup>,
    levels: Vec<QosLevel>,
    rules: Vec<MatchRule>,
}

/// Parameters of a path (`qos-level`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QosLevel {
    /// Name that rules use for it.
    pub name: String,
    /// Service level (`sl`).
    pub sl: Option<Sl>,
    /// Largest MTU (`mtu-limit`).
    pub mtu_limit: Option<Mtu>,
    /// Highest rate (`rate-limit`).
    pub rate_limit: Option<Rate>,
    /// Longest lifetime of packets, 4.096 us * 2^n (`packet-life`).
    pub packet_life: Option<u8>,
    /// Partitions that a path may be in, without the member bit (`pkey`); empty: any.
    pub p_keys: Vec<RangeInclusive<u64>>,
    /// Low bits of the source LID by which a path may go (`path-bits`); empty: any. A port without such a LID is not
    /// limited by them.
    pub path_bits: Vec<RangeInclusive<u64>>,
}

/// Ports under one name (`port-group`): those that any of its lines fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PortGroup {
    name: String,
    guids: Vec<RangeInclusive<u64>>,
    /// Node descriptions with the number of the port, as `host1 HCA-1/P1`.
    port_names: Vec<String>,
    p_keys: Vec<RangeInclusive<u64>>,
    /// Names of partitions.
    partitions: Vec<String>,
    kinds: Vec<Kind>,
}

/// `node-type` of a port group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    All,
    Own,
    Of(NodeType),
}

/// A rule that gives a level to queries (`qos-match-rule`): a query fits if it fits every list that is not
/// empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct MatchRule {
    sources: Vec<String>,
    destinations: Vec<String>,
    qos_classes: Vec<RangeInclusive<u64>>,
    service_ids: Vec<RangeInclusive<u64>>,
    p_keys: Vec<RangeInclusive<u64>>,
    level: String,
}

/// A port at an end of a path, as groups see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyPort<'a> {
    pub(crate) guid: Guid,
    /// Description of its node.
    pub(crate) description: &'a str,
    pub(crate) number: u8,
    pub(crate) node_type: NodeType,
    pub(crate) is_own: bool,
    /// Its partitions, by name and key.
    pub(crate) partitions: &'a [(&'a str, PKey)],
}

/// The parameters of a query for a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathQuery<'a> {
    pub(crate) source: PolicyPort<'a>,
    pub(crate) destination: PolicyPort<'a>,
    pub(crate) service_id: Option<u64>,
    pub(crate) qos_class: Option<u16>,
    pub(crate) p_key: Option<PKey>,
}

impl QosPolicy {
    /// Reads a policy file. `qos-setup` is skipped, as OpenSM does.
    ///
    /// # Errors
    /// [`TextError`] at the first line that cannot be read, and for a rule whose level or group
    /// does not exist.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        parse::policy(text)
    }

    /// Returns true if it changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// The levels in the order of the file, those of `qos-ulps` last.
    #[must_use]
    pub fn levels(&self) -> &[QosLevel] {
        &self.levels
    }

    /// The level of a path, if the policy has one for it.
    pub(crate) fn level_of(&self, query: &PathQuery<'_>) -> Option<&QosLevel> {
        let rule = self.rules.iter().find(|rule| self.fits(rule, query));
        self.level(rule.map_or(DEFAULT, |rule| &rule.level))
    }

    fn level(&self, name: &str) -> Option<&QosLevel> {
        self.levels.iter().find(|level| level.name == name)
    }

    fn fits(&self, rule: &MatchRule, query: &PathQuery<'_>) -> bool {
        let is_in = |names: &[String], port: &PolicyPort<'_>| {
            let mut groups = self
                .groups
                .iter()
                .filter(|group| names.contains(&group.name));
            names.is_empty() || groups.any(|group| group.has(port))
        };
        is_in(&rule.sources, &query.source)
            && is_in(&rule.destinations, &query.destination)
            && contains(&rule.qos_classes, query.qos_class.map(u64::from))
            && contains(&rule.service_ids, query.service_id)
            && contains(&rule.p_keys, query.p_key.map(|p_key| p_key.base().into()))
    }
}

impl QosLevel {
    /// Returns true if a path may be in a partition.
    pub(crate) fn allows_p_key(&self, p_key: PKey) -> bool {
        contains(&self.p_keys, Some(p_key.base().into()))
    }

    /// Returns true if a path may begin at the LID this far behind the base LID of a port with `count` LIDs.
    pub(crate) fn allows_path_bits(&self, offset: u16, count: u16) -> bool {
        let has_some = |range: &RangeInclusive<u64>| *range.start() < u64::from(count);
        !self.path_bits.iter().any(has_some) || contains(&self.path_bits, Some(offset.into()))
    }
}

impl PortGroup {
    fn has(&self, port: &PolicyPort<'_>) -> bool {
        let named = |name: &String| {
            name.rsplit_once("/P").is_some_and(|(description, number)| {
                description == port.description && number.parse() == Ok(port.number)
            })
        };
        let member = |range: &RangeInclusive<u64>| {
            let mut partitions = port.partitions.iter();
            partitions.any(|(_, p_key)| range.contains(&p_key.base().into()))
        };
        let called = |name: &String| port.partitions.iter().any(|(own, _)| own == name);
        self.guids.iter().any(|range| range.contains(&port.guid.0))
            || self.port_names.iter().any(named)
            || self.p_keys.iter().any(member)
            || self.partitions.iter().any(called)
            || self.kinds.iter().any(|kind| match kind {
                Kind::All => true,
                Kind::Own => port.is_own,
                Kind::Of(node_type) => *node_type == port.node_type,
            })
    }
}

/// Returns true if a value is in one of the ranges. Where there are ranges, a query without the value does not fit.
fn contains(ranges: &[RangeInclusive<u64>], value: Option<u64>) -> bool {
    ranges.is_empty()
        || value.is_some_and(|value| ranges.iter().any(|range| range.contains(&value)))
}
