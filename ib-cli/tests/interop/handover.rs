//! HANDOVER between our manager and OpenSM, in both directions. Once it is decided, it takes less than a poll interval.
//!
//! A standby manager polls the master every 10 s. A subnet that has its new master within 2 s therefore has it because
//! of the HANDOVER, and not because a poll failed.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ib_testkit::{data::fabric_file, ibsim::Ibsim, process};

use crate::peers::{first_ca, ib, printed, printed_by_peer};

/// Longest duration of a handover after the new master has appeared.
const HANDOVER: Duration = Duration::from_secs(2);

/// A manager that ends with its test, and the file with what it printed.
struct Running {
    program: Child,
    log: PathBuf,
}

impl Running {
    fn start(command: &mut Command, log: PathBuf) -> Self {
        let file = File::create(&log).expect("the temporary folder is writable");
        let both = file.try_clone().expect("an open file");
        let program = command.stdout(file).stderr(both).spawn();
        Self {
            program: program.expect("the program is installed"),
            log,
        }
    }

    /// Returns true if the manager has said that the subnet is up. OpenSM says SUBNET UP.
    fn is_up(&self) -> bool {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).to_lowercase();
        text.contains("subnet up")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// The LID of a node's port.
fn lid(ibsim: &Ibsim, node: &str) -> String {
    let text = printed_by_peer(ibsim.client("smpquery", node).args(["-D", "portinfo", "0"]));
    let line = text.lines().find(|line| line.starts_with("Lid:"));
    let line = line.expect("smpquery prints the LID");
    line.replace("Lid:", "").replace('.', "")
}

/// The state of the manager at a LID, from its SMInfo.
fn state(ibsim: &Ibsim, asker: &str, lid: &str) -> String {
    let output = process::output(ibsim.client("sminfo", asker).arg(lid));
    let text = output.expect("sminfo is installed").stdout;
    let text = String::from_utf8_lossy(&text);
    let state = text.split("SMINFO_").nth(1).unwrap_or_default();
    state.trim().to_owned()
}

/// The first CA of the fabric, the second and the third.
fn hosts(name: &str) -> [String; 3] {
    let file = fabric_file(name);
    let text = std::fs::read_to_string(&file).expect("the file is text");
    let lines = text
        .lines()
        .filter(|line| line.starts_with("Ca") || line.starts_with("Hca"));
    let names = lines.filter_map(|line| line.split('"').nth(1));
    let mut names = names.map(str::to_owned);
    let first = first_ca(&file);
    let [second, third] =
        [(); 2].map(|()| names.by_ref().find(|name| *name != first).expect("a host"));
    [first, second, third]
}

fn wait_for(what: &str, patience: Duration, mut is: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !is() {
        assert!(
            began.elapsed() < patience,
            "{what}: not within {patience:?}"
        );
        thread::sleep(Duration::from_millis(20));
    }
    began.elapsed()
}

/// Options of both managers: they discover the whole subnet every second, and find a new manager then.
const OPTIONS: [(&str, &str); 2] = [("sweep_interval", "1"), ("force_heavy_sweep", "TRUE")];

fn ours(ibsim: &Ibsim, node: &str, priority: u8) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ib"));
    let device = format!("sim:{}", ibsim.name());
    command.args(["sm", "--device", &device, "--node", node]);
    command.args(["--set", &format!("sm_priority={priority}")]);
    for (key, value) in OPTIONS {
        command.args(["--set", &format!("{key}={value}")]);
    }
    command.stdin(Stdio::null());
    command
}

fn opensm(ibsim: &Ibsim, node: &str, priority: u8) -> Command {
    let options = OPTIONS.map(|(key, value)| format!("{key} {value}\n"));
    let file = ibsim.file("opensm.conf");
    fs::write(&file, options.concat()).expect("the temporary folder is writable");
    let mut command = ibsim.client("opensm", node);
    command.arg("-F").arg(file);
    command.args(["-f", "stdout", "-p", &priority.to_string()]);
    command
}

/// Checks that the manager of `first` masters the subnet until the higher one of `second` arrives and takes over.
fn hands_over(first: fn(&Ibsim, &str, u8) -> Command, second: fn(&Ibsim, &str, u8) -> Command) {
    let ibsim = Ibsim::start(&fabric_file("gen-ring-5")).expect("ibsim is installed");
    let [low, high, asker] = hosts("gen-ring-5");
    let master = Running::start(&mut first(&ibsim, &low, 1), ibsim.file("low.log"));
    let patience = Duration::from_secs(60);
    wait_for("the first has the subnet up", patience, || master.is_up());
    // ibsim loses datagrams if two clients on one node are busy, and OpenSM waits for a lost answer for ever. So the
    // nodes of the managers are asked now, and nothing but the managers uses them from here on.
    let [low_lid, high_lid] = [&low, &high].map(|node| lid(&ibsim, node));
    assert_eq!(state(&ibsim, &asker, &low_lid), "MASTER");
    let _high = Running::start(&mut second(&ibsim, &high, 9), ibsim.file("high.log"));
    wait_for("the handover is decided", patience, || {
        state(&ibsim, &asker, &low_lid) == "STANDBY"
    });
    wait_for("the second is the master", HANDOVER, || {
        state(&ibsim, &asker, &high_lid) == "MASTER"
    });
}

#[test]
fn ours_hands_over_to_opensm() {
    hands_over(ours, opensm);
}

#[test]
fn opensm_hands_over_to_ours() {
    hands_over(opensm, ours);
}

/// `sminfo LID 3` and `sminfo LID 4` send the orders DISABLE and STANDBY.
#[test]
fn orders_of_ib_query_have_the_effect_of_those_of_sminfo() {
    let ibsim = Ibsim::start(&fabric_file("gen-ring-5")).expect("ibsim is installed");
    let [low, high, asker] = hosts("gen-ring-5");
    let patience = Duration::from_secs(60);
    let master = Running::start(&mut ours(&ibsim, &high, 9), ibsim.file("high.log"));
    wait_for("the first has the subnet up", patience, || master.is_up());
    let lid = lid(&ibsim, &low);
    let _standby = Running::start(&mut opensm(&ibsim, &low, 1), ibsim.file("low.log"));
    wait_for("the second is a standby", patience, || {
        state(&ibsim, &asker, &lid) == "STANDBY"
    });
    let by_sminfo = |order: &str| {
        printed(
            ibsim
                .client("sminfo", &asker)
                .args(["-s", "3", "-p", "9", &lid, order]),
        );
    };
    let by_query = |order: &str| {
        let arguments = ["query", "sminfo", "--lid", &lid, "--set", order];
        ib(
            &ibsim,
            &asker,
            &[&arguments[..], &["--priority", "9"]].concat(),
        );
    };
    type Program<'a> = &'a dyn Fn(&str);
    let programs: [(Program<'_>, [&str; 2]); 2] = [
        (&by_sminfo, ["3", "4"]),
        (&by_query, ["disable", "standby"]),
    ];
    for (program, [disable, standby]) in programs {
        program(disable);
        wait_for("DISABLE", patience, || {
            state(&ibsim, &asker, &lid) == "NOTACT"
        });
        program(standby);
        wait_for("STANDBY", patience, || {
            state(&ibsim, &asker, &lid) == "STANDBY"
        });
    }
}
