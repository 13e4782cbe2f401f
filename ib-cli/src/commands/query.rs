//! `ib query`: one attribute of a node, or records of the subnet's administration.

use std::{
    io::{self, Write as _},
    time::Duration,
};

use clap::ValueEnum;
use ib_mad::{
    Attribute as _, AttributeId, Call, Client, ClientConfig, Mad, MadAddress, Method, MgmtClass,
    PortCounters, Response, WindowConfig,
};
use ib_sa::{Component, ComponentMask, ComponentSet as _, Record, SaMad};
use ib_smp::{
    DrPath, GuidInfo, LinearForwardingTable, MulticastForwardingTable, NodeDescription, NodeInfo,
    PartitionKeyTable, PortInfo, SlToVlMappingTable, SmInfo, SmpDirected, SmpLidRouted, SwitchInfo,
    VlArbitrationTable,
};
use ib_transport::{MonotonicClock, ask};
use ib_wire::{
    Gid, Guid, Lid, MKey, Sl,
    addr::BadAddress,
    table::{Fields, Layout, store_bits},
};
use serde_json::{Map, Value, json};

use crate::{
    device::{DeviceArgs, DevicePort},
    error::{CliError, Verdict},
    output::{json, table::Table},
};

/// Read one attribute of a node, or records of subnet administration.
///
/// Only reads. Status 1 if the node does not answer or refuses.
#[derive(Debug, clap::Args)]
pub struct QueryArgs {
    #[command(flatten)]
    device: DeviceArgs,
    /// What to read
    #[arg(value_enum)]
    what: What,
    /// Of a node's attribute: the modifier, decimal or 0x [default: 0]: the port of portinfo and perf, the
    /// block of guidinfo, pkeys, lft and mft. Of sa: the record, as PathRecord, then field=value ...
    #[arg(value_name = "MODIFIER | RECORD [FIELD=VALUE]...")]
    rest: Vec<String>,
    /// Ask the port with this LID [default: the own node, by a directed route of no hops]
    #[arg(long, value_name = "N", value_parser = lid, conflicts_with = "direct")]
    lid: Option<Lid>,
    /// Ask the node at the end of this directed route: 0 is the own node, then the output ports
    #[arg(long, value_name = "0,P,P...", value_parser = route)]
    direct: Option<DrPath>,
    /// Key of the port, where it guards itself
    #[arg(long, value_name = "KEY", default_value = "0", value_parser = m_key)]
    m_key: MKey,
    /// Time to wait for an answer before it is asked for again, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 200)]
    timeout: u64,
    /// How often to ask again
    #[arg(long, value_name = "N", default_value_t = 3)]
    retries: u32,
}

/// What can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum What {
    NodeInfo,
    NodeDesc,
    PortInfo,
    SwitchInfo,
    GuidInfo,
    PKeys,
    Sl2Vl,
    VlArb,
    Lft,
    Mft,
    SmInfo,
    /// PortCounters of performance management
    Perf,
    /// Records of subnet administration
    Sa,
}

impl What {
    /// The attribute of subnet management, if it is one.
    const fn smp(self) -> Option<(AttributeId, &'static Layout)> {
        Some(match self {
            Self::NodeInfo => (NodeInfo::ID, NodeInfo::LAYOUT),
            Self::NodeDesc => (NodeDescription::ID, NodeDescription::LAYOUT),
            Self::PortInfo => (PortInfo::ID, PortInfo::LAYOUT),
            Self::SwitchInfo => (SwitchInfo::ID, SwitchInfo::LAYOUT),
            Self::GuidInfo => (GuidInfo::ID, GuidInfo::LAYOUT),
            Self::PKeys => (PartitionKeyTable::ID, PartitionKeyTable::LAYOUT),
            Self::Sl2Vl => (SlToVlMappingTable::ID, SlToVlMappingTable::LAYOUT),
            Self::VlArb => (VlArbitrationTable::ID, VlArbitrationTable::LAYOUT),
            Self::Lft => (LinearForwardingTable::ID, LinearForwardingTable::LAYOUT),
            Self::Mft => (
                MulticastForwardingTable::ID,
                MulticastForwardingTable::LAYOUT,
            ),
            Self::SmInfo => (SmInfo::ID, SmInfo::LAYOUT),
            Self::Perf | Self::Sa => return None,
        })
    }
}

/// Where the first record of subnet administration starts.
const SA_DATA: usize = 56;

pub fn run(args: QueryArgs, as_json: bool) -> Result<Verdict, CliError> {
    let clock = MonotonicClock::start();
    let classes = [
        (MgmtClass::SUBN_DIRECTED, 1, &[][..]),
        (MgmtClass::SUBN_LID, 1, &[]),
        (MgmtClass::PERF, 1, &[]),
        (MgmtClass::SUBN_ADM, 2, &[]),
    ];
    let mut asker = Asker {
        port: args.device.open(&classes, false, clock)?,
        clock,
        client: Client::new(ClientConfig {
            window: WindowConfig {
                timeout: Duration::from_millis(args.timeout),
                retries: args.retries,
                ..WindowConfig::default()
            },
            ..ClientConfig::default()
        }),
    };
    let answer = match (args.what, args.what.smp()) {
        (What::Sa, _) => asker.records(&args.rest)?,
        (_, Some((attribute, layout))) => {
            let modifier = modifier(&args.rest)?;
            let mad = subnet_management(&args, attribute, modifier);
            asker.ask(mad)?.map(|found| whole(layout, found.data()))
        }
        (_, None) => {
            let Some(lid) = args.lid else {
                return Err(CliError::input("perf: no port to ask, expected --lid N"));
            };
            let port = u8::try_from(modifier(&args.rest)?)
                .map_err(|_| CliError::input("perf: a port number has 8 bits"))?;
            let mut counters = PortCounters::default();
            counters.set_port_select(if args.rest.is_empty() { 1 } else { port });
            let call = Call::<PortCounters>::get(MgmtClass::PERF, 0);
            let mad = call.request_with(MadAddress::gsi(lid, Sl::ZERO), &counters);
            asker
                .ask(mad)?
                .map(|found| whole(PortCounters::LAYOUT, found.data()))
        }
    };
    let mut out = io::stdout().lock();
    match answer {
        Ok(structures) if as_json => {
            let found: Vec<Value> = structures.iter().map(Structure::json).collect();
            json::print(&mut out, &found)?;
        }
        Ok(structures) => {
            for (index, structure) in structures.iter().enumerate() {
                if index > 0 {
                    writeln!(out)?;
                }
                structure.print(&mut out)?;
            }
        }
        Err(reason) => {
            if as_json {
                json::print(&mut out, &json!({ "error": reason }))?;
            } else {
                eprintln!("{reason}");
            }
            return Ok(Verdict::Fails);
        }
    }
    Ok(Verdict::Holds)
}

/// The Get of an attribute from whom the arguments name.
fn subnet_management(args: &QueryArgs, attribute: AttributeId, modifier: u32) -> Mad {
    let m_key = args.m_key;
    match args.lid {
        Some(lid) => {
            let mut mad = Mad::new(MadAddress::smi(lid));
            let mut smp = SmpLidRouted::new(Method::GET, attribute, modifier);
            smp.set_m_key(m_key);
            mad.bytes = *smp.as_bytes();
            mad
        }
        None => {
            let mut mad = Mad::new(MadAddress::DIRECTED);
            let path = args.direct.unwrap_or(DrPath::OWN_NODE);
            let mut smp = SmpDirected::new(Method::GET, attribute, modifier, &path);
            smp.set_m_key(m_key);
            mad.bytes = *smp.as_bytes();
            mad
        }
    }
}

/// An open port that one question at a time is asked through.
struct Asker {
    port: DevicePort,
    clock: MonotonicClock,
    client: Client<Mad>,
}

/// What was answered, or why nothing was, in words.
type Answer<T> = Result<T, String>;

impl Asker {
    /// Sends a request and waits for its answer, of however many datagrams.
    fn ask(&mut self, mad: Mad) -> Result<Answer<Response>, CliError> {
        let outcome = ask(&mut self.client, mad, &mut self.port, &self.clock);
        let outcome = outcome.map_err(CliError::input)?;
        Ok(outcome.map_err(|reason| reason.to_string()))
    }

    /// Asks subnet administration for all records that match `FIELD=VALUE`s.
    fn records(&mut self, words: &[String]) -> Result<Answer<Vec<Structure>>, CliError> {
        let Some((name, fields)) = words.split_first() else {
            let names: Vec<&str> = RECORDS.iter().map(|record| record.layout.name).collect();
            let names = names.join(", ");
            return Err(CliError::input(format!(
                "sa: no record, expected one of {names}"
            )));
        };
        let record = find_record(name)?;
        let (template, mask) = template(record, fields)?;

        let own = SmpDirected::new(Method::GET, PortInfo::ID, 0, &DrPath::OWN_NODE);
        let own = Mad {
            address: MadAddress::DIRECTED,
            bytes: *own.as_bytes(),
        };
        let own = match self.ask(own)? {
            Ok(own) => own,
            Err(reason) => return Ok(Err(format!("the own port: {reason}"))),
        };
        let (info, _) = PortInfo::parse(own.data(), 0).map_err(CliError::input)?;
        if info.master_sm_lid() == Lid::NONE {
            return Ok(Err(
                "no subnet manager has configured the own port".to_owned()
            ));
        }

        let mut request = SaMad::new(Method::GET_TABLE, record.id);
        request.set_component_mask(mask);
        let mut mad = Mad::new(MadAddress::gsi(info.master_sm_lid(), info.master_sm_sl()));
        mad.bytes = *request.as_bytes();
        for (to, from) in mad.bytes.iter_mut().skip(SA_DATA).zip(&template) {
            *to = *from;
        }
        Ok(self
            .ask(mad)?
            .map(|table| records_of(record.layout, &table)))
    }
}

/// The records of a table; one that came in a single datagram is one record.
fn records_of(layout: &'static Layout, table: &Response) -> Vec<Structure> {
    let Response::Multi(message) = table else {
        return whole(layout, table.data());
    };
    let distance =
        SaMad::parse(&message.first.bytes, 0).map_or(0, |(mad, _)| mad.attribute_offset());
    let distance = usize::from(distance).saturating_mul(8).max(layout.len);
    let records = message.data.chunks(distance);
    records.flat_map(|bytes| whole(layout, bytes)).collect()
}

/// A structure that was read.
struct Structure {
    layout: &'static Layout,
    bytes: Vec<u8>,
}

/// The structure that the bytes begin with, if it is there as a whole.
fn whole(layout: &'static Layout, bytes: &[u8]) -> Vec<Structure> {
    bytes.get(..layout.len).map_or_else(Vec::new, |bytes| {
        vec![Structure {
            layout,
            bytes: bytes.to_vec(),
        }]
    })
}

impl Structure {
    fn fields(&self) -> Value {
        let fields = Fields {
            layout: self.layout,
            bytes: &self.bytes,
        };
        serde_json::to_value(fields).unwrap_or_default()
    }

    fn json(&self) -> Value {
        json!({ "name": self.layout.name, "fields": self.fields() })
    }

    fn print(&self, out: &mut impl io::Write) -> io::Result<()> {
        let mut table = Table::new([self.layout.name, ""]);
        if let Value::Object(fields) = self.fields() {
            add_rows(&mut table, "", &fields);
        }
        table.print(out)
    }
}

/// A row a field; the fields of a nested structure by their path.
fn add_rows(table: &mut Table, prefix: &str, fields: &Map<String, Value>) {
    for (name, value) in fields {
        let name = format!("{prefix}{name}");
        match value {
            Value::Object(inner) => add_rows(table, &format!("{name}."), inner),
            Value::String(text) => drop(table.row([name, text.clone()])),
            other => drop(table.row([name, other.to_string()])),
        }
    }
}

/// A record of subnet administration, for queries by name.
struct RecordKind {
    id: AttributeId,
    layout: &'static Layout,
    components: &'static [Component],
}

const fn kind<R: Record>(layout: &'static Layout) -> RecordKind {
    RecordKind {
        id: R::ID,
        layout,
        components: R::Components::TABLE,
    }
}

macro_rules! records {
    ($($record:ident)*) => { &[$(kind::<ib_sa::$record>(ib_sa::$record::LAYOUT)),*] };
}

/// The records that can be asked for.
const RECORDS: &[RecordKind] = records!(
    NodeRecord PortInfoRecord SlToVlMappingTableRecord SwitchInfoRecord LinearForwardingTableRecord
    RandomForwardingTableRecord MulticastForwardingTableRecord SmInfoRecord InformInfoRecord LinkRecord
    GuidInfoRecord ServiceRecord PKeyTableRecord PathRecord VlArbitrationTableRecord McMemberRecord
    ServiceAssociationRecord PortInfoExtendedRecord
);

/// By its name in the specification; the ending `Record` may be left out.
fn find_record(name: &str) -> Result<&'static RecordKind, CliError> {
    let is_it = |known: &str| {
        known.eq_ignore_ascii_case(name)
            || known
                .strip_suffix("Record")
                .is_some_and(|short| short.eq_ignore_ascii_case(name))
    };
    RECORDS
        .iter()
        .find(|record| is_it(record.layout.name))
        .ok_or_else(|| {
            let names: Vec<&str> = RECORDS.iter().map(|record| record.layout.name).collect();
            CliError::input(format!(
                "sa: no record {name:?}, expected one of {}",
                names.join(", ")
            ))
        })
}

/// The record to compare with, and which of its components count.
fn template(record: &RecordKind, fields: &[String]) -> Result<(Vec<u8>, ComponentMask), CliError> {
    let mut bytes = vec![0; record.layout.len];
    let mut mask = ComponentMask(0);
    for field in fields {
        let bad = |expected: String| CliError::input(format!("sa: {field:?}, expected {expected}"));
        let Some((name, value)) = field.split_once('=') else {
            return Err(bad("FIELD=VALUE".to_owned()));
        };
        let Some(component) = record.components.iter().find(|known| known.name == name) else {
            let names: Vec<&str> = record.components.iter().map(|known| known.name).collect();
            return Err(bad(format!(
                "a field of {}: {}",
                record.layout.name,
                names.join(", ")
            )));
        };
        let written = write_value(&mut bytes, component, value);
        written.ok_or_else(|| bad(format!("a value of {} bits", component.bits)))?;
        mask.0 |= 1 << component.bit;
    }
    Ok((bytes, mask))
}

/// Puts a number, a GID or text into its place; `None` if it is neither, or too long.
fn write_value(bytes: &mut [u8], component: &Component, value: &str) -> Option<()> {
    if component.bits <= 64 {
        let value = number(value)
            .ok()
            .or_else(|| value.parse().ok().map(|Guid(guid)| guid))?;
        let fits = component.bits == 64 || value >> component.bits == 0;
        return store_bits(bytes, component.bit_offset, component.bits, value).filter(|()| fits);
    }
    let start = component.bit_offset / 8;
    let room = bytes.get_mut(start..start.checked_add(component.bits / 8)?)?;
    let gid = value.parse::<Gid>().ok().filter(|_| room.len() == 16);
    let from = gid.as_ref().map_or(value.as_bytes(), |gid| &gid.0[..]);
    room.get_mut(..from.len())?.copy_from_slice(from);
    Some(())
}

fn modifier(rest: &[String]) -> Result<u32, CliError> {
    match rest {
        [] => Ok(0),
        [modifier] => {
            let value = number(modifier).map_err(CliError::input)?;
            u32::try_from(value).map_err(|_| CliError::input("a modifier has 32 bits"))
        }
        _ => Err(CliError::input(
            "more than one modifier, expected one number",
        )),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| {
        format!("{text:?} is no number, expected decimal digits, or 0x and hexadecimal ones")
    })
}

fn m_key(text: &str) -> Result<MKey, String> {
    number(text).map(MKey)
}

fn lid(text: &str) -> Result<Lid, String> {
    let lid = number(text)?;
    let lid = u16::try_from(lid)
        .ok()
        .map(Lid)
        .filter(|lid| lid.is_unicast());
    lid.ok_or_else(|| format!("{text} is no LID of a port, expected 1 to 0xbfff"))
}

fn route(text: &str) -> Result<DrPath, String> {
    text.parse()
        .map_err(|error: BadAddress| format!("{text:?} is {error}"))
}
