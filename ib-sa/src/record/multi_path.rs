//! MultiPathRecord: paths between sets of ports (IBA vol. 1, 15.2.5.20).
//!
//! GetMulti is RMPP in both directions: the number of GIDs after the structure is the sum of the two
//! counts.

use ib_mad::{Attribute, AttributeId};
use ib_wire::{Gid, Mtu, PKey, Rate, Sl, table::Layout, wire_struct};

use crate::{Record, Selector, components};

wire_struct! {
    /// Paths between sets of ports.
    ///
    /// Source: IBA vol. 1, 15.2.5.20; `attributes.csv`, struct `MultiPathRecord`.
    pub struct MultiPathRecord("MultiPathRecord", 40 bytes) {
        /// Asks for a path for raw packets.
        raw_traffic, set_raw_traffic: bool = 0, 1;
        #[doc(hidden)]
        reserved1, set_reserved1: u8 = 1, 3;
        /// Flow label of the GRH.
        flow_label, set_flow_label: u32 = 4, 20;
        /// Hop limit of the GRH: 0 inside the subnet.
        hop_limit, set_hop_limit: u8 = 24, 8;
        /// Traffic class of the GRH.
        tclass, set_tclass: u8 = 32, 8;
        /// The reverse path is the same.
        reversible, set_reversible: bool = 40, 1;
        /// In a request: most paths wanted.
        numb_path, set_numb_path: u8 = 41, 7;
        /// Partition.
        p_key, set_p_key: PKey = 48, 16;
        /// Class of service wanted.
        qos_class, set_qos_class: u16 = 64, 12;
        /// Service level.
        sl, set_sl: Sl = 76, 4;
        /// Comparison with `mtu` that the request asks for.
        mtu_selector, set_mtu_selector: Selector = 80, 2;
        /// Largest payload.
        mtu, set_mtu: Mtu = 82, 6;
        /// Comparison with `rate` that the request asks for.
        rate_selector, set_rate_selector: Selector = 88, 2;
        /// Rate.
        rate, set_rate: Rate = 90, 6;
        /// Comparison with `packet_life_time` that the request asks for.
        packet_life_time_selector, set_packet_life_time_selector: Selector = 96, 2;
        /// Longest time a packet takes: 4.096 us * 2^n.
        packet_life_time, set_packet_life_time: u8 = 98, 6;
        /// Highest byte of the service ID.
        service_id_8msb, set_service_id_8msb: u8 = 104, 8;
        /// The independence that the paths are to have of each other.
        independence_selector, set_independence_selector: u8 = 112, 2;
        #[doc(hidden)]
        reserved2, set_reserved2: u8 = 114, 6;
        /// Number of source GIDs.
        sgid_count, set_sgid_count: u8 = 120, 8;
        /// Number of destination GIDs.
        dgid_count, set_dgid_count: u8 = 128, 8;
        /// The other bytes of the service ID.
        service_id_56lsb, set_service_id_56lsb: u64 = 136, 56;
        /// The first of the GIDs: sources, then destinations. The others follow the structure:
        /// [`pack_multi_path`](crate::pack_multi_path) writes them all,
        /// [`MultiPathQuery`](crate::MultiPathQuery) reads them.
        sdgid, set_sdgid: [Gid; 1] = 192, 128;
    }
}

impl Attribute for MultiPathRecord {
    const ID: AttributeId = AttributeId(0x003A);
    const LAYOUT: &'static Layout = Self::LAYOUT;
}

components! {
    /// Components of [`MultiPathRecord`] that a query compares.
    pub struct MultiPathComponents for MultiPathRecord {
        RAW_TRAFFIC = 0 => "raw_traffic",
        RESERVED1 = 1 => "reserved1",
        FLOW_LABEL = 2 => "flow_label",
        HOP_LIMIT = 3 => "hop_limit",
        TCLASS = 4 => "tclass",
        REVERSIBLE = 5 => "reversible",
        NUMB_PATH = 6 => "numb_path",
        P_KEY = 7 => "p_key",
        QOS_CLASS = 8 => "qos_class",
        SL = 9 => "sl",
        MTU_SELECTOR = 10 => "mtu_selector",
        MTU = 11 => "mtu",
        RATE_SELECTOR = 12 => "rate_selector",
        RATE = 13 => "rate",
        PACKET_LIFE_TIME_SELECTOR = 14 => "packet_life_time_selector",
        PACKET_LIFE_TIME = 15 => "packet_life_time",
        SERVICE_ID_8MSB = 16 => "service_id_8msb",
        INDEPENDENCE_SELECTOR = 17 => "independence_selector",
        RESERVED2 = 18 => "reserved2",
        SGID_COUNT = 19 => "sgid_count",
        DGID_COUNT = 20 => "dgid_count",
        SERVICE_ID_56LSB = 21 => "service_id_56lsb",
    }
}

impl Record for MultiPathRecord {
    type Components = MultiPathComponents;
}
