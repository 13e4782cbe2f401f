//! `ib send`: any management datagram.

use std::io::{self, Write as _};

use ib_diag::Contents;
use ib_mad::{AttributeId, Mad, MadAddress, Method, MgmtClass};
use ib_smp::{PortAddress, SmpDirected};
use ib_wire::{Sl, addr::number};
use serde_json::json;

use crate::{
    commands::trace::{service_level, target},
    error::{CliError, Verdict},
    output::json,
    source::{SourceArgs, find},
};

/// Send a management datagram, and print the response.
///
/// Also prints the datagram that it sends. A Set changes the device. Status 1 if there is no response, or the device refuses.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SendArgs {
    /// The node: a directed route, or a node that is addressed by its LID
    #[arg(value_name = "NODE")]
    target: String,
    /// Management class, decimal or 0x; 0x81 goes by directed route, all others to the LID
    #[arg(long, value_name = "N", value_parser = byte)]
    class: u8,
    /// Version of the class [default: that of the specification]
    #[arg(long, value_name = "N", value_parser = byte)]
    class_version: Option<u8>,
    /// Method: 1 Get, 2 Set, 3 Send, 5 Trap
    #[arg(long, value_name = "N", default_value = "1", value_parser = byte)]
    method: u8,
    /// Attribute ID, decimal or 0x
    #[arg(long, value_name = "N", value_parser = short)]
    attribute: u16,
    /// Attribute modifier, decimal or 0x
    #[arg(long, value_name = "N", default_value = "0", value_parser = word)]
    modifier: u32,
    /// Data of the class, in hexadecimal digits [default: zeros]
    #[arg(long, value_name = "HEX", value_parser = data)]
    data: Option<Data>,
    /// Service level
    #[arg(long, value_name = "N", default_value = "0", value_parser = service_level)]
    sl: Sl,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib send 0,1 --class 0x81 --attribute 0x11                     NodeInfo over a directed route
  ib send 'leaf 3' --class 4 --attribute 0x12 --data 0001ffff   PortCounters of port 1";

#[derive(Clone, Debug)]
struct Data(Vec<u8>);

fn byte(text: &str) -> Result<u8, String> {
    sized(text, u8::MAX.into())
        .and_then(|value| u8::try_from(value).map_err(|error| error.to_string()))
}

fn short(text: &str) -> Result<u16, String> {
    sized(text, u16::MAX.into())
        .and_then(|value| u16::try_from(value).map_err(|error| error.to_string()))
}

fn word(text: &str) -> Result<u32, String> {
    sized(text, u32::MAX.into())
        .and_then(|value| u32::try_from(value).map_err(|error| error.to_string()))
}

fn sized(text: &str, max: u64) -> Result<u64, String> {
    number(text, max).ok_or_else(|| format!("{text:?} is no number up to {max:#x}"))
}

fn data(text: &str) -> Result<Data, String> {
    let digits: String = text
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    let digits = digits.strip_prefix("0x").unwrap_or(&digits);
    const_hex::decode(digits)
        .map(Data)
        .map_err(|error| error.to_string())
}

pub fn run(args: SendArgs, as_json: bool) -> Result<Verdict, CliError> {
    let source = args.source.open()?;
    let live = source.live("ib send")?;
    let class = MgmtClass(args.class);
    let mut mad = match class {
        MgmtClass::SUBN_DIRECTED => {
            let path = match args.target.parse() {
                Ok(PortAddress::Route(path)) => path,
                _ => {
                    let snapshot = source.snapshot(Contents::empty())?;
                    let named = find(&snapshot, &args.target)?;
                    snapshot
                        .node(named.node)
                        .map(|node| node.path)
                        .unwrap_or_default()
                }
            };
            let id = AttributeId(args.attribute);
            let mut smp = SmpDirected::new(Method(args.method), id, args.modifier, &path);
            smp.set_m_key(args.source.m_key);
            Mad {
                address: MadAddress::DIRECTED,
                bytes: *smp.as_bytes(),
            }
        }
        _ => {
            let lid = match args.target.parse() {
                Ok(PortAddress::Lid(lid)) => lid,
                _ => target(&source.snapshot(Contents::empty())?, &args.target)?.1,
            };
            let address = match class {
                MgmtClass::SUBN_LID => MadAddress::smi(lid),
                _ => MadAddress::gsi(lid, args.sl),
            };
            let mut mad = Mad::new(address);
            mad.header_mut()
                .set_base_version(1)
                .set_mgmt_class(class)
                .set_class_version(class.version())
                .set_method(Method(args.method))
                .set_attribute_id(AttributeId(args.attribute))
                .set_attribute_modifier(args.modifier);
            mad
        }
    };
    if let Some(version) = args.class_version {
        mad.header_mut().set_class_version(version);
    }
    let Data(data) = args.data.unwrap_or(Data(Vec::new()));
    let room = mad.bytes.get_mut(class.data_offset()..).unwrap_or_default();
    if data.len() > room.len() {
        let (given, most) = (data.len(), room.len());
        return Err(CliError::input(format_args!(
            "--data: {given} bytes, the class has room for {most}"
        )));
    }
    for (to, from) in room.iter_mut().zip(data) {
        *to = from;
    }
    let outcome = live.send(vec![mad])?.pop();
    let mut out = io::stdout().lock();
    let (response, problem) = match outcome {
        Some(Ok(response)) => (Some(response), None),
        Some(Err(reason)) => (None, Some(reason.to_string())),
        None => (None, Some("no answer".to_owned())),
    };
    let status = response.map(|response| response.header().status().0 & 0x7fff);
    if as_json {
        let document = json!({
            "request": const_hex::encode(mad.bytes),
            "response": response.map(|response| const_hex::encode(response.bytes)),
            "status": status,
            "error": problem,
        });
        json::print(&mut out, &document)?;
    } else if let Some(response) = response {
        writeln!(out, "{}", const_hex::encode(response.bytes))?;
    } else if let Some(problem) = problem {
        crate::output::stderr::info(problem);
    }
    Ok(Verdict::of(status == Some(0)))
}
