//! Multicast groups and their members (IBA vol. 1, 10.5 and 15.2.5.17).
//!
//! A group lives from the join that creates it to the leave of its last full member. Groups that the partitions
//! define, such as IPoIB's broadcast group, exist before any port joins and stay. A member is a port with a set
//! of join states: another join adds states, a leave removes some.

mod parameters;

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use ib_mad::SaStatus;
use ib_routing::mcast::Mlids;
use ib_sa::{ComponentMask, JoinState, McMemberComponents, McMemberRecord};
use ib_wire::{Gid, Guid, Lid, PKey};

pub(crate) use self::parameters::groups_of;
use super::quota::Quota;
use ib_subnet::SubnetPort;

use crate::{SmConfig, registrations::GroupRegistration};

/// Number of multicast LIDs.
const MLIDS: u16 = 0x3fff;
/// One port may create at most this fraction of all groups: a quarter.
const SHARE: usize = 4;

/// Components that a request to join or leave a group must name.
const NEEDED: McMemberComponents = McMemberComponents::MGID
    .union(McMemberComponents::PORT_GID)
    .union(McMemberComponents::JOIN_STATE);
/// The join states with which a member keeps its group alive.
const FULL: JoinState = JoinState::FULL_MEMBER.union(JoinState::SEND_ONLY_FULL_MEMBER);

/// One group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Parameters that all members share; the fields of a member's port are empty.
    pub(crate) parameters: McMemberRecord,
    members: BTreeMap<Gid, Member>,
    /// The group stays when it has no members.
    well_known: bool,
    /// The port whose request created it, if a quota counts it.
    creator: Guid,
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
    /// Number of groups for which the smallest multicast table has room.
    capacity: u16,
    created: Quota,
    /// Counter that distinguishes the groups that the administrator names itself.
    named: u32,
    /// LIDs of deleted groups whose trees the switches still hold.
    abandoned: Vec<Lid>,
    /// The groups whose trees do not match their members any more, or do not exist.
    changed: BTreeSet<Gid>,
}

/// Side effect of a join or leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupChange {
    Created(Gid),
    Deleted(Gid),
}

/// The port that joins, and whether it sent the request itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) gid: Gid,
    pub(crate) port: &'a SubnetPort,
    pub(crate) is_requester: bool,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            by_mgid: BTreeMap::new(),
            mlids: Mlids::new(u16::MAX),
            capacity: u16::MAX,
            created: Quota::default(),
            named: 0,
            abandoned: Vec::new(),
            changed: BTreeSet::new(),
        }
    }
}

impl Group {
    pub(crate) fn mlid(&self) -> Lid {
        self.parameters.mlid()
    }

    pub(crate) fn mgid(&self) -> Gid {
        self.parameters.mgid()
    }

    /// GUIDs of the ports that the tree connects. Send-only members reach it through their nearest switch and are
    /// part of the tree as well.
    pub(crate) fn ports(&self) -> impl Iterator<Item = Guid> + '_ {
        self.members.keys().map(|gid| gid.guid())
    }

    /// Returns true if any member is a full member, send-only or not, so that the group stays.
    fn has_full_member(&self) -> bool {
        let mut members = self.members.values();
        members.any(|member| member.states.intersects(FULL))
    }

    fn record_of(&self, port: Gid, member: Member) -> McMemberRecord {
        let mut record = self.parameters;
        record
            .set_port_gid(port)
            .set_join_state(member.states)
            .set_proxy_join(member.proxy_join);
        record
    }

    /// The group as one record, for any member.
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

    /// The group with this MGID.
    pub(super) fn find(&self, mgid: Gid) -> Option<&Group> {
        self.by_mgid.get(&mgid)
    }

    /// The groups that share the LID of `group`: itself, and for IPv6 solicited-node groups those with the same
    /// LID.
    pub(crate) fn sharing<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a Group> {
        let shared = parameters::solicited_node_range(group.mgid());
        let range = shared.unwrap_or(group.mgid()..=group.mgid());
        let mlid = group.mlid();
        let in_range = self.by_mgid.range(range).map(|(_, group)| group);
        in_range.filter(move |other| other.mlid() == mlid)
    }

    /// The first group with this LID.
    pub(super) fn find_lid(&self, mlid: Lid) -> Option<&Group> {
        self.iter().find(|group| group.parameters.mlid() == mlid)
    }

    /// LIDs of deleted groups whose trees the switches still hold.
    pub(crate) fn abandoned(&self) -> impl Iterator<Item = Lid> + '_ {
        self.abandoned.iter().copied()
    }

    /// Returns true if a tree has to be computed or removed.
    pub(crate) fn have_changed(&self) -> bool {
        !self.changed.is_empty() || !self.abandoned.is_empty()
    }

    /// The groups whose trees do not match their members any more.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &Group> {
        let changed = self.changed.iter();
        changed.filter_map(|mgid| self.by_mgid.get(mgid))
    }

    /// Returns true if a group's tree does not match its members any more.
    pub(crate) fn has_changed(&self, group: &Group) -> bool {
        self.changed.contains(&group.mgid())
    }

    /// Notes that all trees match their groups again.
    pub(crate) fn settle(&mut self) {
        self.changed.clear();
        self.abandoned.clear();
    }

    /// Sets the number of groups for which the smallest multicast table has room.
    pub(crate) fn set_capacity(&mut self, capacity: u16) {
        let mut mlids = Mlids::new(capacity);
        for group in self.by_mgid.values() {
            let _ = mlids.take(group.parameters.mlid());
        }
        self.mlids = mlids;
        self.capacity = capacity;
    }

    /// Creates a permanent group unless it exists.
    pub(crate) fn ensure_static(&mut self, parameters: McMemberRecord) -> Option<GroupChange> {
        let mgid = parameters.mgid();
        if let Some(group) = self.by_mgid.get_mut(&mgid) {
            group.well_known = true;
            return None;
        }
        self.create(parameters, Guid::NONE, true, None).ok()?;
        Some(GroupChange::Created(mgid))
    }

    /// Releases permanent groups whose partition no longer asks for them: they stay only as long as they have
    /// full members.
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

    /// Applies Set(MCMemberRecord). A group that it creates counts against the quota of `creator`.
    pub(crate) fn join(
        &mut self,
        config: &SmConfig,
        creator: Guid,
        candidate: Candidate<'_>,
        wanted: &McMemberRecord,
        mask: ComponentMask,
    ) -> Result<(McMemberRecord, Option<GroupChange>), SaStatus> {
        let given = McMemberComponents::from_bits_retain(mask.0);
        if !given.contains(NEEDED) {
            return Err(SaStatus::REQ_INSUFFICIENT_COMPONENTS);
        }
        if wanted.join_state().is_empty() {
            return Err(SaStatus::REQ_INVALID);
        }
        let known = self.by_mgid.get(&wanted.mgid());
        let created = match known {
            Some(group) => {
                parameters::fits(config, &group.parameters, candidate.port, wanted, given)?;
                None
            }
            None => {
                let (named, by_mgid) = (&mut self.named, &self.by_mgid);
                let own_mgid = |scope| {
                    // Groups from before a restart keep their MGIDs, which the counter may reach next.
                    loop {
                        *named = named.wrapping_add(1);
                        let mgid = parameters::own_mgid(scope, config.subnet_prefix, *named);
                        if !by_mgid.contains_key(&mgid) {
                            return mgid;
                        }
                    }
                };
                let parameters =
                    parameters::of_new_group(config, candidate, wanted, given, own_mgid)?;
                let shared = config
                    .consolidate_ipv6_snm_req
                    .then(|| self.shared_mlid(parameters.mgid()))
                    .flatten();
                self.create(parameters, creator, false, shared)?;
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
        let record = group.record_of(candidate.gid, member);
        if new {
            self.changed.insert(mgid);
        }
        Ok((record, created.map(GroupChange::Created)))
    }

    /// Applies Delete(MCMemberRecord). Only the port itself can end a membership that it requested itself.
    pub(crate) fn leave(
        &mut self,
        port: Gid,
        is_requester: bool,
        wanted: &McMemberRecord,
        mask: ComponentMask,
    ) -> Result<(McMemberRecord, Option<GroupChange>), SaStatus> {
        let given = McMemberComponents::from_bits_retain(mask.0);
        if !given.contains(NEEDED) {
            return Err(SaStatus::REQ_INSUFFICIENT_COMPONENTS);
        }
        let mgid = wanted.mgid();
        let group = self.by_mgid.get_mut(&mgid).ok_or(SaStatus::REQ_INVALID)?;
        let member = group.members.get_mut(&port).ok_or(SaStatus::REQ_INVALID)?;
        let may = is_requester || member.proxy_join;
        // A state that the member does not have makes the whole request invalid (o15-0.1.14).
        let ended = wanted.join_state();
        if !may || ended.is_empty() || !member.states.contains(ended) {
            return Err(SaStatus::REQ_INVALID);
        }
        member.states.remove(ended);
        let member = *member;
        let record = group.record_of(port, member);
        if member.states.is_empty() {
            group.members.remove(&port);
            self.changed.insert(mgid);
        }
        Ok((record, self.delete_if_empty(mgid)))
    }

    /// Ends the memberships of ports that are gone.
    pub(crate) fn retain_ports(&mut self, keep: impl Fn(Guid) -> bool) -> Vec<GroupChange> {
        let mut touched = Vec::new();
        for (&mgid, group) in &mut self.by_mgid {
            let before = group.members.len();
            group.members.retain(|gid, _| keep(gid.guid()));
            if group.members.len() != before {
                self.changed.insert(mgid);
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

    /// Restores groups from before a restart. Returns whether each has its LID again.
    pub(crate) fn restore(&mut self, kept: &[GroupRegistration]) -> bool {
        let mut all = true;
        for kept in kept {
            let mut parameters = kept.group;
            parameters
                .set_port_gid(Gid::default())
                .set_join_state(JoinState::empty())
                .set_proxy_join(false);
            let (mgid, mlid) = (parameters.mgid(), parameters.mlid());
            let is_shared = self.shared_mlid(mgid) == Some(mlid);
            if self.by_mgid.contains_key(&mgid) || !(is_shared || self.mlids.take(mlid)) {
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
                creator: Guid::NONE,
            };
            self.by_mgid.insert(mgid, group);
            self.changed.insert(mgid);
        }
        all
    }

    /// The records for a query, of one group if the query names one. With `members` there is a record for each
    /// membership, otherwise one for each group.
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

    fn create(
        &mut self,
        mut parameters: McMemberRecord,
        creator: Guid,
        stays: bool,
        shared: Option<Lid>,
    ) -> Result<(), SaStatus> {
        let limit = usize::from(self.capacity.min(MLIDS)).div_ceil(SHARE);
        if !self.created.has_room(creator, limit) {
            return Err(SaStatus::NO_RESOURCES);
        }
        let mlid = match shared {
            Some(mlid) => mlid,
            None => self.mlids.allocate().map_err(|_| SaStatus::NO_RESOURCES)?,
        };
        parameters.set_mlid(mlid);
        let group = Group {
            parameters,
            members: BTreeMap::new(),
            well_known: stays,
            creator,
        };
        self.by_mgid.insert(parameters.mgid(), group);
        self.created.take(creator);
        Ok(())
    }

    fn delete_if_empty(&mut self, mgid: Gid) -> Option<GroupChange> {
        let group = self.by_mgid.get(&mgid)?;
        if group.well_known || group.has_full_member() {
            return None;
        }
        let (mlid, creator) = (group.parameters.mlid(), group.creator);
        self.by_mgid.remove(&mgid);
        self.created.release(creator);
        self.changed.remove(&mgid);
        match self.find_sharing(mgid, mlid) {
            // The tree contains members of other groups, and may have lost some.
            Some(other) => {
                self.changed.insert(other);
            }
            None => {
                self.mlids.release(mlid);
                self.abandoned.push(mlid);
            }
        }
        Some(GroupChange::Deleted(mgid))
    }

    /// The LID of the solicited-node groups to which a group with this MGID belongs, if there is one.
    fn shared_mlid(&self, mgid: Gid) -> Option<Lid> {
        let range = parameters::solicited_node_range(mgid)?;
        let (_, group) = self.by_mgid.range(range).next()?;
        Some(group.mlid())
    }

    /// Another solicited-node group with this LID.
    fn find_sharing(&self, mgid: Gid, mlid: Lid) -> Option<Gid> {
        let range = parameters::solicited_node_range(mgid)?;
        let mut groups = self.by_mgid.range(range);
        let (&other, _) = groups.find(|(_, group)| group.mlid() == mlid)?;
        Some(other)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// The first of the IPv6 solicited-node groups of a partition, which may share a LID.
    const SOLICITED_NODE: u128 = 0xff12_601b_ffff_0000_0000_0001_ff00_0000;

    fn parameters(mgid: u128, mlid: u16) -> McMemberRecord {
        let mut record = McMemberRecord::default();
        record.set_mgid(gid(mgid)).set_mlid(Lid(mlid));
        record
    }

    fn gid(bits: u128) -> Gid {
        Gid(bits.to_be_bytes())
    }

    fn kept(mgid: u128, mlid: u16) -> GroupRegistration {
        GroupRegistration {
            group: parameters(mgid, mlid),
            well_known: true,
            members: Vec::new(),
        }
    }

    fn mlids(groups: &Groups) -> Vec<u16> {
        groups.iter().map(|group| group.mlid().0).collect()
    }

    #[test]
    fn groups_of_partitions_that_are_gone_end_and_the_others_stay() {
        let mut groups = Groups::default();
        for mgid in 1..4 {
            let created = groups.ensure_static(parameters(mgid, 0));
            assert_eq!(created, Some(GroupChange::Created(gid(mgid))));
        }
        let asked = BTreeSet::from([gid(1), gid(3)]);
        let gone = vec![GroupChange::Deleted(gid(2))];
        assert_eq!(groups.retain_static(&asked), gone);
        assert_eq!(groups.retain_static(&asked), vec![]);
        let left: Vec<Gid> = groups.iter().map(Group::mgid).collect();
        assert_eq!(left, [gid(1), gid(3)]);
    }

    #[test]
    fn a_restored_group_has_its_lid_unless_another_group_has_it() {
        let mut groups = Groups::default();
        assert!(groups.restore(&[kept(1, 0xc000), kept(2, 0xc001)]));
        assert!(!groups.restore(&[kept(3, 0xc001)]), "the LID is taken");
        assert!(!groups.restore(&[kept(2, 0xc005)]), "the group is there");
        assert_eq!(mlids(&groups), [0xc000, 0xc001]);
        // A group that is created now gets a LID that is free.
        groups.ensure_static(parameters(4, 0));
        assert_eq!(mlids(&groups), [0xc000, 0xc001, 0xc002]);
    }

    #[test]
    fn solicited_node_groups_that_shared_a_lid_share_it_after_a_restart() {
        let mut groups = Groups::default();
        let [first, second] = [1, 2].map(|node| SOLICITED_NODE | node);
        assert!(groups.restore(&[kept(first, 0xc000), kept(second, 0xc000)]));
        assert_eq!(mlids(&groups), [0xc000, 0xc000]);
        groups.settle();
        // The tree of the LID stays while one of them lives, but it may have lost members.
        groups.retain_static(&BTreeSet::from([gid(second)]));
        let changed: Vec<Gid> = groups.changed().map(Group::mgid).collect();
        assert_eq!(changed, [gid(second)]);
        assert_eq!(groups.abandoned().next(), None);
        groups.ensure_static(parameters(3, 0));
        assert_eq!(mlids(&groups), [0xc001, 0xc000]);
        groups.retain_static(&BTreeSet::from([gid(3)]));
        assert_eq!(groups.abandoned().collect::<Vec<_>>(), [Lid(0xc000)]);
    }
}
