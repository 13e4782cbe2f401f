//! Mellanox's attributes by which tools reach into a device: its configuration space, its registers and
//! the semaphores that keep two tools apart.
//!
//! Vendor attributes, as mstflint sends them where a device answers to SMPs alone. Over the vendor's
//! own class the same exist with more room, in `ib-mad`.

use ib_mad::{Attribute, AttributeId, MlnxConfigSpaceRecord, MlnxOperationTlv, MlnxRegisterTlv};
use ib_wire::{MKey, code_points, table::Layout, wire_struct};

wire_struct! {
    /// Words of configuration space; the modifier is a
    /// [`MlnxConfigSpaceModifier`](ib_mad::MlnxConfigSpaceModifier).
    ///
    /// Source: mstflint; `attributes.csv`, struct `MlnxConfigSpaceSMP`.
    pub struct MlnxConfigSpaceSmp("MlnxConfigSpaceSMP", 64 bytes) {
        /// The M_Key once more, or 0.
        m_key, set_m_key: MKey      = 0, 64;
        /// The words in mode 0; in mode 2 the records lie here.
        data,  set_data:  [u32; 14] = 64, 448;
    }
}

impl MlnxConfigSpaceSmp {
    /// The records of mode 2, of which the modifier counts those in use.
    #[must_use]
    pub fn records(&self) -> &[MlnxConfigSpaceRecord] {
        let [_, _, _, _, _, _, _, _, data @ ..] = self.as_bytes();
        MlnxConfigSpaceRecord::all_of(data)
    }
}

impl Attribute for MlnxConfigSpaceSmp {
    const ID: AttributeId = AttributeId(0xff50);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

wire_struct! {
    /// Access to a register of up to 44 bytes. The method of the SMP is Set, also to read.
    ///
    /// Source: mstflint; `attributes.csv`, struct `MlnxRegisterAccessSMP`.
    pub struct MlnxRegisterAccessSmp("MlnxRegisterAccessSMP", 64 bytes) {
        /// The register and the kind of access.
        operation, set_operation: MlnxOperationTlv = 0, 128;
        /// Header of the content.
        register,  set_register:  MlnxRegisterTlv  = 128, 32;
        /// Content of the register, in the layout of its number.
        data,      set_data:      [secret; 44]     = 160, 352;
    }
}

impl Attribute for MlnxRegisterAccessSmp {
    const ID: AttributeId = AttributeId(0xff52);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

code_points! {
    /// Operation on a semaphore.
    ///
    /// Source: mstflint; `enums.csv`, enum `MLNX_SEMAPHORE_OP`.
    pub struct MlnxSemaphoreOp(u8) {
        LOCK    = 1 => "Lock",
        EXTEND  = 2 => "Extend",
        RELEASE = 3 => "Release",
    }
}

wire_struct! {
    /// A semaphore of a device, taken for a time.
    ///
    /// Source: mstflint; `attributes.csv`, struct `MlnxSemaphoreLock`.
    pub struct MlnxSemaphoreLock("MlnxSemaphoreLock", 64 bytes) {
        /// The lock ends by itself unless it is extended.
        is_lease,              set_is_lease:              bool            = 0, 1;
        #[doc(hidden)]
        reserved1,             set_reserved1:             u8              = 1, 7;
        /// Time that a lease lasts, as a power of two.
        lease_time_exponent,   set_lease_time_exponent:   u8              = 8, 8;
        #[doc(hidden)]
        reserved2,             set_reserved2:             u8              = 16, 8;
        /// Last semaphore of the device; 0: it has none.
        semaphore_max_address, set_semaphore_max_address: u8              = 24, 8;
        #[doc(hidden)]
        reserved3,             set_reserved3:             u16             = 32, 14;
        /// Operation.
        op,                    set_op:                    MlnxSemaphoreOp = 46, 2;
        /// Address of the semaphore.
        semaphore_address,     set_semaphore_address:     u16             = 48, 16;
        /// Key of the lock: the device gives it to the holder, who returns it to extend or release the
        /// lock.
        lock_key,              set_lock_key:              u32             = 64, 32;
        #[doc(hidden)]
        reserved4,             set_reserved4:             [bytes; 52]     = 96, 416;
    }
}

impl Attribute for MlnxSemaphoreLock {
    const ID: AttributeId = AttributeId(0xff53);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_lie_behind_the_key() {
        let mut space = MlnxConfigSpaceSmp::default();
        for index in 0..14 {
            space.set_data(index, index as u32);
        }
        assert_eq!(space.records().len(), 4);
        assert_eq!(space.records()[3].address(), 9);
    }
}
