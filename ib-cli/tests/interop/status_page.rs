//! The status page of a running manager in Chromium without a window: it shows the state and the map, and follows a change
//! of the subnet.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::map::chromium;

const PATIENCE: Duration = Duration::from_secs(60);

/// A served fabric, a manager with a status page, and the address of the page.
struct Site {
    sim: Child,
    sm: Option<Child>,
    address: String,
}

impl Site {
    fn start(fabric: &str) -> Self {
        let name = format!("page-{}", std::process::id());
        let ib = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_ib"));
            command.stdin(Stdio::piped()).stdout(Stdio::null());
            command.stderr(Stdio::piped());
            command
        };
        let serve = ["sim", "--fabric", fabric, "--socket", &name];
        let mut site = Self {
            sim: ib().args(serve).spawn().expect("ib runs"),
            sm: None,
            address: String::new(),
        };
        let device = format!("sim:{name}");
        let begun = Instant::now();
        loop {
            let options = ["--metrics", "127.0.0.1:0", "--status-page"];
            let manage = ["sm", "--device", &device];
            let mut sm = ib().args(manage).args(options).spawn().expect("ib runs");
            let said = BufReader::new(sm.stderr.take().expect("a pipe"));
            let mut lines = said.lines().map_while(Result::ok);
            let address = lines.find_map(|line| Some(line.split_once("metrics at ")?.1.to_owned()));
            if let Some(address) = address {
                // What else it says is read to the end, so that it never waits for a reader.
                thread::spawn(move || lines.for_each(drop));
                (site.sm, site.address) = (Some(sm), address);
                site.wait_for(|status| status["up"] == true && status["phase"] == "waiting");
                return site;
            }
            // The server does not listen yet.
            sm.wait().expect("it has ended");
            assert!(begun.elapsed() < PATIENCE, "the manager does not start");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The state of the manager as JSON.
    fn status(&self) -> Value {
        let host = self
            .address
            .trim_start_matches("http://")
            .trim_end_matches('/');
        let mut stream = std::net::TcpStream::connect(host).expect("it listens");
        write!(stream, "GET /status HTTP/1.0\r\n\r\n").expect("it reads");
        let text = std::io::read_to_string(stream).expect("it answers");
        let body = text.split_once("\r\n\r\n").expect("a body").1;
        serde_json::from_str(body).expect("one JSON document")
    }

    fn wait_for(&self, holds: impl Fn(&Value) -> bool) {
        let begun = Instant::now();
        while !holds(&self.status()) {
            assert!(begun.elapsed() < PATIENCE, "never: {}", self.status());
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for child in self.sm.iter_mut().chain([&mut self.sim]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The text of the element with this id in a document that Chromium prints.
fn element<'a>(document: &'a str, id: &str) -> &'a str {
    let after = document
        .split_once(&format!("id=\"{id}\""))
        .expect("the element")
        .1;
    let inside = after.split_once('>').expect("its start").1;
    inside.split_once("</").expect("its end").0
}

#[test]
fn the_page_shows_the_state_and_the_map_and_follows_the_subnet() {
    let mut site = Site::start("fat-tree:radix=8,levels=2");
    let status = site.status();
    let document = chromium(&site.address, &["--dump-dom"]);
    let state = element(&document, "state");
    let active = format!("{} ports active", status["ports"]["active"]);
    assert!(
        state.starts_with("Master · up · sweep ") && state.contains(&active),
        "{state}"
    );
    assert!(!element(&document, "title").is_empty());
    let data: Value = serde_json::from_str(element(&document, "data")).expect("the subnet");
    assert_eq!(data["nodes"].as_array().expect("nodes").len(), 12 + 32);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("map");
    fs::create_dir_all(&folder).expect("a folder");
    let picture = folder.join("status-page.png");
    let option = format!("--screenshot={}", picture.display());
    chromium(&site.address, &["--hide-scrollbars", &option]);
    let picture = fs::read(picture).expect("a picture");
    // A picture of one colour takes a few kilobytes.
    assert!(
        picture.starts_with(b"\x89PNG") && picture.len() > 15_000,
        "{}",
        picture.len()
    );

    // A cable is pulled: the manager routes around it, and the page shows a link less.
    let links = |document: &str| {
        let data: Value = serde_json::from_str(element(document, "data")).expect("the subnet");
        data["links"].as_array().expect("links").len()
    };
    let before = links(&document);
    let console = site.sim.stdin.as_mut().expect("a pipe");
    writeln!(console, "Unlink \"S-0020000000000000\"[5]").expect("it reads");
    let topology = status["topology"].clone();
    site.wait_for(|status| status["topology"] != topology && status["phase"] == "waiting");
    assert_eq!(links(&chromium(&site.address, &["--dump-dom"])), before - 1);
}
