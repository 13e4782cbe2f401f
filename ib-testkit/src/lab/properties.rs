//! Facts about whole subnets that hold for every input: called by the property tests of `ib-sm` and the fuzz targets alike.

use std::{
    io::Cursor,
    os::{linux::net::SocketAddrExt as _, unix::net::SocketAddr, unix::net::UnixDatagram},
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::Duration,
};

use ib_mad::{AttributeId, Method};
use ib_routing::{LidMap, LidOptions, PortRef, RouteOptions, engine};
use ib_sa::{ComponentMask, NodeRecord, SaMad};
use ib_sim::{
    FaultSpec,
    server::{Listen, Server, ServerOptions},
};
use ib_sm::SmConfig;
use ib_smp::SmState;
use ib_transport::{MadTransport as _, capture::CaptureReader};

use crate::fabrics::generated;

use super::{Lab, client::Client, managers::Managers, schedule::Schedule};

/// Most steps of a script.
const MAX_STEPS: usize = 64;

/// Whatever fails and comes back: three sweeps later the subnet is whole.
pub fn any_schedule_leaves_the_subnet_whole(bytes: &[u8]) {
    let schedule = Schedule::of_bytes(bytes);
    if let Err(wrong) = schedule.play() {
        panic!("{schedule:#?}\n{wrong}");
    }
}

/// Configurations other than the default.
const CONFIGURATIONS: [&str; 6] = [
    "lmc 2\nrouting_engine updn\n",
    "qos TRUE\nqos_max_vls 4\nqos_sl2vl 0,1,2,3,0,1,2,3\n",
    "m_key 0x1234\nm_key_protection_level 2\nm_key_lease_period 60\n",
    "routing_engine nue,lash,minhop\nuse_ucast_cache FALSE\n",
    "force_heavy_sweep TRUE\nsweep_interval 1\nmax_wire_smps 1\n",
    "no_partition_enforcement TRUE\nsm_priority 15\ntransaction_retries 0\n",
];

/// Whatever a host asks the administrator of a subnet that is up, under any of several configurations, while cables go and
/// come back: the manager stays sound, and once all cables are back it lists every node.
pub fn any_requests_leave_the_administrator_sane(script: &[u8]) {
    let mut bytes = script.iter().copied();
    let mut next = || bytes.next().unwrap_or(0);
    let text = CONFIGURATIONS[usize::from(next()) % CONFIGURATIONS.len()];
    let (config, _) = SmConfig::parse(text).unwrap();
    let lab = Lab::of(generated("ring:switches=3,hosts=1")).config(|to| {
        let interval = Some(Duration::from_secs(1));
        *to = SmConfig {
            sweep_interval: interval,
            ..config
        };
    });
    let mut client = Client::of(lab.up());
    let cables: Vec<PortRef> = client.running.sim.with(|sim| {
        let ends = sim.nodes().indices().flat_map(|node| sim.ports_of(node));
        let ends = ends.map(|port| port.at());
        let own = client.port;
        let cables = ends.filter(|&at| {
            let peer = sim.peer(at);
            peer.is_some_and(|peer| at < peer && peer != own && at != own)
        });
        cables.collect()
    });
    for _ in 0..(script.len() / 8).min(MAX_STEPS) {
        match next() % 8 {
            0 => {
                let cable = cables[usize::from(next()) % cables.len()];
                client.running.sim.with(|sim| sim.unlink(cable).unwrap());
            }
            1 => reconnect(&client, &cables),
            2 => client
                .running
                .run_for(Duration::from_millis(u64::from(next()) * 8)),
            _ => {
                let request = any_request(&mut next);
                client.send(&request);
                client.running.run_for(Duration::from_micros(next().into()));
            }
        }
        let now = client.running.sim.with(|sim| sim.now());
        while client.transport.recv(now).unwrap().is_some() {}
    }
    reconnect(&client, &cables);
    client.running.run_for(Duration::from_secs(60));
    let now = client.running.sim.with(|sim| sim.now());
    while client.transport.recv(now).unwrap().is_some() {}
    assert!(client.running.sm.is_up(), "{text}");
    let nodes = client.table(&NodeRecord::default(), ComponentMask(0));
    assert_eq!(nodes.len(), 6, "{text}");
}

/// Whatever an operator orders of a running manager, as `ib ctl` does, while cables go and come back: the manager stays
/// sound, and once all cables are back and it sweeps, the subnet is up.
///
/// Each byte chooses an order; rules of partitions and options of the configuration are the text that follows, up to the
/// end of its line.
pub fn any_orders_leave_the_manager_sane(script: &[u8]) {
    let mut rest = script.split_first();
    let lab = Lab::of(generated("ring:switches=3,hosts=1"));
    let mut client = Client::of(lab.up());
    let ends = client.running.sim.with(|sim| {
        let ends = sim.nodes().indices().flat_map(|node| sim.ports_of(node));
        ends.map(|port| port.at()).collect::<Vec<PortRef>>()
    });
    let interval = Some(Duration::from_secs(1));
    for _ in 0..MAX_STEPS {
        let Some((&order, after)) = rest else { break };
        let line_end = after.iter().position(|&byte| byte == b'\n');
        let (line, next) = after.split_at(line_end.unwrap_or(after.len().min(1)));
        let text = String::from_utf8_lossy(line);
        let value = line.first().copied().unwrap_or(0);
        let running = &mut client.running;
        let (sm, now) = (&mut running.sm, running.sim.with(|sim| sim.now()));
        match order % 10 {
            0 => sm.resweep(now),
            1 => sm.light_sweep(now),
            2 => sm.reroute(now),
            3 => sm.set_priority(now, value % 16),
            4 => sm.set_sweeping(now, interval.filter(|_| value & 1 == 1), value & 2 == 2),
            5 => {
                if let Ok(partitions) = sm.config().partitions.with_rules(&format!("{text};")) {
                    sm.set_partitions(now, partitions);
                }
            }
            6 => {
                let partitions = sm.config().partitions.iter();
                let bases: Vec<_> = partitions.map(|partition| partition.base).collect();
                let chosen = bases.get(usize::from(value) % bases.len().max(1));
                let base = chosen.copied().unwrap_or_default();
                if let Some(partitions) = sm.config().partitions.without(base) {
                    sm.set_partitions(now, partitions);
                }
            }
            7 => {
                if let Ok((config, _)) = SmConfig::parse(&text) {
                    sm.reconfigure(now, config);
                }
            }
            8 => {
                let end = ends[usize::from(value) % ends.len()];
                client.running.sim.with(|sim| _ = sim.unlink(end));
            }
            _ => reconnect(&client, &ends),
        }
        let wait = Duration::from_millis(u64::from(value) * 4);
        client.running.run_for(wait);
        rest = next.split_first();
    }
    reconnect(&client, &ends);
    let now = client.running.sim.with(|sim| sim.now());
    client.running.sm.set_sweeping(now, interval, true);
    client.running.sm.resweep(now);
    client.running.run_for(Duration::from_secs(60));
    let text = String::from_utf8_lossy(script);
    assert!(client.running.sm.is_up(), "{text:?}");
    assert_eq!(client.running.sm.subnet().nodes().count(), 6, "{text:?}");
}

fn reconnect(client: &Client, cables: &[PortRef]) {
    client.running.sim.with(|sim| {
        for &cable in cables {
            sim.relink(cable).unwrap_or(false);
        }
    });
}

/// A request with any data: mostly for an attribute that there is, and by a method of this class.
fn any_request(next: &mut impl FnMut() -> u8) -> SaMad {
    const METHODS: [Method; 6] = [
        Method::GET,
        Method::SET,
        Method::DELETE,
        Method::GET_TABLE,
        Method::GET_MULTI,
        Method::GET_TRACE_TABLE,
    ];
    const ATTRIBUTES: [u16; 16] = [
        0x01, 0x03, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x20, 0x31, 0x33, 0x35, 0x38, 0x39,
        0x3a,
    ];
    let method = METHODS[usize::from(next()) % METHODS.len()];
    let attribute = ATTRIBUTES[usize::from(next()) % ATTRIBUTES.len()];
    let mask = match next() % 4 {
        0 => 0,
        1 => 1 << (next() % 64),
        _ => u64::from_be_bytes(std::array::from_fn(|_| next())),
    };
    let mut request = SaMad::query(method, &NodeRecord::default(), ComponentMask(mask));
    request.set_attribute_id(AttributeId(attribute));
    let data: Vec<u8> = (0..next() % 64).map(|_| next()).collect();
    let mut bytes = *request.as_bytes();
    for (to, from) in bytes[56..].iter_mut().zip(data) {
        *to = from;
    }
    SaMad::from_bytes(bytes)
}

/// Whatever managers start, die and are cut off: a minute after the last change there is one master, and the others stand by.
pub fn any_managers_agree_on_one_master(script: &[u8]) {
    let (mut managers, ports) = Managers::new("gen-ring-5");
    let mut bytes = script.iter().copied();
    let mut next = || bytes.next().unwrap_or(0);
    for _ in 0..(script.len() / 2).min(12) {
        let which = usize::from(next());
        match next() % 4 {
            0 | 1 => {
                let free = ports.iter().enumerate().filter(|&(at, _)| {
                    let mut hosts = managers.hosts.iter();
                    !hosts.any(|host| host.alive && host.transport.port() == ports[at])
                });
                let free: Vec<_> = free.map(|(_, &port)| port).collect();
                if free.len() > ports.len() - 3 {
                    managers.start(free[which % free.len()], (which % 16) as u8);
                }
            }
            2 => {
                let alive = managers.hosts.iter().enumerate();
                let alive: Vec<_> = alive.filter(|(_, host)| host.alive).collect();
                let chosen = alive.get(which % alive.len().max(1));
                if let Some((host, port)) = chosen.map(|&(at, host)| (at, host.transport.port())) {
                    managers.die(host, port);
                }
            }
            _ => {
                let port = ports[which % ports.len()];
                managers.sim.with(|sim| sim.unlink(port).unwrap());
                managers.run_for(Duration::from_millis(which as u64));
                managers.sim.with(|sim| sim.relink(port).unwrap_or(false));
            }
        }
        managers.run_for(Duration::from_millis(8 * u64::from(next())));
    }
    managers.run_for(Duration::from_secs(90));
    let alive = managers.hosts.iter().filter(|host| host.alive);
    let states: Vec<SmState> = alive.map(|host| host.sm.state()).collect();
    let count = |state| states.iter().filter(|&&other| other == state).count();
    let masters = usize::from(!states.is_empty());
    assert_eq!(count(SmState::MASTER), masters, "{states:?}");
    assert_eq!(
        count(SmState::STANDBY),
        states.len() - masters,
        "{states:?}"
    );
}

/// Any file is what it is said to be, or an error: a capture, a torus-2QoS.conf, a schedule of faults. The first byte
/// chooses.
pub fn any_file_is_read_or_refused(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(bytes);
    match kind % 3 {
        0 => {
            if let Ok(mut reader) = CaptureReader::new(Cursor::new(bytes)) {
                while let Ok(Some(frame)) = reader.next_frame() {
                    let _ = frame.content();
                }
                // A frame has a header of 16 bytes at least.
                assert!(reader.frames() <= bytes.len() as u64 / 16);
            }
        }
        1 => {
            let fabric = generated("torus:3x3,hosts=1");
            let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
            let options = RouteOptions {
                torus_config: Some(text.into_owned()),
                threads: 1,
                ..RouteOptions::default()
            };
            if let Ok(routes) = engine::TORUS_2QOS.route(&fabric, &lids, &options) {
                let report = ib_routing::verify(&fabric, &lids, &routes);
                assert_eq!((report.unreachable, report.loops), (0, 0));
            }
        }
        _ => {
            if let Ok(spec) = text.parse::<FaultSpec>() {
                assert_eq!(spec.to_string().parse(), Ok(spec));
            }
        }
    }
}

/// Whatever clients send and whatever the console says: the server runs until `Quit`.
///
/// Lines that would read files or wait are left out.
pub fn any_messages_leave_the_server_running(bytes: &[u8]) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("ib-properties-{}-{number}", std::process::id());
    let options = ServerOptions::new(Listen::Unix(name.clone()));
    let mut server = Server::bind(&generated("ring:switches=3,hosts=1"), &options).unwrap();
    let client = UnixDatagram::unbound().unwrap();
    client.set_nonblocking(true).unwrap();
    let mut parts = bytes.split(|&byte| byte == 0xff);
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let is_harmless = |line: &&str| {
        let line = line.trim_start();
        let waits = line
            .get(..1)
            .is_some_and(|first| first.eq_ignore_ascii_case("w"));
        !line.starts_with('!') && !waits
    };
    let lines: Vec<&str> = text.lines().filter(is_harmless).collect();
    let address = SocketAddr::from_abstract_name(format!("{name}:ctl")).unwrap();
    for message in parts {
        // A full socket drops the rest.
        let _ = client.send_to_addr(message, &address);
    }
    let console = Cursor::new(format!("{}\nQuit\n", lines.join("\n")));
    let mut output = Vec::new();
    let stop = AtomicBool::new(false);
    server
        .run(Some(Box::new(console)), &mut output, &stop)
        .unwrap();
}
