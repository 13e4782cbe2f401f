//! MCMemberRecord: a multicast group and a member of it (IBA vol. 1, 15.2.5.17).
//!
//! Set joins, and creates the group where there is none; Delete leaves. The SA keeps a group as long
//! as it has a full member.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{
    Gid, Lid, Mtu, MulticastScope, PKey, QKey, Rate, Sl, flags_value, table::Layout, wire_struct,
};

use crate::{Record, Selector, components};

bitflags::bitflags! {
    /// Role of a port in a multicast group.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct JoinState: u8 {
        /// Receives and sends; the group lives as long as there is one.
        const FULL_MEMBER = 1;
        /// Receives and sends, but does not keep the group alive.
        const NON_MEMBER = 2;
        /// Sends only, and does not keep the group alive.
        const SEND_ONLY_NON_MEMBER = 4;
        /// Sends only; keeps the group alive. Needs an SA that knows it.
        const SEND_ONLY_FULL_MEMBER = 8;
    }
}

flags_value!(JoinState: u8);

wire_struct! {
    /// A multicast group and a member of it.
    ///
    /// Source: IBA vol. 1, 15.2.5.17; `attributes.csv`, struct `MCMemberRecord`.
    pub struct McMemberRecord("MCMemberRecord", 52 bytes) {
        /// GID of the group.
        mgid, set_mgid: Gid = 0, 128;
        /// GID of the member.
        port_gid, set_port_gid: Gid = 128, 128;
        /// Q_Key of the group.
        q_key, set_q_key: QKey = 256, 32;
        /// Multicast LID of the group.
        mlid, set_mlid: Lid = 288, 16;
        /// Comparison with `mtu` that the request asks for.
        mtu_selector, set_mtu_selector: Selector = 304, 2;
        /// Largest payload.
        mtu, set_mtu: Mtu = 306, 6;
        /// Traffic class of the GRH.
        tclass, set_tclass: u8 = 312, 8;
        /// Partition.
        p_key, set_p_key: PKey = 320, 16;
        /// Comparison with `rate` that the request asks for.
        rate_selector, set_rate_selector: Selector = 336, 2;
        /// Rate.
        rate, set_rate: Rate = 338, 6;
        /// Comparison with `packet_life_time` that the request asks for.
        packet_life_time_selector, set_packet_life_time_selector: Selector = 344, 2;
        /// Longest time a packet takes: 4.096 us * 2^n.
        packet_life_time, set_packet_life_time: u8 = 346, 6;
        /// Service level.
        sl, set_sl: Sl = 352, 4;
        /// Flow label of the GRH.
        flow_label, set_flow_label: u32 = 356, 20;
        /// Hop limit of the GRH: 0 inside the subnet.
        hop_limit, set_hop_limit: u8 = 376, 8;
        /// Reach of the group.
        scope, set_scope: MulticastScope = 384, 4;
        /// Role of the member.
        join_state, set_join_state: JoinState = 388, 4;
        /// Another port joined for the member.
        proxy_join, set_proxy_join: bool = 392, 1;
        #[doc(hidden)]
        reserved1, set_reserved1: u32 = 393, 23;
    }
}

impl Attribute for McMemberRecord {
    const ID: AttributeId = AttributeId(0x0038);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`McMemberRecord`] that a query compares.
    pub struct McMemberComponents for McMemberRecord {
        MGID = 0 => "mgid",
        PORT_GID = 1 => "port_gid",
        Q_KEY = 2 => "q_key",
        MLID = 3 => "mlid",
        MTU_SELECTOR = 4 => "mtu_selector",
        MTU = 5 => "mtu",
        TCLASS = 6 => "tclass",
        P_KEY = 7 => "p_key",
        RATE_SELECTOR = 8 => "rate_selector",
        RATE = 9 => "rate",
        PACKET_LIFE_TIME_SELECTOR = 10 => "packet_life_time_selector",
        PACKET_LIFE_TIME = 11 => "packet_life_time",
        SL = 12 => "sl",
        FLOW_LABEL = 13 => "flow_label",
        HOP_LIMIT = 14 => "hop_limit",
        SCOPE = 15 => "scope",
        JOIN_STATE = 16 => "join_state",
        PROXY_JOIN = 17 => "proxy_join",
    }
}

impl Record for McMemberRecord {
    type Components = McMemberComponents;
}
