//! The configuration of logical clusters: keywords and values, one a line, as torus-2QoS has it.
//!
//! ```text
//! # `cluster` begins one; the lines up to the next are about it.
//! cluster    compute
//! lids       1 999                    # its LIDs, the lowest and the highest
//! lmc        1                        # of its CA ports; else the caller's
//! engine     ftree updn               # inside it; else the caller's
//! switch     0x0002c90200413ab0       # one of its switches: needed where it has no boundary
//! boundary   0x0002c90200413ab0 35    # switch and port of a cable that leaves it
//! boundary   0x0002c90200413ab0 36
//! transit    0x0002c90200413ab0 35 storage   # LIDs of these clusters leave here; none named: of all
//! multicast  0x0002c90200413ab0 36    # the cable that joins the multicast trees
//! ```
//!
//! A cluster is what its switches reach without crossing its boundary. One file may hold one cluster or
//! all of them. A `cluster` with `lids` alone declares another one, whose configuration is elsewhere.

use alloc::{borrow::ToOwned, collections::BTreeMap, string::String, vec::Vec};
use core::fmt::{self, Write};

use ib_wire::{Guid, Lid, Lmc, PortNum, addr::LidRange, text::lines};

use crate::{
    engine::SharedEngine,
    error::TopologyError,
    format::{bad, number},
    lid::LidOptions,
};

/// A port of a switch in a configuration.
#[derive(Clone, Copy, Debug)]
pub struct SwitchPort {
    /// Node GUID of the switch.
    pub switch: Guid,
    /// Port number.
    pub port: PortNum,
    /// Line of the file that names the port; 0 if the configuration is not from a file.
    pub line: usize,
}

impl SwitchPort {
    /// Returns true if both name the same port.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        (self.switch, self.port) == (other.switch, other.port)
    }
}

impl fmt::Display for SwitchPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.switch, self.port)
    }
}

/// A port by which LIDs of other clusters leave.
#[derive(Clone, Debug)]
pub struct Transit {
    /// The port, which is one of the boundary ports.
    pub place: SwitchPort,
    /// The clusters whose LIDs may leave by the port; if empty, those of all other clusters may.
    pub to: Vec<String>,
}

impl Transit {
    /// Returns true if LIDs of the cluster may leave by the port.
    #[must_use]
    pub fn leads_to(&self, cluster: &str) -> bool {
        self.to.is_empty() || self.to.iter().any(|name| name == cluster)
    }
}

/// The configuration of one cluster's manager.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// Name of the cluster.
    pub name: String,
    /// Line of the file that begins the cluster; 0 if the configuration is not from a file.
    pub line: usize,
    /// The lowest LID that the cluster assigns.
    pub first: Lid,
    /// The highest LID that the cluster assigns.
    pub last: Lid,
    /// LMC of the cluster's CA ports; `None` uses the caller's.
    pub lmc: Option<Lmc>,
    /// The cluster's own routing engines, in the order of preference; if empty, the caller's are used.
    pub engines: Vec<SharedEngine>,
    /// Node GUIDs of switches in the cluster, with the lines that name them. Switches with a boundary port may be left
    /// out.
    pub switches: Vec<(Guid, usize)>,
    /// The ports at which the cluster ends.
    pub boundary: Vec<SwitchPort>,
    /// The boundary ports by which packets to other clusters leave.
    pub transit: Vec<Transit>,
    /// The boundary ports that join its multicast trees to those of its neighbours.
    pub multicast: Vec<SwitchPort>,
}

/// The information that the manager of one cluster has about another cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Name of the other cluster.
    pub name: String,
    /// Lowest LID of the other cluster.
    pub first: Lid,
    /// Highest LID of the other cluster.
    pub last: Lid,
    /// The LIDs in use in the other cluster according to a database of LIDs; empty without one. They are spread over
    /// the transit ports before the other LIDs of the range.
    pub in_use: Vec<LidRange>,
}

impl Declaration {
    /// The declaration with the LIDs in use there, according to a database of all devices.
    #[must_use]
    pub fn with_database(mut self, database: &BTreeMap<Guid, Lid>) -> Self {
        let range = self.first..=self.last;
        let lids = database.values().filter(|lid| range.contains(lid));
        let single = |&lid: &Lid| LidRange::try_new(lid, Lmc::ZERO).ok();
        self.in_use = lids.filter_map(single).collect();
        self
    }
}

impl ClusterConfig {
    /// A cluster with a name and all LIDs, and nothing else.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            line: 0,
            first: Lid::UNICAST_MIN,
            last: Lid::UNICAST_MAX,
            lmc: None,
            engines: Vec::new(),
            switches: Vec::new(),
            boundary: Vec::new(),
            transit: Vec::new(),
            multicast: Vec::new(),
        }
    }

    /// The information that other clusters have about this one.
    #[must_use]
    pub fn declaration(&self) -> Declaration {
        Declaration {
            name: self.name.clone(),
            first: self.first,
            last: self.last,
            in_use: Vec::new(),
        }
    }

    /// The options for the LIDs of the cluster's own ports: `options`, with the cluster's range, and with its LMC if it
    /// has one.
    #[must_use]
    pub fn lid_options(&self, options: &LidOptions) -> LidOptions {
        LidOptions {
            lmc: self.lmc.unwrap_or(options.lmc),
            first: self.first.max(options.first),
            last: self.last.min(options.last),
            ..options.clone()
        }
    }

    /// Returns true if the cluster is only declared: it has a name and LIDs, and neither a switch nor a boundary.
    ///
    /// A file describes the other clusters to one cluster with only `cluster NAME` and `lids FIRST LAST` for each.
    #[must_use]
    pub fn is_declaration(&self) -> bool {
        self.switches.is_empty() && self.boundary.is_empty()
    }

    /// Returns true if the cluster ends at this port.
    #[must_use]
    pub fn ends_at(&self, switch: Guid, port: PortNum) -> bool {
        let here = |place: &SwitchPort| (place.switch, place.port) == (switch, port);
        self.boundary.iter().any(here)
    }
}

/// Reads the clusters of a file.
///
/// # Errors
/// A line with an unknown keyword or a value that does not belong there, a cluster without `lids`, and
/// a text without any cluster.
pub fn read(text: &str) -> Result<Vec<ClusterConfig>, TopologyError> {
    let mut clusters: Vec<ClusterConfig> = Vec::new();
    let mut without_lids: Option<(usize, String)> = None;
    for (at, line) in lines(text) {
        let mut words = line.split_whitespace();
        let keyword = words.next().unwrap_or_default();
        if keyword == "cluster" {
            check_lids(&without_lids)?;
            let name = one(&mut words).ok_or_else(|| bad(at, "cluster", line, "one name"))?;
            clusters.push(ClusterConfig {
                line: at,
                ..ClusterConfig::new(name)
            });
            without_lids = Some((at, line.to_owned()));
            continue;
        }
        let Some(cluster) = clusters.last_mut() else {
            return Err(bad(at, "keyword", line, "a line `cluster NAME` before it"));
        };
        if keyword == "lids" {
            without_lids = None;
        }
        let wrong = |expected| bad(at, "value", line, expected);
        match keyword {
            "lids" => {
                let range = lid_pair(&mut words).filter(|(first, last)| first <= last);
                (cluster.first, cluster.last) =
                    range.ok_or_else(|| wrong("the first and the last of its LIDs, 1 to 49151"))?;
            }
            "lmc" => {
                let lmc = one(&mut words).and_then(|word| word.parse().ok());
                let lmc = lmc.and_then(|bits| Lmc::try_new(bits).ok());
                cluster.lmc = Some(lmc.ok_or_else(|| wrong("a number from 0 to 7"))?);
            }
            "engine" => {
                for word in words {
                    let engine = word
                        .parse()
                        .map_err(|_| wrong("routing engines by OpenSM's names"))?;
                    cluster.engines.push(engine);
                }
            }
            "switch" => {
                let guid = one(&mut words).and_then(|word| word.parse().ok());
                let guid = guid.ok_or_else(|| wrong("the node GUID of a switch"))?;
                cluster.switches.push((guid, at));
            }
            "boundary" | "multicast" | "transit" => {
                let place = place(&mut words, at)
                    .ok_or_else(|| wrong("a switch's node GUID and a port"))?;
                let rest: Vec<String> = words.map(ToOwned::to_owned).collect();
                match keyword {
                    "transit" => cluster.transit.push(Transit { place, to: rest }),
                    _ if !rest.is_empty() => {
                        return Err(wrong("a switch's node GUID and a port, and no more"));
                    }
                    "boundary" => cluster.boundary.push(place),
                    _ => cluster.multicast.push(place),
                }
            }
            _ => {
                return Err(bad(
                    at,
                    "keyword",
                    line,
                    "cluster, lids, lmc, engine, switch, boundary, transit or multicast",
                ));
            }
        }
    }
    check_lids(&without_lids)?;
    if clusters.is_empty() {
        return Err(bad(1, "file", "", "a line `cluster NAME`"));
    }
    Ok(clusters)
}

/// Writes clusters in the format that [`read()`] reads.
#[must_use]
pub fn write(clusters: &[ClusterConfig]) -> String {
    let mut out = String::new();
    for cluster in clusters {
        // Writing to a string cannot fail.
        let _ = write_cluster(&mut out, cluster);
    }
    out
}

fn write_cluster(out: &mut String, cluster: &ClusterConfig) -> fmt::Result {
    if !out.is_empty() {
        out.push('\n');
    }
    writeln!(out, "cluster {}", cluster.name)?;
    writeln!(out, "lids {} {}", cluster.first, cluster.last)?;
    if let Some(lmc) = cluster.lmc {
        writeln!(out, "lmc {lmc}")?;
    }
    if !cluster.engines.is_empty() {
        out.push_str("engine");
        for engine in &cluster.engines {
            write!(out, " {engine}")?;
        }
        out.push('\n');
    }
    for (switch, _) in &cluster.switches {
        writeln!(out, "switch {switch}")?;
    }
    for place in &cluster.boundary {
        writeln!(out, "boundary {place}")?;
    }
    for transit in &cluster.transit {
        write!(out, "transit {}", transit.place)?;
        for name in &transit.to {
            write!(out, " {name}")?;
        }
        out.push('\n');
    }
    for place in &cluster.multicast {
        writeln!(out, "multicast {place}")?;
    }
    Ok(())
}

/// Reports a cluster that ended without its LIDs.
fn check_lids(without: &Option<(usize, String)>) -> Result<(), TopologyError> {
    let complain =
        |(at, line): &(usize, String)| bad(*at, "cluster", line, "a line `lids` after it");
    without
        .as_ref()
        .map_or(Ok(()), |cluster| Err(complain(cluster)))
}

/// The next word, if it is the only one that is left.
fn one<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<&'a str> {
    words.next().filter(|_| words.next().is_none())
}

fn lid_pair<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<(Lid, Lid)> {
    let mut lid = || {
        let lid = Lid(u16::try_from(number(words.next()?)?).ok()?);
        (Lid::UNICAST_MIN..=Lid::UNICAST_MAX)
            .contains(&lid)
            .then_some(lid)
    };
    let pair = lid().zip(lid());
    pair.filter(|_| words.next().is_none())
}

fn place<'a>(words: &mut impl Iterator<Item = &'a str>, line: usize) -> Option<SwitchPort> {
    let switch = words.next()?.parse().ok()?;
    let port = words.next()?.parse().ok().filter(|&port| port > 0)?;
    Some(SwitchPort {
        switch,
        port: PortNum(port),
        line,
    })
}
