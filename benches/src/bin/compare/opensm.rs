//! OpenSM's routing engines: the binary that `compare --setup` builds with clocks around them, or `OPENSM_BENCH` names.
//!
//! It runs on ibsim, on a file with the same fabric, and prints processor time of the engine alone. The tables that
//! it made go through the same verification as ours.

use std::{env, fs, path::PathBuf};

use ib_routing::{
    Fabric, LidMap, NodeType, RouteOptions, Routes, SharedEngine, engine, format::ibnetdiscover,
    verify,
};
use ib_testkit::ibsim::Ibsim;
use ib_wire::{Guid, Lid, Lmc, PortNum, addr::LidRange};

use crate::{quality::Quality, setup};

type Error = Box<dyn std::error::Error>;

/// The figures of one run of OpenSM.
pub(crate) struct Run {
    /// Processor time of each repetition.
    pub(crate) milliseconds: Vec<f64>,
    pub(crate) quality: Quality,
}

/// An OpenSM and the files that it reads.
pub(crate) struct OpenSm<'a> {
    binary: PathBuf,
    fabric: &'a Fabric,
    directory: PathBuf,
}

impl<'a> OpenSm<'a> {
    /// The OpenSM with clocks, with files about `fabric` in a directory of their own.
    ///
    /// # Errors
    /// There is none, or the files cannot be written.
    pub(crate) fn new(fabric: &'a Fabric, case: &str) -> Result<Self, Error> {
        let binary = setup::opensm()?;
        let directory = env::temp_dir().join(format!("compare-{}-{case}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let opensm = Self {
            binary,
            fabric,
            directory,
        };
        let torus = opensm.file("torus.conf");
        fs::write(
            opensm.file("fabric.net"),
            ibnetdiscover::write(fabric, None),
        )?;
        fs::write(&torus, torus_config(fabric))?;
        let options = format!("torus_config {}\n", torus.display());
        fs::write(opensm.file("opensm.conf"), options)?;
        Ok(opensm)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Brings the fabric up once, and lets the engine route it several times.
    ///
    /// # Errors
    /// ibsim or OpenSM does not run, or the engine refuses the fabric.
    pub(crate) fn run(&self, engine: &SharedEngine) -> Result<Run, Error> {
        let ibsim = Ibsim::start(&self.file("fabric.net"))?;
        let mut nodes = self.fabric.nodes().iter();
        let host = nodes.find(|node| node.type_ == NodeType::CA);
        let host = host.map_or("", |node| node.name.as_str());
        let dump = self.file("tables");
        let output = ibsim
            .client(&self.binary, host)
            .args(["-o", "-f", "/dev/null", "-n", "32", "-R"])
            .arg(engine.to_string())
            .arg("-F")
            .arg(self.file("opensm.conf"))
            // torus-2QoS refuses to route where nobody would set up the lanes of its service levels.
            .args((*engine == engine::TORUS_2QOS).then_some("-Q"))
            .env("OSM_BENCH_REPS", "3")
            .env("OSM_BENCH_DUMP", &dump)
            .output()?;
        Ok(Run {
            milliseconds: read_times(engine, &String::from_utf8_lossy(&output.stderr))?,
            quality: read_tables(self.fabric, engine, &fs::read_to_string(&dump)?)?,
        })
    }
}

impl Drop for OpenSm<'_> {
    fn drop(&mut self) {
        // What stays behind is in the directory for temporary files.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The figures in `BENCH engine=minhop rep=0 matrix=0.6 fwd=0.5 total=1.1 cpu=0.4`, in seconds.
fn read_times(engine: &SharedEngine, text: &str) -> Result<Vec<f64>, Error> {
    let wanted = format!("BENCH engine={engine} ");
    let mut times = Vec::new();
    for line in text.lines().filter(|line| line.starts_with(&wanted)) {
        let field = |name| {
            line.split_whitespace()
                .find_map(|word| word.strip_prefix(name))
        };
        if field("fail=").is_some() {
            return Err(format!("the engine failed ({line})").into());
        }
        if let Some(seconds) = field("cpu=") {
            times.push(seconds.parse::<f64>()? * 1e3);
        }
    }
    if times.is_empty() {
        return Err("it printed no time".into());
    }
    Ok(times)
}

/// Verifies OpenSM's tables: `S guid lid ports`, `H guid lid`, `P lid sls`.
fn read_tables(fabric: &Fabric, engine: &SharedEngine, text: &str) -> Result<Quality, Error> {
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
                    .port_by_guid(Guid(guid))
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
            .switch_by_guid(Guid(guid))
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
    Ok(Quality::of(
        &report,
        vls,
        !sls_known && !engine.guarantees(&RouteOptions::default()).lanes,
    ))
}

/// A configuration for a torus of 8x8x8 whose switch ports 1, 3, 5 point up along x, y, z.
pub(crate) fn torus_config(fabric: &Fabric) -> String {
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
