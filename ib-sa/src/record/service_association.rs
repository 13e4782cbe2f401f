//! ServiceAssociationRecord: service names by service key (IBA vol. 1, 15.2.5.15).

use ib_mad::{Attribute, AttributeId};
use ib_wire::{table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// Service names by service key.
    ///
    /// Source: IBA vol. 1, 15.2.5.15; `attributes.csv`, struct `ServiceAssociationRecord`.
    pub struct ServiceAssociationRecord("ServiceAssociationRecord", 80 bytes) {
        /// Key that guards the record against others.
        service_key, set_service_key: [secret; 16] = 0, 128;
        /// Name of the service: UTF-8, ends at the first NUL.
        service_name, set_service_name: [text; 64] = 128, 512;
    }
}

impl Attribute for ServiceAssociationRecord {
    const ID: AttributeId = AttributeId(0x003B);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`ServiceAssociationRecord`] that a query compares.
    pub struct ServiceAssociationComponents for ServiceAssociationRecord {
        SERVICE_KEY = 0 => "service_key",
        SERVICE_NAME = 1 => "service_name",
    }
}

impl Record for ServiceAssociationRecord {
    type Components = ServiceAssociationComponents;
}
