//! `ib query`: one attribute of a node, or records of the subnet's administration.

mod held;
mod names;
mod node;
mod records;
mod sm_control;
mod structure;

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::ValueEnum;
use ib_mad::{
    Attribute as _, AttributeEntry, AttributeId, CallError, ClassTable, Client, ClientConfig,
    FailureReason, Mad, Method, MgmtClass, Response, SmKey,
};
use ib_smp::{DrPath, PortAddress, PortInfo, SmpLidRouted};
use ib_transport::{MonotonicClock, ask};
use ib_wire::{Lid, MKey, addr};
use serde_json::{Value, json};

use self::structure::Structure;
use crate::{
    device::{DeviceArgs, DevicePort, TimeoutArgs},
    error::{CliError, Verdict},
    output::{json, stderr},
    source::NamesArgs,
};
use ib_text::{meaning, plain};

/// Read one attribute of a node, or records of subnet administration.
///
/// Only reads, unless sminfo gets --set. Status 1 if the node does not answer or refuses.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct QueryArgs {
    /// What to read
    #[arg(value_enum)]
    what: What,
    /// For an attribute of a node: the attribute modifier, decimal or 0x [default: 0; for perf 1, or the port that asks if
    /// no node is given]. The modifier is the port for portinfo, mlnxextportinfo and perf; the block for guidinfo, lft
    /// and mft; PORT<<16 | BLOCK for pkeys; IN<<8 | OUT for sl2vl; PART<<16 | PORT for vlarb, where parts 1 and 2 are
    /// the low table, 3 and 4 the high one. For sa: the record, as PathRecord, then FIELD=VALUE ...; PathRecord also
    /// takes from=NODE and to=NODE, by name
    #[arg(value_name = "MODIFIER | RECORD [FIELD=VALUE]...")]
    rest: Vec<String>,
    /// Ask the port with this LID [default: the local node]
    #[arg(long, value_name = "N", value_parser = lid, conflicts_with = "direct")]
    lid: Option<Lid>,
    /// Ask the node at the end of this directed route: 0 is the local node, then the output ports
    #[arg(long, value_name = "0,P,P...", value_parser = route)]
    direct: Option<DrPath>,
    /// Ask this node, given by LID, GUID, GID, name or directed route. The subnet is read first, to find it. A port after the name,
    /// as NODE:PORT, is the modifier of portinfo, mlnxextportinfo and perf
    #[arg(long, value_name = "NODE", conflicts_with_all = ["lid", "direct"])]
    to: Option<String>,
    /// Read what `ib snapshot` wrote, instead of a device: attributes of subnet management alone
    #[arg(long, value_name = "SNAPSHOT", conflicts_with_all = ["device", "port", "set"])]
    from: Option<PathBuf>,
    #[command(flatten)]
    names: NamesArgs,
    /// With perf: attribute to read, by its name in the specification, such as PortCountersExtended
    #[arg(long, value_name = "ATTRIBUTE", default_value = "PortCounters", value_parser = node::counters)]
    counters: &'static AttributeEntry,
    /// M_Key of the port, decimal or 0x; 0 is none
    #[arg(long, value_name = "KEY", default_value = "0", value_parser = m_key)]
    m_key: MKey,
    /// SM_Key, decimal or 0x: with the right one the subnet administrator shows all records, and a manager that has an
    /// SM_Key accepts --set
    #[arg(long, value_name = "KEY", default_value = "0", value_parser = sm_key)]
    sm_key: SmKey,
    /// With sminfo: send the manager this command of the election, as `sminfo` of infiniband-diags does, and print its
    /// state afterwards
    #[arg(long, value_name = "ORDER", value_enum)]
    set: Option<sm_control::Order>,
    /// With --set: the priority in the command, 0 to 15
    #[arg(long, value_name = "N", default_value_t = 0, requires = "set", value_parser = clap::value_parser!(u8).range(0..=15))]
    priority: u8,
    /// With --set: the state of the sender in the command. A manager accepts commands of a master only, and an acknowledgement
    /// only of the standby to which it handed over
    #[arg(
        long,
        value_name = "STATE",
        value_enum,
        default_value = "master",
        requires = "set"
    )]
    state: sm_control::SenderState,
    #[command(flatten)]
    timeout: TimeoutArgs,
    #[command(flatten)]
    device: DeviceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib query nodeinfo --direct 0,1             the node at port 1 of the own switch or adapter
  ib query portinfo 3 --lid 7                port 3 of the switch with LID 7
  ib query vlarb 0x10002 --lid 7             low table, first part, of its port 2
  ib query perf --counters PortCountersExtended --lid 7 3
  ib query portinfo 3 --to 'leaf 7'          port 3 of the switch with this name
  ib query sminfo --lid 4 --set disable      the standby manager there no longer takes part
  ib query sa PathRecord slid=1 dlid=9
  ib query sa PathRecord from=node01 to=node17
  ib query sa NodeRecord                     all nodes
  ib query lft 0 --to 'leaf 7' --from monday.ibsnap";

impl QueryArgs {
    /// The node that is asked.
    fn destination(&self) -> PortAddress {
        match self.lid {
            Some(lid) => PortAddress::Lid(lid),
            None => PortAddress::Route(self.direct.unwrap_or(DrPath::OWN_NODE)),
        }
    }
}

/// The structures that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum What {
    NodeInfo,
    NodeDesc,
    PortInfo,
    /// Forward error correction of a port
    PortInfoExtended,
    SwitchInfo,
    GuidInfo,
    PKeys,
    Sl2Vl,
    VlArb,
    Lft,
    Mft,
    SmInfo,
    /// FDR10 of a port, an attribute of Mellanox devices
    MlnxExtPortInfo,
    /// Sizes of the tables of a router, an attribute of Mellanox devices
    RouterInfo,
    /// Subnets that a router is connected to, eight a block; the modifier is the block
    AdjacentSubnets,
    /// Subnets behind other routers, four a block; the modifier is the block
    NextHops,
    /// Counters of performance management
    Perf,
    /// Records of subnet administration
    Sa,
}

pub fn run(args: QueryArgs, as_json: bool) -> Result<Verdict, CliError> {
    let mut args = args;
    if let Some(file) = args.from.take() {
        let found = held::read(&mut args, &file)?;
        print(&found, as_json)?;
        return Ok(Verdict::Holds);
    }
    let args = names::resolve(args)?;
    // The arguments are checked before a port is looked for.
    let question = Question::parse(&args)?;
    let clock = MonotonicClock::start();
    let classes = [
        (MgmtClass::SUBN_DIRECTED, 1, &[][..]),
        (MgmtClass::SUBN_LID, 1, &[]),
        (MgmtClass::PERF, 1, &[]),
        (MgmtClass::SUBN_ADM, 2, &[]),
    ];
    let mut config = ClientConfig::default();
    args.timeout.apply(&mut config.window);
    let mut asker = Asker {
        port: args.device.open(&classes, false, config.window.timeout)?,
        clock,
        client: Client::new(config),
        m_key: args.m_key,
    };
    let answer = match &question {
        Question::Records(query) => query.ask(&mut asker, args.sm_key)?,
        Question::Counters(query) => query.ask(&mut asker)?,
        Question::Attribute(query) => query.ask(&mut asker)?,
        Question::Order(query) => query.ask(&mut asker)?,
    };
    match answer {
        Ok(structures) => print(&structures, as_json)?,
        Err(reason) => {
            if as_json {
                json::print(&mut io::stdout().lock(), &json!({ "error": reason }))?;
            } else {
                stderr::info(reason);
            }
            return Ok(Verdict::Fails);
        }
    }
    Ok(Verdict::Holds)
}

/// Prints the structures that were read.
fn print(structures: &[Structure], as_json: bool) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    if as_json {
        let found: Vec<Value> = structures.iter().map(Structure::json).collect();
        json::print(&mut out, &found)?;
        return Ok(());
    }
    if structures.is_empty() {
        // Standard output has the records alone.
        stderr::info("no record has these values");
    }
    for (index, structure) in structures.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        structure.print(&mut out)?;
    }
    Ok(())
}

/// The request that the arguments describe.
enum Question {
    /// An attribute of a node's subnet management agent.
    Attribute(node::AttributeQuery),
    /// An order to a subnet manager.
    Order(sm_control::OrderQuery),
    /// Counters of a port.
    Counters(node::CounterQuery),
    /// Records of subnet administration.
    Records(records::RecordQuery),
}

impl Question {
    fn parse(args: &QueryArgs) -> Result<Self, CliError> {
        if let Some(order) = sm_control::OrderQuery::parse(args)? {
            return Ok(Self::Order(order));
        }
        Ok(match args.what {
            What::Sa => Self::Records(records::RecordQuery::parse(&args.rest)?),
            What::Perf => Self::Counters(node::CounterQuery::parse(args)?),
            what => Self::Attribute(node::AttributeQuery::parse(args, what)?),
        })
    }
}

/// An open port that one question at a time is asked through.
struct Asker {
    port: DevicePort,
    clock: MonotonicClock,
    client: Client<Mad>,
    m_key: MKey,
}

/// The answer, or in words why there is none.
type QueryResult<T> = Result<T, String>;

impl Asker {
    /// Sends a request and waits for its answer, of however many datagrams.
    fn ask(&mut self, mad: Mad) -> Result<QueryResult<Response>, CliError> {
        let is_smp = mad.header().mgmt_class() != MgmtClass::PERF;
        let asked = match PortAddress::of(&mad) {
            PortAddress::Route(path) => format!("the node at {path}"),
            _ => format!("LID {}", mad.address.lid),
        };
        Ok(self.request(mad)?.map_err(|error| match error {
            // An agent that a key protects drops what has another one.
            CallError::Unanswered(FailureReason::TimedOut) if is_smp => format!(
                "no answer from {asked}: nothing is there, the device is silent, or it demands its M_Key (--m-key)"
            ),
            CallError::Unanswered(FailureReason::TimedOut) => format!(
                "no answer from {asked}: no port has this LID, or the device has no agent for counters"
            ),
            CallError::Refused { status } => {
                let text = meaning::of("", "status").and_then(|meaning| meaning(status.0.into()));
                format!("{error} ({})", text.unwrap_or_default())
            }
            error => error.to_string(),
        }))
    }

    /// The same, with the reason as the client gives it.
    fn request(&mut self, mad: Mad) -> Result<Result<Response, CallError>, CliError> {
        let outcome = ask(&mut self.client, mad, &mut self.port, &self.clock);
        outcome.map_err(CliError::input)
    }

    /// A request of subnet management, with the M_Key of the arguments.
    fn smp(
        &self,
        destination: PortAddress,
        method: Method,
        attribute: AttributeId,
        modifier: u32,
    ) -> Result<Mad, CliError> {
        let Some(mut mad) = destination.smp(method, attribute, modifier) else {
            return Err(CliError::input("expected a LID or a directed route"));
        };
        // Both formats of an SMP have the key in the same place.
        let (smp, _) = SmpLidRouted::parse_mut(&mut mad.bytes, 0).map_err(CliError::input)?;
        smp.set_m_key(self.m_key);
        Ok(mad)
    }

    /// PortInfo of the port that this program speaks through.
    fn own_port(&mut self) -> Result<QueryResult<PortInfo>, CliError> {
        let here = PortAddress::Route(DrPath::OWN_NODE);
        let mad = self.smp(here, Method::GET, PortInfo::ID, 0)?;
        let own = match self.ask(mad)? {
            Ok(own) => own,
            Err(reason) => return Ok(Err(format!("the own port: {reason}"))),
        };
        let (info, _) = PortInfo::parse(own.data(), 0).map_err(CliError::input)?;
        Ok(Ok(*info))
    }
}

/// The attribute with this name among those of a class that have a structure. Capitals and underscores
/// do not count.
fn find_attribute(table: &ClassTable, name: &str) -> Option<&'static AttributeEntry> {
    let wanted = plain(name);
    let mut attributes = table.attributes.iter();
    attributes.find(|entry| plain(entry.name) == wanted && entry.layout.is_some())
}

fn number(text: &str) -> Result<u64, String> {
    addr::number(text, u64::MAX).ok_or_else(|| {
        format!(
            "{text:?} is no number of 64 bits, expected decimal digits, or 0x and hexadecimal ones"
        )
    })
}

pub fn m_key(text: &str) -> Result<MKey, String> {
    number(text).map(MKey)
}

/// An SM_Key from the command line.
pub fn sm_key(text: &str) -> Result<SmKey, String> {
    number(text).map(SmKey)
}

/// A LID in the notation of [`PortAddress`].
pub fn lid(text: &str) -> Result<Lid, String> {
    match text.parse() {
        Ok(PortAddress::Lid(lid)) => Ok(lid),
        _ => Err(format!("{text} is no LID of a port, expected 1 to 0xbfff")),
    }
}

/// A directed route in the notation of [`PortAddress`].
pub fn route(text: &str) -> Result<DrPath, String> {
    match text.parse() {
        Ok(PortAddress::Route(path)) => Ok(path),
        Ok(_) => Err(format!(
            "{text:?} is no directed route, expected 0 and up to 63 ports, as 0,1,4"
        )),
        Err(error) => Err(format!("{text:?} is {error}")),
    }
}
