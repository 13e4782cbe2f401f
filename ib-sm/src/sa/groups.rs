//! Multicast groups: who is a member of what (IBA vol. 1, 10.5 and 15.2.5.17).
//!
//! A group lives from the join that creates it to the leave of its last full member; those that the
//! partitions ask for, such as IPoIB's broadcast group, are there before anybody joins and stay. A member
//! is a port with a set of join states: another join adds to it, a leave takes away from it.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use ib_mad::SaStatus;
use ib_routing::mcast::Mlids;
use ib_sa::{ComponentMask, JoinState, McMemberComponents, McMemberRecord, Record, Selector};
use ib_wire::{Gid, GidPrefix, Guid, Lid, MulticastScope, PKey, QKey, Rate};

use super::limits::rate;
use crate::{
    SmConfig,
    partition::{GroupOptions, Partition},
    registrations::GroupRegistration,
    subnet::Port,
};

/// First 16 bits of a group that the administrator names itself, behind `FF1s`: 0xA01B.
const OWN_SIGNATURE: u16 = 0xa01b;
/// The same of IPoIB's groups, by IP version.
const IPOIB_SIGNATURES: [u16; 2] = [0x401b, 0x601b];

/// One group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// What all members have in common; no port.
    pub(crate) parameters: McMemberRecord,
    members: BTreeMap<Gid, Member>,
    /// Stays without members.
    well_known: bool,
    /// Its tree does not fit its members any more.
    pub(crate) changed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Member {
    states: JoinState,
    proxy_join: bool,
}

/// All groups.
#[derive(Debug)]
pub(crate) struct Groups {
    by_mgid: BTreeMap<Gid, Group>,
    mlids: Mlids,
    /// Tells groups apart that the administrator names itself.
    named: u32,
    /// LIDs of groups that are no more, whose trees still stand in the switches.
    pub(crate) abandoned: Vec<Lid>,
    /// Some tree does not fit its group any more, or has none.
    changed: bool,
}

/// What a join or leave did besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupChange {
    Created(Gid),
    Deleted(Gid),
}

/// The port that joins, and whether it says so itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) gid: Gid,
    pub(crate) port: &'a Port,
    pub(crate) is_requester: bool,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            by_mgid: BTreeMap::new(),
            mlids: Mlids::new(u16::MAX),
            named: 0,
            abandoned: Vec::new(),
            changed: false,
        }
    }
}

impl Group {
    /// GUIDs of the ports that the tree joins. Those that only send reach it by its nearest switch and
    /// are part of the tree as well.
    pub(crate) fn ports(&self) -> impl Iterator<Item = Guid> + '_ {
        self.members.keys().map(|gid| gid.guid())
    }

    /// Whether anybody receives what is sent to it.
    fn has_full_member(&self) -> bool {
        let full = JoinState::FULL_MEMBER | JoinState::SEND_ONLY_FULL_MEMBER;
        self.members
            .values()
            .any(|member| member.states.intersects(full))
    }

    fn record_of(&self, port: Gid, member: Member) -> McMemberRecord {
        let mut record = self.parameters;
        record
            .set_port_gid(port)
            .set_join_state(member.states)
            .set_proxy_join(member.proxy_join);
        record
    }

    /// The group as one record, whoever its members are.
    fn record(&self) -> McMemberRecord {
        let states = self.members.values().map(|member| member.states);
        let mut record = self.parameters;
        record.set_join_state(states.fold(JoinState::empty(), |all, states| all | states));
        record
    }
}

impl Groups {
    /// Groups by their LIDs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.by_mgid.values()
    }

    /// The group of this name.
    pub(super) fn find(&self, mgid: Gid) -> Option<&Group> {
        self.by_mgid.get(&mgid)
    }

    /// The first group with this LID.
    pub(super) fn find_lid(&self, mlid: Lid) -> Option<&Group> {
        self.iter().find(|group| group.parameters.mlid() == mlid)
    }

    /// Whether a tree has to be computed.
    pub(crate) const fn have_changed(&self) -> bool {
        self.changed
    }

    /// Says that the trees fit again.
    pub(crate) fn settle(&mut self) {
        self.changed = false;
        self.abandoned.clear();
        for group in self.by_mgid.values_mut() {
            group.changed = false;
        }
    }

    /// The smallest multicast table of all switches holds so many groups.
    pub(crate) fn set_capacity(&mut self, capacity: u16) {
        let mut mlids = Mlids::new(capacity);
        for group in self.by_mgid.values() {
            let _ = mlids.take(group.parameters.mlid());
        }
        self.mlids = mlids;
    }

    /// Makes a group that stays, unless it is there.
    pub(crate) fn ensure_static(&mut self, parameters: McMemberRecord) -> Option<GroupChange> {
        let mgid = parameters.mgid();
        if let Some(group) = self.by_mgid.get_mut(&mgid) {
            group.well_known = true;
            return None;
        }
        self.create(parameters, true).ok()?;
        Some(GroupChange::Created(mgid))
    }

    /// Lets go of the groups that stayed for a partition which no longer asks for them: they live on as long as
    /// they have full members.
    pub(crate) fn retain_static(&mut self, asked: &BTreeSet<Gid>) -> Vec<GroupChange> {
        let mut released = Vec::new();
        for (&mgid, group) in &mut self.by_mgid {
            if group.well_known && !asked.contains(&mgid) {
                group.well_known = false;
                released.push(mgid);
            }
        }
        let ended = released.into_iter();
        ended
            .filter_map(|mgid| self.delete_if_empty(mgid))
            .collect()
    }

    /// Takes in Set(MCMemberRecord).
    pub(crate) fn join(
        &mut self,
        config: &SmConfig,
        candidate: Candidate<'_>,
        wanted: &McMemberRecord,
        mask: ComponentMask,
    ) -> Result<(McMemberRecord, Option<GroupChange>), SaStatus> {
        use McMemberComponents as C;
        let given = McMemberComponents::from_bits_retain(mask.0);
        if !given.contains(C::MGID | C::PORT_GID | C::JOIN_STATE) {
            return Err(SaStatus::REQ_INSUFFICIENT_COMPONENTS);
        }
        if wanted.join_state().is_empty() {
            return Err(SaStatus::REQ_INVALID);
        }
        let known = self.by_mgid.get(&wanted.mgid());
        let created = match known {
            Some(group) => {
                fits(config, group, candidate.port, wanted, given)?;
                None
            }
            None => {
                let parameters = self.parameters(config, candidate, wanted, given)?;
                self.create(parameters, false)?;
                Some(parameters.mgid())
            }
        };
        let mgid = created.unwrap_or(wanted.mgid());
        let group = self.by_mgid.get_mut(&mgid).ok_or(SaStatus::NO_RESOURCES)?;
        let member = group.members.entry(candidate.gid);
        let new = matches!(member, alloc::collections::btree_map::Entry::Vacant(_));
        let member = member.or_insert(Member {
            states: JoinState::empty(),
            proxy_join: !candidate.is_requester,
        });
        if !(candidate.is_requester || member.proxy_join) {
            return Err(SaStatus::REQ_INVALID);
        }
        member.states |= wanted.join_state();
        let member = *member;
        group.changed |= new;
        self.changed |= new;
        let record = group.record_of(candidate.gid, member);
        Ok((record, created.map(GroupChange::Created)))
    }

    /// Takes in Delete(MCMemberRecord). A membership that the port itself asked for only the port ends.
    pub(crate) fn leave(
        &mut self,
        port: Gid,
        is_requester: bool,
        wanted: &McMemberRecord,
        mask: ComponentMask,
    ) -> Result<(McMemberRecord, Option<GroupChange>), SaStatus> {
        use McMemberComponents as C;
        let given = McMemberComponents::from_bits_retain(mask.0);
        if !given.contains(C::MGID | C::PORT_GID | C::JOIN_STATE) {
            return Err(SaStatus::REQ_INSUFFICIENT_COMPONENTS);
        }
        let mgid = wanted.mgid();
        let group = self.by_mgid.get_mut(&mgid).ok_or(SaStatus::REQ_INVALID)?;
        let member = group.members.get_mut(&port).ok_or(SaStatus::REQ_INVALID)?;
        let may = is_requester || member.proxy_join;
        if !may || !member.states.intersects(wanted.join_state()) {
            return Err(SaStatus::REQ_INVALID);
        }
        member.states.remove(wanted.join_state());
        let member = *member;
        let record = group.record_of(port, member);
        if member.states.is_empty() {
            group.members.remove(&port);
            group.changed = true;
            self.changed = true;
        }
        Ok((record, self.delete_if_empty(mgid)))
    }

    /// Ends the memberships of ports that are no more.
    pub(crate) fn retain_ports(&mut self, keep: impl Fn(Guid) -> bool) -> Vec<GroupChange> {
        let mut touched = Vec::new();
        for (&mgid, group) in &mut self.by_mgid {
            let before = group.members.len();
            group.members.retain(|gid, _| keep(gid.guid()));
            if group.members.len() != before {
                group.changed = true;
                self.changed = true;
                touched.push(mgid);
            }
        }
        let ended = touched.into_iter();
        ended
            .filter_map(|mgid| self.delete_if_empty(mgid))
            .collect()
    }

    /// All groups with their members.
    pub(crate) fn registrations(&self) -> Vec<GroupRegistration> {
        let each = self.by_mgid.values().map(|group| {
            let members = group.members.iter();
            GroupRegistration {
                group: group.parameters,
                well_known: group.well_known,
                members: members
                    .map(|(&port, &member)| group.record_of(port, member))
                    .collect(),
            }
        });
        each.collect()
    }

    /// Takes in groups from before a restart. Returns whether each has its LID again.
    pub(crate) fn restore(&mut self, kept: &[GroupRegistration]) -> bool {
        let mut all = true;
        for kept in kept {
            let mut parameters = kept.group;
            parameters
                .set_port_gid(Gid::default())
                .set_join_state(JoinState::empty())
                .set_proxy_join(false);
            let (mgid, mlid) = (parameters.mgid(), parameters.mlid());
            if self.by_mgid.contains_key(&mgid) || !self.mlids.take(mlid) {
                all = false;
                continue;
            }
            let members = kept.members.iter().map(|member| {
                let known = Member {
                    states: member.join_state(),
                    proxy_join: member.proxy_join(),
                };
                (member.port_gid(), known)
            });
            let group = Group {
                parameters,
                members: members.collect(),
                well_known: kept.well_known,
                changed: true,
            };
            self.by_mgid.insert(mgid, group);
            self.changed = true;
        }
        all
    }

    /// The records of a query, of one group if it names one: a record of each group, or of each membership
    /// for who may know the members.
    pub(crate) fn records(
        &self,
        mgid: Option<Gid>,
        members: bool,
        may_access: impl Fn(PKey) -> bool,
    ) -> Vec<McMemberRecord> {
        let one = mgid.and_then(|mgid| self.by_mgid.get(&mgid));
        let all = mgid.is_none().then(|| self.by_mgid.values());
        let mut records = Vec::new();
        for group in all.into_iter().flatten().chain(one) {
            if !may_access(group.parameters.p_key()) {
                continue;
            }
            if members {
                let each = group.members.iter();
                records.extend(each.map(|(&port, &member)| group.record_of(port, member)));
            } else {
                records.push(group.record());
            }
        }
        records
    }

    fn create(&mut self, mut parameters: McMemberRecord, stays: bool) -> Result<(), SaStatus> {
        let mlid = self.mlids.allocate().map_err(|_| SaStatus::NO_RESOURCES)?;
        parameters.set_mlid(mlid);
        let group = Group {
            parameters,
            members: BTreeMap::new(),
            well_known: stays,
            changed: false,
        };
        self.by_mgid.insert(parameters.mgid(), group);
        Ok(())
    }

    fn delete_if_empty(&mut self, mgid: Gid) -> Option<GroupChange> {
        let group = self.by_mgid.get(&mgid)?;
        if group.well_known || group.has_full_member() {
            return None;
        }
        let mlid = group.parameters.mlid();
        self.by_mgid.remove(&mgid);
        self.mlids.release(mlid);
        self.abandoned.push(mlid);
        self.changed = true;
        Some(GroupChange::Deleted(mgid))
    }

    /// What a group that a join creates is like: as the request says, else as the port can.
    fn parameters(
        &mut self,
        config: &SmConfig,
        candidate: Candidate<'_>,
        wanted: &McMemberRecord,
        given: McMemberComponents,
    ) -> Result<McMemberRecord, SaStatus> {
        use McMemberComponents as C;
        if !given.contains(C::Q_KEY | C::P_KEY | C::SL | C::FLOW_LABEL | C::TCLASS) {
            return Err(SaStatus::REQ_INSUFFICIENT_COMPONENTS);
        }
        let full = JoinState::FULL_MEMBER | JoinState::SEND_ONLY_FULL_MEMBER;
        if !wanted.join_state().intersects(full) || !candidate.port.has_p_key(wanted.p_key()) {
            return Err(SaStatus::REQ_INVALID);
        }
        let scope = match given.contains(C::SCOPE) {
            true => wanted.scope().0,
            false => 2,
        };
        let mgid = match wanted.mgid() {
            mgid if mgid.bits() == 0 => {
                self.named = self.named.wrapping_add(1);
                own_mgid(scope, config.subnet_prefix, self.named)
            }
            mgid if may_be_created(config, mgid, wanted.p_key()) => mgid,
            _ => return Err(SaStatus::REQ_INVALID),
        };
        let info = candidate.port.info.ok_or(SaStatus::REQ_INVALID_GID)?;
        let (mtu, speed) = (info.neighbor_mtu(), rate(&info).unwrap_or(Rate::GBPS_10));
        // A value without its selector says nothing: the creator's port decides, as with OpenSM 3.3.23.
        let mtu = match given.contains(C::MTU | C::MTU_SELECTOR) {
            true => wanted.mtu_selector().choose_mtu(wanted.mtu(), mtu),
            false => Some(mtu),
        };
        let speed = match given.contains(C::RATE | C::RATE_SELECTOR) {
            true => wanted.rate_selector().choose_rate(wanted.rate(), speed),
            false => Some(speed),
        };
        let life = match given.contains(C::PACKET_LIFE_TIME) {
            true => selector(
                given,
                C::PACKET_LIFE_TIME_SELECTOR,
                wanted.packet_life_time_selector(),
            )
            .choose_packet_life_time(wanted.packet_life_time(), config.packet_life_time),
            false => Some(config.packet_life_time),
        };
        let (Some(mtu), Some(speed), Some(life)) = (mtu, speed, life) else {
            return Err(SaStatus::REQ_INVALID);
        };
        let mut parameters = McMemberRecord::default();
        parameters
            .set_mgid(mgid)
            .set_q_key(wanted.q_key())
            .set_mtu_selector(Selector::EXACTLY)
            .set_mtu(mtu)
            .set_tclass(wanted.tclass())
            .set_p_key(wanted.p_key())
            .set_rate_selector(Selector::EXACTLY)
            .set_rate(speed)
            .set_packet_life_time_selector(Selector::EXACTLY)
            .set_packet_life_time(life)
            .set_sl(wanted.sl())
            .set_flow_label(wanted.flow_label())
            .set_hop_limit(wanted.hop_limit())
            .set_scope(MulticastScope((mgid.bits() >> 112) as u8 & 0xf));
        Ok(parameters)
    }
}

/// Whether a port may join a group as it asks to.
fn fits(
    config: &SmConfig,
    group: &Group,
    port: &Port,
    wanted: &McMemberRecord,
    given: McMemberComponents,
) -> Result<(), SaStatus> {
    use McMemberComponents as C;
    let compared = C::Q_KEY
        | C::MLID
        | C::TCLASS
        | C::P_KEY
        | C::SL
        | C::FLOW_LABEL
        | C::HOP_LIMIT
        | C::SCOPE
        | C::MTU_SELECTOR
        | C::MTU
        | C::RATE_SELECTOR
        | C::RATE
        | C::PACKET_LIFE_TIME_SELECTOR
        | C::PACKET_LIFE_TIME;
    let same = !config.mcgroup_join_validation
        || group.parameters.matches(wanted, (given & compared).into());
    let info = port.info.ok_or(SaStatus::REQ_INVALID_GID)?;
    let (mtu, speed) = (group.parameters.mtu(), group.parameters.rate());
    let can = info.mtu_cap() >= mtu
        && rate(&info).is_none_or(|rate| rate.cmp_rate(speed).is_none_or(|order| order.is_ge()));
    match same && can && port.has_p_key(group.parameters.p_key()) {
        true => Ok(()),
        false => Err(SaStatus::REQ_INVALID),
    }
}

/// Without a selector a value is meant as it stands.
fn selector(given: McMemberComponents, bit: McMemberComponents, selector: Selector) -> Selector {
    match given.contains(bit) {
        true => selector,
        false => Selector::EXACTLY,
    }
}

/// The name of a group whose creator leaves it to the administrator: `FF1s:A01B`, the prefix, a count.
fn own_mgid(scope: u8, prefix: GidPrefix, count: u32) -> Gid {
    let head = 0xff10 | u128::from(scope & 0xf);
    let bits = head << 112
        | u128::from(OWN_SIGNATURE) << 96
        | u128::from(prefix.0) << 32
        | u128::from(count);
    Gid(bits.to_be_bytes())
}

/// Whether a host may create a group of this name: a multicast GID with a scope that exists. Groups
/// that the administrator names are its own, and IPoIB's carry their P_Key.
fn may_be_created(config: &SmConfig, mgid: Gid, p_key: PKey) -> bool {
    let [_, scope, high, low, key @ ..] = mgid.0;
    let signature = u16::from_be_bytes([high, low]);
    let scope = scope & 0xf;
    if !mgid.is_multicast() || matches!(scope, 0 | 0xf) || signature == OWN_SIGNATURE {
        return false;
    }
    let ipoib = IPOIB_SIGNATURES.contains(&signature);
    let [high, low, ..] = key;
    !ipoib
        || !config.ipoib_mcgroup_creation_validation
        || u16::from_be_bytes([high, low]) == p_key.0 | 0x8000
}

/// The groups that a partition asks for: IPoIB's broadcast group (RFC 4391, 4:
/// `FF1s:401B:pppp::FFFF:FFFF`), and those that its rules name.
pub(crate) fn groups_of<'a>(
    config: &'a SmConfig,
    partition: &'a Partition,
) -> impl Iterator<Item = McMemberRecord> + 'a {
    let broadcast = u128::from(IPOIB_SIGNATURES[0]) << 96 | 0xff12 << 112 | 0xffff_ffff;
    let broadcast = Gid(broadcast.to_be_bytes());
    let ipoib = partition
        .ipoib
        .iter()
        .map(move |options| (broadcast, options));
    let named = partition
        .groups
        .iter()
        .map(|(mgid, options)| (*mgid, options));
    let all = ipoib.chain(named);
    all.flat_map(move |(mgid, options)| {
        let as_named = options.scopes.is_empty().then(|| mgid.0[1] & 0xf);
        let scopes = options.scopes.iter().copied().chain(as_named);
        scopes.map(move |scope| group_of(config, partition, options, mgid, scope))
    })
}

fn group_of(
    config: &SmConfig,
    partition: &Partition,
    options: &GroupOptions,
    mgid: Gid,
    scope: u8,
) -> McMemberRecord {
    const LINK_LOCAL: u8 = 2;
    let p_key = PKey(partition.base | 0x8000);
    let mut bytes = mgid.0;
    bytes[1] = bytes[1] & 0xf0 | scope;
    let is_ipoib = IPOIB_SIGNATURES.contains(&u16::from_be_bytes([bytes[2], bytes[3]]));
    if is_ipoib && bytes[4..6] == [0, 0] {
        bytes[4..6].copy_from_slice(&p_key.0.to_be_bytes());
    }
    let q_key = options.q_key.unwrap_or(match is_ipoib {
        true => QKey(0x0b1b),
        false => QKey(0),
    });
    let mut record = McMemberRecord::default();
    record
        .set_mgid(Gid(bytes))
        .set_q_key(q_key)
        .set_mtu_selector(Selector::EXACTLY)
        .set_mtu(options.mtu)
        .set_tclass(options.tclass)
        .set_p_key(p_key)
        .set_rate_selector(Selector::EXACTLY)
        .set_rate(options.rate)
        .set_packet_life_time_selector(Selector::EXACTLY)
        .set_packet_life_time(config.subnet_timeout)
        .set_sl(options.sl)
        .set_flow_label(options.flow_label)
        .set_hop_limit(match scope {
            LINK_LOCAL => 0,
            _ => u8::MAX,
        })
        .set_scope(MulticastScope(scope));
    record
}
