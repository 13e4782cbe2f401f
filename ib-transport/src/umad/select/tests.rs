use ib_wire::Gid;

use super::*;

fn port(number: u8, link_layer: LinkLayer, state: u8, phys_state: u8) -> DevicePort {
    DevicePort {
        number,
        umad: Some(0),
        link_layer,
        state: Some(state),
        phys_state: Some(phys_state),
        lid: None,
        lmc: None,
        sm_lid: None,
        sm_sl: None,
        gid: Some(Gid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number])),
        cap_mask: Some(0),
        rate: None,
        p_keys: Vec::new(),
    }
}

fn device(name: &str, ports: Vec<DevicePort>) -> Device {
    Device {
        name: name.to_owned(),
        node_type: 1,
        ports,
        ..Device::default()
    }
}

#[test]
fn without_a_name_the_first_active_infiniband_port_is_chosen() {
    let devices = [
        device("a", vec![port(1, LinkLayer::Ethernet, 4, 5)]),
        device(
            "b",
            vec![
                port(1, LinkLayer::InfiniBand, 2, 5),
                port(2, LinkLayer::InfiniBand, 4, 5),
            ],
        ),
        device("c", vec![port(1, LinkLayer::InfiniBand, 4, 5)]),
    ];
    let chosen = |device: Option<&str>, port, guid| {
        let wanted = PortSelector {
            device: device.map(str::to_owned),
            port,
            guid,
        };
        wanted
            .choose(&devices)
            .map(|(device, port)| (device.name.as_str(), port.number))
    };
    assert_eq!(chosen(None, None, None), Some(("b", 2)));
    assert_eq!(chosen(None, Some(1), None), Some(("c", 1)));
    assert_eq!(chosen(Some("b"), Some(1), None), Some(("b", 1)));
    // A port that the user names is returned even if it is Ethernet, for an error that says so.
    assert_eq!(chosen(Some("a"), None, None), Some(("a", 1)));
    assert_eq!(chosen(Some("d"), None, None), None);
    assert_eq!(chosen(None, None, Some(Guid(2))), Some(("b", 2)));
    assert_eq!(chosen(Some("c"), None, Some(Guid(2))), None);
}

#[test]
fn a_port_that_is_split_over_two_devices_is_found_by_its_guid() {
    let mut general = port(1, LinkLayer::InfiniBand, 4, 5);
    general.cap_mask = Some(1 << 10);
    let mut foreign = port(2, LinkLayer::InfiniBand, 4, 5);
    foreign.cap_mask = Some(0);
    let devices = [
        device("mlx5_0", vec![general]),
        device("smi_0", vec![port(1, LinkLayer::InfiniBand, 4, 5)]),
        device("mlx5_1", vec![foreign]),
    ];
    let names = |from: usize| {
        let port = &devices[from].ports[0];
        let halves = SplitPort::of(&devices, (&devices[from], port));
        let name = |(device, _): (&Device, _)| device.name.clone();
        (halves.smi.map(name), name(halves.gsi))
    };
    let split = (Some("smi_0".to_owned()), "mlx5_0".to_owned());
    assert_eq!(names(0), split);
    assert_eq!(names(1), split);
    assert_eq!(names(2), (Some("mlx5_1".to_owned()), "mlx5_1".to_owned()));
}

fn reason(error: TransportError) -> String {
    match error {
        TransportError::NoPort { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_missing_is_named_with_what_helps() {
    let devices = [
        device("mlx5_0", vec![port(1, LinkLayer::InfiniBand, 4, 5)]),
        device("rxe0", vec![port(1, LinkLayer::Ethernet, 4, 5)]),
    ];
    let any = PortSelector::default();
    let named = |device: &str, port| PortSelector {
        device: Some(device.to_owned()),
        port,
        guid: None,
    };
    let by_guid = PortSelector {
        guid: Some(Guid(0xab)),
        ..PortSelector::default()
    };
    let by_number = PortSelector {
        port: Some(3),
        ..PortSelector::default()
    };
    let here = "ports here: mlx5_0/1 (InfiniBand), rxe0/1 (Ethernet)";
    let cases: [(&[Device], &PortSelector, Option<u32>, String); 9] = [
        (
            &[],
            &any,
            None,
            "the module ib_umad is not loaded (`modprobe ib_umad`), and there is no RDMA device"
                .into(),
        ),
        (
            &devices,
            &any,
            None,
            "the module ib_umad is not loaded: `modprobe ib_umad`".into(),
        ),
        (
            &devices,
            &any,
            Some(4),
            "the kernel's ib_umad has interface version 4, this program speaks 5".into(),
        ),
        (
            &[],
            &any,
            Some(5),
            "no usable InfiniBand port; ports here: none".into(),
        ),
        (
            &devices[1..],
            &any,
            Some(5),
            "no usable InfiniBand port; ports here: rxe0/1 (Ethernet)".into(),
        ),
        (
            &devices,
            &named("mlx4_0", None),
            Some(5),
            format!("no device mlx4_0 with a port; {here}"),
        ),
        (
            &devices,
            &named("mlx5_0", Some(2)),
            Some(5),
            format!("no port mlx5_0/2; {here}"),
        ),
        (
            &devices,
            &by_guid,
            Some(5),
            format!("no port with GUID 0x00000000000000ab; {here}"),
        ),
        (
            &devices,
            &by_number,
            Some(5),
            format!("no device with an InfiniBand port 3; {here}"),
        ),
    ];
    for (devices, wanted, abi, expected) in cases {
        assert_eq!(
            wanted.choose(devices).filter(|_| abi == Some(5)),
            None,
            "{expected}"
        );
        assert_eq!(reason(no_port(devices, wanted, abi)), expected);
    }
}

#[test]
fn a_port_without_subnet_management_says_why() {
    let mut disabled = port(1, LinkLayer::InfiniBand, 4, 5);
    (disabled.cap_mask, disabled.gid) = (Some(1 << 10), None);
    let devices = [
        device("rxe0", vec![port(1, LinkLayer::Ethernet, 4, 5)]),
        device("mlx5_0", vec![disabled]),
        device(
            "mlx5_1",
            vec![
                port(1, LinkLayer::InfiniBand, 4, 5),
                port(2, LinkLayer::InfiniBand, 1, 2),
            ],
        ),
        device(
            "ipo0",
            vec![port(1, LinkLayer::Other("IPoverMagic".into()), 4, 5)],
        ),
    ];
    let refused = |index: usize| {
        let chosen = (&devices[index], &devices[index].ports[0]);
        let has_smi = SplitPort::of(&devices, chosen).smi.is_some();
        check(&devices, chosen, has_smi, &AgentClass::SUBNET_MANAGER).map_err(reason)
    };
    let others = "no subnet management there; InfiniBand ports are: mlx5_1/1, mlx5_1/2";
    assert_eq!(
        refused(0),
        Err(format!("rxe0/1 has link layer Ethernet: {others}"))
    );
    assert_eq!(
        refused(1),
        Err("mlx5_0/1 has its subnet management interface disabled (IsSMDisabled), and no other device here has \
             it for this port"
            .to_owned())
    );
    assert_eq!(refused(2), Ok(()));
    assert_eq!(
        refused(3),
        Err(format!("ipo0/1 has link layer IPoverMagic: {others}"))
    );
}

#[test]
fn a_port_that_is_down_carries_subnet_management_only_and_says_what_helps() {
    let says = |state, phys_state, link_layer, classes: &[AgentClass]| {
        let devices = [device(
            "mlx5_0",
            vec![port(1, link_layer, state, phys_state)],
        )];
        let chosen = (&devices[0], &devices[0].ports[0]);
        check(&devices, chosen, chosen.1.has_smi(), classes).map_err(reason)
    };
    let client = [AgentClass::client(ib_mad::MgmtClass::SUBN_ADM, 2)];
    let infiniband = || LinkLayer::InfiniBand;
    let refused = |text: &str| Err(format!("mlx5_0/1 is {text}"));
    assert_eq!(
        says(1, 2, infiniband(), &client),
        refused("Down, no link: check the cable and the port at its other end")
    );
    assert_eq!(
        says(1, 3, infiniband(), &client),
        refused("Down, the port is disabled: enable it, as with `ibportstate`")
    );
    assert_eq!(says(1, 4, infiniband(), &client), refused("Down"));
    assert_eq!(
        says(2, 5, infiniband(), &client),
        refused(
            "Initialize, no subnet manager has configured it: start one; until then only directed routes work"
        )
    );
    assert_eq!(
        says(3, 5, infiniband(), &client),
        refused("Armed, the subnet manager has not finished with it")
    );
    assert_eq!(says(4, 5, infiniband(), &client), Ok(()));
    assert_eq!(says(5, 5, infiniband(), &client), Ok(()));
    // Subnet management brings a port up; and Ethernet has other states.
    for state in 1..=4 {
        assert_eq!(
            says(state, 2, infiniband(), &AgentClass::SUBNET_MANAGER),
            Ok(())
        );
        assert_eq!(says(state, 2, LinkLayer::Ethernet, &client), Ok(()));
    }
}

#[test]
fn the_state_that_a_simulator_showed_at_first_refuses_nothing() {
    let mut simulated = device("ibsim0", vec![port(1, LinkLayer::InfiniBand, 2, 5)]);
    simulated.hca_type = Some("simulator".to_owned());
    let devices = [simulated];
    let client = [AgentClass::client(ib_mad::MgmtClass::SUBN_ADM, 2)];
    let chosen = (&devices[0], &devices[0].ports[0]);
    assert!(check(&devices, chosen, true, &client).is_ok());
}

#[test]
fn disabled_ports_come_last_and_link_up_before_polling() {
    let choice = |ports: Vec<DevicePort>| {
        let devices = [device("a", ports)];
        PortSelector::default()
            .choose(&devices)
            .map(|(_, port)| port.number)
    };
    let infiniband =
        |number, state, phys_state| port(number, LinkLayer::InfiniBand, state, phys_state);
    assert_eq!(
        choice(vec![infiniband(1, 1, 3), infiniband(2, 1, 2)]),
        Some(2)
    );
    assert_eq!(
        choice(vec![infiniband(1, 1, 2), infiniband(2, 2, 5)]),
        Some(2)
    );
    assert_eq!(
        choice(vec![infiniband(1, 2, 5), infiniband(2, 4, 5)]),
        Some(2)
    );
    assert_eq!(
        choice(vec![infiniband(1, 4, 5), infiniband(2, 4, 5)]),
        Some(1)
    );
    // A device that says nothing about its port is still a choice, after those that are up.
    let mut silent = infiniband(1, 0, 0);
    (silent.state, silent.phys_state) = (None, None);
    assert_eq!(choice(vec![silent.clone()]), Some(1));
    assert_eq!(choice(vec![silent, infiniband(2, 4, 5)]), Some(2));
    // One without a umad node is none.
    let mut plain = infiniband(1, 4, 5);
    plain.umad = None;
    assert_eq!(choice(vec![plain]), None);
}
