//! MultiPathRecord: paths between two sets of ports at once (IBA vol. 1, 15.2.5.20).
//!
//! The request arrives in segments, because it may hold many GIDs. The answer is sent in segments too: a table of
//! PathRecords under the method GetMultiResp.

use alloc::vec::Vec;

use ib_mad::SaStatus;
use ib_sa::{ComponentMask, MultiPathComponents, MultiPathQuery, PathComponents, PathRecord};

use super::{
    View,
    path::{MAX_PATHS, between},
};

/// The paths from every source to every destination, at most `numb_path` altogether.
pub(super) fn paths(
    view: View<'_>,
    query: MultiPathQuery<'_>,
    mask: ComponentMask,
) -> Result<Vec<PathRecord>, SaStatus> {
    use MultiPathComponents as C;
    let given = MultiPathComponents::from_bits_retain(mask.0);
    if !given.contains(C::SGID_COUNT | C::DGID_COUNT) {
        return Err(SaStatus::REQ_INSUFFICIENT_COMPONENTS);
    }
    let (sources, destinations) = (query.record.sgid_count(), query.record.dgid_count());
    if sources == 0 || destinations == 0 {
        return Err(SaStatus::REQ_INVALID);
    }
    let known = |gid| view.port_of(gid).is_some();
    if !query.sources().chain(query.destinations()).all(known) {
        return Err(SaStatus::REQ_INVALID_GID);
    }
    let most = match given.contains(C::NUMB_PATH) {
        true => usize::from(query.record.numb_path()),
        false => MAX_PATHS,
    };
    let (template, asked) = single(query.record, given);
    let mut found = Vec::new();
    'all: for source in query.sources() {
        for destination in query.destinations() {
            let room = most.saturating_sub(found.len());
            if room == 0 {
                break 'all;
            }
            let paths = between(view, source, destination, &template, asked);
            found.extend(paths.into_iter().take(room));
        }
    }
    Ok(found)
}

/// The same conditions as a template for paths between two ports.
fn single(
    record: &ib_sa::MultiPathRecord,
    given: MultiPathComponents,
) -> (PathRecord, PathComponents) {
    use {MultiPathComponents as Many, PathComponents as One};
    let mut template = PathRecord::default();
    template
        .set_reversible(record.reversible())
        .set_p_key(record.p_key())
        .set_sl(record.sl())
        .set_tclass(record.tclass())
        .set_flow_label(record.flow_label())
        .set_mtu_selector(record.mtu_selector())
        .set_mtu(record.mtu())
        .set_rate_selector(record.rate_selector())
        .set_rate(record.rate())
        .set_packet_life_time_selector(record.packet_life_time_selector())
        .set_packet_life_time(record.packet_life_time());
    let same = [
        (Many::REVERSIBLE, One::REVERSIBLE),
        (Many::P_KEY, One::P_KEY),
        (Many::SL, One::SL),
        (Many::TCLASS, One::TCLASS),
        (Many::FLOW_LABEL, One::FLOW_LABEL),
        (Many::MTU_SELECTOR, One::MTU_SELECTOR),
        (Many::MTU, One::MTU),
        (Many::RATE_SELECTOR, One::RATE_SELECTOR),
        (Many::RATE, One::RATE),
        (
            Many::PACKET_LIFE_TIME_SELECTOR,
            One::PACKET_LIFE_TIME_SELECTOR,
        ),
        (Many::PACKET_LIFE_TIME, One::PACKET_LIFE_TIME),
    ];
    let asked = same.into_iter().filter(|(many, _)| given.contains(*many));
    (template, asked.map(|(_, one)| one).collect())
}
