//! SMInfo: state and rank of a subnet manager (IBA vol. 1, 14.2.5.13).
//!
//! Get reads it. A Set is a control packet of the election: its modifier is the order
//! ([`SmControl`]), its data the sender's own SMInfo.

use ib_mad::{Attribute, AttributeId, SmKey};
use ib_wire::{Guid, code_points, table::Layout, wire_struct};

code_points! {
    /// State of a subnet manager.
    pub struct SmState(u8) {
        /// Takes no part in the election until another manager sends it to STANDBY.
        NOT_ACTIVE  = 0 => "NotActive",
        /// Sweeps the subnet to find out who is there.
        DISCOVERING = 1 => "Discovering",
        /// Polls the master.
        STANDBY     = 2 => "Standby",
        /// Configures the subnet.
        MASTER      = 3 => "Master",
    }
}

code_points! {
    /// Order of one subnet manager to another: the attribute modifier of Set(SMInfo).
    pub struct SmControl(u32) {
        /// The master gives the subnet to a standby.
        HANDOVER    = 1 => "HANDOVER",
        /// The new master took it.
        ACKNOWLEDGE = 2 => "ACKNOWLEDGE",
        /// A standby is to become not active.
        DISABLE     = 3 => "DISABLE",
        /// One that is not active is to become standby.
        STANDBY     = 4 => "STANDBY",
        /// A standby is to discover the subnet.
        DISCOVER    = 5 => "DISCOVER",
    }
}

wire_struct! {
    /// Identity and state of a subnet manager.
    ///
    /// Source: IBA vol. 1, 14.2.5.13; `attributes.csv`, struct `SMInfo`.
    pub struct SmInfo("SMInfo", 24 bytes) {
        /// GUID of the port that it sits on.
        guid, set_guid: Guid = 0, 64;
        /// Key that managers of one subnet share; 0 if there is none or it is hidden.
        sm_key, set_sm_key: SmKey = 64, 64;
        /// Rises while the manager works: if it no longer rises, the manager is dead.
        act_count, set_act_count: u32 = 128, 32;
        /// Rank in the election: 15 wins.
        priority, set_priority: u8 = 160, 4;
        /// State in the election.
        sm_state, set_sm_state: SmState = 164, 4;
        #[doc(hidden)]
        reserved1, set_reserved1: u32 = 168, 24;
    }
}

impl SmInfo {
    /// Returns true if this manager ranks above `other`: higher priority, then lower GUID.
    #[must_use]
    pub fn is_higher_than(&self, other: &Self) -> bool {
        (self.priority(), other.guid()) > (other.priority(), self.guid())
    }
}

impl Attribute for SmInfo {
    const ID: AttributeId = AttributeId(0x0020);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}
