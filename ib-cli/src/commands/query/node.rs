//! Attributes of one node: of its subnet management agent, and its counters.

use ib_mad::{
    Attribute as _, AttributeEntry, AttributeId, ClassTable, Mad, MadAddress, Method, MgmtClass,
};
use ib_smp::{
    DrPath, GuidInfo, LinearForwardingTable, MlnxExtPortInfo, MulticastForwardingTable,
    NodeDescription, NodeInfo, PartitionKeyTable, PortInfo, PortInfoExtended, SlToVlMappingTable,
    SmInfo, SmpDirected, SmpLidRouted, SwitchInfo, VlArbitrationTable,
};
use ib_wire::{Lid, Sl, table::store_bits};

use super::{Answer, Asker, QueryArgs, What, find_attribute, number, structure::Structure};
use crate::error::CliError;

impl What {
    /// The attribute of subnet management; `None` of what is none.
    const fn attribute(self) -> Option<AttributeId> {
        Some(match self {
            Self::NodeInfo => NodeInfo::ID,
            Self::NodeDesc => NodeDescription::ID,
            Self::PortInfo => PortInfo::ID,
            Self::PortInfoExtended => PortInfoExtended::ID,
            Self::SwitchInfo => SwitchInfo::ID,
            Self::GuidInfo => GuidInfo::ID,
            Self::PKeys => PartitionKeyTable::ID,
            Self::Sl2Vl => SlToVlMappingTable::ID,
            Self::VlArb => VlArbitrationTable::ID,
            Self::Lft => LinearForwardingTable::ID,
            Self::Mft => MulticastForwardingTable::ID,
            Self::SmInfo => SmInfo::ID,
            Self::MlnxExtPortInfo => MlnxExtPortInfo::ID,
            Self::Perf | Self::Sa => return None,
        })
    }
}

/// Reads an attribute of subnet management from whom the arguments name.
pub(super) fn ask_smp(
    asker: &mut Asker,
    args: &QueryArgs,
    what: What,
) -> Result<Answer<Vec<Structure>>, CliError> {
    let entry = what.attribute().and_then(|id| {
        let mut tables = ib_smp::CLASSES.iter();
        tables.find_map(|table| table.attribute(id))
    });
    let Some((entry, layout)) = entry.and_then(|entry| Some((entry, entry.layout?))) else {
        return Err(CliError::input("no attribute of subnet management"));
    };
    let modifier = modifier(&args.rest)?.unwrap_or(0);
    let mad = match args.lid {
        Some(lid) => {
            let mut mad = Mad::new(MadAddress::smi(lid));
            let mut smp = SmpLidRouted::new(Method::GET, entry.id, modifier);
            smp.set_m_key(asker.m_key);
            mad.bytes = *smp.as_bytes();
            mad
        }
        None => {
            let mut mad = Mad::new(MadAddress::DIRECTED);
            let path = args.direct.unwrap_or(DrPath::OWN_NODE);
            let mut smp = SmpDirected::new(Method::GET, entry.id, modifier, &path);
            smp.set_m_key(asker.m_key);
            mad.bytes = *smp.as_bytes();
            mad
        }
    };
    let answer = asker.ask(mad)?;
    Ok(answer.map(|found| Structure::whole(layout, found.data())))
}

/// The class of performance management.
fn perf() -> Option<&'static ClassTable> {
    let mut tables = ib_mad::CLASSES.iter();
    tables.find(|table| table.class == MgmtClass::PERF)
}

/// The attribute of performance management with this name.
pub(super) fn counters(name: &str) -> Result<&'static AttributeEntry, String> {
    let found = perf().and_then(|table| find_attribute(table, name));
    found.ok_or_else(|| {
        let attributes = perf().map_or(&[][..], |table| table.attributes);
        let readable = attributes.iter().filter(|entry| entry.layout.is_some());
        let names: Vec<&str> = readable.map(|entry| entry.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Reads counters of a port: of the own one where the arguments name none.
pub(super) fn ask_perf(
    asker: &mut Asker,
    args: &QueryArgs,
) -> Result<Answer<Vec<Structure>>, CliError> {
    if args.direct.is_some() {
        return Err(CliError::input(
            "perf: counters are not read by directed routes, expected --lid N",
        ));
    }
    let Some(layout) = args.counters.layout else {
        return Err(CliError::input("perf: an attribute without a structure"));
    };
    let port = modifier(&args.rest)?.map(u8::try_from).transpose();
    let port = port.map_err(|_| CliError::input("perf: a port number has 8 bits"))?;
    let (lid, sl, port) = match args.lid {
        Some(lid) => (lid, Sl::ZERO, port.unwrap_or(1)),
        None => {
            let own = match asker.own_port()? {
                Ok(own) if own.lid() == Lid::NONE => {
                    let reason = "the own port has no LID, and no other was named with --lid";
                    return Ok(Err(reason.to_owned()));
                }
                Ok(own) => own,
                Err(reason) => return Ok(Err(reason)),
            };
            let port = port.unwrap_or(own.local_port_num().0);
            (own.lid(), Sl::ZERO, port)
        }
    };
    let mut mad = Mad::new(MadAddress::gsi(lid, sl));
    mad.header_mut()
        .set_base_version(1)
        .set_class_version(1)
        .set_mgmt_class(MgmtClass::PERF)
        .set_method(Method::GET)
        .set_attribute_id(args.counters.id);
    // Attributes of a port say in their data of which.
    let select = layout
        .fields
        .iter()
        .find(|field| field.name == "port_select");
    if let Some(select) = select {
        let at = args.counters.offset * 8 + select.bit_offset;
        let _ = store_bits(&mut mad.bytes, at, select.bits, port.into());
    }
    let answer = asker.ask(mad)?;
    Ok(answer.map(|found| Structure::whole(layout, found.data())))
}

/// The modifier, if one is there.
fn modifier(rest: &[String]) -> Result<Option<u32>, CliError> {
    match rest {
        [] => Ok(None),
        [modifier] => {
            let value = number(modifier).map_err(CliError::input)?;
            let value = u32::try_from(value);
            let value = value.map_err(|_| {
                CliError::input(format!("the modifier {modifier}: expected 32 bits at most"))
            });
            value.map(Some)
        }
        _ => Err(CliError::input(
            "more than one modifier, expected one number",
        )),
    }
}
