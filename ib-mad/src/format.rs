//! The formats of datagrams: what each class has after the common header (IBA vol. 1, 13.4 and 16).
//!
//! Subnet management and administration have their own formats in the crates of their layers. Every
//! format is a whole datagram of 256 bytes, its common header among its rows, so that a view opens
//! on the datagram once.

use crate::{
    AttributeId, BKey, CcKey, MadStatus, Method, MgmtClass, Oui, RespTime, RmppStatus, RmppType,
    TransactionId,
};

/// Declares the format of a class: a [`wire_struct!`](ib_wire::wire_struct) of 256 bytes that begins with
/// the rows of the common header; those after bit 192 are the class's own.
///
/// Beside the rows' getters and setters the format has `set_attribute`, which fills in an attribute, and
/// `to`, which addresses the datagram.
///
/// The types of the common header's rows must be in scope.
///
/// ```
/// use ib_mad::{AttributeId, MadStatus, Method, MgmtClass, TransactionId, mad_format};
///
/// mad_format! {
///     /// A class of nothing but its data.
///     pub struct PlainMad("PlainMad") {
///         /// Belongs to the class.
///         data, set_data: [bytes; 232] = 192, 1856;
///     }
/// }
/// assert_eq!((PlainMad::LEN, PlainMad::FIELDS.len()), (256, 11));
///
/// let mut mad = PlainMad::default();
/// mad.set_mgmt_class(MgmtClass::PERF).set_attribute(&ib_mad::PortCounters::default());
/// assert_eq!(mad.attribute_id(), AttributeId(0x12));
/// ```
#[macro_export]
macro_rules! mad_format {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($spec:literal) { $($rows:tt)* }
    ) => {
        $crate::__private::wire_struct! {
            $(#[$meta])*
            pub struct $name($spec, 256 bytes) {
                /// Version of the header: 1.
                base_version,       set_base_version:       u8            = 0, 8;
                /// Management class.
                mgmt_class,         set_mgmt_class:         MgmtClass     = 8, 8;
                /// Version of the class.
                class_version,      set_class_version:      u8            = 16, 8;
                /// Method; bit 7 marks a response.
                method,             set_method:             Method        = 24, 8;
                /// Status of a response.
                status,             set_status:             MadStatus     = 32, 16;
                /// Belongs to the class.
                class_specific,     set_class_specific:     u16           = 48, 16;
                /// Ties a response to its request.
                transaction_id,     set_transaction_id:     TransactionId = 64, 64;
                /// Number of the attribute.
                attribute_id,       set_attribute_id:       AttributeId   = 128, 16;
                #[doc(hidden)]
                header_reserved,    set_header_reserved:    u16           = 144, 16;
                /// The part of the attribute; each attribute has its own meaning.
                attribute_modifier, set_attribute_modifier: u32           = 160, 32;
                $($rows)*
            }
        }

        impl $name {
            /// The datagram, addressed to a port.
            #[must_use]
            pub const fn to(&self, address: $crate::MadAddress) -> $crate::Mad {
                $crate::Mad {
                    address,
                    bytes: *self.as_bytes(),
                }
            }

            /// Makes `value` the content of the datagram: its attribute number and its data. Data after the
            /// value become zero; a value longer than the room is cut off.
            ///
            /// The class must be set: it says where the data begin.
            pub fn set_attribute<T>(&mut self, value: &T) -> &mut Self
            where
                T: $crate::Attribute
                    + $crate::__private::zerocopy::IntoBytes
                    + $crate::__private::zerocopy::Immutable,
            {
                let class = self.mgmt_class();
                self.set_attribute_id(T::ID);
                let bytes = $crate::__private::zerocopy::transmute_mut!(self);
                $crate::__private::write_attribute(bytes, class, value);
                self
            }
        }
    };
}

mad_format! {
    /// Any general management datagram: the common header and what follows.
    ///
    /// Source: IBA vol. 1, 13.4.2; `headers.csv`, struct `GMP`.
    pub struct Gmp("GMP") {
        /// Belongs to the class.
        data,               set_data:               [secret; 232] = 192, 1856;
    }
}

mad_format! {
    /// Format of performance management.
    ///
    /// Source: IBA vol. 1, 16.1.1; `headers.csv`, struct `PerformanceMad`.
    pub struct PerformanceMad("PerformanceMad") {
        #[doc(hidden)]
        reserved1,          set_reserved1:          [bytes; 40]   = 192, 320;
        /// The attribute of the number in the header.
        data,               set_data:               [bytes; 192]  = 512, 1536;
    }
}

mad_format! {
    /// Format of device management.
    ///
    /// Source: IBA vol. 1, 16.3.1; `headers.csv`, struct `DeviceMgmtMad`.
    pub struct DeviceMgmtMad("DeviceMgmtMad") {
        #[doc(hidden)]
        reserved1,          set_reserved1:          [bytes; 40]   = 192, 320;
        /// The attribute of the number in the header.
        data,               set_data:               [bytes; 192]  = 512, 1536;
    }
}

mad_format! {
    /// Format of congestion control.
    ///
    /// The congestion log alone begins at `cc_log_data`, all other attributes at `cc_mgt_data`.
    ///
    /// Source: IBA vol. 1, A10.4; `headers.csv`, struct `CongestionControlMad`.
    pub struct CongestionControlMad("CongestionControlMad") {
        /// Key that guards the congestion settings of a port.
        cc_key,             set_cc_key:             CcKey         = 192, 64;
        /// First bytes of a congestion log; else reserved.
        cc_log_data,        set_cc_log_data:        [bytes; 32]   = 256, 256;
        /// The attribute; of a congestion log, what follows `cc_log_data`.
        cc_mgt_data,        set_cc_mgt_data:        [secret; 192] = 512, 1536;
    }
}

mad_format! {
    /// Format of baseboard management.
    ///
    /// Source: IBA vol. 1, 16.2.1; `headers.csv`, struct `BaseboardMgmtMad`.
    pub struct BaseboardMgmtMad("BaseboardMgmtMad") {
        /// Key that guards the baseboard.
        b_key,              set_b_key:              BKey          = 192, 64;
        #[doc(hidden)]
        reserved1,          set_reserved1:          [bytes; 32]   = 256, 256;
        /// The attribute of the number in the header, which may hold a key.
        data,               set_data:               [secret; 192] = 512, 1536;
    }
}

mad_format! {
    /// Format of the vendor classes 0x09..=0x0F: all is left to the vendor.
    ///
    /// Source: IBA vol. 1, 16.5; `headers.csv`, struct `VendorRange1Mad`.
    pub struct VendorRange1Mad("VendorRange1Mad") {
        /// Belongs to the vendor.
        data,               set_data:               [secret; 232] = 192, 1856;
    }
}

mad_format! {
    /// Format of the vendor classes 0x30..=0x4F: an RMPP header, then the OUI of whose class it is.
    ///
    /// Source: IBA vol. 1, 16.5; `headers.csv`, struct `VendorRange2Mad`.
    pub struct VendorRange2Mad("VendorRange2Mad") {
        /// 1 if RMPP is active.
        rmpp_version,       set_rmpp_version:       u8            = 192, 8;
        /// Type of RMPP packet.
        rmpp_type,          set_rmpp_type:          RmppType      = 200, 8;
        /// Time that the sender takes to answer; 31: not said.
        r_resp_time,        set_r_resp_time:        RespTime      = 208, 5;
        /// This is the last segment.
        last,               set_last:               bool          = 213, 1;
        /// This is the first segment.
        first,              set_first:              bool          = 214, 1;
        /// RMPP is in use; else the other fields of its header mean nothing.
        active,             set_active:             bool          = 215, 1;
        /// Why a transfer ends.
        rmpp_status,        set_rmpp_status:        RmppStatus    = 216, 8;
        /// Segment number of DATA and ACK.
        data1,              set_data1:              u32           = 224, 32;
        /// Payload length of DATA, last segment of the new window of ACK.
        data2,              set_data2:              u32           = 256, 32;
        #[doc(hidden)]
        vendor_reserved,    set_vendor_reserved:    u8            = 288, 8;
        /// Organisation that defines the class.
        oui,                set_oui:                Oui           = 296, 24;
        /// Belongs to the vendor.
        data,               set_data:               [secret; 216] = 320, 1728;
    }
}
