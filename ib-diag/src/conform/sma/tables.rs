//! Tables of ports and switches: a Get returns the values of the last Set (IBA vol. 1, 14.2.5.5 to 14.2.5.12).

use ib_mad::Attribute;
use ib_smp::{
    DrPath, GuidInfo, LinearForwardingTable, MulticastForwardingTable, NodeInfo, PartitionKeyTable,
    SlToVlMappingTable, SwitchInfo, VlArbitrationTable, VlCap,
};
use ib_wire::Lid;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::conform::{
    Case,
    bench::{Bench, Outcome, ensure, skip},
    case,
};

const SWITCH_INFO: &str = "IBA vol. 1, 14.2.5.4";
const GUID_INFO: &str = "IBA vol. 1, 14.2.5.5";
const P_KEYS: &str = "IBA vol. 1, 14.2.5.7";
const SL_TO_VL: &str = "IBA vol. 1, 14.2.5.8";
const ARBITRATION: &str = "IBA vol. 1, 14.2.5.9";
const LINEAR: &str = "IBA vol. 1, 14.2.5.10";
const MULTICAST: &str = "IBA vol. 1, 14.2.5.12";

pub(super) const CASES: &[Case] = &[
    case(
        "sma-361",
        "Entry 0 of GUIDInfo cannot be written",
        GUID_INFO,
        |bench| {
            let path = bench.ca()?;
            let before: GuidInfo = bench.get(&path, 0)?;
            let mut bytes = *before.as_bytes();
            bytes.iter_mut().take(8).for_each(|byte| *byte = 0x55);
            // An agent may refuse the Set, or carry out the rest of it.
            bench.set(&path, 0, &GuidInfo::from_bytes(bytes))?;
            let after: GuidInfo = bench.get(&path, 0)?;
            bench.set(&path, 0, &before)?;
            ensure!(
                before.as_bytes().first_chunk::<8>() == after.as_bytes().first_chunk::<8>(),
                "entry 0 was written"
            );
            Ok(())
        },
    ),
    case("sma-362", "A P_Key is kept as written", P_KEYS, |bench| {
        let path = bench.ca()?;
        if bench.get::<NodeInfo>(&path, 0)?.partition_cap() < 3 {
            return skip("the port holds fewer than three P_Keys");
        }
        keeps_p_key(bench, &path, 0, [0x81, 0x23])
    }),
    case(
        "sma-363",
        "A P_Key of a limited member is kept as written",
        P_KEYS,
        |bench| {
            let path = bench.ca()?;
            if bench.get::<NodeInfo>(&path, 0)?.partition_cap() < 3 {
                return skip("the port holds fewer than three P_Keys");
            }
            keeps_p_key(bench, &path, 0, [0x01, 0x23])
        },
    ),
    case(
        "sma-364",
        "A P_Key of a switch's external port is kept as written",
        P_KEYS,
        |bench| {
            let edge = bench.edge()?;
            let path = edge.switch.path;
            if bench
                .get::<SwitchInfo>(&path, 0)?
                .partition_enforcement_cap()
                < 3
            {
                return skip("the switch's external ports hold fewer than three P_Keys");
            }
            let place = edge.switch.modifier.checked_shl(16).unwrap_or(0);
            keeps_p_key(bench, &path, place, [0x81, 0x23])
        },
    ),
    case(
        "sma-365",
        "SLtoVLMappingTable of a channel adapter is kept as written",
        SL_TO_VL,
        |bench| {
            let path = bench.ca()?;
            changed(
                bench,
                &path,
                0,
                |_: &SlToVlMappingTable| SlToVlMappingTable::from_bytes([0; 8]),
                |_, after| *after.as_bytes() == [0; 8],
            )
        },
    ),
    case(
        "sma-366",
        "SLtoVLMappingTable of a switch is kept for the pair of ports that it is written for",
        SL_TO_VL,
        |bench| {
            let path = bench.switch()?;
            if bench.get::<NodeInfo>(&path, 0)?.num_ports() < 2 {
                return skip("the switch has one port");
            }
            let other = bench.get::<SlToVlMappingTable>(&path, 0x0201)?;
            changed(
                bench,
                &path,
                0x0102,
                |_: &SlToVlMappingTable| SlToVlMappingTable::from_bytes([0xff; 8]),
                |_, after| *after.as_bytes() == [0xff; 8],
            )?;
            let after = bench.get::<SlToVlMappingTable>(&path, 0x0201)?;
            ensure!(after == other, "the table of another pair changed");
            Ok(())
        },
    ),
    case(
        "sma-367",
        "The low-priority table of VLArbitrationTable is kept as written",
        ARBITRATION,
        |bench| arbitration(bench, 1),
    ),
    case(
        "sma-368",
        "The high-priority table of VLArbitrationTable is kept as written",
        ARBITRATION,
        |bench| arbitration(bench, 3),
    ),
    case(
        "sma-369",
        "LinearFDBTop is kept as written",
        SWITCH_INFO,
        |bench| {
            let path = bench.switch()?;
            changed(
                bench,
                &path,
                0,
                |before: &SwitchInfo| {
                    let mut info = *before;
                    info.set_linear_fdb_top(Lid(0x123))
                        .set_port_state_change(false);
                    info
                },
                |_, after| after.linear_fdb_top() == Lid(0x123),
            )
        },
    ),
    case(
        "sma-370",
        "LifeTimeValue is kept as written",
        SWITCH_INFO,
        |bench| {
            let path = bench.switch()?;
            changed(
                bench,
                &path,
                0,
                |before: &SwitchInfo| {
                    let mut info = *before;
                    info.set_life_time_value(7).set_port_state_change(false);
                    info
                },
                |_, after| after.life_time_value() == 7,
            )
        },
    ),
    case(
        "sma-371",
        "Capacities of a switch cannot be written",
        SWITCH_INFO,
        |bench| {
            let path = bench.switch()?;
            changed(
                bench,
                &path,
                0,
                |before: &SwitchInfo| {
                    let mut info = *before;
                    info.set_linear_fdb_cap(1)
                        .set_multicast_fdb_cap(1)
                        .set_port_state_change(false);
                    info
                },
                |before, after| {
                    (before.linear_fdb_cap(), before.multicast_fdb_cap())
                        == (after.linear_fdb_cap(), after.multicast_fdb_cap())
                },
            )
        },
    ),
    case(
        "sma-372",
        "A link that goes down at its other end sets PortStateChange; a Set with 1 clears it, one with 0 does not",
        SWITCH_INFO,
        |bench| {
            bench.with_link(|bench, edge| {
                let path = edge.switch.path;
                // A change that a Set of the switch's own PortInfo makes does not count.
                bench.drop_link(edge)?;
                let mut info = bench.get::<SwitchInfo>(&path, 0)?;
                ensure!(
                    info.port_state_change(),
                    "PortStateChange is 0 after a link went down"
                );
                info.set_port_state_change(false);
                ensure!(
                    bench.put(&path, 0, &info)?.port_state_change(),
                    "a Set with 0 cleared it"
                );
                info.set_port_state_change(true);
                ensure!(
                    !bench.put(&path, 0, &info)?.port_state_change(),
                    "a Set with 1 left it"
                );
                let after = bench.get::<SwitchInfo>(&path, 0)?;
                ensure!(!after.port_state_change(), "it came back");
                Ok(())
            })
        },
    ),
    case(
        "sma-373",
        "A block of the linear forwarding table is kept as written",
        LINEAR,
        |bench| {
            let path = bench.switch()?;
            let last = last_linear_block(bench, &path)?;
            changed(
                bench,
                &path,
                last,
                |_: &LinearForwardingTable| LinearForwardingTable::from_bytes([1; 64]),
                |_, after| *after.as_bytes() == [1; 64],
            )
        },
    ),
    case(
        "sma-374",
        "A block of the linear forwarding table leaves the other blocks",
        LINEAR,
        |bench| {
            let path = bench.switch()?;
            let last = last_linear_block(bench, &path)?;
            let first = bench.get::<LinearForwardingTable>(&path, 0)?;
            changed(
                bench,
                &path,
                last,
                |_: &LinearForwardingTable| LinearForwardingTable::from_bytes([2; 64]),
                |_, _| true,
            )?;
            let after = bench.get::<LinearForwardingTable>(&path, 0)?;
            ensure!(after == first, "block 0 changed");
            Ok(())
        },
    ),
    case(
        "sma-375",
        "A block of the multicast forwarding table is kept as written",
        MULTICAST,
        |bench| {
            let path = bench.switch()?;
            let cap = bench.get::<SwitchInfo>(&path, 0)?.multicast_fdb_cap();
            if cap < 64 {
                return skip("the table has one block");
            }
            changed(
                bench,
                &path,
                1,
                |_: &MulticastForwardingTable| {
                    MulticastForwardingTable::from_bytes(with(&[0; 64], 2, &[0x00, 0x06]))
                },
                |_, after| after.as_bytes().get(2..4) == Some(&[0x00, 0x06]),
            )
        },
    ),
    case(
        "sma-376",
        "A node's description stays, or is kept as written",
        "IBA vol. 1, 14.2.5.2",
        |bench| {
            let path = bench.ca()?;
            let first = bench.get::<ib_smp::NodeDescription>(&path, 0)?;
            let again = bench.get::<ib_smp::NodeDescription>(&path, 0)?;
            ensure!(first.as_bytes() == again.as_bytes(), "two descriptions");
            Ok(())
        },
    ),
];

/// Writes a table, judges the answer and a Get after it, and restores the table.
fn changed<T: Attribute + FromBytes + IntoBytes + Immutable>(
    bench: &mut Bench<'_>,
    path: &DrPath,
    place: u32,
    change: impl Fn(&T) -> T,
    shows: impl Fn(&T, &T) -> bool,
) -> Outcome {
    let before: T = bench.get(path, place)?;
    let (status, answer) = bench.set(path, place, &change(&before))?;
    let after: T = bench.get(path, place)?;
    bench.put(path, place, &before)?;
    ensure!(status.is_ok(), "status {status}");
    ensure!(
        shows(&before, &answer),
        "the answer does not show the values after the Set"
    );
    ensure!(
        shows(&before, &after),
        "a Get after the Set does not show it"
    );
    Ok(())
}

/// Writes the third P_Key of a block.
fn keeps_p_key(bench: &mut Bench<'_>, path: &DrPath, place: u32, p_key: [u8; 2]) -> Outcome {
    changed(
        bench,
        path,
        place,
        |before: &PartitionKeyTable| {
            PartitionKeyTable::from_bytes(with(before.as_bytes(), 4, &p_key))
        },
        |_, after| after.as_bytes().get(4..6) == Some(&p_key),
    )
}

fn arbitration(bench: &mut Bench<'_>, half: u32) -> Outcome {
    let at = bench.edge()?.ca;
    let info = bench.port_info(at)?;
    let entries = match half {
        1 => info.vl_arbitration_low_cap(),
        _ => info.vl_arbitration_high_cap(),
    };
    if info.vl_cap() <= VlCap::VL0 || entries == 0 {
        return skip("the port has one data VL or no such table");
    }
    changed(
        bench,
        &at.path,
        half.checked_shl(16).unwrap_or(0),
        |before: &VlArbitrationTable| {
            VlArbitrationTable::from_bytes(with(before.as_bytes(), 0, &[0x01, 0x33]))
        },
        |_, after| after.as_bytes().first_chunk() == Some(&[0x01, 0x33]),
    )
}

/// A block of the linear forwarding table that contains no LID in use.
fn last_linear_block(
    bench: &mut Bench<'_>,
    path: &DrPath,
) -> Result<u32, crate::conform::bench::Stop> {
    let cap = bench.get::<SwitchInfo>(path, 0)?.linear_fdb_cap();
    match cap.checked_div(64) {
        Some(blocks) if blocks > 1 => Ok(u32::from(blocks.saturating_sub(1))),
        _ => skip("the linear forwarding table has one block"),
    }
}

/// The bytes, with `new` in place of those from `at` on.
fn with(bytes: &[u8; 64], at: usize, new: &[u8]) -> [u8; 64] {
    let mut bytes = *bytes;
    for (to, &from) in bytes.iter_mut().skip(at).zip(new) {
        *to = from;
    }
    bytes
}
