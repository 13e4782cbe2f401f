//! Files about single ports: hop weights, the order in which ports are tried, ports to ignore.

use alloc::{collections::BTreeMap, vec::Vec};

use ib_wire::{Guid, PortNum};

use super::{bad, number};
use crate::error::TopologyError;

/// Reads `<switch guid> <port> <weight>` lines (`hop_weights_file`).
///
/// # Errors
/// A line that is not that, or a weight above 32 bits.
pub fn read_hop_weights(text: &str) -> Result<BTreeMap<(Guid, PortNum), u32>, TopologyError> {
    ib_wire::text::lines(text)
        .map(|(at, line)| {
            let mut words = line.split_whitespace();
            let port = guid_and_port(&mut words);
            let weight = words
                .next()
                .and_then(number)
                .and_then(|weight| u32::try_from(weight).ok());
            port.zip(weight)
                .ok_or_else(|| bad(at, "hop weight", line, "a GUID, a port and a weight"))
        })
        .collect()
}

/// Reads `<switch guid> <port> <port> ...` lines (`port_search_ordering_file`).
///
/// # Errors
/// A line that is not that.
pub fn read_port_order(text: &str) -> Result<BTreeMap<Guid, Vec<PortNum>>, TopologyError> {
    ib_wire::text::lines(text)
        .map(|(at, line)| {
            let mut words = line.split_whitespace();
            let guid = words.next().and_then(|guid| guid.parse().ok());
            let ports: Option<Vec<PortNum>> =
                words.map(|word| super::small(word).map(PortNum)).collect();
            guid.zip(ports)
                .ok_or_else(|| bad(at, "port order", line, "a GUID and its ports"))
        })
        .collect()
}

/// Reads `<node guid> <port>` lines (`port_prof_ignore_file`).
///
/// # Errors
/// A line that is not that.
pub fn read_ports(text: &str) -> Result<Vec<(Guid, PortNum)>, TopologyError> {
    ib_wire::text::lines(text)
        .map(|(at, line)| {
            let port = guid_and_port(&mut line.split_whitespace());
            port.ok_or_else(|| bad(at, "port", line, "a GUID and a port"))
        })
        .collect()
}

fn guid_and_port<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<(Guid, PortNum)> {
    let guid = words.next()?.parse().ok()?;
    let port = words.next().and_then(super::small)?;
    Some((guid, PortNum(port)))
}
