//! Quotas: limits the entries of a bounded table for each port, so that one host cannot fill it.

use alloc::collections::BTreeMap;

use ib_wire::Guid;

/// Number of entries of a table by the port that created them.
#[derive(Clone, Debug, Default)]
pub(super) struct Quota {
    taken: BTreeMap<Guid, usize>,
}

impl Quota {
    /// Returns true if a port has created fewer than `limit` entries. An unknown creator, of GUID 0, has no limit: its
    /// entries come from before a restart.
    pub(super) fn has_room(&self, port: Guid, limit: usize) -> bool {
        port == Guid::NONE || self.taken.get(&port).is_none_or(|&taken| taken < limit)
    }

    /// Counts an entry that a port created.
    pub(super) fn take(&mut self, port: Guid) {
        if port != Guid::NONE {
            let taken = self.taken.entry(port).or_default();
            *taken = taken.saturating_add(1);
        }
    }

    /// Removes an entry of a port from the count.
    pub(super) fn release(&mut self, port: Guid) {
        if let Some(taken) = self.taken.get_mut(&port) {
            *taken = taken.saturating_sub(1);
            if *taken == 0 {
                self.taken.remove(&port);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_has_room_of_its_own_and_an_unknown_one_no_limit() {
        let mut quota = Quota::default();
        let (port, other) = (Guid(1), Guid(2));
        for _ in 0..3 {
            assert!(quota.has_room(port, 3));
            quota.take(port);
            quota.take(Guid::NONE);
        }
        assert!(!quota.has_room(port, 3));
        assert!(quota.has_room(port, 4));
        assert!(quota.has_room(other, 3));
        assert!(quota.has_room(Guid::NONE, 0));
        quota.release(port);
        assert!(quota.has_room(port, 3));
        assert!(!quota.has_room(port, 2));
        quota.release(other);
        quota.release(port);
        quota.release(port);
        assert!(quota.taken.is_empty(), "ports without entries cost nothing");
    }
}
