//! Mellanox's vendor class 0x0A: information on its switches and adapters, and their settings.
//!
//! Vendor range 1 has no OUI, so the number alone does not prove that the class is Mellanox's; tools take
//! 0x0A for this one, and ask `NodeInfo` for the vendor first. Its attributes begin at byte 32, after the
//! vendor's key. Nothing here is in the InfiniBand Architecture: the sources are public programs,
//! infiniband-diags' `vendstat`, mstflint and python-rdma.

mod config_space;
mod counter_group;
mod general_info;
mod register;

pub use config_space::{
    MlnxConfigSpace, MlnxConfigSpaceMode, MlnxConfigSpaceModifier, MlnxConfigSpaceRecord,
};
pub use counter_group::{MlnxConfigCounterGroup, MlnxCounterGroupInfo};
pub use general_info::{MlnxCapabilities, MlnxGeneralInfo};
pub use register::{
    MlnxAccessRegisterGmp, MlnxOperationTlv, MlnxRegisterAccess, MlnxRegisterMethod,
    MlnxRegisterStatus, MlnxRegisterTlv, MlnxTlvType,
};

use crate::{
    AttributeId, MadStatus, Method, MgmtClass, TransactionId, VsKey, attribute_table, mad_format,
};

/// First byte of an attribute of this class: after the vendor's key.
const DATA_OFFSET: usize = 32;

mad_format! {
    /// Format of Mellanox's vendor class: a key, then the attribute.
    ///
    /// Source: mstflint, python-rdma.
    pub struct MlnxVendorMad("MlnxVendorMad") {
        /// Key that guards the device; 0: none.
        vs_key, set_vs_key: VsKey         = 192, 64;
        /// The attribute of the number in the header, which may hold a key.
        data,   set_data:   [secret; 224] = 256, 1792;
    }
}

attribute_table! {
    /// Attributes of Mellanox's vendor class.
    ///
    /// Source: `attribute_ids.csv`, class `Vendor1_0A`.
    pub enum MlnxAttribute, data at 32 {
        "GeneralInfo", 0x0017 => GeneralInfo(MlnxGeneralInfo): GET, GET_RESP;
        "ConfigSpaceAccess", 0x0050 => ConfigSpaceAccess(MlnxConfigSpace): GET, SET, GET_RESP;
        "AccessRegisterGMP", 0x0051 => AccessRegisterGmp(MlnxAccessRegisterGmp): GET, GET_RESP;
        "CounterGroupInfo", 0x0090 => CounterGroupInfo(MlnxCounterGroupInfo): GET, GET_RESP;
        "ConfigCounterGroup", 0x0091 => ConfigCounterGroup(MlnxConfigCounterGroup): GET, SET, GET_RESP;
        "RegisterAccess", 0xff52 => RegisterAccess(MlnxRegisterAccess): SET, GET_RESP;
    }
    untyped {
        "SwReset", 0x0012: SET, GET_RESP;
    }
}

/// Gives a structure its place in the class.
macro_rules! mlnx_attribute {
    ($type:ty, $id:literal) => {
        impl $crate::Attribute for $type {
            const ID: $crate::AttributeId = $crate::AttributeId($id);
            const LAYOUT: &'static ib_wire::table::Layout = Self::LAYOUT;

            fn offset(_: $crate::MgmtClass) -> usize {
                super::DATA_OFFSET
            }
        }
    };
}
use mlnx_attribute;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attribute, Message};

    /// A datagram as `vendstat` asks for general information.
    fn datagram(attribute: u16) -> [u8; 256] {
        let mut bytes = [0; 256];
        bytes[1] = MgmtClass::VENDOR1_0A.bits();
        bytes[16..18].copy_from_slice(&attribute.to_be_bytes());
        bytes
    }

    #[test]
    fn the_attribute_lies_behind_the_key() {
        let mut bytes = datagram(0x17);
        bytes[24..32].copy_from_slice(&0x0123_4567_89ab_cdef_u64.to_be_bytes());
        bytes[34..36].copy_from_slice(&0xcb20_u16.to_be_bytes());
        let Message::Mlnx(mad, MlnxAttribute::GeneralInfo(info)) = Message::parse(&bytes) else {
            panic!("{:?}", Message::parse(&bytes));
        };
        assert_eq!(mad.vs_key(), VsKey(0x0123_4567_89ab_cdef));
        assert_eq!(info.device_id(), 0xcb20);
        assert_eq!(MlnxGeneralInfo::offset(MgmtClass::VENDOR1_0A), 32);
    }

    #[test]
    fn attributes_without_a_structure_are_kept() {
        for id in [0x0001, 0x0012, 0x7777] {
            let bytes = datagram(id);
            let Message::Mlnx(_, MlnxAttribute::Other(found, data)) = Message::parse(&bytes) else {
                panic!("{id:#x}");
            };
            assert_eq!((found, data.len()), (AttributeId(id), 224));
        }
    }
}
