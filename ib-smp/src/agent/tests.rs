//! Requests to the agents of a CA and of a switch; fixtures that the tests share.

mod device;
mod engine;
mod links;
mod m_key;
mod notices;
mod requests;
mod set_port_info;
mod tables;
mod traps;

use ib_mad::{
    Attribute, AttributeId, Engine as _, Instant, MadStatus, Method, NoticeDetails, NoticeSm,
    NoticeType, ProducerType, TransactionId, TrapNumber,
};
use ib_wire::table::Text;
use ib_wire::{GidPrefix, Guid, Lid, Lmc, MKey, Mtu, PKey, PortNum, QKey, Qpn, Sl, Vl};

use super::*;
use crate::*;

const T0: Instant = Instant::ZERO;
const KEY: MKey = MKey(0x1122_3344_5566_7788);
const WRONG: MKey = MKey(0xbad);

/// A port that can do everything up to NDR, and whose link is up in Initialize.
fn port_info() -> PortInfo {
    let mut info = PortInfo::default();
    info.set_lid(Lid(5))
        .set_master_sm_lid(Lid(1))
        .set_capability_mask(
            CapabilityMask::IS_TRAP_SUPPORTED | CapabilityMask::IS_LED_INFO_SUPPORTED,
        )
        .set_link_width_supported(LinkWidths::X1 | LinkWidths::X4)
        .set_link_width_enabled(LinkWidths::X1 | LinkWidths::X4)
        .set_link_width_active(LinkWidthActive::X4)
        .set_link_speed_supported(LinkSpeeds::all())
        .set_link_speed_enabled(LinkSpeeds::all())
        .set_link_speed_ext_supported(LinkSpeedsExt::FDR | LinkSpeedsExt::EDR)
        .set_link_speed_ext_enabled(LinkSpeedsExt::FDR | LinkSpeedsExt::EDR)
        .set_port_state(PortState::INITIALIZE)
        .set_port_physical_state(PortPhysicalState::LINK_UP)
        .set_link_down_default_state(LinkDownDefaultState::POLLING)
        .set_neighbor_mtu(Mtu::MTU_2048)
        .set_mtu_cap(Mtu::MTU_4096)
        .set_vl_cap(VlCap::VL0_7)
        .set_operational_vls(VlCap::VL0_3)
        .set_vl_arbitration_low_cap(8)
        .set_vl_arbitration_high_cap(64)
        .set_guid_cap(9)
        .set_subnet_timeout(18);
    info
}

/// A PortInfo that changes nothing but the fields that the caller then sets.
fn unchanged(info: &PortInfo) -> PortInfo {
    let mut wanted = *info;
    wanted
        .set_port_state(PortState::NO_CHANGE)
        .set_port_physical_state(PortPhysicalState::NO_CHANGE);
    wanted
}

fn node_info(node_type: NodeType) -> NodeInfo {
    let mut info = NodeInfo::default();
    info.set_node_type(node_type)
        .set_node_guid(Guid(0x10))
        .set_partition_cap(40);
    info
}

fn ca() -> Sma {
    let ports = [1, 2].map(|number| SmaPort::new(port_info(), Guid(0x10 + number)));
    Sma::new(node_info(NodeType::CA), NodeDescription::default(), ports)
}

fn switch() -> Sma {
    let mut info = SwitchInfo::default();
    info.set_linear_fdb_cap(1024)
        .set_multicast_fdb_cap(256)
        .set_partition_enforcement_cap(8)
        .set_optimized_sl_to_vl_mapping_programming(3)
        .set_inbound_enforcement_cap(true);
    let mut port0 = port_info();
    port0.set_port_state(PortState::ACTIVE);
    let external = (0..20).map(|_| SmaPort::new(port_info(), Guid::NONE));
    Sma::new_switch(
        node_info(NodeType::SWITCH),
        NodeDescription::default(),
        info,
        SmaPort::new(port0, Guid(0x10)),
        external,
    )
}

fn request(method: Method, id: AttributeId, modifier: u32, data: &[u8]) -> SmpLidRouted {
    let mut smp = SmpLidRouted::new(method, id, modifier);
    let mut all = [0xa5; 64];
    all[..data.len()].copy_from_slice(data);
    smp.set_smp_data(&all).set_transaction_id(TransactionId(7));
    smp
}

/// Asks port 1, and gives the verdict and what became of the SMP.
fn ask_at(sma: &mut Sma, now: Instant, smp: SmpLidRouted) -> (SmpDisposition, SmpLidRouted) {
    let mut bytes = *smp.as_bytes();
    let arrival = Arrival {
        port: PortNum(1),
        slid: Lid(1),
    };
    let verdict = sma.respond(now, arrival, &mut bytes);
    (verdict, SmpLidRouted::from_bytes(bytes))
}

fn ask(sma: &mut Sma, smp: SmpLidRouted) -> SmpLidRouted {
    let (verdict, response) = ask_at(sma, T0, smp);
    assert_eq!(verdict, SmpDisposition::Respond);
    assert_eq!(response.method(), Method::GET_RESP);
    assert_eq!(response.transaction_id(), TransactionId(7));
    response
}

fn get(sma: &mut Sma, id: AttributeId, modifier: u32) -> Result<[u8; 64], MadStatus> {
    let response = ask(sma, request(Method::GET, id, modifier, &[]));
    match response.status() {
        MadStatus::OK => Ok(*response.smp_data()),
        status => Err(status),
    }
}

fn set(sma: &mut Sma, id: AttributeId, modifier: u32, data: &[u8]) -> Result<[u8; 64], MadStatus> {
    let response = ask(sma, request(Method::SET, id, modifier, data));
    match response.status() {
        MadStatus::OK => Ok(*response.smp_data()),
        status => Err(status),
    }
}

fn set_port(sma: &mut Sma, modifier: u32, wanted: &PortInfo) -> Result<PortInfo, MadStatus> {
    set(sma, PortInfo::ID, modifier, wanted.as_bytes()).map(PortInfo::from_bytes)
}

fn events(sma: &mut Sma) -> Vec<SmaEvent> {
    std::iter::from_fn(|| sma.poll_event()).collect()
}
