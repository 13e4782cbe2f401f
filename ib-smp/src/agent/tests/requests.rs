//! Which requests are answered, and how.

use super::*;

#[test]
fn node_info_shows_the_port_of_arrival() {
    for port in [1, 2] {
        let mut bytes = *request(Method::GET, NodeInfo::ID, 0, &[]).as_bytes();
        let arrival = Arrival {
            port: PortNum(port),
            slid: Lid(1),
        };
        assert_eq!(
            ca().respond(T0, arrival, &mut bytes),
            SmpDisposition::Respond
        );
        let data = *SmpLidRouted::from_bytes(bytes).smp_data();
        let info = NodeInfo::from_bytes(*data.first_chunk().unwrap());
        assert_eq!(info.local_port_num(), PortNum(port));
        assert_eq!(info.port_guid(), Guid(0x10 + u64::from(port)));
        assert_eq!(info.num_ports(), 2);
        assert_eq!(data[40..], [0; 24]);
    }
    let data = get(&mut switch(), NodeInfo::ID, 0).unwrap();
    let info = NodeInfo::from_bytes(*data.first_chunk().unwrap());
    assert_eq!((info.port_guid(), info.num_ports()), (Guid(0x10), 20));
}

#[test]
fn a_directed_response_has_the_d_bit_and_keeps_its_route() {
    let path = DrPath::try_new(&[PortNum(1), PortNum(3)]).unwrap();
    let mut smp = SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path);
    smp.set_hop_pointer(3).set_return_path(&[9; 64]);
    let mut bytes = *smp.as_bytes();
    let arrival = Arrival {
        port: PortNum(1),
        slid: Lid::PERMISSIVE,
    };
    assert_eq!(
        ca().respond(T0, arrival, &mut bytes),
        SmpDisposition::Respond
    );
    let response = SmpDirected::from_bytes(bytes);
    assert_eq!(response.d(), DrDirection::RETURNING);
    assert_eq!(response.status(), MadStatus::OK);
    assert_eq!(response.method(), Method::GET_RESP);
    assert_eq!(response.hop_pointer(), 3);
    assert_eq!(response.initial_path(), smp.initial_path());
    assert_eq!(response.return_path(), smp.return_path());
}

#[test]
fn what_the_agent_does_not_know_gets_a_status() {
    let mut sma = ca();
    let unsupported = Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    for id in [
        0x00, 0x0012, 0x0019, 0x001a, 0x001b, 0x001c, 0x001e, 0x0033, 0xff90, 0xffff,
    ] {
        assert_eq!(get(&mut sma, AttributeId(id), 0), unsupported, "{id:#x}");
    }
    assert_eq!(set(&mut sma, NodeInfo::ID, 0, &[]), unsupported);
    assert_eq!(set(&mut sma, NodeDescription::ID, 0, &[]), unsupported);
    let mut smp = request(Method::GET, NodeInfo::ID, 0, &[]);
    smp.set_class_version(2);
    assert_eq!(ask(&mut sma, smp).status(), MadStatus(4));
    let smp = request(Method(0x19), NodeInfo::ID, 0, &[]);
    assert_eq!(ask(&mut sma, smp).status(), MadStatus::UNSUPPORTED_METHOD);
}

#[test]
fn what_is_for_a_manager_goes_there_untouched() {
    let sm_info = request(Method::GET, SmInfo::ID, 0, &[]);
    let response = request(Method::GET_RESP, NodeInfo::ID, 0, &[]);
    let trap = request(Method::TRAP, AttributeId(2), 0, &[]);
    for smp in [sm_info, response, trap] {
        assert_eq!(
            ask_at(&mut ca(), T0, smp),
            (SmpDisposition::ForManager, smp)
        );
    }
    let mut bytes = *sm_info.as_bytes();
    assert!(Sma::refuse(&mut bytes));
    let status = SmpLidRouted::from_bytes(bytes).status();
    assert_eq!(status, MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    assert!(!Sma::refuse(&mut response.as_bytes().to_owned()));
}

#[test]
fn optional_attributes_are_there_where_the_masks_say_so() {
    let mut sma = ca();
    assert_eq!(
        set(&mut sma, LedInfo::ID, 0, &[0x80, 0, 0, 0]).unwrap()[0],
        0x80
    );
    assert_eq!(get(&mut sma, LedInfo::ID, 2).unwrap()[0], 0);
    assert_eq!(
        get(&mut sma, LedInfo::ID, 3),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
    let mut info = port_info();
    info.set_capability_mask2(
        CapabilityMask2::IS_PORT_INFO_EXTENDED_SUPPORTED
            | CapabilityMask2::IS_SET_NODE_DESCRIPTION_SUPPORTED,
    );
    let mut extended = PortInfoExtended::default();
    extended.set_edr_fec_mode_supported(6);
    let port = SmaPort::new(info, Guid(0x11)).with_extended(extended);
    let mut sma = Sma::new(node_info(NodeType::CA), NodeDescription::default(), [port]);
    extended.set_edr_fec_mode_enabled(4);
    let id = PortInfoExtended::ID;
    assert_eq!(
        set(&mut sma, id, 1, extended.as_bytes()),
        Ok(*extended.as_bytes())
    );
    extended.set_edr_fec_mode_enabled(8);
    assert_eq!(
        set(&mut sma, id, 1, extended.as_bytes()),
        Err(MadStatus::INVALID_FIELD_VALUE)
    );
    let mut description = NodeDescription::default();
    description.set_node_string(&Text::new("n1 mlx5_0"));
    set(&mut sma, NodeDescription::ID, 0, description.as_bytes()).unwrap();
    assert_eq!(sma.node_description(), &description);
}

#[test]
fn the_vendors_speeds_are_read_and_set_where_the_device_has_them() {
    let read = |sma: &mut Sma, port| {
        let data = get(sma, MlnxExtPortInfo::ID, port)?;
        Ok::<_, MadStatus>(MlnxExtPortInfo::from_bytes(data))
    };
    assert_eq!(
        read(&mut ca(), 1),
        Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE)
    );
    let mut speeds = MlnxExtPortInfo::default();
    speeds.set_link_speed_supported(VendorLinkSpeeds::FDR10);
    let port = |number: u64| SmaPort::new(port_info(), Guid(0x10 + number));
    let ports = [port(1), port(2).with_mlnx_ext_port_info(speeds)];
    let mut sma = Sma::new(node_info(NodeType::CA), NodeDescription::default(), ports);
    // One port of the device has them, so that the attribute exists for the other one too.
    assert_eq!(read(&mut sma, 1), Ok(MlnxExtPortInfo::default()));
    assert_eq!(read(&mut sma, 2), Ok(speeds));
    let mut wanted = speeds;
    wanted.set_link_speed_enabled(VendorLinkSpeeds::FDR10);
    let refused = set(&mut sma, MlnxExtPortInfo::ID, 1, wanted.as_bytes());
    assert_eq!(refused, Err(MadStatus::INVALID_FIELD_VALUE));
    set(&mut sma, MlnxExtPortInfo::ID, 2, wanted.as_bytes()).unwrap();
    assert_eq!(read(&mut sma, 2), Ok(wanted));
}
