//! Levels by module of OpenSM: the file of `per_module_logging_file`.

use std::path::Path;

use super::level_of;
use crate::{error::CliError, files::read_text};

/// The file in OpenSM's template; most hosts have none.
const TEMPLATE: &str = "/etc/opensm/per-module-logging.conf";

/// Starts of the names of OpenSM's modules, and the part of the log here.
const MODULES: [(&str, &str); 16] = [
    ("osm_lid_mgr", "lids"),
    ("osm_ucast", "routing"),
    ("osm_torus", "routing"),
    ("osm_mesh", "routing"),
    ("osm_mcast", "multicast"),
    ("osm_link_mgr", "ports"),
    ("osm_pkey", "ports"),
    ("osm_qos", "ports"),
    ("osm_trap", "traps"),
    ("osm_sminfo", "election"),
    ("osm_sm_state_mgr", "election"),
    ("osm_node", "discovery"),
    ("osm_port_info", "discovery"),
    ("osm_state_mgr", "sweep"),
    ("osm_perfmgr", "perf"),
    ("osm_congestion_control", "congestion"),
];

/// The levels of the file as the end of a filter: `,lids=debug`, or nothing without a file.
///
/// # Errors
/// The file cannot be read, or a line is something else than a module and flags.
pub fn levels(file: Option<&str>) -> Result<String, CliError> {
    match file.filter(|file| *file != TEMPLATE || Path::new(file).exists()) {
        Some(file) => parse(file, &read_text(file)?),
        None => Ok(String::new()),
    }
}

fn parse(file: &str, text: &str) -> Result<String, CliError> {
    let mut levels = String::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split('#').next().unwrap_or_default();
        let mut words = content
            .split(['=', ',', ' ', '\t'])
            .filter(|word| !word.is_empty());
        let Some(module) = words.next() else {
            continue;
        };
        let flags = words
            .next()
            .and_then(|word| ib_wire::addr::number(word, 0xff));
        let (Some(flags), None) = (flags, words.next()) else {
            let place = format!("{file}:{line}");
            return Err(CliError::at(
                place,
                "expected a module and its flags, as `osm_lid_mgr.c = 0x0f`",
            ));
        };
        let target = MODULES.iter().find(|(start, _)| module.starts_with(start));
        if let Some((_, target)) = target {
            let flags = u8::try_from(flags).unwrap_or(u8::MAX);
            levels.push_str(&format!(",{target}={}", level_of(flags)));
        }
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_opensm_become_parts_of_the_log() {
        let text =
            "# levels\nosm_lid_mgr.c = 0x07\nosm_ucast_ftree.c,0xFF\nosm_vendor_ibumad.c 3\n";
        assert_eq!(parse("f", text).unwrap(), ",lids=debug,routing=trace");
        let error = parse("f", "osm_lid_mgr.c\n").unwrap_err();
        assert!(error.to_string().starts_with("f:1: "), "{error}");
    }
}
