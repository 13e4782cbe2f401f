//! Redirection: requests that another port's administrator answers (IBA vol. 1, 13.5.2).
//!
//! A client that gets the status asks the port in the ClassPortInfo that comes with it. Which port that is the host
//! says ([`SmConfig::sa_redirect`](crate::SmConfig::sa_redirect)): a process there keeps a copy of the subnet. Its own
//! requests are answered here, so that it can make the copy.

use ib_mad::{Attribute as _, ClassPortInfo, Mad, MadStatus};
use ib_wire::{Gid, PKey, QKey, Qpn, table::padded};

use super::{RequestContext, View, answer::reply, requests::own_class_port_info};

/// The answer that sends the requester to the other port; `None` for requests that are answered here. The
/// ClassPortInfo itself is: it names the other port too.
pub(super) fn of(context: RequestContext<'_>) -> Option<Mad> {
    let RequestContext {
        request, view, mad, ..
    } = context;
    let lid = view.config.sa_redirect?;
    if lid == mad.address.lid || request.attribute_id() == ClassPortInfo::ID {
        return None;
    }
    let mut response = request.refuse(MadStatus::REDIRECT);
    response.set_data(&padded(own_class_port_info(view).as_bytes()));
    Some(reply(mad, &response))
}

/// Names the other port in a ClassPortInfo, if there is one.
pub(super) fn name(view: View<'_>, info: &mut ClassPortInfo) {
    let Some(lid) = view.config.sa_redirect else {
        return;
    };
    let port = view.port_with(lid).and_then(|port| view.subnet.port(port));
    info.set_redirect_lid(lid)
        .set_redirect_gid(port.map_or(Gid::default(), |port| view.gid(port)))
        .set_redirect_sl(view.config.sm_sl)
        .set_redirect_p_key(PKey::DEFAULT_FULL)
        .set_redirect_qp(Qpn::GSI)
        .set_redirect_q_key(QKey::GSI);
}
