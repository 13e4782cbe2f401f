//! The text of a torus-2QoS.conf: radices, and seeds that give the axes their directions.

use alloc::vec::Vec;

use ib_wire::{Guid, Lid};

use super::coordinates::{AXES, Radix};
use crate::{
    error::{TopologyError, TopologyErrorKind},
    format::{bad, hexadecimal, small},
};

/// The contents of a configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) radix: [Radix; AXES],
    pub(super) seeds: Vec<Seed>,
    /// `port_order`: CA ports of a switch in the order in which they share parallel links.
    pub(super) port_order: Vec<u8>,
}

/// Links of one switch with known directions, and where the datelines are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seed {
    pub(super) links: Vec<SeedLink>,
    /// The distance of the origin from the switch.
    pub(super) datelines: [i32; AXES],
}

/// `xp_link from to`, or another direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeedLink {
    pub(super) axis: usize,
    pub(super) up: bool,
    pub(super) from: Guid,
    pub(super) to: Guid,
}

impl Config {
    /// Reads the text.
    ///
    /// # Errors
    /// The first line that is not as a configuration's, or no line that names the radices.
    pub(super) fn parse(text: &str) -> Result<Self, TopologyError> {
        let mut config = Self {
            seeds: alloc::vec![Seed::default()],
            ..Self::default()
        };
        let mut topology = false;
        for (number, line) in (1..).zip(text.lines()) {
            let mut words = line.split_whitespace();
            let Some(word) = words.next().filter(|word| !word.starts_with('#')) else {
                continue;
            };
            let values = line.trim().get(word.len()..).unwrap_or_default().trim();
            let Some(keyword) = KEYWORDS.into_iter().find(|known| *known == word) else {
                return Err(bad(number, "keyword", word, "one of torus-2QoS.conf"));
            };
            let at = |expected| bad(number, keyword, values, expected);
            match keyword {
                "torus" | "mesh" if !topology => {
                    for radix in &mut config.radix {
                        *radix = words
                            .next()
                            .and_then(|word| Radix::parse(word, keyword == "torus"))
                            .ok_or_else(|| at("three radices like 8, 4m or 6T"))?;
                    }
                    let places = config.radix.iter().map(|radix| u64::from(radix.size()));
                    if places.product::<u64>() > u64::from(Lid::UNICAST_MAX.0) {
                        return Err(at("no more places than a subnet has LIDs"));
                    }
                    topology = true;
                    continue;
                }
                _ if !topology => return Err(at("a line `torus` or `mesh` before it")),
                _ => {}
            }
            let Some(seed) = config.seeds.last_mut() else {
                continue;
            };
            if let Some((axis, up)) = link_keyword(keyword) {
                let (from, to) = (words.next().and_then(guid), words.next().and_then(guid));
                let (Some(from), Some(to)) = (from, to) else {
                    return Err(at("two GUIDs of switches"));
                };
                if seed.links.iter().any(|link| link.from != from) {
                    return Err(at("the same first switch in all links of a seed"));
                }
                seed.links.push(SeedLink { axis, up, from, to });
                continue;
            }
            match keyword {
                "x_dateline" | "y_dateline" | "z_dateline" => {
                    let position = words.next().and_then(small);
                    let position = position.ok_or_else(|| at("a number"))?;
                    let axis = usize::from(keyword.starts_with('y'))
                        + 2 * usize::from(keyword.starts_with('z'));
                    if let Some(dateline) = seed.datelines.get_mut(axis) {
                        *dateline = position;
                    }
                }
                "next_seed" => config.seeds.push(Seed::default()),
                "port_order" => {
                    for port in words.map_while(small) {
                        if !config.port_order.contains(&port) {
                            config.port_order.push(port);
                        }
                    }
                }
                // Bounds of OpenSM's own tables and reports: nothing here has such bounds.
                _ => {}
            }
        }
        if !topology {
            return Err(TopologyErrorKind::BadValue {
                field: "configuration",
                found: ib_wire::text::shorten(text.lines().next().unwrap_or_default()),
                expected: "a line that begins with `torus` or `mesh`",
            }
            .into());
        }
        Ok(config)
    }
}

/// The words that a line may begin with.
const KEYWORDS: [&str; 15] = [
    "torus",
    "mesh",
    "xp_link",
    "xm_link",
    "yp_link",
    "ym_link",
    "zp_link",
    "zm_link",
    "x_dateline",
    "y_dateline",
    "z_dateline",
    "next_seed",
    "port_order",
    "portgroup_max_ports",
    "max_changes",
];

fn link_keyword(keyword: &str) -> Option<(usize, bool)> {
    let known = [
        "xp_link", "xm_link", "yp_link", "ym_link", "zp_link", "zm_link",
    ];
    let at = known.iter().position(|&known| known == keyword)?;
    Some((at / 2, at % 2 == 0))
}

fn guid(word: &str) -> Option<Guid> {
    hexadecimal(word).map(Guid)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn suffixes_open_and_close_single_dimensions() {
        let config = Config::parse("mesh 3T 4 5").unwrap();
        assert_eq!(config.radix, Config::parse("torus 3 4M 5m").unwrap().radix);
    }

    #[test]
    fn errors_name_the_line() {
        let error = Config::parse("# a torus\ntorus 4 4 4\nxp_link 0x20\n").unwrap_err();
        assert_eq!(error.line, Some(3));
        assert_eq!(
            error.kind.to_string(),
            "xp_link: found \"0x20\", expected two GUIDs of switches"
        );
        let error = Config::parse("xp_link 0x1 0x2").unwrap_err();
        assert_eq!(error.line, Some(1));
        assert!(
            error
                .kind
                .to_string()
                .contains("`torus` or `mesh` before it")
        );
        let error = Config::parse("torus 4 4 4\n\nxq_link 0x1 0x2").unwrap_err();
        assert_eq!(error.line, Some(3));
    }
}
