use super::*;
use crate::error::TopologyErrorKind;

fn fixtures() -> Vec<(String, String)> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/fabrics");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .expect("the fixtures")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "net"))
        .map(|path| {
            (
                path.display().to_string(),
                std::fs::read_to_string(&path).expect("a text"),
            )
        })
        .collect();
    files.sort();
    assert!(files.len() > 25);
    files
}

#[test]
fn every_capture_is_read_without_a_warning() {
    for (name, text) in fixtures() {
        let topology = read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(topology.warnings, [], "{name}");
        let lines = text.lines().filter(|line| line.starts_with('[')).count();
        assert_eq!(topology.fabric.num_links() * 2, lines, "{name}");
    }
}

#[test]
fn writing_a_modern_file_gives_it_back_line_for_line() {
    for (name, text) in fixtures() {
        let fabric = read(&text).expect("a fabric").fabric;
        let written = write(&fabric, None);
        assert_eq!(
            written,
            write(&read(&written).expect("what we wrote").fabric, None),
            "{name}"
        );
        if name.contains("/gen-") {
            let lines = |text: &str| -> Vec<String> {
                text.lines()
                    .filter(|line| !line.starts_with('#'))
                    .map(ToOwned::to_owned)
                    .collect()
            };
            assert_eq!(lines(&written), lines(&text), "{name}");
        }
    }
}

const TWO: &str = "Switch 4 \"S-0000000000000020\"\n[1] \"H-0000000000000010\"[1]\n\nCa 1 \"H-0000000000000010\"\n[1] \"S-0000000000000020\"[1]\n";

fn error(text: &str) -> (Option<usize>, TopologyErrorKind) {
    let error = read(text).expect_err(text);
    (error.line, error.kind)
}

#[test]
fn faults_name_their_line() {
    assert!(read(TWO).is_ok());
    assert_eq!(error(""), (Some(1), Kind::Empty));
    assert_eq!(error("# nothing\n\n"), (Some(1), Kind::Empty));
    assert_eq!(error("once upon a time\n").1, Kind::NoFabric);
    let inside = TWO.replace("[1] \"H", "what is this\n[1] \"H");
    assert!(matches!(
        error(&inside),
        (Some(2), Kind::UnknownLine { .. })
    ));
    let kind = TWO.replace("Ca 1", "Gateway 1");
    assert!(matches!(
        error(&kind),
        (Some(4), Kind::UnknownNodeKind { .. })
    ));
    let twice = TWO.replace("\n\nCa", "\n[1] \"H-0000000000000010\"[1]\n\nCa");
    assert!(matches!(error(&twice), (Some(3), Kind::PortTwice { .. })));
    let past = TWO.replace("[1] \"H", "[5] \"H");
    assert!(matches!(
        error(&past),
        (
            Some(2),
            Kind::PortOutOfRange {
                port: 5,
                num_ports: 4,
                ..
            }
        )
    ));
    let missing = TWO.replace("\"H-0000000000000010\"[1]", "\"H-0000000000000011\"[1]");
    assert!(matches!(
        error(&missing),
        (Some(2), Kind::MissingNode { .. })
    ));
    let contradictory = TWO.replace("0020\"[1]", "0020\"[2]");
    assert!(
        matches!(
            error(&contradictory),
            (Some(2), Kind::ContradictoryLink { .. })
        ),
        "{:?}",
        error(&contradictory)
    );
}

#[test]
fn lines_outside_blocks_are_warnings_with_their_line() {
    let topology = read(&alloc::format!("$ ibnetdiscover\n\n{TWO}")).expect("a fabric");
    assert_eq!(
        topology
            .warnings
            .iter()
            .map(|warning| warning.line)
            .collect::<Vec<_>>(),
        [1]
    );
}

#[test]
fn a_link_that_one_end_lists_is_taken() {
    let topology = read(&TWO.replace("[1] \"H-0000000000000010\"[1]\n", "")).expect("a fabric");
    assert_eq!(topology.fabric.num_links(), 1);
    assert_eq!(topology.warnings.len(), 1);
}

/// Two racks of the same file, joined through ports with names.
const ROW: &str =
    "module=\"left\"\ninclude \"rack\"\nmodule=\"right\"\ninclude \"rack\"\nmodule=\"\"\n
Switch 2 \"spine\"
[1] \"left@up\"
[2] \"right@up\"
";
const RACK: &str = "Switch 3 \"leaf\" # \"leaf switch\"
[1] \"host\"[1]
@[3] \"up\"

Ca 1 \"host\"
[1] \"leaf\"[1]
";

fn rack(text: &str) -> impl Fn(&str) -> Result<String, String> {
    move |name| match name {
        "rack" => Ok(text.to_owned()),
        "itself" => Ok("include \"itself\"\n".to_owned()),
        _ => Err("no such file".to_owned()),
    }
}

#[test]
fn modules_are_included_and_joined_by_the_names_of_their_ports() {
    let topology = read_with(ROW, rack(RACK)).expect("a row of racks");
    assert_eq!(topology.warnings, []);
    let fabric = topology.fabric;
    let names: Vec<&str> = fabric.nodes().iter().map(|node| &*node.name).collect();
    assert_eq!(
        names,
        [
            "left#leaf",
            "left#host",
            "right#leaf",
            "right#host",
            "spine"
        ]
    );
    assert_eq!(fabric.num_links(), 4);
    let spine = fabric.nodes().indices().nth(4).expect("the spine");
    let peer = |port| {
        fabric
            .node(spine)
            .port(PortNum(port))
            .and_then(|port| port.peer)
    };
    let leaf = |at| {
        fabric.nodes().indices().nth(at).map(|node| PortRef {
            node,
            port: PortNum(3),
        })
    };
    assert_eq!((peer(1), peer(2)), (leaf(0), leaf(2)));
    // Written as one file, the names of the modules stay in those of the nodes.
    let written = write(&fabric, None);
    assert_eq!(
        write(&read(&written).expect("what we wrote").fabric, None),
        written
    );
}

#[test]
fn faults_of_included_files_name_both_lines() {
    let error = |text: &str, part: &str| read_with(text, rack(part)).expect_err(text);
    let inside = error(ROW, &RACK.replace("[1] \"host\"[1]", "[4] \"host\"[1]"));
    assert_eq!(inside.line, Some(2));
    assert!(matches!(&inside.kind, Kind::Included { file, line: 2, .. } if file == "rack"));
    assert!(
        inside.to_string().starts_with("line 2: rack:2: port 4"),
        "{inside}"
    );
    let peer = error(ROW, &RACK.replace("\"host\"[1]", "\"nobody\"[1]"));
    assert!(
        peer.to_string()
            .starts_with("line 2: rack:2: \"left#nobody\" has no block"),
        "{peer}"
    );
    let alias = error(&ROW.replace("right@up", "right@down"), RACK);
    assert_eq!(
        (alias.line, alias.kind),
        (
            Some(9),
            Kind::UnknownAlias {
                alias: "right@down".to_owned()
            }
        )
    );
    let twice = error(
        &ROW.replace("\"right\"", "\"left\""),
        &RACK.replace("\"leaf\"", "\"leaf2\""),
    );
    assert_eq!(twice.line, Some(4), "{twice}");
    let taken = error(&ROW.replace("right@up", "left@up"), RACK);
    assert!(
        matches!(taken.kind, Kind::ContradictoryLink { .. }),
        "{taken}"
    );
    let missing = error("\ninclude \"elsewhere\"\n", RACK);
    assert_eq!(missing.line, Some(2));
    assert!(missing.to_string().contains("no such file"));
    let deep = error("include \"itself\"\n", RACK);
    assert!(deep.to_string().contains("9 files deep"), "{deep}");
    assert!(read(ROW).is_err());
}

#[test]
fn a_node_may_have_an_at_sign_in_its_name() {
    let text = "Switch 2 \"a@b\"\n[1] \"c\"[1]\n\nSwitch 2 \"c\"\n[1] \"a@b\"[1]\n";
    let fabric = read(text).unwrap().fabric;
    assert_eq!(fabric.num_links(), 1);
    assert_eq!(read(&write(&fabric, None)).unwrap().fabric.num_links(), 1);
}

#[test]
fn a_million_blank_lines_are_no_million_strings() {
    let text = "\n".repeat(1_000_000) + "Switch 2 \"S-0000000000000001\"\n[3]\n";
    let error = read(&text).expect_err("no such port");
    assert_eq!(error.line, Some(1_000_002), "{error}");
    let mut load = |_: &str| Err(String::new());
    let lines = Lines::read(&text, &mut load).expect("no includes");
    assert_eq!(lines.iter().count(), 3);
}

#[test]
fn more_nodes_than_a_subnet_has_lids_are_refused_by_line() {
    let nodes: String = (1..=50_000)
        .map(|number| format!("Switch 1 \"S-{number:016x}\"\n"))
        .collect();
    let error = read(&nodes).expect_err("too many nodes");
    assert_eq!(error.line, Some(49_152), "{error}");
    assert_eq!(error.kind, Kind::TooManyNodes { most: 49_151 });
}

#[test]
fn a_grouped_text_is_read_as_the_fabric_that_it_is_of() {
    let text = include_str!("../../../testdata/fabrics/real-ddr-2009-25.net");
    let fabric = read(text).expect("a fabric").fabric;
    let nodes: Vec<_> = fabric.nodes().indices().collect();
    let first_two = crate::chassis::Chassis {
        guid: Guid(0x99),
        nodes: nodes[..2].to_vec(),
    };
    let grouped = write_grouped(&fabric, None, &nodes, &[first_two]);
    let heading = grouped.find("Chassis 1 (guid 0x99)").expect("a heading");
    let rest = grouped.find("Non-Chassis Nodes").expect("the others");
    assert_eq!(grouped[heading..rest].matches("devid=").count(), 2);
    let again = read(&grouped).expect("a fabric");
    assert_eq!(again.warnings, []);
    assert_eq!(again.fabric.nodes(), fabric.nodes());
}
