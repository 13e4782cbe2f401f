//! Bringing a subnet up: `ib` beside OpenSM, each as a whole process.
//!
//! On ibsim both attach to a fabric that nobody has configured yet and end when every port is
//! active; each repetition starts a new simulator. In process `ib up` has the simulator inside.

use std::{
    error::Error,
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    time::Instant,
};

use ib_routing::{NodeType, format::ibnetdiscover, generate::FabricSpec};
use ib_testkit::ibsim::Ibsim;
use serde_json::Value;

use crate::{
    dissect::program_ib,
    measure::{Sample, figures_by_turns, is_installed},
    memory,
    row::Row,
    setup,
};

pub(crate) const SUBJECT: &str = "bringup";
const PEER: &str = "OpenSM -n 32 on ibsim";
const REPETITIONS: usize = 3;

/// The fabrics, by the names that cases bear.
pub(crate) const FABRICS: [(&str, &str); 2] = [
    ("ft324", "fat-tree:radix=36,levels=2,parallel=2,pods=18"),
    ("ft3456", "fat-tree:radix=24,levels=3"),
];

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let Some(ib) = program_ib() else {
        let install = "cargo build --profile dist --bin ib";
        return vec![Row::without_peer(
            SUBJECT,
            "ft324-on-ibsim",
            install,
            "s",
            None,
        )];
    };
    let mut rows = beside_opensm(&ib);
    rows.extend(memory::rows(&ib));
    rows
}

/// The cases beside OpenSM.
fn beside_opensm(ib: &Path) -> Vec<Row> {
    if !is_installed("ibsim") || !is_installed("opensm") {
        let install = "apt-get install opensm ibsim-utils libumad2sim0";
        return vec![Row::without_peer(
            SUBJECT,
            "ft324-on-ibsim",
            install,
            "s",
            None,
        )];
    }
    FABRICS
        .into_iter()
        .flat_map(|(name, spec)| {
            measure(ib, name, spec).unwrap_or_else(|error| {
                eprintln!("{SUBJECT} {name}: {error}");
                Vec::new()
            })
        })
        .collect()
}

fn measure(ib: &Path, name: &str, spec: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    let fabric = spec.parse::<FabricSpec>()?.build()?;
    let file = std::env::temp_dir().join(format!("ib-compare-{}-{name}.net", std::process::id()));
    fs::write(&file, ibnetdiscover::write(&fabric, None))?;
    let host = fabric
        .nodes()
        .iter()
        .find(|node| node.type_ == NodeType::CA);
    let host = host.map_or("", |node| node.name.as_str());
    let result = cases(ib, name, spec, &file, host);
    fs::remove_file(&file)?;
    result
}

fn cases(
    ib: &Path,
    name: &str,
    spec: &str,
    file: &Path,
    host: &str,
) -> Result<Vec<Row>, Box<dyn Error>> {
    let opensm = || {
        on_ibsim(file, |ibsim| {
            let mut command = ibsim.client("opensm", host);
            command.args(["-o", "-f", "/dev/null", "-n", "32"]);
            command
        })
    };
    let (ours, peer) = figures_by_turns(
        REPETITIONS,
        || {
            on_ibsim(file, |ibsim| {
                let mut command = Command::new(ib);
                command.args(["sm", "--once", "--engine", "minhop", "--device"]);
                command
                    .arg(format!("sim:{}", ibsim.name()))
                    .args(["--node", host]);
                command
            })
        },
        opensm,
    );
    let mut rows = vec![Row::times(
        SUBJECT,
        format!("{name}-on-ibsim"),
        PEER,
        "s",
        &ours,
        &peer,
    )];
    let up = || {
        let mut command = Command::new(ib);
        command.args(["up", "--engine", "minhop", "--json", "--fabric", spec]);
        command
    };
    if name == "ft3456" {
        let in_process = Sample::new((0..REPETITIONS).map(|_| wall(&mut up())).collect());
        let case = format!("{name}-in-process");
        rows.push(Row::times(SUBJECT, case, PEER, "s", &in_process, &peer));
        rows.push(mads(name, file, host, &mut up())?);
    }
    Ok(rows)
}

/// Seconds that a program takes on a new simulator.
fn on_ibsim(file: &Path, program: impl Fn(&Ibsim) -> Command) -> f64 {
    match Ibsim::start(file) {
        Ok(ibsim) => wall(&mut program(&ibsim)),
        Err(error) => {
            eprintln!("{SUBJECT}: {error}");
            f64::NAN
        }
    }
}

/// Seconds from a program's start to its end; not a number if it fails.
fn wall(command: &mut Command) -> f64 {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => start.elapsed().as_secs_f64(),
        _ => f64::NAN,
    }
}

/// Datagrams sent until every port is active. OpenSM's count comes from the binary with clocks.
fn mads(name: &str, file: &Path, host: &str, up: &mut Command) -> Result<Row, Box<dyn Error>> {
    let Output { stdout, .. } = up.stderr(Stdio::null()).output()?;
    let summary: Value = serde_json::from_slice(&stdout)?;
    let sent = summary["mads"]["sent"]
        .as_f64()
        .ok_or("no count of datagrams")?;
    let (ours, case) = (Sample::new(vec![sent]), format!("{name}-mads"));
    let bench = match setup::opensm() {
        Ok(bench) => bench,
        Err(install) => {
            return Ok(Row::without_peer(
                SUBJECT,
                case,
                install,
                "MADs",
                Some(&ours),
            ));
        }
    };
    let peer = Sample::new(vec![opensm_mads(&bench, file, host)?]);
    Ok(Row::times(
        SUBJECT,
        case,
        "OpenSM on ibsim",
        "MADs",
        &ours,
        &peer,
    ))
}

/// The number behind `qp0_sent=` in what OpenSM with clocks prints at the end.
fn opensm_mads(bench: &Path, file: &Path, host: &str) -> Result<f64, Box<dyn Error>> {
    let ibsim = Ibsim::start(file)?;
    let mut command = ibsim.client(bench, host);
    command.args(["-o", "-f", "/dev/null", "-R", "minhop", "-n", "32"]);
    let Output { stderr, .. } = command.stdout(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&stderr);
    let count = text
        .split("qp0_sent=")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next());
    Ok(count
        .ok_or("OpenSM printed no count of datagrams")?
        .parse()?)
}
