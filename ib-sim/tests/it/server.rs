//! The server against clients that behave, and that do not.
#![cfg(target_os = "linux")]

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ib_mad::{Attribute, Mad, Method};
use ib_routing::{FabricBuilder, NewNode, NodeType};
use ib_smp::{NodeInfo, SmpDirected};
use ib_transport::Clock;
use ib_transport::ibsim::{Control, control_type};
use ib_wire::Guid;
use zerocopy::IntoBytes;

use ib_testkit::worked_traces::server::Running;
use ib_testkit::worked_traces::{at, path};

#[test]
fn a_client_reaches_the_whole_fabric_and_learns_at_once_what_it_cannot_reach() {
    let server = Running::start("");
    let mut client = server.attach("H");
    assert_eq!(client.guid(&[]), Some(Guid(0x100)));
    assert_eq!(client.guid(&[1, 7, 5]), Some(Guid(0x400)));
    let asked = client.clock.now();
    assert_eq!(client.guid(&[1, 3]), None);
    assert!(client.clock.now().since(asked) < Duration::from_secs(1));
}

#[test]
fn an_observer_gets_every_datagram_that_a_client_sends() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let server = Running::observed(move |mad: &Mad| {
        let header = mad.header();
        noted
            .lock()
            .unwrap()
            .push((header.method(), header.attribute_id()));
    });
    let mut client = server.attach("H");
    assert_eq!(client.guid(&[]), Some(Guid(0x100)));
    assert_eq!(client.guid(&[1, 7, 5]), Some(Guid(0x400)));
    assert_eq!(*seen.lock().unwrap(), [(Method::GET, NodeInfo::ID); 2]);
}

#[test]
fn there_is_room_for_more_than_ten_clients() {
    let server = Running::start("");
    // A process has one data socket per server, so the others are made by hand.
    let control = server.control("ctl-many");
    let mut data = Vec::new();
    for id in 1_000_000..1_000_050u32 {
        data.push(server.stranger(&format!("in{id}")));
        let mut info = [0; 44];
        info[..4].copy_from_slice(&id.to_ne_bytes());
        info[12] = b'T';
        let request = Control::new(control_type::CONNECT, 0, &info);
        control.send(request.as_bytes()).unwrap();
        let mut reply = [0; Control::LEN];
        control.recv(&mut reply).unwrap();
        let reply = Control::parse(&reply).unwrap();
        assert_eq!(reply.type_.get(), control_type::CONNECT, "client {id}");
    }
    assert_eq!(server.attach("H").guid(&[1]), Some(Guid(0x200)));
}

#[test]
fn there_is_room_for_more_than_2048_nodes_and_256_switches() {
    // 1 + 18 + 288 switches, 3168 hosts: a root, its children, theirs, and 11 hosts on each of the last.
    let mut builder = FabricBuilder::new();
    let mut guid = 0x1000;
    let mut add = |builder: &mut FabricBuilder, type_, num_ports| {
        guid += 0x100;
        let node = NewNode {
            type_,
            guid: Guid(guid),
            num_ports,
            name: format!("N-{guid:x}"),
            ..NewNode::default()
        };
        builder.add_node(node).unwrap()
    };
    let root = add(&mut builder, NodeType::SWITCH, 18);
    let mut last = root;
    for child in 1..=18 {
        let middle = add(&mut builder, NodeType::SWITCH, 36);
        builder.add_link(at(root, child), at(middle, 36)).unwrap();
        for leaf in 1..=16 {
            let switch = add(&mut builder, NodeType::SWITCH, 12);
            builder.add_link(at(middle, leaf), at(switch, 12)).unwrap();
            for host in 1..=11 {
                last = add(&mut builder, NodeType::CA, 1);
                builder.add_link(at(switch, host), at(last, 1)).unwrap();
            }
        }
    }
    let fabric = builder.build();
    assert_eq!((fabric.nodes().len(), fabric.num_switches()), (3475, 307));
    let guid = fabric.nodes()[last].guid;
    let server = Running::serve(&fabric, "");
    let mut client = server.attach(&format!("N-{:x}", guid.0));
    assert_eq!(client.guid(&[]), Some(guid));
    assert_eq!(
        client.guid(&[1, 12, 36, 1, 1, 1]),
        Some(Guid(0x1400)),
        "the first host"
    );
}

#[test]
fn a_flood_and_a_client_that_is_gone_in_mid_exchange_harm_nobody() {
    let server = Running::start("");
    let mut client = server.attach("H");
    let control = server.control("ctl-flood");
    let data = server.stranger("in77");
    let mut info = [0; 44];
    info[..4].copy_from_slice(&77u32.to_ne_bytes());
    info[12] = b'T';
    let request = Control::new(control_type::CONNECT, 0, &info);
    control.send(request.as_bytes()).unwrap();
    let mut reply = [0; Control::LEN];
    control.recv(&mut reply).unwrap();
    let slot = u32::from_ne_bytes(*reply[16..].first_chunk().unwrap());
    let to = SocketAddr::from_abstract_name(format!("{}:out{slot}\0", server.name)).unwrap();
    data.connect_addr(&to).unwrap();
    data.set_nonblocking(true).unwrap();
    // Requests whose answers no client reads, and halves of requests.
    let mut mad = [0; 288];
    mad[..2].copy_from_slice(&[0xff, 0xff]);
    mad[4..6].copy_from_slice(&[0xff, 0xff]);
    mad[32..]
        .copy_from_slice(SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path(&[])).as_bytes());
    let mut sent = 0;
    for turn in 0..20_000 {
        let len = if turn % 3 == 0 { 100 } else { mad.len() };
        sent += u32::from(data.send(&mad[..len]).is_ok());
        if turn % 1000 == 0 {
            assert_eq!(client.guid(&[1]), Some(Guid(0x200)), "after {turn}");
        }
    }
    assert!(sent > 1000, "{sent}");
    drop(data);
    assert_eq!(client.guid(&[1, 7, 5]), Some(Guid(0x400)));
    // Its slot is free again as soon as a datagram was for it; the fabric serves every client.
    assert_eq!(server.attach("T").guid(&[]), Some(Guid(0x400)));
}

#[test]
fn garbage_harms_nobody() {
    let server = Running::start("");
    let mut client = server.attach("H");
    let control = server.control("ctl-garbage");
    for len in [0, 1, 79, 80, 81, 287, 288, 4096] {
        control.send(&vec![0xa5; len]).unwrap();
    }
    for type_ in 0..=20 {
        for slot in [0, 1, 9, 10, u32::MAX] {
            let message = Control::new(type_, slot, &[0xff; 64]);
            control.send(message.as_bytes()).unwrap();
            let mut reply = [0; 512];
            if let Ok(len) = control.recv(&mut reply) {
                assert_eq!(len, Control::LEN);
            }
        }
    }
    assert_eq!(client.guid(&[1]), Some(Guid(0x200)));
}

/// The server that the test below, run again as another user, is to visit.
const VISIT: &str = "IB_SIM_VISIT";

/// The observations of the user who runs this at a server.
fn visit(name: &str) {
    let socket = |own: &str| {
        let own = SocketAddr::from_abstract_name(format!("{name}:{own}\0")).unwrap();
        UnixDatagram::bind_addr(&own).unwrap()
    };
    let address = |of: &str| SocketAddr::from_abstract_name(format!("{name}:{of}\0")).unwrap();
    let (control, _data) = (socket("ctl4242"), socket("in4242"));
    let wait = Some(Duration::from_millis(500));
    control.set_read_timeout(wait).unwrap();
    control.connect_addr(&address("ctl")).unwrap();
    let mut info = [0; 44];
    info[..4].copy_from_slice(&4242u32.to_ne_bytes());
    let request = Control::new(control_type::CONNECT, 0, &info);
    control.send(request.as_bytes()).unwrap();
    println!("answered: {}", control.recv(&mut [0; 512]).is_ok());
    // The data socket of the client that was there before.
    let stolen = socket("thief").connect_addr(&address("out0"));
    println!("another's socket: {}", stolen.is_ok());
}

#[test]
fn the_sockets_are_their_users_own() {
    use std::os::unix::{fs::MetadataExt as _, process::CommandExt as _};
    if let Ok(name) = std::env::var(VISIT) {
        return visit(&name);
    }
    let server = Running::start("");
    let mut client = server.attach("H");
    // Another user must be able to run the program.
    let program = std::env::temp_dir().join(&server.name);
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let visit = |user: Option<u32>| {
        let mut command = std::process::Command::new(&program);
        command.args([
            "--exact",
            "server::the_sockets_are_their_users_own",
            "--nocapture",
        ]);
        command.env(VISIT, &server.name).current_dir("/");
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let own = visit(None);
    assert!(own.contains("answered: true"), "{own}");
    assert!(own.contains("another's socket: false"), "{own}");
    // Only root can become another user.
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        let stranger = visit(Some(65534));
        assert!(stranger.contains("answered: false"), "{stranger}");
        assert!(stranger.contains("another's socket: false"), "{stranger}");
    }
    std::fs::remove_file(program).unwrap();
    assert_eq!(client.guid(&[1]), Some(Guid(0x200)));
}
