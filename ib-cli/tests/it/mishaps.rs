//! Faults beside a running manager: wrong files at a reload, a full disk.

use std::{fs, io::Read as _, process::Command};

use crate::{
    common::ib,
    control::{Running, is_up},
};

/// A configuration that names a file of each kind.
const CONFIGURATION: &str = "\
sm_priority 3
qos TRUE
routing_engine minhop
node_name_map_name names
per_module_logging_file modules
partition_config_file partitions
qos_policy_file qos
prefix_routes_file routers
root_guid_file roots
cn_guid_file compute
io_guid_file io
ids_guid_file ids
guid_routing_order_file order
hop_weights_file weights
port_search_ordering_file ports
port_prof_ignore_file ignored
torus_config torus
lfts_file lfts
lid_matrix_dump_file matrix
";

/// The files, with a wrong second line for each.
const FILES: [(&str, &str, &str); 14] = [
    ("names", "0x0000000000000001 \"one\"\n", "who\n"),
    ("modules", "osm_lid_mgr.c = 0x0f\n", "osm_sa.c much\n"),
    (
        "partitions",
        "Default=0x7fff: ALL=full;\n",
        "Storage=0x99999: ALL;\n",
    ),
    (
        "qos",
        "qos-ulps\n",
        "nonsense: of all kinds\nend-qos-ulps\n",
    ),
    ("routers", "* *\n", "0x1 0x2 0x3\n"),
    ("roots", "0x1\n", "the root\n"),
    ("compute", "0x1\n", "all of them\n"),
    ("io", "0x1\n", "0x\n"),
    ("ids", "0x1 1\n", "0x2 two\n"),
    ("order", "0x1\n", "-1\n"),
    ("weights", "0x1 1 2\n", "0x1 1\n"),
    ("ports", "0x1 1 2\n", "0x1 1 300\n"),
    ("ignored", "0x1 1\n", "0x1 port\n"),
    ("torus", "torus 3 3 3\n", "xp_link one two\n"),
];

#[test]
fn a_reload_with_a_wrong_file_of_any_kind_changes_nothing_and_names_the_line() {
    let tables = std::env::temp_dir().join(format!("ib-mishaps-tables-{}", std::process::id()));
    let fabric = ["--fabric", "ring:switches=4,hosts=1"];
    let dumped = ib(
        &[&["up", "--dump-dir", tables.to_str().unwrap()], &fabric[..]].concat(),
        "",
    );
    assert_eq!(dumped.status.code(), Some(0), "{dumped:?}");
    let dump = |name: &str| fs::read_to_string(tables.join(name)).unwrap();
    let (lfts, matrix) = (dump("opensm-lfts.dump"), dump("opensm-lid-matrix.dump"));
    fs::remove_dir_all(&tables).unwrap();
    let mut good = vec![
        ("opensm.conf", CONFIGURATION),
        ("lfts", lfts.as_str()),
        ("matrix", matrix.as_str()),
    ];
    good.extend(FILES.iter().map(|&(name, first, _)| match name {
        "qos" => (name, "qos-ulps\nend-qos-ulps\n"),
        _ => (name, first),
    }));
    let options = ["--config", "opensm.conf", "--log-file", "sm.log"];
    let mut running = Running::start("reload-files", &options, &good);
    running.wait_for("up", is_up);
    let before = running.ask("dump_conf");
    let write = |name: &str, text: &str| fs::write(running.folder.join(name), text).unwrap();
    let refused = |name: &str| {
        // The other files are in order, and what they and the option file ask for does not happen either.
        write(
            "opensm.conf",
            &CONFIGURATION.replace("sm_priority 3", "sm_priority 9"),
        );
        let answer = running.ask("reload");
        assert_eq!(answer["refused"], true, "{name}: {answer}");
        assert_eq!(running.ask("status")["priority"], 3, "{name}");
        assert_eq!(running.ask("dump_conf"), before, "{name}");
        answer["message"].as_str().unwrap().to_owned()
    };
    let wrong_lines = FILES.map(|(name, first, second)| (name, format!("{first}{second}")));
    let wrong_lfts = format!("{}\n0x0001 nonsense\n", lfts.lines().next().unwrap());
    let wrong_matrix = format!("{}\n0x0001 nonsense\n", matrix.lines().next().unwrap());
    let tables = [("lfts", wrong_lfts), ("matrix", wrong_matrix)];
    for (name, text) in wrong_lines.iter().chain(&tables) {
        let whole = fs::read_to_string(running.folder.join(name)).unwrap();
        write(name, text);
        let message = refused(name);
        let place = format!("nothing changes: {name}:2");
        assert!(message.starts_with(&place), "{message}");
        // A file that is gone changes nothing either.
        fs::remove_file(running.folder.join(name)).unwrap();
        let message = refused(name);
        assert!(
            message.starts_with(&format!("nothing changes: {name}: ")),
            "{message}"
        );
        write(name, &whole);
    }
    // The signal finds the same, and says it on standard error and in the log.
    write("opensm.conf", "sm_priority 9\nlmc 99\n");
    running.signal("HUP");
    let logged = || fs::read_to_string(running.folder.join("sm.log")).unwrap_or_default();
    running.wait_for("a line in the log", |_| {
        logged().contains("nothing changes: opensm.conf:2")
    });
    assert_eq!(running.ask("status")["priority"], 3);
    // With all files in order the reload succeeds.
    write(
        "opensm.conf",
        &CONFIGURATION.replace("sm_priority 3", "sm_priority 9"),
    );
    assert!(running.ask("reload")["refused"].is_null());
    running.wait_for("the priority", |running| {
        running.ask("status")["priority"] == 9
    });
    running.wait_for("up again", is_up);
    let said = said_until_its_end(&mut running);
    assert!(
        said.contains("warning: nothing changes: opensm.conf:2"),
        "{said}"
    );
}

#[test]
fn on_a_full_disk_the_manager_goes_on_and_nothing_is_lost_when_there_is_room_again() {
    let options = [
        "--guid2lid",
        "guid2lid",
        "--neighbors",
        "neighbors",
        "--sa-db",
        "sa",
        "--dump-dir",
        "dump",
        "--log-file",
        "sm.log",
        "--log-level",
        "info",
    ];
    // No byte can be written to a file, as on a disk that is full.
    let full = "ulimit -S -f 0; trap '' XFSZ";
    let mut running = Running::start_after(full, "full-disk", &options);
    running.wait_for("up", is_up);
    let read = |name: &str| fs::read_to_string(running.folder.join(name)).unwrap_or_default();
    let files = [
        "guid2lid",
        "neighbors",
        "sa",
        "dump/opensm-lfts.dump",
        "sm.log",
    ];
    running.ask("dump");
    assert_eq!(files.map(read), files.map(|_| String::new()));
    let lids = running.ask("dump_portguid .*");
    let pid = running.sm.id().to_string();
    let mut room = Command::new("prlimit");
    room.args(["--pid", &pid, "--fsize=unlimited"]);
    assert!(room.status().unwrap().success());
    // The next line of the log.
    running.ask("resweep");
    for name in files {
        running.wait_for(name, |_| !read(name).is_empty());
    }
    assert_eq!(
        read("guid2lid")
            .lines()
            .filter(|line| !line.is_empty())
            .count(),
        8
    );
    assert_eq!(running.ask("dump_portguid .*"), lids);
    let said = said_until_its_end(&mut running);
    for name in ["guid2lid", "neighbors", "dump/opensm-lfts.dump"] {
        assert!(
            said.contains(&format!("warning: {name}: ")),
            "{name}: {said}"
        );
    }
    assert!(said.contains("it is tried again every 10 s"), "{said}");
    assert!(said.contains("written after a failure: "), "{said}");
    assert!(
        said.contains("lines are lost until it can be written"),
        "{said}"
    );
    assert!(said.contains("lines were lost"), "{said}");
}

/// The standard error of the manager, which is ended.
fn said_until_its_end(running: &mut Running) -> String {
    running.signal("TERM");
    running.sm.wait().unwrap();
    let mut said = String::new();
    let mut stderr = running.sm.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    said
}
