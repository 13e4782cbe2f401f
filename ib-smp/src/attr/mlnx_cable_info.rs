//! MlnxCableInfo: the EEPROM of the cable or module in a port, read through the port's agent.
//!
//! A vendor attribute of Mellanox: an SMP carries up to 48 bytes from an I2C device of the module. The
//! request names the bytes, the answer repeats this with their values. Their meaning is that of SFF-8472
//! for an SFP, SFF-8636 for a QSFP, CMIS for later ones. The architecture's own CableInfo, attribute
//! 0x0032, is another one, whose layout no public source gives.

use ib_mad::{Attribute, AttributeId, MadStatus};
use ib_wire::{code_points, table::Layout, wire_struct};

wire_struct! {
    /// Bytes of a module's EEPROM. The modifier is the port.
    ///
    /// Source: Linux mlx4, rsmad; `attributes.csv`, struct `MlnxCableInfo`.
    pub struct MlnxCableInfo("MlnxCableInfo", 64 bytes) {
        /// The I2C device of the module: [`LOWER`](Self::LOWER) or [`UPPER`](Self::UPPER).
        i2c_device_address, set_i2c_device_address: u8          = 0, 8;
        /// Page of the device: 0..=15.
        page_number,        set_page_number:        u8          = 8, 8;
        /// First byte: with `size` it does not pass byte 256.
        device_address,     set_device_address:     u16         = 16, 16;
        #[doc(hidden)]
        reserved1,          set_reserved1:          u16         = 32, 16;
        /// Bytes to read: 1..=48.
        size,               set_size:               u16         = 48, 16;
        #[doc(hidden)]
        reserved2,          set_reserved2:          u64         = 64, 64;
        /// The bytes, in an answer; those past `size` mean nothing.
        data,               set_data:               [bytes; 48] = 128, 384;
    }
}

impl Attribute for MlnxCableInfo {
    const ID: AttributeId = AttributeId(0xff60);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

impl MlnxCableInfo {
    /// The only device of a QSFP, the first one of an SFP.
    pub const LOWER: u8 = 0x50;
    /// The second device of an SFP: its monitors.
    pub const UPPER: u8 = 0x51;
    /// Bytes that one SMP carries.
    pub const MAX_SIZE: u16 = 48;

    /// Asks for `size` bytes from byte `device_address` of a page of the first device.
    #[must_use]
    pub fn read(page_number: u8, device_address: u16, size: u16) -> Self {
        let mut request = Self::default();
        request
            .set_i2c_device_address(Self::LOWER)
            .set_page_number(page_number)
            .set_device_address(device_address)
            .set_size(size);
        request
    }

    /// The bytes that were read.
    #[must_use]
    pub fn read_bytes(&self) -> &[u8] {
        let size = usize::from(self.size());
        self.data().get(..size).unwrap_or(self.data())
    }
}

code_points! {
    /// Why a cable cannot be read: the part of the answer's status that belongs to the class.
    ///
    /// Source: Linux mlx4; `enums.csv`, enum `MLNX_CABLE_STATUS`.
    pub struct MlnxCableStatus(u8) {
        INVALID_PORT        = 1 => "InvalidPort",
        /// The port has no module, as it is an internal one.
        NOT_SUPPORTED       = 2 => "NotSupported",
        NOT_CONNECTED       = 3 => "NotConnected",
        /// A passive cable.
        NO_EEPROM           = 4 => "NoEeprom",
        INVALID_PAGE        = 5 => "InvalidPage",
        /// Nothing to read, or past byte 256.
        INVALID_ADDRESS     = 6 => "InvalidAddress",
        INVALID_I2C_ADDRESS = 7 => "InvalidI2cAddress",
        /// Some cable answers though another one is selected.
        QSFP_VIOLATION      = 8 => "QsfpViolation",
        I2C_BUSY            = 9 => "I2cBusy",
    }
}

impl MlnxCableStatus {
    /// The state of the cable that the status of an answer reports; `None` if it reports none.
    ///
    /// The top bit is left out: in a directed-route SMP it is the direction.
    #[must_use]
    pub const fn of(status: MadStatus) -> Option<Self> {
        match status.class_part() & 0x7f {
            0 => None,
            code => Some(Self(code)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_bytes_that_linux_sends() {
        let request = MlnxCableInfo::read(0, 128, MlnxCableInfo::MAX_SIZE);
        assert_eq!(request.as_bytes()[..8], [0x50, 0, 0, 128, 0, 0, 0, 48]);
        assert!(request.as_bytes()[8..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn what_was_read_ends_with_its_size_or_the_data() {
        let mut answer = MlnxCableInfo::default();
        answer.set_data(&core::array::from_fn(|at| at as u8));
        for (size, read) in [(0, 0), (3, 3), (48, 48), (49, 48), (0xffff, 48)] {
            assert_eq!(answer.set_size(size).read_bytes().len(), read, "{size}");
        }
    }

    #[test]
    fn the_direction_is_no_part_of_the_fault() {
        assert_eq!(MlnxCableStatus::of(MadStatus(0)), None);
        assert_eq!(MlnxCableStatus::of(MadStatus(0x8000)), None);
        // Seen on an SFP without monitors: the status 0x071c.
        for status in [0x071c, 0x871c] {
            let found = MlnxCableStatus::of(MadStatus(status));
            assert_eq!(found, Some(MlnxCableStatus::INVALID_I2C_ADDRESS));
        }
    }
}
