//! `ib query --from`: attributes that a snapshot holds.

use ib_routing::PortRef;
use ib_smp::{
    LinearForwardingTable, MftModifier, MulticastForwardingTable, NodeDescription, NodeInfo,
    PKeyModifier, PartitionKeyTable, PortInfo, PortInfoModifier, SlToVlMappingTable,
    SlToVlModifier, SmInfo, SwitchInfo, VlArbitrationModifier, VlArbitrationTable,
};
use ib_wire::{PortNum, table::Layout};

use super::{QueryArgs, What, names::set_named_port, node::modifier, structure::Structure};
use crate::{
    error::CliError,
    output::place,
    source::{find, read_snapshot},
};

/// The attribute that the arguments name, as a snapshot holds it. An attribute that was not read is an error.
pub(super) fn read(
    args: &mut QueryArgs,
    file: &std::path::Path,
) -> Result<Vec<Structure>, CliError> {
    if matches!(args.what, What::Perf | What::Sa) {
        return Err(CliError::input(
            "--from: a snapshot does not hold records or attributes of counters, expected --device; ib perf --from shows its counters",
        ));
    }
    let mut snapshot = read_snapshot(file)?;
    snapshot.rename(&args.names.read()?);
    let own = snapshot.own_port;
    let at = match (args.to.take(), args.lid, args.direct) {
        (Some(text), ..) => {
            set_named_port(args, &snapshot, &text)?;
            find(&snapshot, &text)?.port_of(&snapshot)
        }
        (None, Some(lid), _) => find(&snapshot, &lid.0.to_string())?.port_of(&snapshot),
        (None, None, Some(route)) => find(&snapshot, &route.to_string())?.port_of(&snapshot),
        (None, None, None) => {
            own.ok_or_else(|| CliError::input("the snapshot has no own port, expected --to NODE"))?
        }
    };
    let node = snapshot
        .node(at.node)
        .ok_or_else(|| CliError::input("the snapshot does not hold the node"))?;
    let bits = modifier(&args.rest)?.unwrap_or(0);
    let is_zero = |port: PortNum| port == PortNum::MANAGEMENT;
    // Port 0 of a CA stands for the port that is asked.
    let port = |number: PortNum| {
        let number = match is_zero(number) && !node.is_switch() {
            true => at.port,
            false => number,
        };
        snapshot.port(PortRef { port: number, ..at })
    };
    let none: Option<(&'static Layout, Vec<u8>)> = None;
    macro_rules! held {
        ($type:ident, $structure:expr) => {
            $structure.map(|found| ($type::LAYOUT, found.as_bytes().to_vec()))
        };
    }
    let found = match args.what {
        What::NodeInfo => held!(NodeInfo, Some(&node.info)),
        What::NodeDesc => held!(NodeDescription, node.description.as_ref()),
        What::SwitchInfo => held!(SwitchInfo, node.switch_info.as_ref()),
        What::PortInfo => {
            let wanted = PortInfoModifier::from_bits(bits).map(|modifier| modifier.port);
            held!(
                PortInfo,
                wanted.and_then(port).and_then(|port| port.info.as_ref())
            )
        }
        What::PKeys => held!(
            PartitionKeyTable,
            PKeyModifier::from_bits(bits)
                .and_then(|wanted| { port(wanted.port)?.p_keys.get(&wanted.block) })
        ),
        What::Sl2Vl => held!(
            SlToVlMappingTable,
            match SlToVlModifier::from_bits(bits) {
                Some(SlToVlModifier::Pair { input, output }) => {
                    let output = if node.is_switch() { output } else { at.port };
                    node.sl_to_vl.get(&(input, output))
                }
                _ => None,
            }
        ),
        What::VlArb => held!(
            VlArbitrationTable,
            VlArbitrationModifier::from_bits(bits)
                .and_then(|wanted| { port(wanted.port)?.vl_arbitration.get(&wanted.half) })
        ),
        What::Lft => held!(
            LinearForwardingTable,
            u16::try_from(bits)
                .ok()
                .and_then(|block| node.lft.get(&block))
        ),
        What::Mft => held!(
            MulticastForwardingTable,
            node.mft.get(&MftModifier::from_bits(bits))
        ),
        What::SmInfo => held!(SmInfo, port(at.port).and_then(|port| port.sm_info.as_ref())),
        _ => none,
    };
    let (layout, bytes) = found.ok_or_else(|| {
        CliError::input(format_args!(
            "--from: the snapshot does not hold this of {}, expected --device, or an attribute and a modifier that were read",
            place::text(&snapshot, at)
        ))
    })?;
    Ok(Structure::whole(layout, &bytes))
}
