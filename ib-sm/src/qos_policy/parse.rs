//! The policy file, line by line: sections, entries in them, `key: value` in those.

use alloc::{format, string::String, vec, vec::Vec};
use core::ops::RangeInclusive;

use ib_routing::NodeType;
use ib_wire::{
    Mtu, Rate, Sl, addr,
    text::{self, TextError},
};

use super::{DEFAULT, Kind, MatchRule, PortGroup, QosLevel, QosPolicy};

/// Service IDs of the Sockets Direct Protocol: the low 16 bits are the port. Source: IBA Annex A4.
const SDP: u64 = 0x1_0000;
/// Service IDs of IP protocols over RDMA CM: bits 23..16 are the protocol, here TCP, the low 16 bits the
/// port. Source: IBA Annex A11.
const RDMA_IP: u64 = 0x106_0000;
/// Ports of RDS and of iSER that count where none is named.
const RDS_PORT: u64 = 0x48ca;
const ISER_PORT: u64 = 0x035c;
/// All 15 bits of the default partition's key.
const DEFAULT_P_KEY: u64 = 0x7fff;

/// State of the reader.
enum State {
    Outside,
    /// In this section, between entries.
    Section(Section),
    Group(PortGroup),
    Level(QosLevel),
    Rule(usize, MatchRule),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Ulps,
    Groups,
    Setup,
    Levels,
    Rules,
}

const SECTIONS: [(&str, &str, Section); 5] = [
    ("qos-ulps", "end-qos-ulps", Section::Ulps),
    ("port-groups", "end-port-groups", Section::Groups),
    ("qos-setup", "end-qos-setup", Section::Setup),
    ("qos-levels", "end-qos-levels", Section::Levels),
    ("qos-match-rules", "end-qos-match-rules", Section::Rules),
];

pub(super) fn policy(text: &str) -> Result<QosPolicy, TextError> {
    let mut reader = Reader {
        policy: QosPolicy::default(),
        state: State::Outside,
        ulps: Vec::new(),
        rule_lines: Vec::new(),
    };
    for (line, content) in text::lines(text) {
        reader.take(line, content)?;
    }
    match reader.state {
        State::Outside => {}
        _ => {
            return Err(TextError::new(
                text.lines().count(),
                "the end of the file",
                "the end of a section",
            ));
        }
    }
    reader.check()?;
    reader.policy.rules.append(&mut reader.ulps);
    Ok(reader.policy)
}

struct Reader {
    policy: QosPolicy,
    state: State,
    /// Rules of `qos-ulps`: they come last.
    ulps: Vec<MatchRule>,
    /// Line of each match rule.
    rule_lines: Vec<usize>,
}

impl Reader {
    fn take(&mut self, line: usize, content: &str) -> Result<(), TextError> {
        let state = core::mem::replace(&mut self.state, State::Outside);
        self.state = match state {
            State::Outside => {
                let section = SECTIONS.iter().find(|(name, ..)| *name == content);
                let section = section.ok_or_else(|| {
                    TextError::new(
                        line,
                        content,
                        "qos-ulps, port-groups, qos-setup, qos-levels or qos-match-rules",
                    )
                })?;
                State::Section(section.2)
            }
            State::Section(section) if ends(section, content) => State::Outside,
            State::Section(section) => match (section, content) {
                (Section::Ulps, _) => {
                    self.ulp(line, content)?;
                    State::Section(section)
                }
                (Section::Setup, _) => State::Section(section),
                (Section::Groups, "port-group") => State::Group(PortGroup::default()),
                (Section::Levels, "qos-level") => State::Level(QosLevel::default()),
                (Section::Rules, "qos-match-rule") => State::Rule(line, MatchRule::default()),
                _ => {
                    return Err(TextError::new(
                        line,
                        content,
                        "an entry of the section, or its end",
                    ));
                }
            },
            State::Group(group) if content == "end-port-group" => {
                self.policy.groups.push(group);
                State::Section(Section::Groups)
            }
            State::Group(mut group) => {
                group_line(&mut group, line, content)?;
                State::Group(group)
            }
            State::Level(level) if content == "end-qos-level" => {
                self.policy.levels.push(level);
                State::Section(Section::Levels)
            }
            State::Level(mut level) => {
                level_line(&mut level, line, content)?;
                State::Level(level)
            }
            State::Rule(begun, rule) if content == "end-qos-match-rule" => {
                self.policy.rules.push(rule);
                self.rule_lines.push(begun);
                State::Section(Section::Rules)
            }
            State::Rule(begun, mut rule) => {
                rule_line(&mut rule, line, content)?;
                State::Rule(begun, rule)
            }
        };
        Ok(())
    }

    /// `sdp, port-num 10000-20000 : 3`
    fn ulp(&mut self, line: usize, content: &str) -> Result<(), TextError> {
        let form = "a protocol, what it is limited to, `:` and a service level";
        let (who, sl) = content
            .rsplit_once(':')
            .ok_or_else(|| TextError::new(line, content, form))?;
        let sl = level_number(line, sl.trim())?;
        let (ulp, limit) = match who.split_once(',') {
            Some((ulp, limit)) => (ulp.trim(), Some(limit.trim())),
            None => (who.trim(), None),
        };
        let limit = limit.map(|limit| limit.split_once(char::is_whitespace).unwrap_or((limit, "")));
        let mut rule = MatchRule::default();
        let ports = |base: u64, value: &str| -> Result<Vec<RangeInclusive<u64>>, TextError> {
            let ports = ranges(line, value, 0xffff)?;
            let with_base = |port: u64| base.saturating_add(port);
            Ok(ports
                .iter()
                .map(|range| with_base(*range.start())..=with_base(*range.end()))
                .collect())
        };
        match (ulp, limit) {
            ("default", None) => {
                self.level(DEFAULT.into(), sl);
                return Ok(());
            }
            ("sdp", None) => rule.service_ids = vec![SDP..=SDP | 0xffff],
            ("sdp", Some(("port-num", value))) => rule.service_ids = ports(SDP, value)?,
            ("rds", None) => rule.service_ids = vec![RDMA_IP | RDS_PORT..=RDMA_IP | RDS_PORT],
            ("iser", None) => rule.service_ids = vec![RDMA_IP | ISER_PORT..=RDMA_IP | ISER_PORT],
            ("rds" | "iser", Some(("port-num", value))) => {
                rule.service_ids = ports(RDMA_IP, value)?
            }
            ("ipoib", None) => rule.p_keys = vec![DEFAULT_P_KEY..=DEFAULT_P_KEY],
            ("ipoib" | "any", Some(("pkey", value))) => rule.p_keys = p_keys(line, value)?,
            ("any", Some(("service-id", value))) => {
                rule.service_ids = ranges(line, value, u64::MAX)?
            }
            ("any" | "srp", Some(("target-port-guid", value))) => {
                rule.destinations = vec![self.group_of(line, value)?];
            }
            ("any", Some(("source-port-guid", value))) => {
                rule.sources = vec![self.group_of(line, value)?];
            }
            _ => {
                return Err(TextError::new(
                    line,
                    who.trim(),
                    "default, sdp, rds, iser, ipoib, srp or any, with what they can be limited to",
                ));
            }
        }
        // A name that no file can contain: it has a comment sign.
        rule.level = format!("#{}", self.ulps.len());
        self.level(rule.level.clone(), sl);
        self.ulps.push(rule);
        Ok(())
    }

    fn level(&mut self, name: String, sl: Sl) {
        self.policy.levels.push(QosLevel {
            name,
            sl: Some(sl),
            ..QosLevel::default()
        });
    }

    /// A group of the ports that a line lists.
    fn group_of(&mut self, line: usize, value: &str) -> Result<String, TextError> {
        let name = format!("#{}", self.policy.groups.len());
        self.policy.groups.push(PortGroup {
            name: name.clone(),
            guids: ranges(line, value, u64::MAX)?,
            ..PortGroup::default()
        });
        Ok(name)
    }

    /// Checks that all levels and groups that rules name exist.
    fn check(&self) -> Result<(), TextError> {
        for (rule, &line) in self.policy.rules.iter().zip(&self.rule_lines) {
            if self.policy.level(&rule.level).is_none() {
                return Err(TextError::new(
                    line,
                    &rule.level,
                    "qos-level-name of a level in the file",
                ));
            }
            for name in rule.sources.iter().chain(&rule.destinations) {
                if !self.policy.groups.iter().any(|group| group.name == *name) {
                    return Err(TextError::new(
                        line,
                        name,
                        "the name of a port group in the file",
                    ));
                }
            }
        }
        Ok(())
    }
}

fn ends(section: Section, content: &str) -> bool {
    let mut sections = SECTIONS.iter();
    sections.any(|(_, end, own)| *own == section && *end == content)
}

fn group_line(group: &mut PortGroup, line: usize, content: &str) -> Result<(), TextError> {
    match pair(line, content)? {
        ("name", value) => group.name = value.into(),
        ("use", _) => {}
        ("port-guid", value) => group.guids.append(&mut ranges(line, value, u64::MAX)?),
        ("port-name", value) => group.port_names.extend(words(value).map(String::from)),
        ("pkey", value) => group.p_keys.append(&mut p_keys(line, value)?),
        ("partition", value) => group.partitions.extend(words(value).map(String::from)),
        ("node-type", value) => {
            for word in words(value) {
                group.kinds.push(match word {
                    "ALL" => Kind::All,
                    "SELF" => Kind::Own,
                    "CA" => Kind::Of(NodeType::CA),
                    "SWITCH" => Kind::Of(NodeType::SWITCH),
                    "ROUTER" => Kind::Of(NodeType::ROUTER),
                    _ => {
                        return Err(TextError::new(
                            line,
                            word,
                            "CA, SWITCH, ROUTER, SELF or ALL",
                        ));
                    }
                });
            }
        }
        _ => {
            return Err(TextError::new(
                line,
                content,
                "a line of a port group, or end-port-group",
            ));
        }
    }
    Ok(())
}

fn level_line(level: &mut QosLevel, line: usize, content: &str) -> Result<(), TextError> {
    let small = |value: &str, max: u64| number(line, value, max).map(|number| number as u8);
    match pair(line, content)? {
        ("name", value) => level.name = value.into(),
        ("use", _) => {}
        ("sl", value) => level.sl = Some(level_number(line, value)?),
        ("mtu-limit", value) => level.mtu_limit = Some(Mtu(small(value, 5)?)),
        ("rate-limit", value) => level.rate_limit = Some(Rate(small(value, 63)?)),
        ("packet-life", value) => level.packet_life = Some(small(value, 63)?),
        ("path-bits", value) => level.path_bits.append(&mut ranges(line, value, 127)?),
        ("pkey", value) => level.p_keys.append(&mut p_keys(line, value)?),
        _ => {
            return Err(TextError::new(
                line,
                content,
                "a line of a level, or end-qos-level",
            ));
        }
    }
    Ok(())
}

fn rule_line(rule: &mut MatchRule, line: usize, content: &str) -> Result<(), TextError> {
    match pair(line, content)? {
        ("use", _) => {}
        ("source", value) => rule.sources.extend(words(value).map(String::from)),
        ("destination", value) => rule.destinations.extend(words(value).map(String::from)),
        ("qos-class", value) => rule.qos_classes.append(&mut ranges(line, value, 0xfff)?),
        ("service-id", value) => rule.service_ids.append(&mut ranges(line, value, u64::MAX)?),
        ("pkey", value) => rule.p_keys.append(&mut p_keys(line, value)?),
        ("qos-level-name", value) => rule.level = value.into(),
        _ => {
            return Err(TextError::new(
                line,
                content,
                "a line of a match rule, or end-qos-match-rule",
            ));
        }
    }
    Ok(())
}

/// `key: value`
fn pair(line: usize, content: &str) -> Result<(&str, &str), TextError> {
    let (key, value) = content
        .split_once(':')
        .ok_or_else(|| TextError::new(line, content, "`key: value`, or the end of the entry"))?;
    Ok((key.trim(), value.trim()))
}

fn words(value: &str) -> impl Iterator<Item = &str> {
    value
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
}

/// `1, 0x10-0x20`
fn ranges(line: usize, value: &str, max: u64) -> Result<Vec<RangeInclusive<u64>>, TextError> {
    let range = |word: &str| match word.split_once('-') {
        Some((first, last)) => {
            Ok(number(line, first.trim(), max)?..=number(line, last.trim(), max)?)
        }
        None => number(line, word, max).map(|only| only..=only),
    };
    let ranges: Vec<_> = words(value).map(range).collect::<Result<_, _>>()?;
    match ranges.is_empty() {
        true => Err(TextError::new(
            line,
            value,
            "numbers or ranges, with commas between",
        )),
        false => Ok(ranges),
    }
}

/// Ranges of partition keys, without their member bits.
fn p_keys(line: usize, value: &str) -> Result<Vec<RangeInclusive<u64>>, TextError> {
    let ranges = ranges(line, value, 0xffff)?;
    let base = |range: RangeInclusive<u64>| range.start() & 0x7fff..=range.end() & 0x7fff;
    Ok(ranges.into_iter().map(base).collect())
}

fn level_number(line: usize, value: &str) -> Result<Sl, TextError> {
    let level = number(line, value, 15)?;
    Ok(Sl::from_low_bits(level as u8))
}

fn number(line: usize, value: &str, max: u64) -> Result<u64, TextError> {
    addr::number(value, max)
        .ok_or_else(|| TextError::new(line, value, "a number in the range of the key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_read() {
        let text = "
            port-groups
                port-group # the storage
                    name: Storage
                    use: SRP targets
                    port-guid: 0x10, 0x20-0x2f
                    port-name: host1 HCA-1/P1
                    node-type: ROUTER
                end-port-group
            end-port-groups
            qos-setup
                anything: at all
            end-qos-setup
            qos-levels
                qos-level
                    name: Fast
                    sl: 3
                    mtu-limit: 4
                    rate-limit: 0x6
                    packet-life: 8
                    path-bits: 1, 4-6
                    pkey: 0x8012, 0x20-0x2f
                end-qos-level
            end-qos-levels
            qos-match-rules
                qos-match-rule
                    source: Storage
                    qos-class: 7-9, 11
                    qos-level-name: Fast
                end-qos-match-rule
            end-qos-match-rules
            qos-ulps
                default : 0
                sdp, port-num 10000-20000 : 2
                ipoib, pkey 0x8012 : 5
                srp, target-port-guid 0x1234 : 1
            end-qos-ulps";
        let policy = policy(text).unwrap();
        assert_eq!(policy.groups[0].guids, [0x10..=0x10, 0x20..=0x2f]);
        assert_eq!(policy.groups[0].kinds, [Kind::Of(NodeType::ROUTER)]);
        assert_eq!(policy.levels[0].mtu_limit, Some(Mtu::MTU_2048));
        assert_eq!(policy.levels[0].path_bits, [1..=1, 4..=6]);
        assert_eq!(policy.levels[0].p_keys, [0x12..=0x12, 0x20..=0x2f]);
        let rules = &policy.rules;
        assert_eq!(rules.len(), 4);
        assert_eq!(rules[0].qos_classes, [7..=9, 11..=11]);
        assert_eq!(rules[1].service_ids, [SDP + 10_000..=SDP + 20_000]);
        assert_eq!(rules[2].p_keys, [0x12..=0x12]);
        assert_eq!(policy.level(DEFAULT).unwrap().sl, Some(Sl::ZERO));
    }

    #[test]
    fn an_error_names_line_and_word() {
        for (text, line, found) in [
            ("qos-ulp", 1, "qos-ulp"),
            ("qos-ulps\nsdp : 16\nend-qos-ulps", 2, "16"),
            ("qos-ulps\nnfs : 1\nend-qos-ulps", 2, "nfs"),
            ("qos-levels\nqos-level\nname: x", 3, "the end of the file"),
            (
                "qos-match-rules\nqos-match-rule\nqos-level-name: Slow\nend-qos-match-rule\nend-qos-match-rules",
                2,
                "Slow",
            ),
        ] {
            let error = policy(text).unwrap_err();
            assert_eq!((error.line, error.found.as_str()), (line, found), "{text}");
        }
    }
}
