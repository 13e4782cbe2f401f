//! The words of a console command, and what they name.

use ib_routing::{NodeIdx, PortRef};
use ib_wire::PortNum;

use crate::sim::Sim;

use super::Refusal;

/// The words of a command; a name in quotes is one word with the brackets after it.
pub(super) struct Words<'a>(pub(super) &'a str);

impl<'a> Words<'a> {
    pub(super) fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let mut quoted = false;
        let end = text.find(|c: char| {
            quoted ^= c == '"';
            !quoted && c.is_whitespace()
        });
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    /// A node, and its port if one is named in brackets.
    pub(super) fn node(&mut self, sim: &Sim) -> Result<(NodeIdx, Option<PortNum>), Refusal> {
        let word = self.next().ok_or("expected \"id\" or \"id\"[port]")?;
        let (name, port) = match word.strip_prefix('"') {
            Some(rest) => rest
                .rsplit_once('"')
                .ok_or_else(|| format!("{word}: no closing quote"))?,
            None => match word.find('[') {
                Some(at) => word.split_at(at),
                None => (word, ""),
            },
        };
        let node = sim
            .find(name)
            .ok_or_else(|| format!("nodeid \"{name}\" not found"))?;
        if port.is_empty() {
            return Ok((node, None));
        }
        let digits = port
            .strip_prefix('[')
            .and_then(|port| port.strip_suffix(']'));
        let port = PortNum(number(digits, "a port in brackets")?);
        let at = PortRef { node, port };
        sim.port(at)
            .ok_or_else(|| format!("nodeid \"{name}\" has no port {port}"))?;
        Ok((node, Some(port)))
    }

    pub(super) fn port(&mut self, sim: &Sim) -> Result<PortRef, Refusal> {
        match self.node(sim)? {
            (node, Some(port)) => Ok(PortRef { node, port }),
            (_, None) => Err("expected \"id\"[port]".to_owned()),
        }
    }

    /// The ports that are named: one, or all of a node; and whether it is one.
    pub(super) fn ports(&mut self, sim: &Sim) -> Result<(Vec<PortRef>, bool), Refusal> {
        let (node, port) = self.node(sim)?;
        Ok(match port {
            Some(port) => (vec![PortRef { node, port }], true),
            None => (sim.ports_of(node).map(|port| port.at()).collect(), false),
        })
    }

    /// The ports that are named, of those that can have cables; and whether it is one.
    pub(super) fn external_ports(&mut self, sim: &Sim) -> Result<(Vec<PortRef>, bool), Refusal> {
        let (mut ports, one) = self.ports(sim)?;
        if !one {
            ports.retain(|at| at.port != PortNum::MANAGEMENT);
        }
        Ok((ports, one))
    }

    /// The rest of the line.
    pub(super) fn rest(&self) -> &'a str {
        self.0.trim()
    }
}

/// A number in C's notation: `0x` hexadecimal, a leading 0 octal.
pub(super) fn number<T: TryFrom<u64>>(word: Option<&str>, what: &str) -> Result<T, Refusal> {
    let expected = || match word {
        Some(word) => format!("{word}: expected {what}"),
        None => format!("expected {what}"),
    };
    let word = word.ok_or_else(expected)?;
    let lower = word.to_ascii_lowercase();
    let value = match (lower.strip_prefix("0x"), lower.strip_prefix('0')) {
        (Some(hex), _) => u64::from_str_radix(hex, 16),
        (None, Some(octal)) if !octal.is_empty() => u64::from_str_radix(octal, 8),
        _ => lower.parse(),
    };
    let value = value.map_err(|_| expected())?;
    T::try_from(value).map_err(|_| expected())
}
