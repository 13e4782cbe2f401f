//! An I/O unit as a whole: its controllers, their services, and its agent (IBA vol. 1, 16.3).

use alloc::{collections::BTreeMap, vec::Vec};

use ib_wire::Guid;

use super::{IoControllerProfile, IoUnitInfo, ServiceEntries, ServiceEntry};
use crate::{
    Attribute, ClassPortInfo, MadHeader, MadStatus, Method, MgmtClass, RespTime, StatusCode,
};

/// An entry of `controller_list`: a controller is present.
pub(super) const PRESENT: u8 = 1;
/// Services in one ServiceEntries.
pub(super) const BLOCK: usize = 4;

/// NoResponse: the controller does not respond; a slot without one says so too, as Linux's SRP target
/// does.
const NO_CONTROLLER: MadStatus = MadStatus(0x0100);

/// An I/O unit: what a walk of it finds, and what its agent answers from.
///
/// ```
/// use ib_mad::{IoController, IoControllerProfile, IoUnit, ServiceEntry};
/// use ib_wire::table::Text;
///
/// let mut service = ServiceEntry::default();
/// service.set_service_name(&Text::new("SRP.T10:0002C90300A1B2C3")).set_service_id(7);
/// let profile = IoControllerProfile::default();
/// let mut unit = IoUnit::default();
/// unit.insert(1, IoController { profile, services: vec![service] });
/// let target = unit.targets("SRP.T10:").next().expect("a target");
/// assert_eq!((target.slot, target.service_id), (1, 7));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoUnit {
    /// The unit's slots.
    pub info: IoUnitInfo,
    /// The controllers by their slots, which count from 1.
    pub controllers: BTreeMap<u8, IoController>,
}

/// A controller of an I/O unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoController {
    /// Description of the controller.
    pub profile: IoControllerProfile,
    /// Services that the controller offers.
    pub services: Vec<ServiceEntry>,
}

/// A service to connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoTarget<'a> {
    /// Slot of the controller.
    pub slot: u8,
    /// GUID of the controller.
    pub controller: Guid,
    /// Name of the service.
    pub name: &'a str,
    /// Service ID for the REQ.
    pub service_id: u64,
}

impl IoUnit {
    /// Puts a controller into a slot, and changes the lists and counts accordingly. Of more than 255
    /// services only those are listed; slot 0 does not exist.
    pub fn insert(&mut self, slot: u8, mut controller: IoController) {
        let Some(index) = slot.checked_sub(1) else {
            return;
        };
        let count = u8::try_from(controller.services.len()).unwrap_or(u8::MAX);
        controller.profile.set_service_entries(count);
        let (change, slots) = (self.info.change_id(), self.info.max_controllers());
        self.info
            .set_change_id(change.wrapping_add(1))
            .set_max_controllers(slots.max(slot));
        let _ = self.info.set_controller_list(usize::from(index), PRESENT);
        self.controllers.insert(slot, controller);
    }

    /// The services whose names begin with `prefix`, slot by slot.
    pub fn targets<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = IoTarget<'a>> {
        self.controllers
            .iter()
            .flat_map(move |(&slot, controller)| {
                let services = controller.services.iter();
                services.filter_map(move |service| {
                    let name = service.service_name().to_str()?;
                    name.starts_with(prefix).then(|| IoTarget {
                        slot,
                        controller: controller.profile.guid(),
                        name,
                        service_id: service.service_id(),
                    })
                })
            })
    }

    /// The device management agent: turns a request into its response. Returns whether there is one.
    pub fn respond(&self, bytes: &mut [u8; 256]) -> bool {
        let Ok((header, data)) = MadHeader::parse_mut(bytes, 0) else {
            return false;
        };
        let asks = matches!(header.method(), Method::GET | Method::SET);
        if header.mgmt_class() != MgmtClass::DEV_MGT || !asks {
            return false;
        }
        let status = match (header.base_version(), header.class_version()) {
            (1, 1) => self.answer(header, data),
            _ => MadStatus::BAD_VERSION,
        };
        header.set_method(Method::GET_RESP).set_status(status);
        true
    }

    /// Fills in the attribute that is asked for.
    fn answer(&self, header: &MadHeader, data: &mut [u8]) -> MadStatus {
        let modifier = header.attribute_modifier();
        let slot = |bits: u32| u8::try_from(bits).ok();
        if header.method() != Method::GET {
            return MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE;
        }
        match header.attribute_id() {
            ClassPortInfo::ID => {
                let mut info = ClassPortInfo::default();
                info.set_base_version(1)
                    .set_class_version(1)
                    .set_resp_time_value(RespTime::from_bits(18));
                put(data, info.as_bytes())
            }
            IoUnitInfo::ID => put(data, self.info.as_bytes()),
            IoControllerProfile::ID => match self.controller(slot(modifier)) {
                Ok(controller) => put(data, controller.profile.as_bytes()),
                Err(status) => status,
            },
            ServiceEntries::ID => match self.controller(slot(modifier >> 16)) {
                Ok(controller) => controller.block(modifier, data),
                Err(status) => status,
            },
            _ => MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE,
        }
    }

    fn controller(&self, slot: Option<u8>) -> Result<&IoController, MadStatus> {
        match slot {
            Some(slot) if (1..=self.info.max_controllers()).contains(&slot) => {
                self.controllers.get(&slot).ok_or(NO_CONTROLLER)
            }
            _ => Err(MadStatus::from_code(StatusCode::INVALID_FIELD_VALUE)),
        }
    }
}

impl IoController {
    /// The services that a modifier of ServiceEntries names: last in bits 15..8, first in bits 7..0.
    fn block(&self, modifier: u32, data: &mut [u8]) -> MadStatus {
        let [_, _, last, first] = modifier.to_be_bytes();
        let range = usize::from(first)..=usize::from(last);
        let block = self.services.get(range);
        let Some(services) = block.filter(|all| (1..=BLOCK).contains(&all.len())) else {
            return MadStatus::INVALID_FIELD_VALUE;
        };
        let mut block = ServiceEntries::default();
        for (index, service) in services.iter().enumerate() {
            let _ = block.set_service_entry(index, service);
        }
        put(data, block.as_bytes())
    }
}

/// Writes an attribute after the class header.
fn put(data: &mut [u8], attribute: &[u8]) -> MadStatus {
    let at = MgmtClass::DEV_MGT
        .data_offset()
        .saturating_sub(MadHeader::LEN);
    let room = data.get_mut(at..).unwrap_or_default();
    for (to, from) in room.iter_mut().zip(attribute) {
        *to = *from;
    }
    MadStatus::OK
}
