//! OpenSM's `opensm-lid-matrix.dump`: a [`LidMatrix`] as text.

use alloc::{format, string::String, vec::Vec};
use core::fmt::Write;

use ib_wire::Lid;

use super::{Warning, bad, number};
use crate::{algo::bfs, error::TopologyError, fabric::Fabric, lid::LidMap, lid_matrix::LidMatrix};

/// Reads a matrix for the switches of `fabric`; tables of others are passed over with a warning.
///
/// # Errors
/// A line that begins like a switch's or a LID's and does not go on like one, and a text without any
/// switch.
pub fn read(text: &str, fabric: &Fabric) -> Result<(LidMatrix, Vec<Warning>), TopologyError> {
    let mut matrix = LidMatrix::default();
    let mut warnings = Vec::new();
    let mut switch = None;
    for (at, line) in ib_wire::text::lines(text) {
        if line.starts_with("Switch") {
            let guid = line
                .split_once("guid ")
                .and_then(|(_, guid)| guid.trim().parse().ok());
            let expected = "a line like `Switch: guid 0x0002c90200413ab0`";
            let guid = guid.ok_or_else(|| bad(at, "switch", line, expected))?;
            if fabric.switch_by_guid(guid).is_none() {
                let what = format!("switch {guid} is not in the fabric, its hops are passed over");
                warnings.push(Warning { line: at, what });
            }
            switch = Some(guid);
            continue;
        }
        let Some(switch) = switch else {
            return Err(bad(
                at,
                "hops",
                line,
                "a line `Switch: guid 0x...` before it",
            ));
        };
        let (lid, hops) = row(line).ok_or_else(|| {
            let expected = "a LID and two digits of hops per port, as `0x0001: 01 ff 01`";
            bad(at, "hops", line, expected)
        })?;
        if fabric.switch_by_guid(switch).is_some() {
            matrix.insert(switch, lid, hops);
        }
    }
    if switch.is_none() {
        return Err(bad(1, "matrix", "", "a line `Switch: guid 0x...`"));
    }
    Ok((matrix, warnings))
}

/// `0x0001: 01 ff 01`, from port 0 on.
fn row(line: &str) -> Option<(Lid, Vec<u8>)> {
    let (lid, hops) = line.split_once(':')?;
    let lid = lid.starts_with("0x").then(|| number(lid)).flatten()?;
    let lid = u16::try_from(lid).ok()?;
    let hops = hops.split_whitespace();
    let hops: Option<Vec<u8>> = hops.map(super::hexadecimal).collect();
    Some((Lid(lid), hops.filter(|hops| hops.len() <= 256)?))
}

/// Writes the matrix of shortest paths.
#[must_use]
pub fn write(fabric: &Fabric, lids: &LidMap) -> String {
    let distances = bfs::all_distances(fabric);
    let mut out = String::new();
    // Writing to a string does not fail.
    for switch in fabric.switches().indices() {
        let _ = writeln!(out, "Switch: guid {}", fabric.switch_guid(switch));
        for destination in lids
            .destinations()
            .iter()
            .filter(|destination| destination.is_switch())
        {
            let Some(target) = destination.switch else {
                continue;
            };
            let hops = |hops: u16| hops.min(0xff);
            for lid in destination.range.iter() {
                let _ = write!(
                    out,
                    "0x{:04x}: {:02x}",
                    lid.0,
                    hops(distances[target][switch])
                );
                for (port, _) in fabric.switch(switch).ports().filter(|(port, _)| port.0 > 0) {
                    let next = fabric
                        .channel_at(switch, port)
                        .map(|channel| fabric.channel(channel).to);
                    let far = next.map_or(bfs::UNREACHED, |next| {
                        distances[target][next].saturating_add(1)
                    });
                    let _ = write!(out, " {:02x}", hops(far));
                }
                let _ = writeln!(out, " # portguid {}", destination.guid);
            }
        }
    }
    out
}
