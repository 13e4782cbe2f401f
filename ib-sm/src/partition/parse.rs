//! The rules of `partitions.conf`: `definition : properties ;`, with comments after `#`.
//!
//! The first colon of a rule ends its definition; later ones belong to GIDs. Commas separate words; a line
//! ends the options of a group.

use alloc::{string::ToString, vec::Vec};
use core::net::Ipv6Addr;

use ib_wire::{Gid, Guid, Mtu, QKey, Rate, Sl, addr, text::TextError};

use super::{GroupOptions, MemberKind, Membership, Partition};

/// All rules in the order of the file; those without a P_Key have 0.
pub(super) fn rules(text: &str) -> Result<Vec<Partition>, TextError> {
    let mut rules = Vec::new();
    let mut rule = Rule::default();
    for (line, content) in (1..).zip(text.lines()) {
        let mut rest = content.split('#').next().unwrap_or_default();
        loop {
            let (part, ends) = match rest.split_once(';') {
                Some((part, behind)) => {
                    rest = behind;
                    (part, true)
                }
                None => (rest, false),
            };
            rule.take(line, part)?;
            if !ends {
                break;
            }
            rules.extend(core::mem::take(&mut rule).end(line)?);
        }
        rule.group = None;
    }
    let last = text.lines().count();
    match rule.is_empty() {
        true => Ok(rules),
        false => Err(TextError::new(
            last,
            "the end of the file",
            "`;` behind the last rule",
        )),
    }
}

/// A rule that is being read.
#[derive(Default)]
struct Rule {
    partition: Partition,
    named: bool,
    default: Membership,
    /// True if the colon has been read.
    in_properties: bool,
    /// The group whose options are being read.
    group: Option<usize>,
}

impl Rule {
    fn is_empty(&self) -> bool {
        !self.named && !self.in_properties
    }

    fn end(self, line: usize) -> Result<Option<Partition>, TextError> {
        match (self.named, self.in_properties) {
            (false, false) => Ok(None),
            (true, false) => Err(TextError::new(
                line,
                ";",
                "`:` behind the definition of a partition",
            )),
            _ => Ok(Some(self.partition)),
        }
    }

    /// Takes in a part of a line.
    fn take(&mut self, line: usize, part: &str) -> Result<(), TextError> {
        let mut part = part;
        if !self.in_properties {
            let (definition, properties) = match part.split_once(':') {
                Some((definition, properties)) => (definition, Some(properties)),
                None => (part, None),
            };
            for word in words(definition) {
                self.define(line, word)?;
            }
            let Some(properties) = properties else {
                return Ok(());
            };
            self.in_properties = true;
            part = properties;
        }
        words(part).try_for_each(|word| self.add(line, word))
    }

    /// A word in front of the colon.
    fn define(&mut self, line: usize, word: &str) -> Result<(), TextError> {
        let (key, value) = pair(word);
        if !self.named {
            self.named = true;
            // A number alone is a P_Key and no name.
            let is_key = value.is_none() && key.starts_with(|first: char| first.is_ascii_digit());
            let (name, value) = if is_key {
                ("", Some(key))
            } else {
                (key, value)
            };
            self.partition.name = name.to_string();
            if let Some(value) = value {
                let key = number(line, value, 0xffff)? as u16 & 0x7fff;
                if key == 0 {
                    return Err(TextError::new(line, value, "a P_Key other than 0"));
                }
                self.partition.base = key;
            }
            return Ok(());
        }
        match (key, value) {
            ("indx0", None) => self.partition.first = true,
            ("ipoib", None) => {
                self.partition.ipoib.get_or_insert_default();
            }
            ("defmember", Some(value)) => self.default = membership(value),
            (_, Some(value)) => {
                let options = self.partition.ipoib.get_or_insert_default();
                if !option(line, options, key, value)? {
                    return Err(TextError::new(
                        line,
                        word,
                        "indx0, ipoib, defmember or an option of IPoIB",
                    ));
                }
            }
            _ => {
                return Err(TextError::new(
                    line,
                    word,
                    "indx0, ipoib, defmember or an option of IPoIB",
                ));
            }
        }
        Ok(())
    }

    /// Adds a word after the colon.
    fn add(&mut self, line: usize, word: &str) -> Result<(), TextError> {
        let (key, value) = pair(word);
        if key == "mgid" {
            let address = value.and_then(|value| value.parse::<Ipv6Addr>().ok());
            let gid = address.map(|address| Gid(address.octets()));
            let gid = gid.filter(|gid| gid.is_multicast());
            let gid = gid.ok_or_else(|| TextError::new(line, word, "mgid= and a multicast GID"))?;
            self.group = Some(self.partition.groups.len());
            self.partition.groups.push((gid, GroupOptions::default()));
            return Ok(());
        }
        let group = self
            .group
            .and_then(|group| self.partition.groups.get_mut(group));
        if let (Some((_, options)), Some(value)) = (group, value)
            && option(line, options, key, value)?
        {
            return Ok(());
        }
        if let ("defmember", Some(value)) = (key, value) {
            self.default = membership(value);
            return Ok(());
        }
        let membership = value.map_or(self.default, membership);
        let kind = match key {
            "ALL" => MemberKind::All,
            "ALL_CAS" => MemberKind::Cas,
            "ALL_SWITCHES" => MemberKind::Switches,
            "ALL_ROUTERS" => MemberKind::Routers,
            "SELF" => MemberKind::Own,
            guid => {
                let guid = Guid(number(line, guid, u64::MAX)?);
                self.partition.add_port(guid, membership);
                return Ok(());
            }
        };
        self.partition.add_kind(kind, membership);
        Ok(())
    }
}

/// Words between commas; a name may have spaces within.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
}

fn pair(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim())),
        None => (word, None),
    }
}

/// Any word but `full` and `both` means limited, as OpenSM reads it.
fn membership(value: &str) -> Membership {
    match value {
        "full" => Membership::Full,
        "both" => Membership::Both,
        _ => Membership::Limited,
    }
}

/// Sets an option of a group. Returns whether there is such.
fn option(
    line: usize,
    options: &mut GroupOptions,
    key: &str,
    value: &str,
) -> Result<bool, TextError> {
    match key {
        "rate" => options.rate = Rate(number(line, value, 63)? as u8),
        "mtu" => options.mtu = Mtu(number(line, value, 63)? as u8),
        "sl" => options.sl = Sl::try_new(number(line, value, 15)? as u8).unwrap_or(Sl::ZERO),
        "scope" => options.scopes.push(number(line, value, 15)? as u8),
        "Q_Key" => options.q_key = Some(QKey(number(line, value, u32::MAX.into())? as u32)),
        "TClass" => options.tclass = number(line, value, 255)? as u8,
        "FlowLabel" => options.flow_label = number(line, value, 0xf_ffff)? as u32,
        _ => return Ok(false),
    }
    Ok(true)
}

fn number(line: usize, text: &str, max: u64) -> Result<u64, TextError> {
    addr::number(text, max)
        .ok_or_else(|| TextError::new(line, text, "a number, or for members also ALL or SELF"))
}

#[cfg(test)]
mod tests {
    use super::super::{Candidate, Partitions};
    use super::*;
    use ib_routing::NodeType;
    use ib_wire::PKey;

    fn keys(partitions: &Partitions, guid: u64) -> Vec<u16> {
        let candidate = Candidate {
            guid: Guid(guid),
            type_: NodeType::CA,
            is_own: guid == 1,
        };
        let keys = partitions.keys(candidate, false);
        keys.into_iter().map(|PKey(key)| key).collect()
    }

    #[test]
    fn a_number_alone_is_a_key() {
        let partitions = Partitions::parse("0x0012, ipoib : ALL=full ;\n19 : ALL=full ;").unwrap();
        let bases: Vec<u16> = partitions.iter().map(|partition| partition.base).collect();
        assert_eq!(bases, [0x7fff, 0x12, 19]);
        assert!(Partitions::parse("12x : ALL ;").is_err());
    }

    #[test]
    fn more_partitions_than_keys_are_refused() {
        let rules = |count: usize| -> String {
            let rules = (1..=count).map(|number| alloc::format!("a{number} : ALL ;\n"));
            rules.collect()
        };
        let error = Partitions::parse(&rules(0x7fff)).unwrap_err();
        assert_eq!((error.line, error.found.as_str()), (0x7fff, "a32767"));
        assert!(Partitions::parse(&rules(0x7ffe)).is_ok());
    }

    #[test]
    fn rules_of_one_name_without_a_key_are_one_partition() {
        let text = "d : 0x1=full ;\ne=0x5 : 0x1 ;\nd : 0x2=full ;\ne : 0x2=full ;";
        let partitions = Partitions::parse(text).unwrap();
        let bases: Vec<_> = partitions.iter().map(|partition| partition.base).collect();
        assert_eq!(bases, [0x7fff, 1, 5]);
        assert_eq!(keys(&partitions, 2), [0x7fff, 0x8001, 0x8005]);
    }

    #[test]
    fn the_later_of_two_memberships_counts_and_both_where_ports_may_hold_both() {
        let text =
            "a=0x10 : 0x2=full, ALL=limited ;\nb=0x11 : ALL=limited, 0x2=full ;\nb=0x11 : 0x3 ;";
        let partitions = Partitions::parse(text).unwrap();
        assert_eq!(keys(&partitions, 2), [0x7fff, 0x0010, 0x8011]);
        let candidate = Candidate {
            guid: Guid(2),
            type_: NodeType::CA,
            is_own: false,
        };
        let both = partitions.keys(candidate, true);
        assert_eq!(both, [0x7fff, 0x8010, 0x0010, 0x8011, 0x0011].map(PKey));
    }

    /// The examples of opensm(8).
    #[test]
    fn the_examples_of_the_manual_mean_what_it_says() {
        let text = "\
            Default=0x7fff : ALL, SELF=full ;\n\
            NewPartition , ipoib : 0x123456=full, 0x3456789034=limi,  0x2134af2306 ;\n\
            YetAnotherOne = 0x300 : SELF=full ;\n\
            YetAnotherOne = 0x300 : ALL=limited ;\n\
            ShareIO = 0x80 , defmember=full : 0x123451, 0x123452;\n\
            # 0x123453, 0x123454 will be limited\n\
            ShareIO = 0x80 : 0x123453, 0x123454, 0x123455=full;\n\
            ShareIO = 0x80 : defmember=limited : 0x123456, 0x123457, 0x123458=full;\n";
        // The manual's last rule has a colon where a comma is meant; OpenSM takes both.
        let text = text.replace("defmember=limited :", "defmember=limited,");
        let partitions = Partitions::parse(&text).unwrap();
        // The rule for ALL comes after the one for SELF.
        assert_eq!(keys(&partitions, 1), [0xffff, 0x0300]);
        assert_eq!(
            keys(&partitions, 0x123456),
            [0x7fff, 0x8001, 0x0300, 0x0080]
        );
        assert_eq!(keys(&partitions, 0x34_5678_9034), [0x7fff, 0x0001, 0x0300]);
        assert_eq!(keys(&partitions, 0x123452), [0x7fff, 0x0300, 0x8080]);
        assert_eq!(keys(&partitions, 0x123454), [0x7fff, 0x0300, 0x0080]);
        assert_eq!(keys(&partitions, 0x123458), [0x7fff, 0x0300, 0x8080]);
    }

    #[test]
    fn a_line_ends_the_options_of_a_group() {
        let text = "Default=0x7fff,ipoib:\n\
            mgid=ff12:401b::0707,sl=1 # random IPv4 group\n\
            mgid=ff12::1,sl=1,Q_Key=0xDEADBEEF,rate=3,mtu=2\n\
            ALL=full;";
        let partitions = Partitions::parse(text).unwrap();
        let partition = partitions.iter().next().unwrap();
        let [first, second] = partition.groups.as_slice() else {
            panic!("{:?}", partition.groups);
        };
        assert_eq!((first.1.sl.bits(), first.1.mtu), (1, Mtu::MTU_2048));
        assert_eq!(second.1.q_key, Some(QKey(0xdead_beef)));
        assert_eq!(second.1.mtu, Mtu(2));
        assert_eq!(keys(&partitions, 5), [0xffff]);
    }

    #[test]
    fn without_a_rule_for_the_default_partition_ports_are_limited_members() {
        let partitions = Partitions::parse("a=0x8005, indx0 : ALL=full;").unwrap();
        assert_eq!(keys(&partitions, 1), [0x8005, 0xffff]);
        assert_eq!(keys(&partitions, 2), [0x8005, 0x7fff]);
        assert_eq!(keys(&Partitions::default(), 2), [0xffff]);
    }

    #[test]
    fn an_error_names_its_line() {
        for (text, line) in [
            ("\n\na=5 : nobody;", 3),
            ("a=0 : ALL;", 1),
            ("a=5, what : ALL;", 1),
            ("a=5 : ALL", 1),
            ("a=5 ;", 1),
            ("a=5 :\nmgid=fe80::1\n;", 2),
        ] {
            let error = Partitions::parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
        }
    }
}
