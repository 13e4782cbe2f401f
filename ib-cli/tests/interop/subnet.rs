//! A fabric on ibsim that OpenSM manages, and the comparison of what a tool prints with what `ib query` reads.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ib_mad::{Client, ClientConfig, MadAddress};
use ib_sa::{
    JoinState, McMemberComponents, McMemberRecord, Record, RecordCall, ServiceComponents,
    ServiceRecord,
};
use ib_testkit::{data::fabric_file as fabric, ibsim::Ibsim, process};
use ib_transport::{
    MonotonicClock, ask,
    ibsim::{IbsimOptions, IbsimPort},
};
use ib_wire::{Gid, GidPrefix, Guid, Lid, PKey, Sl, table::Text};
use serde_json::{Map, Value};

use crate::peers::{first_ca, ib, number, printed_by_peer};

/// The address of OpenSM.
const MANAGER: MadAddress = MadAddress::gsi(Lid(1), Sl::ZERO);

/// The group of all IPoIB nodes, which OpenSM creates.
const BROADCAST: &str = "ff12:401b:ffff::ffff:ffff";

/// Milliseconds that `ib` waits for an answer. With its own 200 ms it repeats requests on a loaded machine, and ibsim hands the
/// second answer to the next program in the same slot, which takes it for its own.
pub(crate) const PATIENCE: &str = "10000";

/// A fabric on ibsim that OpenSM has brought up and goes on managing, from the first CA.
pub(crate) struct Subnet {
    opensm: Child,
    pub(crate) ibsim: Ibsim,
    pub(crate) node: String,
}

impl Subnet {
    pub(crate) fn up(name: &str) -> Self {
        Self::up_file(&fabric(name))
    }

    pub(crate) fn up_file(file: &Path) -> Self {
        let ibsim = Ibsim::start_with_console(file).expect("ibsim is installed");
        let node = first_ca(file);
        let mut opensm = ibsim.client("opensm", &node);
        opensm.args(["-f", "/dev/null"]);
        let opensm = opensm.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let subnet = Self {
            opensm: opensm.expect("OpenSM is installed"),
            ibsim,
            node,
        };
        let patience = Instant::now() + Duration::from_secs(60);
        // OpenSM ignores questions to the administrator until its first sweep is complete.
        let asked = || {
            let mut query = Command::new(env!("CARGO_BIN_EXE_ib"));
            query.args(["query", "sa", "ClassPortInfo", "--node", &subnet.node]);
            query.args(["--device", &format!("sim:{}", subnet.ibsim.name())]);
            let output = process::output(&mut query);
            output.expect("the program was built").status
        };
        while !asked().success() {
            assert!(Instant::now() < patience, "OpenSM does not come up");
            thread::sleep(Duration::from_millis(20));
        }
        subnet
    }

    /// Lets three hosts on different switches join the broadcast group; the first one offers a service.
    pub(crate) fn join(&self) {
        for (node, port) in [
            ("H-0000000000002020", 0x2021),
            ("H-00000000000020a0", 0x20a1),
            ("H-000000000000100c", 0x100d),
        ] {
            let mut member = McMemberRecord::default();
            member
                .set_mgid(BROADCAST.parse().expect("a GID"))
                .set_port_gid(Gid::new(GidPrefix::DEFAULT, Guid(port)))
                .set_join_state(JoinState::FULL_MEMBER);
            let components = McMemberComponents::MGID
                | McMemberComponents::PORT_GID
                | McMemberComponents::JOIN_STATE;
            let call = RecordCall::set(MANAGER, &member, components);
            let joined = self.call(node, call);
            assert_eq!(joined.mlid(), Lid(0xc000));
        }
        let mut service = ServiceRecord::default();
        service
            .set_service_id(0x1234)
            .set_service_gid(Gid::new(GidPrefix::DEFAULT, Guid(0x2021)))
            .set_service_p_key(PKey(0xffff))
            .set_service_lease(u32::MAX)
            .set_service_name(&Text::new("printer"));
        let components = ServiceComponents::SERVICE_ID
            | ServiceComponents::SERVICE_GID
            | ServiceComponents::SERVICE_P_KEY
            | ServiceComponents::SERVICE_LEASE
            | ServiceComponents::SERVICE_NAME;
        let call = RecordCall::set(MANAGER, &service, components);
        self.call("H-0000000000002020", call);
    }

    /// Sends a request to the administrator from another node.
    pub(crate) fn call<R: Record>(&self, node: &str, call: RecordCall<R>) -> R {
        let clock = MonotonicClock::start();
        let options = IbsimOptions {
            server: self.ibsim.name().to_owned(),
            node: node.to_owned(),
            announce_sm: false,
        };
        let mut port = IbsimPort::attach(&options).expect("the node is there");
        let mut client = Client::new(ClientConfig::default());
        let answer = ask(&mut client, call, &mut port, &clock).expect("the port works");
        answer.expect("the administrator agrees")
    }

    /// The output of a tool.
    pub(crate) fn tool(&self, words: &str) -> String {
        let mut words = words.split_whitespace();
        let program = words.next().expect("a program");
        let text = printed_by_peer(self.ibsim.client(program, &self.node).args(words));
        // The data after the first record of a table that came without RMPP are undefined.
        let is_record =
            |line: &&str| line.ends_with("dump:") && !line.starts_with(char::is_whitespace);
        match text.lines().filter(is_record).nth(1) {
            Some(second) => {
                let first = text.find(second).map_or(0, |at| at + second.len());
                let second = text.get(first..).and_then(|rest| rest.find(second));
                text.get(..first + second.expect("two records"))
                    .unwrap_or_default()
                    .to_owned()
            }
            None => text,
        }
    }

    /// The structures that `ib query` reads.
    pub(crate) fn structures(&self, words: &str) -> Vec<Value> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let text = ib(
            &self.ibsim,
            &self.node,
            &[&["query", "--json", "--timeout", PATIENCE][..], &words].concat(),
        );
        serde_json::from_str(&text).expect("one JSON document with structures")
    }

    /// The fields of the first structure that `ib query` reads. In a table that came without RMPP the data after it are
    /// undefined.
    pub(crate) fn query(&self, words: &str) -> Map<String, Value> {
        match self.structures(words).first() {
            Some(Value::Object(first)) => first["fields"].as_object().expect("fields").clone(),
            other => panic!("{words}: {other:?}"),
        }
    }

    /// Asserts that each line of the tool is a field of ours with the same value. `renamed` has the tool's name and
    /// ours where they differ by more than capitals. Several fields in one number are written with their widths,
    /// `mtu_selector:2 mtu:6`.
    pub(crate) fn same(&self, tool: &str, ours: &str, renamed: &[(&str, &str)]) {
        self.same_text(&self.tool(tool), tool, ours, renamed);
    }

    /// The same of a part of what the tool printed.
    pub(crate) fn same_text(&self, theirs: &str, tool: &str, ours: &str, renamed: &[(&str, &str)]) {
        let mut fields = Vec::new();
        flatten(&self.query(ours), &mut fields);
        let mut compared = 0;
        // A key that the tool does not display cannot be compared.
        let is_shown = |(_, value): &(&str, &str)| *value != "<not displayed>";
        for (name, value) in theirs.lines().filter_map(line).filter(is_shown) {
            compared += 1;
            let target = renamed.iter().find(|(theirs, _)| *theirs == name);
            let target = target.map_or(name, |(_, ours)| ours);
            let context = || format!("{name} {value}: {tool}, {ours}");
            let find = |name: &str| {
                let found = fields.iter().find(|(known, _)| plain(known) == plain(name));
                let (_, value) = found.unwrap_or_else(|| panic!("{}\n{fields:?}", context()));
                value
            };
            let parts: Vec<(&str, u32)> = target
                .split_whitespace()
                .filter_map(|part| part.split_once(':'))
                .map(|(name, bits)| (name, bits.parse().expect("a width")))
                .collect();
            if parts.is_empty() {
                assert!(
                    is_same(find(target), name, value),
                    "{}: {}",
                    context(),
                    find(target)
                );
            } else {
                let packed = parts.iter().fold(0, |packed, (name, bits)| {
                    packed << bits | find(name).as_u64().expect("a number")
                });
                assert_eq!(Some(packed), number(&value.to_lowercase()), "{}", context());
            }
        }
        assert!(compared > 0, "{tool} says nothing:\n{theirs}");
    }

    /// Asserts that a table of numbers is the same, in the tool's words and in ours.
    pub(crate) fn same_numbers(&self, tool: &str, theirs: impl Fn(&str) -> Vec<u64>, ours: &[u64]) {
        let text = self.tool(tool);
        assert_eq!(theirs(&text), ours, "{tool}:\n{text}");
    }
}

impl Drop for Subnet {
    fn drop(&mut self) {
        let _ = self.opensm.kill();
        let _ = self.opensm.wait();
    }
}

/// `Lid:.............................4` and `lid.....................4` as (`Lid`, `4`); `None` for heads,
/// and for the names of capabilities.
pub(crate) fn line(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    if text.starts_with('#') {
        return None;
    }
    let end = text.find(":.").or_else(|| text.find(".."))?;
    let (name, value) = text.split_at(end);
    let value = value.strip_prefix(':').unwrap_or(value);
    Some((name.trim(), value.trim_start_matches('.').trim()))
}

/// A name without the characters that do not matter in the comparison.
fn plain(name: &str) -> String {
    let counts = name
        .chars()
        .filter(|character| !matches!(character, '_' | ' '));
    counts.collect::<String>().to_lowercase()
}

/// The fields, those of nested structures too; elements of an array with their index.
fn flatten(fields: &Map<String, Value>, to: &mut Vec<(String, Value)>) {
    for (name, value) in fields {
        match value {
            Value::Object(inner) => flatten(inner, to),
            Value::Array(elements) => {
                let elements = elements.iter().enumerate();
                to.extend(elements.map(|(index, value)| (format!("{name}{index}"), value.clone())));
            }
            value => to.push((name.clone(), value.clone())),
        }
    }
}

/// Returns true if both values are equal, as numbers, as addresses, or in the tool's words for numbers.
fn is_same(ours: &Value, name: &str, theirs: &str) -> bool {
    match ours {
        Value::String(text) => {
            let (ours, theirs) = (text.to_lowercase(), theirs.to_lowercase());
            ours == theirs || number(&ours).is_some_and(|ours| Some(ours) == number(&theirs))
        }
        ours => {
            let theirs = words(name, theirs).or_else(|| number(&theirs.to_lowercase()));
            theirs.is_some() && ours.as_u64() == theirs
        }
    }
}

/// The number that smpquery and saquery print as words; alternatives joined with `or` are bits.
fn words(name: &str, text: &str) -> Option<u64> {
    const WORDS: [(&str, &str, u64); 28] = [
        ("type", "Channel Adapter", 1),
        ("type", "Switch", 2),
        ("type", "Router", 3),
        ("LinkWidth", "1X", 1),
        ("LinkWidth", "4X", 2),
        ("LinkWidth", "8X", 4),
        ("LinkWidth", "12X", 8),
        ("LinkWidth", "2X", 16),
        ("LinkSpeed", "2.5 Gbps", 1),
        ("LinkSpeed", "5.0 Gbps", 2),
        ("LinkSpeed", "10.0 Gbps", 4),
        ("LinkSpeedExt", "No Extended Speed", 0),
        ("LinkState", "Down", 1),
        ("LinkState", "Initialize", 2),
        ("LinkState", "Armed", 3),
        ("LinkState", "Active", 4),
        ("PhysLinkState", "Polling", 2),
        ("PhysLinkState", "LinkUp", 5),
        ("LinkDownDefState", "Polling", 2),
        ("VLs", "VL0", 1),
        ("VLs", "VL0-1", 2),
        ("VLs", "VL0-3", 3),
        ("VLs", "VL0-7", 4),
        ("VLs", "VL0-14", 5),
        ("LinkDownDefState", "NOP", 0),
        ("LinkSpeedExt", "14.0625 Gbps", 1),
        ("LinkSpeedExt", "25.78125 Gbps", 2),
        ("LinkSpeedExt", "53.125 Gbps", 4),
    ];
    let family = match name {
        "NodeType" | "node_type" => "type",
        "VLCap" | "OperVLs" => "VLs",
        _ if name.starts_with("LinkSpeedExt") => "LinkSpeedExt",
        _ if name.starts_with("LinkSpeed") => "LinkSpeed",
        _ if name.starts_with("LinkWidth") => "LinkWidth",
        other => other,
    };
    let bit = |word: &str| {
        let mut known = WORDS.iter();
        let known = known.find(|(of, known, _)| *of == family && *known == word);
        known.map(|(.., number)| number)
    };
    // MTUs are numbered from 1 for 256 bytes; the number here is not in bytes.
    if matches!(name, "NeighborMTU" | "MtuCap") {
        let bytes: u64 = text.parse().ok()?;
        return Some(u64::from(bytes.ilog2() - 7));
    }
    text.split(" or ").map(bit).sum()
}

/// The numbers after the mark in the lines that `is_row` selects.
pub(crate) fn rows(text: &str, is_row: impl Fn(&str) -> bool, mark: char) -> Vec<u64> {
    let rows = text.lines().map(str::trim).filter(|line| is_row(line));
    rows.flat_map(|line| {
        line.rsplit(mark)
            .next()
            .unwrap_or_default()
            .split(['|', ' '])
    })
    .filter_map(|word| number(word.trim()))
    .collect()
}

/// Elements of an array of numbers, or of numbers in structures by this name.
pub(crate) fn elements(fields: &Map<String, Value>, array: &str, inner: &str) -> Vec<u64> {
    let elements = fields[array].as_array().expect("an array").iter();
    elements
        .map(|element| match element {
            Value::Object(fields) => fields[inner].as_u64().expect("a number"),
            Value::String(text) => number(text).expect("a number"),
            element => element.as_u64().expect("a number"),
        })
        .collect()
}
