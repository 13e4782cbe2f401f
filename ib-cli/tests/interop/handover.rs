//! HANDOVER between our manager and OpenSM, in both directions. Once it is decided, it takes less than a poll interval.
//!
//! A standby manager polls the master every 10 s. A subnet that has its new master within 2 s therefore has it because
//! of the HANDOVER, and not because a poll failed.

use std::{
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ib_testkit::{data::fabric_file, ibsim::Ibsim};

use crate::peers::{first_ca, ib, printed};

/// Longest duration of a handover after the new master has appeared.
const HANDOVER: Duration = Duration::from_secs(2);

/// A program that ends with its test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(quiet.spawn().expect("the program is installed"))
    }
}

impl Running {
    /// Sends SIGHUP, at which both managers sweep the whole subnet.
    fn hang_up(&self) {
        let sent = Command::new("kill")
            .args(["-s", "HUP", &self.0.id().to_string()])
            .status();
        assert!(sent.expect("kill is there").success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The LID of a node, as it says itself.
fn lid(ibsim: &Ibsim, node: &str) -> String {
    let text = printed(ibsim.client("smpquery", node).args(["-D", "portinfo", "0"]));
    let line = text.lines().find(|line| line.starts_with("Lid:"));
    line.map_or(String::new(), |line| {
        line.replace("Lid:", "").replace('.', "")
    })
}

/// The states of the managers on these nodes, from their SMInfo.
fn state(ibsim: &Ibsim, asker: &str, of: &str) -> String {
    let lid = lid(ibsim, of);
    if lid == "0" {
        return String::new();
    }
    let output = ibsim.client("sminfo", asker).arg(&lid).output();
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

fn ours(ibsim: &Ibsim, node: &str, priority: u8) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ib"));
    command.args([
        "sm",
        "--device",
        &format!("sim:{}", ibsim.name()),
        "--node",
        node,
    ]);
    command.args(["--set", &format!("sm_priority={priority}")]);
    command.stdin(Stdio::null());
    command
}

fn opensm(ibsim: &Ibsim, node: &str, priority: u8) -> Command {
    let mut command = ibsim.client("opensm", node);
    command.args(["-f", "/dev/null", "-p", &priority.to_string()]);
    command
}

/// Checks that the manager of `first` masters the subnet until the higher one of `second` arrives and takes over.
fn hands_over(first: fn(&Ibsim, &str, u8) -> Command, second: fn(&Ibsim, &str, u8) -> Command) {
    let ibsim = Ibsim::start(&fabric_file("gen-ring-5")).expect("ibsim is installed");
    let [low, high, asker] = hosts("gen-ring-5");
    let master = Running::start(&mut first(&ibsim, &low, 1));
    let patience = Duration::from_secs(60);
    wait_for("the first is the master", patience, || {
        state(&ibsim, &asker, &low) == "MASTER"
    });
    let _high = Running::start(&mut second(&ibsim, &high, 9));
    wait_for("the second has met the first", patience, || {
        matches!(state(&ibsim, &asker, &high).as_str(), "STANDBY" | "MASTER")
    });
    // The lower manager finds the higher one in a sweep, and decides the handover then. ibsim sends no trap for a new
    // manager, so the test asks for the sweep.
    master.hang_up();
    wait_for("the handover is decided", patience, || {
        state(&ibsim, &asker, &low) == "STANDBY"
    });
    wait_for("the second is the master", HANDOVER, || {
        state(&ibsim, &asker, &high) == "MASTER"
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
    let _master = Running::start(&mut ours(&ibsim, &high, 9));
    wait_for("the first is the master", patience, || {
        state(&ibsim, &asker, &high) == "MASTER"
    });
    let _standby = Running::start(&mut opensm(&ibsim, &low, 1));
    wait_for("the second is a standby", patience, || {
        state(&ibsim, &asker, &low) == "STANDBY"
    });
    let lid = lid(&ibsim, &low);
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
            state(&ibsim, &asker, &low) == "NOTACT"
        });
        program(standby);
        wait_for("STANDBY", patience, || {
            state(&ibsim, &asker, &low) == "STANDBY"
        });
    }
}
