//! SMInfo of a master, and the orders that a master refuses (IBA vol. 1, 14.2.5.13 and 14.4.1).

use alloc::format;
use core::time::Duration;

use ib_mad::{Attribute as _, Mad, MadStatus, Method};
use ib_smp::{DrPath, SmControl, SmInfo, SmState};
use ib_wire::Guid;

use crate::{
    conform::{
        Case,
        bench::{Bench, Outcome, Stop, attribute, difference, ensure, fail, part, skip, status},
        case,
    },
    snapshot::Contents,
};

const SM_INFO: &str = "IBA vol. 1, 14.2.5.13";
const CONTROL: &str = "IBA vol. 1, 14.4.1 (control packets)";

pub(super) const CASES: &[Case] = &[
    case(
        "sm-121",
        "The master answers Get(SMInfo) with state Master",
        SM_INFO,
        |bench| {
            let (_, info) = peer(bench)?;
            ensure!(
                info.sm_state() == SmState::MASTER,
                "state {}",
                info.sm_state()
            );
            Ok(())
        },
    ),
    case(
        "sm-122",
        "SMInfo has the GUID of the manager's port",
        SM_INFO,
        |bench| {
            let (path, info) = peer(bench)?;
            let node: ib_smp::NodeInfo = bench.get(&path, 0)?;
            ensure!(
                info.guid() == node.port_guid(),
                "GUID {}, the port is {}",
                info.guid(),
                node.port_guid()
            );
            Ok(())
        },
    ),
    case(
        "sm-123",
        "ActCount rises while the manager works",
        SM_INFO,
        |bench| {
            let (path, first) = peer(bench)?;
            let deadline = bench.after(bench.options.patience);
            loop {
                let now: SmInfo = bench.get(&path, 0)?;
                if now.act_count() > first.act_count() {
                    return Ok(());
                }
                ensure!(
                    bench.now() < deadline,
                    "ActCount stays {}",
                    first.act_count()
                );
                bench.pause(Duration::from_secs(1))?;
            }
        },
    ),
    case(
        "sm-124",
        "Reserved bits of SMInfo and the bytes after it are zero",
        SM_INFO,
        |bench| {
            let (path, _) = peer(bench)?;
            let mut smp = bench.smp(Method::GET, SmInfo::ID, 0, &path);
            smp.set_smp_data(&[0xff; 64]);
            let answer = bench.answer(&smp.to_mad())?;
            ensure!(
                part(&answer, 85, 128).iter().all(|byte| *byte == 0),
                "a byte is not 0"
            );
            Ok(())
        },
    ),
    case(
        "sm-125",
        "SMInfo but for ActCount does not depend on the memory before",
        SM_INFO,
        |bench| {
            let (path, _) = peer(bench)?;
            let mut smp = bench.smp(Method::GET, SmInfo::ID, 0, &path);
            let first = still(bench.answer(&smp.to_mad())?);
            smp.set_smp_data(&[0xff; 64]);
            let second = still(bench.answer(&smp.to_mad())?);
            // The paths behind the data are the work of the SMIs, not of the manager.
            match difference(&first, &second, 128..256) {
                None => Ok(()),
                Some(difference) => fail(difference),
            }
        },
    ),
    case(
        "sm-126",
        "Get(SMInfo) of a port without a manager is refused or not answered",
        SM_INFO,
        |bench| {
            let path = bench.ca()?;
            let smp = bench.smp(Method::GET, SmInfo::ID, 0, &path);
            match bench.ask(&smp.to_mad())? {
                None => Ok(()),
                Some(answer) => {
                    ensure!(!status(&answer).is_ok(), "SMInfo is answered");
                    Ok(())
                }
            }
        },
    ),
    case("sm-131", "A master refuses DISABLE", CONTROL, |bench| {
        refuses(bench, SmControl::DISABLE, SmState::MASTER)
    }),
    case("sm-132", "A master refuses STANDBY", CONTROL, |bench| {
        refuses(bench, SmControl::STANDBY, SmState::MASTER)
    }),
    case("sm-133", "A master refuses DISCOVER", CONTROL, |bench| {
        refuses(bench, SmControl::DISCOVER, SmState::MASTER)
    }),
    case(
        "sm-134",
        "A master refuses HANDOVER of a manager that is Standby",
        CONTROL,
        |bench| refuses(bench, SmControl::HANDOVER, SmState::STANDBY),
    ),
    case(
        "sm-135",
        "A master refuses HANDOVER of a manager that is NotActive",
        CONTROL,
        |bench| refuses(bench, SmControl::HANDOVER, SmState::NOT_ACTIVE),
    ),
    case(
        "sm-136",
        "A master refuses HANDOVER of a manager that discovers",
        CONTROL,
        |bench| refuses(bench, SmControl::HANDOVER, SmState::DISCOVERING),
    ),
    case(
        "sm-137",
        "A master refuses ACKNOWLEDGE of a master",
        CONTROL,
        |bench| refuses(bench, SmControl::ACKNOWLEDGE, SmState::MASTER),
    ),
    case(
        "sm-138",
        "A master refuses an unknown order",
        CONTROL,
        |bench| refuses(bench, SmControl(6), SmState::MASTER),
    ),
    case("sm-139", "A master refuses order 0", CONTROL, |bench| {
        refuses(bench, SmControl(0), SmState::MASTER)
    }),
    case(
        "sm-140",
        "A refusal shows the manager's own SMInfo",
        CONTROL,
        |bench| {
            let (path, before) = peer(bench)?;
            let answer = order(bench, &path, SmControl::DISABLE, SmState::MASTER)?;
            let shown: SmInfo = attribute(&answer)?;
            ensure!(
                shown.guid() == before.guid(),
                "GUID {}, expected {}",
                shown.guid(),
                before.guid()
            );
            Ok(())
        },
    ),
];

/// The directed route to the master manager, and its SMInfo.
pub(super) fn peer(bench: &mut Bench<'_>) -> Result<(DrPath, SmInfo), Stop> {
    bench.survey(Contents::SM_INFO)?;
    let own = bench.subnet.own_port.map(|own| own.node);
    let found = bench.subnet.ports().find_map(|(at, node, port)| {
        let info = port.sm_info?;
        (Some(at.node) != own && info.sm_state() == SmState::MASTER).then_some((node.path, info))
    });
    match found {
        Some(found) => Ok(found),
        None => skip("no manager but ours is the master"),
    }
}

/// SMInfo of the manager that the case plays, as the sender of an order.
pub(super) fn own_info(bench: &Bench<'_>, state: SmState) -> SmInfo {
    let own = bench.subnet.own_port.and_then(|own| bench.subnet.port(own));
    let mut info = SmInfo::default();
    info.set_guid(own.map_or(Guid::NONE, |port| port.guid))
        .set_sm_key(bench.options.sm_key)
        .set_priority(15)
        .set_act_count(1)
        .set_sm_state(state);
    info
}

/// Sends an order, and returns its answer.
pub(super) fn order(
    bench: &mut Bench<'_>,
    path: &DrPath,
    order: SmControl,
    state: SmState,
) -> Result<Mad, Stop> {
    let mut smp = bench.smp(Method::SET, SmInfo::ID, order.0, path);
    smp.set_attribute(&own_info(bench, state));
    bench.answer(&smp.to_mad())
}

fn refuses(bench: &mut Bench<'_>, control: SmControl, state: SmState) -> Outcome {
    let (path, _) = peer(bench)?;
    let answer = order(bench, &path, control, state)?;
    let status = status(&answer);
    ensure!(status != MadStatus::OK, "the order is taken");
    let after: SmInfo = bench.get(&path, 0)?;
    ensure!(
        after.sm_state() == SmState::MASTER,
        "{}",
        format!("state {} after it", after.sm_state())
    );
    Ok(())
}

/// The answer without ActCount, which increases on its own.
fn still(mut answer: Mad) -> Mad {
    if let Some(count) = answer.bytes.get_mut(80..84) {
        count.fill(0);
    }
    answer
}
