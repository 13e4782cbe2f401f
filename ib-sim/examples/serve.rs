//! Serves a fabric file to ibsim's clients: `serve FILE [SOCKET]`; console commands on stdin.

use std::error::Error;
use std::io::{BufReader, stdin, stdout};
use std::sync::atomic::AtomicBool;
use std::{env, fs};

use ib_routing::format::ibnetdiscover;
use ib_sim::server::{Listen, ServerOptions, serve};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let file = arguments.next().ok_or("usage: serve FILE [SOCKET]")?;
    let socket = arguments.next().or_else(|| env::var("IBSIM_SOCKNAME").ok());
    let topology = ibnetdiscover::read(&fs::read_to_string(&file)?)?;
    let options = ServerOptions::new(Listen::Unix(socket.unwrap_or_else(|| "sim".to_owned())));
    println!("simulator ready");
    let console = Box::new(BufReader::new(stdin()));
    let stop = AtomicBool::new(false);
    serve(
        &topology.fabric,
        &options,
        Some(console),
        &mut stdout(),
        &stop,
    )?;
    Ok(())
}
