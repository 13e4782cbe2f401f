//! ServiceRecord: the services that hosts offer, and their leases (IBA vol. 1, 15.2.5.14).

use core::time::Duration;

use ib_mad::Method;
use ib_sa::{ServiceComponents, ServiceRecord};
use ib_wire::{PKey, table::Text};

use crate::conform::{
    Case,
    bench::{Bench, Outcome, Stop, ensure, fail},
    case,
};

const SERVICE: &str = "IBA vol. 1, 15.2.5.14";
const LEASE: &str = "IBA vol. 1, 15.2.5.14 (ServiceLease)";
const FOR_EVER: u32 = u32::MAX;
const KEY: ServiceComponents = ServiceComponents::SERVICE_ID
    .union(ServiceComponents::SERVICE_GID)
    .union(ServiceComponents::SERVICE_P_KEY);
const WHOLE: ServiceComponents = KEY
    .union(ServiceComponents::SERVICE_LEASE)
    .union(ServiceComponents::SERVICE_NAME);

pub(super) const CASES: &[Case] = &[
    case(
        "sa-241",
        "A service is registered, and the answer shows it",
        SERVICE,
        |bench| {
            registered(bench, FOR_EVER, |_, record| {
                ensure!(
                    record.service_id() == 0x7777,
                    "service {:#x}",
                    record.service_id()
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-242",
        "A service is found by its number",
        SERVICE,
        |bench| {
            registered(bench, FOR_EVER, |bench, record| {
                let found: ServiceRecord =
                    bench.good(Method::GET, record, ServiceComponents::SERVICE_ID)?;
                ensure!(
                    found.service_gid() == record.service_gid(),
                    "GID {}",
                    found.service_gid()
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-243",
        "A service is found by its name",
        SERVICE,
        |bench| {
            registered(bench, FOR_EVER, |bench, record| {
                let found: ServiceRecord =
                    bench.good(Method::GET, record, ServiceComponents::SERVICE_NAME)?;
                ensure!(
                    found.service_id() == record.service_id(),
                    "service {:#x}",
                    found.service_id()
                );
                Ok(())
            })
        },
    ),
    case(
        "sa-244",
        "A service that was deleted is gone",
        SERVICE,
        |bench| {
            registered(bench, FOR_EVER, |_, _| Ok(()))?;
            let record = service(bench, FOR_EVER)?;
            let left = bench.table(&record, ServiceComponents::SERVICE_ID)?;
            ensure!(left.is_empty(), "{} records", left.len());
            Ok(())
        },
    ),
    case(
        "sa-245",
        "Registering a service again replaces it",
        SERVICE,
        |bench| {
            registered(bench, FOR_EVER, |bench, record| {
                bench.good::<ServiceRecord>(Method::SET, record, WHOLE)?;
                let found = bench.table(record, ServiceComponents::SERVICE_ID)?;
                ensure!(found.len() == 1, "{} records", found.len());
                Ok(())
            })
        },
    ),
    case(
        "sa-246",
        "Two services with two numbers are two records",
        SERVICE,
        |bench| {
            registered(bench, FOR_EVER, |bench, record| {
                let mut other = *record;
                other.set_service_id(0x7778);
                bench.good::<ServiceRecord>(Method::SET, &other, WHOLE)?;
                let found = bench.table(record, ServiceComponents::SERVICE_NAME)?;
                bench.good::<ServiceRecord>(Method::DELETE, &other, KEY)?;
                ensure!(found.len() == 2, "{} records", found.len());
                Ok(())
            })
        },
    ),
    case(
        "sa-247",
        "A service goes when its lease is over",
        LEASE,
        |bench| {
            let record = service(bench, 1)?;
            bench.good::<ServiceRecord>(Method::SET, &record, WHOLE)?;
            bench.pause(Duration::from_secs(4))?;
            let left = bench.table(&record, ServiceComponents::SERVICE_ID)?;
            if !left.is_empty() {
                bench.good::<ServiceRecord>(Method::DELETE, &record, KEY)?;
                return fail("the service is there 4 s after a lease of 1 s began");
            }
            Ok(())
        },
    ),
    case(
        "sa-248",
        "A service stays until its lease is over",
        LEASE,
        |bench| {
            registered(bench, 60, |bench, record| {
                bench.pause(Duration::from_secs(2))?;
                let found = bench.table(record, ServiceComponents::SERVICE_ID)?;
                ensure!(found.len() == 1, "{} records", found.len());
                Ok(())
            })
        },
    ),
    case(
        "sa-249",
        "A lease of 0xffffffff does not end",
        LEASE,
        |bench| {
            registered(bench, FOR_EVER, |bench, record| {
                bench.pause(Duration::from_secs(2))?;
                let found = bench.table(record, ServiceComponents::SERVICE_ID)?;
                ensure!(found.len() == 1, "{} records", found.len());
                Ok(())
            })
        },
    ),
    case(
        "sa-250",
        "A Get of a service that is not registered has status 0x0300",
        SERVICE,
        |bench| {
            let record = service(bench, FOR_EVER)?;
            bench.refused_with(
                Method::GET,
                &record,
                ServiceComponents::SERVICE_ID,
                &[0x0300],
            )
        },
    ),
    case(
        "sa-251",
        "A Delete of a service that is not registered is refused",
        SERVICE,
        |bench| {
            let record = service(bench, FOR_EVER)?;
            let answer = bench.record(Method::DELETE, &record, KEY)?;
            ensure!(answer.is_err(), "the Delete is carried out");
            Ok(())
        },
    ),
];

fn service(bench: &mut Bench<'_>, lease: u32) -> Result<ServiceRecord, Stop> {
    let mut record = ServiceRecord::default();
    record
        .set_service_id(0x7777)
        .set_service_gid(bench.own_gid()?)
        .set_service_p_key(PKey(0xffff))
        .set_service_lease(lease)
        .set_service_name(&Text::new("ib-conform"));
    Ok(record)
}

/// Registers the service, runs the body, and deletes the service.
fn registered(
    bench: &mut Bench<'_>,
    lease: u32,
    body: fn(&mut Bench<'_>, &ServiceRecord) -> Outcome,
) -> Outcome {
    let record = service(bench, lease)?;
    let made: ServiceRecord = bench.good(Method::SET, &record, WHOLE)?;
    let outcome = body(bench, &made);
    let gone = bench.record(Method::DELETE, &record, KEY)?;
    outcome?;
    match gone {
        Ok(_) => Ok(()),
        Err(status) => fail(alloc::format!(
            "the service cannot be deleted: status {status}"
        )),
    }
}
