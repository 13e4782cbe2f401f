//! `switchbalance` and `lidbalance` beside OpenSM's console: the same lines for the same tables.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read as _, Write as _},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use ib_testkit::{data::fabric_file, ibsim::Ibsim, process};

use crate::peers::{first_ca, ib};

const PATIENCE: Duration = Duration::from_secs(60);

/// A program that ends with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // ibsim frees the port of a client that takes its leave.
        let id = self.0.id().to_string();
        let _ = Command::new("kill").args(["-s", "TERM", &id]).status();
        let _ = self.0.wait();
    }
}

/// Waits until `get` returns something.
fn wait<T>(what: &str, mut get: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = get() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// The lines of a balance without the prompt, each switch with its ports. The two managers list switches in different orders.
fn blocks(text: &str) -> BTreeSet<String> {
    let mut blocks: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.replace("OpenSM $ ", "");
        let line = line.trim_end().to_owned();
        match blocks.last_mut() {
            Some(last) if line.starts_with("Port ") => last.push_str(&format!("; {line}")),
            _ if line.contains("Switch") => blocks.push(line),
            _ => {}
        }
    }
    blocks.into_iter().collect()
}

/// Answers of OpenSM's console to both commands; OpenSM brings the subnet up and leaves its tables behind.
fn of_opensm(ibsim: &Ibsim, node: &str) -> [BTreeSet<String>; 2] {
    let mut opensm = ibsim.client("opensm", node);
    opensm.args(["--console", "local", "-f", "/dev/null", "-l", "2"]);
    opensm.args(["-R", "minhop"]).stdin(Stdio::piped());
    let opensm = opensm.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut opensm = Running(opensm.spawn().expect("OpenSM is installed"));
    let mut stdin = opensm.0.stdin.take().expect("it has a console");
    let mut stdout = opensm.0.stdout.take().expect("it prints");
    let printed = Arc::new(Mutex::new(String::new()));
    let text = Arc::clone(&printed);
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = stdout.read(&mut bytes) {
            let read = String::from_utf8_lossy(&bytes[..count]);
            text.lock().expect("no panic").push_str(&read);
        }
    });
    // The answer to an order that it does not know ends the answer before. It reads one line each time that its standard input
    // has something new, whatever its buffer holds.
    let mut asked = 0;
    let mut ask = |order: &str| {
        asked += 1;
        let end = format!("end{asked}");
        printed.lock().expect("no panic").clear();
        writeln!(stdin, "{order}").expect("the console reads");
        wait(order, || {
            writeln!(stdin, "{end}").expect("the console reads");
            let text = printed.lock().expect("no panic");
            let (answer, _) = text.split_once(&format!("{end} : Command not found"))?;
            Some(answer.to_owned())
        })
    };
    // Its sweeps are over when the second of two answers is the same, and has routes.
    let mut before = String::new();
    let switches = wait("routes of OpenSM", || {
        let answer = ask("switchbalance verbose");
        let is_done = answer == before && answer.contains("Port ") && !answer.contains(": 0\n");
        before.clone_from(&answer);
        is_done.then_some(answer)
    });
    [blocks(&switches), blocks(&ask("lidbalance"))]
}

#[test]
fn balances_are_printed_as_opensms_console_prints_them() {
    let file = fabric_file("gen-irregular-20");
    let ibsim = Ibsim::start(&file).expect("ibsim is installed");
    let node = first_ca(&file);
    let [switches, lids] = of_opensm(&ibsim, &node);
    assert!(
        switches.len() > 2 && !lids.is_empty(),
        "{switches:?} {lids:?}"
    );
    let folder = std::env::temp_dir().join(format!("ib-console-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let (socket, tables) = (folder.join("socket"), folder.join("lfts"));
    // The tables that OpenSM left are the ones that ours installs, so every count is the same.
    fs::write(&tables, ib(&ibsim, &node, &["tables", "--lft"])).expect("a file");
    let mut sm = Command::new(env!("CARGO_BIN_EXE_ib"));
    let device = format!("sim:{}", ibsim.name());
    sm.args(["sm", "--device", &device, "--node", &node, "--lmc", "2"]);
    sm.args(["--engine", "file", "--allow-deadlock", "--takeover"]);
    sm.arg("--tables")
        .arg(&tables)
        .arg("--control")
        .arg(&socket);
    let sm = sm.stdin(Stdio::null()).stderr(Stdio::null());
    let _sm = Running(sm.spawn().expect("ib runs"));
    let ask = |command: &[&str]| {
        let mut ctl = Command::new(env!("CARGO_BIN_EXE_ib"));
        ctl.arg("ctl").arg("--socket").arg(&socket).args(command);
        let output = process::output(&mut ctl).expect("ib runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    wait("our subnet is up", || {
        let status = ask(&["--json", "status"]);
        status.contains("\"up\":true").then_some(())
    });
    assert_eq!(blocks(&ask(&["switchbalance", "verbose"])), switches);
    let ours = blocks(&ask(&["lidbalance"]));
    let differs: Vec<_> = ours.symmetric_difference(&lids).collect();
    assert!(differs.is_empty(), "{differs:#?}");
    fs::remove_dir_all(&folder).expect("the folder");
}
