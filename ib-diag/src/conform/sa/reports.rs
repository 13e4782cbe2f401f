//! InformInfo and Report: subscriptions, and the reports to subscribers (IBA vol. 1, 13.4.8.3 and 13.4.11).

use core::time::Duration;

use ib_mad::{
    Attribute as _, InformInfo, Mad, MadStatus, Method, MgmtClass, Notice, RespTime, TrapNumber,
};
use ib_sa::{JoinState, McMemberComponents, McMemberRecord, SaMad};
use ib_wire::{Gid, Lid, PKey, QKey, Qpn};

use crate::conform::{
    Case,
    bench::{Bench, Outcome, Stop, attribute, ensure, fail},
    case,
};

const SUBSCRIBE: &str = "IBA vol. 1, 13.4.8.3 and 13.4.11";
const REPORT: &str = "IBA vol. 1, 13.4.11 and 14.2.5.1";
const GROUP: Gid = Gid([
    0xff, 0x12, 0xc0, 0x2f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x56, 0x78,
]);

pub(super) const CASES: &[Case] = &[
    case("sa-261", "A subscription is taken", SUBSCRIBE, |bench| {
        subscribed(bench, 66, |_| Ok(()))
    }),
    case(
        "sa-262",
        "A subscription is answered with GetResp and InformInfo",
        SUBSCRIBE,
        |bench| {
            let answer = subscribe(bench, 66, true)?;
            subscribe(bench, 66, false)?;
            ensure!(
                answer.method() == Method::GET_RESP,
                "method {}",
                answer.method()
            );
            ensure!(
                answer.attribute_id() == InformInfo::ID,
                "attribute {}",
                answer.attribute_id()
            );
            Ok(())
        },
    ),
    case(
        "sa-263",
        "A group that is created is reported by trap 66",
        REPORT,
        |bench| {
            subscribed(bench, 66, |bench| {
                create(bench)?;
                let report = report(bench, TrapNumber::MC_GROUP_CREATED);
                delete(bench)?;
                report.map(|_| ())
            })
        },
    ),
    case(
        "sa-264",
        "A group that is deleted is reported by trap 67",
        REPORT,
        |bench| {
            subscribed(bench, 67, |bench| {
                create(bench)?;
                delete(bench)?;
                report(bench, TrapNumber::MC_GROUP_DELETED).map(|_| ())
            })
        },
    ),
    case("sa-265", "Trap 66 names the group", REPORT, |bench| {
        subscribed(bench, 66, |bench| {
            create(bench)?;
            let report = report(bench, TrapNumber::MC_GROUP_CREATED);
            delete(bench)?;
            let notice: Notice = attribute(&report?)?;
            // Six reserved bytes precede the GID.
            let named = notice.data_details().get(6..22);
            ensure!(
                named == Some(&GROUP.0[..]),
                "the details name another group"
            );
            Ok(())
        })
    }),
    case(
        "sa-266",
        "A report has method Report, and a transaction of its own",
        REPORT,
        |bench| {
            subscribed(bench, 66, |bench| {
                create(bench)?;
                let report = report(bench, TrapNumber::MC_GROUP_CREATED);
                delete(bench)?;
                let header = report?.header();
                ensure!(
                    header.method() == Method::REPORT,
                    "method {}",
                    header.method()
                );
                ensure!(header.transaction_id().low() != 0, "transaction 0");
                Ok(())
            })
        },
    ),
    case(
        "sa-267",
        "Without a subscription there is no report",
        REPORT,
        |bench| {
            subscribed(bench, 66, |_| Ok(()))?;
            create(bench)?;
            let deadline = bench.after(Duration::from_secs(1));
            let report =
                bench.wait(deadline, |mad| is_report(mad, TrapNumber::MC_GROUP_CREATED))?;
            delete(bench)?;
            ensure!(
                report.is_none(),
                "a report after the subscription was ended"
            );
            Ok(())
        },
    ),
    case(
        "sa-268",
        "A subscription to one trap brings no other",
        REPORT,
        |bench| {
            subscribed(bench, 67, |bench| {
                create(bench)?;
                let deadline = bench.after(Duration::from_secs(1));
                let report =
                    bench.wait(deadline, |mad| is_report(mad, TrapNumber::MC_GROUP_CREATED))?;
                delete(bench)?;
                ensure!(report.is_none(), "trap 66 is reported");
                Ok(())
            })
        },
    ),
];

/// Subscribes to a trap, runs the body, and ends the subscription.
fn subscribed(bench: &mut Bench<'_>, trap: u16, body: fn(&mut Bench<'_>) -> Outcome) -> Outcome {
    let answer = subscribe(bench, trap, true)?;
    ensure!(
        answer.status() == MadStatus::OK,
        "status {}",
        answer.status()
    );
    let outcome = body(bench);
    let ended = subscribe(bench, trap, false)?.status();
    outcome?;
    ensure!(
        ended.is_ok(),
        "the subscription cannot be ended: status {ended}"
    );
    Ok(())
}

pub(super) fn subscribe(bench: &mut Bench<'_>, trap: u16, begin: bool) -> Result<SaMad, Stop> {
    let mut info = InformInfo::default();
    info.set_lid_range_begin(Lid::PERMISSIVE)
        .set_is_generic(1)
        .set_subscribe(u8::from(begin))
        .set_type(0xffff)
        .set_trap_number(trap)
        .set_qpn(Qpn::GSI)
        .set_resp_time_value(RespTime::from_bits(18))
        .set_producer_type(0x00ff_ffff);
    let mut request = SaMad::new(Method::SET, InformInfo::ID);
    request.set_attribute(&info);
    bench.sa_answer(&request)
}

fn is_report(mad: &Mad, trap: TrapNumber) -> bool {
    let header = mad.header();
    header.mgmt_class() == MgmtClass::SUBN_ADM
        && header.method() == Method::REPORT
        && attribute::<Notice>(mad).is_ok_and(|notice| notice.trap_number() == trap.0)
}

/// Waits for a report, and answers it.
fn report(bench: &mut Bench<'_>, trap: TrapNumber) -> Result<Mad, Stop> {
    let deadline = bench.after(Duration::from_secs(3));
    let Some(report) = bench.wait(deadline, |mad| is_report(mad, trap))? else {
        return fail(alloc::format!("no report of trap {} within 3 s", trap.0));
    };
    let mut answer = report;
    answer.header_mut().set_method(Method::REPORT_RESP);
    bench.send(&answer)?;
    Ok(report)
}

fn member(bench: &mut Bench<'_>) -> Result<McMemberRecord, Stop> {
    let mut record = McMemberRecord::default();
    record
        .set_mgid(GROUP)
        .set_port_gid(bench.own_gid()?)
        .set_p_key(PKey(0xffff))
        .set_q_key(QKey(0x1234))
        .set_join_state(JoinState::FULL_MEMBER);
    Ok(record)
}

const JOINING: McMemberComponents = McMemberComponents::MGID
    .union(McMemberComponents::PORT_GID)
    .union(McMemberComponents::JOIN_STATE);

fn create(bench: &mut Bench<'_>) -> Outcome {
    let record = member(bench)?;
    let mask = JOINING
        | McMemberComponents::P_KEY
        | McMemberComponents::Q_KEY
        | McMemberComponents::SL
        | McMemberComponents::FLOW_LABEL
        | McMemberComponents::TCLASS;
    bench
        .good::<McMemberRecord>(Method::SET, &record, mask)
        .map(|_| ())
}

fn delete(bench: &mut Bench<'_>) -> Outcome {
    let record = member(bench)?;
    bench
        .good::<McMemberRecord>(Method::DELETE, &record, JOINING)
        .map(|_| ())
}
