//! Communication management (IBA vol. 1, chapter 12) of a node without services: a request for a connection is rejected,
//! a service ID is not resolved.

use ib_cm::{
    CmCapabilities, CmMessage, CommunicationMgmtMad, Rej, RejReason, Req, SidrRep, SidrReq,
    SidrStatus,
};
use ib_mad::{Attribute, ClassPortInfo, Mad};

use super::{AgentRequest, AgentResult, Refusal};

pub(super) fn answer_class_port_info(request: &mut AgentRequest<'_>) -> AgentResult {
    let capabilities = CmCapabilities::IS_RELIABLE_CONNECTION_CAPABLE
        | CmCapabilities::IS_UNRELIABLE_CONNECTION_CAPABLE
        | CmCapabilities::IS_SERVICE_ID_RESOLUTION_CAPABLE;
    match request.id {
        ClassPortInfo::ID => request.class_port_info(capabilities.bits()),
        _ => Err(Refusal::UNSUPPORTED),
    }
}

/// Turns a message into its answer; `false` if it has none. Both are Sends.
pub(super) fn answer(mad: &mut Mad) -> bool {
    let Ok((message, _)) = CommunicationMgmtMad::parse(&mad.bytes[..], 0) else {
        return false;
    };
    let data = *message.data();
    match message.attribute_id() {
        Req::ID => {
            let Ok((request, _)) = Req::parse(&data[..], 0) else {
                return false;
            };
            let mut rej = Rej::default();
            rej.set_remote_communication_id(request.local_communication_id())
                .set_message_rejected(CmMessage::REQ)
                .set_reason(RejReason::INVALID_SERVICE_ID);
            mad.set_attribute(&rej);
        }
        SidrReq::ID => {
            let Ok((request, _)) = SidrReq::parse(&data[..], 0) else {
                return false;
            };
            let mut rep = SidrRep::default();
            rep.set_request_id(request.request_id())
                .set_service_id(request.service_id())
                .set_status(SidrStatus::SERVICE_NOT_SUPPORTED);
            mad.set_attribute(&rep);
        }
        _ => return false,
    }
    true
}
