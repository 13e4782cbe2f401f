//! Routing engines beside OpenSM's: the time of the engine alone, and the quality of what it made.
//!
//! OpenSM is the binary that `OPENSM_BENCH` names, built with clocks around its routing engines; it
//! runs on ibsim, on a file with the same fabric. Both sides route on one core, by turns. Its tables
//! go through the same verification as ours, so that no time stands alone.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Instant,
};

use ib_routing::{
    Fabric, LidMap, LidOptions, NodeType, RouteOptions, Routes, RoutingEngine, VerifyReport,
    format::ibnetdiscover, generate::FabricSpec, verify,
};
use ib_transport::interop::Ibsim;
use ib_wire::{Lid, Lmc, PortNum, addr::LidRange};

use crate::{
    measure::Sample,
    quality::{Qualities, Quality},
    row::Row,
};

const SUBJECT: &str = "routing";
const UNIT: &str = "ms";

/// The fabrics, by the names that cases bear.
const FABRICS: [(&str, &str); 4] = [
    ("ft324", "fat-tree:radix=36,levels=2,parallel=2,pods=18"),
    ("ft3456", "fat-tree:radix=24,levels=3"),
    ("torus888", "torus:8x8x8,hosts=2"),
    ("dfly", "dragonfly:a=8,p=4,h=4"),
];

/// Engine and fabric of each case.
const CASES: [(&str, &str); 20] = [
    ("minhop", "ft324"),
    ("minhop", "ft3456"),
    ("minhop", "dfly"),
    ("minhop", "torus888"),
    ("updn", "ft3456"),
    ("updn", "dfly"),
    ("dnup", "ft3456"),
    ("ftree", "ft324"),
    ("ftree", "ft3456"),
    ("dor", "torus888"),
    ("torus-2QoS", "torus888"),
    ("sssp", "ft3456"),
    ("sssp", "dfly"),
    ("dfsssp", "dfly"),
    ("dfsssp", "torus888"),
    ("dfsssp", "ft3456"),
    ("lash", "dfly"),
    ("lash", "torus888"),
    ("nue", "dfly"),
    ("nue", "ft3456"),
];

/// Measures every case.
pub(crate) fn rows() -> Vec<Row> {
    let opensm = env::var_os("OPENSM_BENCH")
        .map(PathBuf::from)
        .filter(|path| path.is_file());
    let only = env::var("COMPARE_CASE").ok();
    let mut rows = Vec::new();
    for (engine, fabric_name) in CASES {
        let case = format!("{engine}-{fabric_name}");
        if only
            .as_ref()
            .is_some_and(|only| !case.contains(only.as_str()))
        {
            continue;
        }
        eprintln!("  {case}");
        match measure(engine, fabric_name, &case, opensm.as_deref()) {
            Ok(row) => rows.push(row),
            Err(error) => rows.push(Row::without_peer(
                SUBJECT,
                case,
                format!("failed: {error}"),
                UNIT,
                None,
            )),
        }
    }
    rows
}

type Error = Box<dyn std::error::Error>;

fn measure(
    engine: &str,
    fabric_name: &str,
    case: &str,
    opensm: Option<&Path>,
) -> Result<Row, Error> {
    let spec = FABRICS
        .iter()
        .find(|(name, _)| *name == fabric_name)
        .map_or("", |(_, spec)| spec);
    let fabric = spec.parse::<FabricSpec>()?.build()?;
    let lids = LidMap::assign(&fabric, &LidOptions::default())?;
    let config = torus_config(&fabric);
    let options = RouteOptions {
        threads: 1,
        torus_config: Some(config.clone()),
        ..RouteOptions::default()
    };
    let engine: RoutingEngine = engine.parse()?;
    let directory = env::temp_dir().join(format!("compare-{}-{case}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let file = directory.join("fabric.net");
    fs::write(&file, ibnetdiscover::write(&fabric, None))?;
    fs::write(directory.join("torus.conf"), config)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut routes = None;
    let mut peer = Err("set OPENSM_BENCH to an OpenSM with clocks around its engines".into());
    for _ in 0..2 {
        if let Some(opensm) = opensm {
            peer = run_opensm(opensm, engine, &fabric, &directory);
            if let Ok(run) = &peer {
                theirs.extend_from_slice(&run.milliseconds);
            }
        }
        for _ in 0..5 {
            let start = Instant::now();
            let made = engine.route(&fabric, &lids, &options)?;
            ours.push(start.elapsed().as_secs_f64() * 1e3);
            routes = Some(made);
        }
    }
    fs::remove_dir_all(&directory)?;
    let routes = routes.ok_or("no repetition")?;
    let report = verify(&fabric, &lids, &routes);
    let quality = Qualities {
        ours: judge(&report, routes.vls(), true),
        peer: peer.as_ref().ok().map(|run| run.quality.clone()),
    };
    let ours = Sample::new(ours);
    let mut row = match (peer, theirs.is_empty()) {
        (Ok(_), false) => Row::times(SUBJECT, case, "OpenSM", UNIT, &ours, &Sample::new(theirs)),
        (Ok(_), true) => {
            Row::without_peer(SUBJECT, case, "OpenSM printed no time", UNIT, Some(&ours))
        }
        (Err(error), _) => {
            Row::without_peer(SUBJECT, case, format!("OpenSM: {error}"), UNIT, Some(&ours))
        }
    };
    row.quality = Some(quality);
    Ok(row)
}

fn judge(report: &VerifyReport, vls: u8, lanes_known: bool) -> Quality {
    Quality {
        load_max: report.link_load.max,
        mean_hops: report.mean_hops,
        unreachable: report.unreachable,
        vls,
        deadlock_free: lanes_known.then_some(report.deadlock_free),
    }
}

/// A configuration for a torus whose switch ports 1, 3, 5 point up along x, y, z.
fn torus_config(fabric: &Fabric) -> String {
    let Some(first) = fabric.switches().indices().next() else {
        return String::new();
    };
    let mut text = String::from("torus 8 8 8\n");
    let mut seen = Vec::new();
    for (_, channel) in fabric.channels_from(first) {
        let link = [
            "xp_link", "xm_link", "yp_link", "ym_link", "zp_link", "zm_link",
        ];
        if let Some(link) = link.get(usize::from(channel.port.0).wrapping_sub(1)) {
            seen.push(*link);
            let (from, to) = (
                fabric.switch_guid(first).0,
                fabric.switch_guid(channel.to).0,
            );
            text.push_str(&format!("{link} {from:#x} {to:#x}\n"));
        }
    }
    text
}

/// What one run of OpenSM measured.
struct PeerRun {
    milliseconds: Vec<f64>,
    quality: Quality,
}

fn run_opensm(
    opensm: &Path,
    engine: RoutingEngine,
    fabric: &Fabric,
    directory: &Path,
) -> Result<PeerRun, Error> {
    let ibsim = Ibsim::start(&directory.join("fabric.net"))?;
    let host = fabric
        .nodes()
        .iter()
        .find(|node| node.type_ == NodeType::Ca);
    let dump = directory.join("tables");
    let options = directory.join("opensm.conf");
    fs::write(
        &options,
        format!("torus_config {}\n", directory.join("torus.conf").display()),
    )?;
    let host = host.map_or("", |node| node.name.as_str());
    let output = ibsim
        .client(opensm, host)
        .args([
            "-o",
            "-f",
            "/dev/null",
            "-n",
            "32",
            "-R",
            &engine.to_string(),
            "-F",
        ])
        .arg(&options)
        .env("OSM_BENCH_REPS", "3")
        .env("OSM_BENCH_DUMP", &dump)
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let wanted = format!("engine={engine} ");
    if let Some(line) = text
        .lines()
        .find(|line| line.contains(&wanted) && line.contains("fail="))
    {
        return Err(format!("the engine failed ({line})").into());
    }
    let milliseconds = text
        .lines()
        .filter(|line| line.starts_with("BENCH") && line.contains(&wanted))
        .filter_map(|line| {
            line.split("total=")
                .nth(1)?
                .split_whitespace()
                .next()?
                .parse::<f64>()
                .ok()
        })
        .map(|seconds| seconds * 1e3)
        .collect();
    let quality = read_tables(fabric, engine, &fs::read_to_string(&dump)?)?;
    Ok(PeerRun {
        milliseconds,
        quality,
    })
}

/// Verifies OpenSM's tables: `S guid lid ports`, `H guid lid`, `P lid sls`.
fn read_tables(fabric: &Fabric, engine: RoutingEngine, text: &str) -> Result<Quality, Error> {
    let mut ranges = Vec::new();
    let (mut levels, mut sls_known) = ([false; 16], false);
    let fields = |line: &str| -> Option<(u64, u16)> {
        let mut words = line.split_whitespace().skip(1);
        let guid = u64::from_str_radix(words.next()?, 16).ok()?;
        Some((guid, words.next()?.parse().ok()?))
    };
    for line in text.lines() {
        match line.as_bytes().first() {
            Some(b'S' | b'H') => {
                let (guid, lid) = fields(line).ok_or("a dump line without GUID and LID")?;
                let end = fabric
                    .port_by_guid(ib_wire::Guid(guid))
                    .ok_or("a dump line with an unknown GUID")?;
                ranges.push((end, LidRange::try_new(Lid(lid), Lmc::ZERO)?));
            }
            Some(b'P') => {
                sls_known = true;
                let digits = line.split_whitespace().nth(2).unwrap_or_default();
                for digit in digits.chars().filter_map(|digit| digit.to_digit(16)) {
                    levels[digit as usize % 16] = true;
                }
            }
            _ => {}
        }
    }
    let lids = LidMap::of_ranges(fabric, ranges);
    let mut routes = Routes::new(engine, fabric, &lids);
    for line in text.lines().filter(|line| line.starts_with("S ")) {
        let (guid, _) = fields(line).ok_or("a dump line without GUID")?;
        let switch = fabric
            .switch_by_guid(ib_wire::Guid(guid))
            .ok_or("an unknown switch")?;
        let hex = line.split_whitespace().nth(3).unwrap_or_default();
        for (lid, digits) in (0..).zip(hex.as_bytes().chunks(2)) {
            let port = u8::from_str_radix(std::str::from_utf8(digits)?, 16)?;
            routes.set_port(switch, Lid(lid), PortNum(port));
        }
    }
    let report = verify(fabric, &lids, &routes);
    let vls = levels.iter().filter(|&&used| used).count().max(1) as u8;
    // With several lanes, one verdict over the tables alone would be about another subnet.
    Ok(judge(
        &report,
        vls,
        !sls_known
            && !matches!(
                engine,
                RoutingEngine::Dfsssp
                    | RoutingEngine::Lash
                    | RoutingEngine::Nue
                    | RoutingEngine::Torus2Qos
            ),
    ))
}
