//! Service levels as text: one line `H <port guid> <lid>` per CA port LID in LID order, then per source
//! LID one line `P <lid> <digits>` with a hexadecimal digit per H line.

use alloc::{string::String, vec, vec::Vec};
use core::fmt::Write;

use ib_wire::{Lid, Sl};

use super::bad;
use crate::{
    error::TopologyError,
    lid::LidMap,
    routes::{Routes, SlTable},
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

/// Reads service levels into `routes`; `?` (no path) counts as 0. Other lines are passed over, as the
/// file may hold tables too.
///
/// # Errors
/// A P or H line that is cut short or has letters where digits belong.
pub fn read(text: &str, routes: &mut Routes) -> Result<(), TopologyError> {
    let row_len = routes.row_len();
    let mut columns: Vec<u16> = Vec::new();
    let mut sls = vec![Sl::ZERO; row_len.saturating_mul(row_len)];
    let mut highest = 0;
    for (at, line) in super::lines(text) {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("H") => {
                let lid = words.nth(1).and_then(|lid| lid.parse().ok());
                columns.push(lid.ok_or_else(|| bad(at, "H line", line, "`H <port guid> <lid>`"))?);
            }
            Some("P") => {
                let source = words.next().and_then(|lid| lid.parse::<u16>().ok());
                let digits = words.next().unwrap_or_default();
                let source = source.filter(|_| digits.len() == columns.len());
                let source = source
                    .ok_or_else(|| bad(at, "P line", line, "`P <lid>` and a digit per H line"))?;
                let start = usize::from(source).saturating_mul(row_len);
                for (&lid, digit) in columns.iter().zip(digits.chars()) {
                    let sl = match digit {
                        '?' => 0,
                        _ => digit
                            .to_digit(16)
                            .ok_or_else(|| bad(at, "P line", line, "hexadecimal digits or ?"))?,
                    };
                    highest = highest.max(sl);
                    let entry = sls
                        .get_mut(start..)
                        .and_then(|row| row.get_mut(usize::from(lid)));
                    if let Some(entry) = entry.filter(|_| usize::from(lid) < row_len) {
                        *entry = Sl::from_low_bits(sl as u8);
                    }
                }
            }
            _ => {}
        }
    }
    if columns.is_empty() {
        return Err(bad(
            1,
            "service levels",
            text.lines().next().unwrap_or_default(),
            "`H <port guid> <lid>` lines",
        ));
    }
    let map = routes.vl_map().clone();
    routes.set_lanes(SlTable::ByPair(sls), map, (highest as u8).saturating_add(1));
    Ok(())
}
