//! Device management: the controllers and services of an I/O unit (IBA vol. 1, 16.3).
//!
//! A host walks from the unit to its controllers and from them to the services to connect to.

#[cfg(all(test, feature = "alloc"))]
mod tests;
#[cfg(feature = "alloc")]
mod unit;
#[cfg(feature = "alloc")]
mod walk;

use bitflags::bitflags;
use ib_wire::{Guid, flags_value, table::Layout, wire_struct};

#[cfg(feature = "alloc")]
pub use self::{
    unit::{IoController, IoTarget, IoUnit},
    walk::{IoUnitWalk, WalkError, WalkReport},
};
use crate::{Attribute, AttributeId};

wire_struct! {
    /// The slots of an I/O unit that hold controllers.
    ///
    /// Source: IBA vol. 1, 16.3.3; `attributes.csv`, struct `IOUnitInfo`.
    pub struct IoUnitInfo("IOUnitInfo", 132 bytes) {
        /// Changes whenever the profile changes.
        change_id,       set_change_id:       u16       = 0, 16;
        /// Slots for controllers.
        max_controllers, set_max_controllers: u8        = 16, 8;
        #[doc(hidden)]
        reserved1,       set_reserved1:       u8        = 24, 6;
        /// The diagnostic attributes take a device ID, not a slot.
        diag_device_id,  set_diag_device_id:  bool      = 30, 1;
        /// There is an option ROM.
        option_rom,      set_option_rom:      bool      = 31, 1;
        /// Contents of each slot, slot 1 first: 0 nothing, 1 a controller, 15 no such slot.
        controller_list, set_controller_list: [u8; 256] = 32, 1024;
    }
}

impl Attribute for IoUnitInfo {
    const ID: AttributeId = AttributeId(0x0010);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Description of an I/O controller. The modifier is its slot.
    ///
    /// Source: IBA vol. 1, 16.3.3; `attributes.csv`, struct `IOControllerProfile`.
    pub struct IoControllerProfile("IOControllerProfile", 128 bytes) {
        /// GUID of the controller.
        guid,                       set_guid:                       Guid                 = 0, 64;
        /// OUI of the vendor.
        vendor_id,                  set_vendor_id:                  u32                  = 64, 24;
        #[doc(hidden)]
        reserved1,                  set_reserved1:                  u8                   = 88, 8;
        /// The vendor's number of the device.
        device_id,                  set_device_id:                  u32                  = 96, 32;
        /// Version of the device.
        device_version,             set_device_version:             u16                  = 128, 16;
        #[doc(hidden)]
        reserved2,                  set_reserved2:                  u16                  = 144, 16;
        /// OUI of the vendor of the enclosure.
        subsystem_vendor_id,        set_subsystem_vendor_id:        u32                  = 160, 24;
        #[doc(hidden)]
        reserved3,                  set_reserved3:                  u8                   = 184, 8;
        /// Subsystem number of that vendor.
        subsystem_id,               set_subsystem_id:               u32                  = 192, 32;
        /// Class of I/O.
        io_class,                   set_io_class:                   u16                  = 224, 16;
        /// Subclass of I/O.
        io_subclass,                set_io_subclass:                u16                  = 240, 16;
        /// Protocol of I/O.
        protocol,                   set_protocol:                   u16                  = 256, 16;
        /// Version of that protocol.
        protocol_version,           set_protocol_version:           u16                  = 272, 16;
        #[doc(hidden)]
        reserved4,                  set_reserved4:                  u16                  = 288, 16;
        #[doc(hidden)]
        reserved5,                  set_reserved5:                  u16                  = 304, 16;
        /// Messages that the controller can queue.
        send_message_depth,         set_send_message_depth:         u16                  = 320, 16;
        #[doc(hidden)]
        reserved6,                  set_reserved6:                  u8                   = 336, 8;
        /// RDMA reads that the controller can have outstanding.
        rdma_read_depth,            set_rdma_read_depth:            u8                   = 344, 8;
        /// Longest message in bytes.
        send_message_size,          set_send_message_size:          u32                  = 352, 32;
        /// Longest RDMA transfer in bytes.
        rdma_transfer_size,         set_rdma_transfer_size:         u32                  = 384, 32;
        /// Operations that the controller takes part in.
        controller_operations_mask, set_controller_operations_mask: ControllerOperations = 416, 8;
        #[doc(hidden)]
        reserved7,                  set_reserved7:                  u8                   = 424, 8;
        /// Services of the controller.
        service_entries,            set_service_entries:            u8                   = 432, 8;
        #[doc(hidden)]
        reserved8,                  set_reserved8:                  u8                   = 440, 8;
        #[doc(hidden)]
        reserved9,                  set_reserved9:                  u64                  = 448, 64;
        /// Name of the controller.
        id_string,                  set_id_string:                  [text; 64]           = 512, 512;
    }
}

impl Attribute for IoControllerProfile {
    const ID: AttributeId = AttributeId(0x0011);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Four services of a controller. The modifier has the slot in its high half, then the last and the
    /// first entry in a byte each.
    ///
    /// Source: IBA vol. 1, 16.3.3; `attributes.csv`, struct `ServiceEntries`.
    pub struct ServiceEntries("ServiceEntries", 192 bytes) {
        /// Four services; the modifier says which.
        service_entry, set_service_entry: [ServiceEntry; 4] = 0, 1536;
    }
}

impl Attribute for ServiceEntries {
    const ID: AttributeId = AttributeId(0x0012);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// One service of a controller.
    ///
    /// Source: IBA vol. 1, 16.3.3; `attributes.csv`, struct `ServiceEntry`.
    pub struct ServiceEntry("ServiceEntry", 48 bytes) {
        /// Name of the service.
        service_name, set_service_name: [text; 40] = 0, 320;
        /// Service ID to connect to.
        service_id,   set_service_id:   u64        = 320, 64;
    }
}

wire_struct! {
    /// Time that a diagnosis takes at most.
    ///
    /// Source: IBA vol. 1, 16.3.3; `attributes.csv`, struct `DiagnosticTimeout`.
    pub struct DiagnosticTimeout("DiagnosticTimeout", 4 bytes) {
        /// Longest time of a diagnosis in milliseconds.
        max_diag_time, set_max_diag_time: u32 = 0, 32;
    }
}

impl Attribute for DiagnosticTimeout {
    const ID: AttributeId = AttributeId(0x0020);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Result of the latest diagnosis.
    ///
    /// Source: IBA vol. 1, 16.3.3; `attributes.csv`, struct `DiagCode`.
    pub struct DiagCode("DiagCode", 4 bytes) {
        /// Result of the last diagnosis; 0: good.
        diag_code, set_diag_code: u16 = 0, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: u16 = 16, 16;
    }
}

impl Attribute for DiagCode {
    const ID: AttributeId = AttributeId(0x0024);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

bitflags! {
    /// Operations that a controller takes part in (`controller_operations_mask`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ControllerOperations: u8 {
        /// `SendTo`.
        const SEND_TO = 1 << 0;
        /// `SendFrom`.
        const SEND_FROM = 1 << 1;
        /// `RDMAReadTo`.
        const RDMA_READ_TO = 1 << 2;
        /// `RDMAReadFrom`.
        const RDMA_READ_FROM = 1 << 3;
        /// `RDMAWriteTo`.
        const RDMA_WRITE_TO = 1 << 4;
        /// `RDMAWriteFrom`.
        const RDMA_WRITE_FROM = 1 << 5;
        /// `AtomicOperationsTo`.
        const ATOMIC_OPERATIONS_TO = 1 << 6;
        /// `AtomicOperationsFrom`.
        const ATOMIC_OPERATIONS_FROM = 1 << 7;
        const _ = !0;
    }
}

flags_value!(ControllerOperations: u8);
