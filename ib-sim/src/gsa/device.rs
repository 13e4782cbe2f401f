//! Device management (IBA vol. 1, 16.3): every node is an I/O unit without slots, so it has no controllers and no services.

use ib_mad::{Attribute, ClassPortInfo, IoControllerProfile, IoUnitInfo, ServiceEntries};

use super::{AgentRequest, AgentResult, Refusal};

/// An entry of IOUnitInfo's list: there is no such slot.
const NO_SLOT: u8 = 15;

pub(super) fn answer(request: &mut AgentRequest<'_>) -> AgentResult {
    match request.id {
        ClassPortInfo::ID => request.class_port_info(0),
        IoUnitInfo::ID => {
            let mut info = IoUnitInfo::default();
            for slot in 0..256 {
                info.set_controller_list(slot, NO_SLOT);
            }
            request.fixed(&info)
        }
        IoControllerProfile::ID | ServiceEntries::ID => Err(Refusal::BAD_MODIFIER),
        _ => Err(Refusal::UNSUPPORTED),
    }
}
