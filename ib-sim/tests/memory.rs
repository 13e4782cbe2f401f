//! Memory of a large fabric. The only test of its process: what the process grows by is the fabric's.
#![cfg(target_os = "linux")]

use ib_routing::generate::FabricSpec;
use ib_sim::{Sim, SimOptions};
use ib_smp::LinearForwardingTable;

/// Bytes that this process holds in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<usize>().unwrap() * 1024
}

/// A three-level tree of radix 64 with 44 of its 64 pods: as many nodes as there can be unicast LIDs.
#[test]
fn a_fabric_of_48k_lids_fits_in_the_memory_of_a_laptop() {
    let spec: FabricSpec = "fat-tree:radix=64,levels=3,pods=44".parse().unwrap();
    let before = resident();
    let fabric = spec.build().unwrap();
    let sim = Sim::new(&fabric, SimOptions::default());
    let taken = resident() - before;
    let nodes = sim.nodes().len();
    assert!((48_000..0xc000).contains(&nodes), "{nodes}");
    assert!(taken < 200_000_000, "{taken} bytes before a manager comes");
    // A forwarding table has a reference for each block. The blocks of a fat tree are few.
    let switches = sim.nodes().iter().filter(|node| node.is_switch()).count();
    let tables = switches * usize::from(LinearForwardingTable::BLOCKS) * size_of::<usize>();
    assert!(taken + tables < 225_000_000, "{taken} + {tables} bytes");
}
