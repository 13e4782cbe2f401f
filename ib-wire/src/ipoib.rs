//! IP over InfiniBand: the encapsulation header, link addresses, ARP and multicast groups (RFC 4391).
//!
//! The header comes before the IP or ARP packet in the payload of a datagram, and takes the place of
//! Ethernet's. Pitfall: the link address has 20 bytes, the queue pair with the GID, so that ARP packets are
//! longer than elsewhere; and each partition has multicast groups of its own.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::{EtherType, Gid, MulticastScope, PKey, Qpn, code_points, wire_struct};

wire_struct! {
    /// Encapsulation header of IP over InfiniBand: the type of the payload.
    ///
    /// Source: RFC 4391, section 6; `headers.csv`, struct `IPoIBHeader`.
    pub struct IpoibHeader("IPoIBHeader", 4 bytes) {
        /// EtherType of the payload: IPv4, IPv6, ARP.
        ether_type, set_ether_type: u16 = 0, 16;
        #[doc(hidden)]
        reserved,   set_reserved:   u16 = 16, 16;
    }
}

wire_struct! {
    /// Link address of an interface: its queue pair and the GID of its port.
    ///
    /// Source: RFC 4391, section 9.1.1; RFC 4755, section 3.1, for the two flags.
    pub struct IpoibAddress("IPoIBAddress", 20 bytes) {
        /// Takes reliable connections.
        rc,       set_rc:       bool = 0, 1;
        /// Takes unreliable connections.
        uc,       set_uc:       bool = 1, 1;
        #[doc(hidden)]
        reserved, set_reserved: u8   = 2, 6;
        /// Queue pair of the datagrams.
        qpn,      set_qpn:      Qpn  = 8, 24;
        /// GID of the port, or of a multicast group.
        gid,      set_gid:      Gid  = 32, 128;
    }
}

impl IpoibAddress {
    /// The address of an interface that takes datagrams only.
    #[must_use]
    pub fn new(qpn: Qpn, gid: Gid) -> Self {
        let mut address = Self::default();
        address.set_qpn(qpn).set_gid(gid);
        address
    }

    /// The address of a multicast group: all members' queue pairs.
    #[must_use]
    pub fn group(mgid: IpoibMgid) -> Self {
        Self::new(Qpn::MULTICAST, mgid.into())
    }
}

code_points! {
    /// Operation of an ARP packet (`IPoIBARP.operation`).
    pub struct ArpOperation(u16) {
        REQUEST = 1 => "Request",
        REPLY   = 2 => "Reply",
    }
}

wire_struct! {
    /// ARP packet of IPv4 over InfiniBand.
    ///
    /// Source: RFC 826; RFC 4391, section 9.1.2.
    pub struct IpoibArp("IPoIBARP", 56 bytes) {
        /// Kind of link: 32, InfiniBand.
        hardware_type,    set_hardware_type:    u16          = 0, 16;
        /// Kind of network address: IPv4.
        protocol_type,    set_protocol_type:    EtherType    = 16, 16;
        /// Bytes of a link address: 20.
        hardware_len,     set_hardware_len:     u8           = 32, 8;
        /// Bytes of a network address: 4.
        protocol_len,     set_protocol_len:     u8           = 40, 8;
        /// Request or reply.
        operation,        set_operation:        ArpOperation = 48, 16;
        /// Link address of the sender.
        sender_hardware,  set_sender_hardware:  IpoibAddress = 64, 160;
        /// IPv4 address of the sender.
        sender_protocol,  set_sender_protocol:  [bytes; 4]   = 224, 32;
        /// Link address of the target; zeros in a request.
        target_hardware,  set_target_hardware:  IpoibAddress = 256, 160;
        /// IPv4 address of the target.
        target_protocol,  set_target_protocol:  [bytes; 4]   = 416, 32;
    }
}

impl IpoibArp {
    /// A request for the link address of `target`, to be sent to the broadcast group.
    ///
    /// ```
    /// use ib_wire::{IpoibAddress, IpoibArp};
    ///
    /// let (ours, theirs) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    /// let request = IpoibArp::request(&IpoibAddress::default(), ours, theirs);
    /// let reply = request.reply(&IpoibAddress::default());
    /// assert_eq!(reply.sender_protocol(), &[10, 0, 0, 2]);
    /// ```
    #[must_use]
    pub fn request(sender: &IpoibAddress, sender_ip: Ipv4Addr, target: Ipv4Addr) -> Self {
        let mut arp = Self::default();
        arp.set_hardware_type(32)
            .set_protocol_type(EtherType::IPV4)
            .set_hardware_len(20)
            .set_protocol_len(4)
            .set_operation(ArpOperation::REQUEST)
            .set_sender_hardware(sender)
            .set_sender_protocol(&sender_ip.octets())
            .set_target_protocol(&target.octets());
        arp
    }

    /// The answer to this request by the interface `here`.
    #[must_use]
    pub fn reply(&self, here: &IpoibAddress) -> Self {
        let mut reply = *self;
        reply
            .set_operation(ArpOperation::REPLY)
            .set_sender_hardware(here)
            .set_sender_protocol(self.target_protocol())
            .set_target_hardware(self.sender_hardware())
            .set_target_protocol(self.sender_protocol());
        reply
    }
}

code_points! {
    /// Protocol of a multicast group (`IPoIBMGID.signature`).
    pub struct IpoibSignature(u16) {
        IPV4 = 0x401b => "IPv4",
        IPV6 = 0x601b => "IPv6",
    }
}

wire_struct! {
    /// The parts of the GID of an IP multicast group; [`Gid`] is the value.
    ///
    /// Source: RFC 4391, section 4.
    pub struct IpoibMgid("IPoIBMGID", 16 bytes) {
        /// 0xFF.
        prefix,    set_prefix:    u8             = 0, 8;
        /// 1: not assigned for good.
        flags,     set_flags:     u8             = 8, 4;
        /// Reach of the group.
        scope,     set_scope:     MulticastScope = 12, 4;
        /// IPv4 or IPv6.
        signature, set_signature: IpoibSignature = 16, 16;
        /// Partition of the group, as a full member has it.
        p_key,     set_p_key:     PKey           = 32, 16;
        /// Low bits of the IP group: 28 of IPv4, 80 of IPv6.
        group_id,  set_group_id:  [bytes; 10]    = 48, 80;
    }
}

impl IpoibMgid {
    /// The group of an IPv4 multicast or of the broadcast address; `None` for any other address.
    ///
    /// ```
    /// use ib_wire::{Gid, IpoibMgid, MulticastScope, PKey};
    ///
    /// let (scope, p_key) = (MulticastScope::LINK_LOCAL, PKey::DEFAULT_FULL);
    /// let all = IpoibMgid::ipv4(scope, p_key, [255; 4].into()).expect("the broadcast group");
    /// assert_eq!(Gid::from(all).to_string(), "ff12:401b:ffff::ffff:ffff");
    /// ```
    #[must_use]
    pub fn ipv4(scope: MulticastScope, p_key: PKey, group: Ipv4Addr) -> Option<Self> {
        let bits = match group {
            Ipv4Addr::BROADCAST => u32::MAX,
            group if group.is_multicast() => group.to_bits() & 0x0fff_ffff,
            _ => return None,
        };
        let [a, b, c, d] = bits.to_be_bytes();
        let group_id = [0, 0, 0, 0, 0, 0, a, b, c, d];
        Some(Self::new(scope, IpoibSignature::IPV4, p_key, &group_id))
    }

    /// The group of an IPv6 multicast address; `None` for any other address.
    #[must_use]
    pub fn ipv6(scope: MulticastScope, p_key: PKey, group: Ipv6Addr) -> Option<Self> {
        let octets = group.octets();
        let group_id = octets.last_chunk().filter(|_| group.is_multicast())?;
        Some(Self::new(scope, IpoibSignature::IPV6, p_key, group_id))
    }

    fn new(
        scope: MulticastScope,
        signature: IpoibSignature,
        p_key: PKey,
        group_id: &[u8; 10],
    ) -> Self {
        let mut mgid = Self::default();
        mgid.set_prefix(0xff)
            .set_flags(1)
            .set_scope(scope)
            .set_signature(signature)
            .set_p_key(PKey(p_key.base() | 0x8000))
            .set_group_id(group_id);
        mgid
    }

    /// The parts of a GID; `None` if it is no group of IP over InfiniBand.
    #[must_use]
    pub fn of(gid: Gid) -> Option<Self> {
        let parts = Self::from_bytes(gid.0);
        let is_ip = gid.is_multicast() && parts.signature().name().is_some();
        is_ip.then_some(parts)
    }
}

impl From<IpoibMgid> for Gid {
    fn from(parts: IpoibMgid) -> Self {
        Self(*parts.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn each_partition_and_scope_has_groups_of_its_own() {
        let site = MulticastScope::SITE_LOCAL;
        for (p_key, group, expected) in [
            (0x8001, "224.0.0.1", "ff15:401b:8001::1"),
            (0x0001, "239.255.255.250", "ff15:401b:8001::fff:fffa"),
            (0xffff, "255.255.255.255", "ff15:401b:ffff::ffff:ffff"),
        ] {
            let mgid = IpoibMgid::ipv4(site, PKey(p_key), group.parse().unwrap()).unwrap();
            assert_eq!(Gid::from(mgid).to_string(), expected);
            assert_eq!(IpoibMgid::of(mgid.into()), Some(mgid));
        }
        let all_nodes = "ff02::1".parse().unwrap();
        let mgid = IpoibMgid::ipv6(MulticastScope::LINK_LOCAL, PKey(0x8001), all_nodes).unwrap();
        assert_eq!(Gid::from(mgid).to_string(), "ff12:601b:8001::1");
        let solicited = "ff02::1:ff00:1234".parse().unwrap();
        let mgid = IpoibMgid::ipv6(MulticastScope::LINK_LOCAL, PKey(0x8001), solicited).unwrap();
        assert_eq!(Gid::from(mgid).to_string(), "ff12:601b:8001::1:ff00:1234");
    }

    #[test]
    fn what_is_no_group_has_no_mgid() {
        let scope = MulticastScope::LINK_LOCAL;
        let p_key = PKey::DEFAULT_FULL;
        assert_eq!(IpoibMgid::ipv4(scope, p_key, [10, 0, 0, 1].into()), None);
        assert_eq!(IpoibMgid::ipv6(scope, p_key, Ipv6Addr::LOCALHOST), None);
        for text in ["fe80::1", "ff12:a01b:fe80::1", "ff0e::1"] {
            assert_eq!(IpoibMgid::of(text.parse().unwrap()), None, "{text}");
        }
    }

    #[test]
    fn a_reply_turns_the_request_round() {
        let gid = |text: &str| text.parse::<Gid>().unwrap();
        let qpn = |bits| Qpn::try_new(bits).unwrap();
        let ours = IpoibAddress::new(qpn(0x48), gid("fe80::1"));
        let theirs = IpoibAddress::new(qpn(0x49), gid("fe80::2"));
        let request = IpoibArp::request(&ours, [10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        assert_eq!(request.as_bytes()[..8], [0, 32, 8, 0, 20, 4, 0, 1]);
        assert_eq!(request.as_bytes()[8..12], [0, 0, 0, 0x48]);
        assert_eq!(request.target_hardware(), &IpoibAddress::default());
        let reply = request.reply(&theirs);
        assert_eq!(reply.operation(), ArpOperation::REPLY);
        assert_eq!(
            (reply.sender_hardware(), reply.target_hardware()),
            (&theirs, &ours)
        );
        assert_eq!(
            (reply.sender_protocol(), reply.target_protocol()),
            (&[10, 0, 0, 2], &[10, 0, 0, 1])
        );
    }
}
