//! Subnet management packets: the two forms of MAD that carry SM attributes (IBA vol. 1, 14.2.1).
//!
//! Both are 256 bytes on QP0 and VL15, without a GRH and without flow control: any of them may be
//! lost. The LID-routed form (class 0x01) needs working forwarding tables; the directed-route form
//! (class 0x81) carries its own list of ports and works before any LID exists.

use ib_mad::{
    Attribute, AttributeId, Mad, MadAddress, MadStatus, Method, MgmtClass, TransactionId,
    mad_format,
};
use ib_wire::{Lid, MKey, PortNum, code_points, table::padded, wire_struct};
use zerocopy::{Immutable, IntoBytes};

use crate::DrPath;

code_points! {
    /// Direction of a directed-route SMP: its D bit.
    pub struct DrDirection(u8) {
        /// A request, to the responder.
        OUTGOING  = 0 => "Outgoing",
        /// A response, back to the requester.
        RETURNING = 1 => "Returning",
    }
}

mad_format! {
    /// LID-routed SMP: class 0x01.
    ///
    /// Source: IBA vol. 1, 14.2.1.1; `headers.csv`, struct `SMPLidRouted`.
    pub struct SmpLidRouted("SMPLidRouted") {
        /// Key that the receiver compares with PortInfo.M_Key.
        m_key, set_m_key: MKey = 192, 64;
        #[doc(hidden)]
        reserved1, set_reserved1: [bytes; 32] = 256, 256;
        /// The attribute of the number in the header.
        smp_data, set_smp_data: [secret; 64] = 512, 512;
        #[doc(hidden)]
        reserved2, set_reserved2: [bytes; 128] = 1024, 1024;
    }
}

wire_struct! {
    /// Directed-route SMP: class 0x81.
    ///
    /// Source: IBA vol. 1, 14.2.1.2; `headers.csv`, struct `SMPDirected`.
    pub struct SmpDirected("SMPDirected", 256 bytes) {
        /// Version of the MAD header: 1.
        base_version, set_base_version: u8 = 0, 8;
        /// 0x81.
        mgmt_class, set_mgmt_class: MgmtClass = 8, 8;
        /// 1.
        class_version, set_class_version: u8 = 16, 8;
        /// Method; bit 7 marks a response.
        method, set_method: Method = 24, 8;
        /// Direction: requests go out, responses return.
        d, set_d: DrDirection = 32, 1;
        /// Status of a response, without the D bit.
        status, set_status: MadStatus = 33, 15;
        /// Position of the SMP on the directed part: 0 at its start, `hop_count` + 1 at its end.
        hop_pointer, set_hop_pointer: u8 = 48, 8;
        /// Hops of the directed part: 0..=63.
        hop_count, set_hop_count: u8 = 56, 8;
        /// Ties a response to its request.
        transaction_id, set_transaction_id: TransactionId = 64, 64;
        /// Number of the attribute.
        attribute_id, set_attribute_id: AttributeId = 128, 16;
        #[doc(hidden)]
        header_reserved, set_header_reserved: u16 = 144, 16;
        /// The port or block of the attribute; each attribute has its own meaning.
        attribute_modifier, set_attribute_modifier: u32 = 160, 32;
        /// Key that the receiver compares with PortInfo.M_Key.
        m_key, set_m_key: MKey = 192, 64;
        /// Permissive: the directed part starts at the requester. Else the requester's LID: a LID-routed part comes first.
        dr_slid, set_dr_slid: Lid = 256, 16;
        /// Permissive: the directed part ends at the responder. Else the responder's LID: a LID-routed part follows.
        dr_dlid, set_dr_dlid: Lid = 272, 16;
        #[doc(hidden)]
        reserved1, set_reserved1: [bytes; 28] = 288, 224;
        /// The attribute of the number in the header.
        smp_data, set_smp_data: [secret; 64] = 512, 512;
        /// Port to leave each node by; entry 0 is not used.
        initial_path, set_initial_path: [bytes; 64] = 1024, 512;
        /// Port by which each node received the SMP; entry 0 is not used. The nodes fill it in while the
        /// SMP is outgoing.
        return_path, set_return_path: [bytes; 64] = 1536, 512;
    }
}

impl SmpLidRouted {
    /// A request of zeros for an attribute: MAD versions and class are set.
    ///
    /// ```
    /// use ib_mad::{Attribute, Mad, MadAddress, Method};
    /// use ib_smp::{NodeInfo, SmpLidRouted};
    /// use ib_wire::Lid;
    ///
    /// let mad: Mad = SmpLidRouted::new(Method::GET, NodeInfo::ID, 0).to(MadAddress::smi(Lid(7)));
    /// assert_eq!(mad.header().attribute_id(), NodeInfo::ID);
    /// ```
    #[must_use]
    pub fn new(method: Method, attribute_id: AttributeId, attribute_modifier: u32) -> Self {
        let mut smp = Self::default();
        smp.set_base_version(1)
            .set_mgmt_class(MgmtClass::SUBN_LID)
            .set_class_version(1)
            .set_method(method)
            .set_attribute_id(attribute_id)
            .set_attribute_modifier(attribute_modifier);
        smp
    }
}

impl SmpDirected {
    /// A request of zeros for an attribute of the node that `path` leads to by directed route alone.
    ///
    /// ```
    /// use ib_mad::{Attribute, Mad, Method};
    /// use ib_smp::{DrPath, PortInfo, SmpDirected};
    /// use ib_wire::MKey;
    ///
    /// let path: DrPath = "0,1,4".parse()?;
    /// let mut wanted = PortInfo::default();
    /// wanted.set_m_key(MKey(7));
    /// let set: Mad = SmpDirected::new(Method::SET, PortInfo::ID, 3, &path)
    ///     .set_m_key(MKey(5))
    ///     .set_attribute(&wanted)
    ///     .to_mad();
    /// assert_eq!(set.header().method(), Method::SET);
    /// # Ok::<(), ib_wire::addr::BadAddress>(())
    /// ```
    #[must_use]
    pub fn new(
        method: Method,
        attribute_id: AttributeId,
        attribute_modifier: u32,
        path: &DrPath,
    ) -> Self {
        let mut smp = Self::default();
        smp.set_base_version(1)
            .set_mgmt_class(MgmtClass::SUBN_DIRECTED)
            .set_class_version(1)
            .set_method(method)
            .set_attribute_id(attribute_id)
            .set_attribute_modifier(attribute_modifier)
            .set_dr_slid(Lid::PERMISSIVE)
            .set_dr_dlid(Lid::PERMISSIVE)
            .set_hop_count(path.hop_count())
            .set_initial_path(path.initial_path());
        smp
    }

    /// The directed route; `None` for more than 63 hops.
    #[must_use]
    pub fn path(&self) -> Option<DrPath> {
        let hops = self.initial_path().iter().skip(1);
        let mut ports = hops
            .take(self.hop_count().into())
            .map(|&port| PortNum(port));
        let path = ports.try_fold(DrPath::OWN_NODE, DrPath::then)?;
        (path.hop_count() == self.hop_count()).then_some(path)
    }

    /// The datagram for a path that is a directed route from end to end.
    #[must_use]
    pub const fn to_mad(&self) -> Mad {
        self.to(MadAddress::DIRECTED)
    }

    /// The datagram to a port: that to which a LID-routed part of the path leads, where there is one.
    #[must_use]
    pub const fn to(&self, address: MadAddress) -> Mad {
        Mad {
            address,
            bytes: *self.as_bytes(),
        }
    }

    /// Makes `value` the content of the SMP: its attribute number and its data. Data after the value become
    /// zero; a value longer than 64 bytes is cut off.
    pub fn set_attribute<T>(&mut self, value: &T) -> &mut Self
    where
        T: Attribute + IntoBytes + Immutable,
    {
        self.set_attribute_id(T::ID)
            .set_smp_data(&padded(value.as_bytes()))
    }
}

impl From<&SmpDirected> for Mad {
    fn from(smp: &SmpDirected) -> Self {
        smp.to_mad()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;

    use super::*;
    use crate::{NodeInfo, PortInfo, SmAttribute};

    #[test]
    fn debug_of_an_smp_never_prints_the_keys_in_it() {
        let key = MKey(0xa7a7_a7a7_a7a7_a7a7);
        let mut port_info = PortInfo::default();
        port_info.set_m_key(key);
        let mut smp = SmpDirected::new(Method::SET, PortInfo::ID, 1, &DrPath::default());
        smp.set_m_key(key).set_attribute(&port_info);
        let attribute = SmAttribute::parse(PortInfo::ID, smp.as_bytes());
        let text = format!("{smp:?} {attribute:?}");
        assert!(text.contains("smp_data: (64 bytes)"), "{text}");
        for form in ["167", "a7a7", "12080808363958804391"] {
            assert!(!text.contains(form), "{form} in {text}");
        }
    }

    #[test]
    fn an_attribute_fills_the_data_and_nothing_behind_them() {
        let mut info = NodeInfo::default();
        info.set_num_ports(36);
        let path: DrPath = "0,1,4".parse().unwrap();
        let mut smp = SmpDirected::new(Method::SET, AttributeId(0), 0, &path);
        smp.set_smp_data(&[0xa5; 64]).set_attribute(&info);
        let mut mad = SmpDirected::new(Method::SET, AttributeId(0), 0, &path)
            .set_smp_data(&[0xa5; 64])
            .to_mad();
        mad.set_attribute(&info);
        assert_eq!(mad, smp.to_mad());
        assert_eq!(smp.attribute_id(), NodeInfo::ID);
        assert_eq!(smp.initial_path(), path.initial_path());
        let (shown, rest) = smp.smp_data().split_at(NodeInfo::LEN);
        assert_eq!(shown, info.as_bytes());
        assert!(rest.iter().all(|&byte| byte == 0), "{rest:?}");
        let mut routed = SmpLidRouted::new(Method::SET, AttributeId(0), 0);
        routed.set_smp_data(&[0xa5; 64]).set_attribute(&info);
        assert_eq!(routed.smp_data(), smp.smp_data());
    }
}
