//! The steps of each layout with a printer. A test makes this file, and says how to call it.

use super::{Printer, printers};
use crate::{Cursor, value::Value::*, window::{InByte, Whole, Window}};

pub(super) const PRINTERS: &[(&str, Printer)] = printers! {
    "LRH" 8 {
        b"{\"name\":\"LRH\",\"offset\":" Offset;
        b",\"fields\":{\"vl\":" Small(InByte { start: 0, shift: 4, mask: 15 });
        b",\"lver\":" Small(InByte { start: 0, shift: 0, mask: 15 });
        b",\"sl\":" Small(InByte { start: 1, shift: 4, mask: 15 });
        b",\"resv2\":" Small(InByte { start: 1, shift: 2, mask: 3 });
        b",\"lnh\":" Small(InByte { start: 1, shift: 0, mask: 3 });
        b",\"dlid\":" Half(Whole { start: 2 });
        b",\"resv5\":" Small(InByte { start: 4, shift: 3, mask: 31 });
        b",\"pkt_len\":" Short(Window { start: 0, mask: 2047, shift: 16 });
        b",\"slid\":" Half(Whole { start: 6 });
        b"}}" Nothing;
    }
    "GRH" 40 {
        b"{\"name\":\"GRH\",\"offset\":" Offset;
        b",\"fields\":{\"ip_ver\":" Small(InByte { start: 0, shift: 4, mask: 15 });
        b",\"t_class\":" Short(Window { start: 0, mask: 255, shift: 52 });
        b",\"flow_label\":" Number(Window { start: 1, mask: 1048575, shift: 40 });
        b",\"pay_len\":" Half(Whole { start: 4 });
        b",\"nxt_hdr\":" Byte(Whole { start: 6 });
        b",\"hop_lmt\":" Byte(Whole { start: 7 });
        b",\"sgid\":\"" Gid { start: 8 };
        b"\",\"dgid\":\"" Gid { start: 24 };
        b"\"}}" Nothing;
    }
    "RWH" 4 {
        b"{\"name\":\"RWH\",\"offset\":" Offset;
        b",\"fields\":{\"reserved\":" Half(Whole { start: 0 });
        b",\"ether_type\":" Half(Whole { start: 2 });
        b"}}" Nothing;
    }
    "BTH" 12 {
        b"{\"name\":\"BTH\",\"offset\":" Offset;
        b",\"fields\":{\"op_code\":" Byte(Whole { start: 0 });
        b",\"se\":" Small(InByte { start: 1, shift: 7, mask: 1 });
        b",\"mig_req\":" Small(InByte { start: 1, shift: 6, mask: 1 });
        b",\"pad_cnt\":" Small(InByte { start: 1, shift: 4, mask: 3 });
        b",\"t_ver\":" Small(InByte { start: 1, shift: 0, mask: 15 });
        b",\"p_key\":" Half(Whole { start: 2 });
        b",\"fecn\":" Small(InByte { start: 4, shift: 7, mask: 1 });
        b",\"becn\":" Small(InByte { start: 4, shift: 6, mask: 1 });
        b",\"resv6\":" Small(InByte { start: 4, shift: 0, mask: 63 });
        b",\"dest_qp\":" Number(Window { start: 4, mask: 16777215, shift: 32 });
        b",\"ack_req\":" Small(InByte { start: 8, shift: 7, mask: 1 });
        b",\"resv7\":" Small(InByte { start: 8, shift: 0, mask: 127 });
        b",\"psn\":" Number(Window { start: 4, mask: 16777215, shift: 0 });
        b"}}" Nothing;
    }
    "RDETH" 4 {
        b"{\"name\":\"RDETH\",\"offset\":" Offset;
        b",\"fields\":{\"reserved\":" Byte(Whole { start: 0 });
        b",\"ee_context\":" Number(Window { start: 0, mask: 16777215, shift: 32 });
        b"}}" Nothing;
    }
    "DETH" 8 {
        b"{\"name\":\"DETH\",\"offset\":" Offset;
        b",\"fields\":{\"q_key\":" Word(Whole { start: 0 });
        b",\"reserved\":" Byte(Whole { start: 4 });
        b",\"src_qp\":" Number(Window { start: 0, mask: 16777215, shift: 0 });
        b"}}" Nothing;
    }
    "RETH" 16 {
        b"{\"name\":\"RETH\",\"offset\":" Offset;
        b",\"fields\":{\"va\":\"0x" Octets(Whole { start: 0 });
        b"\",\"r_key\":" Word(Whole { start: 8 });
        b",\"dma_len\":" Word(Whole { start: 12 });
        b"}}" Nothing;
    }
    "AtomicETH" 28 {
        b"{\"name\":\"AtomicETH\",\"offset\":" Offset;
        b",\"fields\":{\"va\":\"0x" Octets(Whole { start: 0 });
        b"\",\"r_key\":" Word(Whole { start: 8 });
        b",\"swap_dt\":\"0x" Octets(Whole { start: 12 });
        b"\",\"cmp_dt\":\"0x" Octets(Whole { start: 20 });
        b"\"}}" Nothing;
    }
    "AETH" 4 {
        b"{\"name\":\"AETH\",\"offset\":" Offset;
        b",\"fields\":{\"syndrome\":" Byte(Whole { start: 0 });
        b",\"msn\":" Number(Window { start: 0, mask: 16777215, shift: 32 });
        b"}}" Nothing;
    }
    "AETHSyndrome" 1 {
        b"{\"name\":\"AETHSyndrome\",\"offset\"" Nothing;
        b":" Offset;
        b",\"fields\":{\"resv1\":" Small(InByte { start: 0, shift: 7, mask: 1 });
        b",\"class\":" Small(InByte { start: 0, shift: 5, mask: 3 });
        b",\"value\":" Small(InByte { start: 0, shift: 0, mask: 31 });
        b"}}" Nothing;
    }
    "AtomicAckETH" 8 {
        b"{\"name\":\"AtomicAckETH\",\"offset\"" Nothing;
        b":" Offset;
        b",\"fields\":{\"orig_rem_dt\":\"0x" Octets(Whole { start: 0 });
        b"\"}}" Nothing;
    }
    "ImmDt" 4 {
        b"{\"name\":\"ImmDt\",\"offset\":" Offset;
        b",\"fields\":{\"imm_dt\":\"" Bytes { start: 0, len: 4 };
        b"\"}}" Nothing;
    }
    "IETH" 4 {
        b"{\"name\":\"IETH\",\"offset\":" Offset;
        b",\"fields\":{\"r_key\":" Word(Whole { start: 0 });
        b"}}" Nothing;
    }
    "XRCETH" 4 {
        b"{\"name\":\"XRCETH\",\"offset\":" Offset;
        b",\"fields\":{\"reserved\":" Byte(Whole { start: 0 });
        b",\"xrc_srq\":" Number(Window { start: 0, mask: 16777215, shift: 32 });
        b"}}" Nothing;
    }
    "FlowControlPacket" 6 {
        b"{\"name\":\"FlowControlPacket\",\"of" Nothing;
        b"fset\":" Offset;
        b",\"fields\":{\"op\":" Small(InByte { start: 0, shift: 4, mask: 15 });
        b",\"fctbs\":" Short(Window { start: 0, mask: 4095, shift: 48 });
        b",\"vl\":" Small(InByte { start: 2, shift: 4, mask: 15 });
        b",\"fccl\":" Short(Window { start: 0, mask: 4095, shift: 32 });
        b",\"lpcrc\":" Half(Whole { start: 4 });
        b"}}" Nothing;
    }
    "CNP_RoCEv2" 16 {
        b"{\"name\":\"CNP_RoCEv2\",\"offset\":" Offset;
        b",\"fields\":{\"reserved\":\"0x" Bytes { start: 0, len: 16 };
        b"\"}}" Nothing;
    }
    "UDP" 8 {
        b"{\"name\":\"UDP\",\"offset\":" Offset;
        b",\"fields\":{\"src_port\":" Half(Whole { start: 0 });
        b",\"dst_port\":" Half(Whole { start: 2 });
        b",\"length\":" Half(Whole { start: 4 });
        b",\"checksum\":" Half(Whole { start: 6 });
        b"}}" Nothing;
    }
    "IPoIBHeader" 4 {
        b"{\"name\":\"IPoIBHeader\",\"offset\":" Offset;
        b",\"fields\":{\"ether_type\":" Half(Whole { start: 0 });
        b",\"reserved\":" Half(Whole { start: 2 });
        b"}}" Nothing;
    }
    "IPoIBAddress" 20 {
        b"{\"name\":\"IPoIBAddress\",\"offset\"" Nothing;
        b":" Offset;
        b",\"fields\":{\"rc\":" Small(InByte { start: 0, shift: 7, mask: 1 });
        b",\"uc\":" Small(InByte { start: 0, shift: 6, mask: 1 });
        b",\"reserved\":" Small(InByte { start: 0, shift: 0, mask: 63 });
        b",\"qpn\":" Number(Window { start: 1, mask: 16777215, shift: 40 });
        b",\"gid\":\"" Gid { start: 4 };
        b"\"}}" Nothing;
    }
    "IPoIBARP" 56 {
        b"{\"name\":\"IPoIBARP\",\"offset\":" Offset;
        b",\"fields\":{\"hardware_type\":" Half(Whole { start: 0 });
        b",\"protocol_type\":" Half(Whole { start: 2 });
        b",\"hardware_len\":" Byte(Whole { start: 4 });
        b",\"protocol_len\":" Byte(Whole { start: 5 });
        b",\"operation\":" Half(Whole { start: 6 });
        b",\"sender_hardware\":{\"rc\":" Small(InByte { start: 8, shift: 7, mask: 1 });
        b",\"uc\":" Small(InByte { start: 8, shift: 6, mask: 1 });
        b",\"reserved\":" Small(InByte { start: 8, shift: 0, mask: 63 });
        b",\"qpn\":" Number(Window { start: 9, mask: 16777215, shift: 40 });
        b",\"gid\":\"" Gid { start: 12 };
        b"\"},\"sender_protocol\":\"" Bytes { start: 28, len: 4 };
        b"\",\"target_hardware\":{\"rc\":" Small(InByte { start: 32, shift: 7, mask: 1 });
        b",\"uc\":" Small(InByte { start: 32, shift: 6, mask: 1 });
        b",\"reserved\":" Small(InByte { start: 32, shift: 0, mask: 63 });
        b",\"qpn\":" Number(Window { start: 33, mask: 16777215, shift: 40 });
        b",\"gid\":\"" Gid { start: 36 };
        b"\"},\"target_protocol\":\"" Bytes { start: 52, len: 4 };
        b"\"}}" Nothing;
    }
    "IPoIBMGID" 16 {
        b"{\"name\":\"IPoIBMGID\",\"offset\":" Offset;
        b",\"fields\":{\"prefix\":" Byte(Whole { start: 0 });
        b",\"flags\":" Small(InByte { start: 1, shift: 4, mask: 15 });
        b",\"scope\":" Small(InByte { start: 1, shift: 0, mask: 15 });
        b",\"signature\":" Half(Whole { start: 2 });
        b",\"p_key\":" Half(Whole { start: 4 });
        b",\"group_id\":\"" Bytes { start: 6, len: 10 };
        b"\"}}" Nothing;
    }
    "GID" 16 {
        b"{\"name\":\"GID\",\"offset\":" Offset;
        b",\"fields\":{\"subnet_prefix\":\"0x" Octets(Whole { start: 0 });
        b"\",\"interface_id\":\"0x" Octets(Whole { start: 8 });
        b"\"}}" Nothing;
    }
    "MulticastGID" 16 {
        b"{\"name\":\"MulticastGID\",\"offset\"" Nothing;
        b":" Offset;
        b",\"fields\":{\"prefix\":" Byte(Whole { start: 0 });
        b",\"flags\":" Small(InByte { start: 1, shift: 4, mask: 15 });
        b",\"scope\":" Small(InByte { start: 1, shift: 0, mask: 15 });
        b",\"group_id\":\"" Bytes { start: 2, len: 14 };
        b"\"}}" Nothing;
    }
    "PKey" 2 {
        b"{\"name\":\"PKey\",\"offset\":" Offset;
        b",\"fields\":{\"membership\":" Small(InByte { start: 0, shift: 7, mask: 1 });
        b",\"base\":" Short(Window { start: 0, mask: 32767, shift: 48 });
        b"}}" Nothing;
    }
    "Ethernet" 14 {
        b"{\"name\":\"Ethernet\",\"offset\":" Offset;
        b",\"fields\":{\"dst\":\"" Bytes { start: 0, len: 6 };
        b"\",\"src\":\"" Bytes { start: 6, len: 6 };
        b"\",\"ether_type\":" Half(Whole { start: 12 });
        b"}}" Nothing;
    }
    "VLAN" 4 {
        b"{\"name\":\"VLAN\",\"offset\":" Offset;
        b",\"fields\":{\"pcp\":" Small(InByte { start: 0, shift: 5, mask: 7 });
        b",\"dei\":" Small(InByte { start: 0, shift: 4, mask: 1 });
        b",\"vid\":" Short(Window { start: 0, mask: 4095, shift: 48 });
        b",\"ether_type\":" Half(Whole { start: 2 });
        b"}}" Nothing;
    }
    "IPv4" 20 {
        b"{\"name\":\"IPv4\",\"offset\":" Offset;
        b",\"fields\":{\"version\":" Small(InByte { start: 0, shift: 4, mask: 15 });
        b",\"ihl\":" Small(InByte { start: 0, shift: 0, mask: 15 });
        b",\"dscp\":" Small(InByte { start: 1, shift: 2, mask: 63 });
        b",\"ecn\":" Small(InByte { start: 1, shift: 0, mask: 3 });
        b",\"total_length\":" Half(Whole { start: 2 });
        b",\"identification\":" Half(Whole { start: 4 });
        b",\"reserved\":" Small(InByte { start: 6, shift: 7, mask: 1 });
        b",\"df\":" Small(InByte { start: 6, shift: 6, mask: 1 });
        b",\"mf\":" Small(InByte { start: 6, shift: 5, mask: 1 });
        b",\"fragment_offset\":" Short(Window { start: 6, mask: 8191, shift: 48 });
        b",\"ttl\":" Byte(Whole { start: 8 });
        b",\"protocol\":" Byte(Whole { start: 9 });
        b",\"checksum\":" Half(Whole { start: 10 });
        b",\"src\":\"" Bytes { start: 12, len: 4 };
        b"\",\"dst\":\"" Bytes { start: 16, len: 4 };
        b"\"}}" Nothing;
    }
    "IPv4OptionWord" 4 {
        b"{\"name\":\"IPv4OptionWord\",\"offse" Nothing;
        b"t\":" Offset;
        b",\"fields\":{\"option\":\"" Bytes { start: 0, len: 4 };
        b"\"}}" Nothing;
    }
    "IPv6" 40 {
        b"{\"name\":\"IPv6\",\"offset\":" Offset;
        b",\"fields\":{\"version\":" Small(InByte { start: 0, shift: 4, mask: 15 });
        b",\"traffic_class\":" Short(Window { start: 0, mask: 255, shift: 52 });
        b",\"flow_label\":" Number(Window { start: 1, mask: 1048575, shift: 40 });
        b",\"payload_length\":" Half(Whole { start: 4 });
        b",\"next_header\":" Byte(Whole { start: 6 });
        b",\"hop_limit\":" Byte(Whole { start: 7 });
        b",\"src\":\"" Gid { start: 8 };
        b"\",\"dst\":\"" Gid { start: 24 };
        b"\"}}" Nothing;
    }
    "SMPLidRouted" 256 {
        b"{\"name\":\"SMPLidRouted\",\"offset\"" Nothing;
        b":" Offset;
        b",\"fields\":{\"base_version\":" Byte(Whole { start: 0 });
        b",\"mgmt_class\":" Byte(Whole { start: 1 });
        b",\"class_version\":" Byte(Whole { start: 2 });
        b",\"method\":" Byte(Whole { start: 3 });
        b",\"status\":" Half(Whole { start: 4 });
        b",\"class_specific\":" Half(Whole { start: 6 });
        b",\"transaction_id\":\"0x" Octets(Whole { start: 8 });
        b"\",\"attribute_id\":" Half(Whole { start: 16 });
        b",\"header_reserved\":" Half(Whole { start: 18 });
        b",\"attribute_modifier\":" Word(Whole { start: 20 });
        b",\"m_key\":\"0x" Octets(Whole { start: 24 });
        b"\",\"reserved1\":\"0x" Bytes { start: 32, len: 32 };
        b"\",\"smp_data\":\"" Bytes { start: 64, len: 64 };
        b"\",\"reserved2\":\"0x" Bytes { start: 128, len: 128 };
        b"\"}}" Nothing;
    }
    "NoticeSM" 64 {
        b"{\"name\":\"NoticeSM\",\"offset\":" Offset;
        b",\"fields\":{\"is_generic\":" Small(InByte { start: 0, shift: 7, mask: 1 });
        b",\"type\":" Small(InByte { start: 0, shift: 0, mask: 127 });
        b",\"producer_type\":" Number(Window { start: 1, mask: 16777215, shift: 40 });
        b",\"trap_number\":" Half(Whole { start: 4 });
        b",\"issuer_lid\":" Half(Whole { start: 6 });
        b",\"notice_toggle\":" Small(InByte { start: 8, shift: 7, mask: 1 });
        b",\"notice_count\":" Short(Window { start: 8, mask: 32767, shift: 48 });
        b",\"data_details\":\"" Bytes { start: 10, len: 54 };
        b"\"}}" Nothing;
    }
    "NodeDescription" 64 {
        b"{\"name\":\"NodeDescription\",\"offs" Nothing;
        b"et\":" Offset;
        b",\"fields\":{\"node_string\":\"" Text { start: 0, len: 64 };
        b"\"}}" Nothing;
    }
    "NodeInfo" 40 {
        b"{\"name\":\"NodeInfo\",\"offset\":" Offset;
        b",\"fields\":{\"base_version\":" Byte(Whole { start: 0 });
        b",\"class_version\":" Byte(Whole { start: 1 });
        b",\"node_type\":" Byte(Whole { start: 2 });
        b",\"num_ports\":" Byte(Whole { start: 3 });
        b",\"system_image_guid\":\"0x" Octets(Whole { start: 4 });
        b"\",\"node_guid\":\"0x" Octets(Whole { start: 12 });
        b"\",\"port_guid\":\"0x" Octets(Whole { start: 20 });
        b"\",\"partition_cap\":" Half(Whole { start: 28 });
        b",\"device_id\":" Half(Whole { start: 30 });
        b",\"revision\":" Word(Whole { start: 32 });
        b",\"local_port_num\":" Byte(Whole { start: 36 });
        b",\"vendor_id\":" Number(Window { start: 32, mask: 16777215, shift: 0 });
        b"}}" Nothing;
    }
    "SwitchInfo" 20 {
        b"{\"name\":\"SwitchInfo\",\"offset\":" Offset;
        b",\"fields\":{\"linear_fdb_cap\":" Half(Whole { start: 0 });
        b",\"random_fdb_cap\":" Half(Whole { start: 2 });
        b",\"multicast_fdb_cap\":" Half(Whole { start: 4 });
        b",\"linear_fdb_top\":" Half(Whole { start: 6 });
        b",\"default_port\":" Byte(Whole { start: 8 });
        b",\"default_multicast_primary_por" Nothing;
        b"t\":" Byte(Whole { start: 9 });
        b",\"default_multicast_not_primary" Nothing;
        b"_port\":" Byte(Whole { start: 10 });
        b",\"life_time_value\":" Small(InByte { start: 11, shift: 3, mask: 31 });
        b",\"port_state_change\":" Small(InByte { start: 11, shift: 2, mask: 1 });
        b",\"optimized_sl_to_vl_mapping_pr" Nothing;
        b"ogramming\":" Small(InByte { start: 11, shift: 0, mask: 3 });
        b",\"lids_per_port\":" Half(Whole { start: 12 });
        b",\"partition_enforcement_cap\":" Half(Whole { start: 14 });
        b",\"inbound_enforcement_cap\":" Small(InByte { start: 16, shift: 7, mask: 1 });
        b",\"outbound_enforcement_cap\":" Small(InByte { start: 16, shift: 6, mask: 1 });
        b",\"filter_raw_inbound_cap\":" Small(InByte { start: 16, shift: 5, mask: 1 });
        b",\"filter_raw_outbound_cap\":" Small(InByte { start: 16, shift: 4, mask: 1 });
        b",\"enhanced_port0\":" Small(InByte { start: 16, shift: 3, mask: 1 });
        b",\"reserved1\":" Small(InByte { start: 16, shift: 0, mask: 7 });
        b",\"reserved2\":" Byte(Whole { start: 17 });
        b",\"multicast_fdb_top\":" Half(Whole { start: 18 });
        b"}}" Nothing;
    }
    "PortInfo" 64 {
        b"{\"name\":\"PortInfo\",\"offset\":" Offset;
        b",\"fields\":{\"m_key\":\"0x" Octets(Whole { start: 0 });
        b"\",\"gid_prefix\":\"0x" Octets(Whole { start: 8 });
        b"\",\"lid\":" Half(Whole { start: 16 });
        b",\"master_sm_lid\":" Half(Whole { start: 18 });
        b",\"capability_mask\":" Word(Whole { start: 20 });
        b",\"diag_code\":" Half(Whole { start: 24 });
        b",\"m_key_lease_period\":" Half(Whole { start: 26 });
        b",\"local_port_num\":" Byte(Whole { start: 28 });
        b",\"link_width_enabled\":" Byte(Whole { start: 29 });
        b",\"link_width_supported\":" Byte(Whole { start: 30 });
        b",\"link_width_active\":" Byte(Whole { start: 31 });
        b",\"link_speed_supported\":" Small(InByte { start: 32, shift: 4, mask: 15 });
        b",\"port_state\":" Small(InByte { start: 32, shift: 0, mask: 15 });
        b",\"port_physical_state\":" Small(InByte { start: 33, shift: 4, mask: 15 });
        b",\"link_down_default_state\":" Small(InByte { start: 33, shift: 0, mask: 15 });
        b",\"m_key_protect_bits\":" Small(InByte { start: 34, shift: 6, mask: 3 });
        b",\"reserved1\":" Small(InByte { start: 34, shift: 3, mask: 7 });
        b",\"lmc\":" Small(InByte { start: 34, shift: 0, mask: 7 });
        b",\"link_speed_active\":" Small(InByte { start: 35, shift: 4, mask: 15 });
        b",\"link_speed_enabled\":" Small(InByte { start: 35, shift: 0, mask: 15 });
        b",\"neighbor_mtu\":" Small(InByte { start: 36, shift: 4, mask: 15 });
        b",\"master_sm_sl\":" Small(InByte { start: 36, shift: 0, mask: 15 });
        b",\"vl_cap\":" Small(InByte { start: 37, shift: 4, mask: 15 });
        b",\"init_type\":" Small(InByte { start: 37, shift: 0, mask: 15 });
        b",\"vl_high_limit\":" Byte(Whole { start: 38 });
        b",\"vl_arbitration_high_cap\":" Byte(Whole { start: 39 });
        b",\"vl_arbitration_low_cap\":" Byte(Whole { start: 40 });
        b",\"init_type_reply\":" Small(InByte { start: 41, shift: 4, mask: 15 });
        b",\"mtu_cap\":" Small(InByte { start: 41, shift: 0, mask: 15 });
        b",\"vl_stall_count\":" Small(InByte { start: 42, shift: 5, mask: 7 });
        b",\"hoq_life\":" Small(InByte { start: 42, shift: 0, mask: 31 });
        b",\"operational_vls\":" Small(InByte { start: 43, shift: 4, mask: 15 });
        b",\"partition_enforcement_inbound" Nothing;
        b"\":" Small(InByte { start: 43, shift: 3, mask: 1 });
        b",\"partition_enforcement_outboun" Nothing;
        b"d\":" Small(InByte { start: 43, shift: 2, mask: 1 });
        b",\"filter_raw_inbound\":" Small(InByte { start: 43, shift: 1, mask: 1 });
        b",\"filter_raw_outbound\":" Small(InByte { start: 43, shift: 0, mask: 1 });
        b",\"m_key_violations\":" Half(Whole { start: 44 });
        b",\"p_key_violations\":" Half(Whole { start: 46 });
        b",\"q_key_violations\":" Half(Whole { start: 48 });
        b",\"guid_cap\":" Byte(Whole { start: 50 });
        b",\"client_reregister\":" Small(InByte { start: 51, shift: 7, mask: 1 });
        b",\"multicast_p_key_trap_suppress" Nothing;
        b"ion_enabled\":" Small(InByte { start: 51, shift: 5, mask: 3 });
        b",\"subnet_timeout\":" Small(InByte { start: 51, shift: 0, mask: 31 });
        b",\"reserved2\":" Small(InByte { start: 52, shift: 5, mask: 7 });
        b",\"resp_time_value\":" Small(InByte { start: 52, shift: 0, mask: 31 });
        b",\"local_phy_errors\":" Small(InByte { start: 53, shift: 4, mask: 15 });
        b",\"overrun_errors\":" Small(InByte { start: 53, shift: 0, mask: 15 });
        b",\"max_credit_hint\":" Half(Whole { start: 54 });
        b",\"reserved3\":" Small(InByte { start: 56, shift: 7, mask: 1 });
        b",\"link_speed_ext_active2\":" Small(InByte { start: 56, shift: 5, mask: 3 });
        b",\"link_speed_ext_supported2\":" Small(InByte { start: 56, shift: 3, mask: 3 });
        b",\"link_speed_ext_enabled2\":" Small(InByte { start: 56, shift: 0, mask: 7 });
        b",\"link_round_trip_latency\":" Number(Window { start: 56, mask: 16777215, shift: 32 });
        b",\"capability_mask2\":" Half(Whole { start: 60 });
        b",\"link_speed_ext_active\":" Small(InByte { start: 62, shift: 4, mask: 15 });
        b",\"link_speed_ext_supported\":" Small(InByte { start: 62, shift: 0, mask: 15 });
        b",\"reserved4\":" Small(InByte { start: 63, shift: 5, mask: 7 });
        b",\"link_speed_ext_enabled\":" Small(InByte { start: 63, shift: 0, mask: 31 });
        b"}}" Nothing;
    }
    "LinearForwardingTable" 64 {
        b"{\"name\":\"LinearForwardingTable\"" Nothing;
        b",\"offset\":" Offset;
        b",\"fields\":{\"port_block\":[" List { start: 0, len: 63, separator: 44 };
        b"" Byte(Whole { start: 63 });
        b"]}}" Nothing;
    }
    "SMInfo" 24 {
        b"{\"name\":\"SMInfo\",\"offset\":" Offset;
        b",\"fields\":{\"guid\":\"0x" Octets(Whole { start: 0 });
        b"\",\"sm_key\":\"0x" Octets(Whole { start: 8 });
        b"\",\"act_count\":" Word(Whole { start: 16 });
        b",\"priority\":" Small(InByte { start: 20, shift: 4, mask: 15 });
        b",\"sm_state\":" Small(InByte { start: 20, shift: 0, mask: 15 });
        b",\"reserved1\":" Number(Window { start: 16, mask: 16777215, shift: 0 });
        b"}}" Nothing;
    }
    "VendorDiag" 64 {
        b"{\"name\":\"VendorDiag\",\"offset\":" Offset;
        b",\"fields\":{\"next_index\":" Half(Whole { start: 0 });
        b",\"diag_data\":\"" Bytes { start: 2, len: 62 };
        b"\"}}" Nothing;
    }
    "LedInfo" 4 {
        b"{\"name\":\"LedInfo\",\"offset\":" Offset;
        b",\"fields\":{\"led_mask\":" Small(InByte { start: 0, shift: 7, mask: 1 });
        b",\"reserved1\":" Number(Window { start: 0, mask: 2147483647, shift: 32 });
        b"}}" Nothing;
    }
    "PortInfoExtended" 64 {
        b"{\"name\":\"PortInfoExtended\",\"off" Nothing;
        b"set\":" Offset;
        b",\"fields\":{\"capability_mask\":" Word(Whole { start: 0 });
        b",\"fec_mode_active\":" Half(Whole { start: 4 });
        b",\"fdr_fec_mode_supported\":" Half(Whole { start: 6 });
        b",\"fdr_fec_mode_enabled\":" Half(Whole { start: 8 });
        b",\"edr_fec_mode_supported\":" Half(Whole { start: 10 });
        b",\"edr_fec_mode_enabled\":" Half(Whole { start: 12 });
        b",\"hdr_fec_mode_supported\":" Half(Whole { start: 14 });
        b",\"hdr_fec_mode_enabled\":" Half(Whole { start: 16 });
        b",\"ndr_fec_mode_supported\":" Half(Whole { start: 18 });
        b",\"ndr_fec_mode_enabled\":" Half(Whole { start: 20 });
        b",\"reserved1\":\"0x" Bytes { start: 22, len: 42 };
        b"\"}}" Nothing;
    }
    "MlnxRegisterAccessSMP" 64 {
        b"{\"name\":\"MlnxRegisterAccessSMP\"" Nothing;
        b",\"offset\":" Offset;
        b",\"fields\":{\"operation\":{\"type\":" Small(InByte { start: 0, shift: 3, mask: 31 });
        b",\"len\":" Short(Window { start: 0, mask: 2047, shift: 48 });
        b",\"dr\":" Small(InByte { start: 2, shift: 7, mask: 1 });
        b",\"status\":" Small(InByte { start: 2, shift: 0, mask: 127 });
        b",\"reserved1\":" Byte(Whole { start: 3 });
        b",\"register_id\":" Half(Whole { start: 4 });
        b",\"r\":" Small(InByte { start: 6, shift: 7, mask: 1 });
        b",\"method\":" Small(InByte { start: 6, shift: 0, mask: 127 });
        b",\"class\":" Byte(Whole { start: 7 });
        b",\"tid\":\"0x" Octets(Whole { start: 8 });
        b"\"},\"register\":{\"type\":" Small(InByte { start: 16, shift: 3, mask: 31 });
        b",\"len\":" Short(Window { start: 16, mask: 2047, shift: 48 });
        b",\"reserved1\":" Half(Whole { start: 18 });
        b"},\"data\":\"" Bytes { start: 20, len: 44 };
        b"\"}}" Nothing;
    }
    "MlnxSemaphoreLock" 64 {
        b"{\"name\":\"MlnxSemaphoreLock\",\"of" Nothing;
        b"fset\":" Offset;
        b",\"fields\":{\"is_lease\":" Small(InByte { start: 0, shift: 7, mask: 1 });
        b",\"reserved1\":" Small(InByte { start: 0, shift: 0, mask: 127 });
        b",\"lease_time_exponent\":" Byte(Whole { start: 1 });
        b",\"reserved2\":" Byte(Whole { start: 2 });
        b",\"semaphore_max_address\":" Byte(Whole { start: 3 });
        b",\"reserved3\":" Short(Window { start: 4, mask: 16383, shift: 50 });
        b",\"op\":" Small(InByte { start: 5, shift: 0, mask: 3 });
        b",\"semaphore_address\":" Half(Whole { start: 6 });
        b",\"lock_key\":" Word(Whole { start: 8 });
        b",\"reserved4\":\"0x" Bytes { start: 12, len: 52 };
        b"\"}}" Nothing;
    }
    "MlnxCableInfo" 64 {
        b"{\"name\":\"MlnxCableInfo\",\"offset" Nothing;
        b"\":" Offset;
        b",\"fields\":{\"i2c_device_address\"" Nothing;
        b":" Byte(Whole { start: 0 });
        b",\"page_number\":" Byte(Whole { start: 1 });
        b",\"device_address\":" Half(Whole { start: 2 });
        b",\"reserved1\":" Half(Whole { start: 4 });
        b",\"size\":" Half(Whole { start: 6 });
        b",\"reserved2\":\"0x" Octets(Whole { start: 8 });
        b"\",\"data\":\"" Bytes { start: 16, len: 48 };
        b"\"}}" Nothing;
    }
    "MlnxExtPortInfo" 64 {
        b"{\"name\":\"MlnxExtPortInfo\",\"offs" Nothing;
        b"et\":" Offset;
        b",\"fields\":{\"reserved1\":" Number(Window { start: 0, mask: 16777215, shift: 40 });
        b",\"state_change_enable\":" Byte(Whole { start: 3 });
        b",\"reserved2\":" Number(Window { start: 4, mask: 16777215, shift: 40 });
        b",\"link_speed_supported\":" Byte(Whole { start: 7 });
        b",\"reserved3\":" Number(Window { start: 8, mask: 16777215, shift: 40 });
        b",\"link_speed_enabled\":" Byte(Whole { start: 11 });
        b",\"reserved4\":" Number(Window { start: 12, mask: 16777215, shift: 40 });
        b",\"link_speed_active\":" Byte(Whole { start: 15 });
        b",\"reserved5\":\"0x" Bytes { start: 16, len: 48 };
        b"\"}}" Nothing;
    }
    "RouterInfo" 64 {
        b"{\"name\":\"RouterInfo\",\"offset\":" Offset;
        b",\"fields\":{\"capability_mask\":" Word(Whole { start: 0 });
        b",\"next_hop_table_cap\":" Word(Whole { start: 4 });
        b",\"next_hop_table_top\":" Word(Whole { start: 8 });
        b",\"table_changes\":" Half(Whole { start: 12 });
        b",\"adjacent_subnets_table_top\":" Byte(Whole { start: 14 });
        b",\"adjacent_subnets_table_cap\":" Byte(Whole { start: 15 });
        b",\"supported_subnets_cap\":" Byte(Whole { start: 16 });
        b",\"reserved1\":" Byte(Whole { start: 17 });
        b",\"ar_group_table_cap\":" Half(Whole { start: 18 });
        b",\"reserved2\":" Small(InByte { start: 20, shift: 1, mask: 127 });
        b",\"fault_notification\":" Small(InByte { start: 20, shift: 0, mask: 1 });
        b",\"adjacent_router_lid_top\":" Byte(Whole { start: 21 });
        b",\"router_lid_cap\":" Half(Whole { start: 22 });
        b",\"max_ar_group_id\":" Short(Window { start: 24, mask: 4095, shift: 52 });
        b",\"global_router_lid_base\":" Number(Window { start: 25, mask: 1048575, shift: 40 });
        b",\"reserved3\":" Short(Window { start: 28, mask: 4095, shift: 52 });
        b",\"global_router_lid_top\":" Number(Window { start: 29, mask: 1048575, shift: 40 });
        b",\"reserved4\":" Short(Window { start: 32, mask: 4095, shift: 52 });
        b",\"local_router_lid_base\":" Number(Window { start: 33, mask: 1048575, shift: 40 });
        b",\"reserved5\":" Short(Window { start: 36, mask: 4095, shift: 52 });
        b",\"local_router_lid_top\":" Number(Window { start: 37, mask: 1048575, shift: 40 });
        b",\"reserved6\":\"0x" Bytes { start: 40, len: 24 };
        b"\"}}" Nothing;
    }
    "SMPDirected" 256 {
        b"{\"name\":\"SMPDirected\",\"offset\":" Offset;
        b",\"fields\":{\"base_version\":" Byte(Whole { start: 0 });
        b",\"mgmt_class\":" Byte(Whole { start: 1 });
        b",\"class_version\":" Byte(Whole { start: 2 });
        b",\"method\":" Byte(Whole { start: 3 });
        b",\"d\":" Small(InByte { start: 4, shift: 7, mask: 1 });
        b",\"status\":" Short(Window { start: 4, mask: 32767, shift: 48 });
        b",\"hop_pointer\":" Byte(Whole { start: 6 });
        b",\"hop_count\":" Byte(Whole { start: 7 });
        b",\"transaction_id\":\"0x" Octets(Whole { start: 8 });
        b"\",\"attribute_id\":" Half(Whole { start: 16 });
        b",\"header_reserved\":" Half(Whole { start: 18 });
        b",\"attribute_modifier\":" Word(Whole { start: 20 });
        b",\"m_key\":\"0x" Octets(Whole { start: 24 });
        b"\",\"dr_slid\":" Half(Whole { start: 32 });
        b",\"dr_dlid\":" Half(Whole { start: 34 });
        b",\"reserved1\":\"0x" Bytes { start: 36, len: 28 };
        b"\",\"smp_data\":\"" Bytes { start: 64, len: 64 };
        b"\",\"initial_path\":\"" Bytes { start: 128, len: 64 };
        b"\",\"return_path\":\"" Bytes { start: 192, len: 64 };
        b"\"}}" Nothing;
    }
    "SAMad" 256 {
        b"{\"name\":\"SAMad\",\"offset\":" Offset;
        b",\"fields\":{\"base_version\":" Byte(Whole { start: 0 });
        b",\"mgmt_class\":" Byte(Whole { start: 1 });
        b",\"class_version\":" Byte(Whole { start: 2 });
        b",\"method\":" Byte(Whole { start: 3 });
        b",\"status\":" Half(Whole { start: 4 });
        b",\"class_specific\":" Half(Whole { start: 6 });
        b",\"transaction_id\":\"0x" Octets(Whole { start: 8 });
        b"\",\"attribute_id\":" Half(Whole { start: 16 });
        b",\"header_reserved\":" Half(Whole { start: 18 });
        b",\"attribute_modifier\":" Word(Whole { start: 20 });
        b",\"rmpp_version\":" Byte(Whole { start: 24 });
        b",\"rmpp_type\":" Byte(Whole { start: 25 });
        b",\"r_resp_time\":" Small(InByte { start: 26, shift: 3, mask: 31 });
        b",\"last\":" Small(InByte { start: 26, shift: 2, mask: 1 });
        b",\"first\":" Small(InByte { start: 26, shift: 1, mask: 1 });
        b",\"active\":" Small(InByte { start: 26, shift: 0, mask: 1 });
        b",\"rmpp_status\":" Byte(Whole { start: 27 });
        b",\"data1\":" Word(Whole { start: 28 });
        b",\"data2\":" Word(Whole { start: 32 });
        b",\"sm_key\":\"0x" Octets(Whole { start: 36 });
        b"\",\"attribute_offset\":" Half(Whole { start: 44 });
        b",\"sa_reserved\":" Half(Whole { start: 46 });
        b",\"component_mask\":\"0x" Octets(Whole { start: 48 });
        b"\",\"data\":\"" Bytes { start: 56, len: 200 };
        b"\"}}" Nothing;
    }
    "ClassPortInfo" 72 {
        b"{\"name\":\"ClassPortInfo\",\"offset" Nothing;
        b"\":" Offset;
        b",\"fields\":{\"base_version\":" Byte(Whole { start: 0 });
        b",\"class_version\":" Byte(Whole { start: 1 });
        b",\"capability_mask\":" Half(Whole { start: 2 });
        b",\"capability_mask2\":" Number(Window { start: 4, mask: 134217727, shift: 37 });
        b",\"resp_time_value\":" Small(InByte { start: 7, shift: 0, mask: 31 });
        b",\"redirect_gid\":\"" Gid { start: 8 };
        b"\",\"redirect_tc\":" Byte(Whole { start: 24 });
        b",\"redirect_sl\":" Small(InByte { start: 25, shift: 4, mask: 15 });
        b",\"redirect_fl\":" Number(Window { start: 25, mask: 1048575, shift: 40 });
        b",\"redirect_lid\":" Half(Whole { start: 28 });
        b",\"redirect_p_key\":" Half(Whole { start: 30 });
        b",\"reserved1\":" Byte(Whole { start: 32 });
        b",\"redirect_qp\":" Number(Window { start: 33, mask: 16777215, shift: 40 });
        b",\"redirect_q_key\":" Word(Whole { start: 36 });
        b",\"trap_gid\":\"" Gid { start: 40 };
        b"\",\"trap_tc\":" Byte(Whole { start: 56 });
        b",\"trap_sl\":" Small(InByte { start: 57, shift: 4, mask: 15 });
        b",\"trap_fl\":" Number(Window { start: 57, mask: 1048575, shift: 40 });
        b",\"trap_lid\":" Half(Whole { start: 60 });
        b",\"trap_p_key\":" Half(Whole { start: 62 });
        b",\"trap_hl\":" Byte(Whole { start: 64 });
        b",\"trap_qp\":" Number(Window { start: 64, mask: 16777215, shift: 32 });
        b",\"trap_q_key\":" Word(Whole { start: 68 });
        b"}}" Nothing;
    }
    "Notice" 80 {
        b"{\"name\":\"Notice\",\"offset\":" Offset;
        b",\"fields\":{\"is_generic\":" Small(InByte { start: 0, shift: 7, mask: 1 });
        b",\"type\":" Small(InByte { start: 0, shift: 0, mask: 127 });
        b",\"producer_type\":" Number(Window { start: 1, mask: 16777215, shift: 40 });
        b",\"trap_number\":" Half(Whole { start: 4 });
        b",\"issuer_lid\":" Half(Whole { start: 6 });
        b",\"notice_toggle\":" Small(InByte { start: 8, shift: 7, mask: 1 });
        b",\"notice_count\":" Short(Window { start: 8, mask: 32767, shift: 48 });
        b",\"data_details\":\"" Bytes { start: 10, len: 54 };
        b"\",\"issuer_gid\":\"" Gid { start: 64 };
        b"\"}}" Nothing;
    }
    "InformInfo" 36 {
        b"{\"name\":\"InformInfo\",\"offset\":" Offset;
        b",\"fields\":{\"gid\":\"" Gid { start: 0 };
        b"\",\"lid_range_begin\":" Half(Whole { start: 16 });
        b",\"lid_range_end\":" Half(Whole { start: 18 });
        b",\"reserved1\":" Half(Whole { start: 20 });
        b",\"is_generic\":" Byte(Whole { start: 22 });
        b",\"subscribe\":" Byte(Whole { start: 23 });
        b",\"type\":" Half(Whole { start: 24 });
        b",\"trap_number\":" Half(Whole { start: 26 });
        b",\"qpn\":" Number(Window { start: 28, mask: 16777215, shift: 40 });
        b",\"reserved2\":" Small(InByte { start: 31, shift: 5, mask: 7 });
        b",\"resp_time_value\":" Small(InByte { start: 31, shift: 0, mask: 31 });
        b",\"reserved3\":" Byte(Whole { start: 32 });
        b",\"producer_type\":" Number(Window { start: 28, mask: 16777215, shift: 0 });
        b"}}" Nothing;
    }
    "NodeRecord" 108 {
        b"{\"name\":\"NodeRecord\",\"offset\":" Offset;
        b",\"fields\":{\"lid\":" Half(Whole { start: 0 });
        b",\"reserved1\":" Half(Whole { start: 2 });
        b",\"node_info\":{\"base_version\":" Byte(Whole { start: 4 });
        b",\"class_version\":" Byte(Whole { start: 5 });
        b",\"node_type\":" Byte(Whole { start: 6 });
        b",\"num_ports\":" Byte(Whole { start: 7 });
        b",\"system_image_guid\":\"0x" Octets(Whole { start: 8 });
        b"\",\"node_guid\":\"0x" Octets(Whole { start: 16 });
        b"\",\"port_guid\":\"0x" Octets(Whole { start: 24 });
        b"\",\"partition_cap\":" Half(Whole { start: 32 });
        b",\"device_id\":" Half(Whole { start: 34 });
        b",\"revision\":" Word(Whole { start: 36 });
        b",\"local_port_num\":" Byte(Whole { start: 40 });
        b",\"vendor_id\":" Number(Window { start: 41, mask: 16777215, shift: 40 });
        b"},\"node_description\":{\"node_str" Nothing;
        b"ing\":\"" Text { start: 44, len: 64 };
        b"\"}}}" Nothing;
    }
    "PortInfoRecord" 68 {
        b"{\"name\":\"PortInfoRecord\",\"offse" Nothing;
        b"t\":" Offset;
        b",\"fields\":{\"endport_lid\":" Half(Whole { start: 0 });
        b",\"port_num\":" Byte(Whole { start: 2 });
        b",\"options\":" Byte(Whole { start: 3 });
        b",\"port_info\":{\"m_key\":\"0x" Octets(Whole { start: 4 });
        b"\",\"gid_prefix\":\"0x" Octets(Whole { start: 12 });
        b"\",\"lid\":" Half(Whole { start: 20 });
        b",\"master_sm_lid\":" Half(Whole { start: 22 });
        b",\"capability_mask\":" Word(Whole { start: 24 });
        b",\"diag_code\":" Half(Whole { start: 28 });
        b",\"m_key_lease_period\":" Half(Whole { start: 30 });
        b",\"local_port_num\":" Byte(Whole { start: 32 });
        b",\"link_width_enabled\":" Byte(Whole { start: 33 });
        b",\"link_width_supported\":" Byte(Whole { start: 34 });
        b",\"link_width_active\":" Byte(Whole { start: 35 });
        b",\"link_speed_supported\":" Small(InByte { start: 36, shift: 4, mask: 15 });
        b",\"port_state\":" Small(InByte { start: 36, shift: 0, mask: 15 });
        b",\"port_physical_state\":" Small(InByte { start: 37, shift: 4, mask: 15 });
        b",\"link_down_default_state\":" Small(InByte { start: 37, shift: 0, mask: 15 });
        b",\"m_key_protect_bits\":" Small(InByte { start: 38, shift: 6, mask: 3 });
        b",\"reserved1\":" Small(InByte { start: 38, shift: 3, mask: 7 });
        b",\"lmc\":" Small(InByte { start: 38, shift: 0, mask: 7 });
        b",\"link_speed_active\":" Small(InByte { start: 39, shift: 4, mask: 15 });
        b",\"link_speed_enabled\":" Small(InByte { start: 39, shift: 0, mask: 15 });
        b",\"neighbor_mtu\":" Small(InByte { start: 40, shift: 4, mask: 15 });
        b",\"master_sm_sl\":" Small(InByte { start: 40, shift: 0, mask: 15 });
        b",\"vl_cap\":" Small(InByte { start: 41, shift: 4, mask: 15 });
        b",\"init_type\":" Small(InByte { start: 41, shift: 0, mask: 15 });
        b",\"vl_high_limit\":" Byte(Whole { start: 42 });
        b",\"vl_arbitration_high_cap\":" Byte(Whole { start: 43 });
        b",\"vl_arbitration_low_cap\":" Byte(Whole { start: 44 });
        b",\"init_type_reply\":" Small(InByte { start: 45, shift: 4, mask: 15 });
        b",\"mtu_cap\":" Small(InByte { start: 45, shift: 0, mask: 15 });
        b",\"vl_stall_count\":" Small(InByte { start: 46, shift: 5, mask: 7 });
        b",\"hoq_life\":" Small(InByte { start: 46, shift: 0, mask: 31 });
        b",\"operational_vls\":" Small(InByte { start: 47, shift: 4, mask: 15 });
        b",\"partition_enforcement_inbound" Nothing;
        b"\":" Small(InByte { start: 47, shift: 3, mask: 1 });
        b",\"partition_enforcement_outboun" Nothing;
        b"d\":" Small(InByte { start: 47, shift: 2, mask: 1 });
        b",\"filter_raw_inbound\":" Small(InByte { start: 47, shift: 1, mask: 1 });
        b",\"filter_raw_outbound\":" Small(InByte { start: 47, shift: 0, mask: 1 });
        b",\"m_key_violations\":" Half(Whole { start: 48 });
        b",\"p_key_violations\":" Half(Whole { start: 50 });
        b",\"q_key_violations\":" Half(Whole { start: 52 });
        b",\"guid_cap\":" Byte(Whole { start: 54 });
        b",\"client_reregister\":" Small(InByte { start: 55, shift: 7, mask: 1 });
        b",\"multicast_p_key_trap_suppress" Nothing;
        b"ion_enabled\":" Small(InByte { start: 55, shift: 5, mask: 3 });
        b",\"subnet_timeout\":" Small(InByte { start: 55, shift: 0, mask: 31 });
        b",\"reserved2\":" Small(InByte { start: 56, shift: 5, mask: 7 });
        b",\"resp_time_value\":" Small(InByte { start: 56, shift: 0, mask: 31 });
        b",\"local_phy_errors\":" Small(InByte { start: 57, shift: 4, mask: 15 });
        b",\"overrun_errors\":" Small(InByte { start: 57, shift: 0, mask: 15 });
        b",\"max_credit_hint\":" Half(Whole { start: 58 });
        b",\"reserved3\":" Small(InByte { start: 60, shift: 7, mask: 1 });
        b",\"link_speed_ext_active2\":" Small(InByte { start: 60, shift: 5, mask: 3 });
        b",\"link_speed_ext_supported2\":" Small(InByte { start: 60, shift: 3, mask: 3 });
        b",\"link_speed_ext_enabled2\":" Small(InByte { start: 60, shift: 0, mask: 7 });
        b",\"link_round_trip_latency\":" Number(Window { start: 60, mask: 16777215, shift: 32 });
        b",\"capability_mask2\":" Half(Whole { start: 64 });
        b",\"link_speed_ext_active\":" Small(InByte { start: 66, shift: 4, mask: 15 });
        b",\"link_speed_ext_supported\":" Small(InByte { start: 66, shift: 0, mask: 15 });
        b",\"reserved4\":" Small(InByte { start: 67, shift: 5, mask: 7 });
        b",\"link_speed_ext_enabled\":" Small(InByte { start: 67, shift: 0, mask: 31 });
        b"}}}" Nothing;
    }
    "SwitchInfoRecord" 24 {
        b"{\"name\":\"SwitchInfoRecord\",\"off" Nothing;
        b"set\":" Offset;
        b",\"fields\":{\"lid\":" Half(Whole { start: 0 });
        b",\"reserved1\":" Half(Whole { start: 2 });
        b",\"switch_info\":{\"linear_fdb_cap" Nothing;
        b"\":" Half(Whole { start: 4 });
        b",\"random_fdb_cap\":" Half(Whole { start: 6 });
        b",\"multicast_fdb_cap\":" Half(Whole { start: 8 });
        b",\"linear_fdb_top\":" Half(Whole { start: 10 });
        b",\"default_port\":" Byte(Whole { start: 12 });
        b",\"default_multicast_primary_por" Nothing;
        b"t\":" Byte(Whole { start: 13 });
        b",\"default_multicast_not_primary" Nothing;
        b"_port\":" Byte(Whole { start: 14 });
        b",\"life_time_value\":" Small(InByte { start: 15, shift: 3, mask: 31 });
        b",\"port_state_change\":" Small(InByte { start: 15, shift: 2, mask: 1 });
        b",\"optimized_sl_to_vl_mapping_pr" Nothing;
        b"ogramming\":" Small(InByte { start: 15, shift: 0, mask: 3 });
        b",\"lids_per_port\":" Half(Whole { start: 16 });
        b",\"partition_enforcement_cap\":" Half(Whole { start: 18 });
        b",\"inbound_enforcement_cap\":" Small(InByte { start: 20, shift: 7, mask: 1 });
        b",\"outbound_enforcement_cap\":" Small(InByte { start: 20, shift: 6, mask: 1 });
        b",\"filter_raw_inbound_cap\":" Small(InByte { start: 20, shift: 5, mask: 1 });
        b",\"filter_raw_outbound_cap\":" Small(InByte { start: 20, shift: 4, mask: 1 });
        b",\"enhanced_port0\":" Small(InByte { start: 20, shift: 3, mask: 1 });
        b",\"reserved1\":" Small(InByte { start: 20, shift: 0, mask: 7 });
        b",\"reserved2\":" Byte(Whole { start: 21 });
        b",\"multicast_fdb_top\":" Half(Whole { start: 22 });
        b"}}}" Nothing;
    }
    "LinearForwardingTableRecord" 72 {
        b"{\"name\":\"LinearForwardingTableR" Nothing;
        b"ecord\",\"offset\":" Offset;
        b",\"fields\":{\"lid\":" Half(Whole { start: 0 });
        b",\"block_num\":" Half(Whole { start: 2 });
        b",\"reserved1\":" Word(Whole { start: 4 });
        b",\"linear_forwarding_table\":{\"po" Nothing;
        b"rt_block\":[" List { start: 8, len: 63, separator: 44 };
        b"" Byte(Whole { start: 71 });
        b"]}}}" Nothing;
    }
    "SMInfoRecord" 28 {
        b"{\"name\":\"SMInfoRecord\",\"offset\"" Nothing;
        b":" Offset;
        b",\"fields\":{\"lid\":" Half(Whole { start: 0 });
        b",\"reserved1\":" Half(Whole { start: 2 });
        b",\"sm_info\":{\"guid\":\"0x" Octets(Whole { start: 4 });
        b"\",\"sm_key\":\"0x" Octets(Whole { start: 12 });
        b"\",\"act_count\":" Word(Whole { start: 20 });
        b",\"priority\":" Small(InByte { start: 24, shift: 4, mask: 15 });
        b",\"sm_state\":" Small(InByte { start: 24, shift: 0, mask: 15 });
        b",\"reserved1\":" Number(Window { start: 20, mask: 16777215, shift: 0 });
        b"}}}" Nothing;
    }
    "InformInfoRecord" 60 {
        b"{\"name\":\"InformInfoRecord\",\"off" Nothing;
        b"set\":" Offset;
        b",\"fields\":{\"subscriber_gid\":\"" Gid { start: 0 };
        b"\",\"enumeration\":" Half(Whole { start: 16 });
        b",\"reserved1\":" Half(Whole { start: 18 });
        b",\"reserved2\":" Word(Whole { start: 20 });
        b",\"inform_info\":{\"gid\":\"" Gid { start: 24 };
        b"\",\"lid_range_begin\":" Half(Whole { start: 40 });
        b",\"lid_range_end\":" Half(Whole { start: 42 });
        b",\"reserved1\":" Half(Whole { start: 44 });
        b",\"is_generic\":" Byte(Whole { start: 46 });
        b",\"subscribe\":" Byte(Whole { start: 47 });
        b",\"type\":" Half(Whole { start: 48 });
        b",\"trap_number\":" Half(Whole { start: 50 });
        b",\"qpn\":" Number(Window { start: 52, mask: 16777215, shift: 40 });
        b",\"reserved2\":" Small(InByte { start: 55, shift: 5, mask: 7 });
        b",\"resp_time_value\":" Small(InByte { start: 55, shift: 0, mask: 31 });
        b",\"reserved3\":" Byte(Whole { start: 56 });
        b",\"producer_type\":" Number(Window { start: 52, mask: 16777215, shift: 0 });
        b"}}}" Nothing;
    }
    "LinkRecord" 8 {
        b"{\"name\":\"LinkRecord\",\"offset\":" Offset;
        b",\"fields\":{\"from_lid\":" Half(Whole { start: 0 });
        b",\"from_port\":" Byte(Whole { start: 2 });
        b",\"to_port\":" Byte(Whole { start: 3 });
        b",\"to_lid\":" Half(Whole { start: 4 });
        b",\"reserved1\":" Half(Whole { start: 6 });
        b"}}" Nothing;
    }
    "PathRecord" 64 {
        b"{\"name\":\"PathRecord\",\"offset\":" Offset;
        b",\"fields\":{\"service_id\":\"0x" Octets(Whole { start: 0 });
        b"\",\"dgid\":\"" Gid { start: 8 };
        b"\",\"sgid\":\"" Gid { start: 24 };
        b"\",\"dlid\":" Half(Whole { start: 40 });
        b",\"slid\":" Half(Whole { start: 42 });
        b",\"raw_traffic\":" Small(InByte { start: 44, shift: 7, mask: 1 });
        b",\"reserved1\":" Small(InByte { start: 44, shift: 4, mask: 7 });
        b",\"flow_label\":" Number(Window { start: 44, mask: 1048575, shift: 40 });
        b",\"hop_limit\":" Byte(Whole { start: 47 });
        b",\"tclass\":" Byte(Whole { start: 48 });
        b",\"reversible\":" Small(InByte { start: 49, shift: 7, mask: 1 });
        b",\"numb_path\":" Small(InByte { start: 49, shift: 0, mask: 127 });
        b",\"p_key\":" Half(Whole { start: 50 });
        b",\"qos_class\":" Short(Window { start: 52, mask: 4095, shift: 52 });
        b",\"sl\":" Small(InByte { start: 53, shift: 0, mask: 15 });
        b",\"mtu_selector\":" Small(InByte { start: 54, shift: 6, mask: 3 });
        b",\"mtu\":" Small(InByte { start: 54, shift: 0, mask: 63 });
        b",\"rate_selector\":" Small(InByte { start: 55, shift: 6, mask: 3 });
        b",\"rate\":" Small(InByte { start: 55, shift: 0, mask: 63 });
        b",\"packet_life_time_selector\":" Small(InByte { start: 56, shift: 6, mask: 3 });
        b",\"packet_life_time\":" Small(InByte { start: 56, shift: 0, mask: 63 });
        b",\"preference\":" Byte(Whole { start: 57 });
        b",\"reverse_path_p_key_member_bit" Nothing;
        b"\":" Small(InByte { start: 58, shift: 6, mask: 3 });
        b",\"reserved2\":" Short(Window { start: 56, mask: 16383, shift: 32 });
        b",\"reserved3\":" Word(Whole { start: 60 });
        b"}}" Nothing;
    }
    "MCMemberRecord" 52 {
        b"{\"name\":\"MCMemberRecord\",\"offse" Nothing;
        b"t\":" Offset;
        b",\"fields\":{\"mgid\":\"" Gid { start: 0 };
        b"\",\"port_gid\":\"" Gid { start: 16 };
        b"\",\"q_key\":" Word(Whole { start: 32 });
        b",\"mlid\":" Half(Whole { start: 36 });
        b",\"mtu_selector\":" Small(InByte { start: 38, shift: 6, mask: 3 });
        b",\"mtu\":" Small(InByte { start: 38, shift: 0, mask: 63 });
        b",\"tclass\":" Byte(Whole { start: 39 });
        b",\"p_key\":" Half(Whole { start: 40 });
        b",\"rate_selector\":" Small(InByte { start: 42, shift: 6, mask: 3 });
        b",\"rate\":" Small(InByte { start: 42, shift: 0, mask: 63 });
        b",\"packet_life_time_selector\":" Small(InByte { start: 43, shift: 6, mask: 3 });
        b",\"packet_life_time\":" Small(InByte { start: 43, shift: 0, mask: 63 });
        b",\"sl\":" Small(InByte { start: 44, shift: 4, mask: 15 });
        b",\"flow_label\":" Number(Window { start: 44, mask: 1048575, shift: 40 });
        b",\"hop_limit\":" Byte(Whole { start: 47 });
        b",\"scope\":" Small(InByte { start: 48, shift: 4, mask: 15 });
        b",\"join_state\":" Small(InByte { start: 48, shift: 0, mask: 15 });
        b",\"proxy_join\":" Small(InByte { start: 49, shift: 7, mask: 1 });
        b",\"reserved1\":" Number(Window { start: 44, mask: 8388607, shift: 0 });
        b"}}" Nothing;
    }
    "ServiceAssociationRecord" 80 {
        b"{\"name\":\"ServiceAssociationReco" Nothing;
        b"rd\",\"offset\":" Offset;
        b",\"fields\":{\"service_key\":\"" Bytes { start: 0, len: 16 };
        b"\",\"service_name\":\"" Text { start: 16, len: 64 };
        b"\"}}" Nothing;
    }
    "PortInfoExtendedRecord" 68 {
        b"{\"name\":\"PortInfoExtendedRecord" Nothing;
        b"\",\"offset\":" Offset;
        b",\"fields\":{\"endport_lid\":" Half(Whole { start: 0 });
        b",\"port_num\":" Byte(Whole { start: 2 });
        b",\"options\":" Byte(Whole { start: 3 });
        b",\"port_info_extended\":{\"capabil" Nothing;
        b"ity_mask\":" Word(Whole { start: 4 });
        b",\"fec_mode_active\":" Half(Whole { start: 8 });
        b",\"fdr_fec_mode_supported\":" Half(Whole { start: 10 });
        b",\"fdr_fec_mode_enabled\":" Half(Whole { start: 12 });
        b",\"edr_fec_mode_supported\":" Half(Whole { start: 14 });
        b",\"edr_fec_mode_enabled\":" Half(Whole { start: 16 });
        b",\"hdr_fec_mode_supported\":" Half(Whole { start: 18 });
        b",\"hdr_fec_mode_enabled\":" Half(Whole { start: 20 });
        b",\"ndr_fec_mode_supported\":" Half(Whole { start: 22 });
        b",\"ndr_fec_mode_enabled\":" Half(Whole { start: 24 });
        b",\"reserved1\":\"0x" Bytes { start: 26, len: 42 };
        b"\"}}}" Nothing;
    }
    "TraceRecord" 48 {
        b"{\"name\":\"TraceRecord\",\"offset\":" Offset;
        b",\"fields\":{\"gid_prefix\":\"0x" Octets(Whole { start: 0 });
        b"\",\"id_generation\":" Half(Whole { start: 8 });
        b",\"reserved1\":" Byte(Whole { start: 10 });
        b",\"node_type\":" Byte(Whole { start: 11 });
        b",\"node_id\":\"0x" Octets(Whole { start: 12 });
        b"\",\"chassis_id\":\"0x" Octets(Whole { start: 20 });
        b"\",\"entry_port_id\":\"0x" Octets(Whole { start: 28 });
        b"\",\"exit_port_id\":\"0x" Octets(Whole { start: 36 });
        b"\",\"entry_port\":" Byte(Whole { start: 44 });
        b",\"exit_port\":" Byte(Whole { start: 45 });
        b",\"reserved2\":" Half(Whole { start: 46 });
        b"}}" Nothing;
    }
    "PerformanceMad" 256 {
        b"{\"name\":\"PerformanceMad\",\"offse" Nothing;
        b"t\":" Offset;
        b",\"fields\":{\"base_version\":" Byte(Whole { start: 0 });
        b",\"mgmt_class\":" Byte(Whole { start: 1 });
        b",\"class_version\":" Byte(Whole { start: 2 });
        b",\"method\":" Byte(Whole { start: 3 });
        b",\"status\":" Half(Whole { start: 4 });
        b",\"class_specific\":" Half(Whole { start: 6 });
        b",\"transaction_id\":\"0x" Octets(Whole { start: 8 });
        b"\",\"attribute_id\":" Half(Whole { start: 16 });
        b",\"header_reserved\":" Half(Whole { start: 18 });
        b",\"attribute_modifier\":" Word(Whole { start: 20 });
        b",\"reserved1\":\"0x" Bytes { start: 24, len: 40 };
        b"\",\"data\":\"" Bytes { start: 64, len: 192 };
        b"\"}}" Nothing;
    }
    "PortSamplesControl" 192 {
        b"{\"name\":\"PortSamplesControl\",\"o" Nothing;
        b"ffset\":" Offset;
        b",\"fields\":{\"op_code\":" Byte(Whole { start: 0 });
        b",\"port_select\":" Byte(Whole { start: 1 });
        b",\"tick\":" Byte(Whole { start: 2 });
        b",\"reserved1\":" Small(InByte { start: 3, shift: 3, mask: 31 });
        b",\"counter_width\":" Small(InByte { start: 3, shift: 0, mask: 7 });
        b",\"reserved2\":" Small(InByte { start: 4, shift: 6, mask: 3 });
        b",\"counter_mask0\":" Small(InByte { start: 4, shift: 3, mask: 7 });
        b",\"counter_mask1\":" Small(InByte { start: 4, shift: 0, mask: 7 });
        b",\"counter_mask2\":" Small(InByte { start: 5, shift: 5, mask: 7 });
        b",\"counter_mask3\":" Small(InByte { start: 5, shift: 2, mask: 7 });
        b",\"counter_mask4\":" Short(Window { start: 5, mask: 7, shift: 55 });
        b",\"counter_mask5\":" Small(InByte { start: 6, shift: 4, mask: 7 });
        b",\"counter_mask6\":" Small(InByte { start: 6, shift: 1, mask: 7 });
        b",\"counter_mask7\":" Short(Window { start: 6, mask: 7, shift: 54 });
        b",\"counter_mask8\":" Small(InByte { start: 7, shift: 3, mask: 7 });
        b",\"counter_mask9\":" Small(InByte { start: 7, shift: 0, mask: 7 });
        b",\"reserved3\":" Small(InByte { start: 8, shift: 7, mask: 1 });
        b",\"counter_mask10\":" Small(InByte { start: 8, shift: 4, mask: 7 });
        b",\"counter_mask11\":" Small(InByte { start: 8, shift: 1, mask: 7 });
        b",\"counter_mask12\":" Short(Window { start: 8, mask: 7, shift: 54 });
        b",\"counter_mask13\":" Small(InByte { start: 9, shift: 3, mask: 7 });
        b",\"counter_mask14\":" Small(InByte { start: 9, shift: 0, mask: 7 });
        b",\"sample_mechanisms\":" Byte(Whole { start: 10 });
        b",\"reserved4\":" Small(InByte { start: 11, shift: 2, mask: 63 });
        b",\"sample_status\":" Small(InByte { start: 11, shift: 0, mask: 3 });
        b",\"option_mask\":\"0x" Octets(Whole { start: 12 });
        b"\",\"vendor_mask\":\"0x" Octets(Whole { start: 20 });
        b"\",\"sample_start\":" Word(Whole { start: 28 });
        b",\"sample_interval\":" Word(Whole { start: 32 });
        b",\"tag\":" Half(Whole { start: 36 });
        b",\"counter_select0\":" Half(Whole { start: 38 });
        b",\"counter_select1\":" Half(Whole { start: 40 });
        b",\"counter_select2\":" Half(Whole { start: 42 });
        b",\"counter_select3\":" Half(Whole { start: 44 });
        b",\"counter_select4\":" Half(Whole { start: 46 });
        b",\"counter_select5\":" Half(Whole { start: 48 });
        b",\"counter_select6\":" Half(Whole { start: 50 });
        b",\"counter_select7\":" Half(Whole { start: 52 });
        b",\"counter_select8\":" Half(Whole { start: 54 });
        b",\"counter_select9\":" Half(Whole { start: 56 });
        b",\"counter_select10\":" Half(Whole { start: 58 });
        b",\"counter_select11\":" Half(Whole { start: 60 });
        b",\"counter_select12\":" Half(Whole { start: 62 });
        b",\"counter_select13\":" Half(Whole { start: 64 });
        b",\"counter_select14\":" Half(Whole { start: 66 });
        b",\"reserved5\":" Word(Whole { start: 68 });
        b",\"samples_only_option_mask\":\"0x" Octets(Whole { start: 72 });
        b"\",\"reserved6\":\"0x" Bytes { start: 80, len: 112 };
        b"\"}}" Nothing;
    }
    "PortCounters" 44 {
        b"{\"name\":\"PortCounters\",\"offset\"" Nothing;
        b":" Offset;
        b",\"fields\":{\"reserved1\":" Byte(Whole { start: 0 });
        b",\"port_select\":" Byte(Whole { start: 1 });
        b",\"counter_select\":" Half(Whole { start: 2 });
        b",\"symbol_error_counter\":" Half(Whole { start: 4 });
        b",\"link_error_recovery_counter\":" Byte(Whole { start: 6 });
        b",\"link_downed_counter\":" Byte(Whole { start: 7 });
        b",\"port_rcv_errors\":" Half(Whole { start: 8 });
        b",\"port_rcv_remote_physical_erro" Nothing;
        b"rs\":" Half(Whole { start: 10 });
        b",\"port_rcv_switch_relay_errors\"" Nothing;
        b":" Half(Whole { start: 12 });
        b",\"port_xmit_discards\":" Half(Whole { start: 14 });
        b",\"port_xmit_constraint_errors\":" Byte(Whole { start: 16 });
        b",\"port_rcv_constraint_errors\":" Byte(Whole { start: 17 });
        b",\"counter_select2\":" Byte(Whole { start: 18 });
        b",\"local_link_integrity_errors\":" Small(InByte { start: 19, shift: 4, mask: 15 });
        b",\"excessive_buffer_overrun_erro" Nothing;
        b"rs\":" Small(InByte { start: 19, shift: 0, mask: 15 });
        b",\"qp1_dropped\":" Half(Whole { start: 20 });
        b",\"vl15_dropped\":" Half(Whole { start: 22 });
        b",\"port_xmit_data\":" Word(Whole { start: 24 });
        b",\"port_rcv_data\":" Word(Whole { start: 28 });
        b",\"port_xmit_pkts\":" Word(Whole { start: 32 });
        b",\"port_rcv_pkts\":" Word(Whole { start: 36 });
        b",\"port_xmit_wait\":" Word(Whole { start: 40 });
        b"}}" Nothing;
    }
    "PortRcvErrorDetails" 16 {
        b"{\"name\":\"PortRcvErrorDetails\",\"" Nothing;
        b"offset\":" Offset;
        b",\"fields\":{\"reserved1\":" Byte(Whole { start: 0 });
        b",\"port_select\":" Byte(Whole { start: 1 });
        b",\"counter_select\":" Half(Whole { start: 2 });
        b",\"port_local_physical_errors\":" Half(Whole { start: 4 });
        b",\"port_malformed_packet_errors\"" Nothing;
        b":" Half(Whole { start: 6 });
        b",\"port_buffer_overrun_errors\":" Half(Whole { start: 8 });
        b",\"port_dlid_mapping_errors\":" Half(Whole { start: 10 });
        b",\"port_vl_mapping_errors\":" Half(Whole { start: 12 });
        b",\"port_looping_errors\":" Half(Whole { start: 14 });
        b"}}" Nothing;
    }
    "PortXmitDiscardDetails" 12 {
        b"{\"name\":\"PortXmitDiscardDetails" Nothing;
        b"\",\"offset\":" Offset;
        b",\"fields\":{\"reserved1\":" Byte(Whole { start: 0 });
        b",\"port_select\":" Byte(Whole { start: 1 });
        b",\"counter_select\":" Half(Whole { start: 2 });
        b",\"port_inactive_discards\":" Half(Whole { start: 4 });
        b",\"port_neighbor_mtu_discards\":" Half(Whole { start: 6 });
        b",\"port_sw_lifetime_limit_discar" Nothing;
        b"ds\":" Half(Whole { start: 8 });
        b",\"port_sw_hoq_limit_discards\":" Half(Whole { start: 10 });
        b"}}" Nothing;
    }
    "PortOpRcvCounters" 12 {
        b"{\"name\":\"PortOpRcvCounters\",\"of" Nothing;
        b"fset\":" Offset;
        b",\"fields\":{\"op_code\":" Byte(Whole { start: 0 });
        b",\"port_select\":" Byte(Whole { start: 1 });
        b",\"counter_select\":" Half(Whole { start: 2 });
        b",\"port_op_rcv_pkts\":" Word(Whole { start: 4 });
        b",\"port_op_rcv_data\":" Word(Whole { start: 8 });
        b"}}" Nothing;
    }
    "PortFlowCtlCounters" 12 {
        b"{\"name\":\"PortFlowCtlCounters\",\"" Nothing;
        b"offset\":" Offset;
        b",\"fields\":{\"reserved1\":" Byte(Whole { start: 0 });
        b",\"port_select\":" Byte(Whole { start: 1 });
        b",\"counter_select\":" Half(Whole { start: 2 });
        b",\"port_xmit_flow_pkts\":" Word(Whole { start: 4 });
        b",\"port_rcv_flow_pkts\":" Word(Whole { start: 8 });
        b"}}" Nothing;
    }
    "PortCountersExtended" 184 {
        b"{\"name\":\"PortCountersExtended\"," Nothing;
        b"\"offset\":" Offset;
        b",\"fields\":{\"reserved1\":" Byte(Whole { start: 0 });
        b",\"port_select\":" Byte(Whole { start: 1 });
        b",\"counter_select\":" Half(Whole { start: 2 });
        b",\"counter_select2\":" Word(Whole { start: 4 });
        b",\"port_xmit_data\":\"0x" Octets(Whole { start: 8 });
        b"\",\"port_rcv_data\":\"0x" Octets(Whole { start: 16 });
        b"\",\"port_xmit_pkts\":\"0x" Octets(Whole { start: 24 });
        b"\",\"port_rcv_pkts\":\"0x" Octets(Whole { start: 32 });
        b"\",\"port_unicast_xmit_pkts\":\"0x" Octets(Whole { start: 40 });
        b"\",\"port_unicast_rcv_pkts\":\"0x" Octets(Whole { start: 48 });
        b"\",\"port_multicast_xmit_pkts\":\"0" Nothing;
        b"x" Octets(Whole { start: 56 });
        b"\",\"port_multicast_rcv_pkts\":\"0x" Octets(Whole { start: 64 });
        b"\",\"symbol_error_counter\":\"0x" Octets(Whole { start: 72 });
        b"\",\"link_error_recovery_counter\"" Nothing;
        b":\"0x" Octets(Whole { start: 80 });
        b"\",\"link_downed_counter\":\"0x" Octets(Whole { start: 88 });
        b"\",\"port_rcv_errors\":\"0x" Octets(Whole { start: 96 });
        b"\",\"port_rcv_remote_physical_err" Nothing;
        b"ors\":\"0x" Octets(Whole { start: 104 });
        b"\",\"port_rcv_switch_relay_errors" Nothing;
        b"\":\"0x" Octets(Whole { start: 112 });
        b"\",\"port_xmit_discards\":\"0x" Octets(Whole { start: 120 });
        b"\",\"port_xmit_constraint_errors\"" Nothing;
        b":\"0x" Octets(Whole { start: 128 });
        b"\",\"port_rcv_constraint_errors\":" Nothing;
        b"\"0x" Octets(Whole { start: 136 });
        b"\",\"local_link_integrity_errors\"" Nothing;
        b":\"0x" Octets(Whole { start: 144 });
        b"\",\"excessive_buffer_overrun_err" Nothing;
        b"ors\":\"0x" Octets(Whole { start: 152 });
        b"\",\"vl15_dropped\":\"0x" Octets(Whole { start: 160 });
        b"\",\"port_xmit_wait\":\"0x" Octets(Whole { start: 168 });
        b"\",\"qp1_dropped\":\"0x" Octets(Whole { start: 176 });
        b"\"}}" Nothing;
    }
    "PortExtendedSpeedsCounters" 140 {
        b"{\"name\":\"PortExtendedSpeedsCoun" Nothing;
        b"ters\",\"offset\":" Offset;
        b",\"fields\":{\"reserved1\":" Byte(Whole { start: 0 });
        b",\"port_select\":" Byte(Whole { start: 1 });
        b",\"reserved2\":\"0x" Wide { bit_offset: 16, bits: 48 };
        b"\",\"counter_select\":\"0x" Octets(Whole { start: 8 });
        b"\",\"sync_header_error_counter\":" Half(Whole { start: 16 });
        b",\"unknown_block_counter\":" Half(Whole { start: 18 });
        b",\"error_detection_counter_lane0" Nothing;
        b"\":" Half(Whole { start: 20 });
        b",\"error_detection_counter_lane1" Nothing;
        b"\":" Half(Whole { start: 22 });
        b",\"error_detection_counter_lane2" Nothing;
        b"\":" Half(Whole { start: 24 });
        b",\"error_detection_counter_lane3" Nothing;
        b"\":" Half(Whole { start: 26 });
        b",\"error_detection_counter_lane4" Nothing;
        b"\":" Half(Whole { start: 28 });
        b",\"error_detection_counter_lane5" Nothing;
        b"\":" Half(Whole { start: 30 });
        b",\"error_detection_counter_lane6" Nothing;
        b"\":" Half(Whole { start: 32 });
        b",\"error_detection_counter_lane7" Nothing;
        b"\":" Half(Whole { start: 34 });
        b",\"error_detection_counter_lane8" Nothing;
        b"\":" Half(Whole { start: 36 });
        b",\"error_detection_counter_lane9" Nothing;
        b"\":" Half(Whole { start: 38 });
        b",\"error_detection_counter_lane1" Nothing;
        b"0\":" Half(Whole { start: 40 });
        b",\"error_detection_counter_lane1" Nothing;
        b"1\":" Half(Whole { start: 42 });
        b",\"fec_correctable_block_counter" Nothing;
        b"_lane0\":" Word(Whole { start: 44 });
        b",\"fec_correctable_block_counter" Nothing;
        b"_lane1\":" Word(Whole { start: 48 });
        b",\"fec_correctable_block_counter" Nothing;
        b"_lane2\":" Word(Whole { start: 52 });
        b",\"fec_correctable_block_counter" Nothing;
        b"_lane3\":" Word(Whole { start: 56 });
        b",\"fec_correctable_block_counter" Nothing;
        b"_lane4\":" Word(Whole { start: 60 });
        b",\"fec_correctable_block_counter" Nothing;
        b"_lane5\":" Word(Whole { start: 64 });
        b",\"fec_correctable_block_counter" Nothing;
        b"_lane6\":" Word(Whole { start: 68 });
        b",\"fec_correctable_block_counter" Nothing;
        b"_lane7\":" Word(Whole { start: 72 });
        b",\"fec_correctable_block_counter" Nothing;
        b"_lane8\":" Word(Whole { start: 76 });
        b",\"fec_correctable_block_counter" Nothing;
        b"_lane9\":" Word(Whole { start: 80 });
        b",\"fec_correctable_block_counter" Nothing;
        b"_lane10\":" Word(Whole { start: 84 });
        b",\"fec_correctable_block_counter" Nothing;
        b"_lane11\":" Word(Whole { start: 88 });
        b",\"fec_uncorrectable_block_count" Nothing;
        b"er_lane0\":" Word(Whole { start: 92 });
        b",\"fec_uncorrectable_block_count" Nothing;
        b"er_lane1\":" Word(Whole { start: 96 });
        b",\"fec_uncorrectable_block_count" Nothing;
        b"er_lane2\":" Word(Whole { start: 100 });
        b",\"fec_uncorrectable_block_count" Nothing;
        b"er_lane3\":" Word(Whole { start: 104 });
        b",\"fec_uncorrectable_block_count" Nothing;
        b"er_lane4\":" Word(Whole { start: 108 });
        b",\"fec_uncorrectable_block_count" Nothing;
        b"er_lane5\":" Word(Whole { start: 112 });
        b",\"fec_uncorrectable_block_count" Nothing;
        b"er_lane6\":" Word(Whole { start: 116 });
        b",\"fec_uncorrectable_block_count" Nothing;
        b"er_lane7\":" Word(Whole { start: 120 });
        b",\"fec_uncorrectable_block_count" Nothing;
        b"er_lane8\":" Word(Whole { start: 124 });
        b",\"fec_uncorrectable_block_count" Nothing;
        b"er_lane9\":" Word(Whole { start: 128 });
        b",\"fec_uncorrectable_block_count" Nothing;
        b"er_lane10\":" Word(Whole { start: 132 });
        b",\"fec_uncorrectable_block_count" Nothing;
        b"er_lane11\":" Word(Whole { start: 136 });
        b"}}" Nothing;
    }
    "PortRcvConCtrl" 12 {
        b"{\"name\":\"PortRcvConCtrl\",\"offse" Nothing;
        b"t\":" Offset;
        b",\"fields\":{\"reserved1\":" Byte(Whole { start: 0 });
        b",\"port_select\":" Byte(Whole { start: 1 });
        b",\"counter_select\":" Half(Whole { start: 2 });
        b",\"port_pkt_rcv_fecn\":" Word(Whole { start: 4 });
        b",\"port_pkt_rcv_becn\":" Word(Whole { start: 8 });
        b"}}" Nothing;
    }
    "PortXmitConCtrl" 8 {
        b"{\"name\":\"PortXmitConCtrl\",\"offs" Nothing;
        b"et\":" Offset;
        b",\"fields\":{\"reserved1\":" Byte(Whole { start: 0 });
        b",\"port_select\":" Byte(Whole { start: 1 });
        b",\"counter_select\":" Half(Whole { start: 2 });
        b",\"port_xmit_time_cong\":" Word(Whole { start: 4 });
        b"}}" Nothing;
    }
    "PortCountersCong" 72 {
        b"{\"name\":\"PortCountersCong\",\"off" Nothing;
        b"set\":" Offset;
        b",\"fields\":{\"reserved1\":" Half(Whole { start: 0 });
        b",\"port_check_rate\":" Half(Whole { start: 2 });
        b",\"symbol_error_counter\":" Half(Whole { start: 4 });
        b",\"link_error_recovery_counter\":" Byte(Whole { start: 6 });
        b",\"link_downed_counter\":" Byte(Whole { start: 7 });
        b",\"port_rcv_errors\":" Half(Whole { start: 8 });
        b",\"port_rcv_remote_physical_erro" Nothing;
        b"rs\":" Half(Whole { start: 10 });
        b",\"port_rcv_switch_relay_errors\"" Nothing;
        b":" Half(Whole { start: 12 });
        b",\"port_xmit_discards\":" Half(Whole { start: 14 });
        b",\"port_xmit_constraint_errors\":" Byte(Whole { start: 16 });
        b",\"port_rcv_constraint_errors\":" Byte(Whole { start: 17 });
        b",\"reserved2\":" Byte(Whole { start: 18 });
        b",\"local_link_integrity_errors\":" Small(InByte { start: 19, shift: 4, mask: 15 });
        b",\"excessive_buffer_overrun_erro" Nothing;
        b"rs\":" Small(InByte { start: 19, shift: 0, mask: 15 });
        b",\"reserved3\":" Half(Whole { start: 20 });
        b",\"vl15_dropped\":" Half(Whole { start: 22 });
        b",\"port_xmit_data\":\"0x" Octets(Whole { start: 24 });
        b"\",\"port_rcv_data\":\"0x" Octets(Whole { start: 32 });
        b"\",\"port_xmit_packets\":\"0x" Octets(Whole { start: 40 });
        b"\",\"port_rcv_packets\":\"0x" Octets(Whole { start: 48 });
        b"\",\"port_xmit_wait\":\"0x" Octets(Whole { start: 56 });
        b"\",\"port_adr_events\":\"0x" Octets(Whole { start: 64 });
        b"\"}}" Nothing;
    }
};
