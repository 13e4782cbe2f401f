//! A port that is Down (IBA vol. 1, 14.2.5.6).
//!
//! These cases disable a port and enable it again. They run last: if a peer does not bring the link back, later cases
//! have one channel adapter less.

use ib_smp::{PortPhysicalState, PortState};

use super::port_state::{PHYSICAL, STATE, carried_out, refused, stays};
use crate::conform::{Case, Precondition, bench::ensure, case};

pub(super) const CASES: &[Case] = &[
    case(
        "sma-400",
        "A Set of Disabled takes a port to Down",
        PHYSICAL,
        |bench| {
            bench.with_link(|bench, edge| {
                bench.rule(Precondition::Down, |bench| {
                    bench.bring_to(edge, PortState::DOWN)
                })
            })
        },
    ),
    case(
        "sma-401",
        "Down: a Set of NoChange leaves the port Down",
        STATE,
        |bench| carried_out(bench, PortState::DOWN, PortState::NO_CHANGE),
    ),
    case(
        "sma-402",
        "Down: a Set of Down leaves the port Down",
        STATE,
        |bench| stays(bench, PortState::DOWN, PortState::DOWN),
    ),
    case(
        "sma-403",
        "Down: a Set of Initialize is refused with 0x001c",
        STATE,
        |bench| refused(bench, PortState::DOWN, PortState::INITIALIZE),
    ),
    case(
        "sma-404",
        "Down: a Set of PortState 5 is refused with 0x001c",
        STATE,
        |bench| refused(bench, PortState::DOWN, PortState(5)),
    ),
    case(
        "sma-405",
        "Down: a Set of PortState 15 is refused with 0x001c",
        STATE,
        |bench| refused(bench, PortState::DOWN, PortState(15)),
    ),
    case(
        "sma-406",
        "Down: a Set of Armed leaves the port Down",
        STATE,
        |bench| stays(bench, PortState::DOWN, PortState::ARMED),
    ),
    case(
        "sma-407",
        "Down: a Set of Active leaves the port Down",
        STATE,
        |bench| stays(bench, PortState::DOWN, PortState::ACTIVE),
    ),
    case(
        "sma-408",
        "Disabled takes the link down, and Polling brings it back to Initialize",
        PHYSICAL,
        |bench| {
            bench.met(Precondition::Down)?;
            bench.with_link(|bench, edge| {
                bench.needs(Precondition::Down, |bench| {
                    bench.bring_to(edge, PortState::DOWN)
                })?;
                let physical = bench.port_info(edge.switch)?.port_physical_state();
                ensure!(
                    physical == PortPhysicalState::DISABLED,
                    "physical state {physical}"
                );
                bench.initialize(edge)
            })
        },
    ),
    case(
        "sma-409",
        "SMPs do not pass a port that is Down",
        STATE,
        |bench| {
            bench.met(Precondition::Down)?;
            bench.with_link(|bench, edge| {
                bench.needs(Precondition::Down, |bench| {
                    bench.bring_to(edge, PortState::DOWN)
                })?;
                let smp = bench.smp(
                    ib_mad::Method::GET,
                    <ib_smp::NodeInfo as ib_mad::Attribute>::ID,
                    0,
                    &edge.ca.path,
                );
                bench.silence(&smp.to_mad())
            })
        },
    ),
];
