//! The M_Key of a port: who may pass, what a wrong key costs, and the lease (IBA vol. 1, 14.2.4).
//!
//! Pitfall: a wrong key gets no refusal. The request is dropped, counted and reported to the manager by a
//! trap; only a Get may pass where the protect bits leave reading open, and the lease that a violation
//! starts opens a port whose manager is gone.

use core::{ops::Add, time::Duration};

use ib_mad::{Instant, Method};
use ib_wire::{MKey, PortNum};

use super::{Arrival, Sma, SmaEvent};
use crate::{MKeyProtect, PortInfo, SmpLidRouted};

impl Sma {
    /// The port whose M_Key guards a request: port 0 of a switch, else the port of arrival.
    #[inline]
    pub(super) fn guard(&self, arrival: PortNum) -> Option<PortNum> {
        let port = match self.switch {
            Some(_) => PortNum::MANAGEMENT,
            None => arrival,
        };
        self.port(port).map(|_| port)
    }

    /// Returns true if the SMP may pass; a Set that may not is a violation.
    pub(super) fn check_m_key(
        &mut self,
        now: Instant,
        guard: PortNum,
        arrival: Arrival,
        smp: &SmpLidRouted,
    ) -> bool {
        self.expire_lease(now, guard);
        let Some(port) = self.port_mut(guard) else {
            return false;
        };
        if opens(&port.info, smp.m_key()) {
            port.set_lease_ends(None);
            return true;
        }
        let open = matches!(
            port.info.m_key_protect_bits(),
            MKeyProtect::GET_OPEN | MKeyProtect::GET_OPEN_KEY_HIDDEN
        );
        if open && smp.method() == Method::GET {
            return true;
        }
        let violations = port.info.m_key_violations().saturating_add(1);
        port.info.set_m_key_violations(violations);
        let lease = port.info.m_key_lease_period();
        if lease != 0 && port.lease_ends().is_none() {
            port.set_lease_ends(Some(now.add(Duration::from_secs(lease.into()))));
        }
        self.trap_bad_m_key(now, guard, arrival, smp);
        false
    }

    /// Ends the protection of a port whose lease is over; the key stays.
    pub(super) fn expire_lease(&mut self, now: Instant, port: PortNum) {
        if let Some(at) = self.port_mut(port)
            && at.lease_ends().is_some_and(|end| end <= now)
        {
            at.set_lease_ends(None);
            at.info.set_m_key_protect_bits(MKeyProtect::GET_OPEN);
            self.events.push_back(SmaEvent::LeaseExpired { port });
        }
    }
}

/// Returns true if a key opens a port: the port has none, or the same.
pub(super) fn opens(port: &PortInfo, key: MKey) -> bool {
    port.m_key() == MKey(0) || port.m_key() == key
}
