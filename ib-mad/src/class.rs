//! Management classes (IBA vol. 1, 13.4.4).
//!
//! A class says whom a datagram is for, how its bytes are divided and which methods it knows. The
//! subnet management classes use QP0, all others QP1.

use ib_wire::code_points;

use crate::Method;

code_points! {
    /// Management class of a datagram (`mgmt_class`): whom it is for. Values without a name are kept.
    pub struct MgmtClass(u8) {
        /// Subnet management, LID routed; QP0.
        SUBN_LID           = 0x01 => "SubnLid",
        /// Subnet management, directed route; QP0.
        SUBN_DIRECTED      = 0x81 => "SubnDirected",
        /// Subnet administration; class version 2.
        SUBN_ADM           = 0x03 => "SubnAdm",
        /// Performance management.
        PERF               = 0x04 => "Perf",
        /// Baseboard management.
        BM                 = 0x05 => "BM",
        /// Device management: what an I/O unit offers.
        DEV_MGT            = 0x06 => "DevMgt",
        /// Communication management: sets connections up; class version 2.
        COM_MGT            = 0x07 => "ComMgt",
        /// Tunnelling of SNMP.
        SNMP               = 0x08 => "SNMP",
        /// Vendor range 1.
        VENDOR1_09         = 0x09 => "Vendor1_09",
        /// Mellanox's, as tools take it.
        VENDOR1_0A         = 0x0a => "Vendor1_0A",
        VENDOR1_0B         = 0x0b => "Vendor1_0B",
        VENDOR1_0C         = 0x0c => "Vendor1_0C",
        VENDOR1_0D         = 0x0d => "Vendor1_0D",
        VENDOR1_0E         = 0x0e => "Vendor1_0E",
        VENDOR1_0F         = 0x0f => "Vendor1_0F",
        /// Device administration.
        DEV_ADM            = 0x10 => "DevAdm",
        /// Boot management.
        BOOT_MGT           = 0x11 => "BootMgt",
        /// Boot information service.
        BIS                = 0x12 => "BIS",
        /// Congestion control; class version 2.
        CONGESTION_CONTROL = 0x21 => "CongestionControl",
        /// Vendor range 2: with the vendor's OUI, may use RMPP.
        VENDOR2_30         = 0x30 => "Vendor2_30",
        VENDOR2_31         = 0x31 => "Vendor2_31",
        /// OpenIB's ping.
        VENDOR2_32         = 0x32 => "Vendor2_32",
        /// OpenIB's system status.
        VENDOR2_33         = 0x33 => "Vendor2_33",
        VENDOR2_34         = 0x34 => "Vendor2_34",
        VENDOR2_35         = 0x35 => "Vendor2_35",
        VENDOR2_36         = 0x36 => "Vendor2_36",
        VENDOR2_37         = 0x37 => "Vendor2_37",
        VENDOR2_38         = 0x38 => "Vendor2_38",
        VENDOR2_39         = 0x39 => "Vendor2_39",
        VENDOR2_3A         = 0x3a => "Vendor2_3A",
        VENDOR2_3B         = 0x3b => "Vendor2_3B",
        VENDOR2_3C         = 0x3c => "Vendor2_3C",
        VENDOR2_3D         = 0x3d => "Vendor2_3D",
        VENDOR2_3E         = 0x3e => "Vendor2_3E",
        VENDOR2_3F         = 0x3f => "Vendor2_3F",
        VENDOR2_40         = 0x40 => "Vendor2_40",
        VENDOR2_41         = 0x41 => "Vendor2_41",
        VENDOR2_42         = 0x42 => "Vendor2_42",
        VENDOR2_43         = 0x43 => "Vendor2_43",
        VENDOR2_44         = 0x44 => "Vendor2_44",
        VENDOR2_45         = 0x45 => "Vendor2_45",
        VENDOR2_46         = 0x46 => "Vendor2_46",
        VENDOR2_47         = 0x47 => "Vendor2_47",
        VENDOR2_48         = 0x48 => "Vendor2_48",
        VENDOR2_49         = 0x49 => "Vendor2_49",
        VENDOR2_4A         = 0x4a => "Vendor2_4A",
        VENDOR2_4B         = 0x4b => "Vendor2_4B",
        VENDOR2_4C         = 0x4c => "Vendor2_4C",
        VENDOR2_4D         = 0x4d => "Vendor2_4D",
        VENDOR2_4E         = 0x4e => "Vendor2_4E",
        VENDOR2_4F         = 0x4f => "Vendor2_4F",
    }
}

impl MgmtClass {
    /// Returns true if datagrams of this class are SMPs: QP0, VL15, inside the subnet.
    #[inline]
    #[must_use]
    pub const fn is_smp(self) -> bool {
        matches!(self, Self::SUBN_LID | Self::SUBN_DIRECTED)
    }

    /// Returns true if this is one of a vendor's classes without an OUI: 0x09..=0x0F.
    #[inline]
    #[must_use]
    pub const fn is_vendor_range_1(self) -> bool {
        matches!(self.0, 0x09..=0x0f)
    }

    /// Returns true if this is one of a vendor's classes with an OUI: 0x30..=0x4F.
    #[inline]
    #[must_use]
    pub const fn is_vendor_range_2(self) -> bool {
        matches!(self.0, 0x30..=0x4f)
    }

    /// Returns true if datagrams of this class have an RMPP header.
    #[inline]
    #[must_use]
    pub const fn has_rmpp_header(self) -> bool {
        matches!(self, Self::SUBN_ADM | Self::DEV_ADM | Self::BIS) || self.is_vendor_range_2()
    }

    /// The class version that this class has today.
    #[inline]
    #[must_use]
    pub const fn version(self) -> u8 {
        match self {
            Self::SUBN_ADM | Self::COM_MGT | Self::CONGESTION_CONTROL => 2,
            _ => 1,
        }
    }

    /// First byte of a datagram's attribute, counted from the common header.
    ///
    /// A congestion log alone lies elsewhere: at byte 32. Classes without a layout of their own have their
    /// data after the common header.
    #[inline]
    #[must_use]
    pub const fn data_offset(self) -> usize {
        match self {
            Self::SUBN_LID
            | Self::SUBN_DIRECTED
            | Self::PERF
            | Self::BM
            | Self::DEV_MGT
            | Self::SNMP
            | Self::DEV_ADM
            | Self::BIS
            | Self::CONGESTION_CONTROL => 64,
            Self::SUBN_ADM => 56,
            Self(0x30..=0x4f) => 40,
            _ => 24,
        }
    }

    /// First byte after a datagram's data: of subnet management the data have 64 bytes, of every other
    /// class they reach to the end of the datagram.
    #[inline]
    #[must_use]
    pub const fn data_end(self) -> usize {
        match self {
            Self::SUBN_LID | Self::SUBN_DIRECTED => 128,
            _ => 256,
        }
    }

    /// The methods that the class has; `None` where the specification leaves them to a vendor or to
    /// another document.
    #[must_use]
    pub const fn methods(self) -> Option<&'static [Method]> {
        Some(match self {
            Self::SUBN_LID | Self::SUBN_DIRECTED => &[
                Method::GET,
                Method::SET,
                Method::GET_RESP,
                Method::TRAP,
                Method::TRAP_REPRESS,
            ],
            Self::SUBN_ADM => &[
                Method::GET,
                Method::GET_RESP,
                Method::SET,
                Method::REPORT,
                Method::REPORT_RESP,
                Method::GET_TABLE,
                Method::GET_TABLE_RESP,
                Method::GET_TRACE_TABLE,
                Method::GET_MULTI,
                Method::GET_MULTI_RESP,
                Method::DELETE,
                Method::DELETE_RESP,
            ],
            Self::PERF => &[Method::GET, Method::SET, Method::GET_RESP],
            Self::BM => &[
                Method::GET,
                Method::SET,
                Method::GET_RESP,
                Method::SEND,
                Method::TRAP,
                Method::TRAP_REPRESS,
            ],
            Self::DEV_MGT | Self::CONGESTION_CONTROL => &[
                Method::GET,
                Method::SET,
                Method::GET_RESP,
                Method::TRAP,
                Method::TRAP_REPRESS,
            ],
            Self::COM_MGT => &[Method::GET, Method::SET, Method::GET_RESP, Method::SEND],
            Self::SNMP => &[Method::GET, Method::GET_RESP, Method::SEND],
            _ => return None,
        })
    }
}
