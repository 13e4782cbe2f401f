//! Redirection: where a responder wants to be asked instead (IBA vol. 1, 13.5.2).

use crate::{ClassPortInfo, Mad, MadAddress};

/// The address in the ClassPortInfo of a redirecting answer; `None` if it names no unicast LID, so
/// that a path query must find one.
///
/// The P_Key stays the one of the request: which index the new one has, only the port knows.
#[must_use]
pub fn redirect_address(mad: &Mad) -> Option<MadAddress> {
    let at = mad.header().mgmt_class().data_offset();
    let (info, _) = ClassPortInfo::parse(mad.bytes.get(at..)?, at).ok()?;
    let lid = info.redirect_lid();
    lid.is_unicast().then(|| MadAddress {
        lid,
        qpn: info.redirect_qp(),
        qkey: info.redirect_q_key(),
        sl: info.redirect_sl(),
        grh: None,
        ..mad.address
    })
}
