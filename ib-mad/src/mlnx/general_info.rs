//! GeneralInfo: hardware, firmware and abilities of a Mellanox device, as `vendstat -N` prints them.

use ib_wire::{flags_value, wire_struct};

use super::mlnx_attribute;

bitflags::bitflags! {
    /// Capabilities of the device in its vendor class. Bits without a name are kept.
    ///
    /// Source: mstflint; `capability_masks.csv`, mask `MlnxGeneralInfo.CapabilityMask`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct MlnxCapabilities: u32 {
        /// Answers AccessRegisterGMP.
        const IS_ACCESS_REGISTER_SUPPORTED = 1 << 20;
        /// A switch with an enhanced port 0 can be reset by SwReset.
        const IS_ENHANCED_PORT0_DEVICE_RESET_SUPPORTED = 1 << 25;
    }
}

flags_value!(MlnxCapabilities: u32);

wire_struct! {
    /// Identity of a device, and versions of its hardware and software.
    ///
    /// InfiniScale III (`device_id` 47396) has its software version where later devices have the wide
    /// version of their firmware, `fw_ext_major` and the two fields after it.
    ///
    /// Source: infiniband-diags, python-rdma, mstflint; `attributes.csv`, struct `MlnxGeneralInfo`.
    pub struct MlnxGeneralInfo("MlnxGeneralInfo", 224 bytes) {
        /// Revision of the chip.
        hw_revision,         set_hw_revision:         u16         = 0, 16;
        /// The chip, as its PCI device ID names it.
        device_id,           set_device_id:           u16         = 16, 16;
        #[doc(hidden)]
        reserved1,           set_reserved1:           [bytes; 24] = 32, 192;
        /// Time for which the device has been up.
        uptime,              set_uptime:              u32         = 224, 32;
        #[doc(hidden)]
        reserved2,           set_reserved2:           u8          = 256, 8;
        /// Version of the firmware, as far as it fits a byte.
        fw_major,            set_fw_major:            u8          = 264, 8;
        /// Second number of the version.
        fw_minor,            set_fw_minor:            u8          = 272, 8;
        /// Third number of the version.
        fw_sub_minor,        set_fw_sub_minor:        u8          = 280, 8;
        /// Build of the firmware.
        fw_build_id,         set_fw_build_id:         u32         = 288, 32;
        /// Month of the build, a decimal digit in each nibble, as in the three fields that follow.
        fw_month,            set_fw_month:            u8          = 320, 8;
        /// Day of the build.
        fw_day,              set_fw_day:              u8          = 328, 8;
        /// Year of the build.
        fw_year,             set_fw_year:             u16         = 336, 16;
        #[doc(hidden)]
        reserved3,           set_reserved3:           u16         = 352, 16;
        /// Hour and minute of the build.
        fw_hour,             set_fw_hour:             u16         = 368, 16;
        /// Parameter set ID: names the board that the firmware is made for.
        fw_psid,             set_fw_psid:             [text; 16]  = 384, 128;
        /// Version of the board's configuration in the firmware.
        fw_ini_file_version, set_fw_ini_file_version: u32         = 512, 32;
        /// Version of the firmware, whole.
        fw_ext_major,        set_fw_ext_major:        u32         = 544, 32;
        /// Second number of the whole version.
        fw_ext_minor,        set_fw_ext_minor:        u32         = 576, 32;
        /// Third number of the whole version.
        fw_ext_sub_minor,    set_fw_ext_sub_minor:    u32         = 608, 32;
        #[doc(hidden)]
        reserved4,           set_reserved4:           [bytes; 16] = 640, 128;
        #[doc(hidden)]
        reserved5,           set_reserved5:           u8          = 768, 8;
        /// Version of the software on a managed switch.
        sw_major,            set_sw_major:            u8          = 776, 8;
        /// Second number of the software's version.
        sw_minor,            set_sw_minor:            u8          = 784, 8;
        /// Third number of the software's version.
        sw_sub_minor,        set_sw_sub_minor:        u8          = 792, 8;
        #[doc(hidden)]
        reserved6,           set_reserved6:           [bytes; 28] = 800, 224;
        /// Capabilities of the device in this class.
        capability_mask,     set_capability_mask:     MlnxCapabilities = 1024, 32;
        #[doc(hidden)]
        reserved7,           set_reserved7:           [bytes; 92] = 1056, 736;
    }
}

mlnx_attribute!(MlnxGeneralInfo, 0x0017);
