//! Baseboard management (IBA vol. 1, 16.2): the key. No module has an IB-ML bus, so commands have no answer.

use ib_mad::{Attribute, BKeyInfo, ClassPortInfo};

use super::{AgentRequest, AgentResult, Refusal};

pub(super) fn answer(request: &mut AgentRequest<'_>) -> AgentResult {
    request.check_key(BKeyInfo::ID)?;
    match request.id {
        ClassPortInfo::ID => request.class_port_info(0),
        BKeyInfo::ID => {
            request.modifier_below(1)?;
            request.key_info(&BKeyInfo::default())
        }
        _ => Err(Refusal::UNSUPPORTED),
    }
}
