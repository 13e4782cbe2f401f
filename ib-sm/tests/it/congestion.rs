//! The congestion control manager on simulated fabrics.

use std::ops::ControlFlow;

use ib_mad::{
    CaCongestionSetting, Call, CallError, CcKey, Client, ClientConfig, CongestionControlMad,
    CongestionControlTable, CongestionKeyInfo, MadAddress, Method, MgmtClass, Request,
    SwitchCongestionSetting, WindowConfig,
};
use ib_routing::NodeIdx;
use ib_sim::Behaviour;
use ib_sm::{CongestionEvent, CongestionManager, SmConfig};
use ib_testkit::lab::{Lab, Running};
use ib_transport::{ask, drive};
use ib_wire::{Lid, Sl};

const OPTIONS: &str = "congestion_control TRUE\n\
    cc_sw_cong_setting_control_map 0x1f\n\
    cc_sw_cong_setting_victim_mask 0x1e\n\
    cc_sw_cong_setting_threshold 0x0f\n\
    cc_sw_cong_setting_packet_size 4\n\
    cc_sw_cong_setting_credit_starvation_return_delay 3:9\n\
    cc_sw_cong_setting_marking_rate 10\n\
    cc_ca_cong_setting_port_control 0x1\n\
    cc_ca_cong_setting_control_map 0x9\n\
    cc_ca_cong_setting_ccti_timer 0 150\n\
    cc_ca_cong_setting_ccti_timer 3 20\n\
    cc_ca_cong_setting_ccti_increase 0 1\n\
    cc_ca_cong_setting_trigger_threshold 3 2\n\
    cc_cct 0:0,1:2,3:16383\n";

fn manager(options: &str) -> CongestionManager {
    let (config, ignored) = SmConfig::parse(options).unwrap();
    assert_eq!(ignored, []);
    CongestionManager::new(config.congestion, WindowConfig::default())
}

/// Runs the congestion control manager on the subnet as the subnet manager has observed it.
fn run(running: &mut Running, manager: &mut CongestionManager) -> Vec<CongestionEvent> {
    manager.begin(running.sm.subnet());
    running.transport.sent.clear();
    let mut events = Vec::new();
    let done = drive(manager, &mut running.transport, &running.sim, |_, event| {
        events.push(event);
        match event {
            CongestionEvent::Done { .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert_eq!(done.unwrap(), Some(()));
    events
}

/// The results of a run: switches, CA ports, end ports without an agent, writes.
fn counts(events: &[CongestionEvent]) -> (usize, usize, usize, usize) {
    match events.last() {
        Some(&CongestionEvent::Done {
            switches,
            cas,
            unsupported,
            written,
        }) => (switches, cas, unsupported, written),
        other => panic!("{other:?}"),
    }
}

/// The answer to a call.
fn answer<R: Request<Error = CallError>>(running: &mut Running, call: R) -> R::Output {
    let mut client = Client::new(ClientConfig::default());
    ask(&mut client, call, &mut running.transport, &running.sim)
        .unwrap()
        .unwrap()
}

/// The value of an attribute at an agent.
macro_rules! held {
    ($attribute:ident, $running:expr, $lid:expr, $modifier:expr) => {{
        let call = Call::<$attribute>::get(MgmtClass::CONGESTION_CONTROL, $modifier);
        answer($running, call.to(MadAddress::gsi($lid, Sl::ZERO)))
    }};
}

/// LIDs of a switch and of a host that is not the manager's.
fn lids(running: &Running) -> (NodeIdx, Lid, NodeIdx, Lid) {
    let subnet = running.sm.subnet();
    let own = subnet.own_port().unwrap().node;
    let lid_of = |is_switch: bool| {
        let mut ports = subnet.ports().filter(|(id, node, port)| {
            subnet.is_end_port(*id)
                && node.is_switch() == is_switch
                && id.node != own
                && port.info().is_some_and(|info| info.lid().is_unicast())
        });
        let (_, node, port) = ports.next().unwrap();
        let guid = node.info().node_guid();
        let at = running.sim.with(|sim| sim.find_guid(guid).unwrap());
        (at, port.info().unwrap().lid())
    };
    let ((switch, switch_lid), (host, host_lid)) = (lid_of(true), lid_of(false));
    (switch, switch_lid, host, host_lid)
}

#[test]
fn every_agent_gets_what_the_options_say_and_the_second_run_writes_nothing() {
    let mut running = Lab::new("gen-ring-5").up();
    let mut manager = manager(OPTIONS);
    let events = run(&mut running, &mut manager);
    let (switches, cas, unsupported, written) = counts(&events);
    assert_eq!((switches, unsupported), (5, 0));
    // A setting for each agent, and a block of the table for each CA.
    assert_eq!(written, switches + 2 * cas);
    let (_, switch, _, host) = lids(&running);
    let setting = held!(SwitchCongestionSetting, &mut running, switch, 0);
    assert_eq!(setting.control_map(), 0x1f);
    assert_eq!(
        (setting.victim_mask()[31], setting.victim_mask()[30]),
        (0x1e, 0)
    );
    assert_eq!((setting.threshold(), setting.packet_size()), (15, 4));
    assert_eq!(setting.cs_return_delay(), 3 << 14 | 9);
    assert_eq!(setting.marking_rate(), 10);
    let setting = held!(CaCongestionSetting, &mut running, host, 0);
    assert_eq!((setting.port_control(), setting.control_map()), (1, 9));
    let level = |index| setting.ca_congestion_entry_list(index).unwrap();
    assert_eq!((level(0).ccti_timer(), level(3).ccti_timer()), (150, 20));
    assert_eq!((level(0).ccti_increase(), level(3).ccti_increase()), (1, 0));
    assert_eq!(level(3).trigger_threshold(), 2);
    let table = held!(CongestionControlTable, &mut running, host, 0);
    assert_eq!(table.ccti_limit(), 2);
    let entry = table.congestion_control_table_entry_list(2).unwrap();
    assert_eq!((entry.cct_shift(), entry.cct_multiplier()), (3, 16383));

    let events = run(&mut running, &mut manager);
    assert_eq!(counts(&events).3, 0);
    assert_eq!(running.transport.sent_with(Method::SET), []);
}

#[test]
fn nothing_is_sent_while_it_is_off() {
    let mut running = Lab::new("gen-ring-5").up();
    let mut manager = manager("cc_sw_cong_setting_threshold 0x0f\n");
    manager.begin(running.sm.subnet());
    running.transport.sent.clear();
    let ended: Option<()> = drive(
        &mut manager,
        &mut running.transport,
        &running.sim,
        |_, event| panic!("{event:?}"),
    )
    .unwrap();
    assert_eq!(ended, None);
    assert_eq!(running.transport.sent, []);
}

#[test]
fn a_device_without_an_agent_is_asked_once() {
    let mut running = Lab::new("gen-ring-5").up();
    let mut manager = manager(OPTIONS);
    let (_, _, host, lid) = lids(&running);
    running
        .sim
        .with(|sim| sim.set_behaviour(host, Behaviour::Silent));
    let events = run(&mut running, &mut manager);
    assert_eq!(counts(&events).2, 1);
    let asked = |running: &Running| {
        let sent = running.transport.sent.iter();
        sent.filter(|mad| mad.address.lid == lid).count()
    };
    assert!(asked(&running) > 0);
    let events = run(&mut running, &mut manager);
    assert_eq!((counts(&events).2, asked(&running)), (1, 0));
}

#[test]
fn an_agent_with_another_key_is_reported_and_takes_the_setting_with_its_key() {
    let mut running = Lab::new("gen-ring-5").up();
    let (_, switch, ..) = lids(&running);
    // The switch has got a key from another program.
    let mut info = CongestionKeyInfo::default();
    info.set_cc_key(CcKey(0x77));
    let set = Call::<CongestionKeyInfo>::set(MgmtClass::CONGESTION_CONTROL, 0);
    let mut set = set.to_with(MadAddress::gsi(switch, Sl::ZERO), &info);
    let (format, _) = CongestionControlMad::parse_mut(&mut set.mad.bytes, 0).unwrap();
    format.set_cc_key(CcKey(0x77));
    answer(&mut running, set);

    let events = run(&mut running, &mut manager(OPTIONS));
    let refused: Vec<_> = events.iter().filter(|event| event.is_warning()).collect();
    assert!(
        matches!(
            refused[..],
            [CongestionEvent::NotWritten { status: None, .. }]
        ),
        "{refused:?}"
    );
    let setting = held!(SwitchCongestionSetting, &mut running, switch, 0);
    assert_eq!(setting.marking_rate(), 0);

    let with_key = format!("{OPTIONS}cc_key 0x77\n");
    run(&mut running, &mut manager(&with_key));
    let setting = held!(SwitchCongestionSetting, &mut running, switch, 0);
    assert_eq!(setting.marking_rate(), 10);
}

#[test]
fn the_longest_table_fits_and_a_longer_one_is_refused() {
    // Simulated CAs have room for 128 entries, as many as the option takes.
    let delays = |count: usize| vec!["1:1"; count].join(",");
    let longest = format!("congestion_control TRUE\ncc_cct {}\n", delays(128));
    let mut running = Lab::new("gen-ring-5").up();
    let events = run(&mut running, &mut manager(&longest));
    assert_eq!(events.len(), 1, "{events:?}");
    let (.., host) = lids(&running);
    let table = held!(CongestionControlTable, &mut running, host, 1);
    assert_eq!(table.ccti_limit(), 127);
    assert!(SmConfig::parse(&format!("cc_cct {}\n", delays(129))).is_err());
}
