//! Partitions: which ports may talk to which, as OpenSM's `partitions.conf` says it
//! (IBA vol. 1, 10.9; opensm(8), PARTITION CONFIGURATION).
//!
//! ```text
//! Default=0x7fff, ipoib : ALL=limited, SELF=full ;
//! storage=0x0012, defmember=full, ipoib, mtu=5 : 0x2c90300a1b2c3, 0x2c90300a1b2c4=limited ;
//! ```
//!
//! The default partition always exists, and the manager's own port is a full member of it. Rules for
//! one P_Key, or without a P_Key for one name, add up. Of two memberships of a port the later one counts, as in OpenSM; with
//! `allow_both_pkeys` the port holds both keys.

mod parse;

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};

use ib_routing::NodeType;
use ib_wire::{Gid, Guid, Mtu, PKey, QKey, Rate, Sl, text::TextError};

/// One partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// Its name in the file, for messages.
    pub name: String,
    /// The low 15 bits of its P_Key.
    pub base: u16,
    /// Its key is the first in every table, instead of the default partition's.
    pub first: bool,
    /// IPoIB runs on it: the broadcast group that it gets.
    pub ipoib: Option<GroupOptions>,
    /// Further groups that it gets.
    pub groups: Vec<(Gid, GroupOptions)>,
    /// Members by what they are, in the order of the file.
    pub kinds: Vec<(MemberKind, RankedMembership)>,
    /// Members by port GUID, each in the order of the file.
    pub ports: BTreeMap<Guid, Vec<RankedMembership>>,
    /// Memberships so far: the rank of the next one.
    ranks: usize,
}

/// A membership with its place among all of its partition: a later one counts more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedMembership {
    /// The place, counted from 0.
    pub rank: usize,
    /// Membership of the port.
    pub membership: Membership,
}

/// The ports to which a rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// All end ports (`ALL`).
    All,
    /// End ports of CAs (`ALL_CAS`).
    Cas,
    /// Ports 0 of switches (`ALL_SWITCHES`).
    Switches,
    /// Ports of routers (`ALL_ROUTERS`).
    Routers,
    /// The manager's own port (`SELF`).
    Own,
}

/// The kind of a port's membership.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Membership {
    /// It talks to full members only.
    #[default]
    Limited,
    /// It talks to all members.
    Full,
    /// It holds both keys, where `allow_both_pkeys` lets it; else it is a full member.
    Both,
}

/// Parameters of a group of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupOptions {
    /// Rate of its packets.
    pub rate: Rate,
    /// Longest packets.
    pub mtu: Mtu,
    /// Service level.
    pub sl: Sl,
    /// One group for each of these scopes; empty for that of its name, or link-local.
    pub scopes: Vec<u8>,
    /// Queue key; that of IPoIB for its groups and 0 for others, unless it is named.
    pub q_key: Option<QKey>,
    /// Traffic class.
    pub tclass: u8,
    /// Flow label.
    pub flow_label: u32,
}

impl Default for GroupOptions {
    fn default() -> Self {
        Self {
            rate: Rate::GBPS_10,
            mtu: Mtu::MTU_2048,
            sl: Sl::ZERO,
            scopes: Vec::new(),
            q_key: None,
            tclass: 0,
            flow_label: 0,
        }
    }
}

/// The directions in which switches enforce partitions (`part_enforce`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// On what comes in from a host and on what goes out to it.
    #[default]
    Both,
    /// On what comes in from a host.
    Inbound,
    /// On what goes out to a host.
    Outbound,
    /// Nowhere.
    Off,
}

/// The partitions of a subnet; the default one is always among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitions {
    all: Vec<Partition>,
    /// True if these are the default partitions; it is looked up for every port of every sweep.
    are_plain: bool,
}

/// A port whose keys are looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) guid: Guid,
    pub(crate) type_: NodeType,
    pub(crate) is_own: bool,
}

impl Default for Partitions {
    /// Without a file every port is a full member of the default partition, and IPoIB runs on it.
    fn default() -> Self {
        Self {
            all: Self::default_partitions(),
            are_plain: true,
        }
    }
}

impl Partitions {
    fn of(all: Vec<Partition>) -> Self {
        Self {
            are_plain: all == Self::default_partitions(),
            all,
        }
    }

    fn default_partitions() -> Vec<Partition> {
        let default = Partition {
            name: String::from("Default"),
            base: PKey::DEFAULT_FULL.base(),
            ipoib: Some(GroupOptions::default()),
            ..Partition::default()
        };
        Vec::from([default.with(MemberKind::All, Membership::Full)])
    }

    /// Reads OpenSM's `partitions.conf`.
    ///
    /// ```
    /// use ib_sm::Partitions;
    ///
    /// let text = "Default=0x7fff : ALL, SELF=full ;\nstorage=0x12, ipoib : ALL_CAS=full ;";
    /// let partitions = Partitions::parse(text)?;
    /// assert_eq!(partitions.iter().map(|partition| partition.base).collect::<Vec<_>>(), [0x7fff, 0x12]);
    /// # Ok::<(), ib_wire::text::TextError>(())
    /// ```
    ///
    /// # Errors
    /// [`TextError`] at the first thing that is no rule.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let mut all: Vec<Partition> = Vec::new();
        // Places of partitions by key and by name.
        let (mut by_base, mut by_name) = (BTreeMap::new(), BTreeMap::new());
        for rule in parse::rules(text)? {
            let known = match rule.base {
                0 => by_name.get(&rule.name),
                base => by_base.get(&base),
            };
            match known.and_then(|&place: &usize| all.get_mut(place)) {
                Some(known) => known.add(rule),
                None => {
                    if rule.base != 0 {
                        by_base.insert(rule.base, all.len());
                    }
                    by_name.entry(rule.name.clone()).or_insert(all.len());
                    all.push(rule);
                }
            }
        }
        let default = PKey::DEFAULT_FULL.base();
        if !all.iter().any(|partition| partition.base == default) {
            let partition = Partition {
                name: String::from("Default"),
                base: default,
                ..Partition::default()
            };
            all.insert(0, partition.with(MemberKind::All, Membership::Limited));
        }
        number(&mut all, text)?;
        Ok(Self::of(all))
    }

    /// These partitions and further rules in the format of `partitions.conf`. Rules for a partition that exists add to it, and a
    /// membership of a port that is named again replaces the one before.
    ///
    /// ```
    /// use ib_sm::Partitions;
    ///
    /// let partitions = Partitions::default().with_rules("storage=0x12, ipoib : 0x2c90300a1b2c3=full ;")?;
    /// assert_eq!(partitions.find("storage").map(|partition| partition.base), Some(0x12));
    /// # Ok::<(), ib_wire::text::TextError>(())
    /// ```
    ///
    /// # Errors
    /// [`TextError`] at the first thing that is no rule; a rule without a P_Key whose name is new is refused too if all P_Keys
    /// are taken.
    pub fn with_rules(&self, text: &str) -> Result<Self, TextError> {
        let mut all = self.all.clone();
        for rule in parse::rules(text)? {
            let known = all.iter_mut().find(|known| match rule.base {
                0 => known.name == rule.name,
                base => known.base == base,
            });
            match known {
                Some(known) => known.add(rule),
                None => all.push(rule),
            }
        }
        number(&mut all, text)?;
        Ok(Self::of(all))
    }

    /// These partitions without one; `None` if there is none with this base, or if it is the default partition, which always
    /// exists.
    #[must_use]
    pub fn without(&self, base: u16) -> Option<Self> {
        let default = PKey::DEFAULT_FULL.base();
        let mut all = self.all.clone();
        all.retain(|partition| partition.base != base || base == default);
        (all.len() < self.all.len()).then_some(Self::of(all))
    }

    /// These partitions without the memberships of a port that rules gave by its GUID; `None` if there are none. Memberships by
    /// what the port is, as of `ALL`, remain.
    #[must_use]
    pub fn without_member(&self, base: u16, port_guid: Guid) -> Option<Self> {
        let mut all = self.all.clone();
        let partition = all.iter_mut().find(|partition| partition.base == base)?;
        partition.ports.remove(&port_guid)?;
        Some(Self::of(all))
    }

    /// The partition with a name, or with a P_Key such as `0x8012`, whose highest bit does not count.
    #[must_use]
    pub fn find(&self, name_or_key: &str) -> Option<&Partition> {
        let key = ib_wire::addr::number(name_or_key, 0xffff);
        let base = key.map(|key| key & 0x7fff);
        let is_named = |partition: &&Partition| partition.name == name_or_key;
        let by_name = self.all.iter().find(is_named);
        by_name.or_else(|| {
            let has_base = |partition: &&Partition| Some(u64::from(partition.base)) == base;
            self.all.iter().find(has_base)
        })
    }

    /// The partitions in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Partition> {
        self.all.iter()
    }

    /// Returns true if there is the default partition only, with every port as a full member: then no table but
    /// those of end ports has to say so.
    pub(crate) const fn are_plain(&self) -> bool {
        self.are_plain
    }

    /// The keys of a port, the first one for index 0.
    pub(crate) fn keys(&self, candidate: Candidate, allow_both: bool) -> Vec<PKey> {
        let mut keys = Vec::new();
        let mut ranked: Vec<_> = self.all.iter().collect();
        ranked.sort_by_key(|partition| {
            let is_default = partition.base == PKey::DEFAULT_FULL.base();
            (!partition.first, !is_default)
        });
        for partition in ranked {
            let (limited, full) = (PKey(partition.base), PKey(partition.base | 0x8000));
            match partition.membership(candidate, allow_both) {
                Some(Membership::Both) if allow_both => keys.extend([full, limited]),
                Some(Membership::Full | Membership::Both) => keys.push(full),
                Some(Membership::Limited) => keys.push(limited),
                None => {}
            }
        }
        keys
    }
}

/// Gives rules without a key the lowest that is free.
fn number(all: &mut [Partition], text: &str) -> Result<(), TextError> {
    let taken: BTreeSet<u16> = all.iter().map(|partition| partition.base).collect();
    let mut free = (1..PKey::DEFAULT_FULL.base()).filter(|base| !taken.contains(base));
    for partition in all.iter_mut().filter(|partition| partition.base == 0) {
        partition.base = free.next().ok_or_else(|| TextError {
            line: text.lines().count(),
            found: partition.name.clone(),
            expected: "no more partitions than there are P_Keys",
        })?;
    }
    Ok(())
}

impl Partition {
    /// The membership of a port, if it is a member: by the last rule that names it. If ports may hold both keys, all
    /// rules count.
    fn membership(&self, candidate: Candidate, allow_both: bool) -> Option<Membership> {
        let kinds = self.kinds.iter().filter(|(kind, _)| match kind {
            MemberKind::All => true,
            MemberKind::Cas => candidate.type_ == NodeType::CA,
            MemberKind::Switches => candidate.type_.is_switch(),
            MemberKind::Routers => candidate.type_ == NodeType::ROUTER,
            MemberKind::Own => candidate.is_own,
        });
        let named = self.ports.get(&candidate.guid).into_iter().flatten();
        let memberships = kinds.map(|(_, ranked)| ranked).chain(named);
        if candidate.is_own && self.base == PKey::DEFAULT_FULL.base() {
            // The manager has to reach every port.
            let mut memberships = memberships.map(|ranked| ranked.membership);
            let both = memberships.any(|membership| membership == Membership::Both);
            return Some(if both {
                Membership::Both
            } else {
                Membership::Full
            });
        }
        if !allow_both {
            let last = memberships.max_by_key(|ranked| ranked.rank);
            return last.map(|ranked| ranked.membership);
        }
        memberships
            .map(|ranked| ranked.membership)
            .reduce(|one, other| if one == other { one } else { Membership::Both })
    }

    fn with(mut self, kind: MemberKind, membership: Membership) -> Self {
        self.add_kind(kind, membership);
        self
    }

    /// Makes ports members by what they are.
    fn add_kind(&mut self, kind: MemberKind, membership: Membership) {
        let ranked = self.ranked(membership);
        self.kinds.push((kind, ranked));
    }

    /// Makes a port a member.
    fn add_port(&mut self, guid: Guid, membership: Membership) {
        let ranked = self.ranked(membership);
        let memberships = self.ports.entry(guid).or_default();
        // Of equal ones the last counts, so that a port has a few at most.
        memberships.retain(|ranked| ranked.membership != membership);
        memberships.push(ranked);
    }

    fn ranked(&mut self, membership: Membership) -> RankedMembership {
        let rank = self.ranks;
        self.ranks = rank.saturating_add(1);
        RankedMembership { rank, membership }
    }

    /// Adds another rule for the same key.
    fn add(&mut self, rule: Self) {
        self.first |= rule.first;
        self.ipoib = self.ipoib.take().or(rule.ipoib);
        self.groups.extend(rule.groups);
        let behind = self.ranks;
        let later = |ranked: RankedMembership| RankedMembership {
            rank: ranked.rank.saturating_add(behind),
            ..ranked
        };
        let kinds = rule.kinds.into_iter();
        self.kinds
            .extend(kinds.map(|(kind, ranked)| (kind, later(ranked))));
        for (guid, memberships) in rule.ports {
            let known = self.ports.entry(guid).or_default();
            known.extend(memberships.into_iter().map(later));
        }
        self.ranks = behind.saturating_add(rule.ranks);
    }
}
