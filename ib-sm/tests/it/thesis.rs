//! The dual star of the OpenSM thesis (Villar Ortiz 2004, 6.4.5): five switches, twelve LIDs, and
//! the 60 hop counts that its manager printed.

use ib_routing::PortRef;
use ib_testkit::lab::Lab;
use ib_wire::{Guid, Lid, PortNum};

/// Node GUID of each of the thesis's LIDs, from 1 on.
const NODES: [u64; 12] = [
    0x1001, 0xf2, 0xfa, 0xf4, 0xf8, 0x2080, 0xf6, 0x2060, 0x2040, 0x20a0, 0x2020, 0x100c,
];

/// Hops from a switch to each of those LIDs.
const HOPS: [(u64, [usize; 12]); 5] = [
    (0xf2, [1, 0, 1, 2, 1, 2, 1, 2, 3, 2, 1, 2]),
    (0xf4, [3, 2, 1, 0, 1, 2, 1, 2, 1, 2, 3, 2]),
    (0xf6, [2, 1, 2, 1, 2, 3, 0, 1, 2, 3, 2, 3]),
    (0xf8, [2, 1, 2, 1, 0, 1, 2, 3, 2, 3, 2, 3]),
    (0xfa, [2, 1, 0, 1, 2, 3, 2, 3, 2, 1, 2, 1]),
];

#[test]
fn hop_counts_equal_the_thesis() {
    let running = Lab::new("seed-dualstar").up();
    running.sim.with(|sim| {
        let lid_of = |guid: u64| -> Lid {
            let node = sim.find_guid(Guid(guid)).unwrap();
            let port = sim
                .end_ports(node)
                .find(|port| port.info().lid().is_unicast());
            port.unwrap().info().lid()
        };
        for (switch, hops) in HOPS {
            for (guid, expected) in NODES.into_iter().zip(hops) {
                let lid = lid_of(guid);
                // Follows the tables in the switches.
                let mut here = sim.find_guid(Guid(switch)).unwrap();
                let mut found = 0;
                while sim.node(here).unwrap().guid() != Guid(guid) {
                    let port = sim.node(here).unwrap().lft_port(lid).unwrap();
                    assert_ne!(port, PortNum::UNREACHABLE, "{switch:#x} to {guid:#x}");
                    here = sim.peer(PortRef { node: here, port }).unwrap().node;
                    found += 1;
                    assert!(found < 10, "{switch:#x} to {guid:#x} goes round");
                }
                assert_eq!(found, expected, "{switch:#x} to {guid:#x}");
            }
        }
    });
}
