//! The registration of a standby manager at the master's administrator: an ordinary service that says that the
//! manager takes replicas.
//!
//! The master must not send a datagram of the vendor class to a manager that does not know it. A kernel discards
//! such a datagram, but OpenSM on ibsim ends with a segmentation fault. Every administrator accepts a service, so a
//! standby registers whether its master is one of ours or OpenSM.

use core::time::Duration;

use ib_mad::{Mad, MadAddress, Method};
use ib_sa::{SaMad, ServiceComponents, ServiceRecord};
use ib_wire::{Gid, PKey, table::Text};

/// Number of the service that a standby manager registers with its master because it takes replicas. It is in the
/// range that the operating system assigns locally (first byte 2) and holds the OUI and the number of the vendor class.
pub const SERVICE_ID: u64 = 0x0200_0249_4200_003e;
/// Name of the service.
const NAME: &str = "subnet manager replica";
/// Shortest lease of the service in seconds.
const MIN_LEASE: u64 = 60;
/// Number of polls of the master that a lease lasts: the standby registers again at each poll.
const POLLS: u64 = 4;

/// The components that a registration gives.
const GIVEN: ServiceComponents = ServiceComponents::SERVICE_ID
    .union(ServiceComponents::SERVICE_GID)
    .union(ServiceComponents::SERVICE_P_KEY)
    .union(ServiceComponents::SERVICE_LEASE)
    .union(ServiceComponents::SERVICE_KEY)
    .union(ServiceComponents::SERVICE_NAME);

/// The request of the standby at port `gid` to the administrator at `master`. `poll_interval` is the time between
/// two registrations.
pub(crate) fn request(master: MadAddress, gid: Gid, poll_interval: Duration) -> Mad {
    let lease = poll_interval.as_secs().saturating_mul(POLLS).max(MIN_LEASE);
    let mut record = ServiceRecord::default();
    record
        .set_service_id(SERVICE_ID)
        .set_service_gid(gid)
        .set_service_p_key(PKey::DEFAULT_FULL)
        .set_service_lease(u32::try_from(lease).unwrap_or(u32::MAX))
        .set_service_name(&Text::new(NAME));
    SaMad::query(Method::SET, &record, GIVEN).to(master)
}

#[cfg(test)]
mod tests {
    use ib_wire::Lid;

    use super::*;

    /// An administrator reads only the components that the mask names (IBA vol. 1, 15.4.4).
    #[test]
    fn the_registration_names_all_that_it_gives() {
        use ServiceComponents as C;
        let master = MadAddress::gsi(Lid(1), ib_wire::Sl::ZERO);
        let request = request(master, Gid([7; 16]), Duration::from_secs(10));
        let (mad, _) = SaMad::parse(&request.bytes, 0).unwrap();
        let given = C::from_bits_retain(mad.component_mask().0);
        for component in [
            C::SERVICE_ID,
            C::SERVICE_GID,
            C::SERVICE_P_KEY,
            C::SERVICE_LEASE,
            C::SERVICE_KEY,
            C::SERVICE_NAME,
        ] {
            assert!(given.contains(component), "{component:?}");
        }
        let record = mad.template::<ServiceRecord>().unwrap();
        assert_eq!(record.service_id(), SERVICE_ID);
        assert_eq!(record.service_lease(), 60, "the shortest lease");
    }
}
