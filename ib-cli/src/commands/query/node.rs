//! Attributes of one node: of its subnet management agent, and its counters.

use ib_mad::{
    Attribute as _, AttributeEntry, AttributeId, ClassTable, Mad, MadAddress, Method, MgmtClass,
};
use ib_smp::{
    AdjacentSiteLocalSubnetsTable, GuidInfo, LinearForwardingTable, MlnxExtPortInfo,
    MulticastForwardingTable, NextHopTable, NodeDescription, NodeInfo, PartitionKeyTable,
    PortAddress, PortInfo, PortInfoExtended, RouterInfo, SlToVlMappingTable, SmInfo, SwitchInfo,
    VlArbitrationTable,
};
use ib_wire::{
    Lid, Sl,
    table::{Layout, store_bits},
};

use super::{Asker, QueryArgs, QueryResult, What, find_attribute, number, structure::Structure};
use crate::{error::CliError, nearest};

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
            Self::RouterInfo => RouterInfo::ID,
            Self::AdjacentSubnets => AdjacentSiteLocalSubnetsTable::ID,
            Self::NextHops => NextHopTable::ID,
            Self::Perf | Self::Sa => return None,
        })
    }
}

/// A Get of an attribute of subnet management.
pub(super) struct AttributeQuery {
    id: AttributeId,
    layout: &'static Layout,
    modifier: u32,
    destination: PortAddress,
}

impl AttributeQuery {
    /// The place that the arguments name.
    pub(super) fn parse(args: &QueryArgs, what: What) -> Result<Self, CliError> {
        let entry = what.attribute().and_then(|id| {
            let mut tables = ib_smp::CLASSES.iter();
            tables.find_map(|table| table.attribute(id))
        });
        let Some((id, layout)) = entry.and_then(|entry| Some((entry.id, entry.layout?))) else {
            return Err(CliError::input("no attribute of subnet management"));
        };
        Ok(Self {
            id,
            layout,
            modifier: modifier(&args.rest)?.unwrap_or(0),
            destination: args.destination(),
        })
    }

    /// Reads the attribute.
    pub(super) fn ask(&self, asker: &mut Asker) -> Result<QueryResult<Vec<Structure>>, CliError> {
        let mad = asker.smp(self.destination, Method::GET, self.id, self.modifier)?;
        let answer = asker.ask(mad)?;
        Ok(answer.map(|found| Structure::whole(self.layout, found.data())))
    }
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
        let hint = nearest::hint(name, names.iter().copied());
        format!("expected one of {}{hint}", names.join(", "))
    })
}

/// A Get of counters of a port.
pub(super) struct CounterQuery {
    entry: &'static AttributeEntry,
    layout: &'static Layout,
    /// `None`: the own port.
    lid: Option<Lid>,
    /// `None`: port 1, or the own port's number.
    port: Option<u8>,
}

impl CounterQuery {
    /// The place that the arguments name.
    pub(super) fn parse(args: &QueryArgs) -> Result<Self, CliError> {
        if args.direct.is_some() {
            return Err(CliError::input(
                "perf: counters are not read by directed routes, expected --lid N",
            ));
        }
        let Some(layout) = args.counters.layout else {
            return Err(CliError::input("perf: an attribute without a structure"));
        };
        let port = modifier(&args.rest)?.map(u8::try_from).transpose();
        Ok(Self {
            entry: args.counters,
            layout,
            lid: args.lid,
            port: port.map_err(|_| CliError::input("perf: a port number has 8 bits"))?,
        })
    }

    /// Reads the counters.
    pub(super) fn ask(&self, asker: &mut Asker) -> Result<QueryResult<Vec<Structure>>, CliError> {
        let (lid, port) = match self.lid {
            Some(lid) => (lid, self.port.unwrap_or(1)),
            None => {
                let own = match asker.own_port()? {
                    Ok(own) if own.lid() == Lid::NONE => {
                        let reason = "the own port has no LID: is a subnet manager running? \
                                      (--lid N names another port)";
                        return Ok(Err(reason.to_owned()));
                    }
                    Ok(own) => own,
                    Err(reason) => return Ok(Err(reason)),
                };
                (own.lid(), self.port.unwrap_or(own.local_port_num().0))
            }
        };
        let mut mad = Mad::new(MadAddress::gsi(lid, Sl::ZERO));
        mad.header_mut()
            .set_base_version(1)
            .set_class_version(1)
            .set_mgmt_class(MgmtClass::PERF)
            .set_method(Method::GET)
            .set_attribute_id(self.entry.id);
        // Attributes of a port say in their data of which.
        let mut fields = self.layout.fields.iter();
        if let Some(select) = fields.find(|field| field.name == "port_select") {
            let at = self.entry.offset * 8 + select.bit_offset;
            let _ = store_bits(&mut mad.bytes, at, select.bits, port.into());
        }
        let answer = asker.ask(mad)?;
        Ok(answer.map(|found| Structure::whole(self.layout, found.data())))
    }
}

/// The modifier, if one is there.
pub(super) fn modifier(rest: &[String]) -> Result<Option<u32>, CliError> {
    match rest {
        [] => Ok(None),
        [modifier] => {
            let value = number(modifier).map_err(|error| {
                CliError::input(format!(
                    "the modifier: {error}; --to {modifier:?} names a node"
                ))
            })?;
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
