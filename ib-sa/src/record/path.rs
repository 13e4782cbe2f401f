//! PathRecord: how to reach one port from another (IBA vol. 1, 15.2.5.16).
//!
//! Every connection starts with it. In a request the template names both ends, and MTU, rate and packet
//! life time with a selector: at least so much, exactly so much.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{Gid, Lid, Mtu, PKey, Rate, Sl, table::Layout, wire_struct};

use crate::{Record, Selector, components};

wire_struct! {
    /// A path from one port to another: LIDs, service level, MTU, rate and packet lifetime.
    ///
    /// Source: IBA vol. 1, 15.2.5.16; `attributes.csv`, struct `PathRecord`.
    pub struct PathRecord("PathRecord", 64 bytes) {
        /// Number of the service.
        service_id, set_service_id: u64 = 0, 64;
        /// GID of the destination.
        dgid, set_dgid: Gid = 64, 128;
        /// GID of the source.
        sgid, set_sgid: Gid = 192, 128;
        /// LID of the destination.
        dlid, set_dlid: Lid = 320, 16;
        /// LID of the source.
        slid, set_slid: Lid = 336, 16;
        /// Asks for a path for raw packets.
        raw_traffic, set_raw_traffic: bool = 352, 1;
        #[doc(hidden)]
        reserved1, set_reserved1: u8 = 353, 3;
        /// Flow label of the GRH.
        flow_label, set_flow_label: u32 = 356, 20;
        /// Hop limit of the GRH: 0 inside the subnet.
        hop_limit, set_hop_limit: u8 = 376, 8;
        /// Traffic class of the GRH.
        tclass, set_tclass: u8 = 384, 8;
        /// The reverse path is the same.
        reversible, set_reversible: bool = 392, 1;
        /// In a request: most paths wanted.
        numb_path, set_numb_path: u8 = 393, 7;
        /// Partition.
        p_key, set_p_key: PKey = 400, 16;
        /// Class of service wanted.
        qos_class, set_qos_class: u16 = 416, 12;
        /// Service level.
        sl, set_sl: Sl = 428, 4;
        /// Comparison with `mtu` that the request asks for.
        mtu_selector, set_mtu_selector: Selector = 432, 2;
        /// Largest payload.
        mtu, set_mtu: Mtu = 434, 6;
        /// Comparison with `rate` that the request asks for.
        rate_selector, set_rate_selector: Selector = 440, 2;
        /// Rate.
        rate, set_rate: Rate = 442, 6;
        /// Comparison with `packet_life_time` that the request asks for.
        packet_life_time_selector, set_packet_life_time_selector: Selector = 448, 2;
        /// Longest time a packet takes: 4.096 us * 2^n.
        packet_life_time, set_packet_life_time: u8 = 450, 6;
        /// 0 is the best of several paths.
        preference, set_preference: u8 = 456, 8;
        /// Membership of the P_Key on the reverse path.
        reverse_path_p_key_member_bit, set_reverse_path_p_key_member_bit: u8 = 464, 2;
        #[doc(hidden)]
        reserved2, set_reserved2: u16 = 466, 14;
        #[doc(hidden)]
        reserved3, set_reserved3: u32 = 480, 32;
    }
}

impl Attribute for PathRecord {
    const ID: AttributeId = AttributeId(0x0035);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`PathRecord`] that a query compares.
    pub struct PathComponents for PathRecord {
        SERVICE_ID_8MSB = 0 => "service_id_8msb",
        SERVICE_ID_56LSB = 1 => "service_id_56lsb",
        DGID = 2 => "dgid",
        SGID = 3 => "sgid",
        DLID = 4 => "dlid",
        SLID = 5 => "slid",
        RAW_TRAFFIC = 6 => "raw_traffic",
        RESERVED1 = 7 => "reserved1",
        FLOW_LABEL = 8 => "flow_label",
        HOP_LIMIT = 9 => "hop_limit",
        TCLASS = 10 => "tclass",
        REVERSIBLE = 11 => "reversible",
        NUMB_PATH = 12 => "numb_path",
        P_KEY = 13 => "p_key",
        QOS_CLASS = 14 => "qos_class",
        SL = 15 => "sl",
        MTU_SELECTOR = 16 => "mtu_selector",
        MTU = 17 => "mtu",
        RATE_SELECTOR = 18 => "rate_selector",
        RATE = 19 => "rate",
        PACKET_LIFE_TIME_SELECTOR = 20 => "packet_life_time_selector",
        PACKET_LIFE_TIME = 21 => "packet_life_time",
        PREFERENCE = 22 => "preference",
    }
}

impl Record for PathRecord {
    type Components = PathComponents;
}
