//! Every field of every line of iblinkinfo beside the documents of `ib links`.

use std::collections::BTreeMap;

use serde_json::Value;

/// A port of iblinkinfo's list: GUID of the switch, or of the port of an adapter, and port number.
type At = (String, u64);

/// The fields of a line, in the words of `ib links`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    name: String,
    lid: u64,
    state: String,
    physical_state: String,
    /// Width and speed of a lane; `None` where the link is down.
    rate: Option<(String, String)>,
    peer: Option<Peer>,
    /// The width and the speed that the link could have, each only if it is better than the present one.
    could: (Option<String>, Option<String>),
}

/// The other end of a link.
#[derive(Debug, PartialEq, Eq)]
struct Peer {
    at: At,
    lid: u64,
    name: String,
}

/// The words of iblinkinfo for speeds, and ours.
const SPEEDS: [(&str, &str); 7] = [
    ("2.5 Gbps", "SDR"),
    ("5.0 Gbps", "DDR"),
    ("10.0 Gbps", "QDR"),
    ("10.0 Gbps (FDR10)", "FDR10"),
    ("14.0625 Gbps", "FDR"),
    ("25.78125 Gbps", "EDR"),
    ("53.125 Gbps", "HDR"),
];

/// Our word for a speed of iblinkinfo.
fn speed(text: &str) -> String {
    let mut known = SPEEDS.iter();
    let found = known.find(|(theirs, _)| *theirs == text);
    let (_, ours) = found.unwrap_or_else(|| panic!("the speed {text}"));
    (*ours).to_owned()
}

/// Removes what is before the separator, and the separator itself.
fn cut<'a>(rest: &mut &'a str, separator: &str) -> &'a str {
    let parts = rest.split_once(separator);
    let (before, after) = parts.unwrap_or_else(|| panic!("{separator:?} in {rest:?}"));
    *rest = after;
    before.trim()
}

fn number(text: &str) -> u64 {
    let number = text.parse();
    number.unwrap_or_else(|_| panic!("a number: {text}"))
}

/// A line of `iblinkinfo --line`:
/// `GUID "NAME" LID PORT[EXTERNAL] ==( 4X 2.5 Gbps Active/ LinkUp)==> GUID LID PORT[EXTERNAL] "NAME" (Could be 12X )`.
fn fields(line: &str) -> (At, Fields) {
    let mut rest = line;
    let guid = cut(&mut rest, "\"").to_owned();
    let name = cut(&mut rest, "\"").to_owned();
    let (lid, port) = {
        let place = cut(&mut rest, "[");
        let (lid, port) = place.split_once(' ').expect("LID and port");
        (number(lid), number(port.trim()))
    };
    cut(&mut rest, "==(");
    let link = cut(&mut rest, ")==>");
    let (link, physical_state) = link.split_once('/').expect("two states");
    let (rate, state) = match link.trim().rsplit_once(' ') {
        Some((rate, state)) => (Some(rate), state),
        None => (None, link.trim()),
    };
    let rate = rate.map(|rate| {
        let (width, of_lane) = rate.trim().split_once(' ').expect("width and speed");
        (width.to_lowercase(), speed(of_lane.trim()))
    });
    let far = cut(&mut rest, "[");
    let far: Vec<&str> = far.split_whitespace().collect();
    cut(&mut rest, "\"");
    let far_name = cut(&mut rest, "\"").to_owned();
    let peer = match far.as_slice() {
        [] => None,
        [guid, lid, port] => Some(Peer {
            at: ((*guid).to_owned(), number(port)),
            lid: number(lid),
            name: far_name,
        }),
        other => panic!("GUID, LID and port: {other:?}"),
    };
    let remark = rest.trim().trim_start_matches('(').trim_end_matches(')');
    let mut could = (None, None);
    for remark in remark.split("Could be ").map(str::trim) {
        match remark.strip_suffix('X') {
            Some(lanes) => could.0 = Some(format!("{lanes}x")),
            None if remark.is_empty() => {}
            None => could.1 = Some(speed(remark)),
        }
    }
    let at = (guid, port);
    let fields = Fields {
        name,
        lid,
        state: state.to_owned(),
        physical_state: physical_state.trim().to_owned(),
        rate,
        peer,
        could,
    };
    (at, fields)
}

/// The ports that iblinkinfo lists.
pub(crate) fn of_iblinkinfo(text: &str) -> BTreeMap<At, Fields> {
    let lines = text.lines().filter(|line| line.starts_with("0x"));
    lines.map(fields).collect()
}

/// The ports of the links in documents of `ib links`, those of switches by the LID of port 0, as iblinkinfo lists them.
pub(crate) fn of_ours<'a>(documents: impl IntoIterator<Item = &'a Value>) -> BTreeMap<At, Fields> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut ports = BTreeMap::new();
    for document in documents {
        for link in document["links"].as_array().expect("links") {
            let rate = text(&link["width"]).zip(text(&link["speed"]));
            let best = link["could"].as_str().and_then(|best| best.split_once(' '));
            let could = match (&rate, best) {
                (Some((width, speed)), Some(best)) => (
                    (best.0 != width).then(|| best.0.to_owned()),
                    (best.1 != speed).then(|| best.1.to_owned()),
                ),
                _ => (None, None),
            };
            for (end, far) in [("a", "b"), ("b", "a")] {
                let (end, far) = (&link[end], &link[far]);
                let Some(at) = at(end) else { continue };
                let fields = Fields {
                    name: text(&end["name"]).expect("a name"),
                    lid: end["lid"].as_u64().expect("a LID"),
                    state: text(&end["state"]).expect("a state"),
                    physical_state: text(&end["physical_state"]).expect("a state"),
                    rate: rate.clone(),
                    peer: self::at(far).map(|at| Peer {
                        at,
                        lid: far["lid"].as_u64().expect("a LID"),
                        name: text(&far["name"]).expect("a name"),
                    }),
                    could: could.clone(),
                };
                ports.insert(at, fields);
            }
        }
    }
    ports
}

/// The port of an end in a document; `None` where there is no end, or an adapter's port was not asked for its GUID.
fn at(end: &Value) -> Option<At> {
    let guid = match end["type"] == "switch" {
        true => &end["node_guid"],
        false => &end["port_guid"],
    };
    let guid = guid.as_str()?.to_owned();
    Some((guid, end["port"].as_u64()?))
}
