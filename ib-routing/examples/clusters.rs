//! Divides a fabric into clusters and writes their configurations, as `ib route --clusters` reads them.
//!
//! `cargo run --release --example clusters -- FABRIC PARTS > clusters.conf`

use ib_routing::{cluster, generate::FabricSpec};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "expected a generator, as torus:8x8x8, and the number of clusters";
    let spec: FabricSpec = arguments.next().ok_or(usage)?.parse()?;
    let parts: usize = arguments.next().ok_or(usage)?.parse()?;
    let fabric = spec.build()?;
    let count = fabric.num_switches();
    // Neighbours by number: planes of a torus, groups of a dragonfly.
    let cluster_of = (0..count).map(|at| at * parts / count).collect();
    print!("{}", cluster::write(&cluster::plan(&fabric, &cluster_of)));
    Ok(())
}
