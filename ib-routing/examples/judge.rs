//! Judges anyone's tables, or prints min-hop's: `judge FABRIC [LFTS]`, files as ibnetdiscover, and OpenSM
//! or ibroute, print them.

use std::{error::Error, fs};

use ib_routing::{
    LidMap, LidOptions, RouteOptions, engine,
    format::{ibnetdiscover, lfts},
    verify,
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (fabric, tables) = match args.as_slice() {
        [fabric] => (fabric, None),
        [fabric, tables] => (fabric, Some(tables)),
        _ => return Err("judge FABRIC [LFTS]".into()),
    };
    let fabric = ibnetdiscover::read(&fs::read_to_string(fabric)?)?.fabric;
    if let Some(tables) = tables {
        let tables = lfts::read(&fs::read_to_string(tables)?, &fabric)?;
        let report = verify(&fabric, &tables.lids, &tables.routes);
        println!(
            "pairs {} unreachable {} loops {} hops {} {:.4} load {} {:.1} {:.1} deadlock-free {}",
            report.pairs,
            report.unreachable,
            report.loops,
            report.max_hops,
            report.mean_hops,
            report.link_load.max,
            report.link_load.mean,
            report.link_load.stdev,
            report.deadlock_free
        );
        return Ok(());
    }
    let lids = LidMap::assign(&fabric, &LidOptions::default())?;
    let routes = engine::MINHOP.route(&fabric, &lids, &RouteOptions::default())?;
    print!("{}", lfts::write(&fabric, &lids, &routes));
    Ok(())
}
