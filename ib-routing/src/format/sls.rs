//! Service levels as text: one line `H <port guid> <lid>` per CA port LID in LID order, then per source
//! LID one line `P <lid> <digits>` with a hexadecimal digit per H line.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    vec::Vec,
};
use core::fmt::Write;

use ib_wire::{Guid, Lid, Sl};

use super::{Warning, bad};
use crate::{
    error::TopologyError,
    lid::LidMap,
    routes::{PairSls, Routes, SlTable},
};

/// Writes the service level of every pair of CA LIDs.
#[must_use]
pub fn write(lids: &LidMap, routes: &Routes) -> String {
    let cas = || {
        lids.destinations()
            .iter()
            .filter(|destination| !destination.is_switch())
    };
    let mut out = String::new();
    // Writing to a string does not fail.
    for destination in cas() {
        for lid in destination.range.iter() {
            let _ = writeln!(out, "H {:016x} {lid}", destination.guid.0);
        }
    }
    let all: Vec<Lid> = cas()
        .flat_map(|destination| destination.range.iter())
        .collect();
    for &source in &all {
        let _ = write!(out, "P {source} ");
        let digits = all.iter().map(|&lid| {
            char::from_digit(u32::from(routes.sl(source, lid).bits()), 16).unwrap_or('0')
        });
        out.extend(digits);
        out.push('\n');
    }
    out
}

/// Reads service levels into `routes`; `?` (no path) counts as 0. Other lines are passed over, as the file
/// may hold tables too. LIDs that no port of the fabric has, repeated entries, and sources without any
/// entry are warnings.
///
/// # Errors
/// A P or H line that is cut short or has letters where digits belong.
pub fn read(text: &str, lids: &LidMap, routes: &mut Routes) -> Result<Vec<Warning>, TopologyError> {
    let mut warnings = Vec::new();
    let columns = read_columns(text, lids, &mut warnings)?;
    let known: BTreeSet<Lid> = columns.iter().copied().collect();
    let mut sls = PairSls::new(&columns);
    let mut rows: BTreeMap<&str, u32> = BTreeMap::new();
    let mut highest = 0;
    let mut sources = BTreeSet::new();
    for (at, line) in ib_wire::text::lines(text) {
        let Some(("P", rest)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        let mut words = rest.split_whitespace();
        let source = words.next().and_then(super::small).map(Lid);
        let digits = words.next().unwrap_or_default();
        let source = source.filter(|_| digits.len() == columns.len());
        let source =
            source.ok_or_else(|| bad(at, "P line", line, "`P <lid>` and a digit per H line"))?;
        let row = match rows.get(digits) {
            Some(&row) => row,
            None => {
                let expected = "hexadecimal digits or ?";
                let levels = levels(digits).ok_or_else(|| bad(at, "P line", line, expected))?;
                highest = levels.iter().map(|sl| sl.bits()).fold(highest, u8::max);
                *rows.entry(digits).or_insert(sls.add_row(levels))
            }
        };
        sls.set_source(source, row);
        let what = match lids.owner(source) {
            // Its H line said so.
            None if known.contains(&source) => continue,
            None => format!("nobody has LID {source}, its service levels count for nothing"),
            Some(_) if !sources.insert(source) => {
                format!("LID {source} has a line already, this one counts")
            }
            Some(_) => continue,
        };
        warnings.push(Warning { line: at, what });
    }
    let cas = lids.destinations().iter().filter(|end| !end.is_switch());
    let mut silent = cas
        .flat_map(|end| end.range.iter())
        .filter(|lid| !sources.contains(lid));
    if let Some(first) = silent.next() {
        let what = match silent.count() {
            0 => format!("LID {first} has no P line, its service level counts as 0"),
            more => format!(
                "LID {first} and {more} more have no P line, their service level counts as 0"
            ),
        };
        let line = text.lines().count();
        warnings.push(Warning { line, what });
    }
    let map = routes.vl_map().clone();
    routes.set_lanes(SlTable::ByPair(sls), map, highest.saturating_add(1));
    Ok(warnings)
}

/// The destinations of the H lines.
fn read_columns(
    text: &str,
    lids: &LidMap,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Lid>, TopologyError> {
    let mut columns = Vec::new();
    let mut known = BTreeSet::new();
    // LIDs that no port has: the first with its line, and the number of others.
    let mut strangers: Option<(usize, Lid, usize)> = None;
    for (at, line) in ib_wire::text::lines(text) {
        let mut words = line.split_whitespace();
        if words.next() != Some("H") {
            continue;
        }
        let guid = words.next().and_then(|guid| guid.parse::<Guid>().ok());
        let lid = words.next().and_then(super::small).map(Lid);
        let (guid, lid) = guid
            .zip(lid)
            .ok_or_else(|| bad(at, "H line", line, "`H <port guid> <lid>`"))?;
        columns.push(lid);
        let owner = lids.owner(lid).map(|owner| owner.guid);
        let what = match owner {
            None => {
                match &mut strangers {
                    Some((_, _, more)) => *more += 1,
                    none => *none = Some((at, lid, 0)),
                }
                continue;
            }
            Some(owner) if owner != guid => {
                format!("LID {lid} belongs to {owner} and not to {guid}")
            }
            Some(_) if !known.insert(lid) => {
                format!("LID {lid} has a line already, this one counts")
            }
            Some(_) => continue,
        };
        warnings.push(Warning { line: at, what });
    }
    if let Some((line, lid, more)) = strangers {
        let what = format!(
            "nobody has LID {lid}{}, service levels of and towards it count for nothing",
            match more {
                0 => String::new(),
                more => format!(" (as {more} more)"),
            }
        );
        warnings.push(Warning { line, what });
    }
    if columns.is_empty() {
        let found = text.lines().next().unwrap_or_default();
        let expected = "`H <port guid> <lid>` lines";
        return Err(bad(1, "service levels", found, expected));
    }
    Ok(columns)
}

/// A service level per digit.
fn levels(digits: &str) -> Option<Vec<Sl>> {
    let level = |digit| match digit {
        '?' => Some(Sl::ZERO),
        _ => Sl::try_new(u8::try_from(char::to_digit(digit, 16)?).ok()?).ok(),
    };
    digits.chars().map(level).collect()
}
