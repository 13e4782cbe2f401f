//! The reaction of a manager to a link that went down and came back (IBA vol. 1, 14.4.3 and 13.4.9).

use core::time::Duration;

use ib_smp::{PortInfo, PortPhysicalState, PortState};

use super::subnet::master;
use crate::conform::{
    Case, Precondition,
    bench::{Bench, Outcome, ensure, fail},
    case,
    ports::{Edge, settable},
};

const UP: &str = "IBA vol. 1, 14.4.3";

pub(super) const CASES: &[Case] = &[
    case(
        "sm-201",
        "A link that went down is Active again",
        UP,
        |bench| bounced(bench, |_, _, _, _| Ok(())),
    ),
    case(
        "sm-202",
        "A port keeps its LID when its link went down",
        UP,
        |bench| {
            bounced(bench, |_, _, before, after| {
                ensure!(
                    after.lid() == before.lid(),
                    "LID {}, before {}",
                    after.lid(),
                    before.lid()
                );
                Ok(())
            })
        },
    ),
    case(
        "sm-203",
        "A link that went down has NeighborMTU and OperationalVLs again",
        UP,
        |bench| {
            bounced(bench, |_, _, before, after| {
                ensure!(
                    after.neighbor_mtu() == before.neighbor_mtu(),
                    "NeighborMTU {}",
                    after.neighbor_mtu()
                );
                ensure!(
                    after.operational_vls() == before.operational_vls(),
                    "OperationalVLs {}",
                    after.operational_vls()
                );
                Ok(())
            })
        },
    ),
    case(
        "sm-204",
        "A port whose link went down has MasterSMLID again",
        UP,
        |bench| {
            bounced(bench, |_, _, before, after| {
                ensure!(
                    after.master_sm_lid() == before.master_sm_lid(),
                    "MasterSMLID {}",
                    after.master_sm_lid()
                );
                Ok(())
            })
        },
    ),
    case(
        "sm-206",
        "PortStateChange is cleared after a link went down and came back",
        "IBA vol. 1, 14.2.5.4 (PortStateChange)",
        |bench| {
            bounced(bench, |bench, edge, _, _| {
                let deadline = bench.after(bench.options.patience);
                loop {
                    let info: ib_smp::SwitchInfo = bench.get(&edge.switch.path, 0)?;
                    if !info.port_state_change() {
                        return Ok(());
                    }
                    ensure!(bench.now() < deadline, "PortStateChange stays 1");
                    bench.pause(Duration::from_millis(200))?;
                }
            })
        },
    ),
    case(
        "sm-207",
        "A link that was disabled and enabled again is Active again",
        UP,
        |bench| {
            master(bench)?;
            let edge = bench.edge()?;
            // The last case: if a peer never trains the port again, later cases would have one link less.
            bench.needs(Precondition::Down, |bench| {
                bench.bring_to(edge, PortState::DOWN)
            })?;
            let mut wanted = settable(&bench.port_info(edge.switch)?);
            wanted.set_port_physical_state(PortPhysicalState::POLLING);
            bench.put(&edge.switch.path, edge.switch.modifier, &wanted)?;
            active(bench, edge).map(|_| ())
        },
    ),
];

/// Takes a link down, waits until the manager has made it Active again, and compares the port before and after.
fn bounced(
    bench: &mut Bench<'_>,
    judge: fn(&mut Bench<'_>, Edge, &PortInfo, &PortInfo) -> Outcome,
) -> Outcome {
    master(bench)?;
    let edge = bench.edge()?;
    let before = bench.port_info(edge.ca)?;
    bench.drop_link(edge)?;
    let after = active(bench, edge)?;
    judge(bench, edge, &before, &after)
}

/// Waits until both ends of a link are Active.
fn active(bench: &mut Bench<'_>, edge: Edge) -> Result<PortInfo, crate::conform::bench::Stop> {
    let deadline = bench.after(bench.options.patience);
    loop {
        let switch = bench.port_info(edge.switch)?.port_state();
        if switch == PortState::ACTIVE {
            let ca = bench.port_info(edge.ca)?;
            if ca.port_state() == PortState::ACTIVE {
                return Ok(ca);
            }
        }
        if bench.now() >= deadline {
            return fail(alloc::format!("the switch's port is {switch}"));
        }
        bench.pause(Duration::from_millis(100))?;
    }
}
