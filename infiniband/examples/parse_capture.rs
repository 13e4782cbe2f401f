//! Prints the operation of each packet of a capture, and what is wrong with it: `parse_capture FILE`.

use std::{env, error::Error};

fn main() -> Result<(), Box<dyn Error>> {
    let Some(file) = env::args_os().nth(1) else {
        return Err("expected a pcap or pcapng file".into());
    };
    for packet in infiniband::capture(file)?.packets() {
        let packet = packet?;
        let operation = packet.bth().map(|bth| bth.op_code().to_string());
        println!("{}: {:?}", operation.unwrap_or_default(), packet.validate());
    }
    Ok(())
}
