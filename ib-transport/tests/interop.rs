//! The backends against real ibsim: its socket, and its preloaded library in place of the kernel.
#![cfg(feature = "interop")]

use std::{
    fs,
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixDatagram},
    },
    path::PathBuf,
    process::{Command, Output},
    sync::OnceLock,
    thread,
    time::Duration,
};

use ib_mad::{Attribute, Instant, Mad, MadAddress, Method, MgmtClass, TransactionId};
use ib_smp::{NodeInfo, SmpDirected};
use ib_testkit::{
    data::fabric_file as fabric,
    ibsim::{Ibsim, is_bound, unique_name},
    process,
};
use ib_transport::{
    Direction, RecordWriter, RecordedMad,
    ibsim::{ClientInfo, Control, IbsimOptions, IbsimPort, control_type},
};
use ib_wire::{Lid, Sl};
use zerocopy::{FromZeros as _, IntoBytes as _};

/// The example `node_info`, built if it is not yet.
fn node_info() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--example", "node_info"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(status.expect("cargo runs").success());
        let test = std::env::current_exe().expect("a test has a path");
        let directory = test.ancestors().nth(2).expect("deps/ is in a directory");
        directory.join("examples/node_info")
    };
    BUILT.get_or_init(build).clone()
}

fn printed(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = process::output(command).expect("the example starts");
    let errors = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{errors}");
    String::from_utf8(stdout).expect("the example prints text")
}

#[test]
fn a_node_answers_over_the_simulators_socket() {
    let ibsim = Ibsim::start(&fabric("gen-line-2")).unwrap();
    let device = format!("sim:{}", ibsim.name());
    // ibsim's default node is the first of the file: a switch.
    let own = printed(Command::new(node_info()).arg(&device));
    assert!(
        own.contains("node_type: Switch") && own.contains("0x0020000000000000"),
        "{own}"
    );
    let behind = printed(Command::new(node_info()).args([&device, "3"]));
    assert!(
        behind.contains("node_type: CA") && behind.contains("0x0010000000000000"),
        "{behind}"
    );
}

#[test]
fn a_node_answers_through_the_preloaded_library() {
    let ibsim = Ibsim::start(&fabric("gen-line-2")).unwrap();
    let own = printed(&mut ibsim.client(node_info(), "H-0010000000000000"));
    assert!(
        own.contains("node_type: CA") && own.contains("0x0010000000000000"),
        "{own}"
    );
    let behind = printed(ibsim.client(node_info(), "H-0010000000000000").arg("1"));
    assert!(behind.contains("node_type: Switch"), "{behind}");
}

#[test]
fn a_route_to_nowhere_comes_back() {
    let ibsim = Ibsim::start(&fabric("gen-line-2")).unwrap();
    let device = format!("sim:{}", ibsim.name());
    let output = process::output(Command::new(node_info()).args([&device, "3", "1"])).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && errors.contains("no way there"),
        "{errors}"
    );
}

#[test]
fn a_process_attaches_more_than_once_and_leaves_its_slots() {
    let ibsim = Ibsim::start(&fabric("gen-line-2")).unwrap();
    let attach = |node: &str, announce_sm| {
        let options = IbsimOptions {
            server: ibsim.name().to_owned(),
            node: node.to_owned(),
            announce_sm,
        };
        IbsimPort::attach(&options)
    };
    // ibsim has ten slots; each round would need two more if they were not given back.
    for _ in 0..8 {
        let first = attach("H-0010000000000000", true).unwrap();
        let second = attach("H-0010000000000010", false).unwrap();
        assert_eq!(
            (first.node(), second.node()),
            ("H-0010000000000000", "H-0010000000000010")
        );
        let error = attach("H-0010000000000000", true).unwrap_err();
        assert!(error.to_string().contains("refuses"), "{error}");
    }
    let error = attach("nowhere", false).unwrap_err();
    assert!(error.to_string().contains("the node is unknown"), "{error}");
}

/// A client that died without a word: it announced a subnet manager on the node, and its sockets are gone.
fn killed_manager(server: &str, node: &str) {
    let address =
        |name: &str| SocketAddr::from_abstract_name(format!("{server}:{name}\0")).unwrap();
    // No process has this number.
    let id = 1_u32 << 30;
    let control = UnixDatagram::bind_addr(&address(&format!("ctl{id}"))).unwrap();
    let data = UnixDatagram::bind_addr(&address(&format!("in{id}"))).unwrap();
    control.connect_addr(&address("ctl")).unwrap();
    let mut info = ClientInfo::new_zeroed();
    info.id = id.into();
    info.issm = 1.into();
    info.set_node_name(node.as_bytes());
    let request = Control::new(control_type::CONNECT, 0, info.as_bytes());
    control.send(request.as_bytes()).unwrap();
    let mut reply = [0; Control::LEN];
    control.recv(&mut reply).unwrap();
    let reply = Control::parse(&reply).unwrap();
    assert_eq!(reply.type_.get(), control_type::CONNECT);
    drop((control, data));
    // A test beside this one that is just starting a server holds copies of the sockets until the server runs.
    while is_bound(server, &format!("in{id}")) {
        thread::yield_now();
    }
}

#[test]
fn a_manager_that_was_killed_is_replaced() {
    let ibsim = Ibsim::start(&fabric("gen-line-2")).unwrap();
    let node = "H-0010000000000000";
    let options = IbsimOptions {
        server: ibsim.name().to_owned(),
        node: node.to_owned(),
        announce_sm: true,
    };
    for _ in 0..3 {
        killed_manager(ibsim.name(), node);
        let port = IbsimPort::attach(&options).unwrap();
        assert_eq!(port.node(), node);
        let error = IbsimPort::attach(&options).unwrap_err();
        assert!(error.to_string().ends_with("is alive"), "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let options = IbsimOptions {
        server: "nobody-listens-here".to_owned(),
        ..IbsimOptions::default()
    };
    let error = IbsimPort::attach(&options).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no simulator listens as `nobody-listens-here`")
    );
}

#[test]
fn tshark_dissects_a_recording_without_an_error() {
    let smp = {
        let mut mad = Mad::new(MadAddress::DIRECTED);
        let (smp, _) = SmpDirected::parse_mut(&mut mad.bytes, 0).unwrap();
        smp.set_base_version(1)
            .set_mgmt_class(MgmtClass::SUBN_DIRECTED)
            .set_class_version(1)
            .set_method(Method::GET)
            .set_attribute_id(NodeInfo::ID)
            .set_transaction_id(TransactionId(0x0123_4567_89ab_cdef));
        mad
    };
    let lid_routed = Mad {
        address: MadAddress::gsi(Lid(0x1234), Sl::from_low_bits(3)),
        ..smp
    };
    let mut writer = RecordWriter::new(Vec::new(), Lid(0x0042), Duration::ZERO).unwrap();
    for (direction, mad) in [(Direction::Sent, smp), (Direction::Received, lid_routed)] {
        let at = Instant::from_nanos(1_500_000_000);
        writer.write(&RecordedMad { at, direction, mad }).unwrap();
    }
    let directory = std::env::temp_dir().join(unique_name());
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("recording.pcapng");
    fs::write(&file, writer.into_inner()).unwrap();

    let fields = [
        "lrh.slid",
        "lrh.dlid",
        "lrh.sl",
        "deth.q_key",
        "mad.transactionid",
        "mad.attributeid",
    ];
    let mut tshark = Command::new("tshark");
    tshark
        .arg("-r")
        .arg(&file)
        .args(["-T", "fields", "-E", "separator=,", "-e", "_ws.malformed"]);
    for field in fields {
        tshark.args(["-e", &format!("infiniband.{field}")]);
    }
    let output = process::output(&mut tshark).expect("tshark is installed");
    fs::remove_dir_all(&directory).unwrap();
    let lines = String::from_utf8_lossy(&output.stdout);
    let expected = [
        ",65535,65535,0,0x0000000000000000,0x0123456789abcdef,0x0011",
        ",4660,66,3,0x0000000080010000,0x0123456789abcdef,0x0011",
    ];
    assert_eq!(
        lines.lines().collect::<Vec<_>>(),
        expected,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
