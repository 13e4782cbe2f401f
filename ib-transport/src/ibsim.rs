//! The messages of ibsim's socket protocol, spoken between a simulator and its clients on one machine.
//!
//! A client binds two datagram sockets. Over the first it exchanges [`Control`] messages with the server's
//! control socket: connect, ask for the port's attributes, disconnect. Over the second it exchanges
//! [`Datagram`]s with a socket that the server keeps for it alone. Numbers are in the machine's byte order except
//! where a field says otherwise: the layouts are those of C structures on a 64-bit machine.
//!
//! Source: ibsim 0.10 and 0.12, `sim.h`, and what the packaged programs send. [`control_type::JOIN`] is an addition of
//! this project: a client and a server that both have it put several messages in one datagram of the socket.

#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod messages;

use ib_mad::Mad;
use ib_wire::Lid;
use zerocopy::byteorder::{big_endian, native_endian};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

#[cfg(target_os = "linux")]
pub use client::{IbsimOptions, IbsimPort};
#[cfg(target_os = "linux")]
pub use messages::{MAX_JOINED, Messages, send_messages};

/// First word of every control message.
pub const MAGIC: u32 = 0xdead_beef;

/// Request of a control message; the reply repeats it.
pub mod control_type {
    /// The server refuses.
    pub const ERROR: u32 = 0;
    /// Asks for a slot; data: [`ClientInfo`](super::ClientInfo).
    pub const CONNECT: u32 = 1;
    /// Frees the slot.
    pub const DISCONNECT: u32 = 2;
    /// LID and state of the port.
    pub const GET_PORT: u32 = 3;
    /// Vendor, device and revision of the node.
    pub const GET_VENDOR: u32 = 4;
    /// Subnet prefix and GUID.
    pub const GET_GID: u32 = 5;
    /// GUID of the node.
    pub const GET_GUID: u32 = 6;
    /// The NodeInfo attribute.
    pub const GET_NODE_INFO: u32 = 7;
    /// The PortInfo attribute of the port in the first byte; 0: the attached one.
    pub const GET_PORT_INFO: u32 = 8;
    /// Sets or clears IsSM on the port; data: a 32-bit truth value.
    pub const SET_ISSM: u32 = 9;
    /// The first 32 P_Keys of the port.
    pub const GET_P_KEYS: u32 = 10;
    /// Asks how many messages the server takes and sends in one datagram of the slot's socket. Data: none in the
    /// request, the number as a 32-bit word in the reply. From then on both sides may join messages, one after the
    /// other. ibsim does not have this type: it returns the request unchanged, without a number.
    pub const JOIN: u32 = 256;
}

/// A control message, request or reply.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Control {
    /// [`MAGIC`].
    pub magic: native_endian::U32,
    /// The client's slot, as the server's answer to CONNECT gave it.
    pub client_id: native_endian::U32,
    /// One of [`control_type`].
    pub type_: native_endian::U32,
    /// Bytes of `data` that mean something.
    pub len: native_endian::U32,
    /// The payload; its layout depends on the type.
    pub data: [u8; 64],
}

impl Control {
    /// Length of every control message.
    pub const LEN: usize = size_of::<Self>();

    /// A message of a type, from a slot, with the first bytes of its data.
    #[must_use]
    pub fn new(type_: u32, client_id: u32, data: &[u8]) -> Self {
        let mut message = Self {
            magic: MAGIC.into(),
            client_id: client_id.into(),
            type_: type_.into(),
            len: 0.into(),
            data: [0; 64],
        };
        message.set_data(data);
        message
    }

    /// The message in `bytes`, if they are one.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Self::read_from_bytes(bytes)
            .ok()
            .filter(|message| message.magic.get() == MAGIC)
    }

    /// Replaces the payload; bytes past 64 do not fit and are left out.
    pub fn set_data(&mut self, data: &[u8]) {
        self.data = [0; 64];
        let mut len = 0u32;
        for (to, from) in self.data.iter_mut().zip(data) {
            *to = *from;
            len = len.saturating_add(1);
        }
        self.len = len.into();
    }
}

/// The data of a CONNECT: who wants to attach, and where.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ClientInfo {
    /// In: the process, which names its data socket, or the UDP port of it. Out: the slot.
    pub id: native_endian::U32,
    /// Queue pair that datagrams for queue pairs above 1 are matched with; 0: none.
    pub qp: native_endian::U32,
    /// True if a subnet manager attaches.
    pub issm: native_endian::U32,
    /// Name of the node, padded with NULs; empty: the server chooses, and the answer says which.
    pub node: [u8; 32],
}

impl ClientInfo {
    /// The node's name up to the first NUL.
    #[must_use]
    pub fn node_name(&self) -> &[u8] {
        self.node.split(|&byte| byte == 0).next().unwrap_or(&[])
    }

    /// Sets the node's name; what is longer than 31 bytes is cut.
    pub fn set_node_name(&mut self, name: &[u8]) {
        self.node = [0; 32];
        for (to, from) in self.node.iter_mut().take(31).zip(name) {
            *to = *from;
        }
    }
}

/// A LID as this protocol stores it: two bytes in network order in the first half of a word.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(transparent)]
pub struct WireLid(native_endian::U32);

impl From<Lid> for WireLid {
    fn from(lid: Lid) -> Self {
        Self(u32::from(lid.0.to_be()).into())
    }
}

impl From<WireLid> for Lid {
    fn from(lid: WireLid) -> Self {
        // The upper half is zero in what clients send; only the lower half is a LID.
        Self(u16::from_be(lid.0.get() as u16))
    }
}

/// A management datagram between a client and the server.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Datagram {
    /// Destination.
    pub dlid: WireLid,
    /// Source; 0 in a request: the client's port.
    pub slid: WireLid,
    /// Destination queue pair.
    pub dqp: big_endian::U32,
    /// Source queue pair.
    pub sqp: big_endian::U32,
    /// 0, or the number of a system error: the datagram comes back to its sender.
    pub status: big_endian::U32,
    /// Keeps `length` at a multiple of 8.
    pub padding: [u8; 4],
    /// Bytes of `mad`: 256.
    pub length: big_endian::U64,
    /// All 256 bytes of the management datagram.
    pub mad: [u8; Mad::LEN],
}

impl Datagram {
    /// Length of every message on a data socket.
    pub const LEN: usize = size_of::<Self>();

    /// The status of a datagram without a path to its destination, or whose answer will not come
    /// (ETIMEDOUT).
    pub const TIMED_OUT: u32 = 110;

    /// The message in `bytes`, if they are one.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<&Self> {
        Self::ref_from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_sizes_of_the_c_structures() {
        assert_eq!((Control::LEN, Datagram::LEN), (80, 288));
        assert_eq!(size_of::<ClientInfo>(), 44);
    }

    #[test]
    fn a_lid_is_in_network_order_in_the_first_two_bytes() {
        let stored = WireLid::from(Lid(0x1234));
        #[cfg(target_endian = "little")]
        assert_eq!(stored.as_bytes(), [0x12, 0x34, 0, 0]);
        assert_eq!(Lid::from(stored), Lid(0x1234));
    }

    #[test]
    fn what_is_no_control_message_is_refused() {
        let message = Control::new(control_type::SET_ISSM, 3, &1u32.to_ne_bytes());
        assert_eq!(Control::parse(message.as_bytes()), Some(message));
        assert_eq!(Control::parse(&message.as_bytes()[1..]), None);
        assert_eq!(Control::parse(&[0; Control::LEN]), None);
    }

    #[test]
    fn a_name_ends_at_the_first_nul() {
        let mut info = ClientInfo {
            id: 0.into(),
            qp: 0.into(),
            issm: 0.into(),
            node: [0; 32],
        };
        info.set_node_name(b"H-0010000000000000");
        assert_eq!(info.node_name(), b"H-0010000000000000");
        info.set_node_name(&[b'x'; 40]);
        assert_eq!(info.node_name().len(), 31);
    }
}
