//! A fabric of the simulator that a manager has brought up, for the diagnostics.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use ib_mad::{Client, ClientConfig, MadAddress};
use ib_sa::{JoinState, McMemberComponents, McMemberRecord, RecordCall};
use ib_testkit::data::fabric_file;
use ib_transport::{
    MonotonicClock, ask,
    ibsim::{IbsimOptions, IbsimPort},
};
use ib_wire::{Gid, GidPrefix, Lid, Sl};
use serde_json::Value;

use crate::common;

/// A served fabric that a manager has brought up.
pub(crate) struct Fabric {
    server: Child,
    pub(crate) console: ChildStdin,
    pub(crate) name: String,
}

impl Fabric {
    pub(crate) fn start(name: &str) -> Self {
        Self::serve(&fabric_file(name))
    }

    pub(crate) fn serve(file: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("diag-{}-{count}", std::process::id());
        let mut server = Command::new(env!("CARGO_BIN_EXE_ib"))
            .args(["sim", "--socket", &name, "--fabric"])
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let console = server.stdin.take().unwrap();
        let fabric = Self {
            server,
            console,
            name,
        };
        let patience = Instant::now() + Duration::from_secs(20);
        while fabric.run(&["nodes"]).status.code() != Some(0) {
            assert!(Instant::now() < patience, "the simulator does not come up");
            thread::sleep(Duration::from_millis(50));
        }
        let up = fabric.run(&["sm", "--once"]);
        assert!(
            up.status.success(),
            "{}",
            String::from_utf8_lossy(&up.stderr)
        );
        fabric
    }

    /// Lets the first port of a node join the group of all IPoIB nodes, as soon as a manager serves it.
    pub(crate) fn join(&self, node: &str) {
        let clock = MonotonicClock::start();
        let options = IbsimOptions {
            server: self.name.clone(),
            node: node.to_owned(),
            announce_sm: false,
        };
        let mut port = IbsimPort::attach(&options).unwrap();
        let mut client = Client::new(ClientConfig::default());
        let own = document(&self.run(&["ports", "--json", "--node", node]), 0);
        let own = &own["ports"][0];
        let guid = own["port_guid"].as_str().unwrap();
        let manager = Lid(own["sm_lid"].as_u64().unwrap().try_into().unwrap());
        let mut member = McMemberRecord::default();
        member
            .set_mgid("ff12:401b:ffff::ffff:ffff".parse().unwrap())
            .set_port_gid(Gid::new(GidPrefix::DEFAULT, guid.parse().unwrap()))
            .set_join_state(JoinState::FULL_MEMBER);
        let components = McMemberComponents::MGID
            | McMemberComponents::PORT_GID
            | McMemberComponents::JOIN_STATE;
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            let call = RecordCall::set(MadAddress::gsi(manager, Sl::ZERO), &member, components);
            match ask(&mut client, call, &mut port, &clock).unwrap() {
                Ok(_) => return,
                Err(error) => assert!(Instant::now() < patience, "{error}"),
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let device = format!("sim:{}", self.name);
        let mut all = arguments.to_vec();
        all.extend(["--device", &device]);
        common::ib(&all, "")
    }

    /// The document of a command that ends with this status.
    pub(crate) fn json(&self, status: i32, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.push("--json");
        document(&self.run(&all), status)
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        let _ = writeln!(self.console, "Quit");
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

pub(crate) fn document(output: &Output, status: i32) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

pub(crate) fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// A file name of its own.
pub(crate) fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ib-diag-{}-{name}", std::process::id()))
}
