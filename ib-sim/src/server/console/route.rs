//! `Route`: follows the forwarding tables from one LID to another.

use std::io::Write as _;

use ib_routing::PortRef;
use ib_smp::PortState;
use ib_wire::{Lid, PortNum};

use crate::sim::Sim;

use super::words::{Words, number};
use super::{Refusal, print};

pub(super) fn route(sim: &Sim, words: &mut Words<'_>, text: &mut Vec<u8>) -> Result<(), Refusal> {
    let mut lid = || number(words.next(), "a LID").map(Lid);
    let (from, to) = (lid()?, lid()?);
    let find = |lid| {
        sim.find_lid(lid)
            .ok_or_else(|| format!("nobody has lid {lid}"))
    };
    let (mut here, target) = (find(from)?, find(to)?);
    let name = |port: PortRef| sim.node(port.node).map_or("", |node| node.name());
    let line = |text: &mut Vec<u8>, way: &str, at: PortRef, lid: Lid| {
        let (name, port) = (name(at), at.port);
        print(text, |text| {
            writeln!(text, "{way} node \"{name}\" port {port} lid {lid}")
        });
    };
    let active = |port: PortRef| {
        let state = sim.port(port).map(|port| port.state());
        if state == Some(PortState::ACTIVE) {
            return Ok(port);
        }
        Err(format!(
            "\"{}\" port {} is not active",
            name(port),
            port.port
        ))
    };
    line(text, "From", here, from);
    // A path without a loop meets no node twice.
    for _ in 0..=sim.nodes().len() {
        active(here)?;
        if here == target {
            line(text, "To", here, to);
            return Ok(());
        }
        let node = sim.node(here.node).ok_or("the route ends")?;
        let mut out = here;
        if node.is_switch() {
            let entry = node.lft_port(to);
            out.port =
                entry.ok_or_else(|| format!("\"{}\" has no entry for lid {to}", node.name()))?;
            if out == target {
                line(text, "To", here, to);
                return Ok(());
            }
            if out.port == PortNum::MANAGEMENT {
                return Err(format!("\"{}\" takes lid {to} for its own", node.name()));
            }
            active(out)?;
        }
        let no_link = || format!("\"{}\" port {} has no link", node.name(), out.port);
        here = sim.peer(out).ok_or_else(no_link)?;
        print(text, |text| {
            let (name, port) = (name(here), here.port);
            writeln!(text, "[{}] -> \"{name}\"[{port}]", out.port)
        });
    }
    Err("the tables lead in a circle".to_owned())
}
