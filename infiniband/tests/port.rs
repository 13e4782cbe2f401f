//! Questions through a port of a simulated fabric.

use infiniband::{
    GetError, LocalPort,
    mad::{CallError, MadStatus},
    routing::{NodeType, generate::FabricSpec},
    sim::{SharedSim, Sim, SimOptions, SimTransport},
    smp::{NodeInfo, PortAddress, PortInfo, SwitchInfo},
};

/// The port of the first CA of a ring.
fn port() -> LocalPort<SimTransport, SharedSim> {
    let fabric = "ring:switches=5,hosts=1".parse::<FabricSpec>().unwrap();
    let fabric = fabric.build().unwrap();
    let sim = Sim::new(&fabric, SimOptions::default()).share();
    let transport = sim.attach(fabric.first_host().unwrap()).unwrap();
    LocalPort::new(transport, sim)
}

#[test]
fn attributes_are_got_by_a_directed_route() {
    let mut port = port();
    let route: PortAddress = "0,1".parse().unwrap();
    let switch: NodeInfo = port.get(&route, 0).unwrap();
    assert_eq!(switch.node_type(), NodeType::SWITCH);
    let info = port.get::<PortInfo>(&route, 3).unwrap();
    assert_eq!(info.local_port_num(), switch.local_port_num());
    assert!(info.width().is_some());
}

#[test]
fn a_refusal_is_an_error_with_its_status() {
    let own: PortAddress = "0".parse().unwrap();
    let refused = port().get::<SwitchInfo>(&own, 0).unwrap_err();
    let status = MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE;
    assert!(
        matches!(refused, GetError::Call(CallError::Refused { status: found }) if found == status),
        "{refused:?}"
    );
}

#[test]
fn a_guid_needs_its_lid_first() {
    let guid: PortAddress = "0x0002c90300a1b2c3".parse().unwrap();
    let error = port().get::<PortInfo>(&guid, 1).unwrap_err();
    assert!(
        matches!(error, GetError::NeedsLid(of) if of == guid),
        "{error:?}"
    );
}
