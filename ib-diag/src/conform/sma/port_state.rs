//! The state machine of a port: the effect of a Set of PortState in each state (IBA vol. 1, 14.2.5.6).
//!
//! The port is the switch's end of the cable to a channel adapter. Pitfall: devices answer a step out of order with
//! status 0 or with 0x001c. The cases accept both, and require only that the state does not change.

use ib_mad::MadStatus;
use ib_smp::{PortInfo, PortPhysicalState, PortState};

use crate::conform::{
    Case, Precondition,
    bench::{Bench, Outcome, ensure},
    case,
    ports::settable,
};

pub(super) const STATE: &str = "IBA vol. 1, 14.2.5.6 (PortState)";
pub(super) const PHYSICAL: &str = "IBA vol. 1, 14.2.5.6 (PortPhysicalState)";

pub(super) const CASES: &[Case] = &[
    case(
        "sma-228",
        "Initialize: a Set of NoChange leaves the port Initialize",
        STATE,
        |bench| carried_out(bench, PortState::INITIALIZE, PortState::NO_CHANGE),
    ),
    case(
        "sma-229",
        "Initialize: a Set of Down takes the link through Down to Initialize",
        STATE,
        |bench| retrains(bench, PortState::INITIALIZE),
    ),
    case(
        "sma-230",
        "Initialize: a Set of Initialize is refused with 0x001c",
        STATE,
        |bench| refused(bench, PortState::INITIALIZE, PortState::INITIALIZE),
    ),
    case(
        "sma-231",
        "Initialize: a Set of PortState 5 is refused with 0x001c",
        STATE,
        |bench| refused(bench, PortState::INITIALIZE, PortState(5)),
    ),
    case(
        "sma-232",
        "Initialize: a Set of PortState 15 is refused with 0x001c",
        STATE,
        |bench| refused(bench, PortState::INITIALIZE, PortState(15)),
    ),
    case(
        "sma-233",
        "Initialize: a Set of Armed takes the port to Armed",
        STATE,
        |bench| carried_out(bench, PortState::INITIALIZE, PortState::ARMED),
    ),
    case(
        "sma-234",
        "Initialize: a Set of Active leaves the port Initialize",
        STATE,
        |bench| stays(bench, PortState::INITIALIZE, PortState::ACTIVE),
    ),
    case(
        "sma-235",
        "Armed: a Set of NoChange leaves the port Armed",
        STATE,
        |bench| carried_out(bench, PortState::ARMED, PortState::NO_CHANGE),
    ),
    case(
        "sma-236",
        "Armed: a Set of Down takes the link through Down to Initialize",
        STATE,
        |bench| retrains(bench, PortState::ARMED),
    ),
    case(
        "sma-237",
        "Armed: a Set of Initialize is refused with 0x001c",
        STATE,
        |bench| refused(bench, PortState::ARMED, PortState::INITIALIZE),
    ),
    case(
        "sma-238",
        "Armed: a Set of PortState 5 is refused with 0x001c",
        STATE,
        |bench| refused(bench, PortState::ARMED, PortState(5)),
    ),
    case(
        "sma-239",
        "Armed: a Set of PortState 15 is refused with 0x001c",
        STATE,
        |bench| refused(bench, PortState::ARMED, PortState(15)),
    ),
    case(
        "sma-240",
        "Armed: a Set of Armed leaves the port Armed",
        STATE,
        |bench| stays(bench, PortState::ARMED, PortState::ARMED),
    ),
    case(
        "sma-241",
        "Armed: a Set of Active takes the port to Active",
        STATE,
        |bench| carried_out(bench, PortState::ARMED, PortState::ACTIVE),
    ),
    case(
        "sma-242",
        "Active: a Set of NoChange leaves the port Active",
        STATE,
        |bench| carried_out(bench, PortState::ACTIVE, PortState::NO_CHANGE),
    ),
    case(
        "sma-243",
        "Active: a Set of Down takes the link through Down to Initialize",
        STATE,
        |bench| retrains(bench, PortState::ACTIVE),
    ),
    case(
        "sma-244",
        "Active: a Set of Initialize is refused with 0x001c",
        STATE,
        |bench| refused(bench, PortState::ACTIVE, PortState::INITIALIZE),
    ),
    case(
        "sma-245",
        "Active: a Set of PortState 5 is refused with 0x001c",
        STATE,
        |bench| refused(bench, PortState::ACTIVE, PortState(5)),
    ),
    case(
        "sma-246",
        "Active: a Set of PortState 15 is refused with 0x001c",
        STATE,
        |bench| refused(bench, PortState::ACTIVE, PortState(15)),
    ),
    case(
        "sma-247",
        "Active: a Set of Armed leaves the port Active",
        STATE,
        |bench| stays(bench, PortState::ACTIVE, PortState::ARMED),
    ),
    case(
        "sma-248",
        "Active: a Set of Active leaves the port Active",
        STATE,
        |bench| stays(bench, PortState::ACTIVE, PortState::ACTIVE),
    ),
    case(
        "sma-261",
        "A Set of PortPhysicalState 4 is refused with 0x001c",
        PHYSICAL,
        |bench| {
            physical(
                bench,
                PortPhysicalState::PORT_CONFIGURATION_TRAINING,
                PortState::NO_CHANGE,
            )
        },
    ),
    case(
        "sma-262",
        "A Set of PortPhysicalState 5 is refused with 0x001c",
        PHYSICAL,
        |bench| physical(bench, PortPhysicalState::LINK_UP, PortState::NO_CHANGE),
    ),
    case(
        "sma-263",
        "A Set of PortPhysicalState 7 is refused with 0x001c",
        PHYSICAL,
        |bench| physical(bench, PortPhysicalState::PHY_TEST, PortState::NO_CHANGE),
    ),
    case(
        "sma-264",
        "PortPhysicalState and PortState Armed in one Set are refused with 0x001c",
        PHYSICAL,
        |bench| physical(bench, PortPhysicalState::POLLING, PortState::ARMED),
    ),
    case(
        "sma-266",
        "A link that is down at one end is not Active at the other end after it came back",
        STATE,
        |bench| {
            bench.with_link(|bench, edge| {
                bench.initialize(edge)?;
                let state = bench.port_info(edge.ca)?.port_state();
                ensure!(
                    state == PortState::INITIALIZE,
                    "the other end is {state}, expected Initialize"
                );
                Ok(())
            })
        },
    ),
    case(
        "sma-267",
        "SMPs pass a port in Initialize",
        STATE,
        |bench| {
            bench.with_link(|bench, edge| {
                bench.bring_to(edge, PortState::INITIALIZE)?;
                bench.get::<ib_smp::NodeInfo>(&edge.ca.path, 0).map(|_| ())
            })
        },
    ),
    case(
        "sma-268",
        "SMPs pass a port that is Armed",
        STATE,
        |bench| {
            bench.with_link(|bench, edge| {
                bench.bring_to(edge, PortState::ARMED)?;
                bench.get::<ib_smp::NodeInfo>(&edge.ca.path, 0).map(|_| ())
            })
        },
    ),
];

/// Brings the port to a state and sets another one. Only a step from Initialize to Armed, or from Armed to Active, may
/// change the state.
fn step(
    bench: &mut Bench<'_>,
    now: PortState,
    wanted: PortState,
    judge: fn(MadStatus) -> Outcome,
) -> Outcome {
    if now == PortState::DOWN {
        bench.met(Precondition::Down)?;
    }
    bench.with_link(|bench, edge| {
        match now {
            PortState::DOWN => {
                bench.needs(Precondition::Down, |bench| bench.bring_to(edge, now))?
            }
            _ => bench.bring_to(edge, now)?,
        }
        let (status, _) = bench.set_state(edge.switch, wanted)?;
        let after = bench.port_info(edge.switch)?.port_state();
        let is_step = matches!(
            (now, wanted),
            (PortState::INITIALIZE, PortState::ARMED) | (PortState::ARMED, PortState::ACTIVE)
        );
        let expected = if is_step { wanted } else { now };
        ensure!(
            after == expected,
            "{now} became {after}, expected {expected}"
        );
        judge(status)
    })
}

/// A Set that must be answered with status 0 and bring the port to a state.
pub(super) fn carried_out(bench: &mut Bench<'_>, now: PortState, wanted: PortState) -> Outcome {
    step(bench, now, wanted, |status| {
        ensure!(status.is_ok(), "status {status}");
        Ok(())
    })
}

/// A Set that must not change the state, whatever its status.
pub(super) fn stays(bench: &mut Bench<'_>, now: PortState, wanted: PortState) -> Outcome {
    step(bench, now, wanted, |_| Ok(()))
}

/// A Set of a state that no requester may set.
pub(super) fn refused(bench: &mut Bench<'_>, now: PortState, wanted: PortState) -> Outcome {
    step(bench, now, wanted, |status| {
        ensure!(
            status == MadStatus::INVALID_FIELD_VALUE,
            "status {status}, expected 0x001c"
        );
        Ok(())
    })
}

/// A Set of Down: the link must go down, train, and come back in Initialize.
fn retrains(bench: &mut Bench<'_>, now: PortState) -> Outcome {
    bench.with_link(|bench, edge| {
        bench.bring_to(edge, now)?;
        let (status, _) = bench.set_state(edge.switch, PortState::DOWN)?;
        ensure!(status.is_ok(), "status {status}");
        ensure!(
            bench.reaches(edge.switch, PortState::INITIALIZE)?,
            "the port does not come back to Initialize"
        );
        Ok(())
    })
}

/// A Set of a physical state that must be refused and leave the link Active.
fn physical(bench: &mut Bench<'_>, physical: PortPhysicalState, state: PortState) -> Outcome {
    bench.with_link(|bench, edge| {
        let mut wanted: PortInfo = settable(&bench.port_info(edge.switch)?);
        wanted
            .set_port_physical_state(physical)
            .set_port_state(state);
        let at = edge.switch;
        let (status, _) = bench.set(&at.path, at.modifier, &wanted)?;
        ensure!(
            status == MadStatus::INVALID_FIELD_VALUE,
            "status {status}, expected 0x001c"
        );
        let after = bench.port_info(at)?.port_state();
        ensure!(after == PortState::ACTIVE, "the port became {after}");
        Ok(())
    })
}
