//! `ib decode`: every header and field of packets and management datagrams.
//!
//! Cases are read, decoded and printed in batches: while one batch is decoded, the one before is
//! written and the next one read.

mod cases;
mod columns;
mod link;
mod mad;
mod packet;
mod pages;
mod parts;

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::{Args, Subcommand};
use ib_wire::Start;
use rayon::prelude::*;

use crate::{
    error::{CliError, Verdict},
    output::terminal,
};
use cases::{Batch, Cases};
use ib_text::{Line, Style};

/// Decode packets or management datagrams.
///
/// Each case is one block of text, or with --json one document a line. Status 1 where a case is
/// malformed or a CRC is wrong.
#[derive(Debug, Args)]
#[command(arg_required_else_help = false)]
#[command(after_help = EXAMPLES)]
pub struct DecodeArgs {
    #[command(subcommand)]
    what: What,
}

const EXAMPLES: &str = "\
Examples:
  ib decode packet 7012375c000e17d2...       a packet, as hexadecimal digits
  ib decode packet --pcap trace.pcapng --fields BTH.op_code,BTH.dest_qp,BTH.psn
  ib decode mad - < mads.txt                 a datagram a line
  ib decode packet --json - < packets.txt | ib encode --raw";

#[derive(Debug, Subcommand)]
enum What {
    /// Packets: headers, payload, both CRCs, and the management datagram in a packet to QP0 or QP1
    Packet {
        #[command(flatten)]
        input: InputArgs,
        /// Form of the input: a packet that starts at its LRH (ib), GRH (rocev1), IP header (rocev2-ipv4,
        /// rocev2-ipv6) or Ethernet header (ethernet), or a flow control packet (link)
        #[arg(long = "as", value_name = "START", default_value = "ib", value_parser = form)]
        form: Form,
        /// Read the packets from a pcap or pcapng file (`-`: stdin) of any link type that can carry
        /// InfiniBand or RoCE; frames of other protocols are skipped and counted on stderr
        #[arg(long, value_name = "FILE", conflicts_with_all = ["hex", "form"])]
        pcap: Option<PathBuf>,
    },
    /// Management datagrams of 256 bytes: the format of the class, then the attribute
    Mad {
        #[command(flatten)]
        input: InputArgs,
    },
}

#[derive(Debug, Args)]
struct InputArgs {
    /// Hexadecimal digits of one case; `-` or nothing: one case a line on stdin
    #[arg(value_name = "HEX")]
    hex: Option<String>,
    /// Print only these fields, such as `BTH.dest_qp,BTH.psn`: one line for each case, with tabs between the fields. The
    /// structure may be left out if no other has a field of that name. A field that a case lacks is empty; values of
    /// several structures have commas between them. Nothing else is decoded or checked. With --json each line is an
    /// object
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    fields: Vec<String>,
}

/// Form of the bytes of a packet.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// A packet that starts here.
    Packet(Start),
    /// A link packet: the credits of a virtual lane.
    Link,
}

/// The word for link packets.
const LINK: &str = "link";

fn form(text: &str) -> Result<Form, String> {
    if text == LINK {
        return Ok(Form::Link);
    }
    let names = Start::NAMED.iter().map(|(_, name)| *name);
    let names: Vec<_> = names.chain([LINK]).collect();
    let start = text.parse().map(Form::Packet);
    start.map_err(|_| format!("expected one of {}", names.join(", ")))
}

/// Decodes one case after the other into text.
trait Decoder {
    /// Called before the first case of a line that is empty.
    fn begin(&mut self);

    /// Appends the case's text; whether everything about it was right.
    fn decode(&mut self, start: Start, case: &[u8], line: &mut Line) -> bool;
}

pub fn run(args: DecodeArgs, json: bool) -> Result<Verdict, CliError> {
    let style = if json { Style::Json } else { Style::Plain };
    let terminal = terminal::of_stdout();
    match args.what {
        What::Packet { input, form, pcap } => {
            let (start, is_link) = match form {
                Form::Packet(start) => (start, false),
                Form::Link => (Start::Ib, true),
            };
            let cases = match pcap {
                Some(file) => Cases::capture(&file)?,
                None => Cases::hex(input.hex, start),
            };
            match (input.fields.as_slice(), is_link) {
                ([], false) => print(cases, || Ok(packet::PacketDecoder::new(style, terminal))),
                ([], true) => print(cases, || Ok(link::LinkDecoder::new(style, terminal))),
                (names, false) => print(cases, || columns::PacketColumns::new(style, names)),
                (names, true) => print(cases, || columns::LinkColumns::new(style, names)),
            }
        }
        What::Mad { input } => {
            let cases = Cases::hex(input.hex, Start::Ib);
            if input.fields.is_empty() {
                return print(cases, || Ok(mad::MadDecoder::new(style, terminal)));
            }
            print(cases, || columns::MadColumns::new(style, &input.fields))
        }
    }
}

/// One thread's share of the work: a batch, its text, and whether all of it was right.
struct Job<D> {
    decoder: D,
    batch: Batch,
    text: Line,
    good: bool,
}

impl<D: Decoder> Job<D> {
    fn decode(&mut self) {
        self.text.clear();
        self.decoder.begin();
        self.good = true;
        for (start, case) in self.batch.cases() {
            self.good &= self.decoder.decode(start, case, &mut self.text);
        }
    }
}

fn print<D: Decoder + Send>(
    mut cases: Cases,
    decoder: impl Fn() -> Result<D, CliError>,
) -> Result<Verdict, CliError> {
    let mut out = io::stdout();
    let job = || -> Result<Job<D>, CliError> {
        Ok(Job {
            decoder: decoder()?,
            batch: Batch::default(),
            text: Line::default(),
            good: true,
        })
    };
    let mut alone = job()?;
    let mut good = true;
    // The first batch never waits for threads; on one processor there is none to wait for.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut ended = false;
    let mut is_first = true;
    while !ended && (is_first || threads == 1) {
        is_first = false;
        alone.batch.clear();
        let read = cases.read(&mut alone.batch);
        alone.decode();
        out.write_all(alone.text.as_bytes())?;
        good &= alone.good;
        ended = read?;
    }
    if !ended {
        good &= pipeline(&mut cases, &mut out, job)?;
    }
    out.flush()?;
    cases.finish();
    Ok(Verdict::of(good))
}

/// Reads, decodes and writes at the same time; whether everything was right.
fn pipeline<D: Decoder + Send>(
    cases: &mut Cases,
    out: &mut (impl Write + Send),
    job: impl Fn() -> Result<Job<D>, CliError>,
) -> Result<bool, CliError> {
    let jobs = || -> Result<Vec<Job<D>>, CliError> {
        (0..rayon::current_num_threads()).map(|_| job()).collect()
    };
    // One set of jobs is read, one decoded, one written; then each moves on.
    let (mut reading, mut decoding, mut writing) = (jobs()?, jobs()?, jobs()?);
    let mut ended: Result<bool, CliError> = Ok(false);
    let mut good = true;
    // After the end of the input two more turns decode and write what has been read.
    let mut turns = 2;
    while turns > 0 {
        let (written, ()) = rayon::join(
            || -> Result<(), CliError> {
                for job in &mut writing {
                    out.write_all(job.text.as_bytes())?;
                    job.text.clear();
                    good &= job.good;
                }
                for job in &mut reading {
                    job.batch.clear();
                    if matches!(ended, Ok(false)) {
                        ended = cases.read(&mut job.batch);
                    }
                }
                Ok(())
            },
            || decoding.par_iter_mut().for_each(Job::decode),
        );
        written?;
        if !matches!(ended, Ok(false)) {
            turns -= 1;
        }
        std::mem::swap(&mut decoding, &mut writing);
        std::mem::swap(&mut reading, &mut decoding);
    }
    for job in &mut writing {
        out.write_all(job.text.as_bytes())?;
        good &= job.good;
    }
    ended.map(|_| good)
}
