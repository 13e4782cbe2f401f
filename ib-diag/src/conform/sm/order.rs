//! A standby manager: the transition to standby, and the effect of each order (IBA vol. 1, 14.4.1).
//!
//! The case plays a manager of the highest priority, to which the peer hands over the subnet. At the end the case hands
//! it back.

use core::time::Duration;

use ib_mad::{Attribute as _, MadStatus, Method};
use ib_smp::{DrPath, SmControl, SmInfo, SmState};

use super::election::{order, own_info, peer};
use crate::conform::{
    Case, Precondition,
    bench::{Bench, Outcome, Stop, attribute, ensure, fail, status},
    case,
};

const ELECTION: &str = "IBA vol. 1, 14.4.1";
const CONTROL: &str = "IBA vol. 1, 14.4.1 (control packets)";

pub(super) const CASES: &[Case] = &[
    case(
        "sm-151",
        "A master that finds a higher master hands the subnet over and stands by",
        ELECTION,
        |bench| {
            let path = play_a_higher_master(bench)?;
            let outcome = bench.rule(Precondition::StandBy, |bench| hands_over(bench, &path));
            let back = give_back(bench, &path);
            outcome.and(back)
        },
    ),
    case(
        "sm-152",
        "HANDOVER has the SMInfo of a master",
        CONTROL,
        |bench| {
            standing_by(bench, |bench, _| {
                let now = bench.now();
                let order = bench.wait(now, |mad| {
                    let header = mad.header();
                    header.attribute_id() == SmInfo::ID && header.method() == Method::SET
                })?;
                let Some(order) = order else {
                    return fail("no HANDOVER came");
                };
                let control = SmControl(order.header().attribute_modifier());
                let info: SmInfo = attribute(&order)?;
                ensure!(control == SmControl::HANDOVER, "order {control}");
                ensure!(
                    info.sm_state() == SmState::MASTER,
                    "its SMInfo says {}",
                    info.sm_state()
                );
                Ok(())
            })
        },
    ),
    case(
        "sm-153",
        "A manager that stands by answers Get(SMInfo) with state Standby",
        ELECTION,
        |bench| standing_by(bench, |bench, path| is(bench, path, SmState::STANDBY)),
    ),
    case(
        "sm-154",
        "Standby: DISABLE leads to NotActive",
        CONTROL,
        |bench| not_active(bench, |_, _| Ok(())),
    ),
    case(
        "sm-155",
        "NotActive: STANDBY leads to Standby",
        CONTROL,
        |bench| {
            not_active(bench, |bench, path| {
                takes(bench, path, SmControl::STANDBY)?;
                is(bench, path, SmState::STANDBY)
            })
        },
    ),
    case(
        "sm-156",
        "NotActive: DISABLE is refused",
        CONTROL,
        |bench| {
            not_active(bench, |bench, path| {
                stays(
                    bench,
                    path,
                    SmControl::DISABLE,
                    SmState::MASTER,
                    SmState::NOT_ACTIVE,
                )
            })
        },
    ),
    case(
        "sm-157",
        "NotActive: DISCOVER is refused",
        CONTROL,
        |bench| {
            not_active(bench, |bench, path| {
                stays(
                    bench,
                    path,
                    SmControl::DISCOVER,
                    SmState::MASTER,
                    SmState::NOT_ACTIVE,
                )
            })
        },
    ),
    case(
        "sm-158",
        "NotActive: HANDOVER is refused",
        CONTROL,
        |bench| {
            not_active(bench, |bench, path| {
                stays(
                    bench,
                    path,
                    SmControl::HANDOVER,
                    SmState::MASTER,
                    SmState::NOT_ACTIVE,
                )
            })
        },
    ),
    case(
        "sm-159",
        "NotActive: STANDBY of a manager that is no master is refused",
        CONTROL,
        |bench| {
            not_active(bench, |bench, path| {
                stays(
                    bench,
                    path,
                    SmControl::STANDBY,
                    SmState::STANDBY,
                    SmState::NOT_ACTIVE,
                )
            })
        },
    ),
    case("sm-160", "Standby: STANDBY is refused", CONTROL, |bench| {
        standing_by(bench, |bench, path| {
            stays(
                bench,
                path,
                SmControl::STANDBY,
                SmState::MASTER,
                SmState::STANDBY,
            )
        })
    }),
    case(
        "sm-161",
        "Standby: DISABLE of a manager that is no master is refused",
        CONTROL,
        |bench| {
            standing_by(bench, |bench, path| {
                stays(
                    bench,
                    path,
                    SmControl::DISABLE,
                    SmState::STANDBY,
                    SmState::STANDBY,
                )
            })
        },
    ),
    case(
        "sm-162",
        "Standby: DISCOVER of a manager that is no master is refused",
        CONTROL,
        |bench| {
            standing_by(bench, |bench, path| {
                stays(
                    bench,
                    path,
                    SmControl::DISCOVER,
                    SmState::STANDBY,
                    SmState::STANDBY,
                )
            })
        },
    ),
    case(
        "sm-163",
        "Standby: HANDOVER of a manager that is no master is refused",
        CONTROL,
        |bench| {
            standing_by(bench, |bench, path| {
                stays(
                    bench,
                    path,
                    SmControl::HANDOVER,
                    SmState::STANDBY,
                    SmState::STANDBY,
                )
            })
        },
    ),
    case(
        "sm-164",
        "Standby: ACKNOWLEDGE changes nothing",
        CONTROL,
        |bench| {
            standing_by(bench, |bench, path| {
                let answer = order(bench, path, SmControl::ACKNOWLEDGE, SmState::STANDBY)?;
                ensure!(status(&answer).is_ok(), "status {}", status(&answer));
                is(bench, path, SmState::STANDBY)
            })
        },
    ),
    case(
        "sm-165",
        "Standby: DISCOVER is taken, and the manager stands by again",
        CONTROL,
        |bench| {
            standing_by(bench, |bench, path| {
                takes(bench, path, SmControl::DISCOVER)?;
                becomes(bench, path, SmState::STANDBY)
            })
        },
    ),
    case(
        "sm-166",
        "Standby: HANDOVER leads to Master",
        CONTROL,
        |bench| standing_by(bench, give_back),
    ),
    case(
        "sm-167",
        "A manager that stands by polls the master",
        ELECTION,
        |bench| {
            standing_by(bench, |bench, _| {
                let own = bench.persona.take();
                let deadline = bench.after(bench.options.patience);
                let mut polled = false;
                // The poll stays among the datagrams that have no answer yet.
                while !polled && bench.now() < deadline {
                    bench.pause(Duration::from_millis(50))?;
                    polled = bench.is_polled();
                }
                if let Some(info) = own {
                    bench.answer_late(info)?;
                }
                ensure!(polled, "no Get(SMInfo) came");
                Ok(())
            })
        },
    ),
    case(
        "sm-168",
        "A manager that stands by takes over when the master does not answer",
        ELECTION,
        |bench| {
            standing_by(bench, |bench, path| {
                bench.persona = None;
                let deadline = bench.after(bench.options.patience);
                // A layer below without time-outs, such as the library of ibsim, holds the manager until its polls
                // are answered. Such a manager may give no answer either once it has left Standby.
                while stands_by(bench, path)? {
                    ensure!(bench.now() < deadline, "it still stands by");
                    bench.pause(Duration::from_millis(50))?;
                }
                // By now the answers are too late for any other.
                let dead = own_info(bench, SmState::NOT_ACTIVE);
                bench.answer_late(dead)?;
                becomes(bench, path, SmState::MASTER)
            })
        },
    ),
];

/// Makes the peer hand over the subnet, runs the body, and hands the subnet back.
fn standing_by(
    bench: &mut Bench<'_>,
    body: impl FnOnce(&mut Bench<'_>, &DrPath) -> Outcome,
) -> Outcome {
    bench.met(Precondition::StandBy)?;
    let path = play_a_higher_master(bench)?;
    let outcome = bench
        .needs(Precondition::StandBy, |bench| hands_over(bench, &path))
        .and_then(|()| body(bench, &path));
    let back = give_back(bench, &path);
    outcome.and(back)
}

/// Answers as a master of the highest priority from now on. Returns the directed route to the peer.
fn play_a_higher_master(bench: &mut Bench<'_>) -> Result<DrPath, Stop> {
    let (path, _) = peer(bench)?;
    bench.persona = Some(own_info(bench, SmState::MASTER));
    Ok(path)
}

/// Judges that the peer hands the subnet over.
fn hands_over(bench: &mut Bench<'_>, path: &DrPath) -> Outcome {
    // A master that receives another HANDOVER sweeps, and finds a master of higher priority.
    let answer = order(bench, path, SmControl::HANDOVER, SmState::MASTER)?;
    match status(&answer) {
        MadStatus::OK => becomes(bench, path, SmState::STANDBY),
        status => fail(alloc::format!("HANDOVER is refused: status {status}")),
    }
}

/// As `standing_by`, with the peer also disabled.
fn not_active(bench: &mut Bench<'_>, body: fn(&mut Bench<'_>, &DrPath) -> Outcome) -> Outcome {
    standing_by(bench, |bench, path| {
        takes(bench, path, SmControl::DISABLE)?;
        is(bench, path, SmState::NOT_ACTIVE)?;
        body(bench, path)
    })
}

/// Makes the peer master again, whatever its state is.
fn give_back(bench: &mut Bench<'_>, path: &DrPath) -> Outcome {
    // From here on our manager shows NOT-ACTIVE, so the peer ignores it.
    let mut ours = own_info(bench, SmState::NOT_ACTIVE);
    ours.set_priority(0);
    bench.persona = Some(ours);
    let state: SmInfo = bench.get(path, 0)?;
    if state.sm_state() == SmState::NOT_ACTIVE {
        takes(bench, path, SmControl::STANDBY)?;
        // OpenSM answers an order before it carries it out, and refuses HANDOVER until then.
        is(bench, path, SmState::STANDBY)?;
    }
    if state.sm_state() != SmState::MASTER {
        takes(bench, path, SmControl::HANDOVER)?;
    }
    becomes(bench, path, SmState::MASTER)
}

/// Judges an order of a master that must be carried out.
fn takes(bench: &mut Bench<'_>, path: &DrPath, control: SmControl) -> Outcome {
    let answer = order(bench, path, control, SmState::MASTER)?;
    let status = status(&answer);
    ensure!(status.is_ok(), "{control} is refused: status {status}");
    Ok(())
}

/// Judges an order that must be refused and must not change the state.
fn stays(
    bench: &mut Bench<'_>,
    path: &DrPath,
    control: SmControl,
    sender: SmState,
    state: SmState,
) -> Outcome {
    let answer = order(bench, path, control, sender)?;
    ensure!(!status(&answer).is_ok(), "{control} is taken");
    is(bench, path, state)
}

/// Returns true if the manager answers that it is Standby.
fn stands_by(bench: &mut Bench<'_>, path: &DrPath) -> Result<bool, Stop> {
    let smp = bench.smp(Method::GET, SmInfo::ID, 0, path);
    let Some(answer) = bench.ask(&smp.to_mad())? else {
        return Ok(false);
    };
    let info: SmInfo = attribute(&answer)?;
    Ok(status(&answer).is_ok() && info.sm_state() == SmState::STANDBY)
}

/// Judges that the state is reached within a second.
fn is(bench: &mut Bench<'_>, path: &DrPath, state: SmState) -> Outcome {
    let deadline = bench.after(Duration::from_secs(1));
    reaches(bench, path, state, deadline)
}

/// Judges that the state is reached after the next sweep or poll.
fn becomes(bench: &mut Bench<'_>, path: &DrPath, state: SmState) -> Outcome {
    let deadline = bench.after(bench.options.patience);
    reaches(bench, path, state, deadline)
}

fn reaches(
    bench: &mut Bench<'_>,
    path: &DrPath,
    state: SmState,
    deadline: ib_mad::Instant,
) -> Outcome {
    loop {
        let info: Result<SmInfo, Stop> = bench.get(path, 0);
        let now = info?.sm_state();
        if now == state {
            return Ok(());
        }
        ensure!(bench.now() < deadline, "state {now}, expected {state}");
        bench.pause(Duration::from_millis(50))?;
    }
}
