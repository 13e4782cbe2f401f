//! SMInfoRecord: a subnet manager of the subnet (IBA vol. 1, 15.2.5.10).

use ib_mad::{Attribute, AttributeId};
use ib_smp::SmInfo;
use ib_wire::{Lid, table::Layout, wire_struct};

use crate::{Record, components};

wire_struct! {
    /// A subnet manager of the subnet.
    ///
    /// Source: IBA vol. 1, 15.2.5.10; `attributes.csv`, struct `SMInfoRecord`.
    pub struct SmInfoRecord("SMInfoRecord", 28 bytes) {
        /// LID of the port that the record is about.
        lid, set_lid: Lid = 0, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: u16 = 16, 16;
        /// SMInfo of the manager on the port.
        sm_info, set_sm_info: SmInfo = 32, 192;
    }
}

impl Attribute for SmInfoRecord {
    const ID: AttributeId = AttributeId(0x0018);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`SmInfoRecord`] that a query compares.
    pub struct SmInfoComponents for SmInfoRecord {
        LID = 0 => "lid",
        RESERVED1 = 1 => "reserved1",
        GUID = 2 => "sm_info.guid",
        SM_KEY = 3 => "sm_info.sm_key",
        ACT_COUNT = 4 => "sm_info.act_count",
        PRIORITY = 5 => "sm_info.priority",
        SM_STATE = 6 => "sm_info.sm_state",
    }
}

impl Record for SmInfoRecord {
    type Components = SmInfoComponents;
}
