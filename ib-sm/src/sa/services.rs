//! Services: offers of hosts, registered under a number and a name for a limited time (IBA vol. 1, 15.2.5.14).
//!
//! A service is registered by Set and is identified by its ID, its GID and its partition; registering it again
//! renews it. It ends with its lease, with a Delete, or when its port is gone. The ServiceKey is its owner's
//! secret: answers carry it only for a request with the right SM_Key.

use alloc::collections::{BTreeMap, BTreeSet};
use core::time::Duration;

use ib_mad::{Instant, SaStatus};
use ib_sa::{ComponentMask, Record, ServiceComponents, ServiceRecord};
use ib_wire::{Gid, Guid};

use super::quota::Quota;

/// A lease with this number of seconds never ends.
const FOR_EVER: u32 = u32::MAX;

/// Maximum number of services; beyond it registrations are refused.
const MAX_SERVICES: usize = 1 << 16;
/// Maximum number of services that one port may register.
const MAX_SERVICES_PER_PORT: usize = 1 << 12;

/// The identity of a service: ServiceID, ServiceGID and ServiceP_Key.
type ServiceName = (u64, Gid, u16);

/// All services.
#[derive(Debug, Default)]
pub(crate) struct Services {
    by_name: BTreeMap<ServiceName, Service>,
    /// The leases that end, in the order of their ends.
    ends: BTreeSet<(Instant, ServiceName)>,
    registered: Quota,
}

#[derive(Debug)]
struct Service {
    record: ServiceRecord,
    /// The port whose request registered it first, if a quota counts it.
    maker: Guid,
    /// The time at which the lease ends; `None` if it does not end.
    until: Option<Instant>,
}

impl Services {
    /// Number of services.
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Returns true if the port with this GUID has registered this service.
    pub(crate) fn has(&self, id: u64, port: Guid) -> bool {
        let least = (id, Gid([0; 16]), 0);
        let mut of_id = self
            .by_name
            .range(least..)
            .take_while(|(name, _)| name.0 == id);
        of_id.any(|((_, gid, _), _)| gid.guid() == port)
    }

    /// Returns true if at least half of the room is taken.
    pub(crate) fn is_half_full(&self) -> bool {
        self.by_name.len() >= MAX_SERVICES / 2
    }

    /// Applies Set(ServiceRecord). A new service counts against the quota of `maker`.
    pub(crate) fn register(
        &mut self,
        now: Instant,
        maker: Guid,
        wanted: &ServiceRecord,
        mask: ComponentMask,
    ) -> Result<ServiceRecord, SaStatus> {
        use ServiceComponents as C;
        let given = ServiceComponents::from_bits_retain(mask.0);
        if !given.contains(C::SERVICE_ID | C::SERVICE_GID) {
            return Err(SaStatus::REQ_INSUFFICIENT_COMPONENTS);
        }
        let lease = match given.contains(C::SERVICE_LEASE) {
            true => wanted.service_lease(),
            false => FOR_EVER,
        };
        let mut record = *wanted;
        record.set_service_lease(lease);
        let name = name(&record);
        let maker = match self.by_name.get(&name) {
            Some(known) if known.record.service_key() != record.service_key() => {
                return Err(SaStatus::REQ_DENIED);
            }
            Some(known) => known.maker,
            None if self.by_name.len() >= MAX_SERVICES
                || !self.registered.has_room(maker, MAX_SERVICES_PER_PORT) =>
            {
                return Err(SaStatus::NO_RESOURCES);
            }
            None => maker,
        };
        let wait = Duration::from_secs(lease.into());
        let until = (lease != FOR_EVER).then(|| now.saturating_add(wait));
        self.remove(name);
        self.ends.extend(until.map(|at| (at, name)));
        self.registered.take(maker);
        let service = Service {
            record,
            maker,
            until,
        };
        self.by_name.insert(name, service);
        Ok(record)
    }

    /// Restores a service from before a restart, with the remaining time of its lease.
    pub(crate) fn restore(&mut self, now: Instant, service: &ServiceRecord) -> bool {
        let mask = ServiceComponents::all().into();
        self.register(now, Guid::NONE, service, mask).is_ok()
    }

    /// Applies Delete(ServiceRecord) to the one service that matches the template.
    pub(crate) fn delete(
        &mut self,
        template: &ServiceRecord,
        mask: ComponentMask,
    ) -> Result<ServiceRecord, SaStatus> {
        let fits = |service: &&Service| service.record.matches(template, mask);
        let mut fitting = self.by_name.values().filter(fits);
        let record = match (fitting.next(), fitting.next()) {
            (None, _) => return Err(SaStatus::NO_RECORDS),
            (Some(_), Some(_)) => return Err(SaStatus::TOO_MANY_RECORDS),
            (Some(service), None) => service.record,
        };
        self.remove(name(&record));
        Ok(record)
    }

    /// All services with the remaining times of their leases; the keys only if `trusted`.
    pub(crate) fn records(
        &self,
        now: Instant,
        trusted: bool,
    ) -> impl Iterator<Item = ServiceRecord> + '_ {
        self.by_name.values().map(move |service| {
            let mut record = service.record;
            if let Some(until) = service.until {
                let left = until.since(now).as_secs();
                record.set_service_lease(u32::try_from(left).unwrap_or(FOR_EVER));
            }
            if !trusted {
                record.set_service_key(&[0; 16]);
            }
            record
        })
    }

    /// Ends the services of ports that are gone.
    pub(crate) fn retain_ports(&mut self, keep: impl Fn(Guid) -> bool) {
        let stays = |gid: &Gid| gid.is_multicast() || keep(gid.guid());
        let registered = &mut self.registered;
        self.by_name.retain(|(_, gid, _), service| {
            if !stays(gid) {
                registered.release(service.maker);
            }
            stays(gid)
        });
        self.ends.retain(|(_, (_, gid, _))| stays(gid));
    }

    /// Ends the services whose leases have run out.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, name)) = self.ends.first().filter(|(at, _)| *at <= now) {
            self.ends.remove(&(at, name));
            self.remove(name);
        }
    }

    /// The time at which the next lease ends.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.ends.first().map(|&(at, _)| at)
    }

    fn remove(&mut self, name: ServiceName) {
        if let Some(service) = self.by_name.remove(&name) {
            self.registered.release(service.maker);
            if let Some(at) = service.until {
                self.ends.remove(&(at, name));
            }
        }
    }
}

fn name(record: &ServiceRecord) -> ServiceName {
    (
        record.service_id(),
        record.service_gid(),
        record.service_p_key().0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: Guid = Guid(7);

    fn service(id: u64, lease: u32) -> ServiceRecord {
        let mut record = ServiceRecord::default();
        record.set_service_id(id).set_service_lease(lease);
        record
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    fn all() -> ComponentMask {
        use ServiceComponents as C;
        (C::SERVICE_ID | C::SERVICE_GID | C::SERVICE_LEASE).into()
    }

    #[test]
    fn a_service_that_is_renewed_ends_with_its_last_lease() {
        let mut services = Services::default();
        services
            .register(at(0), PORT, &service(1, 10), all())
            .unwrap();
        services
            .register(at(5), PORT, &service(1, 10), all())
            .unwrap();
        services
            .register(at(5), PORT, &service(2, 4), all())
            .unwrap();
        assert_eq!(services.poll_timeout(), Some(at(9)));
        services.handle_timeout(at(10));
        assert_eq!(services.len(), 1);
        assert_eq!(services.poll_timeout(), Some(at(15)));
        services.handle_timeout(at(15));
        assert_eq!((services.len(), services.poll_timeout()), (0, None));
    }

    #[test]
    fn a_service_that_is_deleted_or_whose_port_is_gone_leaves_no_timer() {
        let mut services = Services::default();
        services
            .register(at(0), PORT, &service(1, 10), all())
            .unwrap();
        let mask = ServiceComponents::SERVICE_ID.into();
        services.delete(&service(1, 0), mask).unwrap();
        assert_eq!(services.poll_timeout(), None);
        services
            .register(at(0), PORT, &service(1, 10), all())
            .unwrap();
        services.retain_ports(|_| false);
        assert_eq!(services.poll_timeout(), None);
    }

    #[test]
    fn one_port_cannot_take_the_room_of_all() {
        let mut services = Services::default();
        for id in 0..MAX_SERVICES_PER_PORT as u64 {
            let kept = services.register(at(0), PORT, &service(id, 10), all());
            assert!(kept.is_ok(), "{id}");
        }
        let one_more = service(u64::MAX, 10);
        let refused = services.register(at(0), PORT, &one_more, all());
        assert_eq!(refused, Err(SaStatus::NO_RESOURCES));
        let renewed = services.register(at(1), PORT, &service(0, 20), all());
        assert!(renewed.is_ok(), "it takes no more room");
        services.register(at(1), Guid(8), &one_more, all()).unwrap();
        // An ended lease frees its place.
        services.handle_timeout(at(10));
        let kept = services.register(at(10), PORT, &service(1 << 40, 10), all());
        assert!(kept.is_ok());
    }

    #[test]
    fn a_service_is_named_by_its_number_and_its_gid() {
        use ServiceComponents as C;
        let mut services = Services::default();
        for mask in [C::SERVICE_ID, C::SERVICE_GID] {
            let refused = services.register(at(0), PORT, &service(1, 10), mask.into());
            assert_eq!(refused, Err(SaStatus::REQ_INSUFFICIENT_COMPONENTS));
        }
        let mut record = service(1, 10);
        record.set_service_gid(Gid::new(ib_wire::GidPrefix::DEFAULT, PORT));
        services.register(at(0), PORT, &record, all()).unwrap();
        assert!(services.has(1, PORT));
        assert!(!services.has(2, PORT) && !services.has(1, Guid(8)));
    }

    #[test]
    fn half_the_room_is_taken_from_half_of_the_services_on() {
        let mut services = Services::default();
        for id in 0..MAX_SERVICES as u64 / 2 {
            assert!(!services.is_half_full(), "{id}");
            let unlimited = services.register(at(0), Guid::NONE, &service(id, 10), all());
            assert!(unlimited.is_ok(), "{id}");
        }
        assert!(services.is_half_full());
    }

    #[test]
    fn the_services_of_a_port_that_is_gone_end_and_free_its_quota() {
        let multicast = Gid([0xff; 16]);
        let mut services = Services::default();
        for id in 0..MAX_SERVICES_PER_PORT as u64 {
            let mut record = service(id, 10);
            if id == 0 {
                record.set_service_gid(multicast);
            }
            services.register(at(0), PORT, &record, all()).unwrap();
        }
        services.retain_ports(|_| true);
        let one_more = service(u64::MAX, 10);
        let refused = services.register(at(0), PORT, &one_more, all());
        assert_eq!(refused, Err(SaStatus::NO_RESOURCES), "nothing has ended");
        services.retain_ports(|_| false);
        assert_eq!(services.len(), 1, "a multicast GID belongs to no port");
        services.register(at(0), PORT, &one_more, all()).unwrap();
    }
}
