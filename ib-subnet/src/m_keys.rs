//! M_Keys of ports, and the cables between ports: kept over a restart in order to reach ports that another M_Key
//! protects (IBA vol. 1, 14.2.4).
//!
//! A port with protection level 2 or 3 answers nothing without its M_Key, and before it has answered its GUID is
//! unknown. So the cables are kept as well: they tell which port is at the other end. The text forms are those of
//! OpenSM's `guid2mkey` and `neighbors`.

use alloc::{collections::BTreeMap, string::String, vec::Vec};
use core::fmt::Write as _;

use ib_wire::{
    Guid, MKey, PortNum, addr,
    text::{TextError, lines},
};

use crate::{PortId, Subnet};

/// One end of a cable: the GUID of the port (for an external port of a switch that of port 0), and the port's
/// number.
type End = (Guid, PortNum);

/// M_Keys by port, and cables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MKeys {
    by_port: BTreeMap<Guid, MKey>,
    neighbors: BTreeMap<End, End>,
    /// Number of unanswered requests to the own node; after each, another key is tried.
    own_failures: usize,
    /// True if the own node answered to the last request for it.
    own_answered: bool,
}

impl MKeys {
    /// Adds the keys of a `guid2mkey` file: each line has a port GUID and its M_Key.
    ///
    /// # Errors
    /// [`TextError`] at the first line with another form.
    pub fn read_keys(&mut self, text: &str) -> Result<(), TextError> {
        each_pair(text, "a port GUID and its M_Key", |guid, key| {
            let key = addr::number(key, u64::MAX)?;
            self.by_port.insert(guid.parse().ok()?, MKey(key));
            Some(())
        })
    }

    /// Adds the cables of a `neighbors` file: each line has two ports as `GUID:NUMBER`.
    ///
    /// # Errors
    /// [`TextError`] at the first line with another form.
    pub fn read_neighbors(&mut self, text: &str) -> Result<(), TextError> {
        each_pair(text, "two ports as GUID:NUMBER", |here, there| {
            self.neighbors.insert(end(here)?, end(there)?);
            Some(())
        })
    }

    /// The text of the `guid2mkey` file.
    #[must_use]
    pub fn keys_text(&self) -> String {
        let mut out = String::new();
        for (guid, MKey(key)) in &self.by_port {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{guid} {key:#018x}\n");
        }
        out
    }

    /// The text of the `neighbors` file.
    #[must_use]
    pub fn neighbors_text(&self) -> String {
        let mut out = String::new();
        for ((here, here_num), (there, there_num)) in &self.neighbors {
            let _ = writeln!(out, "{here}:{} {there}:{}\n", here_num.0, there_num.0);
        }
        out
    }

    /// Returns true if no key is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_port.is_empty()
    }
}

impl Subnet {
    /// Sets the M_Keys and cables that were kept.
    pub fn set_m_keys(&mut self, m_keys: MKeys) {
        self.m_keys = m_keys;
    }

    /// The M_Keys that ports show, those that are kept for other ports, and the cables.
    #[must_use]
    pub fn m_keys(&self) -> MKeys {
        let mut all = self.m_keys.clone();
        for (id, _, port) in self.ports() {
            let shown = port.info().map(ib_smp::PortInfo::m_key);
            if let Some(key) = shown.filter(|key| *key != MKey(0) && self.is_end_port(id)) {
                all.by_port.insert(port.guid(), key);
            }
            if let (Some(here), Some(there)) = (
                self.cable_end(id),
                port.peer().and_then(|peer| self.cable_end(peer)),
            ) {
                all.neighbors.insert(here, there);
            }
        }
        all
    }

    /// The M_Key for requests to a port's device: the key that the device showed, because another manager may
    /// have set it; otherwise the key that is kept for it, otherwise `own`.
    #[must_use]
    pub fn m_key(&self, port: PortId, own: MKey) -> MKey {
        let kept = || {
            let guid = self.port(self.guarding(port)?)?.guid();
            self.m_keys.by_port.get(&guid).copied()
        };
        self.shown_m_key(port).or_else(kept).unwrap_or(own)
    }

    /// The M_Key that a port's device showed when it was read last.
    fn shown_m_key(&self, port: PortId) -> Option<MKey> {
        let key = self.port(self.guarding(port)?)?.info()?.m_key();
        (key != MKey(0)).then_some(key)
    }

    /// The M_Key for requests to the device at the other end of a port's cable: the key that the device showed when the
    /// cable was read last; otherwise the key that is kept for the port at which the cable ended before; otherwise
    /// `own`.
    #[must_use]
    pub fn m_key_behind(&self, port: PortId, own: MKey) -> MKey {
        let shown = || self.shown_m_key(self.port(port)?.peer()?);
        let kept = || {
            let (guid, _) = self.m_keys.neighbors.get(&self.cable_end(port)?)?;
            self.m_keys.by_port.get(guid).copied()
        };
        shown().or_else(kept).unwrap_or(own)
    }

    /// The M_Key for requests to the own node: the key that it showed when it was read last, then each kept key in turn,
    /// then `own`.
    pub(crate) fn m_key_of_own_node(&self, own: MKey) -> MKey {
        let shown = self.own_port().and_then(|port| self.shown_m_key(port));
        if let Some(shown) = shown.filter(|_| self.m_keys.own_answered) {
            return shown;
        }
        let mut keys: Vec<MKey> = self.m_keys.by_port.values().copied().collect();
        keys.sort_unstable_by_key(|key| key.0);
        keys.dedup();
        keys.push(own);
        let turn = self.m_keys.own_failures.checked_rem(keys.len());
        let key = turn.and_then(|turn| keys.get(turn));
        key.copied().unwrap_or(own)
    }

    /// Notes that the own node did not answer.
    pub(crate) fn note_own_failure(&mut self) {
        self.m_keys.own_failures = self.m_keys.own_failures.saturating_add(1);
        self.m_keys.own_answered = false;
    }

    /// Notes that the own node answered.
    pub(crate) fn note_own_answer(&mut self) {
        self.m_keys.own_answered = true;
    }

    /// Forgets the key that is kept for the device at the other end of a port's cable: the device did not answer
    /// to the key, so `own` is tried next.
    pub(crate) fn forget_m_key_behind(&mut self, port: PortId) {
        let guid = self
            .cable_end(port)
            .and_then(|end| self.m_keys.neighbors.get(&end));
        if let Some(&(guid, _)) = guid {
            self.m_keys.by_port.remove(&guid);
        }
    }

    /// Forgets the key that is kept for a device, because the device did not answer to it.
    pub(crate) fn forget_m_key(&mut self, port: PortId) {
        let guarding = self.guarding(port).and_then(|port| self.port(port));
        if let Some(guid) = guarding.map(|port| port.guid()) {
            self.m_keys.by_port.remove(&guid);
        }
    }

    /// The port whose M_Key protects a port: port 0 of a switch protects all its ports.
    fn guarding(&self, port: PortId) -> Option<PortId> {
        Some(match self.node(port.node)?.is_switch() {
            true => PortId::management(port.node),
            false => port,
        })
    }

    fn cable_end(&self, port: PortId) -> Option<End> {
        let guid = self.port(self.guarding(port)?)?.guid();
        (guid != Guid::NONE).then_some((guid, port.port))
    }
}

/// Passes the two words of each line to `take`.
fn each_pair(
    text: &str,
    expected: &'static str,
    mut take: impl FnMut(&str, &str) -> Option<()>,
) -> Result<(), TextError> {
    for (line, content) in lines(text) {
        let mut words = content.split_whitespace();
        let taken = match (words.next(), words.next(), words.next()) {
            (Some(one), Some(other), None) => take(one, other),
            _ => None,
        };
        taken.ok_or_else(|| TextError::new(line, content, expected))?;
    }
    Ok(())
}

fn end(text: &str) -> Option<End> {
    let (guid, number) = text.split_once(':')?;
    Some((guid.parse().ok()?, PortNum(number.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_opensm_are_read_and_written_as_they_were() {
        let keys =
            "0x0002c90300000001 0x0000000000001234\n\n0x0002c90300000002 0x00000000feedbeef\n\n";
        let neighbors = "0x0002c90300000001:1 0x0002c90300000002:17\n\n0x0002c90300000002:17 0x0002c90300000001:1\n\n";
        let mut all = MKeys::default();
        all.read_keys(keys).unwrap();
        all.read_neighbors(neighbors).unwrap();
        assert_eq!(all.keys_text(), keys);
        assert_eq!(all.neighbors_text(), neighbors);
    }

    #[test]
    fn a_torn_line_is_named() {
        let mut all = MKeys::default();
        let error = all.read_keys("0x1 0x2\n\n0x3").unwrap_err();
        assert_eq!(error.line, 3);
        for text in ["0x1 0x2 0x3", "0x1 key"] {
            assert!(all.read_keys(text).is_err(), "{text}");
        }
        for text in ["0x1:1", "0x1 0x2:1", "0x1:1 0x2:300", "0x1:1 0x2:"] {
            assert!(all.read_neighbors(text).is_err(), "{text}");
        }
    }
}
