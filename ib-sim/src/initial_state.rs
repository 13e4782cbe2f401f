//! The initial state of nodes: powered, links trained, not configured by a subnet manager.

use ib_routing::index::IdxVec;
use ib_routing::{Fabric, LinkSpeed, LinkWidth, Node, NodeIdx, Port, PortRef};
use ib_smp::{
    CapabilityMask, CapabilityMask2, LinkDownDefaultState, LinkSpeeds, LinkSpeedsExt,
    LinkSpeedsExt2, LinkWidths, MlnxExtPortInfo, NodeDescription, NodeInfo, NodeType, PortInfo,
    PortPhysicalState, PortState, RouterTables, Sma, SmaPort, SwitchInfo, VendorLinkSpeeds, VlCap,
};
use ib_wire::table::Text;
use ib_wire::{GidPrefix, Guid, Mtu, PortNum};

use crate::counters::SimCounters;
use crate::fault::Behaviour;
use crate::node::{PortEntry, PortIdx, SimNode};
use crate::options::{DeviceProfile, PortGuids, SimOptions, SupportedLinks};
use crate::port_link::PortLink;

/// All nodes of `fabric` and all their ports; the ports of a node are consecutive, from port 0 on.
pub(crate) fn nodes_and_ports(
    fabric: &Fabric,
    options: &SimOptions,
) -> (IdxVec<NodeIdx, SimNode>, IdxVec<PortIdx, PortEntry>) {
    let mut first_port = 0u32;
    let first_ports: IdxVec<NodeIdx, PortIdx> = fabric
        .nodes()
        .iter()
        .map(|node| {
            let first = PortIdx(first_port);
            first_port = first_port.saturating_add(u32::from(node.num_ports()).saturating_add(1));
            first
        })
        .collect();
    let place = |end: PortRef| {
        PortIdx(
            first_ports[end.node]
                .0
                .saturating_add(u32::from(end.port.0)),
        )
    };
    let mut nodes = IdxVec::with_capacity(fabric.nodes().len());
    let mut ports = IdxVec::with_capacity(first_port as usize);
    for (index, node) in fabric.nodes().iter_enumerated() {
        let mut agents = Vec::with_capacity(usize::from(node.num_ports()).saturating_add(1));
        for (number, port) in node.ports() {
            let peer = port.peer.filter(|_| !port.disabled);
            let peer = peer.filter(|&peer| fabric.port(peer).is_some_and(|peer| !peer.disabled));
            let far = peer.and_then(|peer| fabric.port(peer));
            agents.push(port_agent(node, number, port, far, options));
            ports.push(PortEntry {
                node: index,
                number,
                link: PortLink::new(
                    peer.is_some() || (node.type_.is_switch() && number.0 == 0),
                    peer.map(place),
                ),
                hosted: false,
                drop_rate: None,
                counters: SimCounters::default(),
            });
        }
        nodes.push(SimNode {
            name: node.name.clone(),
            sma: agent(node, agents, options),
            first_port: first_ports[index],
            num_ports: node.num_ports(),
            is_switch: node.type_.is_switch(),
            behaviour: Behaviour::Honest,
            powered: true,
            smps_answered: 0,
            wakes_at: None,
            pending_smps: 0,
            sampler: None,
            settings: None,
        });
    }
    (nodes, ports)
}

fn agent(node: &Node, ports: Vec<SmaPort>, options: &SimOptions) -> Sma {
    let switch = node.type_.is_switch();
    let system_image_guid = match options.profile {
        // ibsim takes the node's own where the file names none.
        DeviceProfile::Ibsim if node.system_image_guid == Guid::NONE => node.guid,
        _ => node.system_image_guid,
    };
    let mut info = NodeInfo::default();
    info.set_base_version(1)
        .set_class_version(1)
        .set_node_type(node.type_)
        .set_num_ports(node.num_ports())
        .set_system_image_guid(system_image_guid)
        .set_node_guid(node.guid)
        .set_port_guid(node.guid)
        .set_partition_cap(if switch { 8 } else { options.partition_cap })
        .set_device_id(node.device_id)
        .set_revision(0xa1)
        .set_vendor_id(node.vendor_id);
    let mut description = NodeDescription::default();
    description.set_node_string(&Text::new(&node.description));
    let mut ports = ports.into_iter();
    // A CA has no port 0: the first entry of its ports is unused.
    let management = ports.next();
    let mut sma = match management {
        Some(management) if switch => Sma::new_switch(
            info,
            description,
            switch_info(node, options),
            management,
            ports,
        ),
        _ => Sma::new(info, description, ports),
    };
    sma.limit_traps(options.trap_attempts);
    if switch && options.hidden_extended_speeds && is_fast(node) {
        sma = sma.with_hidden_extended_speeds();
    }
    if node.type_ == NodeType::ROUTER && options.profile == DeviceProfile::Specified {
        // The simulator has one subnet, so that a router joins it to no other.
        sma = sma.with_router_tables(RouterTables::default());
    }
    if let Some(table) = options.initial_sl_to_vl {
        sma = sma.with_initial_sl_to_vl(table);
    }
    match options.profile {
        // ibsim answers for this attribute on every node.
        DeviceProfile::Ibsim => sma.with_mlnx_ext_port_info(),
        DeviceProfile::Specified => sma,
    }
}

/// Returns whether a node has ports of NDR or XDR.
fn is_fast(node: &Node) -> bool {
    let fast = [Some(LinkSpeed::Ndr), Some(LinkSpeed::Xdr)];
    node.ports().any(|(_, port)| fast.contains(&port.speed))
}

fn port_agent(
    node: &Node,
    number: PortNum,
    port: &Port,
    peer: Option<&Port>,
    options: &SimOptions,
) -> SmaPort {
    let info = port_info(node, number, port, peer, options);
    let external = node.type_.is_switch() && number != PortNum::MANAGEMENT;
    let guid = match options.profile {
        // On ibsim the ports of a switch are in the default partition, too.
        DeviceProfile::Ibsim => port_guid(node, number, port, options),
        DeviceProfile::Specified if external => Guid::NONE,
        DeviceProfile::Specified => port_guid(node, number, port, options),
    };
    let agent = SmaPort::new(info, guid);
    if peer.is_some() && port.speed == Some(LinkSpeed::Fdr10) {
        let fdr10 = VendorLinkSpeeds::FDR10;
        let mut mlnx = MlnxExtPortInfo::default();
        mlnx.set_link_speed_supported(fdr10)
            .set_link_speed_enabled(fdr10)
            .set_link_speed_active(fdr10);
        return agent.with_mlnx_ext_port_info(mlnx);
    }
    agent
}

fn switch_info(node: &Node, options: &SimOptions) -> SwitchInfo {
    let specified = options.profile == DeviceProfile::Specified;
    let none = if specified {
        PortNum::UNREACHABLE
    } else {
        PortNum(0)
    };
    let mut info = SwitchInfo::default();
    info.set_linear_fdb_cap(options.linear_fdb_cap)
        .set_multicast_fdb_cap(options.multicast_fdb_cap)
        .set_default_multicast_primary_port(none)
        .set_default_multicast_not_primary_port(none)
        .set_life_time_value(if specified { 0x12 } else { 0 })
        .set_port_state_change(true)
        .set_partition_enforcement_cap(options.partition_enforcement_cap)
        .set_inbound_enforcement_cap(specified)
        .set_outbound_enforcement_cap(specified)
        .set_filter_raw_inbound_cap(true)
        .set_filter_raw_outbound_cap(true)
        .set_optimized_sl_to_vl_mapping_programming(options.optimized_sl_to_vl)
        .set_enhanced_port0(node.enhanced_port_0);
    info
}

fn port_guid(node: &Node, number: PortNum, port: &Port, options: &SimOptions) -> Guid {
    let counted = Guid(node.guid.0.wrapping_add(u64::from(number.0)));
    match options.port_guids {
        _ if node.type_.is_switch() => node.guid,
        PortGuids::AsGiven if port.guid != Guid::NONE => port.guid,
        _ => counted,
    }
}

fn port_info(
    node: &Node,
    number: PortNum,
    port: &Port,
    peer: Option<&Port>,
    options: &SimOptions,
) -> PortInfo {
    let specified = options.profile == DeviceProfile::Specified;
    let switch = node.type_.is_switch();
    let management = switch && number == PortNum::MANAGEMENT;
    let end_port = management || !switch;
    let mut info = PortInfo::default();
    info.set_local_port_num(number)
        .set_link_down_default_state(LinkDownDefaultState::POLLING)
        .set_vl_cap(VlCap::VL0_7)
        .set_operational_vls(VlCap::VL0_7)
        .set_vl_arbitration_high_cap(8)
        .set_vl_arbitration_low_cap(8)
        .set_mtu_cap(if specified {
            Mtu::MTU_4096
        } else {
            Mtu::MTU_2048
        })
        .set_neighbor_mtu(Mtu::MTU_2048)
        .set_vl_stall_count(7)
        .set_local_phy_errors(match options.profile {
            DeviceProfile::Specified => 8,
            DeviceProfile::Ibsim if peer.is_some() || end_port => 0,
            DeviceProfile::Ibsim => 4,
        });
    if specified {
        info.set_overrun_errors(8);
    }
    set_link(&mut info, port, peer);
    if options.supported_links == SupportedLinks::OfDevice {
        limit_link(&mut info, node);
    }
    if peer.is_some() {
        info.set_port_state(PortState::INITIALIZE)
            .set_port_physical_state(PortPhysicalState::LINK_UP);
    } else {
        info.set_port_state(PortState::DOWN)
            .set_port_physical_state(PortPhysicalState::POLLING);
    }
    if end_port {
        info.set_subnet_timeout(if specified { 18 } else { 31 })
            .set_m_key_lease_period(if specified { 0 } else { 4089 })
            .set_gid_prefix(if specified {
                GidPrefix::DEFAULT
            } else {
                GidPrefix(0)
            });
        // Port 0 says it for the external ports, whose own attributes may hide it.
        let knows_ndr = if management && specified {
            is_fast(node)
        } else {
            info.link_speed_ext_supported().contains(LinkSpeedsExt::NDR)
        };
        info.set_capability_mask(capabilities(management, options))
            .set_capability_mask2(capabilities2(knows_ndr));
    }
    if end_port && !specified {
        // ibsim takes the LIDs of the file as if an earlier manager had assigned them.
        info.set_lid(port.lid).set_lmc(port.lmc);
    }
    if management {
        info.set_port_state(PortState::ACTIVE)
            .set_port_physical_state(PortPhysicalState::LINK_UP)
            .set_guid_cap(1)
            .set_vl_stall_count(0)
            .set_resp_time_value(8);
        if !specified {
            info.set_mtu_cap(Mtu::MTU_1024)
                .set_neighbor_mtu(Mtu::MTU_256);
        }
    } else if end_port {
        info.set_guid_cap(32);
    }
    info
}

fn capabilities(management: bool, options: &SimOptions) -> CapabilityMask {
    let specified = options.profile == DeviceProfile::Specified;
    let mut mask = CapabilityMask::IS_SL_MAPPING_SUPPORTED
        | CapabilityMask::IS_EXTENDED_SPEEDS_SUPPORTED
        | CapabilityMask::IS_CAPABILITY_MASK2_SUPPORTED;
    if !management {
        mask |= CapabilityMask::IS_VENDOR_CLASS_SUPPORTED
            | CapabilityMask::IS_CAPABILITY_MASK_NOTICE_SUPPORTED;
        if specified {
            mask |= CapabilityMask::IS_CLIENT_REREGISTRATION_SUPPORTED
                | CapabilityMask::IS_OTHER_LOCAL_CHANGES_NOTICE_SUPPORTED
                | CapabilityMask::IS_SYSTEM_IMAGE_GUID_SUPPORTED;
        }
    } else if specified {
        mask |= CapabilityMask::IS_CAPABILITY_MASK_NOTICE_SUPPORTED
            | CapabilityMask::IS_OTHER_LOCAL_CHANGES_NOTICE_SUPPORTED
            | CapabilityMask::IS_SYSTEM_IMAGE_GUID_SUPPORTED
            | CapabilityMask::IS_P_KEY_SWITCH_EXTERNAL_PORT_TRAP_SUPPORTED;
    }
    mask.set(CapabilityMask::IS_TRAP_SUPPORTED, options.traps);
    mask
}

fn capabilities2(knows_ndr: bool) -> CapabilityMask2 {
    let mut mask =
        CapabilityMask2::IS_LINK_WIDTH_2X_SUPPORTED | CapabilityMask2::IS_LINK_SPEED_HDR_SUPPORTED;
    mask.set(CapabilityMask2::IS_LINK_SPEED_NDR_SUPPORTED, knows_ndr);
    mask
}

/// Width and speed: what the port can do, what is enabled (the file's value and all below it), what is active.
fn set_link(info: &mut PortInfo, port: &Port, peer: Option<&Port>) {
    let own = port.width.filter(|_| peer.is_some());
    let lower = own.map_or(LinkWidths::X4, widths_up_to);
    // The file may have two widths for a cable, one at each end: the link uses the narrower one.
    let width = own
        .into_iter()
        .chain(peer.and_then(|peer| peer.width))
        .min();
    info.set_link_width_supported(LinkWidths::all())
        .set_link_width_enabled(lower)
        .set_width(width.unwrap_or(LinkWidth::X4));

    let speed = port.speed.filter(|_| peer.is_some());
    let speed = speed
        .into_iter()
        .chain(peer.and_then(|peer| peer.speed))
        .min();
    let speed = speed.unwrap_or(LinkSpeed::Sdr);
    let enabled = match speed {
        LinkSpeed::Sdr => LinkSpeeds::SDR,
        LinkSpeed::Ddr => LinkSpeeds::SDR | LinkSpeeds::DDR,
        _ => LinkSpeeds::all(),
    };
    info.set_speed(speed)
        .set_link_speed_supported(LinkSpeeds::all())
        .set_link_speed_enabled(enabled);

    let hdr = LinkSpeedsExt::FDR | LinkSpeedsExt::EDR | LinkSpeedsExt::HDR;
    let (enabled, supported) = match speed {
        LinkSpeed::Fdr => (LinkSpeedsExt::FDR, hdr),
        LinkSpeed::Edr => (LinkSpeedsExt::FDR | LinkSpeedsExt::EDR, hdr),
        LinkSpeed::Hdr => (hdr, hdr),
        LinkSpeed::Ndr | LinkSpeed::Xdr => (LinkSpeedsExt::all(), LinkSpeedsExt::all()),
        _ => (LinkSpeedsExt::empty(), LinkSpeedsExt::empty()),
    };
    info.set_link_speed_ext_enabled(enabled)
        .set_link_speed_ext_supported(supported);
    if speed == LinkSpeed::Xdr {
        info.set_link_speed_ext_enabled2(LinkSpeedsExt2::XDR)
            .set_link_speed_ext_supported2(LinkSpeedsExt2::XDR);
    }
}

/// A width and those below it that devices have beside it.
fn widths_up_to(width: LinkWidth) -> LinkWidths {
    match width.lanes() {
        1 => LinkWidths::X1,
        2 => LinkWidths::X1 | LinkWidths::X2,
        4 => LinkWidths::X1 | LinkWidths::X4,
        8 => LinkWidths::X1 | LinkWidths::X4 | LinkWidths::X8,
        _ => LinkWidths::X1 | LinkWidths::X4 | LinkWidths::X8 | LinkWidths::X12,
    }
}

/// Takes away what no link of the device uses: wider links than the widest, and 4x at least, and faster ones than the
/// fastest.
fn limit_link(info: &mut PortInfo, node: &Node) {
    let ports = || node.ports().filter(|(_, port)| port.peer.is_some());
    let widest = ports().filter_map(|(_, port)| port.width).max();
    let widest = widest.map_or(LinkWidth::X4, |widest| widest.max(LinkWidth::X4));
    let widths = widths_up_to(widest) | info.link_width_enabled();
    info.set_link_width_supported(widths);
    let fastest = ports().filter_map(|(_, port)| port.speed).max();
    let Some(fastest) = fastest else {
        return;
    };
    let mut slow = info.link_speed_enabled();
    slow.set(LinkSpeeds::SDR, true);
    slow.set(LinkSpeeds::DDR, fastest >= LinkSpeed::Ddr);
    slow.set(LinkSpeeds::QDR, fastest >= LinkSpeed::Qdr);
    let mut fast = info.link_speed_ext_enabled();
    let extended = [
        (LinkSpeed::Fdr, LinkSpeedsExt::FDR),
        (LinkSpeed::Edr, LinkSpeedsExt::EDR),
        (LinkSpeed::Hdr, LinkSpeedsExt::HDR),
        (LinkSpeed::Ndr, LinkSpeedsExt::NDR),
    ];
    for (speed, bit) in extended {
        fast.set(bit, fast.contains(bit) || fastest >= speed);
    }
    info.set_link_speed_supported(slow)
        .set_link_speed_ext_supported(fast);
}
