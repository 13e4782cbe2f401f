//! Commands that change the fabric.

use std::io::Write as _;
use std::time::Duration;

use ib_mad::AttributeId;
use ib_routing::PortRef;
use ib_wire::{Guid, Lid, Lmc, PortNum};

use crate::event::SimError;
use crate::fault::Behaviour;
use crate::sim::Sim;

use super::Server;
use super::words::{Words, number};
use super::{Refusal, print};

fn refused(error: SimError) -> Refusal {
    error.to_string()
}

pub(super) fn link(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let (from, to) = (words.port(sim)?, words.port(sim)?);
    sim.link(from, to).map_err(refused)
}

pub(super) fn unlink(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let (ports, one) = words.external_ports(sim)?;
    if let [port] = ports[..]
        && one
        && sim.peer(port).is_none()
    {
        return Err("the port is not linked".to_owned());
    }
    let mut ports = ports.into_iter();
    ports.try_for_each(|port| sim.unlink(port).map_err(refused))
}

pub(super) fn relink(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let (ports, one) = words.external_ports(sim)?;
    for port in ports {
        match sim.relink(port) {
            Ok(false) if one => return Err("the port has no cable to plug in again".to_owned()),
            Err(error) if one => return Err(refused(error)),
            // Of a whole node, what can be plugged in is.
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn clear(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let (ports, _) = words.external_ports(sim)?;
    for port in ports {
        sim.unlink(port).map_err(refused)?;
        sim.forget_lids(port).map_err(refused)?;
    }
    Ok(())
}

/// A switch has one GUID, whichever of its ports is named.
pub(super) fn guid(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let (node, port) = words.node(sim)?;
    let guid = Guid(number(words.next(), "a GUID")?);
    let switch = sim.node(node).is_some_and(|node| node.is_switch());
    match port.filter(|_| !switch) {
        Some(port) => sim.set_port_guid(PortRef { node, port }, guid),
        None => sim.set_guid(node, guid),
    }
    .map_err(refused)
}

pub(super) fn error(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let (ports, _) = words.ports(sim)?;
    let percent = number::<u8>(words.next(), "a percentage from 0 to 100")?;
    if percent > 100 {
        return Err(format!("{percent}: expected a percentage from 0 to 100"));
    }
    let attribute = words.next().map(|word| number(Some(word), "an attribute"));
    // ibsim's 0: all of them.
    let attribute = attribute.transpose()?.filter(|&id| id != 0);
    for port in ports {
        let share = f64::from(percent) / 100.0;
        sim.set_drop_rate(port, share, attribute.map(AttributeId))
            .map_err(refused)?;
    }
    Ok(())
}

/// Sets whether the agents of a node answer. A command of ours: ibsim has none, as it returns at once what it drops.
pub(super) fn silent(server: &mut Server, words: &mut Words<'_>) -> Result<(), Refusal> {
    let (node, port) = words.node(&server.sim)?;
    if let Some(port) = port {
        return Err(format!(
            "port {port}: expected a node, whose agents serve all its ports"
        ));
    }
    let (behaviour, after) = match words.next() {
        None => (Behaviour::Silent, None),
        Some(word) if word.eq_ignore_ascii_case("off") => (Behaviour::Honest, None),
        word => {
            let after = number(word, "off, or milliseconds until requests come back")?;
            (Behaviour::Silent, Some(Duration::from_millis(after)))
        }
    };
    server.sim.set_behaviour(node, behaviour);
    server.silence.set(node, after);
    Ok(())
}

pub(super) fn performance_set(
    sim: &mut Sim,
    words: &mut Words<'_>,
    text: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let port = words.port(sim)?;
    let expected = "expected ATTRIBUTE.FIELD=VALUE";
    // Blanks are allowed around the dot and the sign.
    let (name, value) = words.rest().split_once('=').ok_or(expected)?;
    let (attribute, field) = name.split_once('.').ok_or(expected)?;
    let (attribute, field) = (attribute.trim(), field.trim());
    let value = number(Some(value.trim()), "a value")?;
    let name = sim
        .node(port.node)
        .map_or("", |node| node.name())
        .to_owned();
    let base_port = port.port == PortNum::MANAGEMENT
        && !sim
            .node(port.node)
            .and_then(|node| node.switch_info())
            .is_some_and(|info| info.enhanced_port0());
    if base_port {
        return Err(format!("base port 0 of \"{name}\" has no counters"));
    }
    let value = sim
        .set_counter(port, attribute, field, value)
        .ok_or_else(|| format!("{attribute}.{field}: no such counter"))?;
    print(text, |text| {
        writeln!(
            text,
            "{name}[{}] {attribute}.{field} has been set to {value}",
            port.port
        )
    });
    Ok(())
}

/// Without an LMC the port keeps its own.
pub(super) fn base_lid(sim: &mut Sim, words: &mut Words<'_>) -> Result<(), Refusal> {
    let port = words.port(sim)?;
    let lid = Lid(number(words.next(), "a LID")?);
    if !lid.is_unicast() {
        return Err(format!("{lid}: expected a unicast LID"));
    }
    let lmc = match words.next() {
        Some(word) => {
            let bits = number(Some(word), "an LMC from 0 to 7")?;
            Lmc::try_new(bits).map_err(|error| error.to_string())?
        }
        None => sim.port(port).map_or(Lmc::ZERO, |port| port.info().lmc()),
    };
    sim.set_lid(port, lid, lmc).map_err(refused)
}
