//! Parameters of multicast groups: P_Key, Q_Key, MTU, rate, service level and the MGID itself
//! (IBA vol. 1, 10.5 and 15.2.5.17).
//!
//! A join creates a group with the parameters of its request; the parameters of a later join must match.
//! Partitions define groups as well, such as IPoIB's broadcast group.

use core::ops::RangeInclusive;

use ib_mad::SaStatus;
use ib_sa::{McMemberComponents, McMemberRecord, Record, Selector};
use ib_wire::{Gid, GidPrefix, MulticastScope, PKey, QKey, Rate};

use super::{Candidate, FULL};
use crate::sa::rates;
use ib_subnet::SubnetPort;

use crate::{
    SmConfig,
    partition::{GroupOptions, Partition},
};

/// First 16 bits after `FF1s` of the MGID of a group that the administrator names itself: 0xA01B.
const OWN_SIGNATURE: u16 = 0xa01b;
/// First 16 bits after `FF1s` of the MGID of IPoIB's groups, by IP version.
const IPOIB_SIGNATURES: [u16; 2] = [0x401b, 0x601b];

/// The parameters of a group that a join creates: those of the request, otherwise those of the port. `own_mgid`
/// supplies the MGID for a scope if the request leaves it to the administrator.
pub(super) fn of_new_group(
    config: &SmConfig,
    candidate: Candidate<'_>,
    wanted: &McMemberRecord,
    given: McMemberComponents,
    own_mgid: impl FnOnce(u8) -> Gid,
) -> Result<McMemberRecord, SaStatus> {
    use McMemberComponents as C;
    if !given.contains(C::Q_KEY | C::P_KEY | C::SL | C::FLOW_LABEL | C::TCLASS) {
        return Err(SaStatus::REQ_INSUFFICIENT_COMPONENTS);
    }
    if !wanted.join_state().intersects(FULL) || !candidate.port.has_p_key(wanted.p_key()) {
        return Err(SaStatus::REQ_INVALID);
    }
    let scope = match given.contains(C::SCOPE) {
        true => wanted.scope().0,
        false => 2,
    };
    let mgid = match wanted.mgid() {
        mgid if mgid.bits() == 0 => own_mgid(scope),
        mgid if may_be_created(config, mgid, wanted.p_key()) => mgid,
        _ => return Err(SaStatus::REQ_INVALID),
    };
    let info = candidate.port.info().ok_or(SaStatus::REQ_INVALID_GID)?;
    let (mtu, speed) = (info.neighbor_mtu(), info.rate().unwrap_or(Rate::GBPS_10));
    // A value without its selector is ignored: the creator's port decides, as with OpenSM 3.3.23.
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
        .set_rate(rates::reduced(config, speed))
        .set_packet_life_time_selector(Selector::EXACTLY)
        .set_packet_life_time(life)
        .set_sl(wanted.sl())
        .set_flow_label(wanted.flow_label())
        .set_hop_limit(wanted.hop_limit())
        .set_scope(MulticastScope((mgid.bits() >> 112) as u8 & 0xf));
    Ok(parameters)
}

/// Returns true if a port may join a group with the parameters of its request.
pub(super) fn fits(
    config: &SmConfig,
    parameters: &McMemberRecord,
    port: &SubnetPort,
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
    let same =
        !config.mcgroup_join_validation || parameters.matches(wanted, (given & compared).into());
    let info = port.info().ok_or(SaStatus::REQ_INVALID_GID)?;
    let (mtu, speed) = (parameters.mtu(), parameters.rate());
    let can = info.mtu_cap() >= mtu
        && info
            .rate()
            .is_none_or(|rate| rate.cmp_rate(speed).is_none_or(|order| order.is_ge()));
    match same && can && port.has_p_key(parameters.p_key()) {
        true => Ok(()),
        false => Err(SaStatus::REQ_INVALID),
    }
}

/// A value without a selector means exactly that value.
fn selector(given: McMemberComponents, bit: McMemberComponents, selector: Selector) -> Selector {
    match given.contains(bit) {
        true => selector,
        false => Selector::EXACTLY,
    }
}

/// The MGID of a group whose creator leaves it to the administrator: `FF1s:A01B`, the prefix, a count.
pub(super) fn own_mgid(scope: u8, prefix: GidPrefix, count: u32) -> Gid {
    let head = 0xff10 | u128::from(scope & 0xf);
    let bits = head << 112
        | u128::from(OWN_SIGNATURE) << 96
        | u128::from(prefix.0) << 32
        | u128::from(count);
    Gid(bits.to_be_bytes())
}

/// Returns true if a host may create a group with this MGID: a multicast GID with a scope. Scope 0xF is reserved but
/// allowed, as with OpenSM 3.3.23; of the flags only the lowest is defined, and the others must be 0. The MGIDs that the administrator assigns are refused, and those of IPoIB must
/// carry the group's P_Key.
fn may_be_created(config: &SmConfig, mgid: Gid, p_key: PKey) -> bool {
    let [_, flags_and_scope, high, low, key @ ..] = mgid.0;
    let signature = u16::from_be_bytes([high, low]);
    let (flags, scope) = (flags_and_scope >> 4, flags_and_scope & 0xf);
    if !mgid.is_multicast() || flags > 1 || scope == 0 || signature == OWN_SIGNATURE {
        return false;
    }
    let ipoib = IPOIB_SIGNATURES.contains(&signature);
    let [high, low, ..] = key;
    !ipoib
        || !config.ipoib_mcgroup_creation_validation
        || u16::from_be_bytes([high, low]) == p_key.0 | 0x8000
}

/// The names of all IPv6 solicited-node groups of the scope and partition of `mgid`, if it is one:
/// `FF1s:601B:pppp::1:FFxx:xxxx` (RFC 4391, 4, and RFC 4291, 2.7.1).
pub(super) fn solicited_node_range(mgid: Gid) -> Option<RangeInclusive<Gid>> {
    const FIXED: u128 = 0xfff0_ffff_0000_ffff_ffff_ffff_ff00_0000;
    const SOLICITED_NODE: u128 = 0xff10_601b_0000_0000_0000_0001_ff00_0000;
    const NODE: u128 = 0x00ff_ffff;
    let bits = mgid.bits();
    let gid = |bits: u128| Gid(bits.to_be_bytes());
    (bits & FIXED == SOLICITED_NODE).then(|| gid(bits & !NODE)..=gid(bits | NODE))
}

/// The groups that a partition defines: IPoIB's broadcast group (RFC 4391, 4: `FF1s:401B:pppp::FFFF:FFFF`), and
/// those of its rules.
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
