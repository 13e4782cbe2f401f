//! Counts the packets of a capture by their ICRC: `check_icrcs FILE`.

use std::{env, error::Error};

fn main() -> Result<(), Box<dyn Error>> {
    let Some(file) = env::args_os().nth(1) else {
        return Err("expected a pcap or pcapng file".into());
    };
    let (mut good, mut bad, mut none) = (0u64, 0u64, 0u64);
    for packet in infiniband::capture(file)?.packets() {
        match packet?.icrc() {
            Some(icrc) if icrc.is_ok() => good += 1,
            Some(icrc) => {
                println!("found {:02x?}, computed {:02x?}", icrc.found, icrc.computed);
                bad += 1;
            }
            None => none += 1,
        }
    }
    println!("{good} good, {bad} bad, {none} packets without an ICRC");
    Ok(())
}
