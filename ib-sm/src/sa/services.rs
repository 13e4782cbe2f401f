//! Services: what hosts offer, by a number or a name, for a time (IBA vol. 1, 15.2.5.14).
//!
//! A service is registered by Set and is named by its ID, its GID and its partition; registering it again
//! renews it. It ends with its lease, with a Delete, or with the port that it is on. The ServiceKey is
//! its owner's secret: only who shows the right SM_Key is told it.

use alloc::{collections::BTreeMap, vec::Vec};
use core::time::Duration;

use ib_mad::{Instant, SaStatus};
use ib_sa::{ComponentMask, Record, ServiceComponents, ServiceRecord};
use ib_wire::{Gid, Guid};

/// A lease of so many seconds never ends.
const FOR_EVER: u32 = u32::MAX;

/// Services that are kept; beyond, registrations are refused.
const MAX_SERVICES: usize = 1 << 16;

/// ServiceID, ServiceGID and ServiceP_Key.
type ServiceName = (u64, Gid, u16);

/// All services.
#[derive(Debug, Default)]
pub(crate) struct Services {
    by_name: BTreeMap<ServiceName, Service>,
}

#[derive(Debug)]
struct Service {
    record: ServiceRecord,
    /// When the lease ends, if it does.
    until: Option<Instant>,
}

impl Services {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Takes in Set(ServiceRecord).
    pub(crate) fn register(
        &mut self,
        now: Instant,
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
        if let Some(known) = self.by_name.get(&name) {
            if known.record.service_key() != record.service_key() {
                return Err(SaStatus::REQ_DENIED);
            }
        } else if self.by_name.len() >= MAX_SERVICES {
            return Err(SaStatus::NO_RESOURCES);
        }
        let wait = Duration::from_secs(lease.into());
        let until = (lease != FOR_EVER).then(|| now.saturating_add(wait));
        self.by_name.insert(name, Service { record, until });
        Ok(record)
    }

    /// Takes in Delete(ServiceRecord): the one service that the template fits.
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
        self.by_name.remove(&name(&record));
        Ok(record)
    }

    /// All services with what is left of their leases; the keys only for who is trusted.
    pub(crate) fn records(&self, now: Instant, trusted: bool) -> Vec<ServiceRecord> {
        let each = self.by_name.values().map(|service| {
            let mut record = service.record;
            if let Some(until) = service.until {
                let left = until.since(now).as_secs();
                record.set_service_lease(u32::try_from(left).unwrap_or(FOR_EVER));
            }
            if !trusted {
                record.set_service_key(&[0; 16]);
            }
            record
        });
        each.collect()
    }

    /// Ends the services of ports that are no more.
    pub(crate) fn retain_ports(&mut self, keep: impl Fn(Guid) -> bool) {
        self.by_name
            .retain(|(_, gid, _), _| gid.is_multicast() || keep(gid.guid()));
    }

    /// Ends what has run out.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.by_name
            .retain(|_, service| service.until.is_none_or(|until| until > now));
    }

    /// When the next lease ends.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let ends = self.by_name.values().filter_map(|service| service.until);
        ends.min()
    }
}

fn name(record: &ServiceRecord) -> ServiceName {
    (
        record.service_id(),
        record.service_gid(),
        record.service_p_key().0,
    )
}
