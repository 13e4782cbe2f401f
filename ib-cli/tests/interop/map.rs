//! The page of `ib map` in Chromium without a window: opened, searched, clicked, and drawn.
//!
//! Needs Debian's package `chromium`. A script after the page's own script acts as a person would, by events, and
//! stores its observations in the document.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use ib_testkit::data::fabric_file as fabric;
use serde_json::{Value, json};

use crate::peers::printed;

/// The actions of the person: each step returns the state of the page after it.
const PERSON: &str = r"
const seen = {};
const canvas = document.getElementById('map');
const text = id => document.getElementById(id).innerText;
const type = what => {
  const search = document.getElementById('search');
  search.value = what;
  search.dispatchEvent(new Event('input'));
};
const press = (key, more = {}) => document.dispatchEvent(new KeyboardEvent('keydown', { key, cancelable: true, ...more }));
const click = node => {
  const [x, y] = subnetMap.screen(node);
  const frame = canvas.getBoundingClientRect();
  const at = { clientX: frame.left + x, clientY: frame.top + y, bubbles: true };
  for (const event of ['pointerdown', 'pointerup']) canvas.dispatchEvent(new PointerEvent(event, at));
};
const colour = node => {
  subnetMap.draw();
  const [x, y] = subnetMap.screen(node);
  const ratio = window.devicePixelRatio || 1;
  // Between the edge of the box and its name.
  const top = y - sizeOf(subnet.nodes[node])[1] * subnetMap.view().scale / 2 + 2;
  return [...canvas.getContext('2d').getImageData(x * ratio, top * ratio, 1, 1).data].slice(0, 3).join();
};
";

/// A page, and the folder of its screenshots.
struct Page {
    file: PathBuf,
    html: String,
}

impl Page {
    fn new(name: &str, source: &[&str]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("map");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{name}.html"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_ib"));
        command.args(["map", "--html"]).arg(&file).args(source);
        printed(&mut command);
        let html = fs::read_to_string(&file).unwrap();
        Self { file, html }
    }

    /// The data of the page.
    fn data(&self) -> Value {
        let after = self.html.split("id=\"data\">").nth(1).expect("data");
        let json = after.split("</script>").next().expect("an end");
        serde_json::from_str(json).expect("one JSON document")
    }

    /// The number of the first node that a test wants.
    fn node(&self, wanted: impl Fn(&Value) -> bool) -> usize {
        let data = self.data();
        let nodes = data["nodes"].as_array().expect("nodes");
        nodes.iter().position(wanted).expect("a node")
    }

    /// The observations of a person who takes these steps; the steps fill `seen`.
    fn act(&self, steps: &str) -> Value {
        let script = format!(
            "<script>{{ {PERSON}\ntry {{ {steps} }} catch (error) {{ seen.error = String(error.stack); }}\n\
             document.body.replaceChildren();\n\
             const result = document.createElement('pre');\n\
             result.textContent = encodeURIComponent(JSON.stringify(seen));\n\
             document.body.append(result); }}</script></body>"
        );
        let file = self.file.with_extension("acted.html");
        fs::write(&file, self.html.replace("</body>", &script)).unwrap();
        let document = chromium(&url(&file), &["--dump-dom"]);
        let result = document.split("<pre>").nth(1).expect("a result");
        let result = decoded(result.split("</pre>").next().expect("an end"));
        let seen: Value = serde_json::from_str(&result).expect("one JSON document");
        assert_eq!(seen["error"], Value::Null, "{seen}");
        seen
    }

    /// A picture of the page beside it.
    fn screenshot(&self) -> Vec<u8> {
        let picture = self.file.with_extension("png");
        let option = format!("--screenshot={}", picture.display());
        chromium(&url(&self.file), &["--hide-scrollbars", &option]);
        fs::read(picture).unwrap()
    }
}

fn url(file: &Path) -> String {
    format!("file://{}", file.display())
}

/// The output of Chromium for a page. As root, Chromium runs only without its sandbox.
pub(crate) fn chromium(url: &str, options: &[&str]) -> String {
    let mut command = Command::new("chromium");
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1600,1000",
        "--virtual-time-budget=5000",
    ]);
    printed(command.args(options).arg(url))
}

/// Text as encodeURIComponent encoded it.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digits = |rest: &mut std::str::Bytes<'_>| {
            let digits = [rest.next()?, rest.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
        };
        bytes.push(match byte {
            b'%' => digits(&mut rest).expect("two digits"),
            other => other,
        });
    }
    String::from_utf8(bytes).expect("text")
}

/// A fabric of each size.
const SIZES: [(&str, &str, usize); 3] = [
    ("8", "fat-tree:radix=4,levels=2", 14),
    ("300", "fat-tree:radix=36,levels=2,parallel=2,pods=15", 294),
    ("4000", "fat-tree:radix=24,levels=3", 4176),
];

#[test]
fn pages_of_every_size_open_and_show_their_nodes() {
    for (name, spec, nodes) in SIZES {
        let page = Page::new(name, &["--fabric", spec]);
        assert_eq!(page.data()["nodes"].as_array().unwrap().len(), nodes);
        let seen = page.act(
            "seen.title = text('title'); seen.view = subnetMap.view(); seen.box = colour(0); seen.details = text('details');
             const pen = canvas.getContext('2d');
             const ratio = window.devicePixelRatio || 1;
             seen.texts = [];
             pen.fillText = (text, x, y) => {
               const size = parseFloat(pen.font) * pen.getTransform().a / ratio;
               const width = pen.measureText(text).width * pen.getTransform().a / ratio;
               const at = pen.getTransform().transformPoint({ x, y });
               const [left, top] = [at.x / ratio - width / 2, at.y / ratio - size / 2];
               seen.texts.push([text, size, left, top, left + width, top + size]);
             };
             subnetMap.draw();",
        );
        // Names of switches are read without zooming; of thousands as many as have room.
        let texts = seen["texts"].as_array().unwrap();
        let size = |text: &Value| text[1].as_f64().unwrap();
        assert!(
            texts.iter().all(|text| size(text) >= 6.0),
            "{name}: {texts:?}"
        );
        for node in page.data()["nodes"].as_array().unwrap() {
            let is_named = || {
                texts
                    .iter()
                    .any(|text| text[0] == node["label"] && size(text) >= 9.0)
            };
            assert!(
                node["kind"] != "switch" || name == "4000" || is_named(),
                "{name}: {node} {texts:?}"
            );
        }
        // No name covers another. With thousands of switches only those with enough room have a name.
        let place = |text: &Value| [2, 3, 4, 5].map(|at| text[at].as_f64().unwrap());
        for (number, one) in texts.iter().enumerate() {
            for other in &texts[number + 1..] {
                let ([left, top, right, bottom], of_other) = (place(one), place(other));
                let is_beside = right <= of_other[0] || of_other[2] <= left;
                assert!(
                    is_beside || bottom <= of_other[1] || of_other[3] <= top,
                    "{name}: {one} covers {other}"
                );
            }
        }
        let names: BTreeSet<&str> = texts.iter().filter_map(|text| text[0].as_str()).collect();
        let switches = page.data()["nodes"].as_array().unwrap().clone();
        let switches = switches.iter().filter(|node| node["kind"] == "switch");
        let named = switches.filter(|node| {
            node["label"]
                .as_str()
                .is_some_and(|label| names.contains(label))
        });
        assert!(
            named.count() >= if name == "4000" { 200 } else { 5 },
            "{name}: {names:?}"
        );
        assert_eq!(seen["title"], spec);
        // Node 0 is a switch: its box is blue.
        assert_eq!(seen["box"], "43,108,176", "{name}");
        assert_eq!(seen["view"]["hostsAreShown"], nodes < 1000, "{name}");
        assert!(
            seen["details"].as_str().unwrap().contains("switches"),
            "{seen}"
        );
        let picture = page.screenshot();
        assert!(picture.starts_with(b"\x89PNG"));
        // A picture of one colour takes a few kilobytes.
        assert!(picture.len() > 15_000, "{name}: {} bytes", picture.len());
    }
}

#[test]
fn a_search_finds_names_guids_and_lids() {
    let page = Page::new("search", &["--fabric", "fat-tree:radix=8,levels=2"]);
    let data = page.data();
    let wanted = page.node(|node| node["name"] == "host00005 HCA-1");
    let node = &data["nodes"][wanted];
    let guid = node["guid"].as_str().unwrap();
    let lid = node["lids"][0][0].to_string();
    for text in [
        "host00005 HCA-1",
        "HOST00005",
        guid,
        &guid[guid.len() - 4..],
        lid.as_str(),
    ] {
        let seen = page.act(&format!(
            "type({}); seen.chosen = subnetMap.chosen(); seen.details = text('details');",
            json!(text)
        ));
        assert_eq!(seen["chosen"], json!([wanted]), "{text}");
        let details = seen["details"].as_str().unwrap();
        assert!(
            details.contains(guid) && details.contains("host00005"),
            "{details}"
        );
    }
    let seen = page
        .act("type('host0000'); seen.details = text('details'); seen.chosen = subnetMap.chosen();");
    assert!(
        seen["details"].as_str().unwrap().starts_with("10 nodes:"),
        "{seen}"
    );
    assert_eq!(seen["chosen"], json!([]));
    let seen = page.act("type('nobody'); seen.details = text('details');");
    assert!(
        seen["details"].as_str().unwrap().contains("no node"),
        "{seen}"
    );
}

#[test]
fn a_click_shows_a_node_and_a_second_one_the_installed_path() {
    let file = fabric("gen-karyn-4-2");
    let page = Page::new("click", &["--fabric", file.to_str().unwrap()]);
    let data = page.data();
    let hosts: Vec<usize> = (0..data["nodes"].as_array().unwrap().len())
        .filter(|&node| data["nodes"][node]["kind"] == "ca")
        .collect();
    let (from, to) = (hosts[0], hosts[hosts.len() - 1]);
    let seen = page.act(&format!(
        "click({from}); seen.first = text('details'); click({to}); seen.path = subnetMap.path(); \
         seen.second = text('details'); click({from}); seen.third = subnetMap.chosen();"
    ));
    let guid = data["nodes"][from]["guid"].as_str().unwrap();
    assert!(seen["first"].as_str().unwrap().contains(guid), "{seen}");
    let path = &seen["path"];
    assert_eq!(path["end"], "arrives");
    let nodes = path["nodes"].as_array().unwrap();
    assert_eq!(
        (&nodes[0], &nodes[nodes.len() - 1]),
        (&json!(from), &json!(to))
    );
    // Each hop leaves by the port in the table of the page.
    let lid = usize::try_from(data["nodes"][to]["lids"][0][0].as_u64().unwrap()).unwrap();
    for hop in &path["hops"].as_array().unwrap()[1..] {
        let table = data["tables"][hop["node"].to_string()].as_str().unwrap();
        let port = u64::from_str_radix(&table[2 * lid..2 * lid + 2], 16).unwrap();
        assert_eq!(hop["port"], port);
    }
    assert!(
        seen["second"].as_str().unwrap().contains("arrives"),
        "{seen}"
    );
    assert_eq!(seen["third"], json!([from]));
}

#[test]
fn keys_zoom_colour_and_choose() {
    let page = Page::new("keys", &["--fabric", "torus:4x4,hosts=1"]);
    let seen = page.act(
        "const before = subnetMap.view().scale; press('+'); seen.larger = subnetMap.view().scale > before; \
         press('0'); seen.whole = subnetMap.view().scale === before; \
         seen.colours = [1, 2, 3, 4].map(() => { press('c'); return document.getElementById('colour').value; }); \
         press('d'); seen.dark = document.documentElement.className; press('d'); \
         press('ArrowRight', { shiftKey: true }); const first = subnetMap.chosen()[0]; \
         press('ArrowRight', { shiftKey: true }); seen.moved = subnetMap.chosen()[0] !== first; \
         press('Escape'); seen.none = subnetMap.chosen().length;",
    );
    assert_eq!(seen["larger"], true);
    assert_eq!(seen["whole"], true);
    assert_eq!(
        seen["colours"],
        json!(["speed", "errors", "findings", "load"])
    );
    assert_eq!(seen["dark"], "dark");
    assert_eq!(seen["moved"], true);
    assert_eq!(seen["none"], 0);
}

#[test]
fn a_node_description_is_text_and_no_markup() {
    let evil = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">";
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("evil.json");
    let node = |type_: &str, guid: &str, text: &str, peer: &str| {
        json!({"type": type_, "node_guid": guid, "num_ports": 1, "node_string": text, "ports": [
            {"port_num": 1, "port_guid": guid, "peer": {"node_guid": peer, "port_num": 1}}]})
    };
    let nodes = [
        node("switch", "0x20", evil, "0x10"),
        node("ca", "0x10", "host", "0x20"),
    ];
    fs::write(&file, json!({ "nodes": nodes }).to_string()).unwrap();
    let page = Page::new(
        "evil",
        &["--fabric", file.to_str().unwrap(), "--title", evil],
    );
    let seen = page.act(
        "click(0); seen.details = text('details'); seen.title = document.title; \
         seen.scripts = document.scripts.length; seen.images = document.images.length;",
    );
    assert!(seen["details"].as_str().unwrap().contains(evil), "{seen}");
    assert_eq!(seen["title"], evil);
    // The data, the page's own script, and the person.
    assert_eq!(seen["scripts"], 3);
    assert_eq!(seen["images"], 0);
}
