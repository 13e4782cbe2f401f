//! The manager's answer about itself: Get(ClassPortInfo), the one request of the class that is not a
//! message of a connection (IBA vol. 1, 16.7.3.1).

use super::{CLASS_VERSION, CommunicationManager};
use crate::CmCapabilities;
use ib_mad::{Attribute, ClassCapabilities, ClassPortInfo, Mad, MadStatus, Method, RespTime};

/// The connections that this manager sets up: all but channels of reliable and raw datagrams.
const CAPABILITIES: CmCapabilities = CmCapabilities::IS_RELIABLE_CONNECTION_CAPABLE
    .union(CmCapabilities::IS_UNRELIABLE_CONNECTION_CAPABLE)
    .union(CmCapabilities::IS_SERVICE_ID_RESOLUTION_CAPABLE);

/// Longest time until an answer leaves, if the host drains its transmissions: 8.4 ms.
const RESPONSE_TIME: RespTime = RespTime::from_bits(11);

impl CommunicationManager {
    /// Answers a Get or a Set. Nothing here can be set, and nothing else be got.
    pub(super) fn handle_request(&mut self, mad: &Mad) {
        let header = mad.header();
        let mut answer = Mad::new(mad.address);
        *answer.header_mut() = header;
        let status = match (header.base_version(), header.class_version()) {
            (1, CLASS_VERSION) => match (header.method(), header.attribute_id()) {
                (Method::GET, ClassPortInfo::ID) => {
                    answer.set_attribute(&class_port_info());
                    MadStatus::OK
                }
                _ => MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE,
            },
            _ => MadStatus::BAD_VERSION,
        };
        answer
            .header_mut()
            .set_method(Method::GET_RESP)
            .set_status(status);
        self.outbox.reply(answer);
    }
}

fn class_port_info() -> ClassPortInfo {
    let mut info = ClassPortInfo::default();
    info.set_base_version(1)
        .set_class_version(CLASS_VERSION)
        .set_capability_mask(ClassCapabilities::from_bits_retain(CAPABILITIES.bits()))
        .set_resp_time_value(RESPONSE_TIME);
    info
}
