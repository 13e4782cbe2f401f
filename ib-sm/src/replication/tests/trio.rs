//! Three engines and the datagrams among them.

use ib_wire::Lid;

use super::{Duration, Guid, Instant, MadAddress, Replication, Sl, engine, own};

/// The replication of three managers in virtual time.
pub(super) struct Trio {
    pub(super) engines: [Replication; 3],
    pub(super) is_alive: [bool; 3],
    pub(super) now: Instant,
    /// Number of the next datagrams that are lost.
    pub(super) to_lose: usize,
}

/// The GUID of a manager by its index.
pub(super) fn guid(manager: usize) -> Guid {
    Guid(manager as u64 + 1)
}

/// The address of a manager by its index.
pub(super) fn address(manager: usize) -> MadAddress {
    MadAddress::gsi(Lid(manager as u16 + 1), Sl::ZERO)
}

impl Trio {
    pub(super) fn new() -> Self {
        Self {
            engines: [engine(), engine(), engine()],
            is_alive: [true; 3],
            now: Instant::ZERO,
            to_lose: 0,
        }
    }

    /// Passes up to `limit` datagrams within some time.
    pub(super) fn run(&mut self, time: Duration, mut limit: usize) {
        let end = self.now.saturating_add(time);
        loop {
            let mut has_moved = false;
            for from in (0..3).filter(|&from| self.is_alive[from]) {
                while limit > 0
                    && let Some(mut mad) = self.engines[from].poll_transmit(self.now)
                {
                    (has_moved, limit) = (true, limit - 1);
                    let to = usize::from(mad.address.lid.0) - 1;
                    if self.to_lose > 0 {
                        self.to_lose -= 1;
                    } else if self.is_alive[to] {
                        mad.address.lid = address(from).lid;
                        let master = self.engines[to].last_master();
                        self.engines[to].handle_mad(self.now, own(guid(to), 5), master, &mad);
                    }
                }
            }
            if has_moved {
                continue;
            }
            let living = (0..3).filter(|&at| self.is_alive[at]);
            let due = living
                .filter_map(|at| self.engines[at].poll_timeout())
                .min();
            match due.filter(|at| *at <= end && limit > 0) {
                Some(at) => self.now = at.max(self.now),
                None => break,
            }
            for at in (0..3).filter(|&at| self.is_alive[at]) {
                let master = self.engines[at].last_master();
                self.engines[at].handle_timeout(self.now, own(guid(at), 5), master);
            }
        }
        self.now = end;
    }
}
